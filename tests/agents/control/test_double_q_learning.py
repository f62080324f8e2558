"""Double learning against plain Python written from the book's pseudo-code, on the steps that it has lived."""

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


@pytest.mark.parametrize("kind", [rl.DoubleQLearning, rl.DoubleExpectedSarsa])
def test_double_learning(followed, live, kind):
    first, lived = live(kind(gamma=GAMMA, learning_rate=FADING, exploration=EXPLORATION), steps=600)
    both, means, learners, updates = first["tables"].copy(), [], [], np.zeros((2, *LEGAL.shape))
    for s, a, r, s2, terminated, _, _, after in lived:
        i = int(after["updates"][1].sum() > updates[1].sum())  # which coin fell
        if kind is rl.DoubleQLearning:
            ahead = both[1 - i, s2, np.argmax(np.where(LEGAL[s2], both[i, s2], -np.inf))]
        else:
            ahead = followed(both.mean(axis=0), s2) @ both[1 - i, s2]
        target = r if terminated else r + GAMMA * ahead
        both[i, s, a] += 0.8 / (1 + updates[i, s, a]) ** 0.6 * (target - both[i, s, a])
        updates[i, s, a] += 1
        np.testing.assert_allclose(after["tables"], both, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(after["updates"], updates)
        means.append(both.mean(axis=0))
        learners.append(i)
    check(lived, means)
    assert abs(sum(learners) - 300) < 5 * np.sqrt(600 / 4)  # a fair coin, five standard deviations
