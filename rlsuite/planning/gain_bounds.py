"""Bounds on the gain of a policy and on the optimal gain, state by state, from an approximate gain and bias.

Let g and h be any vectors and w(s, a) = r - g + P h - h the residual of the optimality equation.

*Below.* In a recurrent class of a policy, P* (h - P h) = 0, so its gain is at least the least g + w of the class. A
transient state reaches the classes after T steps on average; there P g - g adds up to no more than T times its maximum,
and T <= t / c for every t >= 0 with t - P t >= c on the transient states.

*Above.* For ever, a policy can only stay in end components (`rlsuite.planning.long_run`). In the component M
it earns at most G_M, the maximum of g + w over the pairs that stay in M. What it gets by wandering between them is at
most U for every U that is constant on each M, at least G_M there, and superharmonic, U >= P U, for every pair that does
not stay in a component: then U(s_t) is a supermartingale, and its limit is at least the gain of the class where the
policy ends up. With u = max of g over each component, and g itself elsewhere,

    U = u + max_M (G_M - u)+ + (e / c) f,    e = max (P u - u)+,    f - P f >= c over the pairs that do not stay,

is one. No policy can continue using such pairs for ever, so f exists: the largest expected number of them.

Theorem 9.1.2 of P94 is the same with e = 0, which rounded numbers do not grant: a component in which g is
not quite constant would make U infinite. All maxima are raised by rounding errors.
"""

from typing import Any

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.linear_system import fixed_point_solver, seconds_to_eliminate
from rlsuite.planning.long_run import CompletedModel, LongRun, LongRunStructure
from rlsuite.planning.operators import EPS

ATTEMPTS = 50
"""Policies tried for f, each better than the one before; a handful is enough in practice."""

MARGIN = 0.5
"""The c asked for; in exact arithmetic it would be 1."""


def gain_bounds(
    model: CompletedModel, structure: LongRunStructure, policy: IndexArray, run: LongRun, clock: Clock
) -> tuple[FloatArray, FloatArray]:
    """Return a lower bound on the gain of `policy` and an upper bound on the optimal gain: (n,) float64 each.

    Parameters
    ----------
    model : CompletedModel
        The model.
    structure : LongRunStructure
        Its maximal end structure.
    policy : ndarray (S,) int64
        -1 where no action is legal.
    run : LongRun
        Gain and bias of the policy, as computed.
    clock : Clock
        Out of time, the upper bound is the same in every state.
    """
    surplus = model.surplus(run.gain, run.bias)
    slack = model.rounding(run.gain, run.bias)
    upper = _upper(model, structure, run.gain, surplus, slack, clock)
    # No mean reward exceeds the greatest reward.
    most = float(model.reward[model.legal].max(initial=0.0 if model.ends else -np.inf)) + slack
    return _lower(model, policy, run, surplus, slack), np.minimum(upper, most)


def _lower(model: CompletedModel, policy: IndexArray, run: LongRun, surplus: FloatArray, slack: float) -> FloatArray:
    chain = model.chain(policy)
    passing = chain.transient
    acting: BoolArray = policy >= 0
    settled: BoolArray = acting & ~passing[: model.n_states]
    own = surplus[settled, policy[settled]]
    shortfall = max(0.0, slack - float(own.min(initial=np.inf)))
    if np.ptp(run.gain) == 0.0 or not passing.any():
        return run.gain - shortfall
    transition = chain.transition
    drift = (transition @ run.gain - run.gain)[passing]
    progress = (run.steps - transition @ run.steps)[passing].min() - model.rounding(run.steps)
    if progress < MARGIN:
        return np.full(model.n, run.gain.min() - shortfall)
    drop = max(0.0, float(drift.max())) + model.rounding(run.gain)
    return run.gain - shortfall - (drop / progress) * run.steps * (1.0 + 8.0 * EPS)


def _upper(
    model: CompletedModel,
    structure: LongRunStructure,
    gain: FloatArray,
    surplus: FloatArray,
    slack: float,
    clock: Clock,
) -> FloatArray:
    component = structure.of_state[: model.n]
    group = component.copy()
    alone = component < 0
    group[alone] = structure.number + np.arange(np.count_nonzero(alone))
    n_groups = structure.number + int(np.count_nonzero(alone))
    highest = np.full(n_groups, -np.inf)
    np.maximum.at(highest, group, gain)
    stays = structure.stays.reshape(surplus.shape)
    source = np.broadcast_to(np.arange(model.n_states)[:, np.newaxis], surplus.shape)[stays]
    # How far the reward per step of staying in a component can rise above u; at the end both are 0.
    earned = gain[source] + surplus[stays] + slack
    rise = max(0.0, float((earned - highest[group[source]]).max(initial=0.0)))
    level = highest[group] + rise
    if np.ptp(highest) == 0.0:
        return level
    pairs = np.flatnonzero(model.legal & ~structure.stays)
    if pairs.size == 0:
        return level
    leaving = group[pairs // model.n_actions]
    law = model.transition[pairs] @ _indicator(group, n_groups)
    excess = max(0.0, float((law @ highest - highest[leaving]).max())) + model.rounding(gain)
    found = _expected_number(law, leaving, n_groups, clock)
    if found is None:
        return np.full(model.n, level.max())
    number, margin = found
    margin -= model.rounding(number)
    if margin < MARGIN / 2.0:
        return np.full(model.n, level.max())
    return level + (excess / margin) * number[group] * (1.0 + 8.0 * EPS)


def _indicator(group: IndexArray, n_groups: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(group.size), group, np.arange(group.size + 1)), shape=(group.size, n_groups))


def _expected_number(law: Any, leaving: IndexArray, n_groups: int, clock: Clock) -> tuple[FloatArray, float] | None:
    """Return f (n_groups,), 0 where nothing leaves, and min (f - P f); None if there is none.

    That is if it is less than `MARGIN` to the last, or to the end of the time. By policy iteration: f of one pair per
    group from a linear system, then the pair with the largest P f.
    """
    groups, first, number = np.unique(leaving, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    inside = law[:, groups]
    chosen = first
    for _ in range(ATTEMPTS):
        system = inside[chosen]
        if clock.deadline is not None and seconds_to_eliminate(system) > clock.left:
            return None
        partial = fixed_point_solver(system)(np.ones(groups.size))
        ahead = inside @ partial
        margin = float((partial[number] - ahead).min())
        if margin >= MARGIN and (partial > 0.0).all():
            f = np.zeros(n_groups)
            f[groups] = partial
            return f, margin
        order = np.lexsort((-ahead, number))
        starts = np.searchsorted(number[order], np.arange(groups.size))
        chosen = order[starts]
    return None
