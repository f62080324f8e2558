"""Value map and policy arrows: the optimal ones in four rooms, and those of a learner.

Where several actions are equally good, all of them are drawn. Run as ``python examples/02_value_map.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib.figure import Figure

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/GridWorld-v0", map="FourRooms", slip=0.1)
best = rl.solve(rl.MDP.from_env(env, gamma=0.95))
learner = rl.QLearning(gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.3))
learner.learn(env, steps=300_000, seed=7)

figure = Figure(figsize=(12, 5.6), layout="constrained")
exact, learned = figure.subplots(1, 2)
plotting.value_map(env, q=best.q, ax=exact).set_title("optimal", loc="left")
plotting.value_map(env, q=learner.q_, ax=learned).set_title("learned in 300 000 steps", loc="left")
plotting.save(figure, (sys.argv[1:] or ["02_value_map.png"])[0])
