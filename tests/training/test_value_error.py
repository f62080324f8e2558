"""Errors of learned state values, against what is known about random walks."""

from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.cli import main
from rlsuite.errors import ParameterError
from rlsuite.experiments import Experiment, compare
from rlsuite.experiments.rows import FOLLOWED, VALUE_ERROR, table
from rlsuite.training.optimum import Prediction, ValueErrors

WALK = "rlsuite/RandomWalk-v0"


def test_predictors_are_measured_by_the_values_of_the_policy_that_they_follow(tmp_path, capsys):
    """On the walk of S&B2 Example 6.2 the exact values are 1/6, ..., 5/6; all states count once."""
    td = rl.TD(gamma=1.0, initial_value=0.5, learning_rate=0.1)
    results = rl.train(td, WALK, episodes=60, seeds=3, evaluate_every=20)
    learned = td.learn(WALK, episodes=60, seed=0).value_[1:6]
    wanted = np.sqrt(np.mean((learned - np.arange(1, 6) / 6) ** 2))
    np.testing.assert_allclose(results.records[0].value_error[-1], wanted, rtol=1e-9)
    (row,) = compare({"walk": [results]})
    assert (row.measure, row.optimum, row.share) == (VALUE_ERROR, None, None)
    assert "greedy" not in table([row])
    control = rl.train(rl.Sarsa(), WALK, episodes=9, seeds=2, evaluate_every=9).records[0]
    assert (control.follows, control.value_error.size) == (False, 0)

    # with features a state counts as often as it is visited: of the walk 1, 2, 3, 2, 1 times in nine
    mdp = rl.MDP.from_env(WALK, gamma=1.0)
    even = np.full((7, 2), 0.5)
    off = np.array([0.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    exact = rl.evaluate_policy(mdp, even)
    for by_visits, share in ((False, 1 / 5), (True, 1 / 9)):
        errors = ValueErrors(mdp, 10_000, Prediction(exact, even, even, by_visits))
        np.testing.assert_allclose(errors.of(exact + off), 6 * np.sqrt(share), rtol=1e-9)
    hidden = rl.train(rl.TD(), "rlsuite/Tiger-v0", steps=100, seeds=2, evaluate_every=100)
    assert compare({"tiger": [hidden]})[0].measure == FOLLOWED
    with pytest.raises(ParameterError, match="hold no errors of state values: agents such as TD"):
        rl.plotting.value_error(hidden)

    for seeds in (["--seed", "1"], ["--seeds", "2"]):
        assert main(["train", "td-lambda", WALK, "--gamma", "1", "--steps", "50", *seeds]) == 0
        printed, following = capsys.readouterr()
        assert "--plot curve.png --figure value-error" in following
        assert "RMS error of the state values: " in printed
        assert "value of the policy that it follows (gamma 1): 0.5" in printed
        assert "greedy" not in printed
        assert "optimum" not in printed


@pytest.mark.slow
def test_the_figures_of_the_book_are_short_files(tmp_path, capsys):
    for figure in ("6_2", "7_2", "12_3", "12_6"):
        file = Path(__file__).parents[2] / f"runs/sb_fig_{figure}.toml"
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 25
        experiment = Experiment.read(file, seeds=1)
    results = experiment.run(tmp_path / "results")[WALK]
    errors = {run.agent: run.records[0].value_error[-1] for run in results}
    assert min(errors.values()) < 0.25 < errors["lambda 0.0 (learning_rate=0.125)"]
    assert main(["report", str(tmp_path / "results"), "--plot"]) == 0
    capsys.readouterr()
    assert main(["train", "td", "MountainCar-v0", "--features", "tile-coding", "--steps", "50", "--seed", "1"]) == 0
    assert "greedy" not in capsys.readouterr().out
