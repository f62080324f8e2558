"""What defines an experiment, as data: environments x agents x seeds, how long they learn, and the limits of each run.

A run looks at its limits once a second or so, between two steps. What learns in one piece, such as a search or a fit of
scikit-learn, does not look, and a ``step`` that never returns is not interrupted.
"""

import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final, Literal, NamedTuple, Self, cast

from rlsuite import errors
from rlsuite.agents import Agent
from rlsuite.core.checks import one_of, positive_number, seed_list, whole_amount
from rlsuite.core.described import Plain, describe
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.core.narrowing import Table, is_list, is_mapping
from rlsuite.errors import LimitReached, ParameterError
from rlsuite.experiments.folder import as_folder
from rlsuite.training.budget import LOOPS, Budget, LoopChoice

_UNITS = {
    "B": 1,
    **{f"{letter}B": 1_000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1_024**power for power, letter in enumerate("KMGT", 1)},
}


class Limits(NamedTuple):
    """How much a cell may take."""

    seconds: float = math.inf
    """Of a clock on the wall, compilation included, since it began or went on from where it was saved."""
    memory: float = math.inf
    """Bytes by which its process may grow meanwhile."""

    @classmethod
    def of(cls, table: object) -> Self:
        """Read ``{"seconds": 60, "memory": "2 GB"}``.

        Raises
        ------
        ParameterError
            If there is another key, or an impossible value.

        Examples
        --------
        >>> Limits.of({"seconds": 60, "memory": "2 GB"})
        Limits(seconds=60.0, memory=2000000000)
        """
        if not is_mapping(table):
            raise ParameterError(f"limits must be a table, such as {{ seconds = 60, memory = '2 GB' }}, not {table!r}")
        for key in table:
            if key not in cls._fields:
                raise ParameterError(f"limits: {errors.unknown('key', key, cls._fields)}")
        seconds = positive_number("limits.seconds", table["seconds"]) if "seconds" in table else math.inf
        memory = _bytes(table["memory"]) if "memory" in table else math.inf
        if memory < math.inf and sys.platform == "win32":
            raise ParameterError("limits.memory: Windows does not tell; leave it out")
        return cls(seconds, memory)

    def begin(self) -> Callable[[], None]:
        """Begin a cell; return what raises LimitReached once it is past its limits."""
        began, before = monotonic(), memory_of_process()

        def look() -> None:
            grown = memory_of_process() - before
            if monotonic() - began > self.seconds:
                said = f"it had not ended after {self.seconds:g} s"
            elif grown > self.memory:
                said = f"it had taken {_in_words(grown)} of memory, more than {_in_words(self.memory)}"
            else:
                return
            raise LimitReached(f"{said}; raise limits=, or leave it out")

        return look


def _bytes(value: object) -> int:
    found = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    units = {unit.casefold(): size for unit, size in _UNITS.items()}
    try:
        if found is not None:
            size = float(found[1]) * units[found[2].casefold()]
        else:
            size = positive_number("limits.memory", value)
        if not 1.0 <= size < math.inf:
            raise ValueError
    except (ValueError, KeyError) as error:
        raise ParameterError(
            f"limits.memory={value!r} must be a number of bytes, or a text with a unit: '500 MB', '2 GB'"
        ) from error
    return int(size)


def memory_of_process() -> int:
    """Bytes of memory that this process occupies now; where that is not told, the most it has occupied."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1_024 * most


def _in_words(size: float) -> str:
    """Bytes with a unit.

    >>> _in_words(2_000_000_000), _in_words(1_500)
    ('2 GB', '1.5 kB')
    """
    unit = max((unit for unit in ("B", "kB", "MB", "GB", "TB") if _UNITS[unit] <= max(size, 1)), key=_UNITS.__getitem__)
    return f"{size / _UNITS[unit]:.3g} {unit}"


SEARCH: Final = ("trials", "seeds", "fresh_seeds", "measure")
"""How much ``rlsuite sweep --search`` tries: keywords of `rlsuite.search`."""


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
    observe : str
        What it shows of its state: short for the keyword ``observe`` among `parameters`.
    """

    id: str
    label: str = ""
    parameters: Table = field(default_factory=lambda: {})
    max_episode_steps: int | None = None
    observe: str = ""

    def __post_init__(self) -> None:
        if self.max_episode_steps is not None:
            limit = whole_amount("max_episode_steps", self.max_episode_steps)
            object.__setattr__(self, "max_episode_steps", limit)
        object.__setattr__(self, "parameters", _with_observe("parameters", self.parameters, self.observe))
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
    observe : str
        What the environment shows this agent of its state: short for the keyword ``observe`` in `environment`.
    setting : mapping
        Values of the parameters that a sweep varies, which `agent` has; empty without one.
    search : mapping
        Where ``rlsuite sweep --search`` looks for better parameters, as for `rlsuite.search`.
    """

    agent: Agent
    label: str = ""
    environment: Table = field(default_factory=lambda: {})
    source: str = ""
    observe: str = ""
    setting: Mapping[str, object] = field(default_factory=lambda: {})
    search: Table = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", _with_observe("environment", self.environment, self.observe))
        _set_label(self, type(self.agent).__name__)


@dataclass(frozen=True, kw_only=True)
class Settings(SaysWhatToWrite):
    """What defines an experiment, checked; `Experiment` documents the fields."""

    environments: Sequence[EnvironmentEntry]
    agents: Sequence[AgentEntry]
    steps: int | None = None
    episodes: int | None = None
    seeds: int | Sequence[int] = 10
    evaluate_every: int | None = None
    record_every: int | None = None
    loop: LoopChoice = "auto"
    regret: bool = True
    keep: Literal["records", "agents"] = "records"
    figures: Sequence[str | Plain] = ()
    name: str = "experiment"
    file: Path | None = None
    search: Table = field(default_factory=lambda: {})
    limits: Table = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        Budget.of(self.steps, self.episodes, self.evaluate_every, self.record_every)
        for name, value in self.timing.items():  # 1e4 is 10,000
            object.__setattr__(self, name, int(value))
        seed_list(self.seeds)
        if self.loop not in LOOPS:
            raise ParameterError(errors.unknown("loop", self.loop, LOOPS))
        if not isinstance(cast("object", self.regret), bool):
            raise ParameterError(f"regret={self.regret!r} must be true or false")
        one_of("keep", self.keep, ("records", "agents"))
        figures = cast("object", self.figures)
        named = [one.get("name") if is_mapping(one) else one for one in figures] if is_list(figures) else [None]
        if not all(isinstance(name, str) for name in named):
            raise ParameterError(
                f"figures={self.figures!r} must be a list of names, or of tables with a name, as in "
                '{ name = "episode_return", ylim = [-100, 0] }'
            )
        if not is_mapping(cast("object", self.search)):
            raise ParameterError(f"search={self.search!r} must be a table, such as {{ trials = 100, seeds = 5 }}")
        for key in self.search:
            if key not in SEARCH:
                raise ParameterError(f"search: {errors.unknown('key', key, SEARCH)}; each agent says where to search")
        Limits.of(self.limits)
        for what, entries in (("environments", self.environments), ("agents", self.agents)):
            if not entries:
                raise ParameterError(f"{what} is empty; give at least one")
            _check_labels(what, [entry.label for entry in entries])
        for index, entry in enumerate(self.environments):
            _check_plain(entry.parameters, f"environments[{index}].parameters")
        for index, entry in enumerate(self.agents):
            _check_plain(entry.environment, f"agents[{index}].environment")

    def plain(self) -> Plain:
        """The experiment as tables of numbers, strings and lists, with all defaults filled in."""
        environments = [
            {"id": entry.id, "label": entry.label, "parameters": dict(entry.parameters), **entry.limit}
            for entry in self.environments
        ]
        agents: list[Plain] = []
        for entry in self.agents:
            described = describe(entry.agent)
            own = {"environment": dict(entry.environment), "setting": dict(entry.setting), "search": dict(entry.search)}
            extra = {key: value for key, value in own.items() if value}
            agents.append({**described, "name": entry.source or described["name"], "label": entry.label, **extra})
        seeds = seed_list(self.seeds)
        common = {"name": self.name, **self.timing, "seeds": seeds, "loop": self.loop, "regret": self.regret}
        common |= {"keep": self.keep} if self.keep != "records" else {}
        common |= {name: dict(one) for name, one in (("search", self.search), ("limits", self.limits)) if one}
        return {**common, "figures": list(self.figures), "environments": environments, "agents": agents}

    @property
    def timing(self) -> Plain:
        """``steps``, ``episodes``, ``evaluate_every`` and ``record_every``, without those that were not given."""
        names = ("steps", "episodes", "evaluate_every", "record_every")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def folder(self) -> Path:
        """The folder that file names are relative to."""
        return Path() if self.file is None else self.file.parent


def _with_observe(name: str, keywords: Table, observe: str) -> Table:
    """Keywords of an environment, with `observe` among them if that was given."""
    if keywords.get("observe", observe) != observe and observe:
        raise ParameterError(f"observe={observe!r}, but {name} has observe={keywords['observe']!r}: give one of them")
    return {**keywords, "observe": observe} if observe else keywords


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
    if is_mapping(value):
        for key, inner in value.items():
            _check_plain(inner, f"{where}.{key}")
    elif is_list(value):
        for index, inner in enumerate(value):
            _check_plain(inner, f"{where}[{index}]")
    elif not isinstance(value, bool | int | float | str):
        raise ParameterError(f"{where}={value!r} must be a number, a string, a boolean, or a list or table of them")
