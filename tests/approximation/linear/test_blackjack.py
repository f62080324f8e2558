"""Gymnasium's Blackjack, whose observation is a tuple, with features."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation import SemiGradientSarsa, StateAggregation


@pytest.mark.slow
def test_the_policy_is_close_to_the_best():
    """One feature for each combination of sum, dealer's card and ace: a table, learned step by step.

    The value of the best policy is -0.0466 (S&B2 Example 5.3). The mean of 2,000 hands has a standard error of 0.022.
    """
    cells = StateAggregation(bins=(32, 11, 2))
    agent = SemiGradientSarsa(features=cells, gamma=1.0, learning_rate=0.02, exploration=rl.EpsilonGreedy(0.1))
    agent.learn("Blackjack-v1", episodes=10_000, seed=3)
    assert agent.record_.loop == "stepwise"
    env = rl.find_env("Blackjack-v1")
    returns = []
    observation, _ = env.reset(seed=9)
    while len(returns) < 2_000:
        observation, reward, over, _, _ = env.step(agent.act(observation))
        if over:
            returns.append(reward)
            observation, _ = env.reset()
    assert -0.13 < np.mean(returns) < 0.03  # 0.0466 plus or minus less than four of them
