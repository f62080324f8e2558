"""All outcomes of a step, as a tree of what it draws.

`outcomes_of` runs a step once for each outcome, with a `ScriptedGenerator`. `draw` follows a tree with a real one, and
`probabilities_of` says how probable its outcomes are.
"""

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rlsuite.environments.child_process import CannotBeFollowed, called
from rlsuite.environments.scripted_generator import GRID, MAX_OUTCOMES, Draw, Request, ScriptedGenerator, Unscripted

MAX_DRAWS = 100
"""Most draws of one step."""
ROUNDS = 400
"""Draws of a loop that are tried."""
MANY = 12
"""Draws of one step from which on it is asked whether they belong to a loop."""

_dice = np.random.default_rng(0)
_WORDS = [[0] * ROUNDS, [GRID - 1] * ROUNDS, *_dice.integers(GRID, size=(3, 40)).tolist()]
"""Series of draws in which what follows a draw is compared."""


class Leaf(NamedTuple):
    """What a step returns once all draws are made."""

    outcome: Any


class UniformNode(NamedTuple):
    """A uniform number u is drawn; it selects the child whose index is the number of bounds <= u."""

    bounds: tuple[float, ...]
    children: "tuple[Tree, ...]"


class IntegerNode(NamedTuple):
    """An integer is drawn, of as many as there are children, from `low` on."""

    low: int
    children: "tuple[Tree, ...]"


class MaskedNode(NamedTuple):
    """An integer is drawn as `shuffle` does: as many bits as needed for the number of children, until they are less."""

    children: "tuple[Tree, ...]"


class Again(NamedTuple):
    """The step is in the state of another draw, and continues as it did there; `number` counts draws depth first."""

    number: int


Node: TypeAlias = UniformNode | IntegerNode | MaskedNode
Tree: TypeAlias = Leaf | Node | Again


def outcomes_of(step: Callable[[], Any], rng: ScriptedGenerator) -> Tree:
    """Return all outcomes of a step that draws from `rng`, as a tree of its draws.

    The step is run once for each beginning of a series of draws; a run stops at its first draw that is not in its
    script. Where a step draws often, a draw may be another round of a loop. It is taken for that if whatever follows is
    the same as at an earlier draw, in all series that are tried: each outcome, some random ones, and as many rounds as
    a step may draw.

    Parameters
    ----------
    step : callable
        Does the same each time, but for what it draws.
    rng : ScriptedGenerator
        The generator that it draws from.

    Raises
    ------
    CannotBeFollowed
        If the outcomes cannot be listed, or are more than `MAX_OUTCOMES`.

    Examples
    --------
    >>> rng = ScriptedGenerator()
    >>> outcomes_of(lambda: "slips" if rng.random() < 0.25 else "moves", rng)
    UniformNode(bounds=(0.25,), children=(Leaf(outcome='slips'), Leaf(outcome='moves')))
    """
    growth = _Growth(step, rng)
    try:
        tree, _ = growth.grow([], growth.run([]))
    except _Deep:  # there may be loops in it; in its other steps as well
        rng.loops = True
        growth = _Growth(step, rng)
        tree, _ = growth.grow([], growth.run([]))
    if not _ends(tree):
        raise CannotBeFollowed("one step or reset may draw for ever")
    script, outcome = sampled(tree, _dice)
    run = growth.run(script)
    if run.asked or len(run.draws) != len(script) or run.outcome != outcome:
        raise CannotBeFollowed(_NOT_THE_SAME)
    return tree


_NOT_THE_SAME = (
    "one step from one state does not do the same each time: it depends on more than the environment and its generator"
)


class _Deep(Exception):
    """A step draws so often that its draws have to be compared."""


class _Run(NamedTuple):
    """One run of a step."""

    draws: list[Draw]
    asked: Request | None
    """What it would draw next; None if it has ended."""
    outcome: Any


class _Place(NamedTuple):
    """A draw on the way to another one."""

    script: list[int]
    asked: Request | None
    number: int
    traces: list[object]
    """What follows in the series of `_WORDS`."""


class _Growth:
    """A tree that grows."""

    def __init__(self, step: Callable[[], Any], rng: ScriptedGenerator):
        self.step, self.rng = step, rng
        self.runs = self.n_nodes = 0
        self.way: list[_Place] = []

    def run(self, script: list[int]) -> _Run:
        self.runs += 1
        if self.runs > MAX_OUTCOMES:
            raise CannotBeFollowed(f"one step has more than {MAX_OUTCOMES:,} outcomes")
        self.rng.follow(script)
        try:
            outcome = called(self.step)
        except Unscripted:
            return _Run(self.rng.draws, self.rng.asked, None)
        return _Run(self.rng.draws, None, outcome)

    def following(self, script: list[int]) -> _Run:
        """Run a script that is one draw longer than one that was not enough."""
        run = self.run(script)
        if len(run.draws) < len(script):
            raise CannotBeFollowed(_NOT_THE_SAME)
        return run

    def grow(self, script: list[int], run: _Run) -> tuple[Tree, list[int]]:
        """The tree below a script; and where each draw of the script ends to lead here."""
        depth, asked = len(script), run.asked
        ends = _ends_of(run.draws, depth)
        if asked is None:
            return Leaf(run.outcome), ends
        if depth == MAX_DRAWS:  # as when it draws again until something fits: the first outcome may never
            raise CannotBeFollowed(f"one step, or one reset, may draw more than {MAX_DRAWS} numbers")
        if depth == MANY and not self.rng.loops:
            raise _Deep
        place = _Place(script, asked, self.n_nodes, [])
        if self.rng.loops:
            place.traces[:] = [self.trace(script, word, ends) for word in _WORDS]
            for before in reversed(self.way):
                if before.asked == asked and before.traces == place.traces and self.alike(before, place, ends):
                    return Again(before.number), ends
        self.n_nodes += 1
        self.way.append(place)
        children: list[Tree] = []
        firsts = [0]  # the least number, or index, that leads to each child
        for first in firsts:
            child, deeper = self.grow([*script, first], self.following([*script, first]))
            children.append(child)
            ends = list(map(min, ends, deeper))
            end = deeper[depth] if asked.n == GRID else first + 1
            if end < asked.n:
                firsts.append(end)
        self.way.pop()
        if asked.n == GRID:
            return UniformNode(tuple(first / GRID for first in firsts[1:]), tuple(children)), ends
        return MaskedNode(tuple(children)) if asked.masked else IntegerNode(asked.low, tuple(children)), ends

    def trace(self, script: list[int], word: Sequence[int], ends: list[int]) -> object:
        """What follows a script in a series of draws; `ends` is lowered where a draw of the script ends earlier."""
        depth = len(script)
        run = self.run([*script, *word])
        ends[:] = map(min, ends, _ends_of(run.draws, depth))
        return [(one.asked, one.end) for one in run.draws[depth:]], run.asked, run.outcome

    def alike(self, before: _Place, place: _Place, ends: list[int]) -> bool:
        """Whether all follows that followed an earlier draw: each outcome, and however many rounds of the loop."""
        assert place.asked is not None
        between = place.script[len(before.script) :]
        rounds = between * (ROUNDS // len(between))
        words = [[raw] for raw in range(place.asked.n)] if place.asked.n < GRID else []
        words += [[*rounds[:n], *word] for word in _WORDS for n in (MANY, len(rounds))]
        known = [GRID] * len(before.script)
        return all(self.trace(place.script, word, ends) == self.trace(before.script, word, known) for word in words)


def _ends_of(draws: list[Draw], depth: int) -> list[int]:
    return [draw.end for draw in draws[:depth]]


def nodes_of(tree: Tree) -> list[Node]:
    """Return the draws of a tree, depth first: those that `Again.number` counts."""
    nodes: list[Node] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, UniformNode | IntegerNode | MaskedNode):
            nodes.append(one)
            waiting += reversed(one.children)
    return nodes


def leaves_of(tree: Tree) -> Iterator[Any]:
    """All outcomes of a tree, from left to right."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Leaf):
            yield one.outcome
        elif not isinstance(one, Again):
            waiting += reversed(one.children)


def draw(tree: Tree, rng: np.random.Generator) -> Any:
    """Draw one outcome, in the order in which the step draws."""
    one = tree
    while not isinstance(one, Leaf):
        if isinstance(one, Again):
            one = nodes_of(tree)[one.number]
        if isinstance(one, UniformNode):
            one = one.children[int(np.searchsorted(one.bounds, rng.random(), side="right"))]
        elif isinstance(one, IntegerNode):
            one = one.children[int(rng.integers(one.low, one.low + len(one.children))) - one.low]
        else:
            one = one.children[masked_integer(rng, len(one.children))]
    return one.outcome


def masked_integer(rng: np.random.Generator, n: int) -> int:
    """Draw one of 0, ..., n - 1 as `Generator.shuffle` does."""
    bits: Any = rng.bit_generator.ctypes
    mask = (1 << (n - 1).bit_length()) - 1
    while (value := bits.next_uint32(bits.state) & mask) >= n:
        pass
    return value


def probabilities_of(tree: Tree) -> Iterator[tuple[float, Any]]:
    """The outcomes of a tree, each with its probability; the same outcome may occur more than once."""
    if isinstance(tree, Leaf):
        yield 1.0, tree.outcome
        return
    nodes = nodes_of(tree)
    if not any(isinstance(child, Again) for node in nodes for child in node.children):
        yield from _probabilities_below(tree, 1.0)
        return
    # Each draw as a distribution over outcomes and draws before it, from the last to the first. One that comes back to
    # itself with probability q is repeated 1 / (1 - q) times: the geometric series. All numbers are fractions.
    number = {id(node): i for i, node in enumerate(nodes)}
    outcomes: list[Any] = []
    solved: list[dict[int, Fraction]] = [{} for _ in nodes]
    for i, node in reversed([*enumerate(nodes)]):
        row: dict[int, Fraction] = {}
        for width, child in zip(_widths(node), node.children, strict=True):
            if isinstance(child, Leaf):
                outcomes.append(child.outcome)
                key = -len(outcomes)
            else:
                key = child.number if isinstance(child, Again) else number[id(child)]
            row[key] = row.get(key, Fraction(0)) + width
        while later := [key for key in row if key > i]:
            weight = row.pop(max(later))
            for key, probability in solved[max(later)].items():
                row[key] = row.get(key, Fraction(0)) + weight * probability
        rest = 1 - row.pop(i, Fraction(0))
        solved[i] = {key: probability / rest for key, probability in row.items()}
    for key, probability in sorted(solved[0].items(), reverse=True):
        yield float(probability), outcomes[-1 - key]


def sampled(tree: Tree, dice: np.random.Generator) -> tuple[list[int], Any]:
    """Return a script of random draws, and the outcome to which a tree says that they lead."""
    script: list[int] = []
    one = tree
    while not isinstance(one, Leaf):
        if isinstance(one, Again):
            one = nodes_of(tree)[one.number]
        raw = int(dice.integers(GRID))
        script.append(raw)
        bounds = one.bounds if isinstance(one, UniformNode) else ()
        one = one.children[bisect.bisect(bounds, raw / GRID) if bounds else raw % len(one.children)]
    return script, one.outcome


def _widths(node: Node) -> list[Fraction]:
    """The probability of each child: that a uniform number is below a bound has the probability of that bound."""
    if not isinstance(node, UniformNode):
        return [Fraction(1, len(node.children))] * len(node.children)
    bounds = [Fraction(0), *map(Fraction, node.bounds), Fraction(1)]
    return [high - low for low, high in itertools.pairwise(bounds)]


def _probabilities_below(tree: Tree, probability: float) -> Iterator[tuple[float, Any]]:
    if isinstance(tree, Leaf):
        yield probability, tree.outcome
    elif not isinstance(tree, Again):
        n = len(tree.children)
        widths = np.diff((0.0, *tree.bounds, 1.0)) if isinstance(tree, UniformNode) else np.full(n, 1.0 / n)
        for width, child in zip(widths.tolist(), tree.children, strict=True):
            yield from _probabilities_below(child, probability * width)


def _ends(tree: Tree) -> bool:
    """Whether an outcome can be reached from each of the draws."""
    nodes = nodes_of(tree)
    number = {id(node): i for i, node in enumerate(nodes)}
    follows = [
        [child.number if isinstance(child, Again) else number.get(id(child), -1) for child in node.children]
        for node in nodes
    ]
    ending = {-1}
    while found := {i for i, after in enumerate(follows) if i not in ending and not ending.isdisjoint(after)}:
        ending |= found
    return len(ending) == len(nodes) + 1
