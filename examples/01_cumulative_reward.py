"""Cumulative reward: the cost of exploring in the grid of the lecture notes (Fig. 9.6), thirty seeds each.

All three learners find the shortest way at once; those that keep exploring reach the goal less often. Run as
``python examples/01_cumulative_reward.py [figure.png]``.
"""

import sys
from dataclasses import replace

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

explorations = {
    "epsilon 0.1": rl.EpsilonGreedy(0.1),
    "epsilon 0.5": rl.EpsilonGreedy(0.5),
    "epsilon 1 to 0": rl.EpsilonGreedy(rl.Linear(1.0, 0.0, over=150)),
}
results = [
    replace(
        rl.train(
            rl.DeterministicQLearning(gamma=0.9, exploration=exploration),
            "rlsuite/GridGoal-v0",
            steps=300,
            seeds=30,
            workers=2,
        ),
        agent=label,
    )
    for label, exploration in explorations.items()
]
plotting.save(plotting.cumulative_reward(results), (sys.argv[1:] or ["01_cumulative_reward.png"])[0])
