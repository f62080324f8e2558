"""Loops written by hand for learners that draw, or that invert a divergence; see `hand_loop.py`."""

import math
from typing import Any

import numpy as np
from bandits_problem import ARMS
from hand_loop import Learner, average, compiled, drawn, exponentials, largest, means_and_counts, untried


def softmax(temperature: float) -> Learner:
    """Each arm once; then by exp(Q(a) / temperature)."""
    sharpness = 1.0 / temperature

    @compiled
    def choose(tables, room, b, t, level, rng):
        if t < ARMS:
            return t
        total = exponentials(tables[0], b, sharpness, room)
        return drawn(room, rng.random() * total)

    return Learner(choose, average)


def gradient(rate: float, baseline: bool = True) -> Learner:
    """H(a) <- H(a) + rate (r - b) (1{a = A} - pi(a)); the exponentials of the choice are those of the gradient."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        room[ARMS] = exponentials(tables[0], b, 1.0, room)
        return drawn(room, rng.random() * room[ARMS])

    @compiled
    def learn(tables, room, b, arm, reward, t):
        preference, mean = tables
        push = rate * (reward - mean[b] if t > 0 else 0.0) if baseline else rate * reward
        for a in range(ARMS):
            preference[b, a] += push * ((1.0 if a == arm else 0.0) - room[a] / room[ARMS])
        mean[b] += (reward - mean[b]) / (t + 1)

    return Learner(choose, learn, tables=lambda bandits: (np.zeros((bandits, ARMS)), np.zeros(bandits)))


def gradient_no_baseline(rate: float) -> Learner:
    """The same with b = 0."""
    return gradient(rate, baseline=False)


def exp3(epsilon: float) -> Learner:
    """p(a) = (1 - epsilon) w(a) / sum w + epsilon / K; ln w(A) <- ln w(A) + epsilon r / (K p(A))."""
    uniform = epsilon / ARMS

    @compiled
    def choose(tables, room, b, t, level, rng):
        total = exponentials(tables[0], b, 1.0, room)
        for a in range(ARMS):
            room[a] = (1.0 - epsilon) * room[a] / total + uniform
        return drawn(room, rng.random())

    @compiled
    def learn(tables, room, b, arm, reward, t):
        tables[0][b, arm] += epsilon * reward / (room[arm] * ARMS)

    return Learner(choose, learn, tables=lambda bandits: (np.zeros((bandits, ARMS)),))


def thompson_bernoulli() -> Learner:
    """The largest draw from Beta(alpha(a), beta(a))."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        _, alpha, beta = tables
        best = -np.inf
        arm = 0
        for a in range(ARMS):
            value = rng.beta(alpha[b, a], beta[b, a])
            if value > best:
                best = value
                arm = a
        return arm

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, alpha, beta = tables
        if reward >= 1.0:
            alpha[b, arm] += 1.0
        else:
            beta[b, arm] += 1.0
        q[b, arm] = alpha[b, arm] / (alpha[b, arm] + beta[b, arm])

    def tables(bandits: int) -> tuple[Any, ...]:
        return np.full((bandits, ARMS), 0.5), np.ones((bandits, ARMS)), np.ones((bandits, ARMS))

    return Learner(choose, learn, tables=tables)


def thompson_normal() -> Learner:
    """The largest draw from N(mu(a), 1 / precision(a)), with unit prior and unit noise."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        mean, precision = tables
        best = -np.inf
        arm = 0
        for a in range(ARMS):
            value = rng.normal(mean[b, a], 1.0 / math.sqrt(precision[b, a]))
            if value > best:
                best = value
                arm = a
        return arm

    @compiled
    def learn(tables, room, b, arm, reward, t):
        mean, precision = tables
        precision[b, arm] += 1.0
        gain = 1.0 / precision[b, arm]
        mean[b, arm] += gain * (reward - mean[b, arm])

    return Learner(choose, learn, tables=lambda bandits: (np.zeros((bandits, ARMS)), np.ones((bandits, ARMS))))


def thompson_normal_gamma() -> Learner:
    """The largest of draws tau ~ Gamma(alpha, rate beta), m ~ N(mu, 1 / (kappa tau))."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        mean, kappa, alpha, beta = tables
        best = -np.inf
        arm = 0
        for a in range(ARMS):
            tau = rng.gamma(alpha[b, a], 1.0 / beta[b, a])
            value = rng.normal(mean[b, a], 1.0 / math.sqrt(kappa[b, a] * max(tau, 1e-300)))
            if value > best:
                best = value
                arm = a
        return arm

    @compiled
    def learn(tables, room, b, arm, reward, t):
        mean, kappa, alpha, beta = tables
        seen = kappa[b, arm]
        distance = reward - mean[b, arm]
        beta[b, arm] += 0.5 * seen * distance * distance / (seen + 1.0)
        alpha[b, arm] += 0.5
        kappa[b, arm] = seen + 1.0
        mean[b, arm] += distance / (seen + 1.0)

    def tables(bandits: int) -> tuple[Any, ...]:
        return np.zeros((bandits, ARMS)), *(np.ones((bandits, ARMS)) for _ in range(3))

    return Learner(choose, learn, tables=tables)


@compiled
def bernoulli_bound(p, entropy, level):
    """The q >= p with d(p, q) = level, by Newton's method from above until rounding makes it stand still."""
    if p >= 1.0 or level <= 0.0:
        return min(p, 1.0)
    if p <= 0.0:
        return -math.expm1(-level)
    q = min(1.0 - math.exp((entropy - level) / (1.0 - p)), p + math.sqrt(0.5 * level))
    if q >= 1.0:
        return 1.0
    while True:
        divergence = entropy - p * math.log(q) - (1.0 - p) * math.log(1.0 - q)
        newer = q - (divergence - level) * q * (1.0 - q) / (q - p)
        if not p < newer < q:
            return q
        q = newer


def klucb() -> Learner:
    """The largest q with N(a) d(Q(a), q) <= ln t, for the arm pulled most, and for those that may be better."""

    @compiled
    def level(t):
        return math.log(max(t, 1))

    @compiled
    def choose(tables, room, b, t, level, rng):
        q, n, entropy = tables
        if t < ARMS:
            return untried(n, b, rng)
        leader = 0
        for a in range(1, ARMS):
            if n[b, a] > n[b, leader]:
                leader = a
        best = bernoulli_bound(q[b, leader], entropy[b, leader], level / n[b, leader])
        log_best, log_rest = math.log(best), math.log(1.0 - best)
        room[leader] = best
        for a in range(ARMS):
            if a == leader:
                continue
            p = q[b, a]
            divergence = entropy[b, a] - p * log_best - (1.0 - p) * log_rest
            if p < best < 1.0 and n[b, a] * (divergence - 1e-12) > level * (1.0 + 1e-12):
                room[a] = -np.inf
                continue
            room[a] = bernoulli_bound(p, entropy[b, a], level / n[b, a])
            if room[a] > best:
                best = room[a]
                log_best, log_rest = math.log(best), math.log(1.0 - best)
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        q, _, entropy = tables
        average(tables, room, b, arm, reward, t)
        p = q[b, arm]
        entropy[b, arm] = (p * math.log(p) if p > 0.0 else 0.0) + ((1.0 - p) * math.log(1.0 - p) if p < 1.0 else 0.0)

    return Learner(choose, learn, level, lambda bandits: (*means_and_counts(bandits), np.zeros((bandits, ARMS))))
