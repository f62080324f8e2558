"""All outcomes of a step, found by running it once for each of them."""

import bisect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.environments.signal_errors import CannotBeFollowed, WasRead, called
from rlsuite.environments.outcomes import IntegerNode, Leaf, UniformNode, draw, outcomes_of
from rlsuite.environments.scripted_generator import ScriptedGenerator
from rlsuite.environments.symbolic import (
    GRID,
    UnreadContainer,
    UnreadNumber,
)


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


class Fixed:
    """A generator that returns one number."""

    def __init__(self, k):
        self.k = k

    def random(self):
        return self.k / GRID


@given(
    st.lists(st.floats(1e-300, 1.0, exclude_max=True), min_size=1, max_size=4),
    st.floats(0.01, 100.0),
    st.floats(-10.0, 10.0),
)
def test_bounds_are_exact_to_the_last_bit(thresholds, factor, offset):
    """On both sides of each bound the step itself gives the two neighbouring outcomes."""

    def step(rng):
        return sum(rng.random() * factor + offset >= threshold * factor + offset for threshold in thresholds)

    def one_draw(rng):
        u = rng.random()
        return sum(u * factor + offset >= threshold * factor + offset for threshold in thresholds)

    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: one_draw(rng), rng)
    assert isinstance(tree, UniformNode)
    outcomes = [child.outcome for child in tree.children]
    for i, bound in enumerate(tree.bounds):
        k = int(bound * GRID)
        assert k / GRID == bound
        assert (one_draw(Fixed(k - 1)), one_draw(Fixed(k))) == (outcomes[i], outcomes[i + 1])
    assert (one_draw(Fixed(0)), one_draw(Fixed(GRID - 1))) == (outcomes[0], outcomes[-1])
    assert step(Fixed(0)) == outcomes[0]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (lambda rng: rng.normal(), r"draws by normal\(\)"),
        (lambda rng: rng.shuffle(list(range(8))), "shuffles 8 things, more than 7"),
        (lambda rng: rng.permutation(np.zeros((2, 3)), axis=1), "permutes along an axis"),
        (lambda rng: rng.permuted(3), r"draws by permuted\(\)"),
        (lambda rng: rng.bit_generator, r"draws by bit_generator\(\)"),
        (lambda rng: float(rng.random()), "plain float"),
        (lambda rng: math.exp(rng.random()), "plain float"),
        (lambda rng: np.exp(rng.random()), "numpy.exp"),
        (lambda rng: np.mean(rng.random()), "numpy.mean"),
        (lambda rng: [1, 2][rng.random()], "index"),
        (lambda rng: rng.random() * rng.random() < 0.5, "combined with another random number"),
        (lambda rng: rng.random() < rng.random(), "compared with another random number"),
        (lambda rng: min(rng.random(), rng.random()), "compared with another random number"),
        (lambda rng: rng.random() ** 0.1 < 0.5, "power that is not followed"),
        (lambda rng: (rng.random() - 0.5) ** 0.5, "not whole, while it may be negative"),
        (lambda rng: (1 + rng.random()) % 1e-17, "small beside it"),
        (lambda rng: {rng.random(): 1}, "used as a key"),
        (lambda rng: f"{rng.random()}", "written as text"),
        (lambda rng: rng.integers(10**6), "1,000,000 integers"),
        (lambda rng: rng.integers(5, dtype=np.int8), "less than 32 bits"),
        (lambda rng: rng.choice(20_000, size=2, replace=False), "20,000 without replacement"),
        (lambda rng: rng.integers(100, size=3), "more than 10,000 outcomes"),
    ],
)
def test_what_cannot_be_followed_is_refused(step, why):
    rng = ScriptedGenerator()
    with pytest.raises(CannotBeFollowed, match=why):
        outcomes_of(lambda: step(rng), rng)


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


@pytest.mark.parametrize(
    "reads",
    [
        lambda n: n > 7,
        lambda n: n == 7,
        lambda n: n % 3 == 0,
        lambda n: bool(n),
        lambda n: [10, 20][n],
        lambda n: int(n),
        lambda n: float(n + 1),
        lambda n: f"{n}",
        lambda n: np.array([1.0, 2.0]) * np.asarray(n),
        lambda n: {n: 1},
        lambda n: max(n, 3),
        lambda n: math.sqrt(n),
        lambda n: n.bit_length(),
    ],
)
def test_a_counter_that_decides_anything_is_found_out(reads):
    with pytest.raises(WasRead) as caught:
        called(lambda: reads(UnreadNumber("count")))
    assert caught.value.name == "count"


def test_a_counter_may_be_added_to():
    counter = UnreadNumber("count")
    counter += 1
    total = round(0.5 * (counter - 1) / 3, 2) + 1.0
    assert isinstance(total, UnreadNumber)
    assert total.name == "count"


@pytest.mark.parametrize(
    ("kind", "reads"),
    [
        (list, lambda x: len(x)),
        (list, lambda x: x[-1] > 3),
        (list, lambda x: 4 in x),
        (list, lambda x: x.index(1)),
        (list, lambda x: x.pop()),
        (list, lambda x: list(x)),
        (dict, lambda x: x["n"] > 3),
        (dict, lambda x: x.get("n", 0) == 3),
        (dict, lambda x: x.items()),
        (dict, lambda x: "n" in x),
        (np.ndarray, lambda x: x.sum()),
        (np.ndarray, lambda x: np.argmax(x)),
        (np.ndarray, lambda x: x + 1),
        (np.ndarray, lambda x: bool(x[0])),
        (Fixed, lambda x: x.random()),
        (Fixed, lambda x: x.k > 3),
        (Fixed, lambda x: vars(x)["k"] > 3),
    ],
)
def test_a_container_that_decides_anything_is_found_out(kind, reads):
    with pytest.raises((WasRead, TypeError)):  # TypeError: vars() of what has no __dict__
        called(lambda: reads(UnreadContainer("log", kind)))


@pytest.mark.parametrize("swallowed", [Exception, BaseException])
def test_what_an_environment_swallows_is_found_out(swallowed):
    def step():
        try:
            return UnreadNumber("count") > 3
        except swallowed:
            return False

    with pytest.raises(WasRead):
        called(step)
    assert called(lambda: 3) == 3


def test_a_container_may_be_filled():
    log, table, statistics = (UnreadContainer("log", kind) for kind in (list, dict, Fixed))
    log.append(3)
    log += [4]
    table["n"] += 1
    table["m"] = table.get("m", 0) + 1
    table.update(n=3)
    statistics.k += 1
