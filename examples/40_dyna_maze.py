"""Planning in the Dyna maze (S&B2 Fig. 8.2): steps per episode with 0, 5 and 50 remembered steps after each real one.

Thirty runs each, as in the book. The first episode is equally long for all and is left out: some 800 steps, because
nothing is known yet. Run as ``python examples/40_dyna_maze.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

maze = gymnasium.make("rlsuite/GridWorld-v0", map="DynaMaze", max_episode_steps=1_000_000)
samples = {}
for n in (0, 5, 50):
    agent = rl.DynaQ(n=n, gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    results = rl.train(agent, maze, episodes=50, seeds=30, workers=2, regret=False)
    label = "no planning: Q-learning" if n == 0 else f"n = {n} planned steps"
    samples[label] = np.stack([record.episode_length for record in results.records])[:, 1:]
look = {"x": np.arange(2, 51), "xlabel": "episodes", "ylabel": "steps per episode", "ylim": (0, 800)}
shortest = {"shortest way": 14.0}
ax = plotting.mean_curves(samples, of="seeds", references=shortest, title="Dyna-Q in the Dyna maze", **look)
plotting.save(ax, (sys.argv[1:] or ["40_dyna_maze.png"])[0])
