"""Gymnasium's acrobot, compiled: two links swing up by a motor at the joint between them.

The problem is that of R. Sutton, "Generalization in reinforcement learning: successful examples using sparse coarse
coding", NeurIPS 1995.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics, State

Four = tuple[float, float, float, float]


class Links(NamedTuple):
    """The parameters of Gymnasium's environment."""

    dt: float
    m1: float
    m2: float
    l1: float
    lc1: float
    lc2: float
    moment: float
    max_velocity_1: float
    max_velocity_2: float
    noise: float
    nips: bool
    torques: NDArray[np.float64]  # (3,)
    two: float
    """The exponent of a square. Gymnasium's squares come from the maths library's power, whose last bit is not always
    that of a product; a constant exponent would be compiled into one."""


@compiled(in_place=True)
def begin(links: Links, rng: np.random.Generator) -> Four:
    """Hang down, nearly at rest; Gymnasium rounds the first state of an episode to float32."""
    theta1 = float(np.float32(rng.uniform(-0.1, 0.1)))
    theta2 = float(np.float32(rng.uniform(-0.1, 0.1)))
    velocity1 = float(np.float32(rng.uniform(-0.1, 0.1)))
    return theta1, theta2, velocity1, float(np.float32(rng.uniform(-0.1, 0.1)))


@compiled(in_place=True)
def derivative(links: Links, state: Four, torque: float) -> Four:
    """Time derivative of the state (Sutton & Barto, first edition, section 11.3; "nips": that of the paper)."""
    theta1, theta2, velocity1, velocity2 = state
    m1, m2, l1, lc1, lc2 = links.m1, links.m2, links.l1, links.lc1, links.lc2
    two = links.two
    g = 9.8
    d1 = m1 * lc1**two + m2 * (l1**two + lc2**two + 2 * l1 * lc2 * math.cos(theta2)) + links.moment + links.moment
    d2 = m2 * (lc2**two + l1 * lc2 * math.cos(theta2)) + links.moment
    phi2 = m2 * lc2 * g * math.cos(theta1 + theta2 - math.pi / 2.0)
    phi1 = (
        -m2 * l1 * lc2 * velocity2**two * math.sin(theta2)
        - 2 * m2 * l1 * lc2 * velocity2 * velocity1 * math.sin(theta2)
        + (m1 * lc1 + m2 * l1) * g * math.cos(theta1 - math.pi / 2)
        + phi2
    )
    if links.nips:
        pull = torque + d2 / d1 * phi1 - phi2
    else:
        pull = torque + d2 / d1 * phi1 - m2 * l1 * lc2 * velocity1**two * math.sin(theta2) - phi2
    acceleration2 = pull / (m2 * lc2**two + links.moment - d2**two / d1)
    return velocity1, velocity2, -(d2 * acceleration2 + phi1) / d1, acceleration2


@compiled(in_place=True)
def moved(state: Four, dt: float, slope: Four) -> Four:
    """Go along a slope for some time."""
    return (
        state[0] + dt * slope[0],
        state[1] + dt * slope[1],
        state[2] + dt * slope[2],
        state[3] + dt * slope[3],
    )


@compiled(in_place=True)
def mean_slope(k1: float, k2: float, k3: float, k4: float) -> float:
    """Six times the slope of the fourth-order method of Runge and Kutta."""
    return k1 + 2 * k2 + 2 * k3 + k4


@compiled(in_place=True)
def wrapped(angle: float) -> float:
    """The same angle in [-pi, pi]."""
    while angle > math.pi:
        angle = angle - 2 * math.pi
    while angle < -math.pi:
        angle = angle + 2 * math.pi
    return angle


@compiled(in_place=True)
def step(links: Links, state: Four, action: int, rng: np.random.Generator) -> tuple[Four, float, bool]:
    """Apply the torque -1, 0 or 1 for the actions 0, 1 and 2, until the tip is above the line."""
    torque = links.torques[action]
    if links.noise > 0.0:
        torque += rng.uniform(-links.noise, links.noise)
    dt = links.dt
    k1 = derivative(links, state, torque)
    k2 = derivative(links, moved(state, dt / 2.0, k1), torque)
    k3 = derivative(links, moved(state, dt / 2.0, k2), torque)
    k4 = derivative(links, moved(state, dt, k3), torque)
    slope = (
        mean_slope(k1[0], k2[0], k3[0], k4[0]),
        mean_slope(k1[1], k2[1], k3[1], k4[1]),
        mean_slope(k1[2], k2[2], k3[2], k4[2]),
        mean_slope(k1[3], k2[3], k3[3], k4[3]),
    )
    theta1, theta2, velocity1, velocity2 = moved(state, dt / 6.0, slope)
    theta1 = wrapped(theta1)
    theta2 = wrapped(theta2)
    velocity1 = min(max(velocity1, -links.max_velocity_1), links.max_velocity_1)
    velocity2 = min(max(velocity2, -links.max_velocity_2), links.max_velocity_2)
    over = -math.cos(theta1) - math.cos(theta2 + theta1) > 1.0
    return (theta1, theta2, velocity1, velocity2), 0.0 if over else -1.0, over


@compiled(in_place=True)
def observe(links: Links, state: Four, out: NDArray[np.float64]) -> None:
    """Show cosine and sine of both angles, and the velocities, rounded to float32."""
    out[0] = np.float32(math.cos(state[0]))
    out[1] = np.float32(math.sin(state[0]))
    out[2] = np.float32(math.cos(state[1]))
    out[3] = np.float32(math.sin(state[1]))
    out[4] = np.float32(state[2])
    out[5] = np.float32(state[3])


def _write(env: Any, state: State) -> None:
    env.state = np.array(state)


def dynamics(env: Any) -> CompiledDynamics:
    """Compile what an acrobot does.

    Parameters
    ----------
    env : gymnasium.envs.classic_control.AcrobotEnv
        An unwrapped environment; its parameters are taken as they are now.

    Returns
    -------
    CompiledDynamics
        The state is (angle 1, angle 2, velocity 1, velocity 2), as in ``env.state``.

    Notes
    -----
    Gymnasium takes the cosines and sines of the first state of an episode in single precision, and those of all others
    in double. Here all are taken in double and then rounded, so that the first observation of one episode in a few
    hundred differs in the last bit of a float32. States, rewards and ends do not.

    Examples
    --------
    >>> import gymnasium
    >>> dynamics(gymnasium.make("Acrobot-v1").unwrapped).constants.torques.tolist()
    [-1.0, 0.0, 1.0]
    """
    links = Links(
        dt=float(env.dt),
        m1=float(env.LINK_MASS_1),
        m2=float(env.LINK_MASS_2),
        l1=float(env.LINK_LENGTH_1),
        lc1=float(env.LINK_COM_POS_1),
        lc2=float(env.LINK_COM_POS_2),
        moment=float(env.LINK_MOI),
        max_velocity_1=float(env.MAX_VEL_1),
        max_velocity_2=float(env.MAX_VEL_2),
        noise=float(env.torque_noise_max),
        nips=env.book_or_nips == "nips",
        torques=np.array(env.AVAIL_TORQUE, dtype=np.float64),
        two=2.0,
    )
    return CompiledDynamics(begin=begin, step=step, observe=observe, constants=links, write=_write)
