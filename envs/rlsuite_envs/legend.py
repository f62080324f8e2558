"""What the symbols of a map mean: walls, starts, goals, pits, teleports, and the reward of entering a square."""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite_envs.keywords import number
from rlsuite_envs.maps import GridMap

KINDS: Final = ("wall", "free", "start", "goal", "pit", "teleport")

LEGEND: Final[Mapping[str, str]] = {"#": "wall", ".": "free", "S": "start", "G": "goal", "X": "pit"}
"""Meaning of the symbols that need no explanation."""

REWARDS: Final[Mapping[str, float]] = {"G": 1.0, "X": -1.0}
"""Default reward for entering a goal and a pit."""

# The letters of these kinds in drawings, whatever their symbol in the map; other kinds show their symbol.
MARKS: Final = {"start": "S", "goal": "G", "pit": "X"}


class Teleport(NamedTuple):
    """Squares that teleport an agent that acts in them."""

    squares: NDArray[np.bool_]
    """(n_rows, n_columns)"""
    landing: tuple[int, int]
    """Row and column."""
    reward: float
    """For being teleported."""


class Squares(NamedTuple):
    """A map with its meaning; all arrays are (n_rows, n_columns)."""

    wall: NDArray[np.bool_]
    start: NDArray[np.bool_]
    goal: NDArray[np.bool_]
    end: NDArray[np.bool_]
    """Goals and pits."""
    reward: NDArray[np.float64]
    """For entering the square."""
    teleports: tuple[Teleport, ...]
    marks: dict[tuple[int, int], str]
    """What a drawing shows on a square."""


def checked_legend(legend: object) -> dict[str, str]:
    """Return a legend as given by a user, or raise `ParameterError` naming the entry that is wrong."""
    if not isinstance(legend, Mapping):
        raise ParameterError(f"legend={legend!r} is not a mapping from symbols to kinds")
    for symbol, kind in cast("Mapping[object, object]", legend).items():
        _check_symbol("legend", symbol)
        words = kind.split() if isinstance(kind, str) else []
        if not words or words[0] not in KINDS:
            raise ParameterError(f"legend[{symbol!r}]: {unknown('kind', kind, KINDS)}")
        if len(words) != (2 if words[0] == "teleport" else 1) or len(words[-1]) != 1 == (words[0] == "teleport"):
            raise ParameterError(
                f"legend[{symbol!r}]={kind!r} is not one of {', '.join(map(repr, KINDS[:-1]))}, or 'teleport a' with "
                "the symbol a to land on"
            )
    return dict(cast("Mapping[str, str]", legend))


def checked_rewards(rewards: object) -> dict[str, float]:
    """Return rewards as given by a user, or raise `ParameterError` naming the entry that is wrong."""
    if not isinstance(rewards, Mapping):
        raise ParameterError(f"rewards={rewards!r} is not a mapping from symbols to numbers")
    for symbol in cast("Mapping[object, object]", rewards):
        _check_symbol("rewards", symbol)
    return {
        symbol: number(f"rewards[{symbol!r}]", value) for symbol, value in cast("Mapping[str, object]", rewards).items()
    }


def explain(grid: GridMap, legend: Mapping[str, str], rewards: Mapping[str, float]) -> Squares:
    """Apply a legend to a map.

    Parameters
    ----------
    grid : GridMap
        The map.
    legend : mapping
        Symbol -> kind; the square that a teleport leads to need not be listed.
    rewards : mapping
        Symbol -> reward for entering such a square or, if it is a teleport, for being teleported.

    Raises
    ------
    ModelError
        If a symbol is unknown, a teleport has no landing or several, or a reward belongs to no symbol.

    Examples
    --------
    >>> from rlsuite_envs.maps import read_map
    >>> explain(read_map(["S.G"]), LEGEND, REWARDS).reward.tolist()
    [[0.0, 0.0, 1.0]]
    """
    kinds = {words[1]: "free" for words in map(str.split, legend.values()) if words[0] == "teleport"} | dict(legend)
    for symbol in rewards:
        if symbol not in kinds:
            raise ModelError(f"{grid.name}: rewards: {unknown('symbol', symbol, kinds)}")
    codes = grid.symbols.view("<u4")
    present = {chr(code): codes == code for code in np.unique(codes).tolist()}
    for symbol, where in present.items():
        if symbol not in kinds:
            row, column = np.argwhere(where)[0].tolist()
            known = ", ".join(f"{one!r} {kind}" for one, kind in kinds.items())
            raise ModelError(
                f"{grid.name}: unknown symbol {symbol!r} at row {row}, column {column} (counted from 0); "
                f"known symbols: {known}; give others a meaning with legend="
            )

    def squares(*wanted: str) -> NDArray[np.bool_]:
        chosen = np.zeros(grid.symbols.shape, dtype=np.bool_)
        for symbol, where in present.items():
            if kinds[symbol] in wanted:
                chosen |= where
        return chosen

    reward = np.zeros(grid.symbols.shape)
    teleports: list[Teleport] = []
    marks: dict[tuple[int, int], str] = {}
    for symbol, where in present.items():
        kind, *landing = kinds[symbol].split()
        if kind == "teleport":
            teleports.append(
                Teleport(where, _landing(grid, symbol, landing[0], present, kinds), rewards.get(symbol, 0.0))
            )
        else:
            reward[where] = rewards.get(symbol, 0.0)
        if symbol != "." and kind != "wall":
            mark = MARKS.get(kind, symbol)
            marks |= {(row, column): mark for row, column in np.argwhere(where).tolist()}
    return Squares(
        squares("wall"), squares("start"), squares("goal"), squares("goal", "pit"), reward, tuple(teleports), marks
    )


def _landing(
    grid: GridMap, symbol: str, landing: str, present: Mapping[str, NDArray[np.bool_]], kinds: Mapping[str, str]
) -> tuple[int, int]:
    positions = np.argwhere(present[landing]) if landing in present else np.zeros((0, 2), dtype=np.int64)
    if len(positions) != 1:
        row, column = np.argwhere(present[symbol])[0].tolist()
        found = "nowhere on the map" if len(positions) == 0 else f"on {len(positions)} squares"
        raise ModelError(
            f"{grid.name}: the teleport {symbol!r} at row {row}, column {column} leads to {landing!r}, which is {found}"
            "; exactly one square is needed"
        )
    row, column = positions[0].tolist()
    if kinds[landing] == "wall":
        raise ModelError(f"{grid.name}: the teleport {symbol!r} leads into the wall at row {row}, column {column}")
    return row, column


def _check_symbol(name: str, symbol: object) -> None:
    if not isinstance(symbol, str) or len(symbol) != 1:
        raise ParameterError(f"{name} has the key {symbol!r}; one character is needed")
