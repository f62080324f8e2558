"""Agents that expect rewards in a range warn once if an environment has others, in both loops."""

import warnings

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.errors import RewardWarning
from rlsuite.training.expected_rewards import return_range, reward_limits
from rlsuite_envs.bandits import bandit


def agents():
    return [
        rl.UCRL2(), rl.UCRL2(r_min=-1.0), rl.RMax(m=1, gamma=0.5), rl.KLUCB(), rl.KLUCB(high=2.0),
        rl.EXP3(), rl.ThompsonBernoulli(),
    ]  # fmt: skip


class Arms(gymnasium.Env):
    """Without a table."""

    observation_space = gymnasium.spaces.Discrete(1)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward):
        self.reward = reward

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, self.reward, False, False, {}


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
@pytest.mark.parametrize("agent", agents(), ids=repr)
def test_a_reward_of_the_table_outside_the_range(agent, loop):
    with pytest.warns(RewardWarning, match=r"expects rewards (from|of at most) .* has the reward 5") as caught:
        agent.learn(bandit([0.5, 5.0], std=0.0).to_env(), steps=100, seed=0, loop=loop)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.learn(agent._asked_for, steps=100)  # the same run


@pytest.mark.slow
@pytest.mark.parametrize("agent", agents(), ids=repr)
@pytest.mark.parametrize("loop", ["compiled", "auto"])
def test_a_reward_that_is_returned(agent, loop):
    """In the compiled loop its table is made by asking, and says which rewards there are."""
    with pytest.warns(RewardWarning, match="Arms has the reward 5") as caught:
        agent.learn(Arms(5.0), steps=30, seed=0, loop=loop)
    assert len(caught) == 1


@pytest.mark.slow
@pytest.mark.parametrize("agent", agents(), ids=repr)
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_rewards_in_the_range_are_expected(agent, reward):
    for env in (Arms(reward), bandit([0.0, reward], std=0.0).to_env(), bandit([0.0, 0.7], kind="bernoulli").to_env()):
        agent.learn(env, steps=30, seed=0)


def test_the_reward_of_a_reset_is_none():
    rl.KLUCB(low=1.0, high=2.0).learn(Arms(1.5), steps=10, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("agent", agents(), ids=repr)
def test_normal_rewards_have_no_bounds(agent):
    with pytest.warns(RewardWarning, match="normally distributed rewards, which have no bounds"):
        agent.learn(bandit([0.0, 1.0], std=0.5).to_env(), steps=10, seed=0)


def test_the_sentence_names_the_parameters():
    river = "rlsuite/RiverSwim-v0"
    with pytest.warns(RewardWarning, match=r"UCRL2 expects rewards from 0 to 1, .* reward 10000; give r_max=10000,"):
        rl.UCRL2().learn(river, steps=10, seed=0)
    with pytest.warns(
        RewardWarning, match=r"RMax expects rewards of at most 1, .* give r_max=10000, or the true bounds"
    ):
        rl.RMax().learn(river, steps=10, seed=0)
    with pytest.warns(RewardWarning, match=r"the reward -100; give r_min=-100,"):
        rl.UCRL2().learn("CliffWalking-v1", steps=10, seed=0)
    with pytest.warns(RewardWarning, match=r"rewards -1 and 5; give low=-1 and high=5, or the true bounds"):
        rl.KLUCB().learn(bandit([-1.0, 5.0], std=0.0).to_env(), steps=10, seed=0)
    with pytest.warns(RewardWarning, match=r"; scale them \(gymnasium.wrappers.TransformReward\)"):
        rl.EXP3().learn(bandit([-1.0, 5.0], std=0.0).to_env(), steps=10, seed=0)


def test_an_edited_table_is_compared_again():
    env = gymnasium.make("FrozenLake-v1")
    agent = rl.UCRL2().learn(env, steps=10, seed=0)
    env.unwrapped.P[0][0] = [(1.0, 0, 9.0, False)]
    with pytest.warns(RewardWarning, match="the reward 9"):
        agent.learn(env, steps=10)


def test_limits_are_those_of_the_rewards_that_can_occur():
    assert reward_limits(rl.MDP.from_env("FrozenLake-v1", gamma=0.9)) == (0.0, 1.0)
    assert reward_limits(bandit([0.5, 1.0], kind="bernoulli")) == (0.0, 1.0)
    assert reward_limits(bandit([0.0, 0.0], kind="bernoulli")) == (0.0, 0.0)
    assert reward_limits(bandit([0.5, 1.0], std=0.1)) == (-np.inf, np.inf)
    assert reward_limits(bandit([0.5, 1.0], std=0.0)) == (0.5, 1.0)
    P = {
        0: {0: [(1.0, 1, 2.0, True), (0.0, 0, 7.0, False)]},  # never 7
        1: {0: [(1.0, 1, 0.0, True)]},  # an end: nothing is received there
    }
    assert reward_limits(rl.MDP.from_table(P, gamma=0.9, start=[1.0, 0.0])) == (2.0, 2.0)
    # returns of whole episodes, against all paths
    assert return_range(rl.MDP.from_table(P, gamma=0.9, start=[1.0, 0.0]), 9)[:2] == (2.0, 2.0)
    assert return_range(bandit([0.5, 1.0], kind="bernoulli"), 5)[:2] == (0.0, 5.0)
    assert return_range(bandit([0.5, 1.0], std=0.1), 5)[:2] == (-np.inf, np.inf)
    assert return_range(rl.MDP.from_env("CliffWalking-v1", gamma=1.0), NO_LIMIT)[:2] == (-np.inf, -13.0)
    rng = np.random.default_rng(8)
    for limit in (1, 2, 4):
        rows = [
            (s, a, then) for s in range(3) for a in range(2) for then in range(3) if rng.random() < 0.6 or then == s
        ]
        reward, ends = rng.normal(size=len(rows)), rng.random(len(rows)) < 0.2
        begins = np.searchsorted([2 * s + a for s, a, _ in rows], np.arange(7))
        share = np.concatenate([np.full(n, 1.0 / n) for n in np.diff(begins)])
        mdp = rl.MDP.from_rows(
            indptr=begins,
            next_state=[then for *_, then in rows],
            probability=share,
            reward=reward,
            terminated=ends,
            n_actions=2,
            gamma=1.0,
            start=[0.5, 0.5, 0.0],
        )
        paths, totals = [(0, 0.0), (1, 0.0)], []
        for _ in range(limit):
            moves = [(i, total) for state, total in paths for i, row in enumerate(rows) if row[0] == state]
            totals += [total + reward[i] for i, total in moves if ends[i]]
            paths = [(rows[i][2], total + reward[i]) for i, total in moves if not ends[i]]
        totals += [total for _, total in paths]
        np.testing.assert_allclose(return_range(mdp, limit)[:2], (min(totals), max(totals)), rtol=1e-12)
