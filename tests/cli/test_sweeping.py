"""Sweeps on the command line: the same as in Python, and mistakes."""

import csv

import pytest

import rlsuite as rl


def test_it_is_what_python_says(rlsuite, rlsuite_json):
    words = ("q-learning", "FrozenLake-v1", "--gamma", 0.9, "--steps", 200, "--seeds", 2, "--workers", 1)
    flags = ("--learning-rate", "0.1,0.5", "--epsilon", "0.1:0.3:0.1")
    grid = {"learning_rate": [0.1, 0.5], "exploration.epsilon": [0.1, 0.2, 0.3]}
    expected = rl.sweep(rl.QLearning(gamma=0.9), "FrozenLake-v1", grid, steps=200, seeds=2)
    assert rlsuite("sweep", *words, *flags).out == f"{expected}\n"
    found = rlsuite_json("sweep", *words, *flags)
    assert found["parameters"] == expected.parameters
    assert [row["mean"] for row in found["rows"]] == [row.mean for row in expected.rows]
    assert found["best"] == expected.best.setting


def test_other_parameters_and_files(rlsuite, tmp_path):
    words = ("n-step-sarsa", "FrozenLake-v1", "--steps", 50, "--seeds", 2, "--agent", "n=1,2")
    assert rlsuite("sweep", *words, "--save", "n.csv", "--plot", "n.svg").code == 0
    with (tmp_path / "n.csv").open(newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == ["1", "2"]
    assert "n.svg" in [path.name for path in tmp_path.iterdir()]
    three = ("--learning-rate", "0.1,0.5", "--epsilon", "0.1,0.2,0.3", "--plot", "three.svg")
    assert "figure: three-learning_rate-0.5.svg" in rlsuite("sweep", *words, *three).err
    assert {"three-learning_rate-0.1.svg", "three-learning_rate-0.5.svg"} <= {path.name for path in tmp_path.iterdir()}
    done = rlsuite("sweep", "sarsa-lambda", "FrozenLake-v1", "--steps", 50, "--seeds", 2, "--lambda", "0:1:0.5")
    assert done.out.startswith("Sweep(3 settings of lambda_ in FrozenLake-v1;")
    reward = ("--c", "1,2", "--measure", "reward", "--steps", 50, "--seeds", 2)
    assert "of c in rlsuite/Bandit-v0; reward per step" in rlsuite("sweep", "ucb1", "rlsuite/Bandit-v0", *reward).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing is swept: give a flag of the agent several values"),
        (("--learning-rate", "0.1,2"), "lies outside [0, 1]"),
        (("--learning-rate", "1:0:0.1"), "'1:0:0.1' is not a range FIRST:LAST:STEP"),
        (("--agent", "lambdax=1,2"), "unknown parameter 'lambdax'"),
        (("--learning-rate", "0.1,0.2", "--measure", "money"), "unknown measure 'money'"),
        (("--learning-rate", "0.1,0.2", "--save", "x.tex"), "--save x.tex"),
    ],
)
def test_mistakes_are_answered(rlsuite, words, message):
    done = rlsuite("sweep", "q-learning", "FrozenLake-v1", "--steps", 20, *words)
    assert done.code == 2
    assert message in done.err
