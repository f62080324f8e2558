"""Indices of two arms, computed by hand."""

import math

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import every_action


def divergence(p, q):
    """d(p, q) of two Bernoulli distributions, in nats."""
    first = p * math.log(p / q) if p else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def bisection(p, level):
    """The largest q in [p, 1] with d(p, q) <= level."""
    low, high = p, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle < 1.0 and divergence(p, middle) <= level else (low, middle)
    return low


def test_a_few_indices_by_hand():
    """Rewards 1, 0, 1 of the first arm and 0.5 of the second, after which t = 4."""
    ln4 = math.log(4)
    for agent, expected in [
        (rl.UCB1(), (2 / 3 + math.sqrt(2 * ln4 / 3), 0.5 + math.sqrt(2 * ln4))),
        (rl.UCBV(zeta=1.0), (2 / 3 + math.sqrt(2 * (2 / 9) * ln4 / 3) + ln4, 0.5 + 3 * ln4)),
        (rl.MOSS(horizon=12), (2 / 3 + math.sqrt(math.log(2) / 3), 0.5 + math.sqrt(math.log(6)))),
        (rl.KLUCB(c=3.0), (bisection(2 / 3, (ln4 + 3 * math.log(ln4)) / 3), bisection(0.5, ln4 + 3 * math.log(ln4)))),
        (rl.KLUCBNormal(std=2.0), (2 / 3 + 2 * math.sqrt(2 * ln4 / 3), 0.5 + 2 * math.sqrt(2 * ln4))),
    ]:
        memory = agent.init_memory(np.ones((1, 2), dtype=bool), every_action)
        for arm, reward in [(0, 1.0), (0, 0.0), (1, 0.5), (0, 1.0)]:
            type(agent).step(memory, rl.Transition(0, arm, reward, 0, True, False), np.random.default_rng(0))
        level = memory.learned.level(memory, 0)
        assert [memory.learned.score(memory, 0, arm, level) for arm in (0, 1)] == pytest.approx(expected, rel=1e-14)
