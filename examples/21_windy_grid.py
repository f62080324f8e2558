"""Sarsa in the windy grid (S&B2 Example 6.5): the steeper the curve, the shorter the way to the goal.

Thirty seeds. The greedy policy found takes 15 steps, the fewest possible; with epsilon = 0.1 no policy takes fewer than
17.05 on average, which is the slope of the dashed line. Run as ``python examples/21_windy_grid.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

agent = rl.Sarsa(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
runs = rl.train(agent, "rlsuite/WindyGrid-v0", steps=8_000, seeds=30, record_every=8_000, regret=False)
steps = np.arange(8_001)
finished = [np.searchsorted(np.cumsum(run.episode_length), steps, side="right") for run in runs.records]

look = {"x": steps, "xlabel": "environment steps", "ylabel": "episodes finished", "xlim": (0, 8_000), "ylim": (0, None)}
ax = plotting.mean_curves({"Sarsa": finished}, of="seeds", title="WindyGrid-v0", figsize=(6.4, 4.4), **look)
slope = np.mean(finished, axis=0)[-1] + (steps - 8_000) / 17.048
ax.plot(steps, slope, "k--", label="slope of the best policy that explores as much")
plotting.style_axes(ax=ax)
plotting.save(ax, (sys.argv[1:] or ["21_windy_grid.png"])[0])
