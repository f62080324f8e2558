"""A generator whose draws follow a script says what it cannot draw so."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.environments.child_process import CannotBeFollowed, Signal, called
from rlsuite.environments.outcomes import UniformNode, leaves_of, outcomes_of
from rlsuite.environments.scripted_generator import GRID, ScriptedGenerator


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
        (lambda rng: np.mean(rng.random()), "numpy.mean"),
        (lambda rng: [1, 2][rng.random()], "index"),
        (lambda rng: rng.random() * rng.random() < 0.5, "combined with another random number"),
        (lambda rng: rng.random() < rng.random(), "compared with another random number"),
        (lambda rng: min(rng.random(), rng.random()), "compared with another random number"),
        (lambda rng: {rng.random(): 1}, "used as a key"),
        (lambda rng: f"{rng.random()}", "written as text"),
        (lambda rng: rng.integers(10**6), "1,000,000 integers"),
        (lambda rng: rng.integers(5, dtype=np.int8), "less than 32 bits"),
        (lambda rng: rng.choice(20_000, size=2, replace=False), "from 20,000 without replacement"),
        (lambda rng: rng.integers(100, size=3), "more than 10,000 outcomes"),
    ],
)
def test_what_cannot_be_followed_is_refused(step, why):
    rng = ScriptedGenerator()
    with pytest.raises(CannotBeFollowed, match=why):
        outcomes_of(lambda: step(rng), rng)


def test_all_orders_are_listed_alike():
    rng = ScriptedGenerator()

    def step():
        things = list("abcd")
        rng.shuffle(things)
        return "".join(things)

    outcomes = [*leaves_of(outcomes_of(step, rng))]
    assert len(outcomes) == len({*outcomes}) == 24


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


@pytest.mark.parametrize("swallowed", [Exception, BaseException])
def test_what_an_environment_swallows_is_found_out(swallowed):
    def step():
        try:
            raise Signal(CannotBeFollowed("no"))
        except swallowed:
            return False

    with pytest.raises(CannotBeFollowed, match="no"):
        called(step)
    assert called(lambda: 3) == 3
