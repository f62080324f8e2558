"""Where semi-gradient methods diverge off-policy, and gradient-TD does not (S&B2 sections 11.2, 11.7 and 11.8)."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.exploration import Exploration, ExplorationRule
from rlsuite.agents.schedules import UNUSED, Constant
from rlsuite.approximation.linear.gradient_td import GTD2, TDC, EmphaticTD
from rlsuite.approximation.linear.linear_agent import SemiGradientQLearning, SemiGradientTD
from rlsuite.errors import DivergenceWarning, LearningError

pytestmark = pytest.mark.arithmetic

GAMMA = 0.99
BEGINNING = [1.0, 1, 1, 1, 1, 1, 10, 1]
DASHED, SOLID = 0, 1
OFF_POLICY = {"policy_to_follow": [6 / 7, 1 / 7], "policy_to_evaluate": [0.0, 1.0], "gamma": GAMMA}


def star():
    env = gymnasium.make("rlsuite/BairdStar-v0", max_episode_steps=10**9)
    return rl.VectorObservation(env, env.unwrapped.features)


def errors(env, weights):
    """Value error and projected Bellman error, each the root of its mean square over the states (S&B2 Figure 11.5)."""
    x = env.vectors
    value = x @ weights
    bellman = GAMMA * value[6] - value
    projected = x @ np.linalg.lstsq(x, bellman, rcond=None)[0]
    return np.sqrt((value**2).mean()), np.sqrt((projected**2).mean())


@pytest.mark.slow
def test_semi_gradient_td_diverges_on_the_star():
    """S&B2 Figure 11.2, left: after 1000 steps the eighth weight is beyond 100, and it has not finished."""
    env = star()
    agent = SemiGradientTD(**OFF_POLICY, learning_rate=0.01, initial_weight=BEGINNING)
    assert agent.learn(env, steps=1_000, seed=0).weights_[7] > 100
    before = agent.weights_.copy()
    with pytest.warns(DivergenceWarning, match="SemiGradientTD diverges: its largest weight has become"):
        agent.learn(env, steps=20_000)
    assert agent.weights_.tolist() == before.tolist()
    with pytest.raises(LearningError, match="SemiGradientTD has diverged"):
        agent.learn(env, steps=500_000)
    assert agent.weights_.tolist() == before.tolist()
    agent = SemiGradientTD(**OFF_POLICY, learning_rate=0.01, initial_weight=BEGINNING)
    with pytest.raises(LearningError, match="SemiGradientTD has diverged"):
        agent.learn(env, steps=500_000, seed=0)
    assert agent.weights_.tolist() == BEGINNING


@rl.compiled(in_place=True)
def _mostly_dashed(memory, state, chance, unused, rng):
    return DASHED if rng.random() < chance else SOLID


@rl.compiled(in_place=True)
def _probabilities(memory, state, chance, unused, out):
    out[DASHED] = chance
    out[SOLID] = 1.0 - chance


@pytest.mark.slow
def test_semi_gradient_q_learning_diverges_on_the_star():
    """Also off-policy, also with bootstrapping; the weights of the solid line begin as in the book, after one step."""

    class MostlyDashed(Exploration):
        """The behaviour of the counterexample, whatever has been learned."""

        @property
        def rule(self):
            return ExplorationRule(_mostly_dashed, _probabilities, Constant(6 / 7).rate, UNUSED)

    env = star()
    agent = SemiGradientQLearning(gamma=GAMMA, learning_rate=0.05, exploration=MostlyDashed())
    agent.learn(env, steps=1, seed=0)
    agent.weights_[:, SOLID] = BEGINNING
    with pytest.warns(DivergenceWarning, match="SemiGradientQLearning diverges"):
        agent.learn(env, steps=50_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TDC, GTD2])
def test_gradient_td_finds_the_fixed_point_of_the_star(kind):
    """S&B2 Figure 11.5 and its text: the projected Bellman error goes to 0; the values stay about 2
    away from 0."""
    env = star()
    agent = kind(**OFF_POLICY, learning_rate=0.005, error_rate=0.05, initial_weight=BEGINNING)
    assert errors(env, np.array(BEGINNING))[1] > 1
    agent.learn(env, steps=10_000, seed=0)
    value_error, projected = errors(env, agent.weights_)
    assert projected < 0.01
    assert value_error > 1.5


def two_states(limit):
    env = gymnasium.make("rlsuite/TwoStates-v0", max_episode_steps=limit)
    return rl.VectorObservation(env, env.unwrapped.features)


@pytest.mark.slow
def test_two_states_diverge_if_they_are_left_equally_often():
    """Tsitsiklis & Van Roy: w grows by a factor 1 + 0.5 alpha (6 gamma - 5 - 4 gamma epsilon) a step on average.

    That is 0.45 alpha, or exp(45) in 1000 steps with alpha = 0.1; the warning comes at exp(28). Followed to the end of
    its episodes the same problem is on-policy, and w goes to 0.
    """
    agent = SemiGradientTD(gamma=GAMMA, learning_rate=0.1, initial_weight=1.0)
    with pytest.warns(DivergenceWarning):
        agent.learn(two_states(limit=1), steps=1_000, seed=0)
    agent = SemiGradientTD(gamma=GAMMA, learning_rate=0.1, initial_weight=1.0)
    assert abs(agent.learn(two_states(limit=1_000), steps=100_000, seed=0).weights_[0]) < 1e-6
    agent = TDC(gamma=GAMMA, learning_rate=0.01, error_rate=0.1, initial_weight=1.0)
    assert abs(agent.learn(two_states(limit=1), steps=100_000, seed=0).weights_[0]) < 1e-3


@pytest.mark.slow
def test_emphatic_td_converges_where_td_diverges():
    """Two states, w and 2w, and two actions, to the one and to the other (Sutton, Mahmood & White 2016, section 4).

    Both actions are followed, the second is evaluated. The mean of the TD update multiplies w by 1 + 0.2 alpha; that of
    the emphatic one by 1 - 3.4 alpha.
    """
    model = rl.MDP.from_successors([[0, 1], [0, 1]], [0.0, 0.0], gamma=0.9, start=0)
    env = rl.VectorObservation(model.to_env(), [[1.0], [2.0]])
    policies = {"policy_to_follow": [0.5, 0.5], "policy_to_evaluate": [0.0, 1.0], "gamma": 0.9, "initial_weight": 1.0}
    td = SemiGradientTD(**policies, learning_rate=0.01).learn(env, steps=10_000, seed=0)
    assert td.weights_[0] > 1e3
    emphatic = EmphaticTD(**policies, learning_rate=0.001).learn(env, steps=10_000, seed=0)
    assert abs(emphatic.weights_[0]) < 1e-3
