"""Numbers that are followed through a step: random ones, and counters that nothing may read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.environments.outcomes import UniformNode, outcomes_of
from rlsuite.environments.scripted_generator import ScriptedGenerator
from rlsuite.environments.signal_errors import WasRead, called
from rlsuite.environments.symbolic import GRID, UnreadContainer, UnreadNumber


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


ONE_DRAW = {
    "remainder": lambda u: int(10 * u % 3),
    "remainder of what may be negative": lambda u: (7 * u - 2) % 0.7 < 0.3,
    "remainder by a draw": lambda u: int(50 % (1 + 9 * u)),
    "quotient": lambda u: 7 // (0.1 + u),
    "inverse": lambda u: 1 / (u + 0.1) > 3.7,
    "distance": lambda u: abs(u - 0.3) < 0.1,
    "squared": lambda u: int((3 * u - 1) ** 2 * 3),
    "cubed": lambda u: int((3 * u - 1) ** 3),
    "root": lambda u: int(u**0.5 * 7),
    "numpy's root": lambda u: int(np.sqrt(u) * 7),
    "negative power": lambda u: int((u + 0.2) ** -1.5),
    "rounded": lambda u: round(7 * u - 3),
}


@pytest.mark.parametrize("way", ONE_DRAW)
def test_bounds_of_functions_are_exact_to_the_last_bit(way):
    rng = ScriptedGenerator()
    tree = outcomes_of(lambda: ONE_DRAW[way](rng.random()), rng)
    assert isinstance(tree, UniformNode)
    bounds = [0, *(int(bound * GRID) for bound in tree.bounds), GRID]
    for child, first, end in zip(tree.children, bounds, bounds[1:], strict=False):
        near = {*range(first, min(first + 40, end)), *range(max(first, end - 40), end)}
        near |= {*np.random.default_rng(first).integers(first, end, 40).tolist()}
        assert {ONE_DRAW[way](k / GRID) for k in near} == {child.outcome}


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
