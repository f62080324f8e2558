"""Gymnasium's cart and pole, compiled: keep a pole upright by pushing the cart that it stands on.

The problem is that of A. Barto, R. Sutton and C. Anderson, "Neuronlike adaptive elements that can solve difficult
learning control problems", IEEE Transactions on Systems, Man, and Cybernetics 13 (1983).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics, State

Four = tuple[float, float, float, float]


class CartAndPole(NamedTuple):
    """The parameters of Gymnasium's environment."""

    gravity: float
    masspole: float
    total_mass: float
    length: float
    polemass_length: float
    force_mag: float
    tau: float
    theta_threshold_radians: float
    x_threshold: float
    semi_implicit: bool
    reward_upright: float
    reward_fallen: float


@compiled(in_place=True)
def begin(cart: CartAndPole, rng: np.random.Generator) -> Four:
    """Start near the middle, nearly upright and nearly at rest."""
    x = rng.uniform(-0.05, 0.05)
    x_dot = rng.uniform(-0.05, 0.05)
    theta = rng.uniform(-0.05, 0.05)
    return x, x_dot, theta, rng.uniform(-0.05, 0.05)


@compiled(in_place=True)
def step(cart: CartAndPole, state: Four, action: int, rng: np.random.Generator) -> tuple[Four, float, bool]:
    """Push to the left (0) or to the right (1) for one time step."""
    x, x_dot, theta, theta_dot = state
    force = cart.force_mag if action == 1 else -cart.force_mag
    cosine = math.cos(theta)
    sine = math.sin(theta)
    push = (force + cart.polemass_length * (theta_dot * theta_dot) * sine) / cart.total_mass
    theta_acceleration = (cart.gravity * sine - cosine * push) / (
        cart.length * (4.0 / 3.0 - cart.masspole * (cosine * cosine) / cart.total_mass)
    )
    x_acceleration = push - cart.polemass_length * theta_acceleration * cosine / cart.total_mass
    if cart.semi_implicit:
        x_dot = x_dot + cart.tau * x_acceleration
        x = x + cart.tau * x_dot
        theta_dot = theta_dot + cart.tau * theta_acceleration
        theta = theta + cart.tau * theta_dot
    else:
        x = x + cart.tau * x_dot
        x_dot = x_dot + cart.tau * x_acceleration
        theta = theta + cart.tau * theta_dot
        theta_dot = theta_dot + cart.tau * theta_acceleration
    fallen = (
        x < -cart.x_threshold
        or x > cart.x_threshold
        or theta < -cart.theta_threshold_radians
        or theta > cart.theta_threshold_radians
    )
    return (x, x_dot, theta, theta_dot), cart.reward_fallen if fallen else cart.reward_upright, fallen


@compiled(in_place=True)
def observe(cart: CartAndPole, state: Four, out: NDArray[np.float64]) -> None:
    """Show the state, rounded to float32."""
    out[0] = np.float32(state[0])
    out[1] = np.float32(state[1])
    out[2] = np.float32(state[2])
    out[3] = np.float32(state[3])


def _write(env: Any, state: State) -> None:
    env.state = np.array(state)
    # Gymnasium counts the steps after the pole has fallen
    env.steps_beyond_terminated = None


def dynamics(env: Any) -> CompiledDynamics:
    """Compile what a cart with a pole does.

    Parameters
    ----------
    env : gymnasium.envs.classic_control.CartPoleEnv
        An unwrapped environment; its parameters are taken as they are now.

    Returns
    -------
    CompiledDynamics
        The state is (position, velocity, angle, angular velocity), as in ``env.state``.

    Notes
    -----
    Each step of an episode pays 1, the last one too; with ``sutton_barto_reward`` the last step pays -1 and all others
    0.

    Examples
    --------
    >>> import gymnasium
    >>> cart = dynamics(gymnasium.make("CartPole-v1", sutton_barto_reward=True).unwrapped).constants
    >>> cart.reward_upright, cart.reward_fallen
    (0.0, -1.0)
    """
    upright, fallen = (0.0, -1.0) if env._sutton_barto_reward else (1.0, 1.0)
    numbers = {
        name: float(getattr(env, name))
        for name in CartAndPole._fields
        if name not in {"semi_implicit", "reward_upright", "reward_fallen"}
    }
    cart = CartAndPole(
        **numbers,
        semi_implicit=env.kinematics_integrator != "euler",
        reward_upright=upright,
        reward_fallen=fallen,
    )
    return CompiledDynamics(begin=begin, step=step, observe=observe, constants=cart, write=_write)
