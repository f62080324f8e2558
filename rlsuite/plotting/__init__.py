"""Figures, each returned as matplotlib Axes; matplotlib is imported when the first one is drawn."""

from typing import TYPE_CHECKING

from rlsuite.plotting.belief_values import alpha_vectors, belief_simplex
from rlsuite.plotting.bounds import convergence, gap
from rlsuite.plotting.curves import cumulative_reward, episode_return, evaluation, evaluation_return, regret
from rlsuite.plotting.figure import save
from rlsuite.plotting.graphs import policy_graph
from rlsuite.plotting.plane import policy_map, value_surface
from rlsuite.plotting.registry import figures, plan_figures, solution_figures
from rlsuite.plotting.states import state_values
from rlsuite.plotting.style import Palette
from rlsuite.plotting.time_rows import belief_trace, state_posteriors
from rlsuite.plotting.values import value_map
from rlsuite.synonyms import attribute_error

__all__ = [
    "Palette",
    "alpha_vectors",
    "belief_simplex",
    "belief_trace",
    "convergence",
    "cumulative_reward",
    "episode_return",
    "evaluation",
    "evaluation_return",
    "figures",
    "gap",
    "plan_figures",
    "policy_graph",
    "policy_map",
    "regret",
    "save",
    "solution_figures",
    "state_posteriors",
    "state_values",
    "value_map",
    "value_surface",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> None:
        raise attribute_error(f"module {__name__!r}", name, __all__)
