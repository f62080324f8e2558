"""A maze that changes for the worse (S&B2 Fig. 8.4): after 1000 steps the way is blocked, and a longer one opens.

Dyna-Q trusts its model until every way of its plan has failed; Dyna-Q+ tries pairs that it has not taken for long.
Thirty runs each. Run as ``python examples/41_blocking_maze.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

before, after = (gymnasium.make("rlsuite/ChangingMaze-v0", map="BlockingMaze", changed=late) for late in (False, True))


def both_mazes(agent, seed):
    """One run through both mazes."""
    first = agent.learn(before, steps=1_000, seed=seed).record_
    second = agent.learn(after, steps=2_000, seed=1_000 + seed).record_
    reward = np.concatenate([first.cumulative_reward, first.cumulative_reward[-1] + second.cumulative_reward])
    return replace(first, time=np.concatenate([first.time, 1_000 + second.time]), cumulative_reward=reward)


common = {"n": 50, "gamma": 0.95, "learning_rate": 0.5, "exploration": rl.EpsilonGreedy(0.1)}
agents = {"Dyna-Q": lambda: rl.DynaQ(**common), "Dyna-Q+": lambda: rl.DynaQPlus(kappa=3e-4, **common)}
results = [
    rl.training.results.Results(label, "Blocking maze", [both_mazes(make(), seed) for seed in range(30)])
    for label, make in agents.items()
]
axes = plotting.cumulative_reward(results)
axes.axvline(1_000, color="black", linestyle="dotted", linewidth=1)
plotting.save(axes, (sys.argv[1:] or ["41_blocking_maze.png"])[0])
