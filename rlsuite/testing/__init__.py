"""A conformance kit: it finds out whether an agent keeps the promises that all agents make.

For an agent of your own, in a test:

>>> import rlsuite as rl
>>> rl.testing.check_agent(rl.QLearning(learning_rate=0.5))

The promises are the functions ``check_...`` of `rlsuite.testing.conformance`: the same bytes in both loops, on any
number of threads and after an interruption; a clock that counts; a policy that is one; files and copies that keep
what was learned; no NaN, ever.
"""

from rlsuite.testing.conformance import agent_checks, check_agent

__all__ = ["agent_checks", "check_agent"]
