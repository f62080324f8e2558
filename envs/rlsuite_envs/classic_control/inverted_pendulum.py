"""The inverted pendulum of least-squares policy iteration, as an environment."""

import math
from typing import NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.environments.compiled_env import CompiledDynamics, CompiledEnv
from rlsuite_envs.keywords import number, whole

Two = tuple[float, float]

GRAVITY = 9.8
POLE_MASS = 2.0
ALPHA = 1.0 / (POLE_MASS + 8.0)  # one over the mass of pole and cart
FALLEN = math.pi / 2
FASTEST = 10.0  # observed angular velocities are clipped to this
SHORTEST = 0.01  # shorter poles turn faster than the integration can follow


class Pole(NamedTuple):
    """The parameters."""

    force: float
    noise: float
    length: float
    dt: float
    n_substeps: int
    perturbation: float


@compiled(in_place=True)
def begin(pole: Pole, rng: np.random.Generator) -> Two:
    """Stand nearly upright, nearly at rest."""
    angle = rng.uniform(-pole.perturbation, pole.perturbation)
    return angle, rng.uniform(-pole.perturbation, pole.perturbation)


@compiled(in_place=True)
def acceleration(pole: Pole, angle: float, velocity: float, force: float) -> float:
    """Angular acceleration by gravity and by the force on the cart (Lagoudakis & Parr 2003, section 9.2)."""
    cosine = math.cos(angle)
    swing = ALPHA * POLE_MASS * pole.length * velocity * velocity * math.sin(2.0 * angle) / 2.0
    return (GRAVITY * math.sin(angle) - swing - ALPHA * cosine * force) / (
        4.0 * pole.length / 3.0 - ALPHA * POLE_MASS * pole.length * cosine * cosine
    )


@compiled(in_place=True)
def step(pole: Pole, state: Two, action: int, rng: np.random.Generator) -> tuple[Two, float, bool]:
    """Push to the left (0), not at all (1) or to the right (2), plus noise that stays the same for the step."""
    angle, velocity = state
    force = (action - 1) * pole.force + rng.uniform(-pole.noise, pole.noise)
    h = pole.dt / pole.n_substeps
    for _ in range(pole.n_substeps):
        # the classic method of Runge and Kutta: v is the slope of the angle, a that of the velocity
        v1, a1 = velocity, acceleration(pole, angle, velocity, force)
        v2 = velocity + h / 2.0 * a1
        a2 = acceleration(pole, angle + h / 2.0 * v1, v2, force)
        v3 = velocity + h / 2.0 * a2
        a3 = acceleration(pole, angle + h / 2.0 * v2, v3, force)
        v4 = velocity + h * a3
        a4 = acceleration(pole, angle + h * v3, v4, force)
        angle += h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        velocity += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    fallen = math.fabs(angle) > FALLEN
    return (angle, velocity), -1.0 if fallen else 0.0, fallen


@compiled(in_place=True)
def observe(pole: Pole, state: Two, out: NDArray[np.float64]) -> None:
    """Show angle and angular velocity, clipped to their limits."""
    out[0] = min(max(state[0], -FALLEN), FALLEN)
    out[1] = min(max(state[1], -FASTEST), FASTEST)


class InvertedPendulumEnv(CompiledEnv):
    """Balance a heavy pole by strong, noisy pushes of the cart below it (Lagoudakis & Parr 2003).

    From M. Lagoudakis and R. Parr, "Least-squares policy iteration", Journal of Machine Learning Research 4 (2003),
    section 9.2; the model is that of H. Wang, K. Tanaka and M. Griffin (1996).

    Parameters
    ----------
    force : float
        Force of a push, in newton.
    noise : float
        Largest error of it, in newton; errors are uniform.
    length : float
        The l of the paper's equation, in metres: mechanics says half the length of the pole. The pole weighs 2 kg, the
        cart 8 kg.
    dt : float
        Time of a step, in seconds.
    n_substeps : int
        Number of Runge-Kutta steps in it.
    perturbation : float
        Largest angle (radians) and angular velocity (radians per second) in which an episode begins; the paper says
        "very close" to upright and at rest, and no more.
    render_mode : None
        There are no pictures.

    Attributes
    ----------
    state : tuple of float
        Angle from upright and angular velocity. May be assigned.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Notes
    -----
    Observations: angle and angular velocity, (2,) float64, clipped to [-pi / 2, pi / 2] and [-10, 10]; velocities are
    hardly ever higher. Actions: 0 push to the left, 1 do not push, 2 push to the right. An episode ends with reward -1
    when the pole is level, everything else pays 0. The paper discounts by 0.95, and calls 3000 steps, five minutes, a
    success. Random actions last nine steps on average; the paper says about six, which is what ``length=0.25`` brings.

    Examples
    --------
    >>> env = InvertedPendulumEnv(noise=0.0)
    >>> env.reset(seed=7)[0].round(4).tolist(), env.step(1)[0].round(4).tolist()
    ([0.0025, 0.0079], [0.0035, 0.0131])
    """

    def __init__(
        self,
        *,
        force: float = 50.0,
        noise: float = 10.0,
        length: float = 0.5,
        dt: float = 0.1,
        n_substeps: int = 10,
        perturbation: float = 0.01,
        render_mode: str | None = None,
    ) -> None:
        pole = Pole(
            force=number("force", force),
            noise=number("noise", noise, 0),
            length=number("length", length, SHORTEST),
            dt=number("dt", dt, 0),
            n_substeps=whole("n_substeps", n_substeps, 1),
            perturbation=number("perturbation", perturbation, 0, FALLEN),
        )
        most = np.array([FALLEN, FASTEST])
        super().__init__(
            CompiledDynamics(begin=begin, step=step, observe=observe, constants=pole),
            spaces.Box(-most, most, dtype=np.float64),
            spaces.Discrete(3),
            render_mode=render_mode,
        )
