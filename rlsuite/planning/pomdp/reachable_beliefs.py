"""The exact optimum of a small POMDP, by dynamic programming over the beliefs that can be reached from the start.

The optimal value at the start needs no other beliefs (KLC98 section 3.4, Bellman's equation for beliefs read forwards
from b_0), so a belief MDP with those as states is enough. For a finite horizon H that is exact. Without a horizon it is
exact if the beliefs are finitely many; if not, they are expanded for so many steps n that the rest adds little:
replacing everything after n steps by 0 changes the value by at most gamma^n max |r| / (1 - gamma), in each direction.
The same holds for the part that a deadline cuts off, with a horizon by the sum of gamma^k max |r| over the steps that
are left.
"""

import math

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.models import POMDP
from rlsuite.planning.certificate import FOR_POMDPS, discounted, warn_not_converged
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.belief_graph import BeliefMDP, belief_mdp
from rlsuite.planning.pomdp.solution import BeliefSolution
from rlsuite.planning.watch import Watch, shares_the_deadline_of


@says_what_to_write
def reachable_beliefs(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    tol: float = 1e-6,
    rtol: float | None = None,
    max_beliefs: int = 100_000,
    deadline: float | None = None,
) -> BeliefSolution:
    """Solve a POMDP for its start belief, over all beliefs that can be reached from it.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    tol : float
        Largest distance of the two bounds that is allowed, in the unit of the reward. Without a horizon it decides how
        far beliefs are followed up.
    rtol : float, optional
        The same relative to the value, by default a thousandth of `tol`, at most 1e-9: see `rlsuite.planning.solve`.
    max_beliefs : int
        How many beliefs there may be. They grow up to (A Z)^H in the worst case.
    deadline : float, optional
        Stop after about this many seconds; beliefs are followed up for the first half of them. What the rest may be
        worth widens the bounds. With a horizon there is no answer before the last step: if there is no time for it,
        that is an error.

    Returns
    -------
    BeliefSolution
        Its bounds allow for rounding and for beliefs treated as equal (those that agree to 12 decimals). An action is
        legal in a belief if it is legal in every state of the belief's support.

    Raises
    ------
    ParameterError
        If there are too many beliefs, the deadline is too short for the horizon, gamma is 1 without a horizon, or an
        argument is out of range.
    ModelError
        If no action is legal in every state of the support of some belief, or values overflow.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and shows it with certainty, a guess earns 10 or costs 20:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import reachable_beliefs
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = reachable_beliefs(cups)
    >>> round(plan.lower_bound, 9), round(plan.upper_bound, 9), plan.n_beliefs
    (8.0, 8.0, 3)
    >>> plan.act([0.5, 0.5, 0]), plan.act(cups.update_belief([0.5, 0.5, 0], action=0, observation=1))
    (0, 2)
    """
    clock = Watch("reachable_beliefs", tol=tol, rtol=rtol, deadline=deadline)
    max_beliefs = whole_number("max_beliefs", max_beliefs)
    if horizon is None:
        discounted(pomdp.mdp, "reachable_beliefs without a horizon", FOR_POMDPS)
    else:
        horizon = whole_number("horizon", horizon)
    steps = _steps_until_negligible(pomdp, clock.tol / 4.0) if horizon is None else horizon
    half = None if clock.deadline is None else clock.deadline / 2.0
    with clock, shares_the_deadline_of(clock):
        graph = belief_mdp(pomdp, steps=steps, max_beliefs=max_beliefs, deadline=half)
        left = max(clock.left, 1e-3)
        if horizon is None:
            found = policy_iteration(graph.mdp, tol=math.inf, deadline=left)
            values, policies = found.value[np.newaxis], found.policy[np.newaxis]
        else:
            found = backward_induction(graph.mdp, horizon=horizon, tol=math.inf, deadline=left)
            values, policies = found.values, found.policies
    edge = graph.depth[~graph.mdp.legal.any(axis=1)]
    tail = _tail(pomdp, int(edge.min()), horizon) if edge.size else 0.0
    error = found.error_bound + _allowance(pomdp, graph, horizon) + tail
    lower, upper = float(found.value[0]) - error, float(found.value[0]) + error
    clock.between(lower, upper)
    solution = BeliefSolution(
        lower_bound=lower,
        upper_bound=upper,
        converged=2.0 * error <= clock.tol,
        horizon=horizon,
        beliefs=graph.beliefs,
        depth=graph.depth,
        values=values,
        policies=policies,
        iterations=found.iterations,
        seconds=clock.seconds,
        method="reachable_beliefs",
    )
    if not solution.converged:
        cut = edge.size > 0 and edge.min() < steps
        why = f"; {'interrupted' if clock.interrupted else f'deadline={deadline} seconds passed'}" if cut else ""
        warn_not_converged(
            f"reachable_beliefs returned bounds that are {2.0 * error:.3g} apart, more than {clock.asked}{why}"
        )
    return solution


def _largest_reward(pomdp: POMDP) -> float:
    return float(np.abs(pomdp.mdp.expected_reward()).max())


def _tail(pomdp: POMDP, steps: int, horizon: int | None = None) -> float:
    """Return a bound on the absolute value of everything after some steps."""
    if horizon is not None:
        return _largest_reward(pomdp) * float((pomdp.gamma ** np.arange(steps, horizon)).sum())
    return pomdp.gamma**steps * _largest_reward(pomdp) / (1.0 - pomdp.gamma)


def _steps_until_negligible(pomdp: POMDP, tol: float) -> int:
    """Return the number of steps, at least 1, after which `_tail` is at most `tol`."""
    after_one = _tail(pomdp, 1)
    if after_one <= tol:
        return 1
    return 2 + int(math.log(after_one / tol) / -math.log(pomdp.gamma))


def _allowance(pomdp: POMDP, graph: BeliefMDP, horizon: int | None) -> float:
    """Return a bound on the error of the belief MDP itself, at the start belief.

    With w = sum of gamma^k over the steps, no value exceeds max |r| w. A belief that stands for another at L1 distance
    d changes the value after it by at most d times that. A reward or a probability of the belief MDP is the result of
    at most 2S + 2Z + 8 roundings, each of which changes the value of a step by at most u times that. Both happen once
    per step, so their sum counts w times.
    """
    gamma = pomdp.gamma
    weight = 1.0 / (1.0 - gamma) if horizon is None else float((gamma ** np.arange(horizon)).sum())
    roundings = 2 * pomdp.n_states + 2 * pomdp.n_observations + 8
    return (graph.merged + roundings * EPS) * _largest_reward(pomdp) * weight**2
