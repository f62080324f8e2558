import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlsuite.environments.wrappers import DiscreteActions
from rlsuite.errors import ParameterError, UnsuitableEnvironment


class Echo(gymnasium.Env):
    """Shows the action that it was given."""

    def __init__(self, space):
        self.action_space = space
        self.observation_space = spaces.Box(-np.inf, np.inf, space.shape, space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(self.action_space.shape, self.action_space.dtype), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return action, 0.0, False, False, {}


def test_actions_are_spaced_from_bound_to_bound():
    env = DiscreteActions(Echo(spaces.Box(-2.0, 6.0, (1,), np.float64)), 5)
    env.reset(seed=1)
    assert env.action_space == spaces.Discrete(5)
    assert [env.step(action)[0].tolist() for action in range(5)] == [[-2.0], [0.0], [2.0], [4.0], [6.0]]


def test_actions_may_be_listed_for_any_box():
    env = DiscreteActions(Echo(spaces.Box(-1.0, 1.0, (2,))), [[0, 1], [-1, 0.5], [0, 0]])
    env.reset(seed=1)
    assert env.step(np.int64(1))[0].tolist() == [-1.0, 0.5]
    scalar = DiscreteActions(Echo(spaces.Box(-1.0, np.inf, ())), [0.5, 7.0])
    assert scalar.actions.tolist() == [0.5, 7.0]


def test_it_can_be_made_again_from_its_record():
    env = DiscreteActions(gymnasium.make("Pendulum-v1"), 4)
    again = gymnasium.make(env.spec)
    assert again.action_space == spaces.Discrete(4)
    np.testing.assert_array_equal(env.reset(seed=3)[0], again.reset(seed=3)[0])
    np.testing.assert_array_equal(env.step(3)[0], again.step(3)[0])


@pytest.mark.parametrize(
    ("space", "actions", "error", "match"),
    [
        (spaces.Discrete(3), 3, UnsuitableEnvironment, "Discrete.3., not a Box: its actions are discrete already"),
        (spaces.Box(-1, 1, (2,)), 3, UnsuitableEnvironment, "list them"),
        (spaces.Box(-np.inf, 1, (1,)), 3, UnsuitableEnvironment, "bounded"),
        (spaces.Box(-1, 1, (1,)), 1, ParameterError, "actions=1 is less than 2"),
        (spaces.Box(-1, 1, (1,)), [0.5], ParameterError, "at least two"),
        (spaces.Box(-1, 1, (1,)), [0.5, 1.5], ParameterError, r"actions\[1\]=\[1.5\] is not in Box"),
        (spaces.Box(-1, 1, (1,)), [0.5, np.nan], ParameterError, r"actions\[1\]=\[nan\] is not in Box"),
        (spaces.Box(-1, 1, (1,)), ["left", "right"], ParameterError, "not arrays of numbers"),
        (spaces.Box(-1, 1, (2,)), [0.5, 0.1], ParameterError, "each of shape .2,."),
    ],
)
def test_bad_actions_are_named(space, actions, error, match):
    with pytest.raises(error, match=match):
        DiscreteActions(Echo(space), actions)


@pytest.mark.parametrize("action", [3, -1, 0.5])
def test_an_action_that_is_not_offered_is_refused(action):
    env = DiscreteActions(Echo(spaces.Box(-1.0, 1.0, (1,))), 3)
    env.reset(seed=1)
    with pytest.raises(ParameterError, match=r"is not in Discrete\(3\)"):
        env.step(action)
