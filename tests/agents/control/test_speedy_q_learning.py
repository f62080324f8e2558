"""Speedy Q-learning against plain Python, step by step and in the synchronous sweeps of the paper."""

import numpy as np

import rlsuite as rl
from rlsuite.training.legality import listed_actions

LEGAL = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=bool)
GAMMA = 0.9


def check(lived, tables):
    assert len(lived) == len(tables)
    for each, table in zip(lived, tables, strict=True):
        np.testing.assert_allclose(each.after["q"], table, rtol=1e-12, atol=1e-12)


def best(table, state):
    return table[state][LEGAL[state]].max()


def test_speedy_q_learning(live):
    """Rounds as the module describes them, with lists of samples in place of running means."""
    first, lived = live(rl.SpeedyQLearning(gamma=GAMMA, exploration=rl.EpsilonGreedy(1.0)), steps=1_000)
    making, present, before, tables = (first["q"].copy() for _ in range(4))
    tables, k, samples, ever = [], {}, {}, set()
    for s, a, r, s2, terminated, *_ in lived:
        ever.add((s, a))
        samples.setdefault((s, a), []).append(
            [r, r] if terminated else [r + GAMMA * best(present, s2), r + GAMMA * best(before, s2)]
        )
        of_present, of_before = np.mean(samples[s, a], axis=0)
        alpha = 1 / (k.get((s, a), 0) + 1)
        making[s, a] = present[s, a] + alpha * (of_before - present[s, a]) + (1 - alpha) * (of_present - of_before)
        if samples.keys() == ever:
            before, present = present, making.copy()
            k |= {pair: k.get(pair, 0) + 1 for pair in samples}
            samples = {}
        tables.append(making.copy())
    check(lived, tables)
    assert min(k.values()) > 10
    assert {pair: int(lived[-1].after["rounds"][pair]) for pair in k} == k


def test_speedy_q_learning_in_sweeps_is_the_synchronous_form():
    """Azar et al. 2011, the algorithm itself, where each pair has one sample a round."""
    rng = np.random.default_rng(3)
    agent = rl.SpeedyQLearning(gamma=GAMMA)
    memory = agent.init_memory(np.ones((4, 2), dtype=bool), listed_actions)
    reward, ahead = rng.normal(size=(4, 2)), rng.integers(4, size=(20, 4, 2))
    for s in range(4):  # all pairs must be known before the first round that counts
        for a in range(2):
            rl.SpeedyQLearning.step(memory, rl.Transition(s, a, 0.0, 0, True, False), rng)
    memory.learned.rounds[...] = memory.learned.samples[...] = 0  # now forget what has been learned from them
    memory.learned.pairs[1] = 0
    memory.q[...] = memory.learned.present[...] = memory.learned.before[...] = 0.0
    present, before = np.zeros((4, 2)), np.zeros((4, 2))
    for k in range(20):
        alpha = 1 / (k + 1)
        of_present = reward + GAMMA * present.max(axis=1)[ahead[k]]
        of_before = reward + GAMMA * before.max(axis=1)[ahead[k]]
        new = present + alpha * (of_before - present) + (1 - alpha) * (of_present - of_before)
        for s in range(4):
            for a in range(2):
                rl.SpeedyQLearning.step(
                    memory, rl.Transition(s, a, reward[s, a], int(ahead[k, s, a]), False, False), rng
                )
        before, present = present, new
        np.testing.assert_allclose(memory.q, present, rtol=1e-12)
