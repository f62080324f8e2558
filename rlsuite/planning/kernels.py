"""Compiled inner loops of planning: each computes the states from ``begin`` to ``end``, and writes to no others.

The letters are those of `rlsuite.planning.operators`. Every kernel reads the `Rows` of a prepared model; ``ahead``
holds the values of successors. A *terminal* state is one that ends the episode when it is entered: its value is 0, so
``ahead`` is kept at 0 there and sweeps skip it.

Indices are unsigned numbers, which avoids the test whether one counts from the end; a row begins where the one
before it ended, which is not read again; and whether a row is empty, an illegal action, is asked after its sum, not
before. Together that makes the inner loop three to four times faster.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rlsuite.core.interpretation import one_pass
from rlsuite.models.aliases import (
    BoolArray,
    FloatArray,
    IndexArray,
    PointerArray,
    SingleArray,
    StateArray,
    SuccessorArray,
)

ZERO, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)

LONG = np.uint64(32)
"""Entries of a row from which on it is long."""

Index: TypeAlias = int | np.uint64

Range = tuple[float, float]
"""Least and greatest change of a sweep, over the states that are not terminal; (inf, -inf) if there is none."""


class Rows(NamedTuple):
    """What kernels read of a model: the transitions of (s, a) are ``indptr[s * A + a] : indptr[s * A + a + 1]``.

    `Lookahead.rows` makes one; compiled code takes it as one argument.
    """

    n_actions: int
    """A"""
    indptr: PointerArray
    """(S * A + 1,) uint64"""
    successor: SuccessorArray
    """(N,) uint32, where each transition leads; or that of one row, if `same`"""
    weight: FloatArray
    """(N,) float64, what each adds to c(s' | s, a)"""
    reward: FloatArray
    """(S * A,) float64, r(s, a)"""
    gamma: float
    """the discount"""
    terminal: BoolArray
    """(S,) bool, the terminal states"""
    ordered: bool
    """whether successors increase within every long row"""
    same: bool
    """whether every row leads to the same states, as those of dense arrays do"""


@one_pass
def row_statistics(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    next_state: SuccessorArray,
    probability: FloatArray,
    terminated: BoolArray,
    terminal: BoolArray,
    any_terminal: bool,
) -> tuple[float, float, int, bool, bool]:
    """Return the least and the greatest row sum of c, the length of the longest row, and two answers.

    The first is whether a row enters a state marked as terminal by a transition that continues; the second whether
    successors increase within every long row.
    """
    least, greatest, longest, mixed, ordered = np.inf, 0.0, 0, False, True
    last = indptr[begin * n_actions]
    for row in range(np.uint64(begin * n_actions), np.uint64(end * n_actions)):
        first, last = last, indptr[row + ONE]
        going = 0.0
        for i in range(first, last):
            going += 0.0 if terminated[i] else probability[i]
        if last > first:
            least = min(least, going)
            greatest = max(greatest, going)
            longest = max(longest, int(last - first))
            if last - first >= LONG:
                for i in range(first + ONE, last):
                    ordered &= next_state[i - ONE] < next_state[i]
        if any_terminal:
            for i in range(first, last):
                if terminal[next_state[i]] and not terminated[i]:
                    mixed = True
    return least, greatest, longest, mixed, ordered


@one_pass
def mean_rewards(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    probability: FloatArray,
    reward: FloatArray,
    mean: FloatArray,
) -> float:
    """Fill r(s, a) into `mean`, of rewards (N,) by transition; return the largest mean |reward|."""
    size = 0.0
    last = indptr[begin * n_actions]
    for row in range(np.uint64(begin * n_actions), np.uint64(end * n_actions)):
        first, last = last, indptr[row + ONE]
        total, magnitude = 0.0, 0.0
        for i in range(first, last):
            total += probability[i] * reward[i]
            magnitude += probability[i] * abs(reward[i])
        mean[row] = total
        size = max(size, magnitude)
    return size


@one_pass
def expected(
    first: Any,
    last: Any,
    at: Any,
    ordered: bool,
    successor: SuccessorArray,
    weight: FloatArray | SingleArray,
    ahead: FloatArray | SingleArray,
) -> float:
    """Return sum_s' c(s' | s, a) V(s') of the row ``first : last``, in the precision of both; it is inlined.

    Its successors begin at `at`. A long row has four sums, as an addition need not wait for the last one then. If
    successors increase within it, and from the first to the last there are as many states as it has entries, it leads
    to each of them, as rows of dense arrays do: then the successors need not be read.
    """
    follows: Any = weight.dtype.type(0.0)
    length = last - first
    if length < LONG:
        for k in range(length):
            follows += weight[first + k] * ahead[successor[at + k]]
    elif ordered and np.uint64(successor[at + length - ONE]) - np.uint64(successor[at]) == length - ONE:
        second, third, fourth = follows, follows, follows
        quarters, s = length >> TWO, np.uint64(successor[at])
        for k in range(quarters):
            i, j = first + (k << TWO), s + (k << TWO)
            follows += weight[i] * ahead[j]
            second += weight[i + ONE] * ahead[j + ONE]
            third += weight[i + TWO] * ahead[j + TWO]
            fourth += weight[i + THREE] * ahead[j + THREE]
        for k in range(quarters << TWO, length):
            follows += weight[first + k] * ahead[s + k]
        follows += second + (third + fourth)
    else:
        second, third, fourth = follows, follows, follows
        quarters = length >> TWO
        for k in range(quarters):
            i, j = first + (k << TWO), at + (k << TWO)
            follows += weight[i] * ahead[successor[j]]
            second += weight[i + ONE] * ahead[successor[j + ONE]]
            third += weight[i + TWO] * ahead[successor[j + TWO]]
            fourth += weight[i + THREE] * ahead[successor[j + THREE]]
        for k in range(quarters << TWO, length):
            follows += weight[first + k] * ahead[successor[at + k]]
        follows += second + (third + fourth)
    return follows


@one_pass
def successors_at(rows: Rows, first: Any) -> Any:
    """Return where in `successor` those of the row begin whose probabilities begin at `first`; it is inlined."""
    return ZERO if rows.same else first


@one_pass
def looked_ahead(rows: Rows, row: Index, first: Any, last: Any, ahead: FloatArray) -> float:
    """Return (QV)(s, a) of the pair with the number `row`, whose transitions are ``first : last``; it is inlined."""
    at = successors_at(rows, first)
    follows = expected(first, last, at, rows.ordered, rows.successor, rows.weight, ahead)
    return rows.reward[row] + rows.gamma * follows


@one_pass
def best_action(rows: Rows, s: Index, ahead: FloatArray) -> tuple[float, int, float]:
    """Return max_a (QV)(s, a), its first action, and the maximum over the actions before it; it is inlined.

    Without a legal action that is minus infinity, -1, and minus infinity.
    """
    best, chosen, earlier = -np.inf, -1, -np.inf
    row = s * np.uint64(rows.n_actions)
    last = rows.indptr[row]
    for a in range(rows.n_actions):
        first, last = last, rows.indptr[row + ONE]
        value = looked_ahead(rows, row, first, last, ahead)
        if value > best and last > first:
            best, chosen, earlier = value, a, best
        row += ONE
    return best, chosen, earlier


@one_pass
def action_values(begin: int, end: int, rows: Rows, ahead: FloatArray, q: FloatArray) -> None:
    """Fill QV, flat (S * A,); minus infinity for illegal actions."""
    last = rows.indptr[begin * rows.n_actions]
    for row in range(np.uint64(begin * rows.n_actions), np.uint64(end * rows.n_actions)):
        first, last = last, rows.indptr[row + ONE]
        q[row] = looked_ahead(rows, row, first, last, ahead) if last > first else -np.inf


@one_pass
def backup(begin: int, end: int, rows: Rows, ahead: FloatArray, out: FloatArray, action: StateArray) -> Range:
    """Fill TV into `out` and the first best action of each state into `action`, -1 at terminal states."""
    least, greatest = np.inf, -np.inf
    for s in range(np.uint64(begin), np.uint64(end)):
        best, chosen, _ = best_action(rows, s, ahead)
        if chosen >= 0 and not rows.terminal[s]:
            out[s] = best
            action[s] = chosen
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
        else:
            out[s] = 0.0
            action[s] = -1
    return least, greatest


@one_pass
def greedy_backup(
    begin: int, end: int, rows: Rows, ahead: FloatArray, tolerance: float, value: FloatArray, policy: IndexArray
) -> Range:
    """Fill TV and the first action within `tolerance` of the best, at terminal states too; -1 where none is legal."""
    least, greatest = np.inf, -np.inf
    for s in range(np.uint64(begin), np.uint64(end)):
        best, chosen, earlier = best_action(rows, s, ahead)
        value[s] = best if chosen >= 0 else 0.0
        policy[s] = chosen
        if chosen < 0:
            continue
        if earlier >= best - tolerance:
            for a in range(chosen):
                row = s * np.uint64(rows.n_actions) + np.uint64(a)
                first, last = rows.indptr[row], rows.indptr[row + ONE]
                if last > first and looked_ahead(rows, row, first, last, ahead) >= best - tolerance:
                    policy[s] = a
                    break
        if not rows.terminal[s]:
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
    return least, greatest


@one_pass
def backup_in_place(
    begin: int, end: int, forward: bool, rows: Rows, before: FloatArray, ahead: FloatArray, action: StateArray
) -> Range:
    """Back up each state at once from the newest values of this block, and from those `before` of the other blocks.

    The share of an action that leads back to the state itself is solved for instead of looked up.
    """
    least, greatest = np.inf, -np.inf
    lowest, beyond = np.uint64(begin), np.uint64(end)
    for k in range(beyond - lowest):
        s = lowest + k if forward else beyond - ONE - k
        if rows.terminal[s]:
            continue
        best, chosen = -np.inf, -1
        row = s * np.uint64(rows.n_actions)
        last = rows.indptr[row]
        for a in range(rows.n_actions):
            first, last = last, rows.indptr[row + ONE]
            follows, back = 0.0, 0.0
            at = successors_at(rows, first)
            for i in range(first, last):
                there = np.uint64(rows.successor[at + (i - first)])
                if there == s:
                    back += rows.weight[i]
                elif lowest <= there < beyond:
                    follows += rows.weight[i] * ahead[there]
                else:
                    follows += rows.weight[i] * before[there]
            value = rows.reward[row] + rows.gamma * follows
            if back > 0.0:
                value /= 1.0 - rows.gamma * back
            if value > best and last > first:
                best, chosen = value, a
            row += ONE
        if chosen >= 0:
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
            ahead[s] = best
            action[s] = chosen
    return least, greatest
