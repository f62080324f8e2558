"""The loop of a bandit learner written by hand, without the learner: arms, rewards, and the choice of the largest.

A learner is a few functions that numba builds into the loop, in which its parameters are constants:

``tables(bandits)``                          makes a tuple of arrays, the first of which is learned and compared
``level(t)``                                 is what all indices have in common after t pulls of each bandit
``choose(tables, room, b, t, level, rng)``   chooses an arm of bandit b
``learn(tables, room, b, arm, reward, t)``   learns from its reward
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from bandits_problem import ARMS

# No checks of divisors, no counting of references, all in one piece; nothing that changes a result, as fastmath would.
compiled = numba.njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)


@compiled
def no_level(t: int) -> float:
    """Nothing in common."""
    return 0.0


def means_and_counts(bandits: int) -> tuple[Any, ...]:
    """Mean reward and number of pulls of every arm."""
    return np.zeros((bandits, ARMS)), np.zeros((bandits, ARMS))


class Learner(NamedTuple):
    """The functions of a learner."""

    choose: Callable[..., int]
    learn: Callable[..., None]
    level: Callable[..., float] = no_level
    tables: Callable[[int], tuple[Any, ...]] = means_and_counts


def loop_of(learner: Learner, bernoulli: bool) -> Callable[..., float]:
    """Compile ``play(means, tables, room, rng, env_rng, pulls)``, which returns the sum of all rewards."""
    choose, learn, level_of, _ = learner

    @compiled
    def play(means, tables, room, rng, env_rng, pulls):
        total = 0.0
        for t in range(pulls):
            level = level_of(t)
            for b in range(means.shape[0]):
                arm = choose(tables, room, b, t, level, rng)
                env_rng.random()  # where a table of transitions is asked what comes next
                if bernoulli:
                    reward = 1.0 if env_rng.random() < means[b, arm] else 0.0
                else:
                    reward = means[b, arm] + env_rng.standard_normal()
                total += reward
                learn(tables, room, b, arm, reward, t)
        return total

    return play


@compiled
def average(tables, room, b, arm, reward, t):
    """Q(a) <- Q(a) + (r - Q(a)) / N(a)."""
    q, n = tables[0], tables[1]
    n[b, arm] += 1.0
    q[b, arm] += (reward - q[b, arm]) / n[b, arm]


@compiled
def nth(chosen, score, best):
    """The place of the score that is as good as the best, after so many others."""
    for arm in range(ARMS):
        if score[arm] == best:
            if chosen == 0:
                return arm
            chosen -= 1
    return 0


@compiled
def largest(score, rng):
    """The place of the largest of ten numbers, ties at random."""
    best = score[0]
    arm = 0
    for a in range(1, ARMS):
        if score[a] > best:
            best = score[a]
            arm = a
    ties = 0
    for a in range(ARMS):
        ties += score[a] == best
    if ties > 1:
        return nth(int(rng.random() * ties), score, best)
    return arm


@compiled
def untried(n, b, rng):
    """One of the arms that were never pulled."""
    ties = 0
    for a in range(ARMS):
        ties += n[b, a] == 0.0
    chosen = int(rng.random() * ties) if ties > 1 else 0
    return nth(chosen, n[b], 0.0)


@compiled
def drawn(weights, remaining):
    """The arm at which the sum of the weights exceeds a number."""
    for arm in range(ARMS):
        remaining -= weights[arm]
        if remaining < 0.0:
            return arm
    return ARMS - 1


@compiled
def exponentials(table, b, sharpness, out):
    """Fill in exp(sharpness table) but for a factor that keeps it finite; return the sum."""
    top = -np.inf
    for a in range(ARMS):
        top = max(top, sharpness * table[b, a])
    total = 0.0
    for a in range(ARMS):
        out[a] = math.exp(sharpness * table[b, a] - top)
        total += out[a]
    return total
