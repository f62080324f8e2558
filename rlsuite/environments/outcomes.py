"""All outcomes of a step, as a tree of what it draws.

`outcomes_of` runs a step once for each outcome, with a `ScriptedGenerator`. `draw` follows a tree with a real one, and
`probabilities_of` says how probable its outcomes are.
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rlsuite.environments.scripted_generator import MAX_OUTCOMES, CameBack, ScriptedGenerator
from rlsuite.environments.signal_errors import CannotBeFollowed, called
from rlsuite.environments.symbolic import GRID, Draw, IntegerDraw, UniformDraw


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
    while True:
        rng.begin()
        try:
            return _grown(step, rng)
        except CameBack:  # there are loops in it
            continue


def _grown(step: Callable[[], Any], rng: ScriptedGenerator) -> Tree:
    runs = 0

    def run(script: list[int]) -> tuple[list[Draw], Leaf | Again]:
        nonlocal runs
        runs += 1
        if runs > MAX_OUTCOMES:
            raise CannotBeFollowed(f"one step has more than {MAX_OUTCOMES:,} outcomes")
        rng.follow(script)
        try:
            if rng.compares:
                with rng.moments.noted():
                    outcome = Leaf(called(step))
            else:
                outcome = Leaf(called(step))
            draws = rng.draws
        except CameBack as found:
            found.signal.forget()
            if found.number < 0:
                raise
            outcome, draws = Again(found.number), found.draws
        if len(draws) < len(script):
            raise CannotBeFollowed(
                "one step from one state does not draw the same numbers each time: it depends on more than the "
                "environment and its generator"
            )
        return draws, outcome

    def grow(script: list[int], draws: list[Draw], outcome: Leaf | Again) -> tuple[Tree, list[int]]:
        """The tree below a script, of which one run is known; and where each draw of the script ends to lead here."""
        depth = len(script)
        ends = [draw.end if isinstance(draw, UniformDraw) else GRID for draw in draws[:depth]]
        if len(draws) == depth:
            return outcome, ends
        children: list[Tree] = []
        following = draws[depth]
        if isinstance(following, IntegerDraw):
            for index in range(following.n):
                if index:
                    draws, outcome = run([*script, index])
                child, deeper = grow([*script, index], draws, outcome)
                children.append(child)
                ends = list(map(min, ends, deeper))
            node = MaskedNode(tuple(children)) if following.masked else IntegerNode(following.low, tuple(children))
            return node, ends
        bounds: list[float] = []
        first = 0
        while True:
            child, deeper = grow([*script, first], draws, outcome)
            children.append(child)
            ends = list(map(min, ends, deeper))
            first = deeper[depth]
            if first >= GRID:
                return UniformNode(tuple(bounds), tuple(children)), ends
            bounds.append(first / GRID)
            draws, outcome = run([*script, first])

    draws, outcome = run([])
    tree, _ = grow([], draws, outcome)
    if not _ends(tree):
        raise CannotBeFollowed("one step or reset may draw for ever")
    return tree


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
