"""Relative value iteration: sweeps without discount, relative to one state. P94 section 8.5.5."""

from typing import Unpack

import numpy as np

from rlsuite.core.checks import positive_number
from rlsuite.core.clock import OutOfTime
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.planning.average_reward import AverageRewardSolution, undiscounted
from rlsuite.planning.certificate import finished
from rlsuite.planning.kernels import Range
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.long_run import episodes_end, long_run_structure
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.watch import Watch

TAU = 0.9
"""How far each sweep goes, by default."""


@takes_limits(max_iterations=1_000_000)
def relative_value_iteration(mdp: MDP, *, tau: float = TAU, **limits: Unpack[Limits]) -> AverageRewardSolution:
    """Find the largest mean reward per step in the long run by sweeps over all states, V <- TV - V(reference).

    With gamma = 1 the values grow by the gain in every sweep; what they are relative to a reference converges. For
    every V, if a policy is greedy for it,

        min (TV - V) <= gain of the policy <= optimal gain <= max (TV - V)        (Odoni 1969; P94 Theorem 8.5.5),

    and the sweeps end when these bounds are no further apart than `tol`. If the chain of a policy is periodic, V may
    circle for ever. So each sweep goes only part of the way, V <- (1 - tau) V + tau TV. That is the sweep of a model in
    which nothing happens with probability 1 - tau (P94 section 8.5.4): the same policies are optimal, the relative
    values are the same, and no chain is periodic.

    The bounds come together only if the optimal gain is the same in every state. It is if the model is weakly
    communicating, and that is checked first (`rlsuite.planning.long_run`). If episodes can end, that means
    that every policy comes to an end: then the gain is 0, and the relative values are the total rewards until the end.

    Parameters
    ----------
    mdp : MDP
        The model, weakly communicating; its gamma is ignored. An episode that has ended earns 0 for ever, see
        `rlsuite.planning.average_reward`.
    tau : float, in (0, 1]
        How far each sweep goes. 1 is a little faster where no chain is periodic, and may not converge where one is;
        0.5 is best for long periods.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AverageRewardSolution
        ``gain`` is the same in every state, ``value`` is 0 in state 0, or at the end if episodes can end;
        ``iterations`` is the number of sweeps. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true error bound.

    Raises
    ------
    ModelError
        If the model is not weakly communicating; `average_reward_policy_iteration` solves it. Or if the rewards are so
        large that values overflow.
    ParameterError
        If an argument is out of range.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    To and fro, and for the way out 1, or 3 in total if one takes it slowly, two steps on average:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import relative_value_iteration
    >>> mdp = MDP.from_successors([[1, {0, 1}], [0, None]], [[1, 1.5], [0, 0]], gamma=1.0)
    >>> solution = relative_value_iteration(mdp)
    >>> solution.gain.round(6).tolist(), solution.value.round(6).tolist(), solution.policy.tolist()
    ([1.0, 1.0], [0.0, -1.0], [1, 0])
    """
    watch = Watch("relative_value_iteration", **limits)
    if positive_number("tau", tau) > 1.0:
        raise ParameterError(f"tau={tau:g} is more than 1; tau lies in (0, 1]")
    lookahead = undiscounted(mdp)
    with watch:
        _check_communicating(mdp, watch)
        return sweep_relatively(lookahead, np.zeros(mdp.n_states), float(tau), watch)


def sweep_relatively(lookahead: Lookahead, value: FloatArray, tau: float, watch: Watch) -> AverageRewardSolution:
    """Sweep from a value (n,), 0 where no action is legal, until the gain is known within ``watch.tol``."""
    ends = episodes_end(lookahead.mdp)
    # Values are relative to that of the end, which is 0, or to that of one state.
    reference = int(np.argmin(lookahead.terminal))
    backed_up: FloatArray = np.empty(lookahead.n_states)
    action: StateArray = np.empty(lookahead.n_states, dtype=np.int32)
    bound = np.inf
    while watch.goes_on(bound):
        changes = lookahead.back_up(value, backed_up, action)
        rounding = _rounding(lookahead, value)
        least, greatest = _bounds(changes, rounding, ends)
        bound = greatest - least
        watch.between(least, greatest)
        if bound <= 6.0 * rounding:
            watch.give_up("the changes are down to rounding error")
            break
        level = 0.0 if ends else value[reference]
        value = np.where(action >= 0, value + tau * (backed_up - value) - level, 0.0)
    return _certified(lookahead, value, ends, watch)


def _check_communicating(mdp: MDP, watch: Watch) -> None:
    """Raise `ModelError` if the model is not weakly communicating; return if time is up."""
    try:
        structure = long_run_structure(mdp, watch)
    except OutOfTime:
        return
    if not structure.weakly_communicating:
        among = "the end of the episode among them, " if structure.ends else ""
        raise ModelError(
            "relative_value_iteration needs a model in which the optimal gain is the same in every state, and this one "
            f"has {structure.number} separate parts, {among}in which a policy can stay for ever (it is not weakly "
            "communicating). Use average_reward_policy_iteration, which finds the gain of each state."
        )


def _rounding(lookahead: Lookahead, value: FloatArray) -> float:
    """Return what rounding, and rows that do not sum to exactly 1, can change in a backup."""
    mdp, largest = lookahead.mdp, float(np.abs(value).max())
    defect = max(abs(one - 1.0) for one in mdp.row_sums) + int(np.diff(mdp.indptr).max()) * EPS
    return lookahead.rounding(value) + 2.0 * defect * (lookahead.reward_size + largest) + EPS * largest


def _bounds(changes: list[Range], rounding: float, ends: bool) -> Range:
    """Return bounds on the gain of the greedy policy and on the optimal one.

    `greedy_backup` chooses within a tie of 2 rounding errors, so the lower one is lowered by 4. At the end nothing
    changes.
    """
    least = min(change[0] for change in changes)
    greatest = max(change[1] for change in changes)
    if ends:
        least, greatest = min(least, 0.0), max(greatest, 0.0)
    return least - 4.0 * rounding, greatest + rounding


def _certified(lookahead: Lookahead, value: FloatArray, ends: bool, watch: Watch) -> AverageRewardSolution:
    """Return the greedy policy of `value`, and the gain with its bound."""
    rounding = _rounding(lookahead, value)
    backed_up: FloatArray = np.empty(lookahead.n_states)
    policy: IndexArray = np.empty(lookahead.n_states, dtype=np.int64)
    changes = lookahead.back_up_greedily(value, 2.0 * rounding, backed_up, policy)
    least, greatest = _bounds(changes, rounding, ends)
    bound = (greatest - least) * (1.0 + 4.0 * EPS)
    watch.record(bound)
    watch.between(least, greatest)
    gain = 0.0 if ends else (least + greatest) / 2.0
    # No other value depends on that of a terminal state, so one backup is enough for it.
    relative = np.where(lookahead.terminal, backed_up - gain, value)
    return finished(
        AverageRewardSolution,
        watch,
        bound,
        value=relative if ends else relative - relative[0],
        policy=policy,
        lookahead=lookahead,
        gain=np.full(lookahead.n_states, gain),
    )
