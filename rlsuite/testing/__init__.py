"""Conformance tests for agents of your own.

For an agent of your own, in a test:

>>> import rlsuite as rl
>>> rl.testing.check_agent(rl.QLearning(learning_rate=0.5))

The requirements are the functions ``check_...`` of `rlsuite.testing.conformance`: the same bytes in both loops, on any
number of threads and after an interruption; correct counts of steps and episodes; a valid policy; files and copies that
keep what was learned; no NaN. For agents that do not learn step by step (batch methods, searches, planners) those of
`rlsuite.testing.learners` are checked.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.testing.conformance import agent_checks as agent_checks
from rlsuite.testing.conformance import check_agent as check_agent

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
