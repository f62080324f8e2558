"""All outcomes of a step, found by running it once for each of them."""

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest

from rlsuite.environments.outcomes import (
    Again,
    IntegerNode,
    Leaf,
    UniformNode,
    draw,
    leaves_of,
    nodes_of,
    outcomes_of,
    probabilities_of,
)
from rlsuite.environments.scripted_generator import ScriptedGenerator
from rlsuite.environments.signal_errors import CannotBeFollowed


def shuffled(rng, things):
    rng.shuffle(things)
    return str(things)


WAYS = {
    "compared": lambda rng: rng.random() < 0.1,
    "from the other side": lambda rng: 0.7 <= rng.random(),  # noqa: SIM300 - the order is what is tested
    "cumulated": lambda rng: int(np.argmax(np.cumsum([0.1, 0.2, 0.7]) > rng.random())),
    "array first": lambda rng: int(np.argmax(rng.random() < np.cumsum([0.1, 0.2, 0.7]))),
    "searchsorted": lambda rng: int(np.searchsorted(np.cumsum([1 / 3] * 3), rng.random(), side="right")),
    "searchsorted left": lambda rng: int(np.searchsorted([0.25, 0.5], rng.random())),
    "bisect": lambda rng: bisect.bisect([0.1, 0.5], rng.random()),
    "chosen": lambda rng: str(rng.choice(["a", "b", "c"], p=[1e-12, 0.5, 0.5 - 1e-12])),
    "chosen evenly": lambda rng: int(rng.choice([3, 5, 8])),
    "scaled": lambda rng: int(rng.random() * 4),
    "rounded": lambda rng: round(10 * rng.random() - 3),
    "floor": lambda rng: math.floor(3 * rng.random() + 1),
    "numpy floor": lambda rng: int(np.floor(rng.random() * 2)),
    "floor division": lambda rng: rng.random() // 0.3,
    "divided": lambda rng: rng.random() / 2 > 0.2,
    "mirrored": lambda rng: 1 - rng.random() <= 0.25,
    "negative": lambda rng: -rng.random() > -0.5,
    "between": lambda rng: 0.3 < rng.random() <= 0.6,
    "equal": lambda rng: rng.random() == 0.5,
    "uniform": lambda rng: rng.uniform(-1, 1) > 0.5,
    "integers": lambda rng: int(rng.integers(2, 7)),
    "endpoint": lambda rng: int(rng.integers(1, 3, endpoint=True)),
    "nothing to draw": lambda rng: int(rng.integers(1)),
    "several": lambda rng: tuple((rng.random(3) < 0.5).tolist()),
    "several integers": lambda rng: tuple(rng.integers(3, size=2).tolist()),
    "draws after draws": lambda rng: rng.integers(3) if rng.random() < 0.2 else (rng.random() < 0.9) + 10,
    "nothing": lambda rng: "always",
    "remainder": lambda rng: 10 * rng.random() % 3 < 1.5,
    "remainder of what may be negative": lambda rng: int((20 * rng.random() - 10) % 0.7 * 10),
    "remainder of an integer": lambda rng: int(rng.random() * 12) % 5,
    "remainder by a draw": lambda rng: 7 % (1 + 5 * rng.random()) > 1,
    "np.mod": lambda rng: np.mod(10 * rng.random(), 3) < 1.5,
    "divmod": lambda rng: tuple(map(int, divmod(10 * rng.random() - 3, 2.5))),
    "absolute": lambda rng: abs(rng.random() - 0.3) > 0.2,
    "np.abs": lambda rng: np.abs(rng.random() - 0.3) > 0.2,
    "squared": lambda rng: (rng.random() - 0.3) ** 2 > 0.2,
    "np.square": lambda rng: np.square(rng.random() - 0.3) > 0.2,
    "cubed": lambda rng: int(20 * (rng.random() - 0.3) ** 3),
    "root": lambda rng: int(np.sqrt(rng.random()) * 7),
    "power": lambda rng: int(rng.random() ** 0.5 * 7),
    "inverse": lambda rng: 1 / (rng.random() + 0.1) > 3,
    "negative power": lambda rng: (rng.random() + 0.1) ** -1 > 3,
    "floor of the inverse": lambda rng: 3 // (rng.random() + 0.1),
    "least": lambda rng: min(rng.random(), 0.5) > 0.2,
    "np.minimum": lambda rng: np.minimum(rng.random(), 0.5) > 0.2,
    "np.round": lambda rng: int(np.round(5 * rng.random())),
    "np.trunc": lambda rng: int(np.trunc(5 * rng.random() - 2)),
    "trunc": lambda rng: math.trunc(5 * rng.random() - 2),
    "shuffled": lambda rng: shuffled(rng, [3, 4, 5, 6]),
    "an array shuffled": lambda rng: shuffled(rng, np.arange(5)),
    "rows shuffled": lambda rng: shuffled(rng, np.arange(6).reshape(3, 2)),
    "one thing shuffled": lambda rng: shuffled(rng, ["a"]),
    "permuted": lambda rng: str(rng.permutation(5)),
    "a list permuted": lambda rng: str(rng.permutation(["a", "b", "c"])),
    "different ones": lambda rng: str(rng.choice(6, size=3, replace=False)),
    "a different one": lambda rng: str(rng.choice([2, 4, 6], replace=False)),
    "all of them": lambda rng: str(rng.choice(["a", "b", "c"], size=3, replace=False)),
    "in their order": lambda rng: str(rng.choice(6, size=2, replace=False, shuffle=False)),
    "different ones with probabilities": lambda rng: str(rng.choice(4, 3, replace=False, p=[0.1, 0.2, 0.3, 0.4])),
    "a table of different ones": lambda rng: str(rng.choice(5, (2, 2), replace=False, p=[0.1, 0.2, 0.3, 0, 0.4])),
    "32 bits": lambda rng: int(rng.integers(5, dtype=np.int32)) + int(rng.integers(0, 3, 2, dtype=np.uint32).sum()),
    "an integer after a shuffle": lambda rng: (shuffled(rng, [1, 2, 3]), int(rng.integers(3))),
    "two integers compared": lambda rng: rng.integers(6) < rng.integers(6),
    "the larger of two integers": lambda rng: int(max(rng.integers(6), rng.integers(6))),
    "integers computed with": lambda rng: int(abs(rng.integers(-3, 4)) ** 2 % 5 - -rng.integers(2) // 2),
    "a key": lambda rng: {0: "a", 1: "b", 2: "c"}[rng.integers(3)],
    "an index": lambda rng: "abc"[rng.integers(3)],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tree_draws_what_the_step_draws(way):
    """The same outcomes and the same state of the generator afterwards, over 2,000 steps of one stream."""
    step = WAYS[way]
    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: step(rng), rng)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2_000):
        assert draw(tree, one) == step(other)
    assert one.bit_generator.state == other.bit_generator.state


def test_a_step_that_draws_at_times_is_refused():
    """As one that counts in a global name, which no copy has of its own."""
    rng, calls = ScriptedGenerator(), []

    def step():
        calls.append(None)
        return "rest" if len(calls) % 2 == 0 else rng.random() < 0.5

    with pytest.raises(CannotBeFollowed, match="does not draw the same numbers each time"):
        outcomes_of(step, rng)


def test_a_tree_is_as_deep_as_the_draws():
    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: rng.random() < 0.5 and int(rng.integers(4, 6)), rng)
    assert tree == UniformNode((0.5,), (IntegerNode(4, (Leaf(4), Leaf(5))), Leaf(False)))


def followed(step):
    """The tree of a function of a generator."""
    rng = ScriptedGenerator()
    return outcomes_of(lambda: step(rng), rng)


def two_of_five(rng):
    while True:
        x = int(rng.integers(5))
        if x > 2:
            return x


def walk_home(rng):
    """From 2, left or right with the same probability; one arrives at 0 or at 5."""
    x = 2
    while 0 < x < 5:
        x += 1 if rng.random() < 0.5 else -1
    return x


def endless(rng):
    while True:
        rng.integers(2)


def test_a_loop_is_a_draw_that_is_made_again():
    tree = followed(two_of_five)
    assert tree == IntegerNode(0, (Again(0), Again(0), Again(0), Leaf(3), Leaf(4)))
    assert [*probabilities_of(tree)] == [(0.5, 3), (0.5, 4)]
    assert nodes_of(tree) == [tree]
    assert [*leaves_of(tree)] == [3, 4]


def test_probabilities_of_loops_are_exact():
    """The ruin of a gambler: who has 2 of 5 wins with probability 2 / 5."""
    tree = followed(walk_home)
    found = {}
    for chance, outcome in probabilities_of(tree):
        found[outcome] = found.get(outcome, Fraction(0)) + Fraction(chance)
    assert found == {0: Fraction(0.6), 5: Fraction(0.4)}


def test_a_step_that_never_ends_is_refused():
    with pytest.raises(CannotBeFollowed, match="one step or reset may draw for ever"):
        followed(endless)
