"""Figures, each returned as matplotlib Axes; matplotlib is imported when the first one is drawn."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.plotting.belief_values import alpha_vectors as alpha_vectors
from rlsuite.plotting.belief_values import belief_simplex as belief_simplex
from rlsuite.plotting.bounds import convergence as convergence
from rlsuite.plotting.bounds import gap as gap
from rlsuite.plotting.bounds import pareto_front as pareto_front
from rlsuite.plotting.bounds import state_values as state_values
from rlsuite.plotting.comparisons import final_values as final_values
from rlsuite.plotting.comparisons import performance_profile as performance_profile
from rlsuite.plotting.curves import cumulative_reward as cumulative_reward
from rlsuite.plotting.curves import episode_return as episode_return
from rlsuite.plotting.curves import evaluation as evaluation
from rlsuite.plotting.curves import evaluation_return as evaluation_return
from rlsuite.plotting.curves import regret as regret
from rlsuite.plotting.curves import value_error as value_error
from rlsuite.plotting.diagrams import diagram as diagram
from rlsuite.plotting.distributions import arm_posteriors as arm_posteriors
from rlsuite.plotting.distributions import state_durations as state_durations
from rlsuite.plotting.exploring import explore as explore
from rlsuite.plotting.figure import AxesKeywords as AxesKeywords
from rlsuite.plotting.figure import ColourKeywords as ColourKeywords
from rlsuite.plotting.figure import CurveKeywords as CurveKeywords
from rlsuite.plotting.figure import save as save
from rlsuite.plotting.figure_list import figures as figures
from rlsuite.plotting.figure_list import plan_figures as plan_figures
from rlsuite.plotting.figure_list import solution_figures as solution_figures
from rlsuite.plotting.graphs import policy_graph as policy_graph
from rlsuite.plotting.intervals import mean_curves as mean_curves
from rlsuite.plotting.intervals import style_axes as style_axes
from rlsuite.plotting.movies import belief_movie as belief_movie
from rlsuite.plotting.movies import learning_movie as learning_movie
from rlsuite.plotting.movies import planning_movie as planning_movie
from rlsuite.plotting.movies import walk_movie as walk_movie
from rlsuite.plotting.parameters import parameter_map as parameter_map
from rlsuite.plotting.parameters import parameter_study as parameter_study
from rlsuite.plotting.plane import policy_map as policy_map
from rlsuite.plotting.plane import value_surface as value_surface
from rlsuite.plotting.reporting import write_report as write_report
from rlsuite.plotting.style import Palette as Palette
from rlsuite.plotting.time_rows import belief_trace as belief_trace
from rlsuite.plotting.time_rows import state_posteriors as state_posteriors
from rlsuite.plotting.values import q_map as q_map
from rlsuite.plotting.values import value_map as value_map
from rlsuite.plotting.values import value_maps as value_maps

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
