"""Exact planning for an infinite horizon: stages of value iteration, controllers made of them, and a certified gap.

Let L be a set of vectors, each the value of a plan or less, and V = HL the set one step back. With
up = max over beliefs of HL - L, the optimum lies between V and V + beta / (1 - beta) up, as for an MDP
(`rlsuite.planning.certificate`); the largest rise is found by linear programs. Value iteration alone needs
log(1 / tol) / log(1 / gamma) stages. But each stage is also a plan: the vector i of V begins with an action and goes
on, after an observation, with a vector of L. With that vector of V in its place that loses least against it, the graph
is a controller without end. Its value, from a linear system, is a lower bound as well, and joins the next set. Once the
graph no longer changes, that value is the optimum (Hansen 1998).

The upper bound begins as the fast informed bound. While the gap is wide, selections may lose a small part of it.

A finite-state controller is a graph of actions, with an edge for each observation. In node i and hidden state s it
earns r(s, a_i) and continues, after observation z, in node i_z:

    x_i(s) = r(s, a_i) + gamma sum_s' c(s' | s, a_i) sum_z O[a_i, s', z] x_{i_z}(s')

(Hansen 1998, KLC98 section 4.4). The vectors x_i are values of plans, so they bound the optimum from below, whatever
the graph. They are computed as one sparse linear system and lowered by what is left over, divided by 1 - beta.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, identity
from scipy.sparse.linalg import splu

from rlsuite.core.clock import OutOfTime
from rlsuite.core.threads import one_blas_thread
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.bounds.linear_bounds import endless_bounds
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.pruning import different, max_regret, that_matter, winning
from rlsuite.planning.pomdp.exact.value_iteration_stages import CrossSum, Stage, next_stage, no_plan
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BoundsTrace, VectorSet, first_of_best, noted, values_at
from rlsuite.planning.watch import Watch

MOST_UNKNOWNS = 5_000
"""Nodes times states, beyond which a controller is not evaluated exactly."""


def controller_value(projection: Projection, actions: IndexArray, successors: IndexArray) -> FloatArray:
    """Return the vectors of a controller: (n, S) float64, none above its true value.

    Parameters
    ----------
    projection : Projection
        The model, prepared; gamma < 1, and every action is legal wherever it is taken.
    actions : ndarray (n,) int64
        The action of each node.
    successors : ndarray (n, Z) int64
        The node that follows each observation, -1 for impossible ones.

    Examples
    --------
    Listening to the tiger for ever costs 1 a step:

    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning.pomdp.exact.infinite_horizon import controller_value
    >>> from rlsuite.planning.pomdp.exact.backprojection import Projection
    >>> ears = POMDP.from_arrays([np.eye(2)], [[-1, -1]], [[0.85, 0.15], [0.15, 0.85]], order="ass", gamma=0.95)
    >>> controller_value(Projection(ears), np.array([0]), np.array([[0, 0]])).round(6).tolist()
    [[-20.0, -20.0]]
    """
    n, states = actions.size, projection.pomdp.n_states
    rows: list[IndexArray] = []
    columns: list[IndexArray] = []
    weights: list[FloatArray] = []
    for action in range(projection.pomdp.n_actions):
        nodes: IndexArray = np.flatnonzero(actions == action)
        for z in projection.moves[action]:
            here, there, weight = projection.entries(action, z)
            rows.append((nodes[:, np.newaxis] * states + here).reshape(-1))
            columns.append((successors[nodes, z][:, np.newaxis] * states + there).reshape(-1))
            weights.append(np.tile(weight, nodes.size))
    ahead: Any = csc_array((n * states, n * states))
    if rows:
        where = (np.concatenate(rows), np.concatenate(columns))
        ahead = csc_array((np.concatenate(weights), where), shape=(n * states, n * states))
    reward = projection.reward[actions].reshape(-1)
    factor: Any = splu
    with one_blas_thread():
        value: FloatArray = factor(csc_array(identity(n * states)) - ahead).solve(reward)
    # If T x >= x - d everywhere, the value is at least x - d / (1 - beta).
    short = float(np.max(value - (reward + ahead @ value)))
    short = max(short, 0.0) + projection.rounding(value)
    return value.reshape(n, states) - short / (1.0 - projection.lookahead.modulus) * (1.0 + 4.0 * EPS)


SHARE = 1.0 / 16.0
"""Share of the gap that all selections of a stage together may lose."""
BLOCK = 1 << 18
"""Differences computed at a time."""


class _Found(NamedTuple):
    """The best bounds so far."""

    lower: float
    upper: float
    plans: VectorSet


def solve_endless(pomdp: POMDP, cross_sum: CrossSum, watch: Watch, most_work: float = math.inf) -> AlphaVectorSolution:
    """Narrow the gap at the start belief down to the tolerance, or until the watch ends it.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    cross_sum : CrossSum
        What the method consists of.
    watch : Watch
        The clock and counter of the method.
    most_work : float
        Stop before a stage that would take more than this many operations, `work_of_stage`, in all.

    Raises
    ------
    ParameterError
        If gamma is 1.
    ModelError
        If no plan is legal for ever, or values overflow.
    """
    start = pomdp.start[np.newaxis]
    legal = pomdp.mdp.legal
    everywhere = bool((legal.all(axis=1) | ~legal.any(axis=1)).all())
    points: FloatArray = start
    records: list[tuple[int, float, float, float]] = []
    narrowed, work = (0, np.inf), 0.0
    with watch:
        projection = Projection(pomdp)
        found = _beginning(pomdp, everywhere, watch)
        vectors, highest = found.plans.alpha_vectors, found.lower
        # The number of stages in which value iteration alone would halve the part of the gap that is not rounding.
        modulus = projection.lookahead.modulus
        patience = 20 + int(math.log(2.0) / -math.log(modulus)) if modulus else 20
        watch.between(found.lower, found.upper)
        while watch.goes_on(found.upper - found.lower):
            records.append((watch.iterations - 1, watch.seconds, found.lower, found.upper))
            work += work_of_stage(pomdp, len(vectors))
            if work > most_work:
                watch.give_up("the vectors become too many")
                break
            try:
                stage = next_stage(projection, vectors, points, cross_sum, _epsilon(projection, found, watch), watch)
                new = _bounded(projection, vectors, stage, everywhere, watch)
                uncertain = projection.rounding(vectors) / (1.0 - modulus)
                vectors, points = stage.plans.alpha_vectors, stage.points
                if everywhere:
                    vectors, points = _together(new.plans.alpha_vectors, stage, 2.0 * uncertain, watch)
                highest = max(highest, new.lower)
                upper = min(new.upper, found.upper)
                # Of plans equally good at the start, up to rounding, take the latest: it is the best elsewhere.
                found = (new if new.lower >= highest - uncertain else found)._replace(upper=upper)
            except OutOfTime:
                continue
            watch.between(found.lower, found.upper)
            if found.upper - found.lower < 0.9 * narrowed[1]:
                narrowed = watch.iterations, found.upper - found.lower
            elif watch.iterations - narrowed[0] > patience:
                watch.give_up("rounding errors keep the bounds apart")
                break
    records.append((watch.iterations, watch.seconds, found.lower, found.upper))
    plans = _winners(found.plans, pomdp.start, watch)
    return noted(
        AlphaVectorSolution,
        watch,
        (found.lower, found.upper),
        iterations=watch.iterations,
        alpha_vectors=plans.alpha_vectors,
        actions=plans.actions,
        pomdp=pomdp,
        trace=BoundsTrace.of(records),
        successors=plans.successors,
    )


def work_of_stage(pomdp: POMDP, n_vectors: int) -> float:
    """Return about how many operations a stage takes.

    For each action and observation there are as a rule some n sums of vectors that a linear program has to look at. It
    has n rows and S columns, and takes some S steps.
    """
    return pomdp.n_actions * pomdp.n_observations * float(n_vectors) ** 2 * float(pomdp.n_states) ** 2


def _winners(plans: VectorSet, start: FloatArray, watch: Watch) -> VectorSet:
    """Return the plans that are the best somewhere, and those with which they go on."""
    kept = winning(plans.alpha_vectors, start, watch)
    while (more := np.union1d(kept, plans.successors[kept][plans.successors[kept] >= 0])).size > kept.size:
        kept = more
    position: IndexArray = np.full(len(plans.actions) + 1, -1, dtype=np.int64)  # the last is that of no successor
    position[kept] = np.arange(kept.size)
    return VectorSet(plans.alpha_vectors[kept], plans.actions[kept], position[plans.successors[kept]])


def _beginning(pomdp: POMDP, everywhere: bool, watch: Watch) -> _Found:
    """Return the bounds before the first stage; `everywhere`: actions are legal in all states, or in none."""
    model = PreparedModel(pomdp, f"{watch.method} without a horizon")
    bounds = endless_bounds(model, watch)
    lower, upper = bounds.at(pomdp.start)
    vectors = bounds.lower
    vectors[:, ~pomdp.mdp.legal.any(axis=1)] = 0.0
    if not everywhere:  # a lower bound on the values of all legal plans, though perhaps not the value of a plan
        worst = float(np.min(model.reward, where=model.reward > -np.inf, initial=0.0))
        vectors, lower = np.full((1, pomdp.n_states), worst * model.steps), -np.inf
    first: IndexArray = np.arange(len(vectors), dtype=np.int64)
    for_ever: IndexArray = np.repeat(first, pomdp.n_observations).reshape(len(vectors), -1)
    return _Found(lower, upper, VectorSet(vectors, first, for_ever))


def _epsilon(projection: Projection, found: _Found, watch: Watch) -> float:
    """Return the loss allowed to a selection: the losses of a stage count 1 / (1 - beta) times."""
    gap = max(found.upper - found.lower, watch.tol) if np.isfinite(found.lower) else watch.tol
    selections = 2 * projection.pomdp.n_observations
    return SHARE * gap * (1.0 - projection.lookahead.modulus) / selections


def _bounded(projection: Projection, vectors: FloatArray, stage: Stage, everywhere: bool, watch: Watch) -> _Found:
    """Return the bounds that follow from the stage made of `vectors`, and the plan for the lower one."""
    start = projection.pomdp.start[np.newaxis]
    modulus = projection.lookahead.modulus
    factor = modulus / (1.0 - modulus)
    now = stage.plans.alpha_vectors
    value = float(values_at(now, start).max())
    if value == -np.inf:
        raise no_plan(start[0])
    rounding = projection.rounding(vectors) / (1.0 - modulus)
    rise = max(max_regret(now, vectors, watch), 0.0) + stage.loss
    upper = value + stage.loss + factor * rise + rounding
    plans = _closed(stage, vectors, SHARE * watch.tol * (1.0 - modulus), 4.0 * projection.rounding(vectors), watch)
    if not everywhere:
        # Not yet a proven bound: the plans may still lead to beliefs in which no action is legal.
        shift = factor * max(max_regret(vectors, now, watch), 0.0) + rounding
        lowered = plans._replace(alpha_vectors=plans.alpha_vectors - shift) if np.isfinite(shift) else plans
        return _Found(value - shift, upper, lowered)
    if plans.alpha_vectors.size <= MOST_UNKNOWNS:
        own = controller_value(projection, plans.actions, plans.successors)
        guaranteed = float(values_at(own, start).max())
        if guaranteed >= value - 2.0 * rounding:  # `controller_value` has subtracted one rounding error already
            return _Found(guaranteed, upper, plans._replace(alpha_vectors=own))
    return _Found(value - rounding, upper, plans)


def _together(own: FloatArray, stage: Stage, epsilon: float, watch: Watch) -> tuple[FloatArray, FloatArray]:
    """Return the vectors of a controller and those of a stage that rise above them by more than epsilon; and beliefs.

    Where the controller is the optimum, the two are the same but for what the controller was lowered by.
    """
    controller = that_matter(own, stage.points, 0.0, watch)
    vectors, others = own[controller.left], stage.plans.alpha_vectors
    above = that_matter(others, stage.points, epsilon, watch, vectors)
    points = np.concatenate([controller.points, above.points])
    return np.concatenate([vectors, others[above.left]]), different(points)


def _closed(stage: Stage, vectors: FloatArray, epsilon: float, tie: float, watch: Watch) -> VectorSet:
    """Return the plans that matter by more than epsilon, each continued by others of this set.

    In place of each of the old `vectors` comes the new one that loses least, the first of those that lose as much up to
    `tie`.
    """
    plans = stage.plans
    best = that_matter(plans.alpha_vectors, stage.points, epsilon, watch).left
    replacement = _replacements(vectors, plans.alpha_vectors[best], tie, watch)
    links = plans.successors[best]
    return VectorSet(plans.alpha_vectors[best], plans.actions[best], np.where(links >= 0, replacement[links], -1))


def _replacements(vectors: FloatArray, others: FloatArray, tie: float, watch: Watch) -> IndexArray:
    """Return for each vector (n, S) the one of the others (k, S) whose largest shortfall below it is smallest: (n,).

    That is the first that is not below it by `tie` more than another. One that is nowhere below it at all may take its
    place without any loss.
    """
    now: FloatArray = np.ascontiguousarray(others.T)
    replacement: IndexArray = np.empty(len(vectors), dtype=np.int64)
    some = max(1, BLOCK // now.shape[1])
    for begin in range(0, replacement.size, some):
        olds = vectors[begin : begin + some]
        least = np.full((olds.shape[0], now.shape[1]), np.inf)
        for old, new in zip(olds.T, now, strict=True):
            finite = old > -np.inf
            least[finite] = np.minimum(least[finite], new - old[finite, np.newaxis])
        replacement[begin : begin + some] = first_of_best(least, tie)
        watch.check()
    return replacement
