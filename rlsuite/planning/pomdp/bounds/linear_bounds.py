"""Bounds on the value of every belief that need no search: a few linear functions below and above it.

Without a horizon these are the fast informed bound and the blind policies of `bounds.initial_bounds`.
With one, the optimum if the state is observed, and the blind policies again.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.pomdp.bounds.initial_bounds import blind_plans, informed_values, seen_values
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.value_iteration_stages import no_plan
from rlsuite.planning.pomdp.solution import values_at
from rlsuite.planning.watch import Watch

SWEEPS = 100
"""Sweeps for the fast informed bound: it is a bound after any number of them."""

SHARE = 0.25
"""Part of the time that these may take."""

MOST_SWEEPS = 10_000_000
"""The same, where it does not begin near the optimum with observed states."""

CLOSE = 1e-4
"""Distance from it, in times of the largest value, at which the sweeps stop."""


class Bounds(NamedTuple):
    """Linear bounds on the value of a belief: max_i lower_i . b <= V(b) <= max_a upper_a . b."""

    lower: FloatArray
    """(n, S) float64, minus infinity where a plan comes to an illegal action"""
    upper: FloatArray
    """(A, S) float64, minus infinity for illegal actions"""

    def at(self, belief: FloatArray) -> tuple[float, float]:
        """Return the two bounds on the value of a belief (S,)."""
        return (
            float(values_at(self.lower, belief[np.newaxis]).max()),
            float(values_at(self.upper, belief[np.newaxis]).max()),
        )


def bounds_in_time(model: PreparedModel, watch: Watch, share: float = 1.0) -> tuple[Bounds, bool]:
    """Return bounds on the values of a model without horizon, and whether more time would not improve them.

    The bounds hold at any time; the optimum with observed states may take a share of it.

    Raises
    ------
    ModelError
        If not even the upper bound at the start is finite: every plan comes to an illegal action.
    """
    seen = seen_values(model, watch, share=share)
    close = CLOSE * float(np.abs(seen.q[seen.q > -np.inf]).max()) + 1e-12
    # A few sweeps suffice from the optimum with observed states; from a rougher bound, take as many as needed.
    sweeps = SWEEPS if seen.distance <= close else MOST_SWEEPS
    informed = informed_values(model, seen.q, watch, tol=close, share=min(share, SHARE), max_sweeps=sweeps)
    blind = blind_plans(model, watch, tol=close)
    cut = informed.distance > close and informed.iterations < sweeps
    bounds = Bounds(blind.vectors, np.ascontiguousarray(np.minimum(seen.q, informed.q).T))
    if bounds.at(model.pomdp.start)[1] == -np.inf:
        raise no_plan(model.pomdp.start)
    return bounds, watch.deadline is None or not (cut or watch.hurries)


def endless_bounds(model: PreparedModel, watch: Watch) -> Bounds:
    """Return bounds on the values of a model without horizon, rounding included.

    Raises
    ------
    ModelError
        If not even the upper bound at the start is finite: every plan comes to an illegal action.

    Examples
    --------
    The tiger: a plan that only listens pays 1 in every step; with the state observed one step late, the value is 87.2.

    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> listen, door = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [listen, door, door], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], door, door],
    ...     order="ass", gamma=0.95,
    ... )
    >>> lower, upper = endless_bounds(PreparedModel(tiger, "this example"), Watch("", tol=1.0)).at(tiger.start)
    >>> round(lower, 6), 87.2 < upper < 88
    (-20.0, True)
    """
    return bounds_in_time(model, watch)[0]


def bounds_with_horizon(pomdp: POMDP, horizon: int) -> Bounds:
    """Return bounds on the values with a given number of steps to go, rounding included."""
    lookahead = Lookahead(pomdp.mdp)
    seen = backward_induction(pomdp.mdp, horizon=horizon, tol=math.inf)
    actions, legal = pomdp.n_actions, pomdp.mdp.legal
    acting = legal.any(axis=1)
    reward = lookahead.reward.reshape(legal.shape)
    lower = np.zeros((actions, pomdp.n_states))
    for a in range(actions):
        step: Any = lookahead.continuation[a::actions]
        value, impossible = lower[a], np.zeros(pomdp.n_states, dtype=np.bool_)
        for _ in range(horizon):
            value = np.where(legal[:, a], reward[:, a] + pomdp.gamma * (step @ value), 0.0)
            value -= lookahead.rounding(value)
            impossible = _or_before(step, impossible, acting & ~legal[:, a])
        lower[a] = np.where(impossible, -np.inf, value)
    return Bounds(lower, np.ascontiguousarray(np.where(legal, seen.q + seen.error_bound, -np.inf).T))


def _or_before(step: Any, after: BoolArray, now: BoolArray) -> BoolArray:
    """Return the states that are in `now`, or from which a step may lead into `after`."""
    return now | (step @ after.astype(np.float64) > 0.0)
