"""The tiger (KLC98): learners that remember one, two, three observations, and the exact optimum over beliefs.

The optimal policy listens until the belief in one side is 97 %; with a memory of one observation this is impossible.
Run as ``python examples/06_tiger.py [figure.png]``.
"""

import sys
from dataclasses import replace

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

learner = rl.QLearning(
    gamma=0.95, learning_rate=rl.Inverse(1.0, scale=100, per="visits"), exploration=rl.EpsilonGreedy(0.2)
)
results = []
for window in (1, 2, 3):
    tiger = gymnasium.make("rlsuite/Tiger-v0", window=window)
    run = rl.train(learner, tiger, steps=500_000, seeds=30, workers=2, evaluate_every=25_000)
    results.append(replace(run, agent=f"sees the last {window}"))
plotting.save(plotting.evaluation(results), (sys.argv[1:] or ["06_tiger.png"])[0])
