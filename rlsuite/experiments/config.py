"""What defines an experiment, as data: environments x agents x seeds, and how long they learn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast

from rlsuite import errors
from rlsuite.agents import Agent
from rlsuite.core.checks import one_of, seed_list, whole_amount
from rlsuite.core.described import Plain, describe
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.core.narrowing import Table, is_list, is_mapping
from rlsuite.errors import ParameterError
from rlsuite.experiments.folder import as_folder
from rlsuite.experiments.limits import Limits
from rlsuite.training.budget import LOOPS, Budget, LoopChoice

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
