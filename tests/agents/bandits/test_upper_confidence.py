"""Upper confidence bounds against plain Python, run on the bandits' own pulls and rewards."""

import math

import numpy as np
import pytest

import rlsuite as rl

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


def test_ucb1(follow, live):
    def index(state, arm, seen, t):
        return np.mean(seen) + 1.5 * math.sqrt(2 * math.log(t) / len(seen))

    follow(*live(rl.UCB1(c=1.5))[:2], index)


def test_ucbv(follow, live):
    def index(state, arm, seen, t):
        e = 0.7 * math.log(t)
        return np.mean(seen) + math.sqrt(2 * np.var(seen) * e / len(seen)) + 3 * 0.25 * e / len(seen)

    agent, story, _ = live(rl.UCBV(c=0.25, zeta=0.7))
    follow(agent, story, index)
    for state in range(STATES):
        for arm in range(ARMS):
            seen = [r for s, a, r in story if (s, a) == (state, arm)]
            assert agent.squares_[state, arm] == pytest.approx(np.var(seen) * len(seen), abs=1e-11)


def test_moss(follow, live):
    def index(state, arm, seen, t):
        return np.mean(seen) + 2.0 * math.sqrt(max(math.log(150 / (ARMS * len(seen))), 0) / len(seen))

    follow(*live(rl.MOSS(horizon=150, c=2.0))[:2], index)
