"""Segments: files that hold many cells each, with an index and checksums.

::

    rlsuite cells 1 <SHA-256 of the index> <bytes of the index> <bytes of the numbers>
    <the index: JSON>
    <the numbers: float64 and int64, little-endian>

The index says what cells there are, and what they were made with; what is the same for many is in it once. The numbers
are read when they are asked for, each cell by itself, with a checksum of its own. A segment is never changed, but
replaced in one step.
"""

import errno
import hashlib
import json
import math
import os
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from rlsuite.core.checks import finite_number, fraction
from rlsuite.core.files import sync
from rlsuite.core.narrowing import Table
from rlsuite.errors import FileError
from rlsuite.models.aliases import AnyArray
from rlsuite.training.failures import Failure
from rlsuite.training.results import UNKNOWN, Bounds, Record

FORMAT = "rlsuite cells 1"
SUFFIX = ".cells"
LONGEST_LINE = 200
"""Bytes of the first line."""

MOST_CELLS, MOST_BYTES = 1_000, 2**26
"""A segment is full when it has so many cells, or so many bytes of numbers."""

LARGEST_COUNT = 2**53
"""Up to this number, floats represent all whole numbers exactly."""

COUNTS = ("episode_length", "time", "evaluation_time")
SHARED = ("time", "evaluation_time")
"""Arrays that are mostly the same for all cells."""
OWN = (
    *("episode_return", "episode_length", "episode_regret", "cumulative_reward", "regret"),
    *("evaluation", "evaluation_return", "value_error"),
)

TOGETHER = (
    ("episode_return", "episode_length", "episode_regret"),
    ("time", "cumulative_reward", "regret"),
    ("evaluation_time", "evaluation", "evaluation_return", "value_error"),
)
"""Arrays that are as long as the first of them."""
OPTIONAL = ("episode_regret", "regret", "evaluation_return", "value_error")
"""Those that may be empty."""

OFFSET = 4
"""Where the row of a cell in the index says where its numbers begin."""

Pair: TypeAlias = tuple[str, str]
"""Names of the folders of an environment and an agent."""


class Entry(NamedTuple):
    """A cell as it is kept: its record, or why it failed."""

    pair: Pair
    seed: int
    spec: Table
    """What its numbers depend on beside the seed."""
    versions: Mapping[str, str]
    """What they were made with."""
    about: Table
    """The record without its arrays; ``{"failure": ...}`` of a cell that failed."""
    shared: tuple[bytes, ...] = ()
    own: bytes = b""
    """The arrays: how long each one is, and then their numbers."""

    @property
    def failed(self) -> bool:
        """Whether there is no record."""
        return "failure" in self.about

    @property
    def size(self) -> int:
        """Bytes of its numbers."""
        return len(self.own)

    @property
    def content(self) -> tuple[object, ...]:
        """What must be the same in every process and on every machine."""
        return self.about, self.shared, self.own


def entry_of(pair: Pair, spec: Table, versions: Mapping[str, str], outcome: Record | Failure) -> Entry:
    """Return the entry of a cell that has been learned, or has failed."""
    if isinstance(outcome, Failure):
        return Entry(pair, outcome.seed, spec, versions, {"failure": outcome._asdict()})
    about = {
        "unit": outcome.unit,
        "loop": outcome.loop,
        **({"follows": True} if outcome.follows else {}),
        "end_probability": outcome.end_probability,
        "optimal_value": outcome.optimal_value,
        "value_bounds": _as_json(outcome.value_bounds),
        "return_bounds": _as_json(outcome.return_bounds),
        **({} if outcome.return_range == UNKNOWN else {"return_range": _as_json(outcome.return_range)}),
        "optimum_unknown": outcome.optimum_unknown,
    }
    own = [_bytes_of(outcome, name) for name in OWN]
    sizes = np.array([len(part) // 8 for part in own], dtype="<i8").tobytes()
    shared = tuple(_bytes_of(outcome, name) for name in SHARED)
    return Entry(pair, outcome.seed, spec, versions, about, shared, b"".join((sizes, *own)))


def outcome_of(entry: Entry) -> Record | Failure:
    """Return what an entry holds.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is not what it should be.
    """
    about = entry.about
    if entry.failed:
        failure = Failure(**about["failure"])
        texts: tuple[object, ...] = (failure.agent, failure.environment, failure.error, failure.where)
        counts = (failure.seed, 0 if failure.step is None else failure.step)
        if not (all(type(one) is str for one in texts) and all(type(one) is int for one in counts)):
            raise ValueError("a failure is not described by texts and counts")
        return failure
    if about["loop"] not in ("compiled", "stepwise") or about["unit"] not in ("steps", "episodes"):
        raise ValueError(f"loop {about['loop']!r}, unit {about['unit']!r}")
    if about["optimal_value"] is not None:
        finite_number("optimal_value", about["optimal_value"])
    if about["end_probability"] is not None:
        fraction("end_probability", about["end_probability"])
    if type(about["optimum_unknown"]) is not str:
        raise ValueError("optimum_unknown is not a text")
    sizes = np.frombuffer(entry.own, "<i8", len(OWN))
    if sizes.min() < 0 or 8 * (len(OWN) + int(sizes.sum())) != len(entry.own):
        raise ValueError("the lengths of its arrays are not those of its numbers")
    ends = list(accumulate(sizes.tolist(), initial=len(OWN)))
    parts = {name: entry.own[8 * start : 8 * end] for name, start, end in zip(OWN, ends, ends[1:], strict=False)}
    parts |= dict(zip(SHARED, entry.shared, strict=True))
    arrays = {name: _checked(name, part) for name, part in parts.items()}
    for first, *others in TOGETHER:
        for other in others:
            optional = other in OPTIONAL and not arrays[other].size
            if arrays[other].shape != arrays[first].shape and not optional:
                raise ValueError(f"{other} is not as long as {first}")
    return Record(
        seed=entry.seed,
        loop=about["loop"],
        unit=about["unit"],
        follows=bool(about.get("follows", False)),
        end_probability=about["end_probability"],
        optimal_value=about["optimal_value"],
        value_bounds=_bounds(about["value_bounds"]),
        return_bounds=_bounds(about["return_bounds"]),
        return_range=_bounds(about.get("return_range", (None, None, None))),
        optimum_unknown=about["optimum_unknown"],
        **arrays,
    )


def _bytes_of(record: Record, name: str) -> bytes:
    return getattr(record, name).astype("<i8" if name in COUNTS else "<f8", copy=False).tobytes()


def _checked(name: str, part: bytes) -> Any:
    """An array of a record, whose numbers are possible ones."""
    if name in COUNTS:
        counts = np.frombuffer(part, "<i8").astype(np.int64)
        if counts.size and (counts.min() < 0 or counts.max() > LARGEST_COUNT):
            raise ValueError(f"{name} has a number that is no count")
        return counts
    numbers = np.frombuffer(part, "<f8").astype(np.float64)
    if not is_possible(name, numbers):
        raise ValueError(f"{name} has a number that is not finite")
    return numbers


def is_possible(name: str, numbers: AnyArray) -> bool:
    """Whether an array of a record has possible numbers: NaN is the return of a policy that may never reach an end."""
    return bool((np.isfinite(numbers) | (np.isnan(numbers) if name == "evaluation_return" else False)).all())


def _as_json(bounds: Bounds) -> list[float | None]:
    """Bounds as JSON has them, which has no infinity: null."""
    return [number if number is not None and math.isfinite(number) else None for number in bounds]


def _bounds(ends: Any) -> Bounds:
    low, high, uniform = ends
    for number in (low, high, uniform):
        if number is not None:
            finite_number("bounds", number)
    return Bounds(-math.inf if low is None else low, math.inf if high is None else high, uniform)


class _Numbered:
    """Plain data, each kind of it once, and its number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self._last: tuple[object, int] = (None, 0)

    def __call__(self, value: object) -> int:
        if value is not self._last[0]:
            self._last = value, self.texts.setdefault(_dumped(value), len(self.texts))
        return self._last[1]


def _dumped(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def segment_of(entries: Iterable[Entry]) -> list[bytes]:
    """Return cells as the parts of a file."""
    pairs, versions, abouts = _Numbered(), _Numbered(), _Numbered()
    arrays: dict[bytes, int] = {}
    cells: list[list[int]] = []
    parts: list[bytes] = []
    offset = 0
    before: Entry | None = None
    pair = 0
    for entry in entries:
        if before is None or before.spec is not entry.spec or before.pair != entry.pair:
            before, pair = entry, pairs([*entry.pair, entry.spec])
        shared = [arrays.setdefault(part, len(arrays)) for part in entry.shared]
        about, version, checksum = abouts(entry.about), versions(entry.versions), zlib.crc32(entry.own)
        cells.append([pair, entry.seed, version, about, offset, len(entry.own), checksum, *shared])
        parts.append(entry.own)
        offset += len(entry.own)
    shared_arrays: list[list[int]] = []  # at the beginning, so that a file that is cut has them
    first_own = 0
    for part in arrays:
        shared_arrays.append([first_own, len(part), zlib.crc32(part)])
        first_own += len(part)
    for cell in cells:
        cell[OFFSET] += first_own
    offset += first_own
    names = {"pairs": pairs, "versions": versions, "abouts": abouts}
    tables = ",".join(f'"{name}":[{",".join(one.texts)}]' for name, one in names.items())
    index = f'{{{tables},"arrays":{_dumped(shared_arrays)},"cells":{_dumped(cells)}}}\n'.encode()
    first = f"{FORMAT} {hashlib.sha256(index).hexdigest()} {len(index)} {offset}\n".encode()
    return [first, index, *arrays, *parts]


def write_segment(path: Path, entries: Iterable[Entry]) -> None:
    """Write a file of cells, and have it put on the disk.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    with path.open("wb") as file:
        file.writelines(segment_of(entries))
    sync(path)


class Damaged(FileError):
    """A segment that is not what was written."""


class Segment:
    """The cells of a file, of which the index has been read.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        Its bytes.
    read : callable
        ``read(offset, size)`` reads bytes of it.
    cut : bool
        Whether its end may be missing.

    Raises
    ------
    FileError
        If it is damaged.
    """

    def __init__(self, path: Path, size: int, read: Callable[[int, int], bytes], cut: bool = False) -> None:
        self.path, self._read = path, read
        self.mark = read(0, LONGEST_LINE).partition(b"\n")[0]
        """The first line, which changes with the content."""
        if not self.mark.startswith(b"rlsuite cells "):
            raise self.damaged("is not a file of cells")
        if not self.mark.startswith(f"{FORMAT} ".encode()):
            raise FileError(f"{path} was written by another version of rlsuite; read it with that one, or a newer one")
        try:
            checksum, index_size, data_size = self.mark.decode().split(" ")[3:]
            first = len(self.mark) + 1
            self._start, self._size = first + int(index_size), int(data_size)
            index = read(first, min(int(index_size), size))
            if hashlib.sha256(index).hexdigest() != checksum:
                raise self.damaged("does not have the checksum that it states")
            if size != self._start + self._size and not cut:
                raise self.damaged("is not as long as it states, as if only a part had been written")
            content = json.loads(index)
            self._cells: list[list[int]] = content["cells"]
            self._abouts, self._arrays = content["abouts"], content["arrays"]
            self.versions: list[dict[str, str]] = content["versions"]
            self.pairs: list[tuple[Pair, Table]] = [((one[0], one[1]), one[2]) for one in content["pairs"]]
            failed = {number for number, about in enumerate(self._abouts) if "failure" in about}
            self.cells: list[tuple[int, int, bool]] = [(one[0], one[1], one[3] in failed) for one in self._cells]
            """The number of the pair, the seed, and whether it failed, of each cell."""
            numbers = [number for pair, seed, _ in self.cells for number in (pair, seed)]
            names = [name for pair, spec in self.pairs for name in (*pair, *spec)]
            if {*map(type, numbers)} - {int} or {*map(type, names)} - {str} or min(numbers, default=0) < 0:
                raise ValueError
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise self.damaged("has an index that is none") from error

    @classmethod
    def at(cls, path: Path, cut: bool = False) -> Self:
        """Read a file.

        Raises
        ------
        FileError
            If it cannot be read, or is damaged.
        FileNotFoundError
            If it is not there; another process may have packed it.
        """
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                segment = cls(path, os.fstat(handle).st_size, partial(_read_at, handle), cut)
            except BaseException:  # whatever it is, the file is closed
                os.close(handle)
                raise
        except FileNotFoundError:
            raise
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror}") from error
        weakref.finalize(segment, os.close, handle)
        return segment

    @classmethod
    def of(cls, path: Path, content: Sequence[bytes]) -> Self:
        """Take the parts of a file, which need not exist."""
        whole = b"".join(content)
        return cls(path, len(whole), lambda offset, size: whole[offset : offset + size])

    def damaged(self, what: str) -> Damaged:
        """The error about this file."""
        return Damaged(
            f"{self.path} {what}; run the experiment with retry=True, which keeps the cells in it that are whole, and "
            "learns the others again"
        )

    @classmethod
    def whole_cells(cls, path: Path) -> tuple[list[Entry], int]:
        """The cells of a file that are whole, and how many are not, as far as is known; all are read.

        Raises
        ------
        FileError
            If it cannot be read, or was written by another version.
        FileNotFoundError
            If it is not there.
        """
        whole: list[Entry] = []
        try:
            segment = cls.at(path, cut=True)
        except Damaged:
            return whole, 1
        for row in range(len(segment.cells)):
            with suppress(Damaged):
                whole.append(segment.entry(row))
        return whole, len(segment.cells) - len(whole)

    def entries(self) -> Iterator[Entry]:
        """Read all cells."""
        return map(self.entry, range(len(self.cells)))

    def entry(self, row: int) -> Entry:
        """Read a cell.

        Raises
        ------
        FileError
            If its numbers do not have their checksum.
        """
        try:
            pair, seed, version, about, offset, size, checksum, *shared = self._cells[row]
            own = self._numbers(offset, size, checksum)
            arrays = tuple(self._numbers(*self._arrays[number]) for number in shared)
            address, spec = self.pairs[pair]
            return Entry(address, seed, spec, self.versions[version], self._abouts[about], arrays, own)
        except (ValueError, IndexError, TypeError) as error:
            raise self.damaged("has an index that is none") from error

    def outcome(self, row: int) -> Record | Failure:
        """Read the record of a cell, or why it failed.

        Raises
        ------
        FileError
            If it is damaged.
        """
        entry = self.entry(row)
        try:
            return outcome_of(entry)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.damaged(f"has a cell that is none ({error})") from error

    def _numbers(self, offset: int, size: int, checksum: int) -> bytes:
        if not 0 <= offset <= offset + size <= self._size:
            raise ValueError
        try:
            found = self._read(self._start + offset, size)
        except OSError as error:
            if error.errno == errno.ESTALE:  # replaced on a disk that is shared
                raise FileNotFoundError from error
            raise FileError(f"cannot read {self.path}: {error.strerror}") from error
        if zlib.crc32(found) != checksum:
            raise self.damaged("has numbers without the checksum that it states")
        return found


def _read_at(handle: int, offset: int, size: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)


def chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Divide cells among segments, as full as they may be."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        if chunk and is_full(len(chunk), size):
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += entry.size
    if chunk:
        yield chunk


def is_full(n_cells: int, n_bytes: int) -> bool:
    """Whether a segment is full."""
    return n_cells >= MOST_CELLS or n_bytes >= MOST_BYTES
