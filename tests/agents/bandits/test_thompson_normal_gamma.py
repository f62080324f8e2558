"""Thompson sampling of unknown variances against plain Python that draws the same numbers."""

import math

import numpy as np

import rlsuite as rl
from rlsuite_envs.bandits import bandit

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


def test_thompson_normal_gamma(live):
    """The posterior after n rewards with mean x and sum of squares S about it (Murphy 2007, eqs. 85-89)."""
    mu0, kappa0, alpha0, beta0 = 0.5, 2.0, 1.5, 0.7
    agent, story, rng = live(rl.ThompsonNormalGamma(initial_value=mu0, kappa=kappa0, alpha=alpha0, beta=beta0))
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]

    def posterior(state, arm):
        seen = rewards[state][arm]
        n, x = len(seen), np.mean(seen) if seen else 0.0
        squares = sum((r - x) ** 2 for r in seen)
        kappa, alpha = kappa0 + n, alpha0 + n / 2
        beta = beta0 + squares / 2 + kappa0 * n * (x - mu0) ** 2 / (2 * kappa)
        return (kappa0 * mu0 + n * x) / kappa, kappa, alpha, beta

    for state, action, reward in story:
        drawn = []
        for arm in range(ARMS):
            mu, kappa, alpha, beta = posterior(state, arm)
            drawn.append(rng.normal(mu, 1 / math.sqrt(kappa * rng.gamma(alpha, 1 / beta))))
        assert np.argmax(drawn) == action
        rewards[state][action].append(reward)
    beliefs = np.array([[posterior(state, arm) for arm in range(ARMS)] for state in range(STATES)])
    for name, column in (("q_", 0), ("kappa_", 1), ("alpha_", 2), ("beta_", 3)):
        np.testing.assert_allclose(getattr(agent, name), beliefs[:, :, column], rtol=1e-12)


def test_the_posterior_is_where_its_draws_are():
    """Student's t with 2 alpha degrees of freedom, against draws of precision and mean."""
    agent = rl.ThompsonNormalGamma(alpha=2.0).learn(bandit([0.0, 3.0], std=0.5).to_env(), steps=20, seed=1)
    rng = np.random.default_rng(4)
    shape = (100_000, *agent.q_.shape)
    tau = rng.gamma(agent.alpha_, 1.0 / agent.beta_, shape)
    drawn = rng.normal(agent.q_, 1.0 / np.sqrt(agent.kappa_ * tau))
    for share in (0.1, 0.5, 0.9):
        below = (drawn < agent.posterior_.ppf(share)).mean(axis=0)
        np.testing.assert_allclose(below, share, atol=5 * np.sqrt(share * (1 - share) / len(drawn)))
