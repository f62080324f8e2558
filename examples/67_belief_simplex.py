"""A tiger behind one of three doors: the optimal action in every belief, and the beliefs of one episode.

At a corner of the triangle the place of the tiger is certain. A door is opened where the tiger is almost certainly not
behind it: along the opposite edge. Run as ``python examples/67_belief_simplex.py [figure.png]``.
"""

import sys

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.planning import simulate_beliefs

tiger = rl.POMDP.from_env(gymnasium.make("rlsuite/Tiger-v0", doors=3), gamma=0.75)
plan = rl.solve(tiger, "incremental_pruning")
episode = simulate_beliefs(tiger, plan, steps=30, seed=5, keep_beliefs=True)
plotting.save(plotting.belief_simplex(plan, trace=episode.beliefs[0]), (sys.argv[1:] or ["67_belief_simplex.png"])[0])
