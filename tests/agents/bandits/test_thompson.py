"""Thompson sampling against plain Python that draws the same numbers."""

import copy
import math

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, NotLearned, ParameterError, RewardWarning
from rlsuite_envs.bandits import bandit

STATES, ARMS, STEPS, SEED = 3, 4, 400, 5


@pytest.mark.slow
def test_thompson_bernoulli(live):
    """The same draws from the same generator: the same arms, and Beta(alpha + successes, beta + failures)."""
    agent, story, rng = live(rl.ThompsonBernoulli(alpha=2.0, beta=0.5), "bernoulli")
    alpha, beta = np.full((STATES, ARMS), 2.0), np.full((STATES, ARMS), 0.5)
    for state, action, reward in story:
        assert np.argmax([rng.beta(alpha[state, arm], beta[state, arm]) for arm in range(ARMS)]) == action
        alpha[state, action] += reward
        beta[state, action] += 1 - reward
    assert agent.alpha_.tolist() == alpha.tolist()
    assert agent.beta_.tolist() == beta.tolist()
    np.testing.assert_allclose(agent.q_, alpha / (alpha + beta), atol=1e-15)


@pytest.mark.slow
def test_a_reward_between_0_and_1_is_a_success_as_often_as_it_says():
    agent = rl.ThompsonBernoulli().learn(bandit([0.3], kind="deterministic").to_env(), steps=20_000, seed=3)
    successes, failures = agent.alpha_[0, 0] - 1, agent.beta_[0, 0] - 1
    assert successes + failures == 20_000
    assert abs(successes - 6_000) < 5 * math.sqrt(20_000 * 0.3 * 0.7)
    outside = rl.ThompsonBernoulli()
    with pytest.warns(RewardWarning, match="the rewards -2 and 7"):
        outside.learn(bandit([-2.0, 7.0], kind="deterministic").to_env(), steps=100, seed=3)
    assert outside.alpha_[0, 0] == outside.beta_[0, 1] == 1.0


def test_thompson_normal(live):
    """The posterior of the lecture notes, corrected: precision 1/s0^2 + n/s^2, mean weighted by these terms."""
    agent, story, rng = live(rl.ThompsonNormal(initial_value=0.5, prior_std=2.0, std=1.5))
    rewards = [[[] for _ in range(ARMS)] for _ in range(STATES)]

    def posterior(state, arm):
        n, total = len(rewards[state][arm]), sum(rewards[state][arm])
        precision = 1 / 2.0**2 + n / 1.5**2
        return (0.5 / 2.0**2 + total / 1.5**2) / precision, precision

    for state, action, reward in story:
        beliefs = [posterior(state, arm) for arm in range(ARMS)]
        assert np.argmax([rng.normal(mean, precision**-0.5) for mean, precision in beliefs]) == action
        rewards[state][action].append(reward)
    beliefs = np.array([[posterior(state, arm) for arm in range(ARMS)] for state in range(STATES)])
    np.testing.assert_allclose(agent.q_, beliefs[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(agent.precision_, beliefs[:, :, 1], atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("least", [-1.0, 0.0, 1e-300])
def test_a_file_of_parameters_that_no_draw_could_use_is_refused(least, tmp_path):
    """The draw would never end, in machine code that Ctrl-C does not reach."""
    path = tmp_path / "agent.npz"
    rl.ThompsonBernoulli().learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=10, seed=1).save(path)
    with np.load(path) as file:
        content = dict(file)
    content["learned.alpha"][0, 1] = least
    np.savez(path, **content)
    with pytest.raises(FileError, match=r"learned\.alpha holds .* less than 1e-06"):
        rl.load(path)


@pytest.mark.slow
def test_posteriors_are_distributions():
    """Means and variances in closed form, and seven throws of the notes: Beta(1 + 4, 1 + 3)."""
    coin = rl.ThompsonBernoulli().learn(bandit([0.5], kind="bernoulli").to_env(), steps=7, seed=1)
    coin.alpha_[:], coin.beta_[:] = 5.0, 4.0
    assert coin.posterior_.mean().tolist() == [[pytest.approx(5 / 9)]]
    assert coin.posterior_.var()[0, 0] == pytest.approx(5 * 4 / (9**2 * 10))
    normal = rl.ThompsonNormal(prior_std=2.0).learn(bandit([0.0, 1.0]).to_env(), steps=50, seed=1)
    low, high = normal.posterior_.interval(0.95)
    np.testing.assert_allclose(
        [low, high], normal.q_ + np.array([-1.959964, 1.959964])[:, None, None] / np.sqrt(normal.precision_), atol=1e-6
    )
    with pytest.raises(NotLearned):
        _ = rl.ThompsonNormal().posterior_


def test_rewards_from_elsewhere_update_the_posterior():
    """As the rule does: the same numbers as from an environment that pays them; what cannot be is refused."""
    arms = bandit([0.0, 1.0]).to_env()
    for agent in (rl.ThompsonNormal(), rl.ThompsonNormalGamma()):
        twin = copy.deepcopy(agent.learn(arms, steps=30, seed=1, loop="stepwise"))
        assert agent.update(1, [0.5, 1.5]) is agent
        assert twin.update(1, 0.5).update(1, 1.5, observation=0).q_.tobytes() == agent.q_.tobytes()
        assert agent.visits_.sum() == 32
        assert agent.posterior_.var()[0, 1] == twin.posterior_.var()[0, 1]
    coin = rl.ThompsonBernoulli().learn(bandit([0.5], kind="bernoulli").to_env(), steps=1, seed=1, loop="stepwise")
    known = coin.alpha_ + coin.beta_
    assert coin.update(0, [1, 0, 1]).posterior_.mean()[0, 0] == coin.alpha_[0, 0] / (known[0, 0] + 3)
    for arm, reward, message in (
        (1, 1.0, r"arm=1 is not one of the arms 0\.\.0"),
        (0, [0.5, 2.0], r"reward=2 lies outside \[0, 1\]"),
        (0, np.nan, "reward=nan"),
        ("left", 1.0, "arm='left'"),
    ):
        with pytest.raises(ParameterError, match=message):
            coin.update(arm, reward)
    with pytest.raises(NotLearned):
        rl.ThompsonNormal().update(0, 1.0)
