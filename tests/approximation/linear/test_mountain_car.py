"""Semi-gradient Sarsa on the mountain car with eight tilings (S&B2 Figure 10.2)."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation import SemiGradientSarsa, TileCoding

# steps of the hundredth episode, mean of episodes 401 to 500 (simulation with the book's own tile coding)
PUBLISHED = {0.1: (207, 137.4), 0.2: (168, 127.3), 0.5: (142, 118.1)}
RUNS = 12


@pytest.mark.parametrize("alpha", PUBLISHED)
def test_learning_curves_are_those_of_the_book(alpha):
    """Means of twelve runs; the book's begin anew with the same distribution, and end at the goal only.

    Each of the six means is within 4.5 of its standard errors, and 4 % for another choice of tiles: theirs have hashed
    coordinates without bounds, ours cover the bounds.
    """
    lengths = []
    env = gymnasium.make("MountainCar-v0", max_episode_steps=20_000)
    for seed in range(RUNS):
        tiles = TileCoding(n_tilings=8, bins=8)
        agent = SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=alpha / 8, exploration=rl.EpsilonGreedy(0.0))
        lengths.append(agent.learn(env, episodes=500, seed=seed).episodes_["length"])
    lengths = np.array(lengths)
    means = lengths[:, 95:104].mean(axis=1), lengths[:, 400:].mean(axis=1)
    for found, published in zip(means, PUBLISHED[alpha], strict=True):
        error = found.std(ddof=1) / np.sqrt(RUNS)
        assert abs(found.mean() - published) < 4.5 * error + 0.04 * published, (found.mean(), error, published)
