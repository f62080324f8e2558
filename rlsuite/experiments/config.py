"""An experiment as data: agents x environments x seeds, validated, and its form in a TOML file.

::

    steps = 2_000                     # or episodes = ...
    seeds = 30                        # or a list of seeds
    evaluate_every = 100              # optional, as are checkpoint_every, loop and name

    [[environments]]
    id = "CliffWalking-v1"            # or module:Id, or file.py:Class relative to this file
    max_episode_steps = 500           # optional: truncate every episode after this many steps
    label = "slippery cliff"          # optional
    parameters = { is_slippery = true }

    [[agents]]
    name = "QLearning"                # or module:Class, or file.py:Class relative to this file
    label = "Q-learning"              # optional
    learning_rate = { name = "Inverse", start = 1.0, per = "visits" }
    exploration = { name = "EpsilonGreedy", epsilon = 0.1 }
    environment = {}                  # optional: keywords of the environment for this agent alone
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from rlsuite import errors
from rlsuite.agents import Agent
from rlsuite.core.checks import seed_list, whole_number
from rlsuite.core.described import describe
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.experiments.folder import as_folder
from rlsuite.training.results import Results
from rlsuite.training.run import LOOPS, Budget, LoopChoice

if TYPE_CHECKING:
    from rlsuite.experiments.runs import Cell


@dataclass(frozen=True)
class EnvironmentEntry(SaysWhatToWrite):
    """One environment of an experiment.

    Parameters
    ----------
    id : str
        An id, ``module:Id`` or ``file.py:Class``, as for `rlsuite.find_env`.
    label : str
        Its name in tables, figures and folders; the id by default.
    parameters : mapping
        Keywords of its constructor: numbers, strings, booleans, and lists and tables of them.
    max_episode_steps : int, optional
        Steps after which an episode is truncated; by default, the limit that the id is registered with.
    """

    id: str
    label: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {})
    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        if self.max_episode_steps is not None:
            whole_number("max_episode_steps", self.max_episode_steps, at_least=1)
        _set_label(self, self.id)

    @property
    def limit(self) -> dict[str, int]:
        """``max_episode_steps``, if it was given."""
        return {} if self.max_episode_steps is None else {"max_episode_steps": self.max_episode_steps}


@dataclass(frozen=True)
class AgentEntry(SaysWhatToWrite):
    """One agent of an experiment.

    Parameters
    ----------
    agent : Agent
        Its parameters are used; it does not learn itself.
    label : str
        Its name in tables, figures and folders; the name of its class by default.
    environment : mapping
        Keywords of the environment's constructor for this agent alone: how much the agent observes, for instance.
    source : str
        ``file.py:Class`` or ``module:Class`` of an agent that is not part of rlsuite.
    """

    agent: Agent
    label: str = ""
    environment: Mapping[str, Any] = field(default_factory=lambda: {})
    source: str = ""

    def __post_init__(self) -> None:
        _set_label(self, type(self.agent).__name__)


@dataclass(frozen=True, kw_only=True)
class Experiment(SaysWhatToWrite):
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
    evaluate_every, checkpoint_every : int, optional
        As for `rlsuite.train`.
    loop : {"auto", "compiled", "stepwise"}
        As for `rlsuite.train`; the results do not depend on it.
    regret : bool
        As for `rlsuite.train`.
    figures : sequence of str
        The figures that ``rlsuite plot`` draws; by default all that it can.
    name : str
        Name of the experiment.
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

    environments: Sequence[EnvironmentEntry]
    agents: Sequence[AgentEntry]
    steps: int | None = None
    episodes: int | None = None
    seeds: int | Sequence[int] = 10
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    loop: LoopChoice = "auto"
    regret: bool = True
    figures: Sequence[str] = ()
    name: str = "experiment"
    file: Path | None = None

    def __post_init__(self) -> None:
        Budget.of(self.steps, self.episodes, self.evaluate_every, self.checkpoint_every)
        if not isinstance(cast("object", self.seeds), int | list | tuple):
            raise ParameterError(f"seeds={self.seeds!r} must be a number of seeds, or a list of seeds")
        seed_list(self.seeds)
        if self.loop not in LOOPS:
            raise ParameterError(errors.unknown("loop", self.loop, LOOPS))
        if not isinstance(cast("object", self.regret), bool):
            raise ParameterError(f"regret={self.regret!r} must be true or false")
        figures = cast("Any", self.figures)
        if not isinstance(figures, list | tuple) or not all(isinstance(name, str) for name in cast("Any", figures)):
            raise ParameterError(f"figures={self.figures!r} must be a list of names")
        for what, entries in (("environments", self.environments), ("agents", self.agents)):
            if not entries:
                raise ParameterError(f"{what} is empty; give at least one")
            _check_labels(what, [entry.label for entry in entries])
        for index, entry in enumerate(self.environments):
            _check_plain(entry.parameters, f"environments[{index}].parameters")
        for index, entry in enumerate(self.agents):
            _check_plain(entry.environment, f"agents[{index}].environment")

    @classmethod
    def read(cls, path: str | PathLike[str], **changes: Any) -> Self:
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
        from rlsuite.experiments.reading import read

        return read(cls, Path(path), changes)

    @classmethod
    def from_plain(cls, table: Mapping[str, Any], file: Path | None = None) -> Self:
        """Make an experiment from the tables of a TOML file; `plain` turns it back into them.

        Raises
        ------
        ParameterError
            If a key is unknown, has a value of the wrong type or out of range; the message begins with the key.
        """
        from rlsuite.experiments.reading import from_plain

        return from_plain(cls, table, file)

    def plain(self) -> dict[str, Any]:
        """The experiment as tables of numbers, strings and lists, with all defaults filled in."""
        environments = [
            {"id": entry.id, "label": entry.label, "parameters": dict(entry.parameters), **entry.limit}
            for entry in self.environments
        ]
        agents: list[dict[str, Any]] = []
        for entry in self.agents:
            described = describe(entry.agent)
            extra = {"environment": dict(entry.environment)} if entry.environment else {}
            agents.append({**described, "name": entry.source or described["name"], "label": entry.label, **extra})
        seeds = seed_list(self.seeds)
        common = {"name": self.name, **self.timing, "seeds": seeds, "loop": self.loop, "regret": self.regret}
        return {**common, "figures": list(self.figures), "environments": environments, "agents": agents}

    @property
    def timing(self) -> dict[str, Any]:
        """``steps``, ``episodes``, ``evaluate_every`` and ``checkpoint_every``, without those that were not given."""
        names = ("steps", "episodes", "evaluate_every", "checkpoint_every")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def folder(self) -> Path:
        """The folder that file names are relative to."""
        return Path() if self.file is None else self.file.parent

    def cells(self) -> "list[Cell]":
        """All (environment, agent, seed), the first seed of all agents first."""
        from rlsuite.experiments.runs import cells_of

        return cells_of(self)

    @says_what_to_write
    def run(self, folder: str | PathLike[str], *, workers: int = 1, progress: bool = False) -> dict[str, list[Results]]:
        """Learn all cells that ``folder`` does not hold yet, and return the results of all.

        Parameters
        ----------
        folder : str or path
            Where results are kept; made if it does not exist.
        workers : int
            Threads. The compiled loop runs in parallel on them; the results do not depend on their number.
        progress : bool
            Show a progress bar.

        Returns
        -------
        dict
            Label of the environment -> one `Results` per agent.

        Raises
        ------
        ParameterError
            If a finished cell in the folder was made with other parameters.
        FileError
            If a file of a finished cell is damaged, or another process is writing to the folder.
        EnvironmentNotFound, UnsuitableEnvironment
            If an environment does not exist or has spaces that are not Discrete.
        LearningError
            If a run had to stop; finished cells are kept.
        Stopped
            On Ctrl-C, a ``KeyboardInterrupt``; finished cells are kept.
        """
        from rlsuite.experiments.run import run

        return run(self, Path(folder), workers=workers, progress=progress)


def _set_label(entry: EnvironmentEntry | AgentEntry, default: str) -> None:
    object.__setattr__(entry, "label", entry.label or default)


def _check_labels(what: str, labels: list[str]) -> None:
    taken: dict[str, str] = {}
    for index, label in enumerate(labels):
        folder = as_folder(f"{what}[{index}].label", label).casefold()
        if folder in taken:
            raise ParameterError(
                f"{what}[{index}].label={label!r} names the same folder as the label "
                f"{taken[folder]!r}: give each entry its own label"
            )
        taken[folder] = label


def _check_plain(value: object, where: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            _check_plain(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            _check_plain(inner, f"{where}[{index}]")
    elif not isinstance(value, bool | int | float | str):
        raise ParameterError(f"{where}={value!r} must be a number, a string, a boolean, or a list or table of them")
