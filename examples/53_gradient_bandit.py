"""Gradient bandits with and without a baseline (S&B2 Fig. 2.5): true rewards around +4 instead of 0.

With the average reward as baseline the shift has no effect. 2,000 bandits are played side by side, each a state of its
own. Run as ``python examples/53_gradient_bandit.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 2_000, 1_000
means = 4.0 + np.random.default_rng(0).standard_normal((BANDITS, 10))
env = contextual_bandit(means, order="in turn").to_env()
best = (np.arange(BANDITS), means.argmax(axis=1))
samples = {}
for baseline, name in (("average", "with baseline"), ("none", "without baseline")):
    for learning_rate in (0.1, 0.4):
        agent = rl.GradientBandit(learning_rate=learning_rate, baseline=baseline)
        counts = [np.zeros(BANDITS)]
        for pull in range(PULLS):
            agent.learn(env, steps=BANDITS, record_every=BANDITS, seed=None if pull else 7)
            counts.append(agent.visits_[best])
        samples[f"{name}, step size {learning_rate}"] = 100 * np.diff(np.transpose(counts))
look = {"xlabel": "pulls", "ylabel": "optimal pulls in percent", "ylim": (0, 100), "figsize": (7.0, 3.4)}
ax = plotting.mean_curves(samples, of="bandits", title="Gradient bandits", **look)
plotting.save(ax, (sys.argv[1:] or ["53_gradient_bandit.png"])[0])
