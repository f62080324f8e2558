"""Checks of single numbers: what is at the bounds is let through, what is beyond them is named."""

import math

import numpy as np
import pytest

from rlsuite.core import checks
from rlsuite.errors import ParameterError


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.whole_number, True, "it=True is not a whole number"),
        (checks.whole_number, 0, "it=0 is less than 1"),
        (checks.whole_number, 2.0, "it=2.0 is not a whole number: write 2"),
        (checks.whole_number, "1e4", "it='1e4' is not a whole number: write 10000"),
        (checks.whole_number, 2.5, "it=2.5 is not a whole number"),
        (checks.whole_number, "nan", "it='nan' is not a whole number"),
        (checks.whole_amount, 2.5, "it=2.5 is not a whole number"),
        (checks.whole_amount, math.inf, "it=inf is not a whole number"),
        (checks.whole_amount, "10", "it='10' is not a whole number: write 10"),
        (checks.whole_amount, 0.0, "it=0 is less than 1"),
        (checks.finite_number, math.nan, "it=nan is not a finite number"),
        (checks.finite_number, "1", "it='1' is not a finite number"),
        (checks.fraction, 1.0000001, "it=1 is not in [0, 1]"),
        (checks.positive_number, 0.0, "it=0.0 is not a positive number"),
        (checks.positive_number, math.nan, "it=nan is not a positive number"),
    ],
)
def test_what_is_out_of_range_is_named(check, value, message):
    with pytest.raises(ParameterError) as caught:
        check("it", value)
    assert str(caught.value) == message


def test_bounds_and_numbers_of_numpy_are_let_through():
    assert [checks.fraction("it", value) for value in (0, 1, np.float32(0.5))] == [0.0, 1.0, 0.5]
    assert checks.whole_number("it", np.int8(1)) == 1
    assert checks.positive_number("it", math.inf) == math.inf


@pytest.mark.parametrize("value", [1e4, 10_000, np.float64(1e4), np.int32(10_000)])
def test_an_amount_may_be_written_as_a_power_of_ten(value):
    amount = checks.whole_amount("steps", value)
    assert (type(amount), amount) == (int, 10_000)
