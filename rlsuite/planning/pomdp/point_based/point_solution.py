"""The solutions of point-based planners, made from the result of their search."""

from dataclasses import dataclass

import numpy as np

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.bounds.initial_bounds import Blind
from rlsuite.planning.pomdp.point_based.belief_sets import dense
from rlsuite.planning.pomdp.point_based.search import Search
from rlsuite.planning.pomdp.vectors import AlphaVectorSolution, best_at, worth
from rlsuite.planning.vectors import vector

SMALL = 1 << 16
"""Entries up to which equal vectors of a set are looked for."""

WORTH_COMPARING = 1e7
"""Operations up to which all vectors are compared in all beliefs before some are left out."""


@dataclass(frozen=True, eq=False)
class PointBasedSolution(AlphaVectorSolution):
    """A plan of many vectors, most of which are known in a part of the states only, and minus infinity elsewhere.

    Its attributes are those of `AlphaVectorSolution`. Its value is a lower bound in every belief, but the vectors were
    computed for those that are reached from the start, and are close to the optimum there.
    """


@dataclass(frozen=True, eq=False)
class UpperBoundSolution(AlphaVectorSolution):
    """A plan that acts by an upper bound: its vectors, one per action, are above the value of any plan.

    Its attributes are those of `AlphaVectorSolution`, but `value` is an upper bound on the optimum in every belief.
    ``converged`` tells whether that bound was computed to the tolerance, and not whether the two bounds at the start
    are close.
    """


def kept_vectors(search: Search, blind: Blind, n_bytes: int) -> tuple[FloatArray, IndexArray]:
    """Return the vectors that matter, with their actions.

    Those are the blind plans, which cover every belief, and the best ones in the beliefs that the search has reached.
    Those of beliefs that it only saw as successors are as important: the value of a plan is reached only if, wherever
    its first step may lead, there is a vector as good as the one that was used. Outside its region a vector is minus
    infinity. Of a set larger than `n_bytes` the vectors of the beliefs found first are returned; the best one at the
    start is always among them.

    Returns
    -------
    alpha_vectors : ndarray (n, S) float64
        Best at the start comes first.
    actions : ndarray (n,) int64
        The first action of each.
    """
    t, v = search.t, search.pools.vectors
    regions, chosen = _best_at_beliefs(search)
    n_states = blind.vectors.shape[1]
    pairs = regions * int(v.used.max()) + chosen
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first)[: max(1, n_bytes // (8 * n_states))]
    n = first.size
    alpha = vector((n + len(blind.vectors)) * n_states).reshape(-1, n_states)
    alpha[:n] = -np.inf
    alpha[n:] = blind.vectors
    actions = np.concatenate([np.empty(n, dtype=np.int64), blind.actions])
    for row, (k, i) in enumerate(zip(regions[first].tolist(), chosen[first].tolist(), strict=True)):
        begin, end = int(t.first[k]), int(t.first[k + 1])
        at = int(v.begin[k]) + i * (end - begin)
        alpha[row, t.states[begin:end]] = v.exact[at : at + end - begin]
        actions[row] = v.action[v.begin_action[k] + i]
    if alpha.size > SMALL:
        return alpha, actions
    _, rows = np.unique(alpha, axis=0, return_index=True)
    rows = np.sort(rows)
    return alpha[rows], actions[rows]


def _best_at_beliefs(search: Search) -> tuple[IndexArray, IndexArray]:
    """Return the region and the best vector of each belief, the start first."""
    t, beliefs, bounds, v = search.t, search.pools.beliefs, search.pools.bounds, search.pools.vectors
    n = search.n_beliefs
    regions, chosen = beliefs.region[:n].astype(np.int64), bounds.best[:n].astype(np.int64)
    sizes = np.diff(t.first)
    counts = np.bincount(regions, minlength=sizes.size)
    if float((counts * v.used * sizes).sum()) > WORTH_COMPARING:
        return regions, chosen
    for k in np.flatnonzero(counts):
        inside = np.flatnonzero(regions == k)
        held = v.exact[v.begin[k] : v.begin[k] + v.used[k] * sizes[k]].reshape(-1, sizes[k])
        at = dense(search, inside)
        values = worth(held, at)
        best = best_at(values, held, at)
        rows = np.arange(inside.size)
        most = values[rows, best]  # minus infinity where no plan is known to be legal
        better = most > values[rows, chosen[inside]] + 1e-12 * np.abs(np.where(most > -np.inf, most, 0.0))
        chosen[inside] = np.where(better, best, chosen[inside])
    return regions, chosen
