import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.experiments.grid import settings, text_of, with_setting


def test_all_combinations_the_last_parameter_fastest():
    found = settings({"a": [1, 2], "b": ("x", "y")})
    assert found == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    assert text_of(found[1]) == "a=1, b='y'"


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"log": [0.001, 1], "n": 4}, [0.001, 0.01, 0.1, 1.0]),
        ({"linear": [1, 0], "n": 3}, [1.0, 0.5, 0.0]),
        (np.array([0.1, 0.2]), [0.1, 0.2]),
        (range(3), [0, 1, 2]),
    ],
)
def test_values(given, values):
    found = [setting["a"] for setting in settings({"a": given})]
    assert found == values
    assert {type(value) for value in found} <= {int, float}


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "a sweep is a table"),
        ([1, 2], "a sweep is a table"),
        ({"a": []}, "a has no values"),
        ({"a": [1, 1]}, "a has a value twice"),
        ({"a": 0.5}, "a=0.5 must be a list"),
        ({"a": "0.1,0.5"}, "must be a list"),
        ({"a": {"log": [0.1, 1]}}, "must be a list"),
        ({"a": {"log": [0, 1], "n": 3}}, "log of a needs two finite ends, both positive"),
        ({"a": {"linear": [0], "n": 3}}, "linear of a needs two finite ends"),
        ({"a": {"linear": [0, 1], "n": 0}}, "n of a"),
    ],
)
def test_bad_grids(grid, message):
    with pytest.raises(ParameterError, match=message):
        settings(grid)


def test_parameters_of_parts():
    agent = with_setting(rl.Sarsa(gamma=0.9), {"learning_rate": 0.2, "exploration.epsilon": 0.3})
    assert (agent.gamma, agent.learning_rate, agent.exploration.epsilon) == (0.9, 0.2, 0.3)
    for path in ("learning_rat", "exploration.eps", "gamma.x"):
        with pytest.raises(ParameterError, match=f"sweep: {path}: unknown parameter"):
            with_setting(rl.Sarsa(), {path: 0.1})


def test_too_many_settings_are_refused_before_they_are_made():
    grid = {"learning_rate": {"linear": [0.0, 1.0], "n": 1_000}, "lambda_": {"linear": [0.0, 1.0], "n": 10_000}}
    with pytest.raises(
        ParameterError, match="1000 x 10000 values make 10,000,000 settings, more than 100,000: leave out"
    ):
        settings(grid)
    with pytest.raises(ParameterError, match="10,000,000,000 values of lambda_ are more than 100,000"):
        settings({"lambda_": {"linear": [0.0, 1.0], "n": 10_000_000_000}})
