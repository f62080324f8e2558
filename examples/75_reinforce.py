"""REINFORCE in the short corridor, where the best policy is stochastic (S&B2 Figures 13.1 and 13.2).

Return per episode while it learns, for three step sizes and with a baseline; a hundred seeds each. Learning begins
where right has the probability 0.05, and an episode takes 82 steps. The dashed line is the optimum,
-6 - 4 sqrt 2 = -11.66, with probability 2 - sqrt 2. Run as ``python examples/75_reinforce.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import Reinforce, ReinforceWithBaseline, VectorObservation, plotting
from rlsuite.approximation import Identity

corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
alike = VectorObservation(corridor, corridor.unwrapped.features)


def returns(seed, actor_rate, critic_rate):
    """Return of each of 1,000 episodes."""
    common = {"features": Identity(), "gamma": 1.0, "actor_rate": actor_rate, "longest_episode": 20_000}
    agent = ReinforceWithBaseline(**common, critic_rate=critic_rate) if critic_rate else Reinforce(**common)
    agent.learn(alike, episodes=1, seed=seed)  # creates the weights
    agent.weights_[:] = np.log([0.95, 0.05])
    return agent.learn(alike, episodes=1_000).episodes_["return"][1:]


rates = {"2^-14": (2**-14, 0), "2^-13": (2**-13, 0), "2^-12": (2**-12, 0), "2^-9, baseline 2^-6": (2**-9, 2**-6)}
ten = np.full(10, 0.1)
samples = {
    f"step size {label}": [np.convolve(returns(seed, *pair), ten, "valid") for seed in range(100)]
    for label, pair in rates.items()
}
look = {"x": np.arange(10, 1_001), "xlabel": "episodes", "ylabel": "return per episode", "ylim": (-90, -8)}
words = {"of": "seeds", "notes": ["Each return is the mean of the latest 10 episodes."]}
optimum, title = {"optimum": -6 - 4 * np.sqrt(2)}, "The short corridor with switched actions: REINFORCE"
ax = plotting.mean_curves(samples, references=optimum, title=title, **words, **look)
plotting.save(ax, (sys.argv[1:] or ["75_reinforce.png"])[0])
