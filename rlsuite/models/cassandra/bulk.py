"""Thousands of entries of files written by programs, read in one step.

`Outline` cuts the text into statements without parsing them: one begins at each ``T``, ``O`` or ``R`` that
stands before a colon and not behind one. Statements of one form - so many slots, so many numbers - are then split and
converted together. If anything among them is unusual the whole batch is refused: read one by one, it shows where the
fault is, or that there is none.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.names import ANY, Names

BATCH = 8192
"""Most statements in a batch; more would only take more memory, and longer if the batch is refused."""
MOST_COLONS = 5
"""Most colons in a statement: after the keyword, before each further slot of R, and perhaps before the number."""
WORDS = 2**20
"""Most words in a batch of more than one statement."""

_BLANK, _COLON, _WORD = 0, 1, 2
_KIND = np.full(256, _WORD, dtype=np.uint8)
_KIND[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = _BLANK  # as in str.split and in \s
_KIND[ord(":")] = _COLON
_KEYWORD = np.zeros(256, dtype=np.bool_)
_KEYWORD[[ord(letter) for letter in "TOR"]] = True
_NUMERIC = re.compile(r"[0-9.eE+\- ]*")
_ODD_BLANK = re.compile(r"[^\S\x00-\x7f]")


class Entered(NamedTuple):
    """Entries of one table, in the order of the file."""

    keyword: str
    slots: IndexArray
    """(slots, n) int64, with `ANY` for wildcards"""
    values: FloatArray
    """(n,) float64"""
    at: IndexArray
    """(n,) int64: where the statement of each begins"""


class Refused(Exception):
    """Something in a batch is unusual."""


class Outline:
    """Where the statements of a text begin, and how many slots and words each one has.

    Parameters
    ----------
    content : str
        The text, without comments.
    at : int
        Where its first ``T:``, ``O:`` or ``R:`` stands.
    """

    def __init__(self, content: str, at: int) -> None:
        self._content = content
        # Characters beyond ASCII are taken for parts of words; a text with blanks among them is not read in batches.
        codes = np.frombuffer(content[at:].encode("ascii", "replace") + b"  ", dtype=np.uint8)
        self._plain = content.isascii() or _ODD_BLANK.search(content) is None
        kind = _KIND[codes]
        begins = kind == _WORD
        begins[1:] &= kind[:-1] != _WORD
        begins |= kind == _COLON
        token: IndexArray = np.flatnonzero(begins)
        colon: BoolArray = np.append(kind[token] == _COLON, [False] * 10)
        key = _KEYWORD[codes[token]]
        key &= kind[token + 1] != _WORD
        key &= colon[1 : token.size + 1]
        key[1:] &= ~colon[: token.size - 1]
        first: IndexArray = np.append(np.flatnonzero(key), token.size)
        colons = np.zeros(token.size + 1, dtype=np.int64)
        np.cumsum(colon[: token.size], out=colons[1:])
        self.slots: IndexArray = np.diff(colons[first])
        tidy: BoolArray = self.slots <= MOST_COLONS
        for slot in range(MOST_COLONS):
            tidy &= (self.slots <= slot) | colon[first[:-1] + 2 * slot + 1]
        self._tidy = tidy
        self._word: IndexArray = first - colons[first]
        """How many words stand before each statement, and before the end"""
        self._at: IndexArray = np.append(token, codes.size - 2)[first] + at
        self._letter: IndexArray = codes[token[first[:-1]]].astype(np.int64)

    def batch(self, at: int) -> tuple[int, int]:
        """Return the first statement of the batch that begins at an offset, and the one after its last.

        They are the same if no statement begins there.
        """
        first = int(np.searchsorted(self._at, at))
        if self._at[first] != at:
            return first, first
        words = int(self._word[first]) + WORDS
        enough = int(np.searchsorted(self._word, words, side="right")) - 1
        return first, min(max(enough, first + 1), first + BATCH, self._letter.size)

    def offset(self, statement: int) -> int:
        """Return where a statement begins; where the text ends, for the number of statements."""
        return int(self._at[statement])

    def read(self, first: int, last: int, names: dict[str, tuple[Names, ...]]) -> list[Entered]:
        """Return the entries of the statements ``first : last``.

        Parameters
        ----------
        first, last : int
            As `batch` returned them.
        names : dict
            What the entries of each keyword are about.

        Raises
        ------
        Refused
            If anything is unusual; it may be valid all the same.
        """
        if not self._plain or not self._tidy[first:last].all():
            raise Refused
        text = self._content[self._at[first] : self._at[last]]
        words = np.array(text.replace(":", " ").split(), dtype=object)
        start = self._word[first:last] - self._word[first]
        slots, letter = self.slots[first:last], self._letter[first:last]
        n_values = np.diff(self._word[first : last + 1]) - 1 - slots
        found: dict[str, list[tuple[AnyArray, ...]]] = {}
        form = (letter << 40) + (n_values << 3) + slots
        for one in np.unique(form).tolist():
            chosen = np.flatnonzero(form == one)
            keyword = chr(one >> 40)
            if keyword not in names:
                raise Refused
            n_named, count = one & 7, (one >> 3) & (2**37 - 1)
            if n_named == len(names[keyword]) + 1 and count == 0:  # the last colon is before the number
                n_named, count = n_named - 1, 1
            part = _one_form(keyword, names[keyword], words, start[chosen], n_named, count)
            found.setdefault(keyword, []).append((part[0], part[1], chosen[part[2]]))
        return [self._in_order(first, keyword, parts) for keyword, parts in found.items()]

    def _in_order(self, first: int, keyword: str, parts: list[tuple[AnyArray, ...]]) -> Entered:
        slots, values, statement = (np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True))
        if (statement[1:] < statement[:-1]).any():
            order = np.argsort(statement, kind="stable")
            slots, values, statement = slots[:, order], values[order], statement[order]
        return Entered(keyword, slots, values, self._at[first + statement])


def _one_form(
    keyword: str, names: tuple[Names, ...], words: AnyArray, start: IndexArray, n_named: int, count: int
) -> tuple[IndexArray, FloatArray, IndexArray]:
    """Return slots (d, n), values (n,), and the statement (n,) of all entries in statements of the same form."""
    dims = [one.size for one in names]
    free = dims[n_named:]
    if not 1 <= n_named <= len(dims) or len(free) > 2:
        raise Refused
    slots = np.full((len(dims), start.size), ANY, dtype=np.int64)
    for slot in range(n_named):
        slots[slot] = _column(names[slot], words[start + 1 + slot].tolist())
    given = words[start[:, None] + (1 + n_named) + np.arange(count)]
    if free and count == 1 and keyword != "R" and (given == "uniform").all():
        return slots, np.full(start.size, 1.0 / free[-1]), np.arange(start.size)
    if count != math.prod(free):
        raise Refused
    values = _numbers(given.reshape(-1).tolist(), 1.0 if keyword != "R" else None)
    if not free:
        return slots, values, np.arange(start.size)
    # One entry sets all cells to 0; the entries after it set those that are not.
    table = np.concatenate([np.ones((start.size, 1)), values.reshape(start.size, count)], axis=1)
    statement, place = np.nonzero(table)
    slots = slots[:, statement]
    for slot, index in zip(range(n_named, len(dims)), np.unravel_index(np.maximum(place - 1, 0), free), strict=True):
        slots[slot] = np.where(place > 0, index, ANY)
    return slots, np.where(place > 0, table[statement, place], 0.0), statement


def _column(names: Names, words: list[str]) -> IndexArray:
    """Return the numbers of some names."""
    try:
        return np.fromiter(map(names.number_of.__getitem__, words), dtype=np.int64, count=len(words))
    except KeyError:
        raise Refused from None


def _numbers(words: list[str], largest: float | None) -> FloatArray:
    """Return numbers that are probabilities, or finite."""
    if not _NUMERIC.fullmatch(" ".join(words)):
        raise Refused
    try:
        values = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        raise Refused from None
    fine = np.isfinite(values).all() if largest is None else ((values >= 0.0) & (values <= largest)).all()
    if not fine:
        raise Refused
    return values
