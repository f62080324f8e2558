"""The memory of agents with a table of action values, and the functions that their rules share."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.compilation import compiled
from rlsuite.declared import Count
from rlsuite.exploration import ExplorationRule, Legality
from rlsuite.schedules import EPISODES, STEPS, Rate, rate_now


class ActionValues(NamedTuple):
    """Action values, and everything that choosing and learning need."""

    q: NDArray[np.float64]  # (n_states, n_actions)
    visits: Count  # (n_states, n_actions), how often each pair was taken
    legal: NDArray[np.bool_]  # (n_states, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    exploration: ExplorationRule
    scores: NDArray[np.float64]  # (n_actions,), room for one number per action while one is chosen
    learned: Any = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Any = ()  # NamedTuple of what it keeps during an episode; `begin` finds what the last episode left


@compiled(in_place=True)
def step_size(memory: ActionValues, state: int, action: int) -> float:
    """The learning rate now; a schedule per visits counts those of this pair, before the present one."""
    return rate_now(memory.learning_rate, memory.clock, memory.visits[state, action])


@compiled(in_place=True)
def count(memory: Any, state: int, action: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule calls it once a step."""
    memory.visits[state, action] += 1
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1
