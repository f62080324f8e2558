"""Bounds at the start belief of a plan on a grid of beliefs; see `rlsuite.planning.pomdp.bounds.belief_grid`."""

import math

import numpy as np

from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.bounds.discretisation import GridMDP
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.vectors import first_of_best, worth
from rlsuite.planning.watch import Watch

MOST_POINTS = 256
"""Grid beliefs for which the lower bound makes plans."""
MOST_SWEEPS = 200
"""Number of times that it improves them."""
SMALL_CHANGE = 1e-4
"""Relative change, times 1 - beta, at which they are good enough."""


def lower_bound(
    projection: Projection, cells: GridMDP, bounds: Bounds | None, horizon: int | None, watch: Watch
) -> float:
    """Return the value at the start of the best plans for some of the grid points."""
    start = projection.pomdp.start[np.newaxis]
    legal = projection.pomdp.mdp.legal
    stuck = np.asarray(((cells.beliefs > 0.0) @ ~legal).all(axis=1))
    points = cells.beliefs[~stuck]
    points = np.concatenate([start, points[:: 1 + len(points) // MOST_POINTS]])
    if bounds is None:
        vectors = np.zeros((1, projection.pomdp.n_states))
        rounding = 0.0
        for _ in range(horizon or 0):
            rounding = projection.pomdp.gamma * rounding + projection.rounding(vectors)
            vectors, _ = projection.at_points(vectors, points)
        return float(worth(vectors, start).max()) - rounding
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        return bounds.at(start[0])[0]
    vectors = bounds.lower
    vectors[:, ~legal.any(axis=1)] = 0.0
    values = worth(vectors, points).max(axis=1)
    modulus = projection.lookahead.modulus
    for _ in range(MOST_SWEEPS):
        vectors = np.concatenate([vectors, projection.at_points(vectors, points)[0]])
        promised = worth(vectors, points)
        vectors = vectors[np.unique(first_of_best(promised, projection.rounding(vectors)))]
        before, values = values, promised.max(axis=1)
        enough = min(1e-3 * watch.tol, SMALL_CHANGE * float(np.abs(values).max())) * (1.0 - modulus)
        if np.max(values - before) <= enough or watch.hurries:
            break
    return float(values[0]) - projection.rounding(vectors) / (1.0 - modulus)


def upper_bound(projection: Projection, bounds: Bounds | None, horizon: int | None) -> float:
    """Return the fast informed bound at the start."""
    if bounds is not None:
        return bounds.at(projection.pomdp.start)[1]
    above = np.zeros((1, projection.pomdp.n_states))
    for _ in range(horizon or 0):
        above = projection.informed(above) + projection.rounding(above)
    return float(worth(above, projection.pomdp.start[np.newaxis]).max())


def _steps(projection: Projection, horizon: int | None) -> float:
    """Return the discounted number of steps."""
    if horizon is None:
        return 1.0 / (1.0 - projection.lookahead.modulus)
    return float((projection.pomdp.gamma ** np.arange(horizon)).sum())


def allowance(projection: Projection, horizon: int | None) -> float:
    """Return a bound on the effect of rounding in the probabilities and rewards of the grid."""
    roundings = 4 * projection.pomdp.n_states + 2 * projection.pomdp.n_observations + 8
    return roundings * EPS * projection.lookahead.reward_size * _steps(projection, horizon) ** 2


def misplaced(projection: Projection, cells: GridMDP, at_start: float, horizon: int | None) -> float:
    """Return a bound on the error of replacing beliefs by the nearest grid point."""
    legal = projection.pomdp.mdp.legal
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        return math.inf  # values jump where an action becomes illegal
    rewards = projection.reward[:, legal.any(axis=1)]
    steps = _steps(projection, horizon)
    # an episode that has ended earns 0 in each step
    spread = max(float(rewards.max()), 0.0) - min(float(rewards.min()), 0.0)
    if not projection.pomdp.mdp.terminated.any():
        spread = float(rewards.max() - rewards.min())
    per_distance = spread * steps / 2.0
    return per_distance * (at_start + projection.pomdp.gamma * cells.distance * steps)
