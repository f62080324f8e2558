"""An agent's default discount in a model of another discount is mentioned, once."""

import warnings

import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import DiscountWarning
from rlsuite.training import optimum

SENTENCE = r"^QLearning learns with its default gamma=0.99, .* has gamma=0.9: .* Write QLearning\(gamma=0.9\), or"


def test_a_default_discount_in_a_model_of_another_is_mentioned_once(monkeypatch):
    mdp = rl.MDP.from_successors([[0, 1], [None, None]], [0, 1], gamma=0.9, start=0)

    def learn(**parameters):
        rl.QLearning(**parameters).learn(mdp.to_env(), steps=5, seed=1)

    for act in (learn, lambda: rl.compare([rl.QLearning()], [mdp.to_env()], steps=5, seeds=2)):
        monkeypatch.setattr(optimum, "_said", set())
        with pytest.warns(DiscountWarning, match=SENTENCE) as said:
            act()
        assert len(said) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            act()
    monkeypatch.setattr(optimum, "_said", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gamma in (0.9, 0.8):  # the same, and one that was asked for
            learn(gamma=gamma)
        rl.QLearning().learn("rlsuite/GridGoal-v0", steps=5, seed=1)  # whose gamma nobody has written
        arms = rl.MDP.from_successors([[0, 0]], [[0.0, 1.0]], gamma=0.0)
        rl.QLearning().learn(arms.to_env(), steps=5, seed=1)
