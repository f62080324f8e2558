"""Cheap bounds on the value of every belief, with which point-based planning begins.

From above, both with one vector per action (Hauskrecht 2000):

* QMDP, as if the state were observed from the next step on: Q(s, a) = r(s, a) + gamma sum_s' c(s' | s, a) max_a' Q(s',
  a');
* the fast informed bound, as if it had been observed one step ago: the fixed point of
  (HQ)(s, a) = r(s, a) + gamma sum_z max_a' sum_s' c(s' | s, a) Pr(z | a, s') Q(s', a'), which is never larger.

From below, with the *blind* policies, which take one action for ever. An action that is illegal somewhere has one where
it never leads there; then, in addition, there are the plans that take an action once and do the worst that is possible
from then on.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.operators import Lookahead, best
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.value_iteration_stages import no_plan
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BoundsTrace, noted, values_at
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix


@compiled(in_place=True)
def informed_sweep(
    n_states: int,
    n_actions: int,
    n_symbols: int,
    gamma: float,
    row: IndexArray,
    successor: StateArray,
    weight: FloatArray,
    seen: IndexArray,
    symbol: StateArray,
    probability: FloatArray,
    reward: FloatArray,
    q: FloatArray,
    sums: FloatArray,
    out: FloatArray,
) -> float:
    """Fill HQ into `out`, both (S * A,), and return the largest fall Q - HQ."""
    fall = 0.0
    for z in range(n_symbols * n_actions):
        sums[z] = 0.0
    # Only the observations that can follow are summed and cleared: half the time of clearing and reading all of them on
    # tag-avoid, where few can; 1.4 to 1.6 times as long on Tiger-grid and hallway, where most can.
    for s in range(n_states):
        for a in range(n_actions):
            if reward[s * n_actions + a] == -np.inf:
                out[s * n_actions + a] = -np.inf
                continue
            total = 0.0
            for r in range(row[s * n_actions + a], row[s * n_actions + a + 1]):
                s2 = np.int64(successor[r])
                ahead = q[s2 * n_actions : (s2 + 1) * n_actions]
                for o in range(seen[a * n_states + s2], seen[a * n_states + s2 + 1]):
                    w = weight[r] * probability[o]
                    if w == 0.0:  # by underflow; times minus infinity, of an illegal action, it would be NaN
                        continue
                    into = sums[symbol[o] * n_actions : (symbol[o] + 1) * n_actions]
                    for b in range(n_actions):
                        into[b] += w * ahead[b]
            # The best action after each observation. The first visit of one takes its maximum and clears it, so that
            # further visits add 0.
            for r in range(row[s * n_actions + a], row[s * n_actions + a + 1]):
                s2 = np.int64(successor[r])
                for o in range(seen[a * n_states + s2], seen[a * n_states + s2 + 1]):
                    into = sums[symbol[o] * n_actions : (symbol[o] + 1) * n_actions]
                    best = into[0]
                    into[0] = 0.0
                    for b in range(1, n_actions):
                        best = max(best, into[b])
                        into[b] = 0.0
                    total += best
            value = reward[s * n_actions + a] + (gamma * total if gamma > 0.0 else 0.0)  # total may be -inf
            fall = max(fall, q[s * n_actions + a] - value)
            out[s * n_actions + a] = value
    return fall


DIRECT = 1_000
"""Up to this many states a blind policy is evaluated by elimination, beyond by sweeps."""

MOST_SWEEPS = 1_000_000
"""Sweeps for a blind policy."""


class Above(NamedTuple):
    """An upper bound with one vector per action, as tight as time allowed."""

    q: FloatArray
    """(S, A) float64: max_a q(., a) . b is an upper bound; minus infinity for illegal actions"""
    distance: float
    """how far `q` can be above what it would be if it were computed to the end"""
    iterations: int
    """how many policies or sweeps it took"""


class Blind(NamedTuple):
    """Plans that need no observation."""

    vectors: FloatArray
    """(n, S) float64, lower bounds on their values; minus infinity where one comes to an illegal action"""
    actions: IndexArray
    """(n,) int64, their first actions"""
    distance: float
    """the largest amount by which their values can exceed them"""


def seen_values(model: PreparedModel, watch: Watch, *, share: float = 1.0) -> Above:
    """Return the QMDP bound, computed in that share of the time left."""
    solution = policy_iteration(model.pomdp.mdp, tol=math.inf, deadline=left(watch, share))
    q = np.where(model.pomdp.mdp.legal, solution.q + solution.error_bound, -np.inf)
    return Above(q, 2.0 * solution.error_bound, solution.iterations)


def informed_values(
    model: PreparedModel, seen: FloatArray, watch: Watch, *, tol: float, share: float = 1.0, max_sweeps: int
) -> Above:
    """Return the fast informed bound, from sweeps that begin with `seen` and are above it at any time.

    Parameters
    ----------
    model : PreparedModel
        The model.
    seen : ndarray (S, A) float64
        The QMDP bound.
    watch : Watch
        Told when to stop.
    tol : float
        Sweeps end when the distance is at most this.
    share : float
        Part of the time left that sweeps may take.
    max_sweeps : int
        Largest number of sweeps.
    """
    pomdp = model.pomdp
    states, actions, symbols = pomdp.n_states, pomdp.n_actions, pomdp.n_observations
    sparse = model.sparse
    rows = sparse[3:]
    reward, q = model.reward.reshape(-1), seen.reshape(-1).copy()
    out, sums = np.empty_like(q), np.zeros(symbols * actions)
    factor = model.further
    size = float(np.abs(q[q > -np.inf]).max())
    sweeps, distance = 0, math.inf
    until = watch.seconds + left(watch, share)
    while distance > tol and sweeps < max_sweeps and not watch.hurries and watch.seconds < until:
        fall = informed_sweep(states, actions, symbols, pomdp.gamma, *rows, reward, q, sums, out)
        np.minimum(q, out, out=q)
        sweeps += 1
        distance = factor * fall
    q += model.rounding(max(size, float(np.abs(q[q > -np.inf]).max(initial=0.0))))
    return Above(q.reshape(states, actions), distance, sweeps)


def blind_plans(model: PreparedModel, watch: Watch, *, tol: float, share: float = 1.0) -> Blind:
    """Return the blind policies, and more plans if some actions are illegal in some states.

    Parameters
    ----------
    model : PreparedModel
        The model.
    watch : Watch
        Told when to stop; what is returned is a lower bound in any case.
    tol : float
        Error of their values below which work stops.
    share : float
        Part of the time left that this may take.
    """
    legal = model.pomdp.mdp.legal
    acting = cast("BoolArray", legal.any(axis=1))
    actions: IndexArray = np.arange(model.pomdp.n_actions)
    until = watch.seconds + left(watch, share)
    found = [_blind(model, a, acting, watch, tol, until) for a in range(legal.shape[1])]
    vectors, distance = np.stack([values for values, _ in found]), max(distance for _, distance in found)
    if legal[acting].all():
        return Blind(vectors, actions, distance)
    return Blind(
        np.concatenate([vectors, _guaranteed(model, watch, share)]), np.concatenate([actions, actions]), distance
    )


def _blind(
    model: PreparedModel, a: int, acting: BoolArray, watch: Watch, tol: float, until: float
) -> tuple[FloatArray, float]:
    """Return a lower bound (S,) on the value of taking action a for ever, and how far it is below at most."""
    step = model.steps_of[a]
    impossible = acting & ~model.pomdp.mdp.legal[:, a]
    while impossible.any():
        more = impossible | (step @ impossible.astype(np.float64) > 0.0)
        if more.sum() == impossible.sum():
            break
        impossible = acting if watch.hurries else more
    possible = acting & ~impossible
    reward = np.where(possible, model.reward[:, a], 0.0)
    matrix: Matrix = cast("Any", step) * model.pomdp.gamma
    factor, value = model.further, np.zeros(acting.size)
    if reward.size <= DIRECT and not (watch.hurries or watch.seconds > until):
        value = np.where(possible, solve_fixed_point(matrix, reward), 0.0)
    else:
        for _ in range(MOST_SWEEPS):
            before, value = value, np.where(possible, reward + matrix @ value, 0.0)
            if (
                factor * (value - before).max() - factor * (value - before).min() <= tol
                or watch.hurries
                or watch.seconds > until
            ):
                break
    # With T the backup of this policy, its value lies between TV + factor min(TV - V) and TV + factor max(TV - V).
    after = np.where(possible, reward + matrix @ value, 0.0)
    least, most = min(float((after - value).min()), 0.0), max(float((after - value).max()), 0.0)
    rounding = model.rounding(float(np.abs(after).max(initial=0.0)))
    return np.where(possible, after + factor * least - rounding, -np.inf), factor * (most - least) + 2.0 * rounding


def _guaranteed(model: PreparedModel, watch: Watch, share: float) -> FloatArray:
    """Return the value of each action if the worst are taken afterwards: (A, S); -inf where that may be illegal."""
    mdp = model.pomdp.mdp
    lookahead = Lookahead(mdp.replace(reward=-mdp.reward, reward_std=None, bernoulli=None))
    worst = policy_iteration(lookahead.mdp, tol=math.inf, deadline=left(watch, share))
    value = best(np.where(mdp.legal, worst.q + worst.error_bound, -np.inf))
    q = lookahead.q(value) + model.rounding(float(np.abs(value).max()))
    return np.where(mdp.legal & _never_stuck(model), -q, -np.inf).T


def _never_stuck(model: PreparedModel) -> BoolArray:
    """Return which actions (A,) are always followed by a legal one of this kind, whatever the state and observation.

    An agent that does not know the state can reach a belief in which no action is legal in all states, though each has
    some.
    """
    pomdp = model.pomdp
    legal = pomdp.mdp.legal
    illegal = (~legal & legal.any(axis=1, keepdims=True)).astype(np.float64)
    good: BoolArray = np.ones(pomdp.n_actions, dtype=np.bool_)
    if not illegal.any():
        return good
    leaves: list[BoolArray] = []
    for a, step in enumerate(model.steps_of):
        there = cast("FloatArray", cast("Any", step).T @ legal[:, a].astype(np.float64)) > 0.0
        seen: Any = pomdp.observation_matrix(a)[np.flatnonzero(there)] > 0.0
        forbidden = cast("FloatArray", seen.T.astype(np.float64) @ illegal[there])
        possible = np.asarray(seen.sum(axis=0)).reshape(-1) > 0
        leaves.append(forbidden[possible] == 0.0)
    for _ in leaves:  # each pass rules out at least one action, or changes nothing
        good = _leading_to(leaves, good)
    return good


def _leading_to(leaves: list[BoolArray], good: BoolArray) -> BoolArray:
    """Return which actions are followed, after every observation (Z, A), by one of the `good` actions (A,)."""
    return np.array([bool(np.any(some & good, axis=1).all()) for some in leaves], dtype=np.bool_)


def left(watch: Watch, share: float) -> float:
    """Return a share of the seconds until the deadline, at least a little; infinity if there is none."""
    return math.inf if watch.deadline is None else max(share * watch.left, 1e-3)


Kind = TypeVar("Kind", bound=AlphaVectorSolution)


def at_start(model: PreparedModel, vectors: FloatArray) -> float:
    """Return max_i alpha_i . b at the start belief, of vectors (n, S)."""
    return float(values_at(vectors, model.pomdp.start[np.newaxis]).max())


def both_bounds(model: PreparedModel, blind: Blind, q: FloatArray) -> tuple[float, float]:
    """Return the bounds at the start belief by blind plans and by upper bounds (S, A) on the actions.

    Raises
    ------
    ModelError
        If not even the upper bound is finite.
    """
    lower, upper = at_start(model, blind.vectors), at_start(model, q.T)
    if upper == -np.inf:
        raise no_plan(model.pomdp.start)
    rounding = model.rounding(max(abs(upper), abs(lower) if lower > -np.inf else 0.0))
    return lower - rounding, max(upper, lower) + rounding


def reported(
    kind: type[Kind],
    model: PreparedModel,
    watch: Watch,
    bounds: tuple[float, float],
    vectors: FloatArray,
    actions: IndexArray,
    distance: float,
    iterations: int,
) -> Kind:
    """Return a solution; `distance` is how far its vectors can be from what the method is defined to compute.

    Warns
    -----
    ConvergenceWarning
        If that is more than the tolerance.
    """
    watch.measure(vectors[np.isfinite(vectors)])
    converged = distance <= watch.tol
    if not converged:
        warn_not_converged(
            f"{watch.method} stopped when its vectors were accurate to {distance:.3g}, not {watch.asked}"
        )
    return noted(
        kind,
        watch,
        bounds,
        converged=converged,
        iterations=iterations,
        alpha_vectors=vectors,
        actions=actions,
        pomdp=model.pomdp,
        trace=BoundsTrace.of([(iterations, watch.seconds, *bounds)]),
    )
