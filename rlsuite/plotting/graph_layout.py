"""The positions of the nodes, edges and edge labels of a small directed graph.

Nodes are in layers from left to right, with the first node in the first layer. In every layer they are ordered so that
few edges cross: each node as close as possible to the mean of its neighbours (Sugiyama, Tagawa and Toda 1981). Edges
are bent around nodes and around the names of other edges; of several curvatures and places the best is taken.
All lengths are in the same unit, which the caller chooses.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Place of a node among those of its layer, in which the middle is 0."""
    return position - 0.5 * (size - 1)


def placed(given: list[list[int]], across: float, down: float) -> NDArray[np.float64]:
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
