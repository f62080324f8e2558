"""Running an experiment: cells that are known are kept, and the others are learned, by one or several backends."""

import dataclasses
import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import gymnasium

from rlsuite.agents import Agent
from rlsuite.core.checks import worker_number
from rlsuite.environments.facts import action_space_of, facts_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import FailedRunsWarning, level_of_the_caller
from rlsuite.experiments.checkpoints import CHECKPOINTS, remove_checkpoints
from rlsuite.experiments.config import Settings
from rlsuite.experiments.crew import Crew
from rlsuite.experiments.numbers import ExperimentResults
from rlsuite.experiments.runs import Case, Cell, Shard, cells_of, seeds_of
from rlsuite.experiments.store import Store, Writer, set_damaged_aside
from rlsuite.experiments.writing import check_known, pack_if_all_are_known, versions, write_description, writing
from rlsuite.training.failures import Failure, failure_table
from rlsuite.training.results import Results

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env


class Originals:
    """One environment for each id and keywords among some cells.

    Parameters
    ----------
    cells : sequence of Cell
        The cells.

    Raises
    ------
    EnvironmentNotFound, UnsuitableEnvironment, ParameterError
        If an environment cannot be made, or has spaces that an agent of its cells cannot work with.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._made: dict[str, Env] = {}
        for case in dict.fromkeys(cell.case for cell in cells):
            if _key(case) not in self._made:
                self._made[_key(case)] = find_env(case.env_id, **case.keywords)
            env = self._made[_key(case)]
            action_space_of(env)
            agent = cast(object, dataclasses.replace(case.agent.agent))
            if isinstance(agent, Agent):
                agent.bind_environment(env)

    def compiles(self, case: Case) -> bool:
        """Whether an agent may learn in the compiled loop, which leaves other threads free."""
        facts = facts_of(self._made[_key(case)])
        return facts.has_table or facts.dynamics is not None

    def size(self, case: Case) -> str:
        """A description of the observations and actions of an environment."""
        env = self._made[_key(case)]
        space = env.observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            observations = f"{space.n} observations"
        else:
            observations = f"observations of {encoding(space).low.size} numbers"
        return f"{observations}, {action_space_of(env).n} actions"


def _key(case: Case) -> str:
    return json.dumps([case.env_id, case.keywords], sort_keys=True)


def run(
    experiment: Settings,
    folder: Path,
    *,
    workers: int,
    backend: str,
    retry: bool,
    fail_fast: bool,
    progress: bool,
    shard: Shard | None = None,
) -> ExperimentResults:
    """Learn what ``folder`` does not hold yet; `Experiment.run` documents it."""
    worker_number(workers)
    everything = cells_of(experiment)
    cells = everything if shard is None else shard.cells(everything)
    with writing(folder, shard) as aside:
        if retry:
            set_damaged_aside(folder, aside)
        store = Store(folder)
        check_known(store, cells, folder)
        keeps = experiment.keep == "agents"
        missing = [
            cell
            for cell in cells
            if not _is_known(store, cell, retry)
            or (keeps and cell.seed in store.of(cell.case.pair).done and not (folder / cell.agent_file).is_file())
        ]
        known = ((case.pair, seed) for case, seed in cells if seed in store.of(case.pair).done)
        remove_checkpoints(folder, known)
        originals = Originals(missing)
        write_description(experiment, folder, aside)
        if missing:
            writer = Writer(folder, aside, "run" if shard is None else f"shard-{shard.number}-of-{shard.of}")
            crew = Crew(experiment, missing, originals.compiles, folder, writer, workers, fail_fast, versions())
            crew.work(backend, len(cells), progress)
        with suppress(OSError):
            (folder / CHECKPOINTS).rmdir()  # if nothing is left in it
    store = pack_if_all_are_known(folder, everything)
    found = ExperimentResults()
    failures: list[Failure] = []
    for case, seeds in seeds_of(cells).items():
        records = store.records(case.pair, seeds)
        failed = tuple(store.failures(case.pair, seeds))
        failures += failed
        if records:
            label, agent = case.environment.label, case.agent
            results = Results(agent.label, label, records, failed, agent.agent.gamma, agent.setting)
            found.setdefault(label, []).append(results)
    if failures:
        message = f"{failure_table(failures)}\nThe others are kept; retry=True (--retry) learns these again"
        warnings.warn(message, FailedRunsWarning, stacklevel=level_of_the_caller())
    return found


def _is_known(store: Store, cell: Cell, retry: bool) -> bool:
    done, failed = store.of(cell.case.pair)
    return cell.seed in done or (cell.seed in failed and not retry)
