"""Gauss-Seidel iteration: states are backed up in order and then in reverse, each from the newest values.

P94 section 6.3.3 (value iteration in place) with the evaluation sweeps of modified policy iteration.
"""

from typing import Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, StateArray
from rlsuite.planning.blocks import fixed_blocks, on_blocks
from rlsuite.planning.certificate import certified, discounted, interval, largest_change
from rlsuite.planning.kernels import backup_in_place
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.operators import Lookahead, starting_value, typical_value
from rlsuite.planning.policy_rows import PolicySteps
from rlsuite.planning.solution import Solution
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch

DEPTH = 0.03
DEEPEST = 20
"""A policy is followed until its changes have fallen to this share, in at most this many sweeps."""


@takes_limits(max_iterations=100_000)
def gauss_seidel(mdp: MDP | Lookahead, *, initial: ArrayLike | None = None, **limits: Unpack[Limits]) -> Solution:
    """Solve a discounted MDP by sweeps in place, in both directions.

    Within a sweep values propagate as far as the order of the states allows: in a grid from one corner to the opposite
    one. Each iteration backs up all states in ascending and then in descending order, and evaluates the greedy policy
    by such sweeps for as long as that pays. Best where rewards are many steps away: grids, mazes, queues. Where the
    chain of every policy mixes fast, `modified_policy_iteration` is faster.

    Sweeps in place contract like the Bellman operator, so that the change c of one of them gives the error bound
    beta / (1 - beta) c on the way; the result is certified as in every planner. A large model is cut into at most 8
    blocks, each of which reads the values that the others had after the last sweep. The cuts depend on S alone, so the
    number of cores changes nothing.

    Parameters
    ----------
    mdp : MDP or Lookahead
        The model, or the model prepared; gamma < 1.
    initial : array_like (S,), optional
        A guess of the value to begin with; by default the best reward of a typical state divided by
        1 - gamma, which is already right far from all other rewards.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps in both directions), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of iterations, of two sweeps over all actions each. After a stop before its time,
        by a limit or by Ctrl-C, the best answer so far with its true error bound.

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
    >>> from rlsuite.planning import gauss_seidel
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = gauss_seidel(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.converged
    ([90.0, 100.0, 0.0], [1, 1, -1], True)
    """
    watch = Watch("gauss_seidel", **limits)
    lookahead = discounted(mdp, "gauss_seidel")
    value = typical_value(lookahead) if initial is None else starting_value(lookahead, initial)
    return sweep_in_place(lookahead, value, watch)


def sweep_in_place(lookahead: Lookahead, value: FloatArray, watch: Watch) -> Solution:
    """Run the method from `value` (S,), 0 at terminal states, which it overwrites."""
    rows = PolicySteps(lookahead)
    blocks = fixed_blocks(lookahead.n_states)
    spare = vector(lookahead.n_states)
    action: StateArray = np.full(lookahead.n_states, -1, dtype=np.int32)
    factor = 2.0 * lookahead.modulus / (1.0 - lookahead.modulus)
    bound = np.inf
    with watch:
        while watch.goes_on(bound):
            change = back_and_forth(lookahead, blocks, value, spare, action)
            bound = factor * change
            watch.measure(value, lookahead.largest_value)
            if bound <= watch.tol or change <= lookahead.rounding(value):
                changes = lookahead.back_up(value, spare, action)
                bound = interval(lookahead, changes, lookahead.rounding(value)).width
                if change <= lookahead.rounding(value):
                    watch.give_up("the changes are down to rounding error")
                    break
                continue
            rows.take(action)
            follow(rows, blocks, value, spare, change, watch)
    return certified(lookahead, value, watch)


def back_and_forth(
    lookahead: Lookahead, blocks: list[tuple[int, int]], value: FloatArray, spare: FloatArray, action: StateArray
) -> float:
    """Back up all states in ascending and then in descending order; return the largest change of the latter."""
    change = 0.0
    for forward in (True, False):
        before = _copied(value, spare, blocks)
        arguments = (forward, lookahead.rows, before, value, action)
        change = largest_change(on_blocks(backup_in_place, blocks, *arguments))
    return change


def follow(
    rows: PolicySteps, blocks: list[tuple[int, int]], value: FloatArray, spare: FloatArray, change: float, watch: Watch
) -> int:
    """Evaluate the policy of `rows` until its changes are small beside `change`; return in how many sweeps."""
    for sweep in range(DEEPEST):
        changes = rows.follow_in_place(blocks, sweep % 2 == 0, _copied(value, spare, blocks), value)
        if largest_change(changes) <= DEPTH * change or watch.hurries:
            return sweep + 1
    return DEEPEST


def _copied(value: FloatArray, spare: FloatArray, blocks: list[tuple[int, int]]) -> FloatArray:
    """Return the values that other blocks read: a copy, unless there is only one block."""
    if len(blocks) == 1:
        return value
    np.copyto(spare, value)
    return spare
