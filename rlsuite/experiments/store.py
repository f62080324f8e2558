"""The cells of an experiment on disk: which there are, their records when they are asked for, and writing more of them.

The folder ``cells`` holds segments (`rlsuite.experiments.segments`). Whoever learns writes a segment that grows, and is
replaced in one step, until it is full; names tell the writers apart. When all cells are there, they are packed:
sorted, and divided among segments anew, so that the files do not tell who has learned what. A process may be killed at
any time: each cell that was written is in one file at least, and of several copies one counts.
"""

import os
import secrets
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar, overload

from rlsuite.core.files import sync
from rlsuite.core.narrowing import Table
from rlsuite.errors import FileError, RlsuiteWarning, level_of_the_caller
from rlsuite.experiments.segments import SUFFIX, Entry, Pair, Segment, chunks, is_full, write_segment
from rlsuite.training.failures import Failure
from rlsuite.training.results import Record

Found = TypeVar("Found")

CELLS = "cells"

MOST_OPEN = 32
"""Segments that are open at once."""

MOST_IN_MEMORY = 2**28
"""Bytes that are sorted at once."""

TRIES = 20
"""Looks at a folder whose files another process replaces meanwhile."""

EVERY = 1.0
"""Seconds between two writes of what has been learned."""

_ROWS = 32
"""Bits of the number of a cell in its segment."""


class Known(NamedTuple):
    """The places of the cells of one agent in one environment, by seed."""

    done: dict[int, int]
    failed: dict[int, int]


class Store:
    """The cells in the folder of an experiment.

    Parameters
    ----------
    folder : Path
        The folder of the experiment.

    Raises
    ------
    FileError
        If a file of it is damaged, or cannot be read; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self.top, self.folder = folder, folder / CELLS
        self._open: OrderedDict[int, Segment] = OrderedDict()
        for _ in range(TRIES):
            try:
                self._read()
                return
            except FileNotFoundError:  # packed meanwhile
                continue
        raise self._changing()

    def _read(self) -> None:
        self._open.clear()
        self.files = _segments(self.folder)
        self._marks: list[bytes] = []
        self.known: dict[Pair, Known] = {}
        self.specs: dict[Pair, list[Table]] = {}
        """What the cells of each pair in segments were made with."""
        self.versions: list[Mapping[str, str]] = []
        """What the cells in segments were made with."""
        for number in range(len(self.files)):
            segment = self._segment(number)
            known = [self.of(pair) for pair, _ in segment.pairs]
            for pair, spec in segment.pairs:
                specs = self.specs.setdefault(pair, [])
                if spec not in specs:
                    specs.append(spec)
            self.versions += [one for one in segment.versions if one not in self.versions]
            place = number << _ROWS
            for pair, seed, failed in segment.cells:
                known[pair][failed][seed] = place
                place += 1
        for done, failed in self.known.values():
            for seed in failed.keys() & done.keys():
                del failed[seed]

    def of(self, pair: Pair) -> Known:
        """What is known of the cells of a pair."""
        found = self.known.get(pair)
        if found is None:
            found = self.known[pair] = Known({}, {})
        return found

    def entry(self, pair: Pair, seed: int) -> Entry:
        """Read a cell that is done, or has failed.

        Raises
        ------
        FileError
            If it is damaged; the message names the file.
        """
        return self._found(pair, seed, Segment.entry)

    def outcome(self, pair: Pair, seed: int) -> Record | Failure:
        """Read the record of a cell, or why it failed.

        Raises
        ------
        FileError
            If it is damaged; the message names the file.
        """
        return self._found(pair, seed, Segment.outcome)

    def file_of(self, pair: Pair, seed: int) -> Path:
        """The file of a cell."""
        return self.files[self._place(pair, seed) >> _ROWS]

    def made_with(self, pair: Pair, seed: int) -> tuple[Table, Mapping[str, str]]:
        """Return what a cell was made with: its spec, and the versions.

        Raises
        ------
        FileError
            If it is damaged; the message names the file.
        """
        entry = self.entry(pair, seed)
        return entry.spec, entry.versions

    def failures(self, pair: Pair, seeds: Iterable[int]) -> list[Failure]:
        """Why cells of a pair have failed, of those of some seeds that have."""
        failed = self.of(pair).failed
        found = (self.outcome(pair, seed) for seed in seeds if seed in failed)
        return [one for one in found if isinstance(one, Failure)]

    def records(self, pair: Pair, seeds: Iterable[int]) -> "StoredRecords":
        """The records of a pair, of those of some seeds that are done."""
        done = self.of(pair).done
        return StoredRecords(self, pair, [seed for seed in seeds if seed in done])

    def _place(self, pair: Pair, seed: int) -> int:
        done, failed = self.of(pair)
        return done[seed] if seed in done else failed[seed]

    def _found(self, pair: Pair, seed: int, read: Callable[[Segment, int], Found]) -> Found:
        for _ in range(TRIES):
            place = self._place(pair, seed)
            try:
                return read(self._segment(place >> _ROWS), place % (1 << _ROWS))
            except FileNotFoundError:  # packed meanwhile
                self._read()
        raise self._changing()

    def _segment(self, number: int) -> Segment:
        """An open segment; FileNotFoundError if it is no longer the one whose index was read."""
        segment = self._open.get(number)
        if segment is None:
            segment = Segment.at(self.files[number])
            if number == len(self._marks):
                self._marks.append(segment.mark)
            elif segment.mark != self._marks[number]:
                raise FileNotFoundError
            self._open[number] = segment
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(number)
        return segment

    def _changing(self) -> FileError:
        return FileError(f"{self.folder} is being changed by another process; try again when that has ended")

    def pack(self, aside: Path) -> None:
        """Sort the cells, and divide them among full segments; nobody else may write meanwhile.

        Parameters
        ----------
        aside : Path
            Folder for unfinished files, on the same disk.

        Raises
        ------
        FileError
            If a file is damaged, or cannot be written; no cell is lost.
        """
        if all(file.stem.isdecimal() for file in self.files):
            return
        places: list[tuple[Pair, int, int]] = []
        for pair, (done, failed) in sorted(self.known.items()):
            found = failed | done
            places += [(pair, seed, found[seed]) for seed in sorted(found)]
        kept: list[str] = []
        new: list[str] = []
        try:
            aside.mkdir(exist_ok=True)
            position = 0
            for number, chunk in enumerate(chunks(self._in_order(places))):
                name = f"{number:05d}{SUFFIX}"
                position, before = position + len(chunk), position
                if self._is(name, [place for _, _, place in places[before:position]]):
                    kept.append(name)
                else:
                    write_segment(aside / name, chunk)
                    new.append(name)
            mark = secrets.token_hex(4)
            for name in new:  # beside the others first, so that no cell is missing at any time
                os.replace(aside / name, self.folder / f"packed-{mark}-{name}")
            sync(self.folder)
            for file in self.files:
                if file.name not in kept:
                    file.unlink()
            for name in new:
                os.replace(self.folder / f"packed-{mark}-{name}", self.folder / name)
            sync(self.folder)
        except OSError as error:
            raise FileError(f"cannot pack {self.folder}: {error.strerror}; run the experiment again") from error
        self._read()

    def entries(self, cells: Iterable[tuple[Pair, int]]) -> Iterator[Entry]:
        """Read cells in the order in which files hold them, so that each file is opened once."""
        for pair, seed in sorted(cells, key=lambda cell: self._place(*cell)):
            yield self.entry(pair, seed)

    def _in_order(self, places: Sequence[tuple[Pair, int, int]]) -> Iterator[Entry]:
        """Read cells in this order; as many as memory holds are read in the order of the files first."""
        size = sum(file.stat().st_size for file in self.files) // max(1, len(places)) + 1
        n = max(1, MOST_IN_MEMORY // size)
        for first in range(0, len(places), n):
            cells = [(pair, seed) for pair, seed, _ in places[first : first + n]]
            found = {(entry.pair, entry.seed): entry for entry in self.entries(cells)}
            yield from map(found.__getitem__, cells)

    def _is(self, name: str, places: Sequence[int]) -> bool:
        """Whether the file of this name holds these cells, in this order, and no others."""
        number = places[0] >> _ROWS
        first = number << _ROWS
        n_cells = len(self._segment(number).cells)
        return self.files[number].name == name and places == list(range(first, first + n_cells))


def set_damaged_aside(folder: Path, aside: Path) -> None:
    """Give files that are damaged another suffix, and write the cells of them that are whole to new ones.

    Parameters
    ----------
    folder : Path
        The folder of the experiment.
    aside : Path
        Folder for unfinished files, on the same disk.

    Raises
    ------
    FileError
        If a file cannot be read or written.

    Warns
    -----
    RlsuiteWarning
        For each such file.
    """
    for file in _segments(folder / CELLS):
        try:
            whole, n_damaged = Segment.whole_cells(file)
        except FileNotFoundError:  # another shard has done it, or packed
            continue
        if not n_damaged:
            continue
        new, kept = file.with_name(f"whole-{secrets.token_hex(4)}{SUFFIX}"), file.with_suffix(".damaged")
        try:
            if whole:
                aside.mkdir(exist_ok=True)
                write_segment(aside / new.name, whole)
                os.replace(aside / new.name, new)  # beside the other first, so that no cell is missing at any time
            os.replace(file, kept)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise FileError(f"cannot write {new}: {error.strerror}") from error
        warnings.warn(
            f"{file} is damaged: {len(whole):,} of its cells are whole, and the others are learned again; what it held "
            f"is kept as {kept.name}",
            RlsuiteWarning,
            stacklevel=level_of_the_caller(),
        )


def _segments(folder: Path) -> list[Path]:
    """The segments of a folder: those that are packed first, so that what was written since then counts."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise FileError(f"{folder} must be a folder, for the cells of this experiment; remove the file") from error
    except OSError as error:
        raise FileError(f"cannot read {folder}: {error.strerror}") from error
    return [folder / name for name in names]


class StoredRecords(Sequence[Record]):
    """The records of one agent in one environment, each read when it is asked for."""

    def __init__(self, store: Store, pair: Pair, seeds: list[int]) -> None:
        self._store, self._pair, self._seeds = store, pair, seeds

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, number: int) -> Record: ...

    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...

    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """Read a record, or several."""
        if isinstance(number, slice):
            return [self._record(seed) for seed in self._seeds[number]]
        return self._record(self._seeds[number])

    def __iter__(self) -> Iterator[Record]:
        """Read one after the other."""
        return map(self._record, self._seeds)

    def _record(self, seed: int) -> Record:
        found = self._store.outcome(self._pair, seed)
        assert isinstance(found, Record)
        return found


class Writer:
    """Writes cells, those of a second in one go.

    Parameters
    ----------
    folder : Path
        The folder of the experiment.
    aside : Path
        Folder for unfinished files, on the same disk.
    name : str
        What tells it apart from other writers in the same folder.

    Raises
    ------
    FileError
        If what it has written before is damaged.
    """

    def __init__(self, folder: Path, aside: Path, name: str) -> None:
        self.folder, self.aside, self.name = folder / CELLS, aside, name
        own = [file for file in _segments(self.folder) if file.name.startswith(f"{name}-")]
        self._number, self._entries = 0, list[Entry]()
        if own:  # the last one may have room
            self._number = int(own[-1].stem.removeprefix(f"{name}-"))
            self._entries = list(Segment.at(own[-1]).entries())
        self._size = sum(entry.size for entry in self._entries)
        self._written = len(self._entries)
        self._next = time.monotonic() + EVERY

    def add(self, entry: Entry) -> None:
        """Keep a cell; it is on the disk within a second or so.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        if is_full(len(self._entries), self._size):
            self.flush()
            self._entries, self._size, self._written = [], 0, 0
            self._number += 1
        self._entries.append(entry)
        self._size += entry.size
        self.look()

    def look(self) -> None:
        """Write if it is time."""
        if time.monotonic() >= self._next:
            self.flush()

    def flush(self) -> None:
        """Write what has not been written yet.

        Raises
        ------
        FileError
            If that cannot be done.
        """
        began = time.monotonic()
        if self._written < len(self._entries):
            file = f"{self.name}-{self._number:05d}{SUFFIX}"
            try:
                self.folder.mkdir(exist_ok=True)
                self.aside.mkdir(exist_ok=True)
                write_segment(self.aside / file, self._entries)
                os.replace(self.aside / file, self.folder / file)
            except OSError as error:
                raise FileError(f"cannot write {self.folder / file}: {error.strerror}") from error
            self._written = len(self._entries)
        now = time.monotonic()
        self._next = now + max(EVERY, 10.0 * (now - began))
