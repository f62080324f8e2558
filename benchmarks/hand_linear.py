"""Loops written by hand for the linear learners, which learn from all bandits together; see `hand_loop.py`."""

import math
from typing import Any

import numpy as np
from bandits_problem import ARMS, WIDTH, features
from hand_loop import Learner, compiled, largest


def lin_ucb(alpha: float) -> Learner:
    """Index x . w + alpha sqrt(x' B x); what the choice has computed for its arm is not computed again."""

    @compiled
    def choose(tables, room, b, t, level, rng):
        _, weights, inverse, x, product, _ = tables
        for a in range(ARMS):
            square = 0.0
            value = 0.0
            for i in range(WIDTH):
                product[a, i] = 0.0
                for j in range(WIDTH):
                    product[a, i] += inverse[i, j] * x[b, a, j]
                square += x[b, a, i] * product[a, i]
                value += x[b, a, i] * weights[i]
            product[a, WIDTH], product[a, WIDTH + 1] = square, value
            room[a] = value + alpha * math.sqrt(max(square, 0.0))
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        _, weights, inverse, _, product, n = tables
        gain = 1.0 / (1.0 + product[arm, WIDTH])
        error = reward - product[arm, WIDTH + 1]
        for i in range(WIDTH):
            weights[i] += gain * error * product[arm, i]
            for j in range(WIDTH):
                inverse[i, j] -= gain * (product[arm, i] * product[arm, j])
        n[b, arm] += 1.0

    def tables(bandits: int) -> tuple[Any, ...]:
        product, n = np.zeros((ARMS, WIDTH + 2)), np.zeros((bandits, ARMS))
        return np.zeros((bandits, ARMS)), np.zeros(WIDTH), np.eye(WIDTH), features(bandits), product, n

    return Learner(choose, learn, tables=tables)


def linear_thompson(v: float) -> Learner:
    """Value x . (w + v L'^-1 z), L L' = A <- A + x x', w <- w + A^-1 x (r - x . w)."""

    @compiled
    def solve_upper(factor, y):
        for i in range(WIDTH - 1, -1, -1):
            y[i] /= factor[i, i]
            for j in range(i):
                y[j] -= factor[i, j] * y[i]

    @compiled
    def choose(tables, room, b, t, level, rng):
        _, weights, factor, x, y, _ = tables
        for i in range(WIDTH):
            y[i] = rng.standard_normal()
        solve_upper(factor, y)
        for i in range(WIDTH):
            y[i] = weights[i] + v * y[i]
        for a in range(ARMS):
            room[a] = 0.0
            for i in range(WIDTH):
                room[a] += x[b, a, i] * y[i]
        return largest(room, rng)

    @compiled
    def learn(tables, room, b, arm, reward, t):
        _, weights, factor, x, y, n = tables
        value = 0.0
        for i in range(WIDTH):
            value += x[b, arm, i] * weights[i]
            y[i] = x[b, arm, i]
        for k in range(WIDTH):  # one rotation for each column
            if y[k] == 0.0:
                continue
            length = math.hypot(factor[k, k], y[k])
            cosine, sine = factor[k, k] / length, y[k] / length
            factor[k, k] = length
            for i in range(k + 1, WIDTH):
                below = factor[i, k]
                factor[i, k] = cosine * below + sine * y[i]
                y[i] = cosine * y[i] - sine * below
        for i in range(WIDTH):
            y[i] = x[b, arm, i]
            for j in range(i):
                y[i] -= factor[i, j] * y[j]
            y[i] /= factor[i, i]
        solve_upper(factor, y)
        for i in range(WIDTH):
            weights[i] += (reward - value) * y[i]
        n[b, arm] += 1.0

    def tables(bandits: int) -> tuple[Any, ...]:
        y, n = np.zeros(WIDTH), np.zeros((bandits, ARMS))
        return np.zeros((bandits, ARMS)), np.zeros(WIDTH), np.eye(WIDTH), features(bandits), y, n

    return Learner(choose, learn, tables=tables)
