"""An experiment: read from a TOML file, in which every key and its type are checked, and run.

::

    steps = 2_000                     # or episodes = ...
    seeds = 30                        # or a list of seeds
    evaluate_every = 100              # optional, as are record_every, loop, limits and name

    [[environments]]
    id = "CliffWalking-v1"            # or module:Id, or file.py:Class relative to this file
    max_episode_steps = 500           # optional: truncate every episode after this many steps
    label = "slippery cliff"          # optional
    observe = "cell"                  # optional: what is shown of the state
    parameters = { is_slippery = true }

    [[agents]]
    name = "QLearning"                # or module:Class, or file.py:Class relative to this file
    label = "Q-learning"              # optional
    learning_rate = { name = "Inverse", start = 1.0, per = "visits" }
    exploration = { name = "EpsilonGreedy", epsilon = 0.1 }
    environment = {}                  # optional: keywords of the environment for this agent alone; observe, too
"""

import dataclasses
import json
import math
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

import gymnasium

from rlsuite import errors
from rlsuite.agents import Agent
from rlsuite.core.checks import seed_list, whole_amount, worker_number
from rlsuite.core.described import describe
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.narrowing import Table, is_list, is_table
from rlsuite.environments.facts import action_space_of, facts_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import FailedRunsWarning, FileError, ParameterError, RlsuiteError, level_of_the_caller
from rlsuite.experiments.checkpoints import CHECKPOINTS, remove_checkpoints
from rlsuite.experiments.config import AgentEntry, EnvironmentEntry, Settings
from rlsuite.experiments.crew import Crew
from rlsuite.experiments.folder import ExperimentResults
from rlsuite.experiments.lookup import agent_from_table
from rlsuite.experiments.runs import Case, Cell, Shard, cells_of, seeds_of
from rlsuite.experiments.store import Store, Writer, set_damaged_aside
from rlsuite.experiments.sweeping import settings, text_of, with_setting
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


Entry = TypeVar("Entry", EnvironmentEntry, AgentEntry)

MOST_CELLS: Final = 1_000_000
"""Cells that an experiment may have without being asked for; each takes a millisecond at least."""


@dataclass(frozen=True, kw_only=True)
class Experiment(Settings):
    """Many agents in many environments with many seeds.

    Parameters
    ----------
    environments : sequence of EnvironmentEntry
        At least one.
    agents : sequence of AgentEntry
        At least one.
    steps, episodes : int
        Length of every run; one of the two.
    seeds : int or sequence of int
        Number of seeds (0, 1, ...), or the seeds.
    evaluate_every, record_every : int, optional
        As for `rlsuite.train`.
    loop : {"auto", "compiled", "stepwise"}
        As for `rlsuite.train`; the results do not depend on it.
    regret : bool
        As for `rlsuite.train`.
    keep : {"records", "agents"}
        Whether each agent is kept, too, with what it has learned: ``agents/<environment>/<agent>/seed-0007.npz`` in the
        folder of the results, which `rlsuite.load` reads.
    figures : sequence of str or dict
        The figures that ``rlsuite report --plot`` draws, by default all that it can: names, or tables of a ``name`` and
        keywords of that figure, such as ``{"name": "episode_return", "ylim": [-100, 0]}``.
    name : str
        Name of the experiment.
    search : dict
        How much ``rlsuite sweep --search`` tries: ``trials``, ``seeds``, ``fresh_seeds`` and ``measure`` of
        `rlsuite.search`.
    limits : dict
        What a cell may take: ``seconds``, and ``memory`` by which its process may grow, such as ``"2 GB"``. A cell that
        takes more has failed; the others are learned. A run looks about once a second, between two steps.
    file : Path, optional
        The TOML file that it was read from; file names are relative to its folder.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values, or two entries share a label.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from tempfile import TemporaryDirectory
    >>> experiment = Experiment(
    ...     environments=[EnvironmentEntry("FrozenLake-v1")], agents=[AgentEntry(rl.Sarsa())], steps=500, seeds=2
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     results = experiment.run(f"{folder}/lake")
    >>> [record.seed for record in results["FrozenLake-v1"][0].records]
    [0, 1]
    """

    @classmethod
    def read(cls, path: str | PathLike[str], **changes: object) -> Self:
        """Read an experiment from a TOML file; the module docstring shows one.

        Parameters
        ----------
        path : str or path
            The file.
        **changes
            Fields that replace those of the file.

        Raises
        ------
        FileError
            If the file is missing or is not valid TOML.
        ParameterError
            If a key is unknown, has a value of the wrong type or out of range; the message names file and key.
        """
        file = Path(path)
        try:
            table = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise FileError(f"there is no file {file}") from error
        except OSError as error:
            raise FileError(f"cannot read {file}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileError(f"{file} is not valid TOML: {error}") from error
        try:
            return cls.from_plain({"name": file.stem, **table, **changes}, file)
        except RlsuiteError as error:
            raise type(error)(f"{file}: {error}") from error

    @classmethod
    def from_plain(cls, table: Table, file: Path | None = None) -> Self:
        """Make an experiment from the tables of a TOML file; `plain` turns it back into them.

        Raises
        ------
        ParameterError
            If a key is unknown, has a value of the wrong type or out of range; the message begins with the key.
        """
        known = [one.name for one in fields(cls) if one.name != "file"]
        table = dict(table)
        _check_keys(table, known, "")
        folder = Path() if file is None else file.parent
        name = _text(table, "name", "")
        environments: list[EnvironmentEntry] = []
        for entry, where in _tables(table, "environments"):
            place = _environment(entry, where)
            environments.append(place if "label" in entry else _told_apart(place, environments, _keywords))
        agents: list[AgentEntry] = []
        for entry, where in _tables(table, "agents"):
            for one in _agents(entry, where, folder):
                agents.append(
                    one if "label" in entry else _told_apart(one, agents, lambda other: describe(other.agent))
                )
        rest = {key: value for key, value in table.items() if key not in ("name", "environments", "agents")}
        return cls(name=name, environments=environments, agents=agents, file=file, **rest)

    def check_size(self, most_cells: int = MOST_CELLS) -> None:
        """Raise `ParameterError` if there are more cells: environments x agents x seeds."""
        parts = (len(self.environments), len(self.agents), len(seed_list(self.seeds)))
        number = math.prod(parts)
        if number > most_cells:
            raise ParameterError(
                f"{' x '.join(f'{part:,}' for part in parts)} environments, agents and seeds are {number:,} cells, "
                f"more than {most_cells:,}: if all of them are meant, say most_cells={number}"
            )

    def cells(self) -> list[Cell]:
        """All (environment, agent, seed), the first seed of all agents first."""
        return cells_of(self)

    @says_what_to_write
    def run(
        self,
        folder: str | PathLike[str],
        *,
        workers: int = 1,
        backend: str = "auto",
        retry: bool = False,
        fail_fast: bool = False,
        progress: bool = False,
        shard: str | tuple[int, int] | None = None,
        most_cells: int = MOST_CELLS,
    ) -> ExperimentResults:
        """Learn all cells that ``folder`` does not hold yet, and return the results of all.

        Parameters
        ----------
        folder : str or path
            Where results are kept; made if it does not exist.
        workers : int
            How many cores to use; the results do not depend on it.
        backend : str
            ``"threads"``, ``"processes"``, ``"dask"`` for processes that dask starts here, ``"dask://host:8786"`` for a
            cluster, or ``"module:function"`` of a function that returns an executor of ``concurrent.futures``. By
            default this process begins alone and measures whether threads or processes help, or neither.
        retry : bool
            Learn again what failed before, by default it is only reported; and what is damaged, while the cells of a
            damaged file that are whole are kept.
        fail_fast : bool
            Raise the error of the first cell that fails. By default the others are learned, and kept.
        progress : bool
            Show a progress bar.
        shard : str or (int, int), optional
            ``"3/16"``: learn only the third of 16 parts of the cells. Other processes, also on other machines, may
            learn the other parts in the same folder at the same time; together they write what one process would.
        most_cells : int
            An experiment with more cells is refused: a number with a zero too many is a common mistake.

        Returns
        -------
        ExperimentResults
            A dict: label of the environment -> one `Results` per agent, with the failures beside the records; without
            agents all of whose cells failed. `to_frame` makes a table of all numbers.

        Raises
        ------
        ParameterError
            If there are more cells than `most_cells`, or a finished cell in the folder was made with other parameters.
        FileError
            If a file of a finished cell is damaged, without `retry`; or another process is writing to the folder.
        EnvironmentNotFound, UnsuitableEnvironment
            If an environment does not exist or has spaces that are not Discrete.
        LearningError
            With ``fail_fast``, if a run had to stop; finished cells are kept.
        Stopped
            On Ctrl-C, a ``KeyboardInterrupt``; finished cells are kept, and the others continue where they were saved,
            which is done every minute, and now.

        Warns
        -----
        FailedRunsWarning
            If some cells failed; the message lists them.
        """
        self.check_size(most_cells)
        part = None if shard is None else Shard.parse(shard)
        return run(
            self,
            Path(folder),
            workers=workers,
            backend=backend,
            retry=retry,
            fail_fast=fail_fast,
            progress=progress,
            shard=part,
        )


def _check_keys(table: Table, allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            at_top = "" if where else f"; write what is in [{key}] at the top, without that line" * is_table(table[key])
            raise ParameterError(f"{where}{key}: {errors.unknown('key', key, allowed)}{at_top}")


def _text(table: Table, key: str, where: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or not (value or default == ""):
        raise ParameterError(
            f"{where}{key} is missing" if value is None else f"{where}{key}={value!r} must be a string"
        )
    return value


def _inner_table(table: Table, key: str, where: str) -> Table:
    value: object = table.get(key, {})
    if not is_table(value):
        raise ParameterError(f"{where}{key}={value!r} must be a table, such as {{ keyword = value }}")
    return value


def _tables(table: Table, key: str) -> list[tuple[Table, str]]:
    value: object = table.get(key, [])
    entries = [entry for entry in value if is_table(entry)] if is_list(value) else []
    if not is_list(value) or len(entries) < len(value):
        raise ParameterError(f"{key}={value!r} must be an array of tables: write [[{key}]] above each table")
    return [(entry, f"{key}[{index}]") for index, entry in enumerate(entries)]


def _told_apart(one: Entry, before: Sequence[Entry], parameters: Callable[[Entry], Mapping[str, object]]) -> Entry:
    """An entry whose label also says what differs from the first entry with the same label, if there is one."""
    first = next((other for other in before if other.label == one.label), None)
    if first is None:
        return one
    known = parameters(first)
    own = {key: value for key, value in parameters(one).items() if key not in known or known[key] != value}
    told = ", ".join(f"{key}={value}" for key, value in own.items())
    return replace(one, label=f"{one.label}({told})" if told else one.label, observe="")


def _keywords(entry: EnvironmentEntry) -> dict[str, object]:
    return {**entry.parameters, **entry.limit}


def _environment(table: Table, where: str) -> EnvironmentEntry:
    _check_keys(table, [one.name for one in fields(EnvironmentEntry)], f"{where}.")
    limit = table.get("max_episode_steps")
    return EnvironmentEntry(
        id=_text(table, "id", f"{where}."),
        label=_text(table, "label", f"{where}.", ""),
        parameters=_inner_table(table, "parameters", f"{where}."),
        max_episode_steps=None if limit is None else whole_amount(f"{where}.max_episode_steps", limit),
        observe=_text(table, "observe", f"{where}.", ""),
    )


def _agents(table: Table, where: str, folder: Path) -> list[AgentEntry]:
    """The agent of a table, or one for each setting of its sweep, whose labels say which it is."""
    if "sweep" not in table:
        return [_agent(table, where, folder)]
    one = _agent({key: value for key, value in table.items() if key != "sweep"}, where, folder)
    try:
        return [
            replace(
                one,
                agent=with_setting(one.agent, setting),
                label=f"{one.label} ({text_of(setting)})",
                setting=setting,
                observe="",  # it is among the keywords of the environment by now
            )
            for setting in settings(_inner_table(table, "sweep", f"{where}."))
        ]
    except ParameterError as error:
        raise ParameterError(f"{where}.{error}") from error


def _agent(table: Table, where: str, folder: Path) -> AgentEntry:
    label = _text(table, "label", f"{where}.", "")
    environment = _inner_table(table, "environment", f"{where}.")
    observe = _text(table, "observe", f"{where}.", "")
    own = ("label", "environment", "observe", "setting", "search")
    parameters = {key: value for key, value in table.items() if key not in own}
    agent = agent_from_table(parameters, where, folder)
    source = table["name"] if ":" in table["name"] or table["name"].endswith(".py") else ""
    setting, search = (_inner_table(table, key, f"{where}.") for key in ("setting", "search"))
    return AgentEntry(agent, label, environment, source, observe, setting, search)
