from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import rlsuite as rl
from rlsuite import planning
from rlsuite.errors import ParameterError
from rlsuite.planning import PolicyGraph
from rlsuite.plotting import Palette, policy_graph
from rlsuite.plotting.graphs import MOST_NODES, Box, Edge, curve, layers, ordered, positions, routed


@pytest.fixture(scope="module")
def plan(tiger):
    return rl.solve(tiger(), "incremental_pruning", tol=1e-9)


def nodes(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() != "caption"]


def test_the_tiger_has_five_nodes_and_eight_arrows(plan):
    ax = policy_graph(plan)
    written = names(ax)
    assert sorted(written[:5]) == ["listen", "listen", "listen", "open left", "open right"]
    assert sorted(written[5:]) == [*["any observation"] * 2, *["hear left"] * 3, *["hear right"] * 3]
    assert len(arrows(ax)) == 8


def test_every_arrow_goes_where_the_graph_says(plan):
    graph = planning.policy_graph(plan)
    ax = policy_graph(graph)
    drawn = {(nodes(ax).index(arrow.patchA), nodes(ax).index(arrow.patchB)) for arrow in arrows(ax)}
    assert drawn == {(node, int(then)) for node, row in enumerate(graph.successors) for then in row}


def test_nodes_have_the_colours_of_their_actions(plan):
    ax = policy_graph(plan)
    looks = Palette(["listen", "open left", "open right"])
    colours = [to_rgb(looks[name].colour) for name in names(ax)[:5]]
    assert [node.get_facecolor()[:3] for node in nodes(ax)] == colours
    widths = [node.get_linewidth() for node in nodes(ax)]
    assert widths[0] == max(widths) > max(widths[1:])


def test_nodes_stand_in_the_order_in_which_they_are_reached(plan):
    left = [node.get_x() for node in nodes(policy_graph(plan))]
    assert left[0] < left[1] == left[2] < left[3] == left[4]


@pytest.mark.parametrize("horizon", [None, 1, 4, 6])
def test_nothing_overlaps(tiger, plan, horizon):
    ax = policy_graph(plan if horizon is None else rl.solve(tiger(), "incremental_pruning", horizon=horizon))
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    edges = boxes[len(nodes(ax)) :]
    assert not any(box.overlaps(node.get_window_extent()) for box in edges for node in nodes(ax))
    for node, box in zip(nodes(ax), boxes, strict=False):  # what is written in a node fits
        whole = node.get_window_extent()
        assert whole.x0 < box.x0 < box.x1 < whole.x1
        assert whole.y0 < box.y0 < box.y1 < whole.y1
    frame = ax.get_window_extent()
    for patch in ax.patches:
        extent = patch.get_window_extent()
        assert frame.x0 <= extent.x0 < extent.x1 <= frame.x1
        assert frame.y0 <= extent.y0 < extent.y1 <= frame.y1


def test_with_a_horizon_the_end_is_left_out(tiger):
    ax = policy_graph(rl.solve(tiger(1.0), "incremental_pruning", horizon=3))
    # listen, whatever was heard listen again, then open if both sounds came from the same side
    assert sorted(names(ax)[: len(nodes(ax))]) == [*["listen"] * 4, "open left", "open right"]


def test_what_leads_back_to_its_own_node_is_a_loop():
    ears = rl.POMDP.from_arrays([np.eye(2)], [[-1, -1]], [[0.85, 0.15], [0.15, 0.85]], order="ass", gamma=0.95)
    ax = policy_graph(rl.solve(ears, "incremental_pruning"))
    assert names(ax) == ["action 0", "any observation"]
    [loop] = arrows(ax)
    [node] = nodes(ax)
    curve_of_loop = loop.get_path().vertices[:4]  # what follows is the head
    assert curve_of_loop[:, 1].min() == pytest.approx(node.get_y() + node.get_height())


def test_axes_of_ones_own(plan):
    from matplotlib.figure import Figure

    axes = Figure(figsize=(4, 3)).subplots()
    assert policy_graph(plan, ax=axes) is axes
    assert all(text.get_fontsize() < 8.0 for text in axes.texts if text.get_gid() != "caption")


def test_graphs_that_cannot_be_read_are_refused(tiger):
    n = MOST_NODES + 1
    ring = PolicyGraph(
        tiger(),
        np.zeros(n, dtype=np.int64),
        np.repeat((np.arange(n) + 1) % n, 2).reshape(n, 2),
        np.arange(n),
        None,
        np.full((n, 2), 0.5),
    )
    with pytest.raises(ParameterError, match=f"{n} nodes is too large to be read \\(at most {MOST_NODES}\\)"):
        policy_graph(ring)
    with pytest.raises(ParameterError, match="not a BeliefSolution"):
        policy_graph(rl.solve(tiger(), "reachable_beliefs", horizon=2))


# --------------------------------------------------------------------------------------------------------------- layout


def test_layers_hold_every_node_that_can_be_reached_once():
    assert layers([[1, 1], [2, 0], [2, 3], [0, 0]]) == [[0], [1], [2], [3]]


def test_crossings_are_undone():
    successors = [[1, 2, 3], [6], [5], [4], [], [], []]
    found = ordered(successors, layers(successors))
    below = [found[1].index(node) for node in (1, 2, 3)]
    assert [found[2].index(node) for node in (6, 5, 4)] == below


def test_layers_are_centred():
    centres = positions([[0], [1, 2], [3]], across=2.0, down=1.0)
    assert centres.tolist() == [[0.0, 0.0], [2.0, 0.5], [2.0, -0.5], [4.0, 0.0]]


def test_a_curve_begins_and_ends_at_its_nodes():
    begin, end = np.array([0.0, 0.0]), np.array([4.0, 0.0])
    points = curve(begin, end, 0.5)
    assert points[[0, -1]].tolist() == [[0.0, 0.0], [4.0, 0.0]]
    assert points[12].tolist() == [2.0, -1.0]  # half as far from the line as its corner


def test_an_edge_is_bent_round_a_node_in_its_way():
    boxes = [Box(x, 0.0, 1.0, 0.4) for x in (0.0, 3.0, 6.0)]
    [drawn] = routed(boxes, [Edge(0, 2, 0.5, 0.2)])
    points = curve(np.array([0.0, 0.0]), np.array([6.0, 0.0]), drawn.bend)
    assert drawn.bend != 0.0
    assert not boxes[1].holds(points).any()


def test_there_and_back_are_two_curves():
    boxes = [Box(0.0, 0.0, 1.0, 0.4), Box(4.0, 0.0, 1.0, 0.4)]
    there, back = routed(boxes, [Edge(0, 1, 0.8, 0.2), Edge(1, 0, 0.8, 0.2)])
    one, other = Box(*there.name, 0.8, 0.2), Box(*back.name, 0.8, 0.2)
    assert not one.overlaps(other)
    assert one.overlaps(one)
