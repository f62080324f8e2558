"""The figure of the README: a solved grid, and learners beside the exact optimum.

Left, four rooms with a slippery floor. Right, the tiger: learners that remember their actions and observations of
the last steps, and the optimum over beliefs. Run as ``python examples/07_at_a_glance.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib.figure import Figure

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

rooms = gymnasium.make("rlsuite/GridWorld-v0", map="FourRooms")
solution = rl.solve(rl.MDP.from_env(rooms, gamma=0.95))

learner = rl.QLearning(
    gamma=0.95, learning_rate=rl.Inverse(1.0, scale=100, per="visits"), exploration=rl.EpsilonGreedy(0.2)
)
results = []
for window in (1, 2, 3):
    tiger = gymnasium.make("rlsuite/Tiger-v0", window=window)
    label = f"remembers {window} step{'s' * (window > 1)}"
    results.append(rl.train(learner, tiger, steps=500_000, seeds=30, workers=2, evaluate_every=25_000, label=label))

figure = Figure(figsize=(11.5, 5.0), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
plotting.value_map(rooms, solution, ax=left, title="Four rooms: optimal values and actions")
plotting.evaluation(results, ax=right, title="Tiger")
plotting.save(figure, (sys.argv[1:] or ["07_at_a_glance.png"])[0])
