"""Gymnasium's mountain car, compiled: a car too weak to drive up the hill has to swing (S&B2 Example 10.1)."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics


class Car(NamedTuple):
    """The parameters of Gymnasium's environment."""

    min_position: float
    max_position: float
    max_speed: float
    goal_position: float
    goal_velocity: float
    force: float
    gravity: float


@compiled(in_place=True)
def begin(car: Car, rng: np.random.Generator) -> tuple[float, float]:
    """Stand still near the bottom of the valley."""
    return rng.uniform(-0.6, -0.4), 0.0


@compiled(in_place=True)
def step(
    car: Car, state: tuple[float, float], action: int, rng: np.random.Generator
) -> tuple[tuple[float, float], float, bool]:
    """Push by -1, 0 or 1 for the actions 0, 1 and 2 (S&B2 section 10.1, the unnumbered equations)."""
    position, velocity = state
    velocity += (action - 1) * car.force + math.cos(3 * position) * (-car.gravity)
    velocity = min(max(velocity, -car.max_speed), car.max_speed)
    position += velocity
    position = min(max(position, car.min_position), car.max_position)
    if position == car.min_position and velocity < 0.0:
        velocity = 0.0
    return (position, velocity), -1.0, position >= car.goal_position and velocity >= car.goal_velocity


@compiled(in_place=True)
def observe(car: Car, state: tuple[float, float], out: NDArray[np.float64]) -> None:
    """Show position and velocity, rounded to float32."""
    out[0] = np.float32(state[0])
    out[1] = np.float32(state[1])


def dynamics(env: Any) -> CompiledDynamics:
    """Compile what a mountain car does.

    Parameters
    ----------
    env : gymnasium.envs.classic_control.MountainCarEnv
        An unwrapped environment; its parameters are taken as they are now.

    Returns
    -------
    CompiledDynamics
        The state is (position, velocity), as in ``env.state``.

    Examples
    --------
    >>> import gymnasium
    >>> dynamics(gymnasium.make("MountainCar-v0", goal_velocity=0.02).unwrapped).constants.goal_velocity
    0.02
    """
    car = Car(*(float(getattr(env, name)) for name in Car._fields))
    return CompiledDynamics(begin=begin, step=step, observe=observe, constants=car)
