"""Searches on the command line: the same as in Python, and mistakes."""

import pytest

import rlsuite as rl


def test_it_is_what_python_says(rlsuite, rlsuite_json):
    pytest.importorskip("optuna")
    words = ("q-learning", "FrozenLake-v1", "--steps", 200, "--trials", 3, "--seeds", 2, "--fresh-seeds", 2)
    space = {"learning_rate": {"log": [0.01, 1.0]}, "exploration.epsilon": [0.1, 0.3]}
    found = rl.search(rl.QLearning(), "FrozenLake-v1", space, steps=200, trials=3, seeds=2, fresh_seeds=2)
    done = rlsuite("search", *words, "--learning-rate", "0.01:1", "--epsilon", "0.1,0.3")
    assert done.out.startswith(repr(found))
    assert done.err.splitlines()[-1].startswith("next: rlsuite train q-learning FrozenLake-v1 --learning-rate 0.")
    (listed,) = rlsuite_json("search", *words, "--learning-rate", "0.01:1", "--epsilon", "0.1,0.3")
    assert listed["setting"] == found.best.setting
    assert len(listed["trials"]) == 3


def test_mistakes_are_answered(rlsuite, tmp_path):
    (tmp_path / "lake.toml").write_text("", encoding="utf-8")
    for words, message in (
        (("q-learning", "FrozenLake-v1"), "nothing is searched: give a flag of the agent a range"),
        (("q-learning", "--learning-rate", "0.1:1"), "no environment is given: rlsuite search q-learning ENV"),
        (("q-learning", "FrozenLake-v1", "--learning-rate", "1:.1"), "'1:.1' is not a range LOW:HIGH"),
        (("q-learning", "FrozenLake-v1", "--learning-rate", ".1:2"), "lies outside [0, 1]"),
        (("lake.toml", "FrozenLake-v1"), "give the file alone"),
    ):
        done = rlsuite("search", *words)
        assert done.code == 2
        assert message in done.err
