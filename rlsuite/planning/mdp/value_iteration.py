"""Value iteration: apply the Bellman operator until values hardly change. S&B2 section 4.4, P94 section 6.3.

In plain NumPy: `rlsuite.reference.mdp.value_iteration`.
"""

from math import ceil
from typing import Unpack

import numpy as np

from rlsuite.core.interpretation import one_pass
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.certificate import bounded, certified, discounted, interval, largest_change
from rlsuite.planning.kernels import ONE, Range, Rows, looked_ahead
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.solution import Solution
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch


@takes_limits(max_iterations=1_000_000)
def value_iteration(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a discounted MDP by sweeps over all states, V <- TV from V = 0.

    After each sweep the bounds of MacQueen and Porteus (`rlsuite.planning.certificate`) bound the error of TV, shifted
    to the middle of its interval; the sweeps end when that is at most `tol`, not when little changes. Where the chain
    of every policy mixes fast, that takes far fewer sweeps than the log(1 / tol) / log(1 / gamma) of theory, and never
    more. The same bounds show actions that cannot be optimal, which later sweeps leave out (MacQueen 1967, P94 section
    6.7.2). Sweeps also end when the changes have sunk below rounding: then no further sweep can help. And where nothing
    ends, and rounding keeps the bounds apart, sweeps go on from the middle of bounds of twice the precision (the
    extrapolation of Porteus 1975), as long as each such jump at least halves these.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of sweeps. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true error bound.

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
    >>> from rlsuite.planning import value_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = value_iteration(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([90.0, 100.0, 0.0], [1, 1, -1], 3)
    """
    watch = Watch("value_iteration", **limits)
    lookahead = discounted(mdp, "value_iteration")
    value, backed_up = vector(mdp.n_states), vector(mdp.n_states)
    value[:] = 0.0
    suboptimal: BoolArray = np.zeros(mdp.n_states * mdp.n_actions, dtype=np.bool_)
    bound = margin = np.inf
    most, at_floor, closest = lookahead.largest_value, 0, np.inf
    jumps = lookahead.modulus - lookahead.least_modulus <= 4.0 * ROW_SUM_TOLERANCE  # nothing ends
    period, earlier = ceil(1.0 / (1.0 - lookahead.modulus)), np.inf
    before_jump: FloatArray | None = None
    with watch:
        while watch.goes_on(bound):
            rounding = lookahead.rounding(value)
            arguments = (lookahead.rows, value, margin, suboptimal, backed_up)
            changes = on_blocks(backup_of_some, lookahead.blocks, *arguments)
            bounds = interval(lookahead, changes, rounding)
            bound = bounds.width
            watch.measure(backed_up, most)
            # V* lies in [TV + lower, TV + upper], and the next sweep begins with TV. So an action whose value is lower
            # by more than `margin`, the most that it can gain and the best action can lose, is never optimal.
            gain, loss = max(0.0, bounds.upper), max(0.0, -bounds.lower)
            margin = lookahead.modulus * gain + loss + 2.0 * lookahead.rounding(backed_up)
            # Without rounding, the changes would be less than .37 of what they were so many sweeps ago.
            change, stuck = largest_change(changes), False
            if watch.iterations % period == 0:
                stuck, earlier = change > earlier / 2.0, change
            if change <= rounding or stuck:
                if before_jump is None or bounded(lookahead, value, watch).converged:
                    watch.give_up("the changes are down to rounding error")
                    break
                value, before_jump, jumps, margin, earlier = before_jump, None, False, np.inf, np.inf
                continue
            value, backed_up = backed_up, value
            # Had all states changed by the same, the bounds would be as far apart as rounding keeps them: the floor.
            # Better bounds cost three sweeps, and are computed after 1, 2, 4, 8 ... sweeps at the floor.
            same = max((least for least, greatest in changes if least <= greatest), default=0.0)
            floor = interval(lookahead, [(same, same)], rounding).width
            at_floor = at_floor + 1 if jumps and watch.tol < bound <= 2.0 * floor else 0
            if at_floor & (at_floor - 1) == 0 < at_floor:
                solution = bounded(lookahead, value, watch)
                if solution.converged:
                    return solution
                jumps = solution.error_bound <= min(bound, closest / 2.0)
                if jumps:
                    before_jump = value if before_jump is None else before_jump
                    value, margin, closest = lookahead.ahead(solution.value), np.inf, solution.error_bound
                    earlier = np.inf
    return certified(lookahead, value, watch)


@one_pass
def backup_of_some(
    begin: int,
    end: int,
    rows: Rows,
    ahead: FloatArray,
    margin: float,
    suboptimal: BoolArray,
    out: FloatArray,
) -> Range:
    """Fill TV as `backup` does, without the rows marked suboptimal; mark those more than `margin` below V(s)."""
    least, greatest = np.inf, -np.inf
    for s in range(np.uint64(begin), np.uint64(end)):
        out[s] = 0.0
        if rows.terminal[s]:
            continue
        best, floor = -np.inf, ahead[s] - margin
        for row in range(s * np.uint64(rows.n_actions), (s + ONE) * np.uint64(rows.n_actions)):
            if suboptimal[row]:
                continue
            first, last = rows.indptr[row], rows.indptr[row + ONE]
            value = looked_ahead(rows, row, first, last, ahead)
            if value > best and last > first:
                best = value
            if value < floor:
                suboptimal[row] = True
        if best > -np.inf:
            out[s] = best
            least = min(least, best - ahead[s])
            greatest = max(greatest, best - ahead[s])
    return least, greatest
