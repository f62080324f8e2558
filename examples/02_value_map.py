"""Value map and policy arrows: the optimal ones in four rooms, and those of a learner.

Where several actions are equally good, all of them are drawn. Run as ``python examples/02_value_map.py [figure.png]``.
"""

import sys

import gymnasium
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/GridWorld-v0", map="FourRooms", slip=0.1)
best = rl.solve(rl.MDP.from_env(env, gamma=0.95))
learner = rl.QLearning(gamma=0.95, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.3))
learner.learn(env, steps=300_000, seed=7)

plotting.value_maps(env, {"optimal": best, "learned in 300,000 steps": learner})
plotting.save(plt.gcf(), (sys.argv[1:] or ["02_value_map.png"])[0])
