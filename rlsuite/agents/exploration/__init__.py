"""Exploration: how an agent chooses among the actions whose values it has learned.

An exploration (`EpsilonGreedy`, `Softmax`, `MaxBoltzmann`, `UpperConfidence`, `CountBonus`, `RandomActions`) is a
description; its compiled form in the agent's memory is an `ExplorationRule`. The functions `choose`, `chances`,
`greedy`, `uniform` and `max_value` are what a learning rule needs, ours or a user's. The seventh way to explore,
optimistic initial values, is ``initial_value=`` of the agents.
"""

from rlsuite.agents.exploration.boltzmann import MaxBoltzmann, Softmax
from rlsuite.agents.exploration.choosing import (
    NO_ACTION,
    ChoiceMemory,
    Exploration,
    ExplorationRule,
    MaskedMemory,
    Score,
    argmax,
    chances,
    choices,
    choose,
    greedy,
    is_legal,
    lean_to_best,
    max_value,
    own_value,
    spread_over_best,
    uniform,
)
from rlsuite.agents.exploration.epsilon_greedy import EpsilonGreedy, RandomActions
from rlsuite.agents.exploration.optimism import CountBonus, UpperConfidence

__all__ = [
    "NO_ACTION",
    "ChoiceMemory",
    "CountBonus",
    "EpsilonGreedy",
    "Exploration",
    "ExplorationRule",
    "MaskedMemory",
    "MaxBoltzmann",
    "RandomActions",
    "Score",
    "Softmax",
    "UpperConfidence",
    "argmax",
    "chances",
    "choices",
    "choose",
    "greedy",
    "is_legal",
    "lean_to_best",
    "max_value",
    "own_value",
    "spread_over_best",
    "uniform",
]
