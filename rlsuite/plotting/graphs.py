"""A plan as a policy graph: the action of each node, and the successor for each observation."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import CAPTION_INK, INK, AxesKeywords, finish, label_axes, open_axes, styled, write_text
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.labels import counted, names, title_of_model
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch

    from rlsuite.planning import AlphaVectorSolution, PolicyGraph


# ----------------------------------------------------------------------------------------------------------- the layout

# The positions of the nodes, edges and edge labels of a small directed graph. Nodes are in layers from left to right,
# with the first node in the first layer. In every layer they are ordered so that few edges cross: each node as close as
# possible to the mean of its neighbours (Sugiyama, Tagawa and Toda 1981). Edges are bent around nodes and around the
# names of other edges; of several curvatures and positions the best is taken. All lengths are in one unit, which the
# caller chooses.

SWEEPS: Final = 8
"""How often the layers are put in order, alternately from the left and from the right."""

BENDS: Final = (0.0, *(side * bend for bend in (0.08, 0.15, 0.22, 0.3, 0.37, 0.45, 0.6, 0.8) for side in (1.0, -1.0)))
"""Twice the distance of the middle of an edge from the straight line, relative to the length of the line."""

ALONG: Final = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
"""Where on an edge its label may be placed: 0 is its beginning, 1 its end."""

SAMPLES: Final = np.linspace(0.0, 1.0, 25)
SAMPLES.flags.writeable = False

# Costs of what a good layout avoids.
ACROSS_NODE: Final = 10.0
NAME_ON_NODE: Final = 20.0
NAME_ON_NAME: Final = 8.0
NAME_ON_EDGE: Final = 0.6
CLOSE_TO_EDGE: Final = 0.5
BENT: Final = 1.0
OFF_MIDDLE: Final = 0.5


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    """its centre"""
    width: float
    height: float

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of the points (n, 2) lie inside: (n,) bool."""
        apart = np.abs(points - (self.x, self.y))
        return (apart[:, 0] < 0.5 * self.width) & (apart[:, 1] < 0.5 * self.height)

    def overlaps(self, other: "Box") -> bool:
        """Whether two rectangles overlap."""
        across = 2.0 * abs(self.x - other.x) < self.width + other.width
        return across and 2.0 * abs(self.y - other.y) < self.height + other.height


class Edge(NamedTuple):
    """A curve from one node to another, or to itself."""

    begin: int
    end: int
    width: float
    height: float
    """of its name"""


class Drawn(NamedTuple):
    """How an edge is drawn."""

    bend: float
    """the curvature, as `matplotlib.patches.ConnectionStyle.Arc3` takes it"""
    name: tuple[float, float]
    """the centre of its label"""


def layers(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Nodes by their least number of steps from the first one.

    Examples
    --------
    >>> layers([[1, 2], [3, 0], [0, 3], []])
    [[0], [1, 2], [3]]
    """
    found, known = [[0]], {0}
    while found[-1]:
        ahead = [after for node in found[-1] for after in successors[node]]
        found.append([node for node in dict.fromkeys(ahead) if node not in known])
        known.update(found[-1])
    return found[:-1]


def ordered(successors: Sequence[Sequence[int]], given: list[list[int]]) -> list[list[int]]:
    """The same layers, each in an order in which few edges cross.

    Examples
    --------
    >>> ordered([[1, 2], [4], [3], [], []], [[0], [1, 2], [3, 4]])
    [[0], [1, 2], [4, 3]]
    """
    n = len(successors)
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for node, following in enumerate(successors):
        for after in following:
            neighbours[node].append(after)
            neighbours[after].append(node)
    found = [list(layer) for layer in given]
    height = {node: _height(position, len(layer)) for layer in found for position, node in enumerate(layer)}
    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        for before, layer in pairwise(found[::step]):
            fixed = set(before)
            pull = {
                node: _pull(node, [other for other in neighbours[node] if other in fixed], height) for node in layer
            }
            layer.sort(key=pull.__getitem__)
            height |= {node: _height(position, len(layer)) for position, node in enumerate(layer)}
    return found


def _pull(node: int, near: list[int], height: dict[int, float]) -> float:
    """Where a node would be closest to its neighbours."""
    return sum(height[other] for other in near) / len(near) if near else height[node]


def _height(position: int, size: int) -> float:
    """Position of a node among those of its layer, in which the middle is 0."""
    return position - 0.5 * (size - 1)


def positions(given: list[list[int]], across: float, down: float) -> NDArray[np.float64]:
    """Centres of all nodes, (n, 2): layers `across` apart, nodes of a layer `down` apart, the first one above."""
    centres = np.zeros((sum(map(len, given)), 2))
    for number, layer in enumerate(given):
        for position, node in enumerate(layer):
            centres[node] = number * across, -_height(position, len(layer)) * down
    return centres


def curve(begin: NDArray[np.float64], end: NDArray[np.float64], bend: float) -> NDArray[np.float64]:
    """Points (25, 2) along an edge: the parabola that matplotlib draws for this curvature."""
    dx, dy = end - begin
    middle = 0.5 * (begin + end) + bend * np.array([dy, -dx])
    t = SAMPLES[:, np.newaxis]
    return (1.0 - t) ** 2 * begin + 2.0 * t * (1.0 - t) * middle + t**2 * end


def routed(nodes: Sequence[Box], edges: Sequence[Edge]) -> list[Drawn]:
    """How each edge is drawn, short ones first, as they have the fewest choices.

    An edge from a node to itself is a loop above the node.
    """
    found: dict[int, Drawn] = {}
    curves: list[NDArray[np.float64]] = []
    labels: list[Box] = []
    order = sorted(range(len(edges)), key=lambda number: _length(nodes, edges[number]))
    for number in order:
        edge = edges[number]
        if edge.begin == edge.end:
            node = nodes[edge.begin]
            # The loop is as high as the node, and its name is above it.
            label = Box(node.x, node.y + 1.5 * node.height + 0.6 * edge.height, edge.width, edge.height)
            best = Drawn(0.0, (label.x, label.y))
        else:
            best, label, points = _best(nodes, edge, curves, labels)
            curves.append(points)
        labels.append(label)
        found[number] = best
    return [found[number] for number in range(len(edges))]


def _length(nodes: Sequence[Box], edge: Edge) -> float:
    one, other = nodes[edge.begin], nodes[edge.end]
    return float(np.hypot(one.x - other.x, one.y - other.y))


def _best(
    nodes: Sequence[Box], edge: Edge, curves: list[NDArray[np.float64]], labels: list[Box]
) -> tuple[Drawn, Box, NDArray[np.float64]]:
    begin, end = (np.array([nodes[node].x, nodes[node].y]) for node in (edge.begin, edge.end))
    near = 0.5 * edge.height
    roomy = [Box(node.x, node.y, node.width + 2 * near, node.height + 2 * near) for node in nodes]
    others = [node for number, node in enumerate(roomy) if number not in (edge.begin, edge.end)]
    drawn = np.concatenate(curves) if curves else np.empty((0, 2))
    found: list[tuple[float, int, Drawn, Box, NDArray[np.float64]]] = []
    for bend in BENDS:
        points = curve(begin, end, bend)
        free = points[~(nodes[edge.begin].holds(points) | nodes[edge.end].holds(points))]
        cost = BENT * abs(bend) * _length(nodes, edge)
        cost += ACROSS_NODE * sum(int(box.holds(free).sum()) for box in [*others, *labels])
        if len(drawn) and len(free):
            gaps = np.abs(free[:, np.newaxis] - drawn[np.newaxis]).max(axis=2).min(axis=1)
            cost += CLOSE_TO_EDGE * float((gaps < near).sum())
        for along in ALONG:
            x, y = points[round(along * (len(points) - 1))].tolist()
            label = Box(x, y, edge.width, edge.height)
            bad = NAME_ON_NODE * sum(label.overlaps(node) for node in roomy)
            bad += NAME_ON_NAME * sum(label.overlaps(other) for other in labels)
            bad += NAME_ON_EDGE * float(label.holds(drawn).sum()) + OFF_MIDDLE * abs(along - 0.5)
            found.append((cost + bad, len(found), Drawn(bend, (x, y)), label, points))
    _, _, best, label, points = min(found, key=lambda each: each[:2])
    return best, label, points


MOST_NODES: Final = 40
"""Largest number of nodes of a readable graph."""

# Letters per line.
NODE_LINE: Final = 14
EDGE_LINE: Final = 18

# Sizes of letters in points.
NODE_LETTERS: Final = 10.0
EDGE_LETTERS: Final = 8.5

# Lengths in inches.
PAD: Final = 0.16
"""Between the letters of a node and its border."""
SPACE_ACROSS: Final = 0.7
"""Between a node, the name of an edge, and the next node."""
SPACE_DOWN: Final = 0.75
"""Between nodes of a layer."""
NARROWEST: Final = 4.0
"""Least width of the axes, so that the title has room."""
MARGIN: Final = 0.12
"""Round the whole graph."""


class Arrow(NamedTuple):
    """All that leads from one node to another."""

    begin: int
    end: int
    name: str


class Graph(NamedTuple):
    """What is drawn of a graph."""

    texts: list[str]
    """one for each node"""
    colours: list[str]
    """one for each node"""
    thick: set[int]
    """nodes with a thick border"""
    arrows: list[Arrow]
    in_layers: list[list[int]]
    """the nodes, from left to right and from above to below"""


@figure_of("plan")
@styled
def policy_graph(plan: "AlphaVectorSolution | PolicyGraph", **look: Unpack[AxesKeywords]) -> "Axes":
    """The policy graph of a plan: a node for each action to take, an arrow for each observation after it.

    Nodes stand in the order in which they can be reached, from left to right; the border of the first one is thick.

    Parameters
    ----------
    plan
        What `solve` returned, by a method whose answer is alpha vectors; or a graph, as `rlsuite.planning.policy_graph`
        makes it.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        In inches, if the figure is a new one.

    Raises
    ------
    ParameterError
        If the plan has no alpha vectors or no step left, or it has too many nodes to be read.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> from rlsuite.plotting import policy_graph
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ...     action_labels=["look", "left", "right"], observation_labels=["coin left", "coin right"],
    ... )
    >>> [text.get_text() for text in policy_graph(solve(cups, "incremental_pruning")).texts[:3]]
    ['look', 'left', 'right']
    """
    graph = _graph_of(plan)
    acting: list[int] = np.flatnonzero(graph.actions >= 0).tolist()
    if not acting:
        raise ParameterError("nothing to draw: no step is left in this plan")
    if len(acting) > MOST_NODES:
        raise ParameterError(
            f"a policy graph of {len(acting):,} nodes is too large to be read (at most {MOST_NODES}): solve with a "
            'wider gap= and prune="fewest", or print rlsuite.planning.policy_graph(plan).tree(depth=3)'
        )
    arrows = _arrows(graph, acting)
    labels = names(graph.pomdp.action_labels, graph.pomdp.n_actions, "action")
    done: list[str] = [labels[int(graph.actions[node])] for node in acting]
    looks = Palette(labels)
    drawn = Graph(
        texts=[wrapped(name, NODE_LINE) for name in done],
        colours=[looks[name].colour for name in done],
        thick={0},
        arrows=arrows,
        in_layers=in_layers(
            len(acting), arrows, graph.steps_left if graph.steps_left is None else graph.steps_left[acting]
        ),
    )
    said = [f"{counted(len(acting), 'node')}: the action to take; the first node has a thick border."]
    return draw_graph(drawn, title_of_model(graph.pomdp), [*said, "Arrows: what is observed then."], look)


def draw_graph(graph: Graph, title: str, said: list[str], look: AxesKeywords) -> "Axes":
    """Draw a graph with a title and the sentences of its caption."""
    boxes = _boxes(graph.in_layers, graph.texts, graph.arrows)
    edges = [Edge(arrow.begin, arrow.end, *_extent(arrow.name, EDGE_LETTERS)) for arrow in graph.arrows]
    drawn = routed(boxes, edges)
    x, y, width, height = _frame(boxes, edges, drawn)
    axes = open_axes(look, (width, height))
    axes.set_xlim(x, x + width)
    axes.set_ylim(y, y + height)
    axes.set_aspect("equal")
    axes.set_axis_off()
    shrink = 1.0 if look.get("ax") is None else _inches_per_unit(axes)
    patches = _draw_nodes(axes, boxes, graph, shrink)
    _draw_edges(axes, boxes, patches, graph.arrows, drawn, shrink)
    label_axes(axes, title, "", "")
    return finish(axes, look, said)


def _graph_of(plan: "AlphaVectorSolution | PolicyGraph") -> "PolicyGraph":
    given: Any = plan
    if hasattr(given, "successors") and not hasattr(given, "alpha_vectors"):
        return cast("PolicyGraph", plan)
    if not hasattr(given, "alpha_vectors"):
        raise ParameterError(
            f"policy_graph draws a PolicyGraph or a plan of alpha vectors, not a {type(given).__name__}: "
            "solve with incremental_pruning or sarsop"
        )
    from rlsuite.planning import policy_graph as graph_of

    return graph_of(cast("AlphaVectorSolution", plan))


def _arrows(graph: "PolicyGraph", acting: list[int]) -> list[Arrow]:
    """Arrows between nodes that have an action, numbered in the order of `acting`."""
    symbols = names(graph.pomdp.observation_labels, graph.pomdp.n_observations, "observation")
    number = {node: at for at, node in enumerate(acting)}
    found: list[Arrow] = []
    for at, node in enumerate(acting):
        row = graph.successors[node]
        possible = np.flatnonzero(row >= 0)
        for then in dict.fromkeys(row[possible].tolist()):
            if then not in number:
                continue
            seen: list[int] = np.flatnonzero(row == then).tolist()
            is_any = len(seen) == possible.size and len(seen) > 1
            name = "any observation" if is_any else ", ".join(symbols[z] for z in seen)
            found.append(Arrow(at, number[then], wrapped(name, EDGE_LINE)))
    return found


def in_layers(n: int, arrows: list[Arrow], steps_left: NDArray[np.int64] | None = None) -> list[list[int]]:
    """The nodes by the steps that are left, or else by their least number of steps from the first one.

    Those that are not reached from there come last.
    """
    successors: list[list[int]] = [[] for _ in range(n)]
    for arrow in arrows:
        successors[arrow.begin].append(arrow.end)
    if steps_left is not None:
        return ordered(successors, [np.flatnonzero(steps_left == t).tolist() for t in np.unique(steps_left)[::-1]])
    found = layers(successors)
    rest = sorted(set(range(n)).difference(*found))
    return ordered(successors, [*found, rest] if rest else found)


def wrapped(text: str, letters: int) -> str:
    """Return a text in lines of at most so many letters, longer words whole."""
    return textwrap.fill(text, letters, break_on_hyphens=False)


def _extent(text: str, points: float) -> tuple[float, float]:
    """Width and height of a text in inches; a letter is about 0.56 of its height wide."""
    lines = text.split("\n")
    return 0.56 * points * max(map(len, lines)) / 72.0 + 0.04, 1.25 * points * len(lines) / 72.0 + 0.04


def _boxes(in_layers: list[list[int]], texts: list[str], arrows: list[Arrow]) -> list[Box]:
    """The positions of the nodes: equally large, as far apart as their labels and those of the arrows need."""
    width, height = (max(each) + PAD for each in zip(*(_extent(text, NODE_LETTERS) for text in texts), strict=True))
    names_of_arrows = [_extent(arrow.name, EDGE_LETTERS) for arrow in arrows] or [(0.0, 0.0)]
    across = width + max(wide for wide, _ in names_of_arrows) + SPACE_ACROSS
    down = height + max(high for _, high in names_of_arrows) + SPACE_DOWN
    return [Box(x, y, width, height) for x, y in positions(in_layers, across, down).tolist()]


def _frame(boxes: list[Box], edges: list[Edge], drawn: list[Drawn]) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of the rectangle that holds it all."""
    every = [*boxes, *(Box(*one.name, edge.width, edge.height) for edge, one in zip(edges, drawn, strict=True))]
    points = [np.array([[b.x + i * b.width / 2, b.y + i * b.height / 2] for b in every]) for i in (-1, 1)]
    centres = [np.array([box.x, box.y]) for box in boxes]
    points += [curve(centres[edge.begin], centres[edge.end], one.bend) for edge, one in zip(edges, drawn, strict=True)]
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    x, y = (low - MARGIN).tolist()
    width, height = (high - low + 2 * MARGIN).tolist()
    missing = max(0.0, NARROWEST - width)
    return x - missing / 2, y, width + missing, height


def _inches_per_unit(axes: "Axes") -> float:
    """Inches per unit of axes that the caller made."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    box = axes.get_window_extent()
    return min(box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())) / figure.dpi


def _draw_nodes(axes: "Axes", boxes: list[Box], graph: Graph, shrink: float) -> "list[FancyBboxPatch]":
    from matplotlib.patches import FancyBboxPatch

    patches: list[FancyBboxPatch] = []
    for number, (box, text, colour) in enumerate(zip(boxes, graph.texts, graph.colours, strict=True)):
        corner = box.x - box.width / 2, box.y - box.height / 2
        style = "round,pad=0,rounding_size=0.08"
        look: Any = {"facecolor": (colour, 0.3), "edgecolor": colour, "linewidth": 1.2}
        if number in graph.thick:
            look |= {"edgecolor": INK, "linewidth": 2.2}
        patches.append(FancyBboxPatch(corner, box.width, box.height, style, zorder=2, label=f"_{text}", **look))
        axes.add_patch(patches[-1])
        write_text(axes, box.x, box.y, text, NODE_LETTERS * shrink, zorder=3)
    return patches


def _draw_edges(
    axes: "Axes",
    boxes: list[Box],
    patches: "list[FancyBboxPatch]",
    arrows: list[Arrow],
    drawn: list[Drawn],
    shrink: float,
) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    look: Any = {"arrowstyle": "-|>", "mutation_scale": 11.0 * shrink, "color": CAPTION_INK, "linewidth": 1.1}
    for arrow, one in zip(arrows, drawn, strict=True):
        begin, end = boxes[arrow.begin], boxes[arrow.end]
        if arrow.begin == arrow.end:
            left, right, top = begin.x - begin.width / 4, begin.x + begin.width / 4, begin.y + begin.height / 2
            corners = [(left, top), (left, top + 1.3 * begin.height), (right, top + 1.3 * begin.height), (right, top)]
            loop = Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
            axes.add_patch(FancyArrowPatch(path=loop, zorder=1.5, **look))
        else:
            # The arrow begins and ends at the borders of the nodes.
            axes.add_patch(
                FancyArrowPatch(
                    (begin.x, begin.y),
                    (end.x, end.y),
                    connectionstyle=f"arc3,rad={one.bend}",
                    patchA=patches[arrow.begin],
                    patchB=patches[arrow.end],
                    shrinkA=0.0,
                    shrinkB=1.0,
                    zorder=1.5,
                    **look,
                )
            )
        bbox = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        write_text(axes, *one.name, arrow.name, EDGE_LETTERS * shrink, zorder=2.5, bbox=bbox)
