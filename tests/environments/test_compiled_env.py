"""An environment of compiled functions alone."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env

import rlsuite as rl
from rlsuite.errors import ParameterError


@rl.compiled(in_place=True)
def begin(constants, rng):
    return rng.uniform(-constants[0], constants[0]), 0.0


@rl.compiled(in_place=True)
def step(constants, state, action, rng):
    place = state[0] + 0.25 * (action - 1)
    return (place, state[1] + 1.0), place * rng.random(), abs(place) >= 1.0


@rl.compiled(in_place=True)
def observe(constants, state, out):
    out[0], out[1] = state


DYNAMICS = rl.CompiledDynamics(begin=begin, step=step, observe=observe, constants=(0.5,))
SEEN = Box(-100.0, 100.0, (2,), dtype=np.float64)


def walk(start=0):
    return rl.CompiledEnv(DYNAMICS, SEEN, Discrete(3, start=start))


def test_it_keeps_gymnasiums_rules():
    check_env(walk(), skip_render_check=True)


def test_it_does_what_the_functions_say_with_its_own_generator():
    env, rng = walk(start=5), None
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(np.random.SeedSequence(3))
    place = rng.uniform(-0.5, 0.5)
    assert observation.tolist() == [place, 0.0]
    for action in (5, 7, 7):
        observation, reward, terminated, truncated, _ = env.step(action)
        place += 0.25 * (action - 6)
        assert observation.tolist()[0] == place
        assert reward == place * rng.random()
        assert (terminated, truncated) == (abs(place) >= 1.0, False)
    assert env.state == (place, 3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, SEEN, Discrete(3)), r"dynamics=None must be a CompiledDynamics"),
        ((DYNAMICS, Discrete(2), Discrete(3)), r"observation_space=Discrete\(2\) must be a Box"),
        ((DYNAMICS, Box(0, 1, (2, 2)), Discrete(3)), r"observation_space=.* must have one dimension"),
        ((DYNAMICS, SEEN, SEEN), r"action_space=.* must be a Discrete"),
    ],
)
def test_nonsense_is_named(arguments, message):
    with pytest.raises(ParameterError, match=message):
        rl.CompiledEnv(*arguments)


def test_actions_outside_the_space_and_steps_before_the_start_are_named():
    env = walk()
    with pytest.raises(ParameterError, match="step was called before reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ParameterError, match=r"action 3 is not in Discrete\(3\)"):
        env.step(3)
    with pytest.raises(ParameterError, match=r"render_mode='human' is not supported; allowed: None"):
        rl.CompiledEnv(DYNAMICS, SEEN, Discrete(3), render_mode="human")


@rl.compiled(in_place=True)
def observing_too_much(constants, state, out):
    out[0], out[1], out[2] = state[0], state[1], 0.0


@rl.compiled(in_place=True)
def observing_less(state, out):
    out[0] = state[0]


def test_an_index_outside_of_an_array_is_found_in_python():
    """Machine code would write into other memory."""
    dynamics = dataclasses.replace(DYNAMICS, observe=observing_too_much)
    message = r"in observing_too_much\(\), `out\[0\].*`: index 2 is out of bounds for axis 0 with size 2. Machine code"
    with pytest.raises(rl.errors.UnsuitableEnvironment, match=message):
        rl.CompiledEnv(dynamics, SEEN, Discrete(3)).reset(seed=1)
    dynamics = dataclasses.replace(DYNAMICS, observe=observing_less)
    with pytest.raises(ParameterError, match=r"observe is called with \(constants, state, out\), and observing_less"):
        rl.CompiledEnv(dynamics, SEEN, Discrete(3)).reset(seed=1)


def test_a_table_cannot_learn_it():
    with pytest.raises(rl.errors.UnsuitableEnvironment, match="tabular agents need a Discrete observation space"):
        rl.QLearning().learn(gymnasium.wrappers.TimeLimit(walk(), 10), steps=10)
