"""Choosing among batch methods on the command line: the same as in Python, and mistakes."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from rlsuite.approximation import FittedQ, choose_approximator

FILE = """
steps = 200
seeds = 2
environments = [{ id = "rlsuite/GridGoal-v0" }]
[[agents]]
name = "fitted-q"
label = "line"
gamma = 0.9
iterations = 5
regressor = "sklearn.linear_model:LinearRegression"
[[agents]]
name = "fitted-q"
label = "tree"
gamma = 0.9
iterations = 5
regressor = "sklearn.tree:DecisionTreeRegressor"
"""


def test_it_is_what_python_chooses(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "two.toml").write_text(FILE)
    flags = ("--folds", 2, "--report-episodes", 1, "--workers", 1)
    (found,) = rlsuite_json("choose", "two.toml", *flags)["environments"]
    regressors = {"line": LinearRegression(), "tree": DecisionTreeRegressor()}
    candidates = {name: FittedQ(each, gamma=0.9, iterations=5) for name, each in regressors.items()}
    choice = choose_approximator(
        candidates,
        "rlsuite/GridGoal-v0",
        steps=200,
        training_seeds=[0, 1],
        report_seeds=[2, 3],
        cv=2,
        report_episodes=1,
    )
    assert found["best"] == choice.best == "tree"
    assert np.array_equal(found["errors"], choice.errors)
    assert found["returns"] == choice.returns.tolist()
    done = rlsuite("choose", "two.toml", *flags)
    assert done.out == f"rlsuite/GridGoal-v0: {choice}\n"


def test_mistakes_are_answered(rlsuite, tmp_path):
    (tmp_path / "two.toml").write_text(FILE + '[[agents]]\nname = "Sarsa"\n')
    assert "Sarsa does not learn action values from a batch" in rlsuite("choose", "two.toml").err
    (tmp_path / "two.toml").write_text(FILE + "environment = { slip = 0.1 }\n")
    assert "tree has keywords of the environment of its own" in rlsuite("choose", "two.toml").err
    (tmp_path / "one.toml").write_text(FILE.rpartition("[[agents]]")[0])
    assert "at least two" in rlsuite("choose", "one.toml").err
