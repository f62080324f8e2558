"""Compiled inner loops that evaluate one policy, given as a chain with one row for each state.

Row s of the chain is ``indptr[s] : indptr[s + 1]``, the row of the action that the policy takes in s, and empty where
it takes none; its weights are gamma c(s' | s, pi(s)). Everything else is as in `rlsuite.planning.kernels`.
"""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, PointerArray, SingleArray, StateArray, SuccessorArray
from rlsuite.planning.kernels import ONE, PREFETCH, Range, expected
from rlsuite.planning.prefetch import prefetch


@compiled(in_place=True)
def point(n_actions: int, indptr: PointerArray, action: StateArray, chain_indptr: PointerArray) -> None:
    """Fill the row pointers of the chain of a policy (S,), whose entry -1 stands for an empty row."""
    total = np.uint64(0)
    chain_indptr[0] = total
    for s in range(np.uint64(action.size)):
        if action[s] >= 0:
            row = s * np.uint64(n_actions) + np.uint64(action[s])
            total += indptr[row + ONE] - indptr[row]
        chain_indptr[s + ONE] = total


@compiled(in_place=True)
def gather(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    gamma: float,
    action: StateArray,
    chain_indptr: PointerArray,
    chain_successor: SuccessorArray,
    chain_weight: FloatArray | SingleArray,
) -> None:
    """Copy the row of the chosen action of each state, so that following a policy reads no other."""
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] < 0:
            continue
        row = s * np.uint64(n_actions) + np.uint64(action[s])
        first, to = indptr[row], chain_indptr[s]
        for i in range(indptr[row + ONE] - first):
            chain_successor[to + i] = successor[first + i]
            chain_weight[to + i] = gamma * weight[first + i]


@compiled(in_place=True)
def exchange(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    gamma: float,
    action: StateArray,
    taken: StateArray,
    chain_indptr: PointerArray,
    chain_successor: SuccessorArray,
    chain_weight: FloatArray | SingleArray,
) -> int:
    """Copy the rows of states whose action differs from `taken`; return how many, or -1 if a row does not fit."""
    exchanged = 0
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] == taken[s]:
            continue
        if action[s] < 0 or taken[s] < 0:
            return -1
        row = s * np.uint64(n_actions) + np.uint64(action[s])
        first, to = indptr[row], chain_indptr[s]
        length = indptr[row + ONE] - first
        if length != chain_indptr[s + ONE] - to:
            return -1
        for i in range(length):
            chain_successor[to + i] = successor[first + i]
            chain_weight[to + i] = gamma * weight[first + i]
        taken[s] = action[s]
        exchanged += 1
    return exchanged


@compiled(in_place=True)
def earn(
    begin: int, end: int, n_actions: int, reward: FloatArray, action: StateArray, chain_reward: FloatArray
) -> None:
    """Fill r(s, pi(s)), 0 where no action is taken."""
    for s in range(np.uint64(begin), np.uint64(end)):
        chain_reward[s] = 0.0
        if action[s] >= 0:
            chain_reward[s] = reward[s * np.uint64(n_actions) + np.uint64(action[s])]


@compiled(in_place=True)
def follow(
    begin: int,
    end: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    ahead: FloatArray,
    out: FloatArray,
) -> Range:
    """Fill T_pi V, one step of a chain whose row s is ``indptr[s] : indptr[s + 1]``; the reward where it is empty."""
    least, greatest = np.inf, -np.inf
    last = indptr[begin]
    for s in range(np.uint64(begin), np.uint64(end)):
        first, last = last, indptr[s + ONE]
        value = reward[s] + expected(first, last, successor, weight, ahead)
        out[s] = value
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
    return least, greatest


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
            value[s] += scale * total[s] + shift


@compiled(in_place=True)
def propagate(
    begin: int,
    end: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: SingleArray,
    change: SingleArray,
    out: SingleArray,
    total: SingleArray,
) -> Range:
    """Fill gamma C_pi `change` into `out`, in single precision, and add it to `total`."""
    least, greatest = np.inf, -np.inf
    last = indptr[begin]
    for s in range(np.uint64(begin), np.uint64(end)):
        first, last = last, indptr[s + ONE]
        prefetch(successor, first + PREFETCH)
        prefetch(weight, first + PREFETCH)
        follows = np.float32(0.0)
        for i in range(first, last):
            follows += weight[i] * change[successor[i]]
        out[s] = follows
        total[s] += follows
        if last > first:
            least = min(least, float(follows))
            greatest = max(greatest, float(follows))
    return least, greatest


@compiled(in_place=True)
def follow_in_place(
    begin: int,
    end: int,
    forward: bool,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    before: FloatArray,
    ahead: FloatArray,
) -> Range:
    """`follow` with the newest values of this block, as in `backup_in_place`."""
    least, greatest = np.inf, -np.inf
    lowest, beyond = np.uint64(begin), np.uint64(end)
    for k in range(beyond - lowest):
        s = lowest + k if forward else beyond - ONE - k
        first, last = indptr[s], indptr[s + ONE]
        value, back = reward[s], 0.0
        for i in range(first, last):
            there = np.uint64(successor[i])
            if there == s:
                back += weight[i]
            elif lowest <= there < beyond:
                value += weight[i] * ahead[there]
            else:
                value += weight[i] * before[there]
        if back > 0.0:
            value /= 1.0 - back
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
            ahead[s] = value
    return least, greatest
