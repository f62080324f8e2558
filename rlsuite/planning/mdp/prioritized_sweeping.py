"""Prioritized sweeping on a known model: back up the state with the largest residual first.

Moore & Atkeson 1993, Wingate & Seppi 2005; S&B2 section 8.4 is the learning form.
"""

from typing import Unpack

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.planning.certificate import certified, discounted
from rlsuite.planning.graph import edges, predecessors
from rlsuite.planning.kernels import Rows
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.mdp.topological import backed_up, chunk_of_backups, enough
from rlsuite.planning.operators import Lookahead, best
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
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([90.0, 100.0, 0.0], [1, 1, -1], 1)
    """
    watch = Watch("prioritized_sweeping", max_iterations=max_iterations, **limits)
    lookahead = discounted(mdp, "prioritized_sweeping")
    backwards = predecessors(mdp, edges(mdp))
    value = _typical(lookahead)
    residual: FloatArray = np.zeros(mdp.n_states)
    heap: StateArray = np.empty(mdp.n_states, dtype=np.int32)
    position: StateArray = np.full(mdp.n_states, -1, dtype=np.int32)
    tables = (lookahead.rows, value, residual, heap, position)
    allowed = enough(lookahead, watch.tol)
    # A backup also recomputes the residuals of all states that lead to its state.
    chunk = chunk_of_backups(mdp, mdp.n_transitions / mdp.n_states * (1.0 + backwards.state.size / mdp.n_states))
    waiting = _fill(allowed, *tables)
    backups = 0
    with watch:
        while waiting > 0 and watch.goes_on(_bound(lookahead, float(residual[heap[0]]))):
            watch.measure(value, lookahead.largest_value)
            # Below rounding a residual is noise, and backing it up could never end.
            floor = 2.0 * lookahead.rounding(value)
            budget = min(chunk, max_iterations * mdp.n_states - backups)
            done, waiting = _back_up(budget, waiting, allowed, max(allowed, floor), *backwards, *tables)
            backups += done
            watch.iterations = -(-backups // mdp.n_states)
            if waiting > 0 and residual[heap[0]] <= floor:
                watch.give_up("the residuals are down to rounding error")
                break
    return certified(lookahead, value, watch)


def _typical(lookahead: Lookahead) -> FloatArray:
    """Return the best reward of the median state (the lower one), earned for ever, in every state that has actions."""
    backed_up_once = best(lookahead.q(np.zeros(lookahead.n_states)))
    acting = lookahead.mdp.legal.any(axis=1) & ~lookahead.terminal
    if not acting.any():
        return np.zeros(lookahead.n_states)
    typical = float(np.quantile(backed_up_once[acting], 0.5, method="lower")) / (1.0 - lookahead.modulus)
    return np.where(acting, typical, 0.0)


def _bound(lookahead: Lookahead, residual: float) -> float:
    return 2.0 * lookahead.modulus / (1.0 - lookahead.modulus) * residual


@compiled(in_place=True)
def _residual(rows: Rows, s: int, ahead: FloatArray) -> float:
    """Return how much a backup would change V(s); 0 where no action is legal."""
    value = backed_up(rows, s, ahead)
    return abs(value - ahead[s]) if value > -np.inf else 0.0


@compiled(in_place=True)
def _rise(k: int, s: int, residual: FloatArray, heap: StateArray, position: StateArray) -> None:
    """Put s into place k of the heap or, if its residual is too large for that, nearer to the top."""
    while k > 0 and residual[heap[(k - 1) // 2]] < residual[s]:
        heap[k] = heap[(k - 1) // 2]
        position[heap[k]] = k
        k = (k - 1) // 2
    heap[k] = s
    position[s] = k


@compiled(in_place=True)
def _fill(
    enough: float,
    rows: Rows,
    ahead: FloatArray,
    residual: FloatArray,
    heap: StateArray,
    position: StateArray,
) -> int:
    """Compute all residuals, put the states with more than `enough` into the heap, and return how many there are."""
    waiting = 0
    for s in range(ahead.size):
        if rows.terminal[s]:
            continue
        residual[s] = _residual(rows, s, ahead)
        if residual[s] > enough:
            _rise(waiting, s, residual, heap, position)
            waiting += 1
    return waiting


@compiled(in_place=True)
def _sink(k: int, s: int, waiting: int, residual: FloatArray, heap: StateArray, position: StateArray) -> None:
    """Put s into place k of the heap or, if its residual is too small for that, further down."""
    while 2 * k + 1 < waiting:
        child = 2 * k + 1
        if child + 1 < waiting and residual[heap[child + 1]] > residual[heap[child]]:
            child += 1
        if residual[heap[child]] <= residual[s]:
            break
        heap[k] = heap[child]
        position[heap[k]] = k
        k = child
    heap[k] = s
    position[s] = k


@compiled(in_place=True)
def _back_up(
    budget: int,
    waiting: int,
    enough: float,
    floor: float,
    before_indptr: IndexArray,
    before: StateArray,
    rows: Rows,
    ahead: FloatArray,
    residual: FloatArray,
    heap: StateArray,
    position: StateArray,
) -> tuple[int, int]:
    """Back up the top of the heap until its residual is at most `floor`; return how many, and the heap's size."""
    done = 0
    while done < budget and waiting > 0 and residual[heap[0]] > floor:
        done += 1
        s = heap[0]
        waiting -= 1
        position[s] = -1
        residual[s] = 0.0
        if waiting > 0:
            _sink(0, heap[waiting], waiting, residual, heap, position)
        ahead[s] = backed_up(rows, s, ahead)
        for i in range(before_indptr[s], before_indptr[s + 1]):
            p = before[i]
            if p == s or rows.terminal[p]:
                continue
            residual[p] = _residual(rows, p, ahead)
            if position[p] >= 0:
                # At most one of the two calls moves p.
                _rise(int(position[p]), p, residual, heap, position)
                _sink(int(position[p]), p, waiting, residual, heap, position)
            elif residual[p] > enough:
                _rise(waiting, p, residual, heap, position)
                waiting += 1
    return done, waiting
