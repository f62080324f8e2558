"""Columns of numbers in a text file, a million lines a second.

The bytes of the file are looked at as an array: where words and lines begin gives the number of words of every line,
and NumPy's own text parser gives the numbers. Lines are looked at one by one only to name the one at fault.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from rlsuite.errors import FileError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.files import reading

_COMMENT = re.compile(rb"(?m)^[ \t]*#[^\n]*")
# Possessive, so that nothing is tried twice: a word of a million digits must not take a million steps per digit.
_NUMBER = re.compile(rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?")
LARGEST = 2**31 - 2
"""Largest index: states are numbered in 32 bits."""


class Columns(NamedTuple):
    """The lines of a file, without its first line if that was a header."""

    path: Path
    header: tuple[str, ...]
    numbers: FloatArray
    """(n, columns) float64"""
    names: list[str] | None
    """The word behind the numbers of each line, if every line has one"""
    line: IndexArray
    """(n,) the number of each line, counted from 1"""

    def fail(self, row: int, reason: str) -> NoReturn:
        """Raise `FileError` for the line of a row."""
        raise FileError(f"{self.path}:{self.line[row]}: {reason}")

    def indices(self, column: int, what: str, size: int | None = None) -> IndexArray:
        """Return a column as indices below `size`: (n,) int64."""
        values = self.numbers[:, column]
        limit = LARGEST if size is None else size - 1
        wrong = ~((values >= 0.0) & (values <= limit) & (np.floor(values) == values))
        if wrong.any():
            row = int(np.argmax(wrong))
            allowed = f"the {what}s are 0..{limit}" if size is not None else "a whole number of at least 0 is needed"
            self.fail(row, f"{values[row]:.10g} is not a {what}: {allowed}")
        return values.astype(np.int64)


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, or raise `FileError`."""
    with reading(path):
        return Path(path).read_bytes()


def read_columns(
    path: str | os.PathLike[str],
    widths: Sequence[int],
    layout: str,
    *,
    named: bool = False,
    comments: bool = False,
    header: Callable[[tuple[str, ...]], str | None] | None = None,
) -> Columns:
    """Read a file whose lines have the same number of columns.

    A first line of another form - a word, or another number of numbers - is read as the header.

    Parameters
    ----------
    path
        The file.
    widths : sequence of int
        How many columns there may be.
    layout : str
        What a line should look like, for the errors.
    named : bool
        Whether a name may follow the numbers.
    comments : bool
        Whether lines that begin with ``#`` are skipped.
    header : callable, optional
        Says what is wrong with the words of the header, if anything.

    Raises
    ------
    FileError
        If the file is missing, or a line is of another form; the line is named.
    """
    file = Path(path)
    data = content_of(file)
    if comments and b"#" in data:
        data = _COMMENT.sub(b"", data)
    begins, ends, first, count, line = _layout(data)
    found: tuple[str, ...] = ()
    if line.size:
        words = tuple(data[begins[k] : ends[k]].decode("utf-8", "replace") for k in range(int(count[0])))
        if not (len(words) in widths or (named and len(words) - 1 in widths)) or not _is_number(words[0].encode()):
            found = words
            wrong = header(words) if header else None
            if wrong:
                raise FileError(f"{file}:{line[0]}: {wrong}")
            first, count, line = first[1:], count[1:], line[1:]
    columns = Columns(file, found, np.zeros((line.size, widths[0])), None, line)
    if not line.size:
        return columns
    width = next((one for one in widths if count[0] == one or (named and count[0] == one + 1)), widths[0])
    with_name = (count == width + 1) & named
    odd = (count != width) & ~with_name
    if odd.any():
        row = int(np.argmax(odd))
        columns.fail(row, f"the line has {count[row]} words; it must read '{layout}'")
    names = None
    if with_name.any():
        begin, end = begins[(first + width)[with_name]], ends[(first + width)[with_name]]
        if with_name.all():
            names = [data[b:e].decode("utf-8", "replace") for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        data = _blanked(data, begin, end)
    body = data[int(begins[first[0]]) :]
    numbers = _numbers(body)
    if numbers.size != line.size * width or not np.isfinite(numbers).all():
        words = body.split()
        at = next(k for k, word in enumerate(words) if not _is_number(word))
        columns.fail(at // width, f"{words[at].decode('utf-8', 'replace')!r} is not a finite number")
    return columns._replace(numbers=numbers.reshape(-1, width), names=names)


def _is_number(word: bytes) -> bool:
    return _NUMBER.fullmatch(word) is not None and np.isfinite(float(word))


def _layout(data: bytes) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray, IndexArray]:
    """Return where words begin and end, and of each line that has any: its first word, their count, its number."""
    solid = np.zeros(len(data) + 2, dtype=np.int8)
    characters = np.frombuffer(data, dtype=np.uint8)
    # White space as `bytes.split` sees it: control characters are parts of words, which are then not numbers.
    solid[1:-1] = (characters > ord(" ")) | ((characters - np.uint8(ord("\t")) > 4) & (characters != ord(" ")))
    change = np.diff(solid)
    begins, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    before = np.searchsorted(begins, np.flatnonzero(characters == ord("\n")))
    first = np.concatenate([[0], before])
    count = np.diff(np.append(first, begins.size))
    line = np.flatnonzero(count)
    return begins, ends, first[line], count[line], line + 1


def _blanked(data: bytes, begin: IndexArray, end: IndexArray) -> bytes:
    """Return `data` with spaces in place of the given ranges, which do not overlap."""
    inside = np.zeros(len(data) + 1, dtype=np.int8)
    inside[begin] = 1
    inside[end] = -1
    characters = np.frombuffer(data, dtype=np.uint8)
    return np.where(np.cumsum(inside[:-1], dtype=np.int8) > 0, np.uint8(ord(" ")), characters).tobytes()


def _numbers(data: bytes) -> FloatArray:
    """Return the numbers in `data` up to the first word that is not a number: (n,) float64."""
    with warnings.catch_warnings():
        # Before NumPy 2.3 it only warns about what it cannot read, and of "0x1" or ".5x" returns the beginning.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(data.decode("ascii", "replace"), dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.zeros(0)
