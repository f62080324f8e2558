"""Policy iteration: evaluate a policy exactly, act greedily on its value, repeat. S&B2 section 4.3, P94 section 6.4.

In plain NumPy: `rlsuite.reference.mdp.policy_iteration`.
"""

from typing import Unpack

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.planning.certificate import bounded, certified, closer, discounted, largest_change
from rlsuite.planning.kernels import backup_in_place
from rlsuite.planning.krylov import KrylovValue
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.linear_system import band_of, seconds_to_eliminate, solve_fixed_point
from rlsuite.planning.mdp.policy_evaluation import induced_by_actions
from rlsuite.planning.operators import Lookahead, best, greedy, typical_value
from rlsuite.planning.policy_rows import PolicySteps
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

LONGEST = 2_000
"""Iterations of the Krylov method, at most."""

DIRECT = 2_000
"""Up to this many states a policy is evaluated by elimination, for more by a Krylov method."""

LONGEST_SECONDS = 10.0
"""An elimination may take so long."""

PER_EVALUATION = 2_000
"""A linear system takes about so many times what a sweep over one action of each state takes: 70 iterations do."""

MAX_CHANGING = 1e-3
"""Share of the states whose action may still change when the sweeps that find a first policy end."""


@takes_limits(max_iterations=1_000)
def policy_iteration(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a discounted MDP by Howard's policy iteration.

    Begins with the greedy policy after a few sweeps in place, as many as change it. Each policy is evaluated
    by one linear system, then every state changes to its best action if that is better by more than rounding. The last
    policy is optimal, up to rounding, which the certificate then bounds; `tol` only decides what counts as converged.
    Up to 2,000 states, and where states only lead to others nearby, as in a queue, the linear system is solved
    directly, if there is time enough for that, else by BiCGSTAB with symmetric Gauss-Seidel as preconditioner: in a
    model without structure the factors of a direct solver are dense. BiCGSTAB may fail. So if no action is better but
    the bounds are too far apart, linear systems are solved directly from then on, if that takes less than ten seconds.
    In exact arithmetic the values rise from policy to policy, so a sum that does not rise is due to rounding, and ends
    the search too.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (policies to evaluate), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of policies evaluated.

    Raises
    ------
    ParameterError
        If gamma is 1, `tol` is not positive, or `max_iterations` is not a positive whole number.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import policy_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = policy_iteration(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([90.0, 100.0, 0.0], [1, 1, -1], 2)
    """
    watch = Watch("policy_iteration", **limits)
    lookahead = discounted(mdp, "policy_iteration")
    states = np.arange(mdp.n_states)
    before = np.zeros(mdp.n_states)
    direct, doubted = mdp.n_states <= DIRECT, False
    kept: FloatArray | None = None
    with watch:
        value, policy = _first_policy(lookahead, watch)
        while watch.goes_on(np.inf):
            evaluated = _evaluated(lookahead, policy, before, watch, direct)
            if watch.hurries:  # a value from an evaluation that was cut short may be worse than the one before
                value = closer(lookahead, value, evaluated)
                continue
            if watch.iterations == 1 or doubted or evaluated.sum() > value.sum():
                value, doubted = evaluated, False
                before = evaluated
                q = lookahead.q(value)
                better = (best(q) > q[states, policy] + 2.0 * lookahead.rounding(value)) & (policy >= 0)
                policy = np.where(better, greedy(q), policy)
                if better.any():
                    continue
            if direct or not _may_be_wrong(lookahead, policy, value, watch):
                break
            # BiCGSTAB may have failed: this policy is evaluated by elimination, whatever the sums are
            direct, doubted, kept = True, True, value
    if kept is not None:
        value = closer(lookahead, kept, value)
    return certified(lookahead, value, watch)


def _may_be_wrong(lookahead: Lookahead, policy: IndexArray, value: FloatArray, watch: Watch) -> bool:
    """Whether an elimination, which there is time for, may find a value that is better by more than rounding."""
    if bounded(lookahead, value, watch).converged:
        return False
    followed = np.empty(lookahead.n_states)
    if largest_change(_rows(lookahead, policy).follow(value, followed)) <= 2.0 * lookahead.rounding(value):
        return False
    chain, _ = induced_by_actions(lookahead, policy)
    return seconds_to_eliminate(chain) < min(watch.left, LONGEST_SECONDS)


def _evaluated(lookahead: Lookahead, policy: IndexArray, before: FloatArray, watch: Watch, direct: bool) -> FloatArray:
    """Return V_pi: by elimination if `direct` or in a band, and if that ends in time; or else by BiCGSTAB."""
    rows: PolicySteps | None = None
    if not direct:
        rows = _rows(lookahead, policy)
        direct = band_of(rows.matrix, left_out=lookahead.terminal) is not None
    if direct:
        chain, reward = induced_by_actions(lookahead, policy)
        small = lookahead.n_states <= DIRECT and watch.left == np.inf
        if small or seconds_to_eliminate(chain) < min(watch.left, LONGEST_SECONDS):
            return solve_fixed_point(chain, reward)
    return KrylovValue(rows or _rows(lookahead, policy), lookahead.ahead(before)).go_on(LONGEST, watch)


def _rows(lookahead: Lookahead, policy: IndexArray) -> PolicySteps:
    rows = PolicySteps(lookahead)
    rows.take(np.where(lookahead.terminal, -1, policy).astype(np.int32))
    return rows


def _first_policy(lookahead: Lookahead, watch: Watch) -> tuple[FloatArray, IndexArray]:
    """Sweep in place, in both directions, until all but a few actions stay the same.

    Far from the rewards an improvement step only changes states next to those that it changed before, and it costs a
    linear system; a sweep propagates values as far or farther, and costs next to nothing. Never more than S sweeps,
    after which values have propagated to every state, and never more than cost as much as a linear system.
    """
    value = typical_value(lookahead)
    action: StateArray = np.full(lookahead.n_states, -1, dtype=np.int32)
    for sweep in range(min(lookahead.n_states, max(1, PER_EVALUATION // lookahead.n_actions))):
        before = action.copy()
        backup_in_place(0, lookahead.n_states, sweep % 2 == 0, lookahead.rows, value, value, action)
        if np.count_nonzero(action != before) <= MAX_CHANGING * lookahead.n_states or watch.hurries:
            break
    return value, greedy(lookahead.q(value))
