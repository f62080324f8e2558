"""The inner loops of following one policy, compiled: a chain of rows, one for each state.

Row s of the chain is ``indptr[s] : indptr[s + 1]``, the row of the action that the policy takes in s, and empty where
it takes none. Everything else is as in `rlsuite.planning.kernels`.
"""

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import FloatArray, PointerArray, SingleArray, StateArray, SuccessorArray
from rlsuite.planning.kernels import Range, expected


@compiled(in_place=True)
def point(n_actions: int, indptr: PointerArray, action: StateArray, chain_indptr: PointerArray) -> None:
    """Fill the row pointers of the chain of a policy (S,), whose entry -1 stands for an empty row."""
    chain_indptr[0] = 0
    for s in range(action.size):
        length = 0
        if action[s] >= 0:
            row = s * n_actions + action[s]
            length = indptr[row + 1] - indptr[row]
        chain_indptr[s + 1] = chain_indptr[s] + length


@compiled(in_place=True)
def gather(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    action: StateArray,
    chain_indptr: PointerArray,
    chain_successor: SuccessorArray,
    chain_weight: FloatArray | SingleArray,
    chain_reward: FloatArray,
) -> None:
    """Copy the row of the chosen action of each state, so that following a policy reads no other."""
    for s in range(begin, end):
        chain_reward[s] = 0.0
        if action[s] < 0:
            continue
        row = s * n_actions + action[s]
        chain_reward[s] = reward[row]
        first, to = indptr[row], chain_indptr[s]
        for i in range(indptr[row + 1] - first):
            chain_successor[to + i] = successor[first + i]
            chain_weight[to + i] = weight[first + i]


@compiled(in_place=True)
def exchange(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    action: StateArray,
    taken: StateArray,
    chain_indptr: PointerArray,
    chain_successor: SuccessorArray,
    chain_weight: FloatArray | SingleArray,
    chain_reward: FloatArray,
) -> int:
    """Copy the rows of states whose action is another one than `taken`; return how many, or -1 if one does not fit."""
    exchanged = 0
    for s in range(begin, end):
        if action[s] == taken[s]:
            continue
        if action[s] < 0 or taken[s] < 0:
            return -1
        row = s * n_actions + action[s]
        first, to = indptr[row], chain_indptr[s]
        length = indptr[row + 1] - first
        if length != chain_indptr[s + 1] - to:
            return -1
        chain_reward[s] = reward[row]
        for i in range(length):
            chain_successor[to + i] = successor[first + i]
            chain_weight[to + i] = weight[first + i]
        taken[s] = action[s]
        exchanged += 1
    return exchanged


@compiled(in_place=True)
def follow(
    begin: int,
    end: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    gamma: float,
    ahead: FloatArray,
    out: FloatArray,
) -> Range:
    """Fill T_pi V, one step of a chain whose row s is ``indptr[s] : indptr[s + 1]``; the reward where it is empty."""
    least, greatest = np.inf, -np.inf
    for s in range(begin, end):
        first, last = indptr[s], indptr[s + 1]
        follows = expected(first, last, successor, weight, ahead)
        value = reward[s] + gamma * follows
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
    for s in range(begin, end):
        change[s] = (after[s] - before[s]) / scale if action[s] >= 0 else 0.0
        total[s] = 0.0


@compiled(in_place=True)
def end_series(
    begin: int, end: int, action: StateArray, total: SingleArray, scale: float, shift: float, value: FloatArray
) -> None:
    """Add ``scale * total + shift`` to `value` where an action is taken."""
    for s in range(begin, end):
        if action[s] >= 0:
            value[s] += scale * total[s] + shift


@compiled(in_place=True)
def propagate(
    begin: int,
    end: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: SingleArray,
    gamma: float,
    change: SingleArray,
    out: SingleArray,
    total: SingleArray,
) -> Range:
    """Fill gamma C_pi `change` into `out`, in single precision, and add it to `total`."""
    least, greatest = np.inf, -np.inf
    discount = np.float32(gamma)
    for s in range(begin, end):
        first, last = indptr[s], indptr[s + 1]
        follows = np.float32(0.0)
        for i in range(first, last):
            follows += weight[i] * change[successor[i]]
        follows *= discount
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
    gamma: float,
    before: FloatArray,
    ahead: FloatArray,
) -> Range:
    """`follow` with the newest values of this block, as in `backup_in_place`."""
    least, greatest = np.inf, -np.inf
    for k in range(end - begin):
        s = begin + k if forward else end - 1 - k
        first, last = indptr[s], indptr[s + 1]
        follows, back = 0.0, 0.0
        for i in range(first, last):
            there = successor[i]
            if there == s:
                back += weight[i]
            elif begin <= there < end:
                follows += weight[i] * ahead[there]
            else:
                follows += weight[i] * before[there]
        value = reward[s] + gamma * follows
        if back > 0.0:
            value /= 1.0 - gamma * back
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
            ahead[s] = value
    return least, greatest
