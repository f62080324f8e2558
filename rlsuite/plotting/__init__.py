"""Figures, each returned as matplotlib Axes; matplotlib is imported when the first one is drawn."""

from rlsuite.plotting.curves import cumulative_reward, episode_return, evaluation, regret
from rlsuite.plotting.discovery import figures
from rlsuite.plotting.saving import save
from rlsuite.plotting.style import Palette
from rlsuite.plotting.values import value_map

__all__ = [
    "Palette",
    "cumulative_reward",
    "episode_return",
    "evaluation",
    "figures",
    "regret",
    "save",
    "value_map",
]
