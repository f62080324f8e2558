"""Sample averages are means, and every arm is pulled once first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.training.legality import every_action


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.integers(0, 2))
def test_sample_average_is_the_mean(rewards, arm):
    agent = rl.SampleAverage()
    memory = agent.init_memory(np.ones((1, 3), dtype=bool), every_action)
    for reward in rewards:
        rl.SampleAverage.step(memory, rl.Transition(0, arm, reward, 0, False, False), np.random.default_rng(0))
    assert memory.q[0, arm] == pytest.approx(np.mean(rewards), abs=1e-9)


def test_sample_average_pulls_every_arm_once_first():
    agent = rl.SampleAverage(exploration=rl.EpsilonGreedy(0.0))
    bandit = rl.MDP.from_successors([[0] * 5], [[-1.0, -2.0, -0.5, -3.0, -4.0]], gamma=0.0).to_env()
    agent.learn(bandit, steps=30, seed=0)
    assert agent.visits_.tolist() == [[1, 1, 26, 1, 1]]
    assert agent.q_.tolist() == [[-1.0, -2.0, -0.5, -3.0, -4.0]]
