"""Reward per step in the long run: the estimates of R-learning and differential Sarsa in the chain, ten seeds each.

The dashed line is exact (S&B2 section 10.3; the task is Dearden, Friedman & Russell's chain). Run as
``python examples/32_average_reward.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

CHAIN = "rlsuite/Chain-v0"
exact = rl.solve(rl.MDP.from_env(CHAIN, gamma=0.99), method="average_reward_policy_iteration").gain[0]
rates = {"learning_rate": rl.Polynomial(1.0, power=0.7, per="visits"), "beta": rl.Polynomial(0.1, 0.7, per="visits")}
agents = {
    "R-learning, epsilon 0.3": lambda: rl.RLearning(**rates, exploration=rl.EpsilonGreedy(0.3)),
    "differential Sarsa, epsilon 0.3": lambda: rl.DifferentialSarsa(**rates, exploration=rl.EpsilonGreedy(0.3)),
    "differential Sarsa, epsilon 0.3 to 0": lambda: rl.DifferentialSarsa(
        **rates, exploration=rl.EpsilonGreedy(rl.Linear(0.3, 0.0, over=100_000))
    ),
}
times = np.unique(np.geomspace(100, 200_000, 40).astype(int))
samples = {}
for label, new in agents.items():
    samples[label] = []
    for seed in range(10):
        agent = new().learn(CHAIN, steps=int(times[0]), seed=seed)
        gains = [agent.learn(CHAIN, steps=int(more), record_every=200_000).gain_ for more in np.diff(times)]
        samples[label].append(np.ravel(gains))
look = {
    "x": times[1:],
    "xscale": "log",
    "xlabel": "environment steps",
    "ylabel": "learned gain",
    "xlim": (100, 200_000),
}
best = {f"best gain, {exact:.4f}": exact}
ax = plotting.mean_curves(samples, of="seeds", references=best, title="The chain", **look)
plotting.save(ax, (sys.argv[1:] or ["32_average_reward.png"])[0])
