"""What a policy is worth: by episodes, and exactly."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import CutEpisodesWarning, LearningError, ParameterError, UnsuitableEnvironment

LAKE = "FrozenLake-v1"


class Stairs(gymnasium.Env):
    """Up or down three stairs, without a table; the top pays 1 and ends the episode."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.stair = 0
        return self.stair, {}

    def step(self, action):
        self.stair = min(self.stair + 1, 3) if action else max(self.stair - 1, 0)
        return self.stair, float(self.stair == 3), self.stair == 3, False, {}


def test_the_exact_value_lies_among_the_episodes_and_the_costs_are_the_regret():
    mdp = rl.MDP.from_env(LAKE, gamma=0.9)
    best = rl.solve(mdp)
    found = rl.evaluate(best, LAKE, episodes=400, seed=1)
    assert found.gamma == 0.9
    assert found.regret < 1e-9
    assert dataclasses.replace(found, exact=found.optimum + 1e-9).regret == 0.0  # by rounding
    assert found.optimal_share == 1.0
    assert found.costs == ()
    assert found.value_interval[0] < found.exact < found.value_interval[1]
    assert found.mean_interval[0] < found.exact_mean < found.mean_interval[1]
    assert found.terminated <= 1.0
    assert len(repr(found).splitlines()) <= 8

    policy = np.random.default_rng(2).dirichlet(np.ones(4), size=16)
    found = rl.evaluate(policy, LAKE, episodes=20, seed=1, gamma=0.9)
    np.testing.assert_allclose(found.exact, rl.planning.PolicyEvaluator(mdp)(policy), atol=1e-12)
    np.testing.assert_allclose(sum(one.cost for one in found.costs), found.regret, atol=1e-6)
    assert found.costs[0].cost >= found.costs[1].cost
    assert found.optimal_share < 1.0
    assert set(np.flatnonzero(best.optimal_actions[found.costs[0].observation])) == set(found.costs[0].best_actions)
    again = rl.evaluate(policy, LAKE, episodes=20, seed=1, gamma=0.9)
    assert found.returns.tobytes() == again.returns.tobytes()
    assert repr(found) == repr(again)
    drawn = rl.evaluate(policy, LAKE, episodes=2)
    assert rl.evaluate(policy, LAKE, episodes=2, seed=drawn.seed).lengths.tolist() == drawn.lengths.tolist()
    assert np.isnan(rl.evaluate(policy, LAKE, episodes=1, seed=1).mean_interval[0])

    # what is no table is asked once for each state, unless it has been seen to act otherwise
    assert rl.evaluate(lambda state: 2, LAKE, episodes=5, seed=1).exact is not None
    rng = np.random.default_rng(1)
    chance = rl.evaluate(lambda state: int(rng.integers(4)), LAKE, episodes=5, seed=1)
    assert chance.exact is None
    assert "does not always do the same" in chance.unknown
    fails = rl.evaluate({0: 0, 4: 0, 8: 0}, LAKE, episodes=2, seed=1, is_slippery=False)
    assert "asked about observation 1: policy has no action for observation 1" in repr(fails)


class Declared(Stairs):
    """Stairs with a table; some pay more than it says, or do not number their state."""

    P = {  # noqa: RUF012
        stair: [[(1.0, max(stair - 1, 0), 0.0, False)], [(1.0, min(stair + 1, 3), float(stair == 2), stair == 2)]]
        for stair in range(4)
    }
    initial_state_distrib = np.eye(4)[0]

    def __init__(self, pays=1.0, numbered=True):
        self.pays, self.numbered = pays, numbered

    def reset(self, *, seed=None, options=None):
        answer = super().reset(seed=seed)
        self.np_random.random()
        if self.numbered:
            self.s = 0
        return answer

    def step(self, action):
        self.np_random.random()
        observation, reward, *rest = super().step(action)
        if self.numbered:
            self.s = observation
        return observation, self.pays * reward, *rest


def test_a_declared_table_is_compared_with_what_happens():
    agrees, pays, hides = (
        rl.evaluate([1] * 4, env, episodes=3, seed=1, gamma=0.5)
        for env in (Declared(), Declared(pays=2.0), Declared(numbered=False))
    )
    assert (agrees.exact, agrees.regret, agrees.unknown) == (0.25, 0.0, "")
    assert "its table says reward 1.0, but its step returns 2.0" in pays.unknown
    assert "cannot be compared with its table (AttributeError" in hides.unknown


@pytest.mark.parametrize("draws", [True, False])
def test_an_environment_with_a_declared_table_is_reset_once_an_episode(draws):
    """Where the start is drawn, it is compared with the draw of the table with the same seed."""

    class Lake(FrozenLakeEnv):
        resets = 0

        def reset(self, *, seed=None, options=None):
            self.resets += 1
            answer = super().reset(seed=seed, options=options)
            if draws:
                return answer
            self.s = 0  # whatever was drawn
            return 0, answer[1]

    lake = Lake()
    lake.initial_state_distrib = np.full(16, 1 / 16)
    found = rl.evaluate([2] * 16, lake, episodes=20, seed=1, gamma=0.9)
    assert lake.resets == 20
    assert (found.exact is not None) is draws
    assert draws or "at reset its table says observation" in found.unknown


def test_an_environment_of_ones_own_is_asked_only_where_that_is_wanted():
    with pytest.warns(CutEpisodesWarning, match=r"Stairs: 3 of 3 episodes were cut at 50 steps"):
        down = rl.evaluate([0] * 4, Stairs(), episodes=3, seed=1, max_steps=50)
    assert down.exact is None
    assert "tabulate=True" in down.unknown
    assert down.terminated == 0.0
    up = rl.evaluate([1] * 4, Stairs(), episodes=3, seed=1, tabulate=True, gamma=0.5)
    assert (up.mean, up.value, up.exact, up.optimum, up.regret) == (1.0, 0.25, 0.25, pytest.approx(0.25), 0.0)
    endless = rl.evaluate([1] * 4, Stairs(), episodes=2, seed=1, tabulate=True, gamma=1.0)
    assert endless.unknown == "gamma is 1, and the environment has no time limit"
    with pytest.raises(UnsuitableEnvironment, match="cannot be tabulated"):
        rl.evaluate(lambda seen: 0, "CartPole-v1", episodes=1, seed=1, tabulate=True)
    with pytest.raises(LearningError, match=r"raised ZeroDivisionError: .* zero \(.*test_judging.py, line"):
        rl.evaluate(lambda state: 1 // 0, LAKE, episodes=1, seed=1)
    with pytest.raises(ParameterError, match="episodes=0"):
        rl.evaluate([1] * 4, Stairs(), episodes=0)
    with pytest.raises(ParameterError, match=r"the policy comes first: write evaluate\(solution, 'FrozenLake-v1'\)"):
        rl.evaluate(LAKE, rl.solve(LAKE, gamma=0.9))
    with pytest.raises(LearningError, match=r"no legal action at observation 0, where .* allows 1, 2"):
        rl.evaluate([0] * 6, "rlsuite/GridGoal-v0", episodes=1, seed=1)
    grid = rl.evaluate([1, 1, 2, 1, 1, 0], "rlsuite/GridGoal-v0", episodes=1, seed=1, gamma=0.9)
    assert (grid.exact, grid.regret) == (pytest.approx(81.0), pytest.approx(0.0, abs=1e-9))
    hidden = rl.evaluate(
        rl.Sarsa().learn("rlsuite/Tiger-v0", steps=200, seed=1), "rlsuite/Tiger-v0", seed=1, episodes=5
    )
    assert hidden.exact is not None
    assert hidden.optimal_share is None


@pytest.mark.slow
def test_agents_of_stable_baselines_are_judged_as_they_are():
    sb3 = pytest.importorskip("stable_baselines3")
    model = sb3.PPO("MlpPolicy", LAKE, n_steps=32, batch_size=32, n_epochs=1, seed=1, device="cpu").learn(32)
    found = rl.evaluate(model, LAKE, episodes=5, seed=1)
    assert found.gamma == 0.99
    assert found.exact is not None
    assert found.policy == "PPO"
    assert repr(found) == repr(rl.evaluate(model, LAKE, episodes=5, seed=1))
