"""The policies that a rule may learn about while the agent follows its exploration."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import action_probabilities, own_value, spread_over_best
from rlsuite.agents.memory import Memory
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.errors import ParameterError, unknown

TargetPolicy = Compiled[[Any, int, NDArray[np.float64]], None]


@compiled(in_place=True)
def greedy_probabilities(memory: Memory, state: int, out: NDArray[np.float64]) -> None:
    """Fill in the probabilities of the greedy policy: equal ones for all best actions."""
    spread_over_best(own_value, memory, state, 0.0, out)


TARGET_POLICIES: dict[str, TargetPolicy] = {"greedy": greedy_probabilities, "behaviour": action_probabilities}
"""By the name it has in a constructor: the policy that is best now, or the one that is followed."""


def check_target_policy(name: str, value: Any) -> str:
    """Return `value` if it names a target policy.

    Raises
    ------
    ParameterError
        If it does not.

    Examples
    --------
    >>> check_target_policy("target_policy", "greedy")
    'greedy'
    """
    if not isinstance(value, str) or value not in TARGET_POLICIES:
        raise ParameterError(f"{name}: " + unknown("target policy", str(value), TARGET_POLICIES))
    return value
