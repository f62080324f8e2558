"""Compiled inner loops of planning: each computes the states from ``begin`` to ``end``, and writes to no others.

The letters are those of `rlsuite.planning.operators`. Every kernel reads the rows of a prepared model: the transitions
of the pair (s, a) are ``indptr[s * A + a] : indptr[s * A + a + 1]``, each with its successor and its weight
c(s' | s, a); ``reward[s * A + a]`` is r(s, a). ``ahead`` holds the values of successors. A *terminal* state is one that
ends the episode when it is entered: its value is 0, so ``ahead`` is kept at 0 there and sweeps skip it.

Indices are unsigned numbers, which avoids the test whether one counts from the end; a row begins where the one
before it ended, which is not read again; and whether a row is empty, an illegal action, is asked after its sum, not
before. Together that makes the inner loop three to four times faster.
"""

import numpy as np

from rlsuite.core.interpretation import one_pass
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, PointerArray, StateArray, SuccessorArray

ONE = np.uint64(1)

Range = tuple[float, float]
"""Least and greatest change of a sweep, over the states that are not terminal; (inf, -inf) if there is none."""


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
) -> tuple[float, float, int, bool]:
    """Return the least and the greatest row sum of c, the length of the longest row, and whether one is mixed.

    Mixed is a row that enters a state marked as terminal by a transition that continues.
    """
    least, greatest, longest, mixed = np.inf, 0.0, 0, False
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
        if any_terminal:
            for i in range(first, last):
                if terminal[next_state[i]] and not terminated[i]:
                    mixed = True
    return least, greatest, longest, mixed


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
def expected(first: int, last: int, successor: SuccessorArray, weight: FloatArray, ahead: FloatArray) -> float:
    """Return sum_s' c(s' | s, a) V(s') of the row ``first : last``; it is inlined."""
    follows = 0.0
    for i in range(first, last):
        follows += weight[i] * ahead[successor[i]]
    return follows


@one_pass
def action_values(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    gamma: float,
    ahead: FloatArray,
    q: FloatArray,
) -> None:
    """Fill QV, flat (S * A,); minus infinity for illegal actions."""
    last = indptr[begin * n_actions]
    for row in range(np.uint64(begin * n_actions), np.uint64(end * n_actions)):
        first, last = last, indptr[row + ONE]
        follows = expected(first, last, successor, weight, ahead)
        q[row] = reward[row] + gamma * follows if last > first else -np.inf


@one_pass
def backup(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    gamma: float,
    terminal: BoolArray,
    ahead: FloatArray,
    out: FloatArray,
    action: StateArray,
) -> Range:
    """Fill TV into `out` and the first best action of each state into `action`, -1 at terminal states."""
    least, greatest = np.inf, -np.inf
    row = np.uint64(begin * n_actions)
    last = indptr[row]
    for s in range(np.uint64(begin), np.uint64(end)):
        best, chosen = -np.inf, -1
        for a in range(n_actions):
            first, last = last, indptr[row + ONE]
            follows = expected(first, last, successor, weight, ahead)
            value = reward[row] + gamma * follows
            if value > best and last > first:
                best, chosen = value, a
            row += ONE
        if chosen >= 0 and not terminal[s]:
            out[s] = best
            action[s] = chosen
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
        else:
            out[s] = 0.0
            action[s] = -1
    return least, greatest


@one_pass
def best_rewards(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    reward: FloatArray,
    terminal: BoolArray,
    out: FloatArray,
    action: StateArray,
) -> Range:
    """Fill TV of V = 0 and its actions, as `backup` does, without reading the successors."""
    least, greatest = np.inf, -np.inf
    row = np.uint64(begin * n_actions)
    last = indptr[row]
    for s in range(np.uint64(begin), np.uint64(end)):
        out[s] = 0.0
        action[s] = -1
        if terminal[s]:
            row += np.uint64(n_actions)
            last = indptr[row]
            continue
        best, chosen = -np.inf, -1
        for a in range(n_actions):
            first, last = last, indptr[row + ONE]
            if reward[row] > best and last > first:
                best, chosen = reward[row], a
            row += ONE
        if chosen >= 0:
            out[s] = best
            action[s] = chosen
            least = min(least, best)
            greatest = max(greatest, best)
    return least, greatest


@one_pass
def greedy_backup(
    begin: int,
    end: int,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    gamma: float,
    terminal: BoolArray,
    ahead: FloatArray,
    tolerance: float,
    value: FloatArray,
    policy: IndexArray,
) -> Range:
    """Fill TV and the first action within `tolerance` of the best, at terminal states too; -1 where none is legal."""
    least, greatest = np.inf, -np.inf
    row = np.uint64(begin * n_actions)
    last = indptr[row]
    for s in range(np.uint64(begin), np.uint64(end)):
        best, chosen = -np.inf, -1
        earlier = -np.inf  # the largest value of the actions before the best one
        for a in range(n_actions):
            first, last = last, indptr[row + ONE]
            follows = expected(first, last, successor, weight, ahead)
            q = reward[row] + gamma * follows
            if q > best and last > first:
                best, chosen, earlier = q, a, best
            row += ONE
        value[s] = best if chosen >= 0 else 0.0
        policy[s] = chosen
        if chosen < 0:
            continue
        if earlier >= best - tolerance:
            for a in range(chosen):
                again = s * np.uint64(n_actions) + np.uint64(a)
                follows = expected(indptr[again], indptr[again + ONE], successor, weight, ahead)
                legal = indptr[again + ONE] > indptr[again]
                if legal and reward[again] + gamma * follows >= best - tolerance:
                    policy[s] = a
                    break
        if not terminal[s]:
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
    return least, greatest


@one_pass
def backup_in_place(
    begin: int,
    end: int,
    forward: bool,
    n_actions: int,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    gamma: float,
    terminal: BoolArray,
    before: FloatArray,
    ahead: FloatArray,
    action: StateArray,
) -> Range:
    """Back up each state at once from the newest values of this block, and from those `before` of the other blocks.

    The share of an action that leads back to the state itself is solved for instead of looked up.
    """
    least, greatest = np.inf, -np.inf
    lowest, beyond = np.uint64(begin), np.uint64(end)
    for k in range(beyond - lowest):
        s = lowest + k if forward else beyond - ONE - k
        if terminal[s]:
            continue
        best, chosen = -np.inf, -1
        row = s * np.uint64(n_actions)
        last = indptr[row]
        for a in range(n_actions):
            first, last = last, indptr[row + ONE]
            follows, back = 0.0, 0.0
            for i in range(first, last):
                there = np.uint64(successor[i])
                if there == s:
                    back += weight[i]
                elif lowest <= there < beyond:
                    follows += weight[i] * ahead[there]
                else:
                    follows += weight[i] * before[there]
            value = reward[row] + gamma * follows
            if back > 0.0:
                value /= 1.0 - gamma * back
            if value > best and last > first:
                best, chosen = value, a
            row += ONE
        if chosen >= 0:
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
            ahead[s] = best
            action[s] = chosen
    return least, greatest
