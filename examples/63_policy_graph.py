"""The tiger's policy graph: the optimal plan as a controller of five nodes, which needs no belief (KLC98 section 4.4).

After two more sounds from one side than from the other, the other door is opened. Run as ``python
examples/63_policy_graph.py [figure.png]``.
"""

import sys

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
plan = rl.solve(tiger, "incremental_pruning")
plotting.save(plotting.policy_graph(plan), (sys.argv[1:] or ["63_policy_graph.png"])[0])
