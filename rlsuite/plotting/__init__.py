"""Figures, each returned as matplotlib Axes; matplotlib is imported when the first one is drawn."""

from rlsuite.plotting.curves import cumulative_reward, episode_return, evaluation, regret
from rlsuite.plotting.discovery import figures, solution_figures
from rlsuite.plotting.error_bounds import convergence
from rlsuite.plotting.saving import save
from rlsuite.plotting.states import state_values
from rlsuite.plotting.style import Palette
from rlsuite.plotting.values import value_map

__all__ = [
    "Palette",
    "convergence",
    "cumulative_reward",
    "episode_return",
    "evaluation",
    "figures",
    "regret",
    "save",
    "solution_figures",
    "state_values",
    "value_map",
]
