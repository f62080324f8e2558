"""Exploration: how an agent chooses among the actions whose values it has learned.

An exploration (`EpsilonGreedy`, `Softmax`, `MaxBoltzmann`, `UpperConfidence`, `CountBonus`, `RandomActions`) is a
description; its compiled form in the agent's memory is an `ExplorationRule`. The functions `choose`,
`action_probabilities`, `greedy`, `uniform` and `max_value` are what a learning rule needs, ours or a user's. The
seventh way to explore, optimistic initial values, is ``initial_value=`` of the agents.
"""

from typing import TYPE_CHECKING

from rlsuite.agents.exploration.boltzmann import MaxBoltzmann as MaxBoltzmann
from rlsuite.agents.exploration.boltzmann import Softmax as Softmax
from rlsuite.agents.exploration.choosing import NO_ACTION as NO_ACTION
from rlsuite.agents.exploration.choosing import ChoiceMemory as ChoiceMemory
from rlsuite.agents.exploration.choosing import Exploration as Exploration
from rlsuite.agents.exploration.choosing import ExplorationRule as ExplorationRule
from rlsuite.agents.exploration.choosing import MaskedMemory as MaskedMemory
from rlsuite.agents.exploration.choosing import Score as Score
from rlsuite.agents.exploration.choosing import action_probabilities as action_probabilities
from rlsuite.agents.exploration.choosing import argmax as argmax
from rlsuite.agents.exploration.choosing import choices as choices
from rlsuite.agents.exploration.choosing import choose as choose
from rlsuite.agents.exploration.choosing import greedy as greedy
from rlsuite.agents.exploration.choosing import is_legal as is_legal
from rlsuite.agents.exploration.choosing import lean_to_best as lean_to_best
from rlsuite.agents.exploration.choosing import max_value as max_value
from rlsuite.agents.exploration.choosing import own_value as own_value
from rlsuite.agents.exploration.choosing import spread_over_best as spread_over_best
from rlsuite.agents.exploration.choosing import uniform as uniform
from rlsuite.agents.exploration.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from rlsuite.agents.exploration.epsilon_greedy import RandomActions as RandomActions
from rlsuite.agents.exploration.optimism import CountBonus as CountBonus
from rlsuite.agents.exploration.optimism import UpperConfidence as UpperConfidence
from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
