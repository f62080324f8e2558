"""Exploration: how an agent chooses among the actions whose values it has learned.

An exploration (`EpsilonGreedy`, `Softmax`, `MaxBoltzmann`, `UpperConfidence`, `CountBonus`, `RandomActions`) is a
description; its compiled form in the agent's memory is an `ExplorationRule`. The functions `choose`, `chances`,
`greedy`, `uniform` and `max_value` are what a learning rule needs, ours or a user's. The seventh way to explore,
optimistic initial values, is ``initial_value=`` of the agents.
"""

from rlsuite.exploration.boltzmann import MaxBoltzmann, Softmax
from rlsuite.exploration.choosing import (
    NO_ACTION,
    Exploration,
    ExplorationRule,
    Legality,
    Score,
    argmax,
    chances,
    choices,
    choose,
    every_action,
    greedy,
    is_legal,
    lean_to_best,
    listed_actions,
    max_value,
    own_value,
    spread_over_best,
    uniform,
)
from rlsuite.exploration.epsilon_greedy import EpsilonGreedy, RandomActions
from rlsuite.exploration.optimism import CountBonus, UpperConfidence

__all__ = [
    "NO_ACTION",
    "CountBonus",
    "EpsilonGreedy",
    "Exploration",
    "ExplorationRule",
    "Legality",
    "MaxBoltzmann",
    "RandomActions",
    "Score",
    "Softmax",
    "UpperConfidence",
    "argmax",
    "chances",
    "choices",
    "choose",
    "every_action",
    "greedy",
    "is_legal",
    "lean_to_best",
    "listed_actions",
    "max_value",
    "own_value",
    "spread_over_best",
    "uniform",
]
