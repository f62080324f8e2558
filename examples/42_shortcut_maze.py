"""A maze that changes for the better (S&B2 Fig. 8.5): after 3000 steps a shortcut opens beside the only way.

Dyna-Q never finds it, because its model has no shortcut; Dyna-Q+ tries pairs that it has not taken for long. Twenty
runs each. Run as ``python examples/42_shortcut_maze.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

before, after = (gymnasium.make("rlsuite/ChangingMaze-v0", map="ShortcutMaze", changed=late) for late in (False, True))


def both_mazes(agent, seed):
    """One run through both mazes."""
    first = agent.learn(before, steps=3_000, seed=seed).record_
    second = agent.learn(after, steps=3_000, seed=1_000 + seed).record_
    reward = np.concatenate([first.cumulative_reward, first.cumulative_reward[-1] + second.cumulative_reward])
    return replace(first, time=np.concatenate([first.time, 3_000 + second.time]), cumulative_reward=reward)


common = {"n": 50, "gamma": 0.95, "learning_rate": 0.5, "exploration": rl.EpsilonGreedy(0.1)}
agents = {"Dyna-Q": lambda: rl.DynaQ(**common), "Dyna-Q+": lambda: rl.DynaQPlus(kappa=1e-3, **common)}
results = [
    rl.training.results.Results(label, "Shortcut maze", [both_mazes(make(), seed) for seed in range(20)])
    for label, make in agents.items()
]
axes = plotting.cumulative_reward(results)
axes.axvline(3_000, color="black", linestyle="dotted", linewidth=1)
plotting.save(axes, (sys.argv[1:] or ["42_shortcut_maze.png"])[0])
