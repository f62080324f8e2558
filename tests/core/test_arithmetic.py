"""Arithmetic that is the same in machine code and in Python."""

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rlsuite.core.arithmetic import LARGEST_EXPONENT, power, weighted_sum
from rlsuite.core.compilation import compiled, run_in_python
from rlsuite.core.interpretation import interpretable


@compiled
def by_operator(base, exponent):
    return base**exponent


@compiled
def of_the_c_library(x, y):
    logarithms = math.log(abs(x)), np.log(abs(x)), math.log1p(abs(x)), np.log1p(abs(x))
    waves = math.sin(x), np.sin(x), math.cos(x), np.cos(x), math.tanh(x), np.tanh(x)
    return math.exp(x), np.exp(x), math.expm1(x), np.expm1(x), math.hypot(x, y), math.pow(abs(x), y), logarithms, waves


def test_python_has_the_bytes_of_machine_code():
    rng = np.random.default_rng(0)
    assert interpretable(power)
    for base, exponent in zip(rng.normal(size=300).tolist(), rng.integers(70, size=300).tolist(), strict=True):
        assert power(base, exponent) == run_in_python(power, base, exponent) == by_operator(base, exponent)
    assert power(0.9999, LARGEST_EXPONENT + 1) == run_in_python(power, 0.9999, LARGEST_EXPONENT + 1)
    special = [0.0, -0.0, 1000.0, -1000.0, math.inf, -math.inf, math.nan]
    for x in [*rng.normal(size=300).tolist(), *special]:
        for y in (0.3, -2.0):
            np.testing.assert_equal(run_in_python(of_the_c_library, x, y), of_the_c_library(x, y))


def test_weighted_sums_have_the_same_bytes_on_any_number_of_cores():
    rng = np.random.default_rng(4)
    for n in (1, 500, 10_001, 40_000):
        weights, values = rng.random(n), rng.standard_normal(n)
        found = set[float]()
        for cores in (1, 2, 5):
            with threadpool_limits(cores, "blas"):
                found.add(weighted_sum(weights, values))
        assert len(found) == 1
        assert found.pop() == pytest.approx(math.fsum(weights * values), rel=0, abs=1e-11)
    assert weighted_sum(np.array([0.0, 0.5, 0.5]), np.array([np.inf, 1.0, 2.0])) == 1.5
    assert weighted_sum(np.zeros(2), np.full(2, np.nan)) == 0.0
