"""Gymnasium's pendulum with a choice among torques, and compiled: swing a pendulum up with a weak motor."""

import math
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import pendulum
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics, State
from rlsuite.errors import ParameterError
from rlsuite_envs.keywords import whole

Two = tuple[float, float]


class Pendulum(NamedTuple):
    """The parameters of Gymnasium's environment that determine a step."""

    fall: float
    dt: float
    max_speed: float
    push: NDArray[np.float64]  # (n_torques,), angular acceleration by each torque
    effort: NDArray[np.float64]  # (n_torques,), what each torque costs
    two: float
    """The exponent of a square: Gymnasium's squares come from the maths library's power, whose last bit is not always
    that of a product; a constant exponent would be compiled into one."""


@compiled(in_place=True)
def begin(pole: Pendulum, rng: np.random.Generator) -> Two:
    """Start at any angle, turning slowly."""
    angle = rng.uniform(-math.pi, math.pi)
    return angle, rng.uniform(-1.0, 1.0)


@compiled(in_place=True)
def step(pole: Pendulum, state: Two, action: int, rng: np.random.Generator) -> tuple[Two, float, bool]:
    """Apply a torque for one time step; pay for the angle from upright, for speed and for effort."""
    angle, velocity = state
    from_upright = (angle + math.pi) % (2 * math.pi) - math.pi
    cost = from_upright**pole.two + 0.1 * velocity**pole.two + pole.effort[action]
    velocity = velocity + (pole.fall * math.sin(angle) + pole.push[action]) * pole.dt
    velocity = min(max(velocity, -pole.max_speed), pole.max_speed)
    return (angle + velocity * pole.dt, velocity), -cost, False


@compiled(in_place=True)
def observe(pole: Pendulum, state: Two, out: NDArray[np.float64]) -> None:
    """Show cosine and sine of the angle, and the velocity, rounded to float32."""
    out[0] = np.float32(math.cos(state[0]))
    out[1] = np.float32(math.sin(state[0]))
    out[2] = np.float32(state[1])


def _write(env: Any, state: State) -> None:
    env.state = np.array(state)


class PendulumEnv(pendulum.PendulumEnv):
    """Gymnasium's Pendulum with a few torques to choose from, and compiled dynamics.

    Parameters
    ----------
    n_torques : int
        Number of torques, evenly spaced from the strongest to one side (action 0) to the strongest to the other, at
        least 2. An odd number lets the pendulum swing freely, too.
    g : float
        Acceleration of gravity, m/s^2.
    render_mode : {"human", "rgb_array"}, optional
        As in ``gymnasium.envs.classic_control.PendulumEnv``; there are pictures only with pygame.

    Attributes
    ----------
    torques : ndarray (n_torques, 1) float32
        What Gymnasium's own `step` is given for each action.

    Raises
    ------
    ParameterError
        If `n_torques` is smaller than 2.

    Notes
    -----
    Observations: cosine and sine of the angle (0 is upright), and the angular velocity, (3,) float32. Episodes do not
    terminate. An episode of 200 steps that never moves from the bottom pays about -2000, a good one -150.

    Examples
    --------
    >>> env = PendulumEnv(n_torques=5)
    >>> env.torques.ravel().tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    >>> env.reset(seed=7)[0].astype(float).round(3).tolist()
    [0.707, 0.708, 0.794]
    """

    metadata: ClassVar[dict[str, Any]] = pendulum.PendulumEnv.metadata
    if find_spec("pygame") is None:
        metadata = {**metadata, "render_modes": []}

    def __init__(self, *, n_torques: int = 3, g: float = 10.0, render_mode: str | None = None) -> None:
        n = whole("n_torques", n_torques, 2)
        super().__init__(render_mode=render_mode, g=g)
        self.torques = np.linspace(-self.max_torque, self.max_torque, n, dtype=np.float32)[:, np.newaxis]
        self.action_space: Any = spaces.Discrete(n)

    def step(self, u: SupportsIndex) -> Any:
        """Apply the torque of an action, as Gymnasium's own environment does.

        Raises
        ------
        ParameterError
            If there is no such action.
        """
        if not self.action_space.contains(u):
            raise ParameterError(f"action {u!r} is not in {self.action_space}")
        # Gymnasium's step has no precise types
        base: Any = super()
        return base.step(self.torques[u])

    @property
    def dynamics(self) -> CompiledDynamics:
        """The compiled form, with the parameters as they are now; the state is (angle, velocity)."""
        torque = np.clip(self.torques, -self.max_torque, self.max_torque)[:, 0]
        # Gymnasium computes the terms with the torque alone in single precision
        pole = Pendulum(
            fall=3 * self.g / (2 * self.l),
            dt=float(self.dt),
            max_speed=float(self.max_speed),
            push=np.array([float(3.0 / (self.m * self.l**2) * one) for one in torque]),
            effort=np.array([float(0.001 * (one**2)) for one in torque]),
            two=2.0,
        )
        return CompiledDynamics(begin=begin, step=step, observe=observe, constants=pole, write=_write)
