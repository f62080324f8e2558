"""Monte Carlo control against the pseudo-code of the book, on the episodes that it has lived."""

import numpy as np

import rlsuite as rl

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


def test_monte_carlo_averages_first_visits(live):
    """S&B2 p. 101, word by word: a list of returns for each pair."""
    first, lived = live(rl.MonteCarloControl(gamma=GAMMA, exploration=EXPLORATION), steps=600)
    q, returns, tables = first["q"].copy(), {}, []
    repeated = 0
    for episode in episodes_of(lived):
        tables += [q.copy()] * (len(episode) - 1)
        last = episode[-1]
        total = 0.0 if last.terminated else q[last.next_state, last.next_action]
        pairs = [(each.state, each.action) for each in episode]
        for t in range(len(episode) - 1, -1, -1):
            total = episode[t].reward + GAMMA * total
            if pairs[t] in pairs[:t]:
                repeated += 1
                continue
            returns.setdefault(pairs[t], []).append(total)
            q[pairs[t]] = np.mean(returns[pairs[t]])
        tables.append(q.copy())
    check(lived[: len(tables)], tables)
    assert repeated > 50
    counts = lived[len(tables) - 1].after["returns"]
    assert {pair: len(listed) for pair, listed in returns.items()} == {pair: counts[pair] for pair in returns}
