"""The beliefs that can be reached from the start, as a fully observed MDP. KLC98 section 3.4.

A POMDP is an MDP over beliefs: in belief b, action a earns rho(b, a) = sum_s b(s) r(s, a), and observation z, which has
the probability Pr(z | b, a), leads to the belief SE(b, a, z). From one start belief only finitely many are reached in
finitely many steps, and often few, because different histories lead to the same belief.

The optimal value at the start needs no other beliefs (KLC98 section 3.4, Bellman's equation for beliefs read forwards
from b_0), so a belief MDP with those as states is enough. For a finite horizon H that is exact. Without a horizon it is
exact if the beliefs are finitely many; if not, they are expanded for n steps, enough that the rest adds little:
replacing everything after n steps by 0 changes the value by at most gamma^n max |r| / (1 - gamma), in each direction.
The same holds for the part that a deadline cuts off, with a horizon by the sum of gamma^k max |r| over the steps that
are left.
"""

import math
from bisect import bisect_right
from typing import Any, NamedTuple, Unpack, cast

import numpy as np

from rlsuite.core.checks import whole_amount, whole_number
from rlsuite.core.clock import Clock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.validation import pointers
from rlsuite.planning.certificate import FOR_POMDPS, discounted, warn_not_converged
from rlsuite.planning.limits import TolerancesOfBounds, takes_limits
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.pomdp.solution import BeliefSolution, noted
from rlsuite.planning.watch import Watch, shares_the_deadline_of

BLOCK = 32
"""Beliefs that are expanded between two checks of the clock."""

DECIMALS = 12
"""Beliefs that agree after rounding to this many decimals are treated as equal."""


class BeliefMDP(NamedTuple):
    """The MDP over n reachable beliefs."""

    mdp: MDP
    """its state 0 is the start belief; beliefs that were not expanded have no legal action"""
    beliefs: FloatArray
    """(n, S)"""
    depth: IndexArray
    """(n,) int64, least number of steps to reach each"""
    merged: float
    """largest L1 distance between two beliefs that were treated as equal"""
    closed: bool
    """whether all beliefs were expanded"""


class _Step(NamedTuple):
    """One step from k beliefs, reached after the same number of steps, by every action."""

    successor: IndexArray
    """(k, A, Z + 1) numbers of the beliefs that follow each observation; the last column is the end of the episode"""
    probability: FloatArray
    """(k, A, Z + 1), 0 for illegal actions"""
    reward: FloatArray
    """(k, A)"""


class _Register:
    """Numbers beliefs in the order in which they occur; equal ones have one number."""

    def __init__(self, max_beliefs: int) -> None:
        self.beliefs: list[FloatArray] = []
        self.merged = 0.0
        self._max_beliefs = max_beliefs
        self._number: dict[bytes, int] = {}

    def number(self, belief: FloatArray) -> int:
        # Adding 0 turns -0.0 into 0.0, whose bytes differ.
        key = (np.round(belief, DECIMALS) + 0.0).tobytes()
        found = self._number.setdefault(key, len(self.beliefs))
        if found < len(self.beliefs):
            self.merged = max(self.merged, float(np.abs(belief - self.beliefs[found]).sum()))
            return found
        if found == self._max_beliefs:
            raise ParameterError(
                f"more than max_beliefs={self._max_beliefs} beliefs can be reached from the start; "
                "use a smaller horizon=, a larger tol=, or a larger max_beliefs="
            )
        self.beliefs.append(belief)
        return found


@says_what_to_write
def belief_mdp(pomdp: POMDP, *, steps: int, max_beliefs: int, deadline: float | None = None) -> BeliefMDP:
    """Expand all beliefs from the start for a number of steps, or until there is no new one.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    steps : int
        How many steps to follow up.
    max_beliefs : int
        How many beliefs there may be.
    deadline : float, optional
        Follow up no more beliefs after this many seconds, or after Ctrl-C; those that were reached first have been.

    Returns
    -------
    BeliefMDP
        An action is legal in a belief if it is legal in every state of its support.

    Raises
    ------
    ParameterError
        If there are more beliefs than `max_beliefs`.
    ModelError
        If no action is legal in every state of the support of some belief.
    """
    register = _Register(max_beliefs)
    register.number(pomdp.start)
    ways = _Ways(pomdp)
    followed: list[_Step] = []
    depth = [0]
    first = 0
    with Clock("belief_mdp", deadline=deadline) as clock:
        while first < len(depth) and depth[first] < steps and not (followed and clock.hurries):
            end = min(first + BLOCK, bisect_right(depth, depth[first]))
            followed.append(ways.follow(np.stack(register.beliefs[first:end]), register))
            depth += [depth[first] + 1] * (len(register.beliefs) - len(depth))
            first = end
    beliefs = np.stack(register.beliefs)
    return BeliefMDP(
        mdp=_assemble(pomdp, followed, expanded=first, n_beliefs=len(beliefs)),
        beliefs=beliefs,
        depth=np.array(depth, dtype=np.int64),
        merged=register.merged,
        closed=first == len(beliefs),
    )


class _Ways:
    """The beliefs that the actions of a model lead to from any belief."""

    def __init__(self, pomdp: POMDP) -> None:
        lookahead = Lookahead(pomdp.mdp)
        shape = pomdp.n_states, pomdp.n_actions
        self._pomdp = pomdp
        self._into: list[Any] = [lookahead.continuation[a :: shape[1]].T.tocsr() for a in range(shape[1])]
        self._seen = [pomdp.observation_matrix(a) for a in range(shape[1])]
        self._reward = lookahead.reward.reshape(shape)
        self._ends = np.zeros(shape)
        ending = np.where(pomdp.mdp.terminated, pomdp.mdp.probability, 0.0)
        np.add.at(self._ends.reshape(-1), pomdp.mdp.pairs(), ending)

    def follow(self, frontier: FloatArray, register: _Register) -> _Step:
        """Expand some beliefs (k, S)."""
        count, actions, symbols = len(frontier), self._pomdp.n_actions, self._pomdp.n_observations
        legal = _legal(self._pomdp, frontier)
        successor = np.zeros((count, actions, symbols + 1), dtype=np.int64)
        probability = np.zeros((count, actions, symbols + 1))
        ahead = [cast("FloatArray", into @ frontier.T).T for into in self._into]
        for i, a in np.argwhere(legal).tolist():
            support = np.flatnonzero(ahead[a][i])  # few states: a whole (S, Z) table for each belief would cost more
            joint = ahead[a][i, support, np.newaxis] * _rows(self._seen[a], support)
            probability[i, a, :symbols] = joint.sum(axis=0)
            for z in np.flatnonzero(probability[i, a, :symbols]).tolist():
                belief = np.zeros(self._pomdp.n_states)
                belief[support] = joint[:, z] / probability[i, a, z]
                successor[i, a, z] = register.number(belief)
        probability[:, :, symbols] = (frontier @ self._ends) * legal
        return _Step(successor, probability, frontier @ self._reward)


def _rows(matrix: Any, states: IndexArray) -> FloatArray:
    """Return some rows of a sparse matrix as a dense table; SciPy's own indexing would cost more than all the rest."""
    table = np.zeros((states.size, matrix.shape[1]))
    for row, s in enumerate(states.tolist()):
        entries = slice(matrix.indptr[s], matrix.indptr[s + 1])
        table[row, matrix.indices[entries]] = matrix.data[entries]
    return table


def _legal(pomdp: POMDP, frontier: FloatArray) -> BoolArray:
    """Return the actions (k, A) that are legal in every state of the belief's support."""
    legal: BoolArray = ~((frontier > 0.0) @ ~pomdp.mdp.legal)
    stuck = ~legal.any(axis=1)
    if stuck.any():
        belief = frontier[int(np.argmax(stuck))]
        raise ModelError(
            f"belief {belief.tolist()} can be reached, but no action is legal in every state of its support"
        )
    return legal


def _assemble(pomdp: POMDP, followed: list[_Step], *, expanded: int, n_beliefs: int) -> MDP:
    successor = np.concatenate([step.successor for step in followed])
    probability = np.concatenate([step.probability for step in followed])
    reward = np.concatenate([step.reward for step in followed])
    ends = np.zeros(successor.shape, dtype=np.bool_)
    ends[:, :, -1] = True
    ends |= successor >= expanded
    possible = probability > 0.0
    lengths = np.zeros((n_beliefs, pomdp.n_actions), dtype=np.int64)
    lengths[:expanded] = possible.sum(axis=2)
    indptr = pointers(lengths)
    total = probability.sum(axis=2, keepdims=True)
    # Rows of the model sum to 1 within a tolerance, which products of two such sums may exceed.
    share = np.divide(probability, total, out=np.zeros_like(probability), where=total > 0.0)
    return MDP.from_rows(
        indptr,
        successor[possible],
        share[possible],
        np.broadcast_to(reward[:, :, np.newaxis], possible.shape)[possible],
        n_actions=pomdp.n_actions,
        gamma=pomdp.gamma,
        terminated=ends[possible],
        start=0,
        action_labels=pomdp.action_labels,
    )


@takes_limits()
def reachable_beliefs(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    max_beliefs: int = 100_000,
    deadline: float | None = None,
    **tolerances: Unpack[TolerancesOfBounds],
) -> BeliefSolution:
    """Solve a POMDP for its start belief, over all beliefs that can be reached from it.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    max_beliefs : int
        How many beliefs there may be. They grow up to (A Z)^H in the worst case.
    deadline : float, optional
        Stop after about this many seconds; beliefs are followed up for the first half of them. The possible value of
        the rest widens the bounds. With a horizon there is no answer before the last step: if there is no time for it,
        that is an error.
    **tolerances
        What counts as converged: `tol`, `rtol`; see `Limits`. Without a horizon they decide how far beliefs are
        followed up.

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
    clock = Watch("reachable_beliefs", deadline=deadline, **tolerances)
    max_beliefs = whole_number("max_beliefs", max_beliefs)
    if horizon is None:
        discounted(pomdp.mdp, "reachable_beliefs without a horizon", FOR_POMDPS)
    else:
        horizon = whole_amount("horizon", horizon)
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
    solution = noted(
        BeliefSolution,
        clock,
        (float(found.value[0]) - error, float(found.value[0]) + error),
        horizon=horizon,
        beliefs=graph.beliefs,
        depth=graph.depth,
        values=values,
        policies=policies,
        pomdp=pomdp,
        iterations=found.iterations,
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
