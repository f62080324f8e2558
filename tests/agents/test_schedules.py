"""Schedules against their formulas, and their units inside a memory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.agents.schedules import Constant, Exponential, Inverse, Linear, as_schedule, rate_now
from rlsuite.errors import ParameterError

times = st.integers(0, 10**9)


@given(times)
def test_linear_reaches_its_end_and_stays(t):
    value = Linear(1.0, 0.1, over=1_000).at(t)
    assert value == pytest.approx(max(0.1, 1.0 - 0.9 * t / 1_000), rel=1e-12)
    assert value == 0.1 or t < 1_000


@given(times)
def test_exponential(t):
    assert Exponential(0.8, decay=0.999, end=0.05).at(t) == pytest.approx(0.05 + 0.75 * 0.999**t, rel=1e-12)


@given(times)
def test_inverse(t):
    assert Inverse(2.0, scale=5.0, end=0.5).at(t) == pytest.approx(0.5 + 1.5 / (1 + t / 5), rel=1e-12)


def test_the_notes_step_size_makes_the_mean():
    rewards = [4.0, 8.0, 3.0]
    step_size = Inverse(1.0, per="visits")
    mean = 0.0
    means = []
    for visits, reward in enumerate(rewards):
        mean += step_size.at(visits) * (reward - mean)
        means.append(mean)
    assert means == pytest.approx([4.0, 6.0, 5.0], abs=1e-15)


@pytest.mark.parametrize(("per", "expected"), [("steps", 1 / 11), ("episodes", 1 / 3), ("visits", 1 / 6)])
def test_units(per, expected):
    clock = np.array([10, 2])
    assert rate_now(Inverse(1.0, per=per).rate, clock, 5) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(1.0, 0.0, over=0), "Linear: over=0 must be at least 1"),
        (lambda: Linear(math.nan, 0.0, over=5), "Linear: start=nan must be a finite number"),
        (lambda: Linear("1", 0.0, over=5), "Linear: start='1' must be a finite number"),
        (lambda: Exponential(1.0, decay=1.5), "Exponential: decay=1.5 lies outside (0, 1]"),
        (lambda: Inverse(1.0, scale=0.0), "Inverse: scale=0.0 must be greater than 0"),
        (
            lambda: Inverse(1.0, per="visit"),
            "Inverse, per: unknown unit of time 'visit'; did you mean 'visits'? (choices: episodes, steps, visits)",
        ),
        (lambda: as_schedule("epsilon", 1.2, 0, 1), "epsilon=1.2 lies outside [0, 1]"),
        (lambda: as_schedule("epsilon", math.nan, 0, 1), "epsilon=nan lies outside [0, 1]"),
        (lambda: as_schedule("epsilon", Linear(2.0, 0.0, over=3), 0, 1), "epsilon: start=2.0 lies outside [0, 1]"),
        (
            lambda: as_schedule("epsilon", "0.1", 0, 1),
            "epsilon='0.1' must be a number or a schedule (Linear, Exponential, Inverse, Polynomial)",
        ),
        (
            lambda: as_schedule("epsilon", True, 0, 1),
            "epsilon=True must be a number or a schedule (Linear, Exponential, Inverse, Polynomial)",
        ),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == message


def test_numbers_become_constants():
    assert as_schedule("alpha", np.float64(0.25), 0, 1) == Constant(0.25)
    assert Constant(0.25).at(10**6) == 0.25
