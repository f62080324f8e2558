"""Reward per step in the long run: the estimates of R-learning and differential Sarsa in the chain, ten seeds each.

The dashed line is exact (S&B2 section 10.3; the task is Dearden, Friedman & Russell's chain). Run as
``python examples/32_average_reward.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

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
axes = Figure(figsize=(8, 5), layout="constrained").subplots()
for label, new in agents.items():
    runs = []
    for seed in range(10):
        agent = new().learn(CHAIN, steps=int(times[0]), seed=seed)
        runs.append([agent.learn(CHAIN, steps=int(more), record_every=200_000).gain_ for more in np.diff(times)])
    mean, half = np.mean(runs, axis=0), 2.26 * np.std(runs, axis=0, ddof=1) / np.sqrt(10)
    axes.plot(times[1:], mean, label=label)
    axes.fill_between(times[1:], mean - half, mean + half, alpha=0.2)
axes.axhline(exact, color="black", linestyle="--", label=f"best gain, {exact:.4f}")
axes.set(xscale="log", xlabel="environment steps", ylabel="learned gain (95 % interval)", title="the chain")
axes.legend()
plotting.save(axes, (sys.argv[1:] or ["32_average_reward.png"])[0])
