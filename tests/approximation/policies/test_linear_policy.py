import pickle

import gymnasium
import numpy as np
import pytest

from rlsuite import errors
from rlsuite.approximation.policies.linear_policy import LinearPolicy
from rlsuite.features.identity import Identity

pytestmark = pytest.mark.arithmetic


class Numbered(gymnasium.Env):
    """Six ids from 3 on, four actions from 2 on."""

    observation_space = gymnasium.spaces.Discrete(6, start=3)
    action_space = gymnasium.spaces.Discrete(4, start=2)


@pytest.fixture(scope="module")
def cart() -> LinearPolicy:
    return LinearPolicy().for_env(gymnasium.make("CartPole-v1"))


def test_an_id_will_do_as_everywhere(cart):
    assert LinearPolicy().for_env("CartPole-v1").weights_.shape == cart.weights_.shape
    with pytest.raises(errors.EnvironmentNotFound, match="No environment 'CartPol-v1'"):
        LinearPolicy().for_env("CartPol-v1")


def test_the_highest_score_wins(cart):
    rng = np.random.default_rng(1)
    policy = cart.with_parameters(rng.normal(size=8))
    observations = rng.normal(size=(200, 4)).astype(np.float32)
    expected = (observations.astype(np.float64) @ policy.weights_).argmax(axis=1)
    assert [policy.act(observation) for observation in observations] == expected.tolist()
    assert policy.parameters.reshape(4, 2).tolist() == policy.weights_.tolist()


def test_ids_and_actions_need_not_begin_at_0():
    policy = LinearPolicy().for_env(Numbered())
    table = np.random.default_rng(2).normal(size=(6, 4))
    policy = policy.with_parameters(table.ravel())
    assert [policy.act(i) for i in range(3, 9)] == (table.argmax(axis=1) + 2).tolist()


def test_the_first_of_equal_scores_wins(cart):
    assert cart.act([0.3, -0.2, 0.1, 0.0]) == 0


def test_a_copy_acts_alike(cart):
    policy = cart.with_parameters(np.arange(8.0) % 3)
    policy.act(np.ones(4))
    twin = pickle.loads(pickle.dumps(policy))
    observations = np.random.default_rng(3).normal(size=(20, 4))
    assert [twin.act(one) for one in observations] == [policy.act(one) for one in observations]


def test_what_is_wrong_is_named(cart):
    with pytest.raises(errors.NotLearned, match="call for_env"):
        LinearPolicy().act([0.0])
    with pytest.raises(errors.ParameterError, match="has 3 numbers; those of the environment have 4"):
        cart.act([0.0, 0.0, 0.0])
    with pytest.raises(errors.ParameterError, match=r"the scores of observation .* are not finite"):
        cart.act([0.0, np.nan, 0.0, 0.0])
    with pytest.raises(errors.ParameterError, match=r"shape \(3,\) are not 8 finite numbers"):
        cart.with_parameters([1.0, 2.0, 3.0])
    with pytest.raises(errors.ParameterError, match="are not 8 finite numbers"):
        cart.with_parameters([np.nan] * 8)
    with pytest.raises(errors.ParameterError, match="features='tiles' is a name, which command line and files take"):
        LinearPolicy(features="tiles")
    with pytest.raises(errors.ParameterError, match=r"features= is the class Identity; give an instance, Identity\(\)"):
        LinearPolicy(features=Identity)
    with pytest.raises(errors.UnsuitableEnvironment, match="Discrete action"):
        LinearPolicy().for_env(gymnasium.make("Pendulum-v1"))
    with pytest.raises(errors.UnsuitableEnvironment, match="fitted to observations of 2 numbers"):
        LinearPolicy(features=Identity().fit([[1.0, 2.0]])).for_env(gymnasium.make("CartPole-v1"))
