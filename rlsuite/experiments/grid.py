"""A grid of parameters: all its settings, and the agent that has one of them."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, cast

import numpy as np

from rlsuite.core.checks import whole_amount
from rlsuite.core.narrowing import is_list, is_mapping
from rlsuite.errors import ParameterError, unknown

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
