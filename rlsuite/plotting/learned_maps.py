"""What the best agent of an experiment has learned, as maps: its values and actions, and where they are still wrong.

An experiment keeps numbers, not agents. A run in an environment with a table has the same bytes each time, so one is
repeated; nothing else is run again.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlsuite.core.checks import is_array
from rlsuite.core.described import Plain
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import find_env
from rlsuite.errors import RlsuiteError
from rlsuite.experiments.experiment import Experiment
from rlsuite.models import MDP
from rlsuite.planning import solve
from rlsuite.plotting.values import value_map
from rlsuite.rendering.layout import GridLayout
from rlsuite.training.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STEPS: Final = 1_000_000
"""A longer run is not repeated."""

MOST_SQUARES: Final = 1_000
"""Squares of a grid that is drawn."""


def learned_maps(config: Plain, run: Results) -> "list[tuple[str, Axes]]":
    """Maps of what one run of an agent has learned, each with a description.

    Parameters
    ----------
    config : dict
        The experiment in plain form.
    run : Results
        Of the agent. The run of its first seed is repeated.

    Returns
    -------
    list of (str, matplotlib.axes.Axes)
        Values with the greedy policy, and the optimal values less these; empty if the environment has no table or no
        grid, comes from a file of the user's, or the agent has no table of action values.
    """
    if not _is_short(config):
        return []
    whole = Experiment.from_plain(config)
    record = run.records[0]
    part = replace(
        whole,
        environments=[entry for entry in whole.environments if entry.label == run.environment],
        agents=[entry for entry in whole.agents if entry.label == run.agent],
        seeds=[record.seed],
    )
    try:
        (cell,) = part.cells()
        env = find_env(cell.env_id, **cell.keywords)
        layout = GridLayout.from_env(env)
    except RlsuiteError:  # its file is elsewhere, or it is no grid
        return []
    if "files" in cell.spec or not facts_of(env).has_table or layout.n_rows * layout.n_columns > MOST_SQUARES:
        return []
    agent: Any = replace(cell.agent.agent)
    agent.learn(env, **part.timing, seed=record.seed)
    q = getattr(agent, "q_", None)
    if not is_array(q) or q.shape[:1] != (layout.n_states,) or not _is_repeated(agent.record_, record):
        return []
    seed = f"seed {record.seed}"
    learned = value_map(env, q=q, title=f"What {run.agent} has learned, {seed}")
    maps = [(f"Map of the values and the greedy policy that {run.agent} has learned, {seed}", learned)]
    solution = solve(MDP.from_env(env, gamma=agent.gamma))
    if solution.converged:
        error = solution.value - q.max(axis=1)
        title = f"Where {run.agent} is still wrong, {seed}"
        drawn = value_map(env, error, title=title, of="optimal value less the learned value of the state")
        maps.append((f"Map of the optimal values less the values that {run.agent} has learned, {seed}", drawn))
    return maps


def _is_short(config: Plain) -> bool:
    return (config.get("steps") or 1_000 * int(config.get("episodes") or 0)) <= MOST_STEPS


def _is_repeated(now: Any, before: Any) -> bool:
    return np.array_equal(now.evaluation, before.evaluation) and np.array_equal(
        now.episode_return, before.episode_return
    )
