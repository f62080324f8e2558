"""Conformance tests for agents of your own, and grading by the exact truth.

For an agent of your own, in a test:

>>> import rlsuite as rl
>>> rl.testing.check_agent(rl.QLearning(learning_rate=0.5))

The requirements are the functions ``check_...`` of `rlsuite.testing.conformance`: the same bytes in both loops, on any
number of threads and after an interruption; correct counts of steps and episodes; a valid policy; files and copies that
keep what was learned; no NaN. For agents that do not learn step by step (batch methods, searches, planners) those of
`rlsuite.testing.learners` are checked.

For teachers: `grade` gives an answer points by what it is worth, and names the first state that is wrong.

>>> rl.testing.grade(3.14, rl.testing.Number(3.14159))
1 point of 1: correct
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.testing.conformance import agent_checks as agent_checks
from rlsuite.testing.conformance import check_agent as check_agent
from rlsuite.testing.grading import BestPath as BestPath
from rlsuite.testing.grading import BestPolicy as BestPolicy
from rlsuite.testing.grading import Exercise as Exercise
from rlsuite.testing.grading import Grade as Grade
from rlsuite.testing.grading import Number as Number
from rlsuite.testing.grading import Probabilities as Probabilities
from rlsuite.testing.grading import Values as Values
from rlsuite.testing.grading import grade as grade

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
