"""Whether compiled dynamics agree with an environment's `step`.

The compiled loop never calls the environment. So before it starts, a copy of the environment and the compiled functions
are driven side by side: the same states up to rounding, the same rewards and ends, the same random numbers.
"""

import copy
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

import gymnasium
import numpy as np

from rlsuite import errors
from rlsuite.environments.compiled_dynamics import CompiledDynamics, check_dynamics
from rlsuite.environments.compiled_env import CompiledEnv
from rlsuite.environments.replay_check import check_wrappers, double_of, finite_reward, name_of, time_limit

GROUP = "rlsuite.dynamics"
"""Entry-point group in which a package announces the compiled dynamics of a class from another package:
``"package.module.Class" = "package:factory"``, with ``factory(unwrapped env) -> CompiledDynamics``."""

STEPS = 300
ROUNDING = 1e-12
"""Relative difference of two states that another mathematical library may cause."""
SINGLE = 1e-6
"""Relative difference of two observations, which many environments round to single precision."""


@cache
def announced() -> dict[str, EntryPoint]:
    """Classes whose compiled dynamics a package has announced, by their full names."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def dynamics_of(env: gymnasium.Env[Any, Any]) -> CompiledDynamics | None:
    """Return the compiled dynamics of an environment: its attribute ``dynamics``, or what a package has announced.

    >>> import gymnasium
    >>> dynamics_of(gymnasium.make("Taxi-v4")) is None
    True
    """
    base = env.unwrapped
    own: object = getattr(base, "dynamics", None)
    if isinstance(own, CompiledDynamics):
        return own
    entry = announced().get(f"{type(base).__module__}.{type(base).__qualname__}")
    return None if entry is None else entry.load()(base)


def trusted_dynamics(env: gymnasium.Env[Any, Any], dynamics: CompiledDynamics) -> None:
    """Make sure that `step` does what the dynamics say.

    Parameters
    ----------
    env : gymnasium.Env
        An environment that has been reset; it is left untouched.
    dynamics : CompiledDynamics

    Raises
    ------
    UntrustedTable
        If a wrapper could change what is seen, or a replay differs.
    UnsuitableEnvironment
        If the functions are not compiled, or return something else than they should.
    """
    check_wrappers(env)
    check_dynamics(dynamics, name_of(env))
    kind: Any = type(env.unwrapped)
    if kind.step is CompiledEnv.step and kind.reset is CompiledEnv.reset:
        return
    double = double_of(env)
    base: Any = double.unwrapped
    rng = copy.deepcopy(base.np_random)
    space = cast(gymnasium.spaces.Discrete, env.action_space)
    actions = np.random.default_rng(0).integers(0, space.n, STEPS).tolist()
    limit = time_limit(env)
    elapsed = limit
    state: Any = None
    for action in actions:
        if elapsed >= limit or state is None:
            observation, _ = double.reset()
            state = dynamics.begin(dynamics.constants, rng)
            _compare(double, dynamics, state, observation, rng, "reset")
            elapsed = 0
        state = dynamics.read(base)  # from the environment, so that differences of rounding do not add up
        expected, reward, terminated = dynamics.step(dynamics.constants, state, action, rng)
        observation, found_reward, found_end, _, _ = double.step(action + int(space.start))
        where = f"state {state}, action {action}"
        paid = finite_reward(found_reward, f"{name_of(env)}, at {where}")
        if bool(found_end) != bool(terminated) or not _close(paid, reward, ROUNDING):
            raise errors.UntrustedTable(
                f"{name_of(env)}: at {where} its compiled dynamics say reward {reward!r}, terminated {terminated}, but "
                f"its step {found_reward!r}, {found_end}"
            )
        _compare(double, dynamics, expected, observation, rng, where)
        elapsed += 1
        state = None if terminated else expected


def _compare(
    env: gymnasium.Env[Any, Any], dynamics: CompiledDynamics, state: Any, observation: Any, rng: Any, where: str
) -> None:
    base: Any = env.unwrapped
    seen = np.zeros(np.shape(observation))
    dynamics.observe(dynamics.constants, state, seen)
    for what, found, expected, tolerance in (
        ("state", dynamics.read(base), state, ROUNDING),
        ("observation", observation, seen, SINGLE),
    ):
        if not _close(found, expected, tolerance):
            raise errors.UntrustedTable(
                f"{name_of(env)}: after {where} its compiled dynamics say {what} {expected!r}, but the "
                f"environment {found!r}"
            )
    if rng.bit_generator.state != base.np_random.bit_generator.state:
        raise errors.UntrustedTable(
            f"{name_of(env)}: after {where} the environment has drawn other random numbers than its compiled dynamics"
        )


def _close(found: Any, expected: Any, tolerance: float) -> bool:
    one, other = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= tolerance * np.maximum(1.0, np.abs(other))))
