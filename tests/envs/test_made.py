"""What gymnasium.make calls: the keywords of the class and `observe`, and a spec that makes the same again."""

import inspect

import gymnasium
import pytest

import rlsuite_envs
from rlsuite.errors import ParameterError
from rlsuite_envs import made


def test_a_spec_makes_the_same_environment_again():
    env = gymnasium.make("rlsuite/ObstacleGrid-v0", observe="cell", start=(0, 0))
    again = gymnasium.make(env.spec)
    assert str(again) == str(env)
    assert again.reset(seed=1)[0].tolist() == env.reset(seed=1)[0].tolist() == [4.0, 0.0]
    assert gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()).kwargs["observe"] == "cell"


def test_every_class_has_the_keyword_beside_its_own():
    for name, env_class in rlsuite_envs.env_classes().items():
        keywords = inspect.signature(getattr(made, name)).parameters
        assert keywords.keys() - {"observe"} == inspect.signature(env_class).parameters.keys()
    with pytest.raises(AttributeError, match="no attribute 'NoSuchEnv'"):
        _ = made.NoSuchEnv


def test_copies_that_are_stepped_at_once_show_their_state():
    with pytest.raises(ParameterError, match="vectorization_mode='sync'"):
        gymnasium.make_vec("rlsuite/GridGoal-v0", num_envs=2, observe="cell")
    both = gymnasium.make_vec("rlsuite/GridGoal-v0", num_envs=2, vectorization_mode="sync", observe="cell")
    assert both.reset(seed=1)[0].tolist() == [[1.0, 0.0]] * 2
