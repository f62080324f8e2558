"""Numbers at the end of their range: temperatures near 0, and rewards whose sum overflows."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import LearningError


def arms(*rewards):
    """One state; each arm pays its reward."""
    n = len(rewards)
    return rl.MDP.from_arrays(np.ones((1, n, 1)), np.array([rewards]), gamma=0.0).to_env()


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_a_temperature_near_0_takes_the_best_arm_once_it_is_known(loop):
    agent = rl.QLearning(gamma=0.0, learning_rate=1.0, initial_value=0.5, exploration=rl.Softmax(temperature=5e-324))
    agent.learn(arms(0.0, 1.0, 0.0, 0.0), steps=200, seed=1, loop=loop)
    assert agent.visits_[0, 1] >= 197


@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_a_sum_of_finite_rewards_that_overflows_is_called_that(loop):
    with pytest.raises(LearningError, match=r"each reward is finite, but their sum has overflowed: it is beyond 1\.8e"):
        rl.QLearning(gamma=0.0).learn(arms(1e308, 1e308), steps=200, seed=1, loop=loop)


def test_a_reward_that_is_not_finite_is_called_that():
    env = gymnasium.wrappers.TransformReward(arms(1.0, 1.0), lambda reward: float("inf"))
    with pytest.raises(LearningError, match="returned the reward inf"):
        rl.QLearning(gamma=0.0).learn(env, steps=200, seed=1, loop="stepwise")
