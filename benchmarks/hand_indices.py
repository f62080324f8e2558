"""Loops written by hand for learners that choose by means, indices and turns; see `hand_loop.py`."""

import math
from typing import Any

import numpy as np
from bandits_problem import ARMS
from hand_loop import Learner, average, compiled, largest, means_and_counts, nth, untried


def epsilon_greedy(epsilon: float) -> Learner:
    """The rate is a constant."""

    @compiled
    def level(t):
        return epsilon

    return Learner(greedily, average, level)


def epsilon_decreasing(scale: float) -> Learner:
    """The rate is the same for all bandits that were pulled equally often."""
    speed = 1.0 / scale

    @compiled
    def level(t):
        return 1.0 / (1.0 + t * speed)

    return Learner(greedily, average, level)


@compiled
def greedily(tables, room, b, t, epsilon, rng):
    """Each arm once; then the largest mean, or with probability epsilon any arm."""
    if t < ARMS:
        return t
    if rng.random() < epsilon:
        return int(rng.random() * ARMS)
    return largest(tables[0][b], rng)


def optimistic(start: float, rate: float) -> Learner:
    """Never anything but the largest; one number is drawn all the same, to be compared with epsilon = 0."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        rng.random()
        return largest(tables[0][b], rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, n = tables
        q[b, arm] += rate * (reward - q[b, arm])
        n[b, arm] += 1.0

    def tables(bandits: int) -> tuple[Any, ...]:
        return np.full((bandits, ARMS), start), np.zeros((bandits, ARMS))

    return Learner(choose, learn, tables=tables)


@compiled
def by_mean_and_width(tables, room, b, t, width, rng):
    """Q(a) + width / sqrt(N(a)), what was never tried first."""
    q, n = tables[0], tables[1]
    if t < ARMS:
        return untried(n, b, rng)
    for a in range(ARMS):
        room[a] = q[b, a] + width / math.sqrt(n[b, a])
    return largest(room, rng)


def upper_confidence(c: float) -> Learner:
    """Q(a) + c sqrt(ln t / N(a)), each arm once before, from the first to the last."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        if t < ARMS:
            return t
        return by_mean_and_width(tables, room, b, t, level, rng)

    @compiled
    def level(t):
        return c * math.sqrt(math.log(max(t, 1)))

    return Learner(choose, average, level)


def ucb1(c: float) -> Learner:
    """Q(a) + c sqrt(2 ln t / N(a))."""

    @compiled
    def level(t):
        return c * math.sqrt(2.0 * math.log(max(t, 1)))

    return Learner(by_mean_and_width, average, level)


def klucb_normal(std: float) -> Learner:
    """Q(a) + std sqrt(2 ln t / N(a))."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        q, n = tables
        if t < ARMS:
            return untried(n, b, rng)
        for a in range(ARMS):
            room[a] = q[b, a] + std * math.sqrt(2.0 * level / n[b, a])
        return largest(room, rng)

    return Learner(choose, average, logarithm)


@compiled
def logarithm(t):
    """Return ln t."""
    return math.log(max(t, 1))


def ucbv(c: float, zeta: float) -> Learner:
    """Q(a) + sqrt(2 V(a) E / N(a)) + 3 c E / N(a), E = zeta ln t."""

    @compiled
    def level(t):
        return zeta * math.log(max(t, 1))

    @compiled
    def choose(tables, room, b, t, level, rng):
        q, n, squares = tables
        if t < ARMS:
            return untried(n, b, rng)
        for a in range(ARMS):
            variance = squares[b, a] / n[b, a]
            room[a] = q[b, a] + math.sqrt(2.0 * variance * level / n[b, a]) + 3.0 * c * level / n[b, a]
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, n, squares = tables
        n[b, arm] += 1.0
        distance = reward - q[b, arm]
        q[b, arm] += distance / n[b, arm]
        squares[b, arm] += distance * (reward - q[b, arm])

    return Learner(choose, learn, level, lambda bandits: (*means_and_counts(bandits), np.zeros((bandits, ARMS))))


def moss(horizon: int, c: float) -> Learner:
    """Q(a) + c sqrt(max(ln(horizon / (K N(a))), 0) / N(a))."""
    share = float(horizon) / ARMS

    @compiled
    def choose(tables, room, b, t, level, rng):
        q, n = tables
        if t < ARMS:
            return untried(n, b, rng)
        for a in range(ARMS):
            room[a] = q[b, a] + c * math.sqrt(max(math.log(share / n[b, a]), 0.0) / n[b, a])
        return largest(room, rng)

    return Learner(choose, average)


def explore_then_commit(m: int) -> Learner:
    """Those that were not pulled m times, and then the one with the largest mean, which is looked for once."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        q, n, committed = tables
        if t > m * ARMS:
            return committed[b]
        if t == m * ARMS:
            committed[b] = largest(q[b], rng)
            return committed[b]
        ties = 0
        for a in range(ARMS):
            room[a] = n[b, a] < m
            ties += n[b, a] < m
        return nth(int(rng.random() * ties) if ties > 1 else 0, room, 1.0)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, n, _ = tables
        n[b, arm] += 1.0
        if t < m * ARMS:
            q[b, arm] += (reward - q[b, arm]) / n[b, arm]

    def tables(bandits: int) -> tuple[Any, ...]:
        return *means_and_counts(bandits), np.zeros(bandits, dtype=np.int64)

    return Learner(choose, learn, tables=tables)


def successive_elimination(delta: float, c: float) -> Learner:
    """Arms in turn; after a round those are out whose mean is too far below the best."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        _, n, out, _ = tables
        for a in range(ARMS):
            room[a] = -np.inf if out[b, a] else -n[b, a]
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, n, out, left = tables
        average(tables, room, b, arm, reward, t)
        left[b] -= 1
        if left[b] > 0:
            return
        t = n[b, arm]
        best = -np.inf
        for a in range(ARMS):
            if not out[b, a]:
                best = max(best, q[b, a])
        width = c * math.sqrt((math.log(4.0 * ARMS / delta) + 2.0 * math.log(t)) / (2.0 * t))
        for a in range(ARMS):
            out[b, a] = out[b, a] or best - q[b, a] >= 2.0 * width > 0.0
            left[b] += not out[b, a]

    def tables(bandits: int) -> tuple[Any, ...]:
        out, left = np.zeros((bandits, ARMS), dtype=np.bool_), np.full(bandits, ARMS)
        return *means_and_counts(bandits), out, left

    return Learner(choose, learn, tables=tables)


def sliding_window_ucb(window: int, c: float) -> Learner:
    """Q(a) + c sqrt(ln n / N(a)) over the last pulls, which lie in a ring."""

    @compiled
    def level(t):
        return c * math.sqrt(math.log(max(float(min(t, window)), 1.0)))

    @compiled
    def choose(tables, room, b, t, width, rng):
        q, n = tables[0], tables[1]
        for a in range(ARMS):
            room[a] = q[b, a] + width / math.sqrt(n[b, a]) if n[b, a] > 0.0 else np.inf
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, n, total, arms, rewards = tables
        place = t % window
        if t >= window:
            oldest = arms[b, place]
            n[b, oldest] -= 1.0
            total[b, oldest] -= rewards[b, place]
            if n[b, oldest] > 0.0:
                q[b, oldest] = total[b, oldest] / n[b, oldest]
        arms[b, place], rewards[b, place] = arm, reward
        n[b, arm] += 1.0
        total[b, arm] += reward
        if place == window - 1:  # rounding errors must not pile up
            total[b] = 0.0
            for i in range(window):
                total[b, arms[b, i]] += rewards[b, i]
        q[b, arm] = total[b, arm] / n[b, arm]

    def tables(bandits: int) -> tuple[Any, ...]:
        ring = np.zeros((bandits, window), dtype=np.int64), np.zeros((bandits, window))
        return *means_and_counts(bandits), np.zeros((bandits, ARMS)), *ring

    return Learner(choose, learn, level, tables)


def discounted_ucb(discount: float, c: float) -> Learner:
    """Q(a) + c sqrt(ln n / N(a)) with weights that fade; n is summed up anew, as rounding has its part in it."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        n = 0.0
        for a in range(ARMS):
            n += tables[1][b, a]
        return by_mean_and_width(tables, room, b, t, c * math.sqrt(math.log(max(n, 1.0))), rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        for a in range(ARMS):
            tables[1][b, a] *= discount
        average(tables, room, b, arm, reward, t)

    return Learner(choose, learn)
