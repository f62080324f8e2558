"""Arms that drift (S&B2 Exercise 2.5): means of all rewards fall behind means of recent ones.

Ten equal arms walk at random by 0.05 a pull; 25 walks, the same ones for every agent (the book's steps are 0.01, its
runs 10,000 pulls long). Run as ``python examples/56_drifting.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

arms = gymnasium.make("rlsuite/Bandit-v0", values=[0.0] * 10, drift=0.05, max_episode_steps=10_000)
agents = {
    "mean of all rewards": rl.QLearning(gamma=0.0, learning_rate=rl.Inverse(1.0, per="visits")),
    "step size 0.1": rl.QLearning(gamma=0.0, learning_rate=0.1),
    "sliding window UCB": rl.SlidingWindowUCB(window=150, c=2.0),
    "discounted UCB": rl.DiscountedUCB(discount=0.99, c=1.0),
    "UCB1": rl.UCB1(),
}
samples = {}
for label, agent in agents.items():
    results = rl.train(agent, arms, steps=3_000, seeds=25, record_every=100)
    samples[label] = np.diff(results.stacked("cumulative_reward"), prepend=0.0) / 100
look = {"x": results.time, "xlabel": "pulls", "ylabel": "average reward of 100 pulls", "figsize": (7.0, 4.0)}
ax = plotting.mean_curves(samples, of="walks", title="Drifting arms", **look)
plotting.save(ax, (sys.argv[1:] or ["56_drifting.png"])[0])
