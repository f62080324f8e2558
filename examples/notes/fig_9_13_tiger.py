"""A POMDP (lecture notes, Fig. 9.13): the belief about the tiger after each sound, and what is done with it.

.85, .9698 and .9945 after one, two and three equal sounds (Kaelbling, Littman & Cassandra 1998). Run as
``python examples/notes/fig_9_13_tiger.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.planning import simulate_beliefs

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
belief, heard = np.array([0.5, 0.5]), []
for _ in range(3):
    belief = tiger.update_belief(belief, 0, 0)  # listen, and hear it on the left
    heard.append(belief[0])
assert np.allclose(heard, [0.85, 0.969799, 0.994534], atol=1e-6)

plan = rl.solve(tiger, "incremental_pruning")
assert np.isclose(plan.value(np.array([0.5, 0.5])), 19.371368)
episode = simulate_beliefs(tiger, plan, steps=25, seed=5, keep_beliefs=True)
plotting.save(plotting.belief_trace(tiger, episode), (sys.argv[1:] or ["fig_9_13_tiger.png"])[0])
