"""The Markov chain of one policy, compiled, because an agent's policy is evaluated again and again as it learns."""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

ONE = np.uint64(1)

LEAST_END = 1e-7
"""Smaller probabilities of ending are what rounding leaves of a row that sums to 1."""


class PolicyChain(NamedTuple):
    """The m nodes that a policy visits; row i is ``pointer[i] : pointer[i + 1]``, as in a csr_array."""

    pointer: IndexArray
    """(m + 1,) int64"""
    column: IndexArray
    """int64, numbers among the m; each at most once in a row"""
    probability: FloatArray
    """float64, of going on there"""
    start: FloatArray
    """(m,) float64, distribution of the first node"""
    reward: FloatArray
    """(m,) float64, mean of a step"""


@compiled
def policy_chain(
    table: FloatArray,
    observation: IndexArray,
    indptr: IndexArray,
    successor: IndexArray,
    probability: FloatArray,
    start: FloatArray,
    reward: FloatArray,
    tolerance: float,
) -> tuple[int, IndexArray, IndexArray, FloatArray, FloatArray, FloatArray]:
    """Return -1 and the fields of a `PolicyChain`, or the first node in which the policy is not a distribution.

    It is one function because a small model is evaluated in less time than NumPy takes for a few calls.

    Parameters
    ----------
    table : ndarray (n_observations, A) float64
        The policy: probability of each action after each observation.
    observation : ndarray (n,) int64
        The observation of each node.
    indptr, successor, probability : ndarray int64, int64, float64
        What follows action a in node i, with the episode going on: row ``i * A + a``.
    start : ndarray (n,) float64
        Distribution of the first node.
    reward : ndarray (n, A) float64
        Mean reward of each action in each node.
    tolerance : float
        How far the sum of a row of the policy may be from 1.
    """
    n, n_actions = reward.shape
    for i in range(n):
        total, least = 0.0, 0.0
        for a in range(n_actions):
            total += table[observation[i], a]
            least = min(least, table[observation[i], a])
        if not (least == 0.0 and abs(total - 1.0) <= tolerance):  # so that NaN fails, too
            nothing, none = np.empty(0, dtype=np.int64), np.empty(0)
            return i, nothing, nothing, none, none, none

    # First, find the nodes that the policy can reach, in any order.
    number = np.full(n, -1, dtype=np.int64)
    waiting = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        if start[i] > 0.0:
            number[i] = 0
            waiting[count] = i
            count += 1
    m, n_entries = count, 0
    while count:
        count -= 1
        i = waiting[count]
        for a in range(n_actions):
            if table[observation[i], a] > 0.0:
                for k in range(indptr[i * n_actions + a], indptr[i * n_actions + a + 1]):
                    n_entries += 1
                    if number[successor[k]] < 0:
                        number[successor[k]] = 0
                        waiting[count] = successor[k]
                        count += 1
                        m += 1

    # Number these nodes in ascending order, so that the result does not depend on the order of the search.
    node = np.empty(m, dtype=np.int64)
    m = 0
    for i in range(n):
        if number[i] == 0:
            number[i] = m
            node[m] = i
            m += 1

    # Rows of the chain: a successor that several actions lead to is one entry. `place` holds the position of each
    # column; positions in earlier rows are less than `begin`, so `place` need not be cleared.
    pointer = np.zeros(m + 1, dtype=np.int64)
    column = np.empty(n_entries, dtype=np.int64)
    mean = np.empty(n_entries)
    first, mean_reward = np.empty(m), np.zeros(m)
    position = np.full(m, -1, dtype=np.int64)
    end = 0
    for row in range(m):
        i, begin = node[row], end
        first[row] = start[i]
        for a in range(n_actions):
            weight = table[observation[i], a]
            if weight > 0.0:
                mean_reward[row] += weight * reward[i, a]
                for k in range(indptr[i * n_actions + a], indptr[i * n_actions + a + 1]):
                    j = number[successor[k]]
                    if position[j] < begin:
                        position[j] = end
                        column[end] = j
                        mean[end] = 0.0
                        end += 1
                    mean[position[j]] += weight * probability[k]
        pointer[row + 1] = end
    return -1, pointer, column[:end], mean[:end], first, mean_reward


@compiled
def value_by_elimination(pointer: IndexArray, column: IndexArray, weight: FloatArray, reward: FloatArray) -> FloatArray:
    """Return the v (m,) with v = reward + C v, by Gaussian elimination in dense rows.

    No row sums to more than 1, and every node comes to an end (or is discounted), so that no pivot needs to be looked
    for. The zeros left of the diagonal and at the end of each row are passed over: for the chain of a policy, this
    takes half the time of LAPACK. The arguments are those of `value_of_steps`.
    """
    m = reward.size
    system = np.zeros((m, m + 1))  # I - C, and the reward in the last column
    last = np.empty(m, dtype=np.int64)  # of each row, the last column that is not 0
    for i in range(m):
        row = system[i]
        row[i], row[m], last[i] = 1.0, reward[i], i
        for k in range(pointer[i], pointer[i + 1]):
            row[column[k]] -= weight[k]
            last[i] = max(last[i], column[k])
    for pivot in range(m):
        end = last[pivot] + 1
        for i in range(pivot + 1, m):
            if system[i, pivot] != 0.0:
                factor = system[i, pivot] / system[pivot, pivot]
                last[i] = max(last[i], end - 1)
                # slices, because the compiler then uses vector instructions
                row, subtracted = system[i, pivot + 1 : end], system[pivot, pivot + 1 : end]
                for j in range(row.size):
                    row[j] -= factor * subtracted[j]
                system[i, m] -= factor * system[pivot, m]
    value = np.empty(m)
    for i in range(m - 1, -1, -1):
        ahead = system[i, m]
        for j in range(i + 1, last[i] + 1):
            ahead -= system[i, j] * value[j]
        value[i] = ahead / system[i, i]
    return value


@compiled
def value_of_steps(
    pointer: IndexArray, column: IndexArray, weight: FloatArray, reward: FloatArray, steps: int
) -> tuple[FloatArray, bool]:
    """Return v_k = reward + C v_(k-1), from v_0 = 0, for k = steps, and whether more steps would change nothing.

    Parameters
    ----------
    pointer, column, weight : ndarray
        The rows of C.
    reward : ndarray (m,) float64
        Mean reward of a step.
    steps : int
        How many.
    """
    # Unsigned indices need no check for negative values: that is three times faster.
    m = reward.size
    value, before = np.zeros(m), np.zeros(m)
    for _ in range(steps):
        value, before = before, value
        same = True
        last = np.uint64(0)
        for i in range(np.uint64(m)):
            first, last = last, np.uint64(pointer[i + ONE])
            ahead = 0.0
            for k in range(first, last):
                ahead += weight[k] * before[np.uint64(column[k])]
            ahead += reward[i]
            same = same and ahead == before[i]
            value[i] = ahead
        if same:
            return value, True
    return value, False


@compiled
def ways_to_the_end(pointer: IndexArray, column: IndexArray, probability: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return for each of the m nodes the probability of an end in one step, and whether an end can be reached."""
    m = pointer.size - 1
    leaving = np.ones(m)
    begin = np.zeros(m + 1, dtype=np.int64)
    for i in range(m):
        for k in range(pointer[i], pointer[i + 1]):
            leaving[i] -= probability[k]
            begin[column[k] + 1] += 1
        if leaving[i] < LEAST_END:
            leaving[i] = 0.0
    begin = np.cumsum(begin)
    predecessor = np.empty(column.size, dtype=np.int64)
    end = begin.copy()
    for i in range(m):
        for k in range(pointer[i], pointer[i + 1]):
            predecessor[end[column[k]]] = i
            end[column[k]] += 1

    found = leaving > 0.0
    waiting = np.empty(m, dtype=np.int64)
    count = 0
    for i in range(m):
        if found[i]:
            waiting[count] = i
            count += 1
    while count:
        count -= 1
        j = waiting[count]
        for k in range(begin[j], begin[j + 1]):
            if not found[predecessor[k]]:
                found[predecessor[k]] = True
                waiting[count] = predecessor[k]
                count += 1
    return leaving, found
