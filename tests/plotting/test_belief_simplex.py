import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.path import Path

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.inference import HMM
from rlsuite.plotting import Palette, belief_simplex

HEIGHT = np.sqrt(3.0) / 2.0
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])


@pytest.fixture(scope="module")
def plan(doors):
    return rl.solve(doors, "incremental_pruning", horizon=3)


def polygons(ax):
    return [patch for patch in ax.patches if patch.get_fill()]


def area(patch):
    (x, y), (x1, y1) = patch.get_xy()[:-1].T, patch.get_xy()[1:].T
    return abs((x * y1 - y * x1).sum()) / 2.0


def test_the_parts_fill_the_triangle(plan):
    assert sum(map(area, polygons(belief_simplex(plan)))) == pytest.approx(HEIGHT / 2.0)


def test_the_colour_of_a_belief_is_that_of_the_action_there(plan, doors):
    looks = Palette(doors.action_labels)
    drawn = polygons(belief_simplex(plan))
    for belief in np.random.default_rng(7).dirichlet(np.ones(3), 100):
        found = [patch for patch in drawn if Path(patch.get_xy()).contains_point(belief @ CORNERS)]
        colours = {patch.get_facecolor()[:3] for patch in found}
        assert colours == {to_rgb(looks[doors.action_labels[plan.act(belief)]].colour)}


def test_with_one_step_to_go_nine_tenths_are_needed(plan, labelled):
    """A door is opened if the tiger is nowhere less likely, and there below 0.1, as 10 - 110 p >= -1."""
    [region] = labelled(belief_simplex(plan, steps_left=1).patches, "open three")
    corners = np.unique(region.get_xy().round(9), axis=0)
    expected = np.array([[1, 0, 0], [0, 1, 0], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]) @ CORNERS
    np.testing.assert_allclose(corners, np.unique(expected.round(9), axis=0))


def test_every_action_is_named_once(plan, doors):
    ax = belief_simplex(plan, beliefs=[0.2, 0.3, 0.5])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *doors.action_labels,
        "start belief",
        "beliefs",
    ]


def test_beliefs_lie_where_their_corners_pull_them(plan, labelled):
    beliefs = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.25, 0.25, 0.5]])
    ax = belief_simplex(plan, beliefs=beliefs[::-1], trace=beliefs)
    [dots], [trace] = labelled(ax.get_lines(), "beliefs"), labelled(ax.get_lines(), "trace")
    places = [[0.0, 0.0], [0.5, HEIGHT], [0.5, HEIGHT / 2.0]]
    np.testing.assert_allclose(trace.get_xydata(), places)
    np.testing.assert_allclose(dots.get_xydata(), places[::-1])
    [start] = labelled(ax.get_lines(), "start belief")
    assert start.get_xydata()[0].tolist() == pytest.approx([0.5, HEIGHT / 3.0])


def test_names_stand_at_their_corners(plan):
    ax = belief_simplex(plan)
    assert {text.get_text(): text.get_position()[0] for text in ax.texts[:3]} == {"one": 0.0, "two": 1.0, "three": 0.5}
    assert ax.get_aspect() == 1.0


def test_a_model_alone_shows_no_regions(doors, labelled):
    hidden = HMM([1, 0, 0], np.full((3, 3), 1 / 3), np.eye(3))
    for model in (doors, hidden):
        ax = belief_simplex(model, trace=np.eye(3))
        assert polygons(ax) == []
        assert len(labelled(ax.get_lines(), "trace")) == 1


def test_axes_of_ones_own(plan):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert belief_simplex(plan, ax=axes) is axes


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"beliefs": [0.5, 0.5]}, r"beliefs has shape \(1, 2\), not \(n, 3\)"),
        ({"trace": [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]}, r"trace\[1\] sums to 0, not 1"),
        ({"beliefs": [[0.5, np.nan, 0.5]]}, "must be finite"),
        ({"beliefs": np.empty((0, 3))}, "not \\(n, 3\\)"),
        ({"steps_left": 4}, "more than the 3 steps"),
    ],
)
def test_wrong_arguments_are_refused(plan, arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        belief_simplex(plan, **arguments)


def test_other_numbers_of_states_have_other_figures(tiger, casino):
    with pytest.raises(ParameterError, match="3 states, and this model has 2: use alpha_vectors"):
        belief_simplex(rl.solve(tiger(), "incremental_pruning", horizon=1))
    with pytest.raises(ParameterError, match="3 states, and this model has 2: use alpha_vectors"):
        belief_simplex(casino)


def test_what_has_no_regions(doors):
    with pytest.raises(ParameterError, match="BeliefSolution has none"):
        belief_simplex(rl.solve(doors, "reachable_beliefs", horizon=1))
    with pytest.raises(ParameterError, match="leave it out"):
        belief_simplex(doors, steps_left=1)
