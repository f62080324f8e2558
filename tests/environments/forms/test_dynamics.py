"""Compiled dynamics are used if they agree with `step`, and not otherwise."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import MountainCarEnv

import rlsuite as rl
from rlsuite.approximation import SemiGradientSarsa, TileCoding
from rlsuite.environments.facts import dynamics_of, facts_of
from rlsuite.environments.forms.dynamics import trusted_dynamics
from rlsuite.errors import LearningError, StepwiseWarning, UnsuitableEnvironment, UntrustedTable
from rlsuite_envs.classic_control import mountain_car


def car(**changes):
    """A mountain car that brings its own dynamics, some of them changed."""
    env = gymnasium.make("MountainCar-v0")
    env.reset(seed=1)
    known = dynamics_of(env)
    env.unwrapped.dynamics = rl.CompiledDynamics(
        **{name: getattr(known, name) for name in ("begin", "step", "observe", "constants")} | changes
    )
    return env


def agent():
    return SemiGradientSarsa(features=TileCoding(n_tilings=2, bins=4), gamma=1.0, learning_rate=0.2)


@rl.compiled(in_place=True)
def begin_elsewhere(constants, rng):
    return rng.uniform(-0.5, -0.4), 0.0


@rl.compiled(in_place=True)
def begin_twice(constants, rng):
    rng.uniform(-0.6, -0.4)
    return rng.uniform(-0.6, -0.4), 0.0


@rl.compiled(in_place=True)
def too_much(constants, state, action, rng):
    return state, -2.0, False


@rl.compiled(in_place=True)
def paid_twice(constants, state, action, rng):
    successor, _, over = mountain_car.step(constants, state, action, rng)
    return successor, -2.0, over


@rl.compiled(in_place=True)
def over_at_once(constants, state, action, rng):
    successor, reward, _ = mountain_car.step(constants, state, action, rng)
    return successor, reward, True


@rl.compiled(in_place=True)
def half_blind(constants, state, out):
    out[0], out[1] = state[0], 0.0


LIES = {
    "other start": (
        {"begin": begin_elsewhere},
        r"at reset its compiled dynamics say observation .*, but its reset returns",
    ),
    "other draws": ({"begin": begin_twice}, r"at reset its compiled dynamics say observation"),
    "other reward": (
        {"step": paid_twice},
        r"its compiled dynamics say reward -2\.0, but its step returns -1\.0",
    ),
    "other end": ({"step": over_at_once}, r"its compiled dynamics say terminated True, but its step returns False"),
    "other view": ({"observe": half_blind}, r"its compiled dynamics say observation"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_found(lie):
    changes, message = LIES[lie]
    env = car(**changes)
    with pytest.raises(UntrustedTable, match=message):
        trusted_dynamics(facts_of(env), dynamics_of(env))


@pytest.mark.parametrize("loop", ["auto", "compiled"])
def test_a_run_warns_and_steps(loop):
    with pytest.warns(StepwiseWarning, match=r"MountainCar-v0: .*Learning stepwise") as caught:
        learned = agent().learn(car(step=paid_twice), steps=50, seed=0, loop=loop)
    assert caught[0].filename == __file__
    assert learned.record_.loop == "stepwise"
    stepwise = agent().learn(car(step=paid_twice), steps=50, seed=0, loop="stepwise")
    assert learned.weights_.tobytes() == stepwise.weights_.tobytes()


def test_the_environment_is_left_as_it_was():
    env = car()
    state, stream = env.unwrapped.state.copy(), copy.deepcopy(env.unwrapped.np_random.bit_generator.state)
    trusted_dynamics(facts_of(env), dynamics_of(env))
    assert env.unwrapped.state.tolist() == state.tolist()
    assert env.unwrapped.np_random.bit_generator.state == stream


def test_a_class_of_its_own_needs_dynamics_of_its_own():
    class Downhill(MountainCarEnv):
        def step(self, action):
            return super().step(0)

    assert dynamics_of(Downhill()) is None
    with pytest.raises(UnsuitableEnvironment, match=r"Downhill has no transition table .* and no compiled dynamics"):
        agent().learn(Downhill(), steps=10, loop="compiled")


def test_wrappers_that_change_what_is_seen_are_refused():
    env = gymnasium.wrappers.TransformObservation(
        gymnasium.make("MountainCar-v0"), lambda seen: -seen, gymnasium.spaces.Box(-2.0, 2.0, (2,))
    )
    with pytest.warns(StepwiseWarning, match="is wrapped in TransformObservation"):
        assert agent().learn(env, steps=10, seed=0).record_.loop == "stepwise"


def test_both_loops_give_the_same_bytes_and_leave_the_environment_in_the_same_place():
    found = []
    for loop in ("compiled", "stepwise"):
        env = gymnasium.make("MountainCar-v0")
        learned = agent().learn(env, steps=450, seed=5, loop=loop)
        assert learned.record_.loop == loop
        after = [env.step(2)[0].tolist() for _ in range(3)] + [env.reset()[0].tolist()]
        found.append((learned.weights_.tobytes(), learned.episodes_.tobytes(), after))
    assert found[0] == found[1]
    np.testing.assert_array_equal(learned.episodes_["length"], [200, 200])


def test_loops_may_change_in_the_middle_of_an_episode():
    whole = agent().learn("MountainCar-v0", steps=300, seed=5)
    env = gymnasium.make("MountainCar-v0")
    parts = agent().learn(env, steps=70, seed=5, loop="stepwise")
    parts.learn(env, steps=90, loop="compiled").learn(env, steps=140, loop="stepwise")
    assert parts.weights_.tobytes() == whole.weights_.tobytes()


def plain_step(constants, state, action, rng):
    return state, -1.0, False


@rl.compiled(in_place=True)
def no_end(constants, state, action, rng):
    return state, -1.0


@rl.compiled(in_place=True)
def one_number(constants, rng):
    return rng.random()


@rl.compiled(in_place=True)
def longer(constants, state, action, rng):
    return (state[0], state[1], 0.0), -1.0, False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"step": plain_step},
            r"step of its compiled dynamics is <function plain_step .*, which is not compiled; decorate",
        ),
        (
            {"step": no_end},
            r"step of its compiled dynamics returned \(.*\); it has to return \(next state, reward, term",
        ),
        (
            {"begin": one_number},
            r"begin of its compiled dynamics returned 0\..*; it has to return a state, a tuple of floats",
        ),
        (
            {"step": longer},
            r"returned the next state \(.*, 0\.0\) for the state \(.*\); it has to be a tuple of 2 floats",
        ),
    ],
)
def test_functions_that_the_loop_could_not_run_are_named(changes, message):
    """Also those of a `CompiledEnv`, which has no other step to be compared with."""
    known = dynamics_of(gymnasium.make("MountainCar-v0"))
    functions = {name: getattr(known, name) for name in ("begin", "step", "observe", "constants")}
    made = rl.CompiledEnv(
        rl.CompiledDynamics(**functions | changes), gymnasium.spaces.Box(-2.0, 2.0, (2,)), gymnasium.spaces.Discrete(3)
    )
    for env in (made, car(**changes)):
        with pytest.raises(UnsuitableEnvironment, match=message):
            trusted_dynamics(facts_of(env), dynamics_of(env))
    with pytest.raises(UnsuitableEnvironment, match=message):
        made.reset(seed=1)


@rl.compiled(in_place=True)
def unpaid(constants, state, action, rng):
    speed = state[1] + 0.001 * (action - 1) - 0.0025 * np.cos(3 * state[0])
    return (state[0] + speed, speed), -1.0 if state[0] > -0.55 else np.nan, False


@pytest.mark.parametrize("loop", ["compiled", "stepwise"])
def test_rewards_of_dynamics_that_are_no_numbers_are_named_and_nothing_is_lost(loop):
    known = dynamics_of(gymnasium.make("MountainCar-v0"))
    dynamics = rl.CompiledDynamics(begin=begin_elsewhere, step=unpaid, observe=known.observe, constants=known.constants)
    env = rl.CompiledEnv(dynamics, gymnasium.spaces.Box(-2.0, 2.0, (2,)), gymnasium.spaces.Discrete(3))
    learned = agent().learn(env, steps=2, seed=1, loop=loop)
    before = learned.weights_.copy()
    assert before.any()
    with pytest.raises(LearningError, match=r"the environment returned .*reward.*; rewards must be finite numbers\)?$"):
        learned.learn(env, steps=500, loop=loop)
    assert np.isfinite(learned.weights_).all()
    assert learned.weights_.any()


class Sticky(MountainCarEnv):
    """Forbids the last action."""

    def reset(self, **options):
        observation, info = super().reset(**options)
        return observation, {**info, "action_mask": np.array([1, 1, 0], dtype=np.int8)}

    def step(self, action):
        assert action != 2
        *answer, info = super().step(action)
        return *answer, {**info, "action_mask": np.array([1, 1, 0], dtype=np.int8)}


@pytest.mark.slow
def test_dynamics_that_know_nothing_of_masks_are_not_used():
    env = Sticky()
    env.dynamics = car().unwrapped.dynamics
    with pytest.warns(StepwiseWarning, match=r"^Sticky has an action_mask in its info, which compiled dynamics do not"):
        learned = agent().learn(env, steps=300, seed=1)
    assert learned.q([[-0.5, 0.0]]).any()
    with pytest.raises(UnsuitableEnvironment, match=r"has an action_mask in its info, which compiled dynamics do not"):
        agent().learn(env, steps=10, loop="compiled")
