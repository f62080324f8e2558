"""n-step Sarsa and n-step Expected Sarsa against the loop of the book, on the steps that they have lived."""

import numpy as np
import pytest

import rlsuite as rl

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
GAMMA = 0.9
EPSILON = 0.3
EXPLORATION = rl.EpsilonGreedy(EPSILON)
FADING = rl.Polynomial(0.8, power=0.6, per="visits")


def check(lived, tables):
    assert len(lived) == len(tables)
    for each, table in zip(lived, tables, strict=True):
        np.testing.assert_allclose(each.after["q"], table, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 1_000])
def test_n_step_sarsa(live, n_step, n):
    """With n = 1,000 no pair learns before the end: every-visit Monte Carlo control, in the order of time."""

    def target(q, e, tau, h):
        total = sum(GAMMA ** (i - tau - 1) * e.R[i] for i in range(tau + 1, h + 1))
        return total if e.ended else total + GAMMA ** (h - tau) * e.before[e.S[h], e.A[h]]

    agent = rl.NStepSarsa(n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION)
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, target))


@pytest.mark.parametrize("n", [1, 3])
def test_n_step_expected_sarsa(followed, live, n_step, n):
    def target(q, e, tau, h):
        total = sum(GAMMA ** (i - tau - 1) * e.R[i] for i in range(tau + 1, h + 1))
        return total if e.ended else total + GAMMA ** (h - tau) * followed(e.before, e.S[h]) @ e.before[e.S[h]]

    agent = rl.NStepExpectedSarsa(n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION)
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, target))
