"""Topological value iteration: one strongly connected component after the other. Dai & Goldsmith 2007."""

from typing import Unpack

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import certified, discounted
from rlsuite.planning.graph import edges, strong_components
from rlsuite.planning.kernels import ONE, Rows, successors_at
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

COMPONENT, SWEEPS = 0, 1
LEAST_CHUNK, LARGEST_CHUNK = 1_000, 100_000
"""After S backups, but at least and at most this many, the clock and Ctrl-C are looked at: between two sweeps."""

MOST_WORK = 5_000_000
"""And after about this many transitions: some ten milliseconds."""


@takes_limits()
def topological(mdp: MDP, *, max_iterations: int = 1_000_000, **limits: Unpack[TimeLimits]) -> Solution:
    """Solve a discounted MDP component by component, beginning with those on which the others depend.

    Within a strongly connected component of the graph of the model, every state may lead to every other; between
    components the way leads in one direction only. So a component is solved once, when all that it leads to are known.
    A component of one state takes a single backup, with what leads back to itself solved for: a model without cycles
    is solved in one pass over its states. Larger components are swept in place, in both directions, until the changes c
    of a sweep are so small that their residual, at most beta c, is what the tolerance allows. The bounds that the
    certificate derives from the residual hold for the model as a whole, so errors that accumulate from component to
    component are covered.

    Best for models that move forward: stages, levels, growing structures, wear. If all states form one component, it
    is Gauss-Seidel value iteration, and `gauss_seidel` is faster.

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
        ``iterations`` is the number of backups (of one state, over all its actions) divided by S, rounded up. After a
        stop before its time, by a limit or by Ctrl-C, the components that were not reached have the value 0, and the
        error bound says what that means.

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
    >>> from rlsuite.planning import topological
    >>> mdp = MDP.from_successors([[1, 2], [1, 3], [3, 3], [None, None]], [[0, 4], [1, 0], [5, 5], [0, 0]], gamma=0.5)
    >>> solution = topological(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([6.5, 2.0, 5.0, 0.0], [1, 0, 0, -1], 1)
    """
    watch = Watch("topological", max_iterations=max_iterations, **limits)
    lookahead = discounted(mdp, "topological")
    in_order = InOrder(lookahead, watch.tol)
    backups = 0
    with watch:
        while in_order.share < 1.0 and watch.goes_on(np.inf):
            backups += in_order.go_on(max_iterations * mdp.n_states - backups)
            watch.iterations = -(-backups // mdp.n_states)
    return certified(lookahead, in_order.value, watch)


class InOrder:
    """The components one after the other, as far as they are solved.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    tol : float
        How close the bounds are to be.

    Attributes
    ----------
    value : ndarray (S,) float64
        The values of solved components, 0 of others.
    largest : int
        Number of states of the largest component.
    share : float
        Share of the states in solved components.
    """

    def __init__(self, lookahead: Lookahead, tol: float) -> None:
        mdp = lookahead.mdp
        components = strong_components(mdp, edges(mdp))
        self.value: FloatArray = np.zeros(mdp.n_states)
        self.largest = int(np.diff(components.indptr).max())
        self.share = 0.0
        self._begins = components.indptr
        self._done: IndexArray = np.zeros(2, dtype=np.int64)
        self._tables = (lookahead.rows, components.indptr, components.members)
        self._small = (enough(lookahead, tol), *_rounding(lookahead))
        self._chunk = chunk_of_backups(mdp, mdp.n_transitions / mdp.n_states)

    def go_on(self, most: int) -> int:
        """Do at most some ten milliseconds of backups, and at most `most`; return how many."""
        backups = _solve_components(min(self._chunk, most), *self._tables, *self._small, self._done, self.value)
        self.share = float(self._begins[self._done[COMPONENT]]) / self.value.size
        return backups


def chunk_of_backups(mdp: MDP, work: float) -> int:
    """Return the number of backups between two looks at the clock, given the mean number of transitions of a backup."""
    chunk = min(max(mdp.n_states, LEAST_CHUNK), LARGEST_CHUNK)
    return max(1, min(chunk, int(MOST_WORK / max(work, 1.0))))


def enough(lookahead: Lookahead, tol: float) -> float:
    """Return the residual max |TV - V| at which the distance of the bounds is half of `tol`."""
    beta = lookahead.modulus
    return tol * (1.0 - beta) / (4.0 * beta) if beta > 0.0 else np.inf


def _rounding(lookahead: Lookahead) -> tuple[float, float]:
    """Return a and b such that the rounding error of a backup of V is at most a + b max |V|."""
    constant = lookahead.rounding(np.zeros(1))
    return constant, lookahead.rounding(np.ones(1)) - constant


@compiled(in_place=True)
def backed_up(rows: Rows, s: int, ahead: FloatArray) -> float:
    """Return the value of the best action of s, with transitions back to s solved for; -inf where none is legal."""
    best = -np.inf
    row = np.uint64(s) * np.uint64(rows.n_actions)
    last = rows.indptr[row]
    for _ in range(rows.n_actions):
        first, last = last, rows.indptr[row + ONE]
        follows, back = 0.0, 0.0
        at = successors_at(rows, first)
        for i in range(first, last):
            there = rows.successor[at + (i - first)]
            if there == s:
                back += rows.weight[i]
            else:
                follows += rows.weight[i] * ahead[there]
        if last > first:
            best = max(best, (rows.reward[row] + rows.gamma * follows) / (1.0 - rows.gamma * back))
        row += ONE
    return best


@compiled(in_place=True)
def _solve_components(
    budget: int,
    rows: Rows,
    component: IndexArray,
    members: IndexArray,
    enough: float,
    constant: float,
    slope: float,
    done: IndexArray,
    ahead: FloatArray,
) -> int:
    """Continue from `done` (the component and the sweeps over it) for `budget` backups, and to the end of that sweep.

    Returns the number of backups.
    """
    backups = 0
    while done[COMPONENT] < component.size - 1 and backups < budget:
        first, last = component[done[COMPONENT]], component[done[COMPONENT] + 1]
        forward = done[SWEEPS] % 2 == 0
        change, largest = 0.0, 0.0
        for k in range(last - first):
            s = members[first + k if forward else last - 1 - k]
            if rows.terminal[s]:
                continue
            best = backed_up(rows, int(s), ahead)
            if best > -np.inf:
                change = max(change, abs(best - ahead[s]))
                largest = max(largest, abs(best))
                ahead[s] = best
        backups += int(last - first)
        done[SWEEPS] += 1
        if last - first == 1 or change <= max(enough, constant + slope * largest):
            done[COMPONENT] += 1
            done[SWEEPS] = 0
    return backups
