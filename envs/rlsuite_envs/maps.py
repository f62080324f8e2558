"""Maps as text: one character per square, one line per row, and an optional header.

The header stands between two lines ``+++`` and is TOML: ``title`` and ``source`` say what the map is, every other key
is a keyword of `rlsuite_envs.gridworld.grid_world` and becomes its default for this map::

    +++
    title = "4 x 3 world"
    slip = 0.2
    step_cost = 0.04
    +++
    ...G
    .#.X
    S...
"""

import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import FileError, ModelError, unknown
from rlsuite_envs.keywords import sequence

MapSource: TypeAlias = str | Path | Sequence[str]
"""The name of a shipped map, the path of a text file, or the rows themselves."""

FENCE = "+++"
DESCRIPTIVE = ("title", "source")


class GridMap(NamedTuple):
    """A map before its symbols are interpreted."""

    name: str
    """Where it comes from, for messages."""
    symbols: NDArray[np.str_]
    """(n_rows, n_columns), one character each."""
    settings: dict[str, Any]
    """Keywords from the header, `title` and `source` among them."""


def shipped_maps() -> tuple[str, ...]:
    """Return the names of the maps that come with the package.

    >>> "FourRooms" in shipped_maps()
    True
    """
    folder = resources.files("rlsuite_envs") / "maps"
    return tuple(sorted(file.name.removesuffix(".txt") for file in folder.iterdir() if file.name.endswith(".txt")))


def read_map(source: MapSource) -> GridMap:
    """Read a map.

    Parameters
    ----------
    source : str, Path or sequence of str
        A name among `shipped_maps`, the path of a text file (UTF-8), or the rows.

    Raises
    ------
    FileError
        If there is no such map or file, or its text or header is malformed.
    ModelError
        If the rows are empty or of different lengths.
    ParameterError
        If `source` is not one of these.

    Examples
    --------
    >>> read_map("AIMA4x3").symbols[0].tolist()
    ['.', '.', '.', 'G']
    """
    if not isinstance(source, str | Path):
        return GridMap("map", _grid("map", list(sequence("map", source))), {})
    if isinstance(source, str) and source in shipped_maps():
        text = (resources.files("rlsuite_envs") / "maps" / f"{source}.txt").read_text(encoding="utf-8")
    else:
        text = _text_of_file(source)
    name = f"map {str(source)!r}"
    rows, settings = _split(name, text)
    return GridMap(name, _grid(name, rows), settings)


def _text_of_file(source: str | Path) -> str:
    path = Path(source)
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise FileError(f"there is no map file {str(source)!r}; shipped maps: {', '.join(shipped_maps())}")
        sentence = unknown("map", str(source), shipped_maps())
        raise FileError(f"{sentence.removesuffix(')')}, or the path of a text file)")
    try:
        # "utf-8-sig" skips the byte order mark that some editors write at the beginning.
        return path.read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError) as cause:
        raise FileError(f"map file {str(source)!r} cannot be read as UTF-8 text: {cause}") from cause


def _split(name: str, text: str) -> tuple[list[str], dict[str, Any]]:
    """Return the rows of a text and its header."""
    lines = text.splitlines()
    settings: dict[str, Any] = {}
    if lines and lines[0].strip() == FENCE:
        closing = next((i for i, line in enumerate(lines[1:], start=1) if line.strip() == FENCE), None)
        if closing is None:
            raise FileError(f"{name}: the header that begins with {FENCE} is never closed by a second {FENCE}")
        try:
            settings = tomllib.loads("\n".join(lines[1:closing]))
        except tomllib.TOMLDecodeError as cause:
            raise FileError(f"{name}: the header is not valid TOML: {cause}") from cause
        lines = lines[closing + 1 :]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines, settings


def _grid(name: str, rows: list[Any]) -> NDArray[np.str_]:
    for number, row in enumerate(rows):
        if not isinstance(row, str):
            raise ModelError(f"{name} row {number} is {row!r}, not a string (rows are counted from 0)")
    if not rows or not rows[0]:
        raise ModelError(f"{name} is empty: at least one row with one square is needed")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ModelError(
                f"{name} row {number} has {len(row)} squares and row 0 has {len(rows[0])} "
                "(rows are counted from 0): all rows must be equally long"
            )
    codes = np.frombuffer("".join(rows).encode("utf-32-le"), dtype="<u4")
    return codes.view("<U1").reshape(len(rows), -1)
