"""The gradient bandit against plain Python, run on its own pulls and rewards."""

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


@pytest.mark.parametrize("baseline", ["average", "none"])
def test_gradient_bandit(live, baseline):
    agent, story, _ = live(rl.GradientBandit(learning_rate=0.3, baseline=baseline))
    preferences = np.zeros((STATES, ARMS))
    seen = [[] for _ in range(STATES)]
    draws = []
    for state, action, reward in story:
        pi = softmax(preferences[state])
        draws.append((action, pi))
        base = (np.mean(seen[state]) if seen[state] else reward) if baseline == "average" else 0.0
        preferences[state] += 0.3 * (reward - base) * ((np.arange(ARMS) == action) - pi)
        seen[state].append(reward)
    np.testing.assert_allclose(agent.q_, preferences, atol=1e-12)
    np.testing.assert_allclose(agent.mean_reward_, [np.mean(rewards) for rewards in seen], atol=1e-12)
    np.testing.assert_allclose(agent.policy(), [softmax(row) for row in preferences], atol=1e-12)
    check_frequencies(draws)


def test_a_baseline_makes_the_gradient_bandit_blind_to_a_shift():
    """All rewards 100 higher: the same preferences with a baseline, and others without."""
    for baseline, same in (("average", True), ("none", False)):
        near, far = (
            rl.GradientBandit(baseline=baseline).learn(bandit([m, m + 1.0]).to_env(), steps=200, seed=1)
            for m in (0.0, 100.0)
        )
        assert np.allclose(near.q_, far.q_, atol=1e-9) == same
