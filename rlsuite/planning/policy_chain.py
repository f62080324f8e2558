"""The Markov chain of one policy, compiled, because an agent's policy is evaluated again and again as it learns."""

from typing import NamedTuple

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

ONE = np.uint64(1)

LEAST_END = 1e-7
"""Smaller probabilities of ending are what rounding leaves of a row that sums to 1."""


class PolicyChain(NamedTuple):
    """The m nodes that a policy visits; row i is ``pointer[i] : pointer[i + 1]``, as in a csr_array."""

    node: IndexArray
    """(m,) int64, which nodes these are, ascending"""
    pointer: IndexArray
    """(m + 1,) int64"""
    column: IndexArray
    """int64, numbers among the m; each at most once in a row"""
    probability: FloatArray
    """float64, of going on there"""


@compiled
def policy_chain(
    weights: FloatArray, indptr: IndexArray, successor: IndexArray, probability: FloatArray, start: FloatArray
) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray]:
    """Return the fields of a `PolicyChain`.

    Parameters
    ----------
    weights : ndarray (n, A) float64
        Probability of each action in each node.
    indptr, successor, probability : ndarray int64, int64, float64
        What follows action a in node i, with the episode going on: row ``i * A + a``.
    start : ndarray (n,) float64
        Distribution of the first node.
    """
    n, n_actions = weights.shape
    number = np.full(n, -1, dtype=np.int64)
    waiting = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        if start[i] > 0.0:
            number[i] = 0
            waiting[count] = i
            count += 1
    n_visited, n_entries = count, 0
    while count:
        count -= 1
        i = waiting[count]
        for a in range(n_actions):
            if weights[i, a] > 0.0:
                for k in range(indptr[i * n_actions + a], indptr[i * n_actions + a + 1]):
                    n_entries += 1
                    if number[successor[k]] < 0:
                        number[successor[k]] = 0
                        waiting[count] = successor[k]
                        count += 1
                        n_visited += 1

    node = np.empty(n_visited, dtype=np.int64)
    m = 0
    for i in range(n):
        if number[i] == 0:
            number[i] = m
            node[m] = i
            m += 1

    pointer = np.zeros(m + 1, dtype=np.int64)
    column = np.empty(n_entries, dtype=np.int64)
    mean = np.empty(n_entries)
    place = np.full(m, -1, dtype=np.int64)
    end = 0
    for row in range(m):
        i, begin = node[row], end
        for a in range(n_actions):
            if weights[i, a] > 0.0:
                for k in range(indptr[i * n_actions + a], indptr[i * n_actions + a + 1]):
                    j = number[successor[k]]
                    if place[j] < begin:
                        place[j] = end
                        column[end] = j
                        mean[end] = 0.0
                        end += 1
                    mean[place[j]] += weights[i, a] * probability[k]
        pointer[row + 1] = end
    return node, pointer, column[:end], mean[:end]


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
    # Unsigned indices do not have to be checked for counting from the end: that is three times faster.
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
    """Return the probability that each of the m nodes ends the episode at once, and whether one that may is reached."""
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
