"""Expected Sarsa(lambda) against hand-computed numbers and, without traces, against Expected Sarsa."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import every_action


def test_expected_sarsa_lambda_trace():
    """The reward of 100 is the error of the last pair; those before have (gamma lambda)^k of its trace of 1/2."""
    agent = rl.ExpectedSarsaLambda(gamma=0.9, lambda_=0.5, learning_rate=0.5)
    memory = agent.init_memory(np.ones((4, 1), dtype=bool), every_action)
    for state, reward in enumerate([0.0, 0.0, 100.0]):
        t = rl.Transition(state, 0, reward, state + 1, state == 2, False)
        rl.ExpectedSarsaLambda.step(memory, t, np.random.default_rng(0))
    assert memory.q[:, 0].tolist() == [pytest.approx(10.125), 22.5, 50.0, 0.0]


def test_expected_sarsa_lambda_without_traces_is_expected_sarsa():
    options = {"gamma": 0.9, "learning_rate": 0.3, "exploration": rl.EpsilonGreedy(0.3)}
    traced = rl.ExpectedSarsaLambda(**options, lambda_=0.0).learn("CliffWalking-v1", steps=2_000, seed=3)
    plain = rl.ExpectedSarsa(**options).learn("CliffWalking-v1", steps=2_000, seed=3)
    assert traced.q_.tobytes() == plain.q_.tobytes()
