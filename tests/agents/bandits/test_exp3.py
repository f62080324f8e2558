"""EXP3 against plain Python, run on its own pulls and rewards."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite_envs.bandits import bandit

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


def softmax(preferences):
    weights = np.exp(np.array(preferences) - np.max(preferences))
    return weights / weights.sum()


def check_frequencies(draws):
    """Arms drawn against their probabilities: within five standard errors of the sum."""
    surplus, variance = np.zeros(ARMS), np.zeros(ARMS)
    for action, p in draws:
        surplus += (np.arange(ARMS) == action) - p
        variance += p * (1 - p)
    assert (np.abs(surplus) < 5 * np.sqrt(variance)).all()


def test_exp3(live):
    agent, story, _ = live(rl.EXP3(epsilon=0.2), "bernoulli")
    logs = np.zeros((STATES, ARMS))
    draws = []
    for state, action, reward in story:
        p = 0.8 * softmax(logs[state]) + 0.2 / ARMS
        draws.append((action, p))
        logs[state, action] += 0.2 * (reward / p[action]) / ARMS
    np.testing.assert_allclose(agent.q_, logs, atol=1e-12)
    np.testing.assert_allclose(agent.policy(), [0.8 * softmax(row) + 0.2 / ARMS for row in logs], atol=1e-12)
    check_frequencies(draws)


@pytest.mark.slow
def test_exp3_neither_overflows_nor_loses_probability():
    """1e5 rounds of rewards of 1: the weights themselves would be beyond the largest number long before."""
    agent = rl.EXP3(epsilon=0.5).learn(bandit([1.0, 0.0, 1.0], kind="deterministic").to_env(), steps=100_000, seed=2)
    assert agent.q_.max() > 710.0  # exp(710) overflows
    assert np.isfinite(agent.q_).all()
    assert agent.policy().sum() == pytest.approx(1.0, abs=1e-12)
    assert agent.policy().min() >= 0.5 / 3
