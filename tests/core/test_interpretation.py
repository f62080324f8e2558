"""Which compiled functions may run in Python, and that they give the bytes of their machine code there."""

import math
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from rlsuite.core.compilation import compiled, interpreted
from rlsuite.core.interpretation import interpretable, one_pass

OFFSET = 3


class Numbers(NamedTuple):
    values: np.ndarray
    scale: float


@compiled
def scaled(numbers, i):
    return numbers.values[i] * numbers.scale + OFFSET


@compiled
def larger(numbers, rng):
    """Uses a global number, another function, a builtin, the C library and a generator."""
    best = -np.inf
    for i in range(len(numbers.values)):
        best = max(best, math.exp(0.1 * scaled(numbers, i)) / math.sqrt(i))
    return best * rng.random()


@compiled
def calls_itself(n):
    return 1 if n < 2 else n * calls_itself(n - 1)


@compiled
def allocates(x):
    made = np.zeros(3)
    made[0] = x
    return made.sum()


@compiled
def vectorised(x):
    return np.exp(x)


@compiled
def power(x):
    return x**3


@compiled
def hypotenuse(x):
    return math.hypot(x, 1.0)


@compiled
def beta(rng):
    return rng.beta(2.0, 3.0)


@compiled
def shifted(x):
    return x << 2


@compiled
def caught(x):
    try:
        return 1.0 / x
    except Exception:
        return 0.0


def ordinary(x):
    return x + 1


@compiled
def calls_an_ordinary_function(x):
    return ordinary(x)


@compiled
def calls_another_that_differs(x):
    return power(x) + 1.0


def outer(factor):
    @compiled
    def inner(x):
        return factor(x) * 2.0

    return inner


def test_what_agrees_runs_in_python():
    numbers = Numbers(np.linspace(-9.0, 40.0, 200), 0.3)
    assert interpretable(larger)
    assert interpretable(numbers)
    in_python = interpreted(larger)
    assert type(in_python).__name__ == "function"
    with np.errstate(all="ignore"):
        found = in_python(numbers, np.random.default_rng(0))
    assert found == larger(numbers, np.random.default_rng(0))  # infinite: the first root is that of 0
    assert math.isinf(found)


def test_logarithms_of_what_has_none():
    @compiled
    def logarithm(x):
        return math.log(x)

    assert interpretable(logarithm)
    with np.errstate(all="ignore"):
        for x in (0.0, -1.0, 2.0, math.pi):
            np.testing.assert_equal(interpreted(logarithm)(x), logarithm(x))


def test_functions_call_the_python_forms_of_others():
    inner = outer(scaled)
    assert interpreted(inner).__closure__[0].cell_contents is interpreted(scaled)
    assert interpreted(larger).__globals__["scaled"] is interpreted(scaled)
    assert interpreted((larger, 2))[0] is interpreted(larger)


this = sys.modules[__name__]


@compiled
def through_a_module(numbers):
    return this.scaled(numbers, 1) + this.scaled(numbers, 2)


def test_functions_of_modules_are_replaced_too():
    numbers = Numbers(np.ones(3), 2.0)
    form = interpreted(through_a_module)
    assert interpretable(through_a_module)
    assert form.__globals__["this"].scaled is interpreted(scaled)
    assert form(numbers) == through_a_module(numbers) == 10.0


def test_a_function_may_call_itself():
    assert interpreted(calls_itself).__globals__["calls_itself"] is interpreted(calls_itself)
    assert interpreted(calls_itself)(5) == 120


@pytest.mark.parametrize(
    "function",
    [
        allocates,
        vectorised,
        power,
        beta,
        shifted,
        caught,
        calls_an_ordinary_function,
        calls_another_that_differs,
        outer(power),
    ],
    ids=lambda function: function.function.__qualname__,
)
def test_what_may_differ_is_compiled(function):
    assert not interpretable(function)
    assert not interpretable((1, function))


@pytest.mark.parametrize("value", [np.zeros(2, dtype=np.float32), np.zeros(2, dtype=np.uint64), {}, "text", None, [1]])
def test_other_values_are_compiled(value):
    assert not interpretable(Numbers(value, 1.0))
    assert interpretable(Numbers(np.zeros(2, dtype=np.int32), 1.0))


@one_pass
def shifted(numbers, by, out):
    least = np.inf
    for i in range(numbers.size):
        out[i] = numbers[i] / by
        least = min(least, out[i])
    return least, numbers.size, out[0] > 0.0


def test_a_small_call_is_interpreted_until_numba_has_been_imported(monkeypatch):
    numbers, out = np.array([1.0, -2.0]), np.empty(2)
    in_machine_code = shifted(numbers, 0.0, out), out.tobytes()
    assert in_machine_code[0] == (-np.inf, 2, True)
    out[:] = 0.0
    monkeypatch.setitem(vars(shifted), "dispatcher", lambda *_: "machine code")
    monkeypatch.delitem(sys.modules, "numba")
    result = shifted(numbers, 0.0, out)
    assert (result, out.tobytes()) == in_machine_code
    assert list(map(type, result)) == [float, int, bool]
    monkeypatch.setattr(shifted, "_small", 3)
    assert shifted(numbers, 0.0, out) == "machine code"
    monkeypatch.setattr(shifted, "_small", 4)
    assert shifted(numbers, 0.0, out) == result
    monkeypatch.setattr("rlsuite.core.interpretation.PATIENCE", -1.0)
    assert shifted(numbers, 0.0, out) == "machine code"


@pytest.mark.parametrize(
    "code",
    [
        "rl.solve(rl.MDP.from_successors([[0, 1], [0, 1]], [[1, 0], [0, 5]], gamma=0.9)).policy",
        "rl.solve(rl.MDP.from_env('FrozenLake-v1', gamma=0.9), method='value_iteration', tol=0.1).q",
        "rl.HMM([1, 0], [[0.5, 0.5], [0, 1]], [[0.5, 0.5], [1, 0]]).score([0, 1, 0])",
    ],
)
def test_first_results_without_numba(code):
    heavy = {"numba", "scipy.optimize"}
    script = f"import rlsuite as rl, sys; {code}; assert not {heavy} & {{*sys.modules}}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
