"""A cell: one agent in one environment with one seed, the unit of work, which is computed once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from rlsuite.core.checks import seed_list
from rlsuite.core.described import describe
from rlsuite.core.modules import checksum_of
from rlsuite.core.narrowing import Table, is_list, is_table
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments.config import AgentEntry, EnvironmentEntry, Settings
from rlsuite.experiments.folder import slug
from rlsuite.experiments.segments import Pair


@dataclass(frozen=True, eq=False)
class Case:
    """One agent in one environment: cells that differ in their seeds alone.

    Attributes
    ----------
    environment, agent
        The entries of the experiment.
    spec : dict
        Everything that the numbers depend on beside the seed, as plain data. Not the labels, and not the loop.
    keywords : dict
        Keywords of the environment's constructor, names of files made absolute.
    env_id : str
        Id of the environment, the name of a file made absolute.
    files : dict
        Absolute path -> checksum of each file that is part of the spec.
    """

    environment: EnvironmentEntry
    agent: AgentEntry
    spec: Table
    keywords: Table
    env_id: str
    files: dict[str, str]

    @cached_property
    def pair(self) -> Pair:
        """The labels, as files have them."""
        return slug(self.environment.label), slug(self.agent.label)

    def name(self, seed: int) -> str:
        """A description of a cell, for messages."""
        return f"{self.agent.label} in {self.environment.label}, seed {seed}"


class Cell(NamedTuple):
    """One agent in one environment with one seed."""

    case: Case
    seed: int

    @property
    def environment(self) -> EnvironmentEntry:
        """The entry of the experiment."""
        return self.case.environment

    @property
    def agent(self) -> AgentEntry:
        """The entry of the experiment."""
        return self.case.agent

    @property
    def keywords(self) -> Table:
        """Keywords of the environment's constructor."""
        return self.case.keywords

    @property
    def env_id(self) -> str:
        """Id of the environment."""
        return self.case.env_id

    @property
    def agent_file(self) -> Path:
        """Where the agent is kept, within the folder of the experiment."""
        return Path("agents", *self.case.pair, f"{seed_name(self.seed)}.npz")

    @property
    def spec(self) -> Table:
        """Everything that its numbers depend on, as plain data."""
        return {**self.case.spec, "seed": self.seed}


class Shard(NamedTuple):
    """A part of the cells of an experiment, for one of several processes or machines."""

    number: int
    """Which part, from 1 on."""
    of: int
    """How many parts there are."""

    @classmethod
    def parse(cls, text: "str | Shard | tuple[int, int]") -> Self:
        """Read "3/16", or a pair of numbers.

        Raises
        ------
        ParameterError
            If it is something else, or the first number lies outside of 1 to the second.

        Examples
        --------
        >>> Shard.parse("3/16")
        Shard(number=3, of=16)
        """
        try:
            number, of = (int(part) for part in (text.split("/") if isinstance(text, str) else text))
        except (ValueError, TypeError):
            number = of = 0
        if not 1 <= number <= of:
            raise ParameterError(f"shard={text!r} must be like '3/16': which part, from 1 on, of how many")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def cells(self, cells: "Sequence[Cell]") -> "list[Cell]":
        """Every `of`-th cell, so that all parts have as many cells, and as many of each agent, as possible."""
        return list(cells[self.number - 1 :: self.of])


def cells_of(experiment: Settings) -> list[Cell]:
    """All cells of an experiment, the first seed of all agents first.

    Raises
    ------
    FileError
        If a file that the experiment names does not exist.
    """
    cases = [
        Case(environment, agent, *_describe(experiment, environment, agent))
        for environment in experiment.environments
        for agent in experiment.agents
    ]
    return [Cell(case, seed) for seed in seed_list(experiment.seeds) for case in cases]


def seeds_of(cells: Iterable[Cell]) -> dict[Case, list[int]]:
    """The seeds of some cells, by agent and environment."""
    found: dict[Case, list[int]] = {}
    for case, seed in cells:
        found.setdefault(case, []).append(seed)
    return found


def differences(stored: Table, wanted: Table) -> list[str]:
    """Sentences about the differences of two tables.

    >>> differences({"agent": {"gamma": 0.9}, "steps": 5}, {"agent": {"gamma": 0.8}})
    ['agent.gamma was 0.9 and is now 0.8', 'steps was 5 and is not given now']
    """
    before, now = _flat(stored), _flat(wanted)
    found: list[str] = []
    for key in dict.fromkeys([*before, *now]):
        if key not in now:
            found.append(f"{key} was {json.dumps(before[key])} and is not given now")
        elif key not in before:
            found.append(f"{key} was not given and is now {json.dumps(now[key])}")
        elif before[key] != now[key]:
            found.append(f"{key} was {json.dumps(before[key])} and is now {json.dumps(now[key])}")
    return found


def _flat(table: Table, path: str = "") -> dict[str, Any]:
    """Nested tables as one table, with keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{path}{key}.") if is_table(value) else {path + key: value}
    return flat


def _describe(
    experiment: Settings, environment: EnvironmentEntry, agent: AgentEntry
) -> tuple[dict[str, Any], dict[str, Any], str, dict[str, str]]:
    """Spec, keywords of the environment, id of the environment, files."""
    given = {**environment.parameters, **environment.limit, **agent.environment}
    files: dict[str, str] = {}
    keywords = {key: _resolve(value, experiment.folder, files) for key, value in given.items()}
    env_id = _resolve(environment.id, experiment.folder, files)
    _resolve(agent.source, experiment.folder, files)
    described = describe(agent.agent)
    for name in _names_in(described):
        _resolve(name, experiment.folder, files)
    spec = {
        "environment": {"id": environment.id, "parameters": given},
        "agent": described,
        **experiment.timing,
        "regret": experiment.regret,
        **({"files": files} if files else {}),
    }
    # as JSON reads it back: tuples become lists
    paths = {str((experiment.folder / name).resolve()): held for name, held in files.items()}
    return json.loads(json.dumps(spec)), keywords, env_id, paths


def _names_in(plain: object) -> Iterator[str]:
    """The names of the estimators in plain data that come from files."""
    if is_table(plain):
        name = plain.get("name")
        if isinstance(name, str) and ".py:" in name:
            yield name
    if is_table(plain) or is_list(plain):
        for inner in plain.values() if is_table(plain) else plain:
            yield from _names_in(inner)


def _resolve(value: Any, folder: Path, files: dict[str, str]) -> Any:
    """Make the name of a file beside the experiment absolute, and note the file's checksum: it is part of the spec.

    ``file.py`` and ``file.py:Class`` name files, which must exist; so does any string with a suffix if there is such a
    file.
    """
    if not isinstance(value, str):
        return value
    name, colon, rest = value.partition(".py:")
    name = f"{name}.py" if colon else value
    file = folder / name
    if name.endswith(".py") and not file.is_file():
        raise FileError(f"there is no file {file}")
    if not Path(name).suffix or not file.is_file():
        return value
    files[name] = checksum_of(file.read_bytes())
    absolute = str(file.resolve())
    return f"{absolute}:{rest}" if colon else absolute


def seed_name(seed: int) -> str:
    """A seed as the name of a file.

    >>> seed_name(7)
    'seed-0007'
    """
    return f"seed-{seed:04d}"
