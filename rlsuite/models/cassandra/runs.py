"""Runs of entries in their longest form, as programs write them: thousands of lines in one step.

A run is found by one pattern, in which every entry has exactly the right number of tokens, and split as a whole. If a
name is unknown or a number out of range, the run is refused: read entry by entry, it shows where the fault is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.names import ANY, Names

LONGEST = 4096
"""Entries in a run; more would only take more memory."""


class Run(NamedTuple):
    """Consecutive entries of one keyword."""

    slots: IndexArray
    """(slots, n) int64, with `ANY` for wildcards"""
    values: FloatArray
    """(n,) float64"""
    end: int
    """Where the text goes on"""
    refused: bool = False
    """Whether something in it is unusual; it is to be read entry by entry then"""


def run_at(content: str, at: int, keyword: str, names: tuple[Names, ...], largest: float) -> Run | None:
    """Return the run of entries that begins at an offset, if there is one.

    Parameters
    ----------
    content : str
        The text, without comments.
    at : int
        Where to look.
    keyword : str
        ``T``, ``O`` or ``R``.
    names : tuple of Names
        What the entries are about.
    largest : float
        Values are between 0 and this, or of any sign if it is infinite.
    """
    numbered = all(one.labels is None for one in names)
    found = _pattern(keyword, len(names), numbered).match(content, at)
    if found is None:
        return None
    slots, values = _numbers(found[0], keyword, names) if numbered else _words(found[0], names)
    sizes = np.array([one.size for one in names])[:, None]
    smallest = 0.0 if np.isfinite(largest) else -np.inf
    fine = (slots < sizes).all() and (np.isfinite(values) & (values >= smallest) & (values <= largest)).all()
    return Run(slots, values, found.end(), refused=not fine)


@cache
def _pattern(keyword: str, slots: int, numbered: bool) -> re.Pattern[str]:
    slot = r"\s*+:\s*+" + (r"(?:\d++|\*)" if numbered else r"[^\s:]++")
    value = r"\s++[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+(?!\S)"
    return re.compile(rf"(?:\s*+{keyword}{slot * slots}{value}){{1,{LONGEST}}}+", re.ASCII)


def _numbers(run: str, keyword: str, names: tuple[Names, ...]) -> tuple[IndexArray, FloatArray]:
    """Split a run in which everything is a number or a wildcard; the pattern vouches for that."""
    bare = run.replace(keyword, " ").replace(":", " ").replace("*", str(ANY))
    table = np.fromstring(bare, dtype=np.float64, sep=" ").reshape(-1, len(names) + 1).T
    return table[:-1].astype(np.int64), table[-1].copy()


def _words(run: str, names: tuple[Names, ...]) -> tuple[IndexArray, FloatArray]:
    """Split a run; a word that is no name gets a number that is out of range."""
    words = run.replace(":", " ").split()
    step = len(names) + 2
    columns = [[one.number_of.get(word, one.size) for word in words[k + 1 :: step]] for k, one in enumerate(names)]
    return np.array(columns, dtype=np.int64), np.array(words[step - 1 :: step], dtype=np.float64)
