"""Total reward without discounting, for models in which staying for ever does not pay.

Bertsekas & Tsitsiklis 1991; S&B2 chapters 4 and 6 with gamma = 1; P94 chapter 7.
"""

from typing import Unpack

import numpy as np

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import StateArray
from rlsuite.planning.certificate import finished, representable
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.solution import Solution
from rlsuite.planning.total_reward.endings import endings
from rlsuite.planning.total_reward.improvement import Exact, Sweeps, prepared
from rlsuite.planning.total_reward.value_bounds import Certified, certify
from rlsuite.planning.watch import Watch

EXACT = 128
"""Up to this many states policies are evaluated by linear systems alone."""


@takes_limits(max_iterations=100_000)
def stochastic_shortest_path(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve an MDP with gamma = 1: the largest expected sum of rewards until the end.

    The model is checked first. Every state must be able to reach the end, which is a transition that ends the episode,
    or a set of states in which a policy can stay for ever at a reward of 0 in each step; staying there has the value 0.
    And avoiding the end in any other way must cost something, on average per step: otherwise total rewards are
    infinite, or have no limit. Positive and zero rewards are allowed, as long as no policy can collect them for ever
    without paying more.

    In a set of states with cycles at no cost (`rlsuite.planning.total_reward.free_components`) every
    action that stays there has the value of the state, and is listed in ``optimal_actions``, as it loses nothing. But
    ``policy`` leads out of it, by the best way, with probability 1; unless nothing outside has more value.

    Up to 128 states policy iteration, beyond that sweeps in place as in `gauss_seidel`, from values that are meant to
    be too low, because from there they converge faster; whenever these have taken as long as a linear system, it gives
    the value of the best actions. There is no contraction to derive bounds from. Instead the
    result is enclosed between the value of the returned policy, which is shown to end, and a vector that no policy can
    exceed (`rlsuite.planning.total_reward.value_bounds`). Where the bounds do not meet because some of many equally
    good policies take very long, ``policy`` is one that comes to the end soon, not the first of the best actions.

    Parameters
    ----------
    mdp : MDP
        The model; gamma = 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of policies evaluated, or of pairs of sweeps over all actions, there and back.
        After a stop before its time, by a limit or by Ctrl-C, the best answer so far; after a deadline without an error
        bound, that is with an infinite one.

    Raises
    ------
    ParameterError
        If gamma is less than 1, or an argument is out of range.
    ModelError
        If a state cannot reach the end, or the end can be avoided for ever with gains that are as large as the losses,
        or larger; the message names a state. Also if the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    To the end in two steps of cost 1, or straight on for 3; going back and forth for ever also costs:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import stochastic_shortest_path
    >>> mdp = MDP.from_successors([[1, 2], [0, 2], [None, None]], [[-1, -3], [-1, -1], [0, 0]], gamma=1.0)
    >>> solution = stochastic_shortest_path(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.error_bound < 1e-12
    ([-2.0, -1.0, 0.0], [0, 1, -1], True)

    On the frozen lake the agent can stay in a corner for ever; if it tries, it reaches the goal 14 times out of 17:

    >>> lake = MDP.from_env("FrozenLake-v1", gamma=1.0)
    >>> round(stochastic_shortest_path(lake).value_at_start * 17, 6)
    14.0
    """
    watch = Watch("stochastic_shortest_path", **limits)
    if mdp.gamma != 1.0:
        raise ParameterError(
            f"stochastic_shortest_path needs gamma=1, and gamma is {mdp.gamma:g}; pass gamma=1.0, or take a method for "
            "discounted reward: policy_iteration, gauss_seidel, modified_policy_iteration or value_iteration"
        )
    lookahead = Lookahead(mdp)
    return _solution(lookahead, best_until_the_end(lookahead, watch), watch)


def best_until_the_end(lookahead: Lookahead, watch: Watch, *, may_stay: bool = True) -> Certified:
    """Return the largest expected sum of rewards until the end, with its bounds.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared; gamma = 1.
    watch : Watch
        Of the method that asks. It says when to stop, and is told why the search did.
    may_stay : bool
        Whether a policy may stay for ever where that costs nothing. Otherwise the end must be reached.

    Raises
    ------
    ModelError
        As `stochastic_shortest_path`.
    """
    mdp = lookahead.mdp
    representable(lookahead, mdp.n_states)
    found: Certified | None = None
    with watch:
        how = endings(lookahead, watch, may_stay=may_stay)
        model = prepared(how.collapsed.lookahead if how.collapsed else lookahead, how.idle)
        action: StateArray = np.where(model.terminal, -1, how.action).astype(np.int32)
        # A generous estimate of the number of steps to the end.
        longest = 4.0 * (float(how.steps.max(initial=0)) + 1.0)
        engine = (
            Exact(model, action)
            if mdp.n_states <= EXACT
            else Sweeps(model, action, np.where(model.terminal, 0.0, -longest * model.reward_size), watch)
        )
        # The error of the value is about the change in one sweep times the number of steps to the end.
        enough, bound = watch.tol / (16.0 * longest), np.inf
        while watch.goes_on(bound):
            found = None
            change = engine.advance()
            rounded = change <= model.rounding(engine.value)
            if change > enough and not rounded:
                continue
            found = certify(engine, watch)
            bound = found.error_bound
            watch.measure(found.value)
            if rounded and bound > watch.tol:
                found = min(found, certify(engine, watch, thoroughly=True), key=lambda each: each.error_bound)
                bound = found.error_bound
                if bound > watch.tol:
                    watch.give_up("the changes are down to rounding error")
                break
            enough = min(enough / 4.0, watch.tol / (16.0 * max(longest, found.longest)))
    if found is None:
        found = certify(engine, watch)
    if how.collapsed is not None:
        value, policy = how.collapsed.spread(found.value, found.policy)
        found = found._replace(value=value, policy=policy)
    return found


def _solution(lookahead: Lookahead, found: Certified, watch: Watch) -> Solution:
    if not np.isfinite(found.value).all():
        raise ModelError(f"rewards up to {lookahead.reward_size:g} make values that overflow; scale the rewards down")
    watch.record(found.error_bound)
    watch.measure(found.value)
    return finished(Solution, watch, found.error_bound, value=found.value, policy=found.policy, lookahead=lookahead)
