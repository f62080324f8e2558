"""The rules beside the formulas of the book, written once more with whole vectors, along the same experience."""

from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.linear.gradient_td import GTD2, TDC, EmphaticTD
from rlsuite.approximation.linear.linear_agent import (
    GradientMonteCarlo,
    SemiGradientExpectedSarsa,
    SemiGradientNStepSarsa,
    SemiGradientNStepTD,
    SemiGradientQLambda,
    SemiGradientQLearning,
    SemiGradientSarsaLambda,
    SemiGradientTD,
    SemiGradientTDLambda,
    TrueOnlineLinearSarsaLambda,
    TrueOnlineLinearTDLambda,
)

ALPHA, BETA, GAMMA, LAMBDA = 0.05, 0.1, 0.9, 0.7
FEATURES = np.random.default_rng(1).normal(size=(7, 3))
FOLLOWED, EVALUATED = np.array([0.5, 0.5]), np.array([0.3, 0.7])
N = 3


class Seen(NamedTuple):
    first: bool
    x: np.ndarray
    action: int
    reward: float
    ahead: np.ndarray  # features of the next observation, 0 at an end
    over: bool


class Recorder(gymnasium.Wrapper):
    """Writes down all that happens."""

    def __init__(self, env):
        super().__init__(env)
        self.seen = []

    def reset(self, **options):
        self.last = super().reset(**options)
        self.first = True
        return self.last

    def step(self, action):
        answer = super().step(action)
        ahead = answer[0] * (not answer[2])
        self.seen.append(Seen(self.first, self.last[0], action, answer[1], ahead, answer[2] or answer[3]))
        self.last, self.first = answer, False
        return answer


def experience(agent, limit):
    """What an agent has learned from 40 episodes of the random walk, and their steps."""
    walk = gymnasium.make("rlsuite/RandomWalk-v0", max_episode_steps=limit)
    env = Recorder(rl.VectorObservation(walk, FEATURES))
    agent.learn(env, episodes=40, seed=5, loop="stepwise")
    return agent.weights_, env.seen


# ------------------------------------------------------------------------------------------------------- prediction


def monte_carlo(seen, rho):
    w = np.zeros(N)
    starts = [t for t, step in enumerate(seen) if step.first]
    for start, end in zip(starts, [*starts[1:], len(seen)], strict=True):
        future = w @ seen[end - 1].ahead
        returns = []
        for step in seen[start:end][::-1]:
            future = step.reward + GAMMA * future
            returns.append(future)
        for step, wanted in zip(seen[start:end], returns[::-1], strict=True):
            w = w + ALPHA * (wanted - w @ step.x) * step.x
    return w


def td_lambda(seen, rho, lambda_=LAMBDA):
    w = np.zeros(N)
    for step in seen:
        z = np.zeros(N) if step.first else z  # noqa: F821 - the first step is a first one
        z = rho[step.action] * (GAMMA * lambda_ * z + step.x)
        w = w + ALPHA * (step.reward + GAMMA * w @ step.ahead - w @ step.x) * z
    return w


def td(seen, rho):
    return td_lambda(seen, rho, 0.0)


def n_step_td(seen, rho):
    """The box on p. 209, with n = 3; cut off, an episode ends with the value of what was reached."""
    w = np.zeros(N)
    starts = [t for t, step in enumerate(seen) if step.first]
    for start, end in zip(starts, [*starts[1:], len(seen)], strict=True):
        cut = w
        for tau in range(start, end):  # after step tau + 2, or at the end; in order all the same
            last = min(tau + 3, end)
            if tau + 3 <= end:  # the last three learn at once, from what was known before
                cut = w
            target = sum(GAMMA ** (t - tau) * seen[t].reward for t in range(tau, last))
            target += GAMMA ** (last - tau) * seen[last - 1].ahead @ cut
            w = w + ALPHA * (target - w @ seen[tau].x) * seen[tau].x
    return w


def true_online(seen, rho):
    """The box on p. 300."""
    w = np.zeros(N)
    for step in seen:
        z, old = (np.zeros(N), 0.0) if step.first else (z, old)  # noqa: F821
        value, ahead = w @ step.x, w @ step.ahead
        delta = step.reward + GAMMA * ahead - value
        z = GAMMA * LAMBDA * z + (1 - ALPHA * GAMMA * LAMBDA * z @ step.x) * step.x
        w = w + ALPHA * (delta + value - old) * z - ALPHA * (value - old) * step.x
        old = ahead
    return w


def gtd2(seen, rho):
    w, v = np.zeros(N), np.zeros(N)
    for step in seen:
        delta = step.reward + GAMMA * w @ step.ahead - w @ step.x
        w = w + ALPHA * rho[step.action] * (step.x - GAMMA * step.ahead) * (step.x @ v)
        v = v + BETA * rho[step.action] * (delta - v @ step.x) * step.x
    return w


def tdc(seen, rho):
    w, v = np.zeros(N), np.zeros(N)
    for step in seen:
        delta = step.reward + GAMMA * w @ step.ahead - w @ step.x
        w = w + ALPHA * rho[step.action] * (delta * step.x - GAMMA * step.ahead * (step.x @ v))
        v = v + BETA * rho[step.action] * (delta - v @ step.x) * step.x
    return w


def emphatic(seen, rho):
    w = np.zeros(N)
    for step in seen:
        z, followed, before = (np.zeros(N), 0.0, 0.0) if step.first else (z, followed, before)  # noqa: F821
        followed = before * GAMMA * followed + 1
        emphasis = LAMBDA + (1 - LAMBDA) * followed
        before = rho[step.action]
        z = before * (GAMMA * LAMBDA * z + emphasis * step.x)
        w = w + ALPHA * (step.reward + GAMMA * w @ step.ahead - w @ step.x) * z
    return w


TRACED = {"lambda_": LAMBDA}
PREDICTION = [
    (GradientMonteCarlo, {}, monte_carlo, 1.0),
    (SemiGradientTD, {"policy_to_evaluate": EVALUATED}, td, EVALUATED / FOLLOWED),
    (SemiGradientNStepTD, {"n": 3}, n_step_td, 1.0),
    (SemiGradientTDLambda, {"policy_to_evaluate": EVALUATED, **TRACED}, td_lambda, EVALUATED / FOLLOWED),
    (TrueOnlineLinearTDLambda, TRACED, true_online, 1.0),
    (GTD2, {"policy_to_evaluate": EVALUATED, "error_rate": BETA}, gtd2, EVALUATED / FOLLOWED),
    (TDC, {"policy_to_evaluate": EVALUATED, "error_rate": BETA}, tdc, EVALUATED / FOLLOWED),
    (EmphaticTD, {"policy_to_evaluate": EVALUATED, **TRACED}, emphatic, EVALUATED / FOLLOWED),
]


@pytest.mark.parametrize(("kind", "options", "formula", "ratios"), PREDICTION)
def test_prediction(kind, options, formula, ratios):
    agent = kind(gamma=GAMMA, learning_rate=ALPHA, policy_to_follow=FOLLOWED, **options)
    learned, seen = experience(agent, limit=6)
    assert {step.over and step.ahead.any() for step in seen} == {True, False}  # some episodes were cut off
    np.testing.assert_allclose(learned, formula(seen, ratios * np.ones(2)), rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------- control


def spread(x, action):
    """x(s, a): the features of the observation in the place of the action."""
    out = np.zeros((N, 2))
    out[:, action] = x
    return out


def ways(seen):
    """Steps with the action that came next; 0 where there is none."""
    return [(step, 0 if step.over else seen[t + 1].action) for t, step in enumerate(seen)]


def q_learning(seen):
    w = np.zeros((N, 2))
    for step in seen:
        delta = step.reward + GAMMA * (step.ahead @ w).max() - step.x @ w[:, step.action]
        w = w + ALPHA * delta * spread(step.x, step.action)
    return w


def expected_sarsa(seen):
    w = np.zeros((N, 2))
    for step in seen:
        delta = step.reward + GAMMA * (step.ahead @ w).mean() - step.x @ w[:, step.action]
        w = w + ALPHA * delta * spread(step.x, step.action)
    return w


def sarsa_lambda(seen):
    w = np.zeros((N, 2))
    for step, after in ways(seen):
        z = np.zeros((N, 2)) if step.first else z  # noqa: F821
        delta = step.reward + GAMMA * step.ahead @ w[:, after] - step.x @ w[:, step.action]
        z = GAMMA * LAMBDA * z + spread(step.x, step.action)
        w = w + ALPHA * delta * z
    return w


def n_step_sarsa(seen):
    """The box on p. 247, with n = 3."""
    w = np.zeros((N, 2))
    starts = [t for t, step in enumerate(seen) if step.first]
    for start, end in zip(starts, [*starts[1:], len(seen)], strict=True):
        for tau in range(start, end):  # after step tau + 2, or at the end; in order all the same
            last = min(tau + 3, end)
            target = sum(GAMMA ** (t - tau) * seen[t].reward for t in range(tau, last))
            if last < end:
                target += GAMMA**3 * seen[last].x @ w[:, seen[last].action]
            w = w + ALPHA * (target - seen[tau].x @ w[:, seen[tau].action]) * spread(seen[tau].x, seen[tau].action)
    return w


def watkins(seen):
    w = np.zeros((N, 2))
    for step, after in ways(seen):
        z = np.zeros((N, 2)) if step.first else z  # noqa: F821
        delta = step.reward + GAMMA * (step.ahead @ w).max() - step.x @ w[:, step.action]
        z = GAMMA * LAMBDA * z + spread(step.x, step.action)
        w = w + ALPHA * delta * z
        if not step.over and step.ahead @ w[:, after] < (step.ahead @ w).max():
            z = np.zeros((N, 2))
    return w


def true_online_sarsa(seen):
    """The box on p. 307."""
    w = np.zeros((N, 2))
    for step, after in ways(seen):
        z, old = (np.zeros((N, 2)), 0.0) if step.first else (z, old)  # noqa: F821
        x = spread(step.x, step.action)
        value, ahead = (w * x).sum(), step.ahead @ w[:, after]
        delta = step.reward + GAMMA * ahead - value
        z = GAMMA * LAMBDA * z + (1 - ALPHA * GAMMA * LAMBDA * (z * x).sum()) * x
        w = w + ALPHA * (delta + value - old) * z - ALPHA * (value - old) * x
        old = ahead
    return w


CONTROL = [
    (SemiGradientQLearning, {}, q_learning, 6),
    (SemiGradientExpectedSarsa, {}, expected_sarsa, 6),
    (SemiGradientQLambda, TRACED, watkins, 6),
    (SemiGradientSarsaLambda, TRACED, sarsa_lambda, 10_000),  # cut off, it chooses an action that nobody sees
    (TrueOnlineLinearSarsaLambda, TRACED, true_online_sarsa, 10_000),
    (SemiGradientNStepSarsa, {"n": 3}, n_step_sarsa, 10_000),
]


@pytest.mark.cases("SemiGradient(QLearning|QLambda|ExpectedSarsa|SarsaLambda).*")
@pytest.mark.parametrize(("kind", "options", "formula", "limit"), CONTROL)
def test_control(kind, options, formula, limit):
    agent = kind(gamma=GAMMA, learning_rate=ALPHA, exploration=rl.EpsilonGreedy(1.0), **options)
    learned, seen = experience(agent, limit)
    np.testing.assert_allclose(learned, formula(seen), rtol=0, atol=1e-12)
