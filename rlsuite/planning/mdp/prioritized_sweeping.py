"""Prioritized sweeping on a known model: back up the state with the largest residual first.

Moore & Atkeson 1993, Wingate & Seppi 2005; S&B2 section 8.4 is the learning form.
"""

import heapq
from typing import Unpack

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import certified, discounted
from rlsuite.planning.graph import edges, predecessors
from rlsuite.planning.kernels import Rows
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.mdp.topological import backed_up, chunk_of_backups, enough
from rlsuite.planning.operators import typical_value
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch


@takes_limits()
def prioritized_sweeping(mdp: MDP, *, max_iterations: int = 1_000_000, **limits: Unpack[TimeLimits]) -> Solution:
    """Solve a discounted MDP by always backing up the state whose residual |TV - V| is the largest.

    A heap holds the states by residual. The backup of a state, with what leads back to itself solved for, makes its own
    residual 0 and changes those of its predecessors, which are computed again. It ends when none exceeds what the
    tolerance allows. Few backups are wasted where rewards are rare: only states that recent changes have reached are
    backed up. But a backup costs as many lookaheads as the state has predecessors, and reads memory in no regular
    order: where changes come from everywhere, sweeps are faster.

    The search begins, as `gauss_seidel` does, with the best reward of a typical state earned for ever.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    max_iterations : int
        Limit on the number of backups, as a multiple of the number of states.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of backups divided by S, rounded up. After a stop before its time, by a limit or by
        Ctrl-C, the best answer so far with its true error bound.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import prioritized_sweeping
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = prioritized_sweeping(mdp)
    >>> solution.value.tolist(), solution.policy.tolist()
    ([90.0, 100.0, 0.0], [1, 1, -1])
    """
    watch = Watch("prioritized_sweeping", max_iterations=max_iterations, **limits)
    lookahead = discounted(mdp, "prioritized_sweeping")
    backwards = predecessors(mdp, edges(mdp))
    before = backwards.state.astype(np.int64)
    value = typical_value(lookahead)
    residual: FloatArray = np.zeros(mdp.n_states)
    residuals(lookahead.rows, value, residual)
    allowed = enough(lookahead, watch.tol)
    # A backup also recomputes the residuals of all states that lead to its state.
    chunk = chunk_of_backups(mdp, mdp.n_transitions / mdp.n_states * (1.0 + backwards.state.size / mdp.n_states))
    backups = 0
    with watch:
        while watch.goes_on(2.0 * lookahead.modulus / (1.0 - lookahead.modulus) * float(residual.max())):
            watch.measure(value, lookahead.largest_value)
            # Below rounding a residual is noise, and backing it up could never end.
            floor = max(allowed, 2.0 * lookahead.rounding(value))
            if residual.max() <= floor:
                watch.give_up("the residuals are down to rounding error")
                break
            budget = min(chunk, max_iterations * mdp.n_states - backups)
            backups += back_up_in_order(budget, floor, backwards.indptr, before, lookahead.rows, value, residual)
            watch.iterations = -(-backups // mdp.n_states)
    return certified(lookahead, value, watch)


@compiled(in_place=True)
def _residual(rows: Rows, s: int, ahead: FloatArray) -> float:
    value = backed_up(rows, s, ahead)
    return abs(value - ahead[s]) if value > -np.inf else 0.0


@compiled(in_place=True)
def residuals(rows: Rows, ahead: FloatArray, residual: FloatArray) -> None:
    """Compute the residual of each state, 0 where the episode is over."""
    for s in range(ahead.size):
        residual[s] = 0.0 if rows.terminal[s] else _residual(rows, s, ahead)


@compiled
def back_up_in_order(
    budget: int,
    floor: float,
    before_indptr: IndexArray,
    before: IndexArray,
    rows: Rows,
    ahead: FloatArray,
    residual: FloatArray,
) -> int:
    """Back up the states with the largest residuals, `budget` of them, unless none is above `floor` earlier."""
    heap = [(-residual[s], s) for s in range(residual.size) if residual[s] > floor]
    heapq.heapify(heap)
    done = 0
    while len(heap) > 0 and done < budget:
        priority, s = heapq.heappop(heap)
        if -priority != residual[s]:  # it has another priority by now, and a place of its own for that
            continue
        ahead[s] = backed_up(rows, s, ahead)
        residual[s] = 0.0
        done += 1
        for i in range(before_indptr[s], before_indptr[s + 1]):
            p = int(before[i])
            if p != s and not rows.terminal[p]:
                residual[p] = _residual(rows, p, ahead)
                if residual[p] > floor:
                    heapq.heappush(heap, (-residual[p], p))
    return done
