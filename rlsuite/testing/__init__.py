"""Conformance tests for agents of your own.

For an agent of your own, in a test:

>>> import rlsuite as rl
>>> rl.testing.check_agent(rl.QLearning(learning_rate=0.5))

The requirements are the functions ``check_...`` of `rlsuite.testing.conformance`: the same bytes in both loops, on any
number of threads and after an interruption; correct counts of steps and episodes; a valid policy; files and copies that
keep what was learned; no NaN.
"""

from rlsuite.testing.conformance import agent_checks, check_agent

__all__ = ["agent_checks", "check_agent"]
