"""Bandits against plain Python, written from the equations and run on the bandits' own pulls and rewards."""

import math

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.registry import agent_classes
from rlsuite_envs.bandits import contextual_bandit


def test_contextual_bandit():
    means = [[0.1, 0.9], [0.7, 0.3], [0.5, 0.5]]
    one = contextual_bandit(means, kind="bernoulli")
    np.testing.assert_allclose(one.expected_reward(), means, rtol=1e-15)
    assert one.start.tolist() == pytest.approx([1 / 3] * 3)
    assert one.gamma == 0.0
    assert sorted(set(one.probability.tolist())) == [1 / 3]
    assert one.next_state.tolist() == [0, 1, 2] * 6
    turns = contextual_bandit(means, std=0.5, order="in turn")
    assert turns.start.tolist() == [1.0, 0.0, 0.0]
    env = turns.to_env()
    assert env.reset(seed=1)[0] == 0
    assert [env.step(0)[0] for _ in range(5)] == [1, 2, 0, 1, 2]
    assert turns.reward_std.tolist() == [0.5] * 6
    with pytest.raises(ParameterError, match="unknown order 'shuffled'"):
        contextual_bandit(means, order="shuffled")
    with pytest.raises(ParameterError, match=r"means have the shape \(0,\)|\(1, 0\)"):
        contextual_bandit([])
    with pytest.raises(ParameterError, match="is not a number in"):
        contextual_bandit([[0.5, 1.5]], kind="bernoulli")


BANDITS = [kind for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite.agents.bandits.")]


class FickleArms(gymnasium.Env):
    """Two states, four arms of which only some exist at a time; which ones, the mask says anew after every pull."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(4)

    def info(self):
        self.mask = self.np_random.random(4) < 0.4
        self.mask[self.np_random.integers(4)] = True
        return {"action_mask": self.mask.astype(np.int8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, self.info()

    def step(self, action):
        assert self.mask[action]
        return int(self.np_random.integers(2)), float(self.np_random.random()), False, False, self.info()


@pytest.mark.slow
@pytest.mark.parametrize("kind", BANDITS)
def test_arms_may_come_and_go(kind):
    agent = kind().learn(FickleArms(), steps=1_000, seed=6)
    assert agent.visits_.sum() == 1_000
    assert (agent.visits_ > 10).all()
    assert np.isfinite(agent.q_).all()
    np.testing.assert_allclose(agent.policy().sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.GradientBandit(baseline="mean"), "unknown baseline 'mean'"),
        (lambda: rl.GradientBandit(learning_rate=2.0), "learning_rate=2.0 lies outside [0, 1]"),
        (lambda: rl.UCB1(c=-1.0), "c=-1 is less than 0"),
        (lambda: rl.UCBV(zeta=math.nan), "zeta=nan is not a finite number"),
        (lambda: rl.MOSS(horizon=0), "horizon=0 is less than 1"),
        (lambda: rl.KLUCB(low=1.0), "low=1 is not below high=1"),
        (lambda: rl.KLUCBNormal(std="1"), "std='1' is not a finite number"),
        (lambda: rl.ThompsonBernoulli(beta=0.0), "beta=0 is not above 0"),
        (lambda: rl.ThompsonBernoulli(alpha=1e-300), "alpha=1e-300 is less than 1e-06"),
        (lambda: rl.ThompsonNormal(prior_std=-2.0), "prior_std=-2 is not above 0"),
        (lambda: rl.ThompsonNormalGamma(kappa=0), "kappa=0 is not above 0"),
        (lambda: rl.EXP3(epsilon=1.5), "epsilon=1.5 lies outside [0, 1]"),
        (lambda: rl.EXP3(epsilon=0), "epsilon=0 is not in (0, 1]: as the step size"),
        (lambda: rl.EXP3(epsilon=0.0), "epsilon=0 is not in (0, 1]: as the step size"),
        (lambda: rl.ExploreThenCommit(m=2.5), "m=2.5 is not a whole number"),
        (lambda: rl.SuccessiveElimination(delta=1.0), "delta=1 is not in (0, 1)"),
        (lambda: rl.SlidingWindowUCB(window=0), "window=0 is less than 1"),
        (lambda: rl.DiscountedUCB(discount=1.0), "discount=1 is not in (0, 1)"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(message)
