"""n-step tree backup against the recursion of the book, on the steps that it has lived."""

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
def test_tree_backup(live, n_step, target, n):
    """S&B2 eq. 7.16, as the recursion that it is."""
    target_policy, pi = target

    def ahead(q, e, t, h):
        if t + 1 == h:
            return e.R[h] if e.ended else e.R[h] + GAMMA * pi(e.before, e.S[h]) @ e.before[e.S[h]]
        chances = pi(q, e.S[t + 1])
        others = sum(chances[a] * q[e.S[t + 1], a] for a in range(3) if a != e.A[t + 1])
        return e.R[t + 1] + GAMMA * (others + chances[e.A[t + 1]] * ahead(q, e, t + 1, h))

    agent = rl.NStepTreeBackup(
        n=n, gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION, target_policy=target_policy
    )
    first, lived = live(agent)
    check(lived, n_step(lived, first, n, ahead))
