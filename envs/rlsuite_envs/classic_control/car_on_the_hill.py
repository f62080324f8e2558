"""The car on the hill, on which fitted Q iteration was demonstrated, as an environment."""

import math
from typing import NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics, CompiledEnv
from rlsuite_envs.keywords import number, whole

Two = tuple[float, float]

BORDER = 1.0  # positions beyond it, on both sides, end the episode
FASTEST = 3.0  # higher speeds end the episode, too
GRAVITY = 9.81


class Hill(NamedTuple):
    """The parameters."""

    push: float
    dt: float
    n_substeps: int
    start: float


@compiled(in_place=True)
def slope(position: float) -> float:
    """First derivative of the hill: p^2 + p to the left of 0, p / sqrt(1 + 5 p^2) to the right."""
    if position < 0.0:
        return 2.0 * position + 1.0
    return 1.0 / (1.0 + 5.0 * position * position) ** 1.5


@compiled(in_place=True)
def bend(position: float) -> float:
    """Second derivative of the hill."""
    if position < 0.0:
        return 2.0
    return -15.0 * position / (1.0 + 5.0 * position * position) ** 2.5


@compiled(in_place=True)
def begin(hill: Hill, rng: np.random.Generator) -> Two:
    """Stand still."""
    return hill.start, 0.0


@compiled(in_place=True)
def step(hill: Hill, state: Two, action: int, rng: np.random.Generator) -> tuple[Two, float, bool]:
    """Push to the left (0) or to the right (1) for one time step, integrated by Euler's method as in the paper."""
    position, speed = state
    push = hill.push if action == 1 else -hill.push
    short = hill.dt / hill.n_substeps
    for _ in range(hill.n_substeps):
        rise = slope(position)
        steep = 1.0 + rise * rise
        acceleration = (push - GRAVITY * rise - speed * speed * rise * bend(position)) / steep
        position, speed = position + short * speed, speed + short * acceleration
    if position < -BORDER or math.fabs(speed) > FASTEST:
        return (position, speed), -1.0, True
    if position > BORDER:
        return (position, speed), 1.0, True
    return (position, speed), 0.0, False


@compiled(in_place=True)
def observe(hill: Hill, state: Two, out: NDArray[np.float64]) -> None:
    """Show position and speed, clipped to their limits, beyond which an episode is over."""
    out[0] = min(max(state[0], -BORDER), BORDER)
    out[1] = min(max(state[1], -FASTEST), FASTEST)


class CarOnTheHillEnv(CompiledEnv):
    """A car of too little power has to get to the top of a hill, but not too fast (Ernst, Geurts & Wehenkel 2005).

    From D. Ernst, P. Geurts and L. Wehenkel, "Tree-based batch mode reinforcement learning", Journal of Machine
    Learning Research 6 (2005): its section 5 and the appendix on the control problems.

    Parameters
    ----------
    push : float
        Force of the engine, in newton, on a car of 1 kg.
    dt : float
        Time of a step, in seconds.
    n_substeps : int
        Number of Euler steps in it: the paper's are of 0.001 s.
    start : float
        Position in which an episode begins, in [-1, 1].
    render_mode : None
        There are no pictures.

    Attributes
    ----------
    state : tuple of float
        Position and speed, in metres and metres per second. May be assigned: the paper asks what many states are worth.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Notes
    -----
    Observations: position and speed, (2,) float64, clipped to [-1, 1] and [-3, 3]. Actions: 0 push to the left, 1 push
    to the right. The episode ends with reward 1 beyond the position 1, and with reward -1 beyond the position -1 or,
    wherever the car is, at a speed above 3. All other steps pay 0, so that a discount, 0.95 in the paper, makes the
    shortest way best: 19 steps.

    Examples
    --------
    >>> env = CarOnTheHillEnv()
    >>> env.reset(seed=7)[0].tolist(), env.step(1)[0].round(3).tolist()
    ([-0.5, 0.0], [-0.481, 0.387])
    """

    def __init__(
        self,
        *,
        push: float = 4.0,
        dt: float = 0.1,
        n_substeps: int = 100,
        start: float = -0.5,
        render_mode: str | None = None,
    ) -> None:
        hill = Hill(
            push=number("push", push),
            dt=number("dt", dt, 0),
            n_substeps=whole("n_substeps", n_substeps, 1),
            start=number("start", start, -BORDER, BORDER),
        )
        most = np.array([BORDER, FASTEST])
        super().__init__(
            CompiledDynamics(begin=begin, step=step, observe=observe, constants=hill),
            spaces.Box(-most, most, dtype=np.float64),
            spaces.Discrete(2),
            render_mode=render_mode,
        )
