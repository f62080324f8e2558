"""True online Sarsa(lambda) is the online lambda-return, and at lambda = 1 Monte Carlo."""

import numpy as np
import pytest

import rlsuite as rl

N_STATES, N_ACTIONS = 6, 3
LEGAL = np.array([[(s, a) not in [(2, 0), (4, 1)] for a in range(N_ACTIONS)] for s in range(N_STATES)])
BY_VISITS = rl.Inverse(0.9, scale=3.0, per="visits")
EXPLORING = rl.EpsilonGreedy(0.4)
COMMON = {"gamma": 0.9, "exploration": EXPLORING}


def online_lambda_return(first, episode, gamma, lambda_, alphas):
    """S&B2 section 12.4: after each step, all of the episode anew, with the lambda-returns of what is known by then."""
    q_of = [first]  # the values after t steps
    for horizon in range(1, len(episode) + 1):
        q = first.copy()
        for t in range(horizon):
            # G_t:t+n = R_t+1 + ... + gamma^(n-1) R_t+n + gamma^n Q_t+n-1(S_t+n, A_t+n)
            returns, reward = [], 0.0
            for n in range(1, horizon - t + 1):
                last = episode[t + n - 1]
                reward += gamma ** (n - 1) * last.reward
                tail = 0.0 if last.terminated else q_of[t + n - 1][last.next_state, last.next_action]
                returns.append(reward + gamma**n * tail)
            weights = [(1 - lambda_) * lambda_**n for n in range(len(returns) - 1)] + [lambda_ ** (len(returns) - 1)]
            target = np.dot(weights, returns)
            pair = episode[t].state, episode[t].action
            q[pair] += alphas[t] * (target - q[pair])
        q_of.append(q)
    return q_of[1:]


@pytest.mark.parametrize("lambda_", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("rate", [0.6, BY_VISITS])
def test_true_online_sarsa_is_the_online_lambda_return(wander, lambda_, rate):
    agent = rl.TrueOnlineSarsaLambda(**COMMON, lambda_=lambda_, learning_rate=rate)
    q, episodes = wander(agent, seed=3)
    visits = np.zeros(LEGAL.shape, dtype=int)
    for episode in episodes:
        alphas = []
        for step in episode:
            alphas.append(rate if isinstance(rate, float) else rate.at(visits[step.state, step.action]))
            visits[step.state, step.action] += 1
        for step, wanted in zip(episode, online_lambda_return(q, episode, agent.gamma, lambda_, alphas), strict=True):
            np.testing.assert_allclose(step.q, wanted, rtol=0, atol=1e-12)
        q = episode[-1].q


def test_true_online_sarsa_at_one_is_monte_carlo(wander):
    """lambda = 1, gamma = 1: when an episode has ended, each visit has learned from the return that followed it."""
    agent = rl.TrueOnlineSarsaLambda(gamma=1.0, exploration=EXPLORING, lambda_=1.0, learning_rate=0.3)
    q, episodes = wander(agent, seed=5, n_episodes=12)
    ended = [episode for episode in episodes if episode[-1].terminated]
    assert len(ended) > 5
    for episode in episodes:
        if episode in ended:
            for t, step in enumerate(episode):
                target = sum(later.reward for later in episode[t:])
                q[step.state, step.action] += 0.3 * (target - q[step.state, step.action])
            np.testing.assert_allclose(episode[-1].q, q, rtol=0, atol=1e-12)
        q = episode[-1].q.copy()
