"""Howard's policy iteration for the average reward, with gain and bias, unichain or multichain. P94 section 9.2."""

from typing import Unpack

import numpy as np

from rlsuite.core.clock import OutOfTime
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.planning.average_reward import AverageRewardSolution, undiscounted
from rlsuite.planning.certificate import finished
from rlsuite.planning.gain_bounds import gain_bounds
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.linear_system import seconds_to_eliminate
from rlsuite.planning.long_run import CompletedModel, LongRun, episodes_end, gain_and_bias, long_run_structure
from rlsuite.planning.mdp.relative_value_iteration import TAU, sweep_relatively
from rlsuite.planning.operators import EPS, Lookahead, best, greedy
from rlsuite.planning.watch import Watch

MOST_SWEEPS = 5_000
"""Sweeps, at most, before the first policy is evaluated, and in search of more gain."""

SWEEPS_PER_STATE = 4
"""And at most this many times the number of states."""

RESERVED = 2.0
"""Evaluations for which time is kept before the deadline."""

SWEEPS_PER_LOOK = 50
"""They also end when the greedy policy is the same as this many sweeps before."""


@takes_limits(max_iterations=1_000)
def average_reward_policy_iteration(mdp: MDP, **limits: Unpack[Limits]) -> AverageRewardSolution:
    """Find the largest mean reward per step in the long run, from every state, by policy iteration.

    Begins with the greedy policy of some sweeps of value iteration. The gain may differ from state to state: the
    optimal policy may have one recurrent class or several, and the `chains` of the solution say which.
    Each policy is evaluated exactly (`gain_and_bias`). Then states change to actions that lead to more gain; if there
    are none, to those that keep the gain with the greatest r + P h, if that is more than what they have (P94 9.2.1).
    With the true bias h, gain and bias rise from policy to policy in lexicographic order. If they do not, the cause is
    rounding, and the search ends.

    Parameters
    ----------
    mdp : MDP
        The model; its gamma is ignored. An episode that has ended earns 0 for ever, see
        `rlsuite.planning.average_reward`.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (improvement steps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AverageRewardSolution
        ``value`` is the bias of the policy, ``iterations`` the number of improvement steps, the last of which
        usually finds nothing better. The error bound is that of `rlsuite.planning.gain_bounds`. The time is that of a
        few sparse linear systems per step: for up to 10 000 or 100 000 states. If a deadline leaves no time for the
        first of them, the sweeps continue instead, as in `relative_value_iteration`: the gain is then the same in every
        state, and the bound allows for that.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    Howard's taxicab (1960, pages 44 to 52): cruise, wait at the stand, or wait for a radio call, in three towns:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import average_reward_policy_iteration
    >>> half, quarter, eighth, sixteenth = 1 / 2, 1 / 4, 1 / 8, 1 / 16
    >>> taxicab = MDP.from_rows(
    ...     [0, 3, 6, 9, 12, 15, 15, 18, 21, 24],
    ...     [0, 1, 2] * 8,
    ...     [half, quarter, quarter, sixteenth, 3 / 4, 3 / 16, quarter, eighth, 5 / 8,
    ...      half, 0, half, sixteenth, 7 / 8, sixteenth,
    ...      quarter, quarter, half, eighth, 3 / 4, eighth, 3 / 4, sixteenth, 3 / 16],
    ...     [10, 4, 8, 8, 2, 4, 4, 6, 4, 14, 0, 18, 8, 16, 8, 10, 2, 8, 6, 4, 2, 4, 0, 8],
    ...     n_actions=3, gamma=1.0)
    >>> solution = average_reward_policy_iteration(taxicab)
    >>> solution.gain.round(4).tolist(), solution.policy.tolist()
    ([13.3445, 13.3445, 13.3445], [1, 1, 1])
    >>> (solution.value - solution.value[2]).round(2).tolist()
    [-1.18, 12.66, 0.0]
    """
    watch = Watch("average_reward_policy_iteration", **limits)
    lookahead = undiscounted(mdp)
    with watch:
        value = _first_value(lookahead, watch)
        if watch.hurries:  # what follows goes through the model several times before it is of use
            return _swept(lookahead, value, watch)
        policy = greedy(lookahead.q(lookahead.ahead(value)))
        model = CompletedModel(mdp, episodes_end(mdp))
        chain = model.chain(policy)
        try:
            structure = long_run_structure(mdp, watch)
        except OutOfTime:
            structure = None
        if structure is None or not _in_time(chain, watch):
            return _swept(lookahead, value, watch)
        begun = watch.seconds
        run = gain_and_bias(chain)
        watch.reserve = RESERVED * (watch.seconds - begun)  # time for the next evaluation, and for the bounds
        while watch.goes_on(np.inf):
            candidate = _improved(model, policy, run, watch)
            if (candidate == policy).all():
                break
            its_run = gain_and_bias(model.chain(candidate))
            if not _rises(model, run, its_run):
                break
            policy, run = candidate, its_run
        watch.reserve = 0.0
        lower, upper = gain_bounds(model, structure, policy, run, watch)
    gain, bias = run.gain[: mdp.n_states], run.bias[: mdp.n_states]
    acting = np.flatnonzero(policy >= 0)
    # The residual of the second optimality equation for the actions of the policy: only rounding should remain.
    left_over = bias[acting] + gain[acting] - lookahead.q(bias)[acting, policy[acting]]
    bound = max(float((upper - lower).max()), float(left_over.max(initial=0.0))) * (1.0 + 4.0 * EPS)
    watch.record(bound)
    watch.measure(gain)
    return finished(
        AverageRewardSolution, watch, bound, value=bias.copy(), policy=policy, lookahead=lookahead, gain=gain.copy()
    )


def _swept(lookahead: Lookahead, value: FloatArray, watch: Watch) -> AverageRewardSolution:
    """Go on by sweeps until time is up; they do not count as improvement steps."""
    watch.max_iterations = None
    return sweep_relatively(lookahead, value, TAU, watch)


def _in_time(chain: MarkovChain, watch: Watch) -> bool:
    """Return whether there is time to evaluate a policy, which takes two eliminations."""
    return watch.deadline is None or 2.0 * seconds_to_eliminate(chain.transition) < watch.left


def _improved(model: CompletedModel, policy: IndexArray, run: LongRun, watch: Watch) -> IndexArray:
    """Return the policy with more gain where that is possible, else with the same gain and a larger r + P h."""
    tie = _gain_error(model, run)
    richer = _with_more_gain(model, policy, run.gain, tie, watch)
    if (richer != policy).any():
        return richer
    states = np.arange(model.n_states)
    acting = policy >= 0
    ahead = model.ahead(run.gain)
    surplus = model.surplus(run.gain, run.bias)
    own = surplus[states, policy]
    residual = float(np.abs(own[acting]).max(initial=0.0))
    surplus[ahead < best(ahead)[:, np.newaxis] - tie] = -np.inf
    better = best(surplus) > own + residual + 2.0 * model.rounding(run.gain, run.bias)
    return np.where(better & acting, greedy(surplus), policy)


def _with_more_gain(
    model: CompletedModel, policy: IndexArray, gain: FloatArray, tie: float, watch: Watch
) -> IndexArray:
    """Return the policy after sweeps G <- max(G, max_a P G) from its gain, repeated until nothing rises.

    If G(s) was raised last by the action a, then G(s) <= P_a G, since G has only risen. So G is a submartingale under
    the new policy, and constant on its recurrent classes; no state of those can have been raised, because the first one
    to come up to the others would have had to lead to them alone. So the classes are old ones, and the new gain is at
    least G.
    """
    gain = gain.copy()
    for _ in range(MOST_SWEEPS):
        ahead = model.ahead(gain)
        highest = best(ahead)
        more = highest > gain[: model.n_states] + tie
        if not more.any() or watch.hurries:
            break
        policy = np.where(more, greedy(ahead), policy)
        gain[: model.n_states][more] = highest[more]
    return policy


def _rises(model: CompletedModel, run: LongRun, its_run: LongRun) -> bool:
    """Return whether gain and bias have risen, in lexicographic order."""
    difference = its_run.gain - run.gain
    tie = _gain_error(model, run) + _gain_error(model, its_run)
    if (np.abs(difference) > tie).any():
        return bool(difference.sum() > 0.0)
    return bool(its_run.bias.sum() > run.bias.sum())


def _gain_error(model: CompletedModel, run: LongRun) -> float:
    """Return the order of the rounding error in the gain: the error of one step times the steps to a class."""
    spread = np.ptp(run.gain) and model.rounding(run.gain - run.gain.min()) * (1.0 + float(run.steps.max()))
    return 2.0 * model.rounding(run.gain) + float(spread)


def _first_value(lookahead: Lookahead, watch: Watch) -> FloatArray:
    """Return the value after sweeps of value iteration, which propagate rewards at little cost.

    An improvement step propagates them no further than a sweep, and takes as long as hundreds. Besides, the policies on
    the way to a good one may have parts between which they hardly ever move, and that makes their bias extremely large.
    """
    value: FloatArray = np.zeros(lookahead.n_states)
    spare: FloatArray = np.empty(lookahead.n_states)
    action: StateArray = np.zeros(lookahead.n_states, dtype=np.int32)
    before = np.full_like(action, -1)
    for k in range(min(MOST_SWEEPS, SWEEPS_PER_STATE * lookahead.n_states)):
        lookahead.back_up(value, spare, action)
        value, spare = spare, value
        if watch.hurries:
            break
        if k % SWEEPS_PER_LOOK == 0:
            if (action == before).all():
                break
            before = action.copy()
    return value
