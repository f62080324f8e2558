"""The value of one policy as a series, added up in single precision.

With the change d = T_pi V - V of one backup, V_pi = V + sum_k (gamma C_pi)^k d (P94 Theorem 6.1.1). A planner that
backs up again and again needs but the first digits of that sum each time: what is missing shows in the next d, which is
computed in double precision (iterative refinement). Single precision halves the memory that a sweep has to move.

The rows of the policy are copied, four neighbours at a time, with their entries in turn: the first of each, then the
second of each. Four sums then grow at the same time, and none has to wait for its own last addition; in rows of a few
entries, one after the other, that is half of the time. A row that is longer than its neighbours, or long by itself, is
kept as it is. Each row is added up in the same order either way, so the layout does not show in the sums.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, PointerArray, SingleArray, StateArray, SuccessorArray
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.certificate import interval, largest_change
from rlsuite.planning.kernels import LONG, ONE, THREE, TWO, ZERO, Range, Rows, expected, successors_at
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.vectors import vector

SINGLE_EPS = float(np.finfo(np.float32).eps)
"""Terms that are smaller, in units of the first, no longer change the sum."""

FOUR = np.uint64(4)

AT_ONCE = 4
"""Terms that are added before the bounds are looked at again."""


class Groups(NamedTuple):
    """The rows gamma C_pi of a policy, four neighbours or one: those of group g begin at ``entry[g]``."""

    state: SuccessorArray
    """(G + 1,) uint32, the first state of each group"""
    entry: PointerArray
    """(G + 1,) uint64, where its entries begin"""
    successor: SuccessorArray
    """(n,) uint32, where each entry leads: of four rows, entry k of row j is at 4 k + j; or of one row, if `same`"""
    weight: SingleArray
    """(n,) float32, gamma times what it adds to c(s' | s, pi(s)); 0 where a row is shorter than its neighbours"""
    ordered: bool
    """as in `rlsuite.planning.kernels.Rows`"""
    same: bool
    """whether all rows are long and lead to the same states: then each is a group"""


@compiled(in_place=True)
def group(n_actions: int, indptr: PointerArray, action: StateArray, state: SuccessorArray, entry: PointerArray) -> int:
    """Fill the first two fields of `Groups`, for a policy (S,) whose entry -1 stands for an empty row; return G."""
    n, s, g, total = np.uint64(action.size), np.uint64(0), 0, np.uint64(0)
    while s < n:
        together, longest, entries, own = min(FOUR, n - s), np.uint64(0), np.uint64(0), np.uint64(0)
        for j in range(together):
            length = np.uint64(0)
            if action[s + j] >= 0:
                row = (s + j) * np.uint64(n_actions) + np.uint64(action[s + j])
                length = indptr[row + ONE] - indptr[row]
            own = length if j == 0 else own
            longest, entries = max(longest, length), entries + length
        state[g], entry[g] = s, total
        # in a group all rows are as long as the longest: no more than a third of it may be empty
        if together < FOUR or longest >= LONG or THREE * entries < TWO * FOUR * longest:
            together, total = ONE, total + own
        else:
            total += FOUR * longest
        s += together
        g += 1
    state[g], entry[g] = s, total
    return g


@compiled(in_place=True)
def gather(begin: int, end: int, rows: Rows, action: StateArray, groups: Groups) -> None:
    """Copy the rows of the policy into the groups from `begin` to `end`."""
    for g in range(np.uint64(begin), np.uint64(end)):
        s, to = np.uint64(groups.state[g]), groups.entry[g]
        together = np.uint64(groups.state[g + ONE]) - s
        for j in range(together):
            first, length = np.uint64(0), np.uint64(0)
            if action[s + j] >= 0:
                row = (s + j) * np.uint64(rows.n_actions) + np.uint64(action[s + j])
                first = rows.indptr[row]
                length = rows.indptr[row + ONE] - first
            at = successors_at(rows, first)
            if together == ONE:  # a loop of its own, which may be long
                for k in range(length):
                    groups.weight[to + k] = rows.gamma * rows.weight[first + k]
                if not groups.same:
                    for k in range(length):
                        groups.successor[to + k] = rows.successor[at + k]
                continue
            for k in range(length):
                groups.successor[to + j + (k << TWO)] = rows.successor[at + k]
                groups.weight[to + j + (k << TWO)] = rows.gamma * rows.weight[first + k]
            for k in range(length, (groups.entry[g + ONE] - to) >> TWO):
                groups.successor[to + j + (k << TWO)] = s
                groups.weight[to + j + (k << TWO)] = 0.0


@compiled(in_place=True)
def propagate(
    begin: int, end: int, terms: int, groups: Groups, change: SingleArray, out: SingleArray, total: SingleArray
) -> None:
    """Replace `change` by gamma C_pi `change`, and add it to `total`, as often as there are terms, in single precision.

    The last term is in `out` after an odd number of them. Where a block does not have all states, one term is all.
    """
    for _ in range(terms):
        last = groups.entry[begin]
        for g in range(np.uint64(begin), np.uint64(end)):
            first, last = last, groups.entry[g + ONE]
            s = np.uint64(groups.state[g])
            if np.uint64(groups.state[g + ONE]) - s == FOUR:
                a = b = c = d = np.float32(0.0)
                for k in range((last - first) >> TWO):
                    i = first + (k << TWO)
                    a += groups.weight[i] * change[groups.successor[i]]
                    b += groups.weight[i + ONE] * change[groups.successor[i + ONE]]
                    c += groups.weight[i + TWO] * change[groups.successor[i + TWO]]
                    d += groups.weight[i + THREE] * change[groups.successor[i + THREE]]
                out[s], out[s + ONE], out[s + TWO], out[s + THREE] = a, b, c, d
                total[s] += a
                total[s + ONE] += b
                total[s + TWO] += c
                total[s + THREE] += d
            else:
                at = ZERO if groups.same else first
                out[s] = expected(first, last, at, groups.ordered, groups.successor, groups.weight, change)
                total[s] += out[s]
        change, out = out, change


@compiled(in_place=True)
def term_range(begin: int, end: int, action: StateArray, term: SingleArray) -> Range:
    """Return the least and the greatest entry of a term where an action is taken."""
    least, greatest = np.float32(np.inf), np.float32(-np.inf)
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] >= 0:
            least = min(least, term[s])
            greatest = max(greatest, term[s])
    return float(least), float(greatest)


@compiled(in_place=True)
def begin_series(
    begin: int,
    end: int,
    action: StateArray,
    before: FloatArray,
    after: FloatArray,
    scale: float,
    change: SingleArray,
    total: SingleArray,
) -> None:
    """Fill (after - before) / scale into `change`, 0 where no action is taken, and 0 into `total`."""
    for s in range(np.uint64(begin), np.uint64(end)):
        change[s] = (after[s] - before[s]) / scale if action[s] >= 0 else 0.0
        total[s] = 0.0


@compiled(in_place=True)
def end_series(
    begin: int, end: int, action: StateArray, total: SingleArray, scale: float, shift: float, value: FloatArray
) -> None:
    """Add ``scale * total + shift`` to `value` where an action is taken."""
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] >= 0:
            value[s] += scale * np.float64(total[s]) + shift  # NumPy keeps a product with a Python float single


class ValueSeries:
    """The sums for one policy after the other, in the same memory.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.

    Attributes
    ----------
    exhausted : bool
        Whether further terms are too small for single precision.
    """

    exhausted: bool
    _groups: Groups
    _blocks: list[tuple[int, int]]
    _action: StateArray
    _scale: float
    _missing: float
    _largest: float

    def __init__(self, lookahead: Lookahead) -> None:
        self._lookahead = lookahead
        self._policy: StateArray | None = None
        self._state: SuccessorArray = vector(lookahead.n_states + 1, np.uint32)
        self._entry: PointerArray = vector(lookahead.n_states + 1, np.uint64)
        self._successor: SuccessorArray = vector(0, np.uint32)
        self._weight: SingleArray = vector(0, np.float32)
        self._change: SingleArray = vector(lookahead.n_states, np.float32)
        self._spare: SingleArray = vector(lookahead.n_states, np.float32)
        self._total: SingleArray = vector(lookahead.n_states, np.float32)

    def begin(self, action: StateArray, before: FloatArray, after: FloatArray, scale: float) -> bool:
        """Begin with d = after - before, whose largest entry is `scale`; return whether this is another policy.

        `action` (S,) is the policy, -1 at closed states. The first term, d itself, is what `after` already has.
        """
        another = self._take(action)
        self._action = action
        self._scale = scale
        on_blocks(begin_series, self._lookahead.policy_blocks, action, before, after, scale, self._change, self._total)
        return another

    def _take(self, action: StateArray) -> bool:
        """Copy the rows of a policy; return whether it differs from the previous one."""
        lookahead = self._lookahead
        if self._policy is not None and np.array_equal(self._policy, action):
            return False
        n = group(lookahead.n_actions, lookahead.rows.indptr, action, self._state, self._entry)
        needed = int(self._entry[n])
        same = lookahead.rows.same and lookahead.longest_row >= int(LONG)
        if needed > self._weight.size:
            self._weight = vector(needed, np.float32)
            self._successor = lookahead.rows.successor.copy() if same else vector(needed, np.uint32)
        state, entry = self._state[: n + 1], self._entry[: n + 1]
        self._groups = Groups(state, entry, self._successor, self._weight, lookahead.ordered, same)
        cuts = [0, *(last for _, last in lookahead.policy_blocks)]
        self._blocks = list(pairwise(np.searchsorted(state, np.array(cuts, dtype=np.uint32)).tolist()))
        on_blocks(gather, self._blocks, lookahead.rows, action, self._groups)
        self._policy = action.copy()
        return True

    def add_terms(self, number: int) -> float:
        """Add the next terms; return how far apart the bounds on the value of the policy are then."""
        lookahead = self._lookahead
        at_once = number if len(self._blocks) == 1 else 1
        for _ in range(number // at_once):
            on_blocks(propagate, self._blocks, at_once, self._groups, self._change, self._spare, self._total)
            if at_once % 2 == 1:
                self._change, self._spare = self._spare, self._change
        terms = on_blocks(term_range, lookahead.policy_blocks, self._action, self._change)
        bounds = interval(lookahead, terms, 0.0)
        self._missing = self._scale * bounds.certain
        self._largest = largest_change(terms)
        self.exhausted = self._largest <= SINGLE_EPS
        return self._scale * bounds.width

    @property
    def floor(self) -> float:
        """How far apart rounding alone can keep the bounds after the last term: a smaller distance says nothing."""
        noise = self.noise(self._largest)
        return self._scale * interval(self._lookahead, [(-noise, noise)], 0.0).width

    def noise(self, size: float) -> float:
        """Return a bound on the rounding error of an entry of a term, if none is larger than `size`."""
        return 0.5 * SINGLE_EPS * (self._lookahead.longest_row + 2) * size

    def settle(self, value: FloatArray) -> None:
        """Add the sum to `value`, and what the series still lacks in every state."""
        arguments = (self._action, self._total, self._scale, self._missing, value)
        on_blocks(end_series, self._lookahead.policy_blocks, *arguments)
