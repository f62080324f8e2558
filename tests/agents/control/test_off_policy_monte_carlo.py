"""Off-policy Monte Carlo control against the pseudo-code of the book, on the episodes that it has lived."""

import numpy as np

import rlsuite as rl

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
GAMMA = 0.9
EPSILON = 0.3
EXPLORATION = rl.EpsilonGreedy(EPSILON)


def check(lived, tables):
    assert len(lived) == len(tables)
    for each, table in zip(lived, tables, strict=True):
        np.testing.assert_allclose(each.after["q"], table, rtol=1e-12, atol=1e-12)


def episodes_of(lived):
    begin = 0
    for t, each in enumerate(lived):
        if each.over:
            yield lived[begin : t + 1]
            begin = t + 1


def test_off_policy_monte_carlo(followed, live):
    """S&B2 p. 111, word by word."""
    first, lived = live(rl.OffPolicyMonteCarlo(gamma=GAMMA, exploration=EXPLORATION), steps=900)
    q, c, tables = first["q"].copy(), np.zeros(LEGAL.shape), []
    furthest = 0
    for episode in episodes_of(lived):
        tables += [q.copy()] * (len(episode) - 1)
        behaviour = [followed(q, each.state)[each.action] for each in episode]
        last = episode[-1]
        total = 0.0 if last.terminated else q[last.next_state][LEGAL[last.next_state]].max()
        weight = 1.0
        for t in range(len(episode) - 1, -1, -1):
            s, a = episode[t].state, episode[t].action
            total = episode[t].reward + GAMMA * total
            c[s, a] += weight
            q[s, a] += weight / c[s, a] * (total - q[s, a])
            furthest = max(furthest, len(episode) - t)
            if a != np.argmax(np.where(LEGAL[s], q[s], -np.inf)):
                break
            weight /= behaviour[t]
        tables.append(q.copy())
    check(lived[: len(tables)], tables)
    np.testing.assert_allclose(lived[len(tables) - 1].after["weights"], c, rtol=1e-12)
    assert furthest >= 5
