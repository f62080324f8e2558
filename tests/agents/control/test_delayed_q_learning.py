"""Delayed Q-learning against plain Python written from the paper, on the steps that it has lived."""

import numpy as np

import rlsuite as rl

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
GAMMA = 0.9


def check(lived, tables):
    assert len(lived) == len(tables)
    for each, table in zip(lived, tables, strict=True):
        np.testing.assert_allclose(each.after["q"], table, rtol=1e-12, atol=1e-12)


def best(table, state):
    return table[state][LEGAL[state]].max()


def test_delayed_q_learning(live):
    """Strehl et al. 2006, Algorithm 1, word by word."""
    m, epsilon1 = 3, 0.05
    agent = rl.DelayedQLearning(gamma=GAMMA, m=m, epsilon1=epsilon1, largest_reward=0.5)
    first, lived = live(agent, steps=2_000)
    q = first["q"].copy()
    total, heard, attempt = np.zeros(LEGAL.shape), np.zeros(LEGAL.shape, dtype=int), np.zeros(LEGAL.shape, dtype=int)
    learn, changed, tables, changes = np.ones(LEGAL.shape, dtype=bool), 0, [], 0
    for t, (s, a, r, s2, terminated, *_) in enumerate(lived, start=1):
        if learn[s, a]:
            total[s, a] += r if terminated else r + GAMMA * best(q, s2)
            heard[s, a] += 1
            if heard[s, a] == m:
                if q[s, a] - total[s, a] / m >= 2 * epsilon1:
                    q[s, a] = total[s, a] / m + epsilon1
                    changed = t
                    changes += 1
                elif attempt[s, a] >= changed:
                    learn[s, a] = False
                attempt[s, a] = t
                total[s, a], heard[s, a] = 0.0, 0
        elif attempt[s, a] < changed:
            learn[s, a] = True
        tables.append(q.copy())
    check(lived, tables)
    assert changes > 10
    np.testing.assert_array_equal(lived[-1].after["resting"], ~learn)
