"""n-step Q(sigma) against the recursion of the book, on the steps that it has lived."""

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


@pytest.mark.parametrize("n", [1, 3])
def test_q_sigma(live, n_step, target, n):
    """S&B2 eq. 7.17, as the recursion that it is, with a sigma that falls from 1 to 0."""
    target_policy, pi = target

    def ahead(q, e, t, h):
        if t + 1 == h:
            return e.R[h] if e.ended else e.R[h] + GAMMA * pi(e.before, e.S[h]) @ e.before[e.S[h]]
        s, a, chances = e.S[t + 1], e.A[t + 1], pi(q, e.S[t + 1])
        sampled = e.sigma[t + 1] * e.rho[t + 1] + (1 - e.sigma[t + 1]) * chances[a]
        return e.R[t + 1] + GAMMA * sampled * (ahead(q, e, t + 1, h) - q[s, a]) + GAMMA * chances @ q[s]

    agent = rl.NStepQSigma(
        n=n,
        sigma=rl.Linear(1.0, 0.0, over=250),
        gamma=GAMMA,
        learning_rate=FADING,
        exploration=EXPLORATION,
        target_policy=target_policy,
    )
    first, lived = live(agent)
    tables = n_step(lived, first, n, ahead, sigma=lambda done: max(0.0, 1 - done / 250), pi=pi)
    check(lived, tables)
