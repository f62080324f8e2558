"""The tiger in rational arithmetic: a second method, which knows neither vectors nor rounding.

What was heard matters only by how many more times the tiger was heard on the left than on the right, k: the belief that
it is on the left is then 17^k / (17^k + 3^k). To open a door puts the tiger anew, and leads back to k = 0.
"""

import functools
from fractions import Fraction

import pytest

from rlsuite.planning import incremental_pruning, reachable_beliefs

pytestmark = pytest.mark.arithmetic

GAMMAS = {1.0: Fraction(1), 0.95: Fraction(19, 20), 0.75: Fraction(3, 4)}
HORIZON = 10

# Optimal values at the uniform belief that others have computed, as rational numbers or to 10 decimals.
KNOWN = {
    1.0: {1: "-1", 2: "-2", 3: "68/25", 4: "1937/800", 5: "72183/20000", 10: "60404272751/6400000000"},
    0.95: {1: "-1", 2: "-1.95", 3: "2.3098", 4: "1.7955442187", 5: "2.7630961931", 10: "6.6933684318"},
    0.75: {1: "-1", 2: "-1.75", 3: "0.905", 4: "0.483125", 5: "0.6282289063", 10: "1.6615600499"},
}


def on_the_left(k: int) -> Fraction:
    """The belief that the tiger is on the left after k net hears there; the accuracy is 17/20."""
    return 1 / (1 + Fraction(3, 17) ** k)


@functools.cache
def value(gamma: Fraction, steps: int, k: int) -> Fraction:
    """The optimal value with so many steps to go."""
    if steps == 0:
        return Fraction(0)
    left = on_the_left(k)
    hear_left = left * Fraction(17, 20) + (1 - left) * Fraction(3, 20)
    then = (value(gamma, steps - 1, k + 1), value(gamma, steps - 1, k - 1))
    listen = -1 + gamma * (hear_left * then[0] + (1 - hear_left) * then[1])
    tiger = min(left, 1 - left)  # behind the better door
    return max(listen, 10 - 110 * tiger + gamma * value(gamma, steps - 1, 0))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_values_are_the_known_ones(gamma):
    for steps, known in KNOWN[gamma].items():
        exact = value(GAMMAS[gamma], steps, 0)
        if "/" in known or gamma == 1.0:
            assert exact == Fraction(known)
        else:
            assert abs(exact - Fraction(known)) <= Fraction(1, 2 * 10**10)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_all_horizons_and_all_beliefs_that_can_be_reached(tiger, gamma):
    plan = incremental_pruning(tiger(gamma), horizon=HORIZON)
    assert plan.lower_bound <= value(GAMMAS[gamma], HORIZON, 0) <= plan.upper_bound
    for steps in range(1, HORIZON + 1):
        for k in range(steps - HORIZON, HORIZON - steps + 1):
            left = float(on_the_left(k))
            exact = float(value(GAMMAS[gamma], steps, k))
            assert plan.value([left, 1 - left], steps) == pytest.approx(exact, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_dynamic_programming_over_beliefs_agrees(tiger, gamma):
    for horizon in range(1, HORIZON + 1):
        plan = reachable_beliefs(tiger(gamma), horizon=horizon)
        assert plan.lower_bound <= value(GAMMAS[gamma], horizon, 0) <= plan.upper_bound
        assert plan.gap < 1e-9
