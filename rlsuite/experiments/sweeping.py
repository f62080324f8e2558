"""The same agent with many settings of its parameters: which values are good, and how sure that is."""

import csv
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import numpy as np

from rlsuite.core.aliases import Env
from rlsuite.core.checks import one_of, whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.narrowing import is_list, is_mapping
from rlsuite.core.shown import DataFrame, frame_of
from rlsuite.errors import ParameterError, unknown
from rlsuite.experiments.comparing import label_envs, last_evaluation
from rlsuite.experiments.rows import PER_EPISODE, PER_STEP, UNDISCOUNTED, VALUE, Row, mean_text, rows_of, sign_of
from rlsuite.training.budget import LoopChoice
from rlsuite.training.results import Results
from rlsuite.training.train import own_options, train

if TYPE_CHECKING:
    from rlsuite.agents import Agent


Grid: TypeAlias = Mapping[str, Sequence[object] | Mapping[str, object]]
"""Name of a parameter -> its values: a list, ``{"log": [0.01, 1], "n": 5}`` or ``{"linear": [0, 1], "n": 5}``."""

MOST_SETTINGS: Final = 100_000
"""Settings that a grid may have; more are a mistake, or a question for a search."""

TOO_MANY: Final = f"than {MOST_SETTINGS:,}: leave out values, or let sweep --search find the best between two ends"


def settings(grid: Grid, what: str = "sweep") -> list[dict[str, object]]:
    """All combinations of the values of a grid, the last parameter varying fastest.

    `what` begins the messages of errors.

    Raises
    ------
    ParameterError
        If it is empty or has too many settings, or values are neither a list nor a range.

    Examples
    --------
    >>> settings({"a": [1, 2], "b": {"log": [0.01, 1.0], "n": 3}})[:2]
    [{'a': 1, 'b': 0.01}, {'a': 1, 'b': 0.1}]
    """
    if not is_mapping(cast("object", grid)) or not grid:
        raise ParameterError(f"a {what} is a table such as {{ learning_rate = [0.1, 0.5] }}, got {grid!r}")
    columns = {name: _values(what, name, given) for name, given in grid.items()}
    number, numbers = math.prod(map(len, columns.values())), " x ".join(str(len(one)) for one in columns.values())
    if number > MOST_SETTINGS:
        raise ParameterError(f"{what}: {numbers} values make {number:,} settings, more {TOO_MANY}")
    return [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())]


def _values(what: str, name: str, given: object) -> list[object]:
    if is_list(given) or isinstance(given, range | np.ndarray):
        listed = cast("Sequence[Any]", given)
        values: list[object] = [value.item() if isinstance(value, np.generic) else value for value in listed]
        if not values:
            raise ParameterError(f"{what}: {name} has no values")
        if len(set(map(repr, values))) < len(values):
            raise ParameterError(f"{what}: {name} has a value twice: {values!r}")
        return values
    if is_mapping(given) and set(given) in ({"log", "n"}, {"linear", "n"}):
        n = whole_amount(f"{what}: n of {name}", cast("Any", given["n"]))
        kind = "log" if "log" in given else "linear"
        if n > MOST_SETTINGS:
            raise ParameterError(f"{what}: {n:,} values of {name} are more {TOO_MANY}")
        ends = given[kind]
        if is_list(ends) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends):
            low, high = (float(cast("float", end)) for end in ends)
            if math.isfinite(low) and math.isfinite(high) and (kind == "linear" or min(low, high) > 0.0):
                between = np.geomspace if kind == "log" else np.linspace
                return [float(f"{value:.12g}") for value in between(low, high, n)]
        raise ParameterError(
            f"{what}: {kind} of {name} needs two finite ends{', both positive' if kind == 'log' else ''}, got {ends!r}"
        )
    raise ParameterError(
        f"{what}: {name}={given!r} must be a list, {{ log = [0.01, 1.0], n = 5 }}, or {{ linear = [0, 1], n = 5 }}"
    )


def with_setting(agent: Any, setting: Mapping[str, object], what: str = "sweep") -> Any:
    """The agent with other values of parameters; those of its parts have dots in their names.

    `what` begins the messages of errors.

    Raises
    ------
    ParameterError
        If there is no such parameter, or a value is outside its range.

    Examples
    --------
    >>> import rlsuite as rl
    >>> with_setting(rl.Sarsa(), {"exploration.epsilon": 0.3}).exploration.epsilon
    0.3
    """
    for path, value in setting.items():
        agent = _replaced(agent, f"{what}: {path}", path.split("."), value)
    return agent


def _replaced(part: Any, path: str, names: Sequence[str], value: object) -> Any:
    name, *inner = names
    known = [field.name for field in fields(part) if field.init] if is_dataclass(part) else []
    if name not in known:
        raise ParameterError(f"{path}: {unknown('parameter', name, known)}")
    new = _replaced(getattr(part, name), path, inner, value) if inner else value
    return cast("Any", replace)(part, **{name: new})


def text_of(setting: Mapping[str, object]) -> str:
    """A setting as keywords.

    >>> text_of({"learning_rate": 0.1, "n": 4})
    'learning_rate=0.1, n=4'
    """
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


MEASURES = {"value": VALUE, "return": UNDISCOUNTED, "episode": PER_EPISODE, "reward": PER_STEP}
"""Short name of a measure -> what it is."""

MeasureName = Literal["auto", "value", "return", "episode", "reward"]

MOST_SHOWN = 6
"""Settings that a sweep shows, the best first."""


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Results of one agent with many settings in one environment, as `rlsuite.sweep` returns them.

    Attributes
    ----------
    results : list of Results
        One for each setting, in the order of the grid; ``setting`` of each holds the values of its parameters.
    measure : {"auto", "value", "return", "episode", "reward"}
        What settings are compared by: the value of the last greedy policy, its undiscounted return, the return per
        episode in the last tenth of the episodes, or the reward per step of the whole run; "auto" is the first of them
        that all results have.
    """

    results: Sequence[Results]
    measure: MeasureName = "auto"

    def __post_init__(self) -> None:
        one_of("measure", self.measure, ("auto", *MEASURES))
        if not self.results:
            raise ParameterError("a sweep needs the results of at least one setting")

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that were varied."""
        return list(dict.fromkeys(name for run in self.results for name in run.setting))

    @property
    def environment(self) -> str:
        """Label of the environment."""
        return self.results[0].environment

    @cached_property
    def rows(self) -> list[Row]:
        """One for each setting, in the order of the grid."""
        return rows_of({self.environment: self.results}, MEASURES.get(self.measure))

    @property
    def best(self) -> Results:
        """The results of the setting with the best mean, the first of equal ones.

        It was chosen by these seeds, so its mean promises too much: learn with other seeds to know what it is worth.
        """
        return self.results[self._order()[0]]

    def _order(self) -> list[int]:
        sign = sign_of(self.rows[0].measure)
        return sorted(range(len(self.rows)), key=lambda index: -sign * self.rows[index].mean)

    def __repr__(self) -> str:
        rows, runs = self.rows, self.results
        head = f"Sweep({len(rows)} settings of {', '.join(self.parameters)} in {self.environment}; {rows[0].measure})"
        best = [(text_of(runs[index].setting), rows[index]) for index in self._order()[:MOST_SHOWN]]
        lines = [f"  {setting}: {mean_text(row.mean, row.low, row.high)}" for setting, row in best]
        more = [f"  ... and {len(rows) - MOST_SHOWN} more: to_frame(), to_csv(path)"] if len(rows) > MOST_SHOWN else []
        return "\n".join([head, *lines, *more])

    def _table(self) -> dict[str, list[object]]:
        """Columns: parameters, then the fields of `Row`."""
        columns: dict[str, list[object]] = {
            name: [run.setting.get(name) for run in self.results] for name in self.parameters
        }
        return columns | {name: [getattr(row, name) for row in self.rows] for name in Row._fields}

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a line for each setting: its parameters, and the fields of its `Row`."""
        columns = self._table()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def to_frame(self) -> DataFrame:
        """The same as a pandas DataFrame.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        return frame_of(self._table())


@says_what_to_write
def sweep(
    agent: "Agent",
    env: str | Env,
    grid: Grid,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    seeds: int | Sequence[int] = 10,
    workers: int = 1,
    loop: LoopChoice = "auto",
    tabulate: bool | None = None,
    evaluate_every: int | None = None,
    record_every: int | None = None,
    measure: MeasureName = "auto",
    progress: bool = False,
) -> Sweep:
    """Train an agent with every setting of a grid, all with the same seeds.

    An experiment file sweeps as well, on disk and resumable: ``sweep = { learning_rate = [0.1, 0.5] }`` of an agent.

    Parameters
    ----------
    agent : Agent
        Its other parameters are used.
    env : str or gymnasium.Env
        As for `rlsuite.train`.
    grid : mapping
        Name of a parameter -> its values: a list, ``{"log": [0.01, 1], "n": 5}`` for 5 values from 0.01 to 1 with equal
        ratios, or ``{"linear": [0, 1], "n": 5}``. Parameters of parts have dots: ``"exploration.epsilon"``.
    steps, episodes, seeds, workers, loop, tabulate, record_every, progress
        As for `rlsuite.train`.
    evaluate_every : int, optional
        As for `rlsuite.train`; by default once, at the end, if the greedy policy can be evaluated.
    measure : {"auto", "value", "return", "episode", "reward"}
        What settings are compared by, see `Sweep`.

    Returns
    -------
    Sweep
        `rlsuite.plotting.parameter_study` draws it.

    Raises
    ------
    ParameterError
        If the agent has no such parameter, or a value is outside its range.

    Examples
    --------
    >>> import rlsuite as rl
    >>> grid = {"learning_rate": [0.1, 0.5], "exploration.epsilon": [0.1, 0.3]}
    >>> found = rl.sweep(rl.QLearning(gamma=0.9), "FrozenLake-v1", grid, steps=2_000, seeds=5)
    >>> len(found.results), found.parameters
    (4, ['learning_rate', 'exploration.epsilon'])
    """
    own_options(agent, loop, tabulate, None)  # says what is not an agent
    agents = [(setting, with_setting(agent, setting)) for setting in settings(grid)]
    (where,) = label_envs([env])
    runs: list[Results] = []
    for setting, one in agents:
        found = train(
            one,
            env,
            steps=steps,
            episodes=episodes,
            seeds=seeds,
            workers=workers,
            loop=loop,
            tabulate=tabulate,
            evaluate_every=evaluate_every or last_evaluation(one, env, steps or episodes),
            record_every=record_every,
            progress=progress,
            label=f"{type(agent).__name__}({text_of(setting)})",
        )
        runs.append(replace(found, environment=where, setting=setting))
    return Sweep(runs, measure)
