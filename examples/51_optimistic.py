"""Optimistic initial values (S&B2 Fig. 2.3): a greedy agent that expects too much explores, at the beginning only.

2,000 bandits are played side by side, each a state of its own. Run as
``python examples/51_optimistic.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 2_000, 1_000
means = np.random.default_rng(0).standard_normal((BANDITS, 10))
env = contextual_bandit(means, order="in turn").to_env()
best = (np.arange(BANDITS), means.argmax(axis=1))
agents = {
    "optimistic, greedy: first value 5, epsilon 0": {"initial_value": 5.0, "exploration": rl.EpsilonGreedy(0.0)},
    "realistic: first value 0, epsilon 0.1": {"initial_value": 0.0, "exploration": rl.EpsilonGreedy(0.1)},
}
samples = {}
for label, parameters in agents.items():
    agent = rl.QLearning(gamma=0.0, learning_rate=0.1, **parameters)
    counts = [np.zeros(BANDITS)]
    for pull in range(PULLS):
        agent.learn(env, steps=BANDITS, record_every=BANDITS, seed=None if pull else 7)
        counts.append(agent.visits_[best])
    samples[label] = 100 * np.diff(np.transpose(counts))
look = {"xlabel": "pulls", "ylabel": "optimal pulls in percent", "ylim": (0, 100), "figsize": (7.0, 3.4)}
ax = plotting.mean_curves(samples, of="bandits", title="Optimistic initial values", **look)
plotting.save(ax, (sys.argv[1:] or ["51_optimistic.png"])[0])
