"""Errors of rlsuite are caught as one family, and name what is nearest to a misspelt word."""

import inspect

import pytest

from rlsuite import errors


def test_every_error_and_warning_has_its_base():
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, Exception) and kind.__module__ == errors.__name__:
            assert issubclass(kind, errors.RlsuiteWarning if issubclass(kind, Warning) else errors.RlsuiteError)


@pytest.mark.parametrize(
    ("name", "hint"), [("qlearning", "; did you mean 'QLearning'?"), ("Sarssa", "; did you mean 'Sarsa'?"), ("?", "")]
)
def test_the_nearest_choice_comes_first(name, hint):
    sentence = f"unknown agent {name!r}{hint} (choices: QLearning, Sarsa)"
    assert errors.unknown("agent", name, ["Sarsa", "QLearning"]) == sentence


def test_a_warning_points_at_the_line_outside_rlsuite():
    assert errors.level_of_the_caller() == 1  # asked by the function below it: this test
