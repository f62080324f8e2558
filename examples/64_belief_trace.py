"""The belief while the agent listens to the tiger: one episode of the optimal plan, step by step.

The plan never observes where the tiger is; it acts on the belief alone. Run as ``python examples/64_belief_trace.py
[figure.png]``.
"""

import sys

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.planning import simulate_beliefs

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
plan = rl.solve(tiger, "incremental_pruning")
episode = simulate_beliefs(tiger, plan, steps=40, seed=5, keep_beliefs=True)
plotting.save(plotting.belief_trace(tiger, episode), (sys.argv[1:] or ["64_belief_trace.png"])[0])
