"""Which states can be in the support of one belief: this keeps the vectors of point-based planning short.

Much of a hidden state is often observed. Where a robot knows its place, the support of a belief is within the states
of one place, and a vector need only be known there. A *region* is a set of states such that every belief after some
action and observation, from a belief inside a region, is inside a region again. All states together are one region;
many small ones cost less in every operation (the idea of mixed observability: Ong, Png, Hsu and Lee 2010, found here
from the zeros of the model instead of being declared).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray

SMALL = 128
"""Up to this many states one region is best: a vector found for one belief is used at all others."""

MOST_REGIONS = 2048
LARGEST_TOTAL = 3.0
"""Largest sum of the sizes of all regions, in times of the number of states."""


class Regions(NamedTuple):
    """K regions of the states of a model."""

    members: list[IndexArray]
    """the states of each, in ascending order; the first holds the start belief"""
    child: IndexArray
    """(K, A, Z) int64, the region after an action and an observation; -1 if that observation is impossible"""


class SparseModel(NamedTuple):
    """Possible transitions and observations with their probabilities: rows of sparse matrices, without zeros."""

    n_states: int
    n_actions: int
    n_observations: int
    row: IndexArray
    """(S * A + 1,) int64, the transitions of the pair (s, a): row s A + a"""
    successor: StateArray
    """(n,) int32, s'"""
    weight: FloatArray
    """(n,) float64, c(s' | s, a)"""
    seen: IndexArray
    """(A * S + 1,) int64, what may be observed in s' after a: row a S + s'"""
    symbol: StateArray
    """(m,) int32, z"""
    chance: FloatArray
    """(m,) float64, Pr(z | a, s')"""


def entries_of(pointers: IndexArray, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the numbers of all entries of some rows, row by row, and how many each row has.

    Examples
    --------
    >>> import numpy as np
    >>> entries, lengths = entries_of(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> entries.tolist(), lengths.tolist()
    ([3, 4, 5, 0, 1], [3, 2])
    """
    lengths = pointers[rows + 1] - pointers[rows]
    begins = np.cumsum(lengths) - lengths
    entries: IndexArray = np.repeat(pointers[rows] - begins, lengths) + np.arange(int(lengths.sum()))
    return entries, lengths


def find_regions(model: SparseModel, start: BoolArray) -> Regions:
    """Return regions that hold all beliefs that can be reached.

    Parameters
    ----------
    model : SparseModel
        The model.
    start : ndarray (S,) bool
        The states in the support of the start belief.
    """
    if start.size > SMALL:
        found = _small_regions(model, start)
        if found is not None:
            return found
    return _one_region(model, start)


def _one_region(model: SparseModel, start: BoolArray) -> Regions:
    reached, states = start.copy(), np.flatnonzero(start)
    while True:
        action, after, symbol = _what_follows(model, states)
        reached[after] = True
        if np.count_nonzero(reached) == states.size:
            break
        states = np.flatnonzero(reached)
    child = np.full((1, model.n_actions, model.n_observations), -1, dtype=np.int64)
    child[0, action, symbol] = 0
    return Regions([states], child)


def _small_regions(model: SparseModel, start: BoolArray) -> Regions | None:
    """Return the regions that following the start finds, or None if they are too many."""
    members: list[IndexArray] = []
    masks: list[int] = []
    number: dict[bytes, int] = {}
    limit = LARGEST_TOTAL * start.size
    total = 0

    def region_of(states: IndexArray) -> int:
        nonlocal total
        key = states.tobytes()
        if key in number:
            return number[key]
        mask = _bits(states, start.size)
        holding = [k for k, other in enumerate(masks) if mask & ~other == 0]
        if holding:
            number[key] = min(holding, key=lambda k: members[k].size)
        else:
            number[key] = len(members)
            members.append(states)
            masks.append(mask)
            total += states.size
        return number[key]

    region_of(np.flatnonzero(start))
    children: list[IndexArray] = []
    symbols = model.n_observations
    while len(children) < len(members):
        action, after, symbol = _what_follows(model, members[len(children)])
        both = action * symbols + symbol
        order = np.argsort(both * start.size + after)
        both, after = both[order], after[order]
        child: IndexArray = np.full(model.n_actions * symbols, -1, dtype=np.int64)
        cuts: list[int] = np.flatnonzero(np.diff(both, prepend=-1, append=-1)).tolist()
        for begin, end in pairwise(cuts):
            child[both[begin]] = region_of(after[begin:end])
            if total > limit or len(members) > MOST_REGIONS:
                return None
        children.append(child)
    return Regions(members, np.stack(children).reshape(len(members), model.n_actions, symbols))


def _what_follows(model: SparseModel, states: IndexArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return all (action, successor, observation) that can follow some states, without repetition."""
    pairs = (states[:, np.newaxis] * model.n_actions + np.arange(model.n_actions)).reshape(-1)
    found, lengths = entries_of(model.row, pairs)
    reached = np.unique(np.repeat(pairs % model.n_actions, lengths) * model.n_states + model.successor[found])
    seen, counts = entries_of(model.seen, reached)
    action, after = np.divmod(np.repeat(reached, counts), model.n_states)
    return action, after, model.symbol[seen].astype(np.int64)


def _bits(states: IndexArray, n_states: int) -> int:
    marked = np.zeros(n_states, dtype=np.bool_)
    marked[states] = True
    return int.from_bytes(np.packbits(marked).tobytes(), "big")
