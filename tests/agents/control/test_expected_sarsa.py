"""Expected Sarsa against plain Python written from the book's equation, on the steps that it has lived."""

import numpy as np

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


def test_expected_sarsa(followed, live):
    first, lived = live(rl.ExpectedSarsa(gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION))
    q, visits, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    for s, a, r, s2, terminated, *_ in lived:
        target = r if terminated else r + GAMMA * followed(q, s2) @ q[s2]
        q[s, a] += 0.8 / (1 + visits[s, a]) ** 0.6 * (target - q[s, a])
        visits[s, a] += 1
        tables.append(q.copy())
    check(lived, tables)
