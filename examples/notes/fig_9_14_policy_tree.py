"""A policy tree (lecture notes, Fig. 9.14): what to do in the tiger's house for three steps, from not knowing anything.

Listen twice, and open the other door after two equal sounds; there are 3^7 = 2187 such trees. Run as
``python examples/notes/fig_9_14_policy_tree.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=1.0)
expected = {1: -1.0, 2: -2.0, 3: 2.72, 4: 2.42125, 5: 3.60915}
plans = {horizon: rl.solve(tiger, "incremental_pruning", horizon=horizon) for horizon in expected}
for horizon, value in expected.items():
    assert np.isclose(plans[horizon].value(np.array([0.5, 0.5])), value)
plotting.save(plotting.policy_graph(plans[3]), (sys.argv[1:] or ["fig_9_14_policy_tree.png"])[0])
