"""Bandits that forget, against plain Python on what they have not forgotten."""

import math

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.training.legality import every_action

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


def test_sliding_window_ucb(live):
    agent, story, _ = live(rl.SlidingWindowUCB(window=25, c=0.8))
    recent = [[] for _ in range(STATES)]
    for state, action, reward in story:
        seen = [[r for a, r in recent[state] if a == arm] for arm in range(ARMS)]
        width = 0.8 * math.sqrt(math.log(max(len(recent[state]), 1)))
        indices = [np.mean(arm) + width / math.sqrt(len(arm)) if arm else math.inf for arm in seen]
        assert indices[action] >= max(indices) - 1e-12
        recent[state] = [*recent[state], (action, reward)][-25:]
    for state in range(STATES):
        seen = [[r for a, r in recent[state] if a == arm] for arm in range(ARMS)]
        assert agent.weight_[state].tolist() == [len(arm) for arm in seen]
        for arm in range(ARMS):
            if seen[arm]:
                assert agent.q_[state, arm] == pytest.approx(np.mean(seen[arm]), abs=1e-12)


def test_the_sums_of_a_window_do_not_drift():
    """A reward of 1e9 that has left the window leaves nothing behind; it would, where sums are only kept up."""
    agent = rl.SlidingWindowUCB(window=30)
    memory = agent.init_memory(np.ones((1, 1), dtype=bool), every_action)
    for reward in [1e9] + 100 * [0.1]:
        rl.SlidingWindowUCB.step(memory, rl.Transition(0, 0, reward, 0, True, False), np.random.default_rng(0))
    assert memory.q[0, 0] == pytest.approx(0.1, abs=1e-12)


def test_discounted_ucb(live):
    agent, story, _ = live(rl.DiscountedUCB(discount=0.9, c=0.7))
    weight, total = np.zeros((STATES, ARMS)), np.zeros((STATES, ARMS))
    for state, action, reward in story:
        n = weight[state]
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = 0.7 * np.sqrt(np.log(max(n.sum(), 1)) / n)
            indices = np.where(n > 0, total[state] / n + bonus, math.inf)
        assert indices[action] >= indices.max() - 1e-9
        weight[state] *= 0.9
        total[state] *= 0.9
        weight[state, action] += 1
        total[state, action] += reward
    np.testing.assert_allclose(agent.weight_, weight, atol=1e-12)
    np.testing.assert_allclose(agent.q_, total / weight, atol=1e-9)
