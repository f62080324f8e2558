"""The output of commands: results on stdout, everything else on stderr, plain text without colours."""

import json
import os
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from rlsuite.core.narrowing import is_list, is_mapping
from rlsuite.errors import FileError, ParameterError, unknown_suffix

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray
    from rlsuite.training.failures import Failure

Facts: TypeAlias = dict[str, object]
"""What a command found, by name, for ``--json``."""

FigureFile: TypeAlias = Annotated[str, (".png", ".svg", ".pdf")]
MovieFile: TypeAlias = Annotated[str, (".html", ".gif", ".mp4")]
GifFile: TypeAlias = Annotated[str, (".gif",)]
AgentFile: TypeAlias = Annotated[str, (".npz",)]
PageFile: TypeAlias = Annotated[str, (".html",)]
"""Files that commands write, with the suffixes that they may have."""

MOST_ROWS = 200
"""Rows of a table on the screen; --json has them all."""


def print_error(message: str) -> None:
    """Print an error in one line."""
    print(f"rlsuite: error: {one_line(message)}", file=sys.stderr)


def print_warning(message: str) -> None:
    """Print a warning in one line."""
    print(f"rlsuite: warning: {one_line(message)}", file=sys.stderr)


def print_note(message: str) -> None:
    """Print what is neither result nor error."""
    print(message, file=sys.stderr)


def print_failures(failures: "Sequence[Failure]") -> int:
    """Print what failed of many runs; the exit code."""
    if failures:
        from rlsuite.training.failures import failure_table

        print_note(failure_table(failures))
    return 1 if failures else 0


def is_watched() -> bool:
    """Whether somebody watches what a command does: stderr is a terminal."""
    return sys.stderr.isatty()


def print_progress(message: str) -> None:
    """Print what a command is going to do, if somebody watches."""
    if is_watched():
        print(message, file=sys.stderr, flush=True)


@contextmanager
def compiling_message() -> Generator[None]:
    """Print a message when something is compiled in the body, if somebody watches."""
    if not is_watched():
        yield
        return
    from tqdm import tqdm

    from rlsuite.core.compiling_clock import Compiling

    def say() -> None:
        tqdm.write("compiling, once; later runs find it in numba's cache", file=sys.stderr)

    with Compiling(say):
        yield


def one_line(message: str) -> str:
    r"""A message without line breaks and terminal colours.

    >>> one_line("\x1b[33mWARN: two\n  lines\x1b[0m")
    'WARN: two lines'
    """
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", message).split())


def print_json(content: object) -> None:
    """Print for machines; a list of numbers in one line, arrays as lists, numbers that JSON does not know as null."""
    print(_json(content, ""))


def check_writable(path: Path, flag: str, suffixes: tuple[str, ...]) -> None:
    """Raise unless a file of this name can be written.

    Raises
    ------
    ParameterError
        If the suffix is another one.
    FileError
        If the folder is missing or cannot be written to, or the path is a folder.
    MissingPackage
        If it is a video, and there is no ffmpeg.
    """
    if path.suffix.lower() not in suffixes:
        raise ParameterError(f"{flag} {path}: {unknown_suffix(path.suffix, suffixes)}")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder, give a file name")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"cannot write {path}: the folder {path.parent} is not writable")
    if path.suffix.lower() == ".mp4":
        from rlsuite.plotting.pages import suffix_of

        suffix_of(path)


def columns(rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Rows of text, each column as wide as its widest entry.

    >>> print(columns([("id", "states"), ("maze", "47")]))
      id    states
      maze  47
    """
    texts = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in texts]
    return "\n".join(indent + line.rstrip() for line in lines)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], total: int, most: int = MOST_ROWS) -> str:
    """The first rows of a table, under a header, and how many more there are of all `total`.

    >>> table(["state", "value"], ([str(state), "0"] for state in range(1_000)), 1_000).splitlines()[-1]
    '  ... and 800 more: --json has them'
    """
    text = columns([header, *islice(rows, most)])
    rest = total - most
    return f"{text}\n  ... and {rest:,} more: --json has them" if rest > 0 else text


def number(value: float) -> str:
    """A number in few digits.

    >>> number(81.0), number(-12.345678), number(1e-13)
    ('81', '-12.3457', '1e-13')
    """
    return f"{value:.6g}"


def _json(content: object, indent: str) -> str:
    """JSON with a line for each entry of a dictionary, and for each dictionary of a list."""
    deeper = indent + "  "
    if is_mapping(content):
        lines = [f"{deeper}{json.dumps(str(key))}: {_json(value, deeper)}" for key, value in content.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"
    if is_list(content) and any(is_mapping(one) for one in content):
        lines = [deeper + _json(one, deeper) for one in content]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    try:
        return json.dumps(content, allow_nan=False, default=_listed)
    except ValueError:  # NaN or infinity: replaced by null in a slower pass
        return json.dumps(_plain(content))


def _listed(content: Any) -> object:
    if hasattr(content, "tolist"):
        return content.tolist()
    raise TypeError(f"{content!r} has no form in JSON")


def _plain(content: object) -> object:
    if is_mapping(content):
        return {str(key): _plain(value) for key, value in content.items()}
    if is_list(content):
        return [_plain(value) for value in content]
    if hasattr(content, "tolist"):
        return _plain(_listed(content))
    if isinstance(content, float) and content - content != 0.0:
        return None
    return content


MOST_COLUMNS = 8
"""Up to this many states (or observations), each has a column of its own."""

MOST_PROBABLE = 3
"""Where there are more, this many states are named."""


def names(labels: Sequence[str] | None, how_many: int) -> list[str]:
    """Return labels, or numbers where there are none.

    >>> names(None, 3), names(("left", "right"), 2)
    (['0', '1', '2'], ['left', 'right'])
    """
    return [str(index) for index in range(how_many)] if labels is None else list(labels)


def heads(states: Sequence[str]) -> list[str]:
    """Return the titles of the columns that `cells` fills."""
    return list(states) if len(states) <= MOST_COLUMNS else ["most probable states"]


def cells(belief: "FloatArray", states: Sequence[str]) -> list[str]:
    """Return a belief (S,) as one text for each column.

    >>> import numpy as np
    >>> cells(np.array([0.25, 0.75]), ["dry", "rain"])
    ['0.25', '0.75']
    >>> cells(np.array([0.5, 0.25, 0.125, 0.125, 0, 0, 0, 0, 0]), list("abcdefghi"))
    ['a 0.5, b 0.25, c 0.125 ...']
    """
    if len(states) <= MOST_COLUMNS:
        return [number(p) for p in belief.tolist()]
    order = (-belief).argsort(kind="stable").tolist()
    likely = [state for state in order[:MOST_PROBABLE] if belief[state] > 0.0]
    more = " ..." if belief[order[len(likely)]] > 0.0 else ""
    return [", ".join(f"{states[state]} {number(float(belief[state]))}" for state in likely) + more]
