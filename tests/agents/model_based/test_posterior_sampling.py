"""Posterior sampling: its posteriors against closed forms, its plans against planners."""

import math

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.model_based.posterior_sampling import draw_probabilities, draw_reward
from rlsuite.testing.problems import gamble, ring
from rlsuite.training.legality import every_action


def seen(rewards, outcomes, agent, n_states=3):
    """The memory of an agent whose pair (0, 0) has had these rewards and outcomes (n_states: an end)."""
    memory = agent.init_memory(np.ones((n_states, 1), dtype=bool), every_action)
    rng = np.random.default_rng(0)
    for reward, outcome in zip(rewards, outcomes, strict=True):
        ended = outcome == n_states
        rl.PosteriorSampling.step(memory, rl.Transition(0, 0, reward, 0 if ended else outcome, ended, False), rng)
    return memory


@pytest.mark.slow
def test_the_posterior_of_the_rewards_is_normal_gamma():
    """Murphy 2007, eqs. 85 to 89, from the raw rewards; the same random numbers in numpy give the same draws."""
    rewards = np.array([1.5, -2.0, 0.25, 4.0, 1.0, 1.0])
    prior = (0.5, 2.0, 3.0, 1.5)
    memory = seen(rewards, [0, 1, 2, 3, 0, 1], rl.PosteriorSampling(gamma=0.9, reward_prior=prior))
    mean, weight, shape, rate = prior
    n = rewards.size
    weight_n, shape_n = weight + n, shape + n / 2
    mean_n = (weight * mean + rewards.sum()) / weight_n
    rate_n = rate + 0.5 * (np.square(rewards).sum() + weight * mean**2 - weight_n * mean_n**2)
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    draws = np.array([draw_reward(memory, 0, 0, rng) for _ in range(4_000)])
    for draw in draws[:50]:
        precision = twin.gamma(shape_n, 1.0) / rate_n
        assert draw == pytest.approx(mean_n + twin.standard_normal() / math.sqrt(weight_n * precision), rel=1e-12)
    # the mean reward is a Student variable: 2 shape_n degrees of freedom, variance rate_n / (weight_n (shape_n - 1))
    variance = rate_n / (weight_n * (shape_n - 1))
    assert abs(draws.mean() - mean_n) < 5 * math.sqrt(variance / draws.size)
    assert draws.var() == pytest.approx(variance, rel=0.2)


@pytest.mark.slow
def test_the_posterior_of_the_outcomes_is_dirichlet():
    """Means and variances of 4000 draws within 5 standard errors: one of eight fails by chance once in 200,000."""
    outcomes = [0] * 6 + [1] * 3 + [3]
    memory = seen(np.zeros(10), outcomes, rl.PosteriorSampling(gamma=0.9, outcome_weight=2.0))
    parameters = np.bincount(outcomes, minlength=4) + 2.0 / 4
    total = parameters.sum()
    rng = np.random.default_rng(5)
    draws = np.empty((4_000, 4))
    for draw in draws:
        draw_probabilities(memory, 0, rng)
        draw[:] = memory.scratch.probability[0]
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    mean = parameters / total
    variance = mean * (1 - mean) / (total + 1)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / len(draws))).all()
    squares = np.square(draws - mean)
    assert (np.abs(squares.mean(axis=0) - variance) < 5 * squares.std(axis=0) / np.sqrt(len(draws))).all()
    rng, twin = np.random.default_rng(6), np.random.default_rng(6)
    draw_probabilities(memory, 0, rng)
    gammas = np.array([twin.gamma(parameter, 1.0) for parameter in parameters])
    np.testing.assert_allclose(memory.scratch.probability[0], gammas / gammas.sum(), rtol=1e-12)


def test_a_tiny_prior_is_drawn_as_what_it_is():
    """Weights of 1e-6 underflow all together: one outcome takes all, each equally often."""
    agent = rl.PosteriorSampling(gamma=0.9, outcome_weight=1e-6)
    memory = agent.init_memory(np.ones((3, 1), dtype=bool), every_action)
    rng = np.random.default_rng(0)
    firsts = 0
    for _ in range(400):
        draw_probabilities(memory, 1, rng)
        assert sorted(memory.scratch.probability[1]) == [0.0, 0.0, 0.0, 1.0]
        firsts += memory.scratch.probability[1, 0] == 1.0
    assert abs(firsts - 100) < 5 * math.sqrt(400 * 0.25 * 0.75)


@pytest.mark.cases("ring")
@pytest.mark.parametrize("problem", [gamble, ring])
def test_the_world_that_was_drawn_is_solved(world_of, problem):
    model, tol = problem(), 1e-6
    agent = rl.PosteriorSampling(gamma=0.9, tol=tol).learn(model.to_env(), steps=200, seed=0)
    world = agent.memory_.scratch
    chance = world.probability.reshape(*model.legal.shape, -1)
    solution = rl.solve(world_of(chance, world.reward, 0.9, model.legal), tol=1e-9)
    assert np.abs(agent.q_ - solution.q[:-1])[model.legal].max() <= tol


@pytest.mark.slow
def test_when_worlds_are_drawn():
    """In a task without episodes: once, or each time the count of a pair has doubled."""
    once = rl.PosteriorSampling(gamma=0.9, redraw="episode").learn(ring().to_env(), steps=500, seed=0)
    often = rl.PosteriorSampling(gamma=0.9, redraw="doubling").learn(ring().to_env(), steps=500, seed=0)
    assert once.planned_at_.sum() == 0
    assert often.planned_at_.sum() > 100
    since = often.visits_ - often.planned_at_
    assert (since <= np.maximum(often.planned_at_, 1)).all()
