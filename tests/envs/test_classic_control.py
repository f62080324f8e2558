import copy
import math

import gymnasium
import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite_envs.classic_control import acrobot, cart_pole, mountain_car, pendulum

STEPS = 10_000

# Every parameter that changes the arithmetic is seen at a second value somewhere.
PROBLEMS = {
    "MountainCar": (lambda: gymnasium.make("MountainCar-v0").unwrapped, mountain_car.dynamics),
    "MountainCar, slower": (lambda: changed("MountainCar-v0", goal_velocity=0.03, force=0.0011), mountain_car.dynamics),
    "CartPole": (lambda: gymnasium.make("CartPole-v1").unwrapped, cart_pole.dynamics),
    "CartPole, semi-implicit": (
        lambda: changed("CartPole-v1", kinematics_integrator="semi-implicit", _sutton_barto_reward=True, length=0.7),
        cart_pole.dynamics,
    ),
    "Acrobot": (lambda: gymnasium.make("Acrobot-v1").unwrapped, acrobot.dynamics),
    "Acrobot, noisy": (
        lambda: changed("Acrobot-v1", book_or_nips="nips", torque_noise_max=0.3, LINK_LENGTH_1=1.1, dt=0.15),
        acrobot.dynamics,
    ),
    "Pendulum": (lambda: pendulum.PendulumEnv(n_torques=4), lambda env: env.dynamics),
    "Pendulum, light": (lambda: pendulum.PendulumEnv(n_torques=3, g=9.81), lambda env: env.dynamics),
}


def changed(env_id, **parameters):
    env = gymnasium.make(env_id).unwrapped
    for name, value in parameters.items():
        assert hasattr(env, name)
        setattr(env, name, value)
    return env


@pytest.fixture(scope="module")
def tolerance():
    """0 where NumPy's functions and those of the maths library agree to the last bit, 1e-12 elsewhere."""
    numbers = np.random.default_rng(0).uniform(-10, 10, 50_000)
    pairs = ((np.cos, math.cos), (np.sin, math.sin))
    agree = all(np.array_equal(ours(numbers), [theirs(x) for x in numbers]) for ours, theirs in pairs)
    return 0.0 if agree else 1e-12


def observed(dynamics, state, env):
    out = np.full(env.observation_space.shape, np.nan)
    dynamics.observe(dynamics.constants, state, out)
    return out


def wanted_action(env, rng):
    """Mostly with the movement, which drives cars and links up; sometimes anything."""
    last = env.action_space.n - 1
    with_the_movement = last if env.state[-1] > 0 else 0
    return with_the_movement if rng.random() < 0.8 else int(rng.integers(last + 1))


@pytest.mark.cases("Acrobot|CartPole|MountainCar|Pendulum")
@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_gymnasium_s_own_step_for_step(name, tolerance):
    """Along whole trajectories, resets included: what is drawn, states, observations, rewards and ends."""
    make, compile_dynamics = PROBLEMS[name]
    env = make()
    dynamics = compile_dynamics(env)
    env.reset(seed=5)
    rng, policy = copy.deepcopy(env.np_random), np.random.default_rng(3)
    firsts, first_states, steps = ([], []), ([], []), ([], [])
    over, age = True, 0
    for _ in range(STEPS if "," not in name else STEPS // 4):
        if over or age == 300:
            firsts[0].append(env.reset()[0])
            state, age = dynamics.begin(dynamics.constants, rng), 0
            firsts[1].append(observed(dynamics, state, env))
            first_states[0].append(dynamics.read(env))
            first_states[1].append(state)
        action = wanted_action(env, policy)
        seen, reward, over, _, _ = env.step(action)
        state, paid, ended = dynamics.step(dynamics.constants, state, action, rng)
        steps[0].append((*dynamics.read(env), float(reward), over, *seen.tolist()))
        steps[1].append((*state, paid, ended, *observed(dynamics, state, env)))
        if tolerance > 0:  # small differences would grow: go on from Gymnasium's own state
            state = dynamics.read(env)
        age += 1
    np.testing.assert_array_equal(*first_states)
    # Gymnasium takes the first cosines of an acrobot in single precision
    np.testing.assert_allclose(*firsts, rtol=0, atol=2**-23 if name.startswith("Acrobot") else float_32(tolerance))
    width = len(state) + 2
    mine, theirs = (np.array(rows) for rows in steps)
    np.testing.assert_allclose(mine[:, :width], theirs[:, :width], rtol=0, atol=tolerance)
    np.testing.assert_allclose(mine[:, width:], theirs[:, width:], rtol=0, atol=float_32(tolerance))
    assert rng.bit_generator.state == env.np_random.bit_generator.state
    assert len(firsts[0]) > 8  # every 300 steps at the latest


def float_32(tolerance):
    """How far apart two numbers may be that were that near before they were rounded to float32."""
    return 0.0 if tolerance == 0 else 2**-19


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_state_can_be_put_back(name):
    make, compile_dynamics = PROBLEMS[name]
    env, other = make(), make()
    env.reset(seed=1)
    for _ in range(5):
        env.step(1)
    other.reset(seed=2)
    dynamics = compile_dynamics(env)
    dynamics.write(other, dynamics.read(env))
    other.np_random = copy.deepcopy(env.np_random)
    mine, theirs = env.step(0), other.step(0)
    np.testing.assert_array_equal(mine[0], theirs[0])
    assert mine[1:3] == theirs[1:3]
    assert type(mine[1]) is type(theirs[1])  # single and double precision differ in the reward of a pendulum


def test_the_torques_of_a_pendulum_are_those_of_gymnasium():
    env, twin = pendulum.PendulumEnv(n_torques=3), gymnasium.make("Pendulum-v1").unwrapped
    assert env.action_space == gymnasium.spaces.Discrete(3)
    np.testing.assert_array_equal(env.reset(seed=4)[0], twin.reset(seed=4)[0])
    for action, torque in ((0, -2.0), (1, 0.0), (2, 2.0)):
        mine, theirs = env.step(action), twin.step(np.array([torque], dtype=np.float32))
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1] == theirs[1]


@pytest.mark.parametrize("n_torques", [1, 2.5, "three"])
def test_a_pendulum_needs_two_torques(n_torques):
    with pytest.raises(ParameterError, match=f"n_torques={n_torques!r} is not a whole number of at least 2"):
        pendulum.PendulumEnv(n_torques=n_torques)
