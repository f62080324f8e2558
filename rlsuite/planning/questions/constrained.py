"""The best policy within limits on costs: constrained Markov decision problems. Altman 1999, chapters 3 and 4.

Let x(s, a) be the expected discounted number of times that a policy takes a in s. Rewards and costs are linear in x,
and x >= 0 belongs to a policy if and only if what leaves each state is what enters it:

    sum_a x(s', a) = mu(s') + gamma sum_(s, a) c(s' | s, a) x(s, a).

So the best policy is pi(a | s) = x(s, a) / sum_a x(s, a), where x solves the linear program that maximises r x under
these equations and C x <= d. It has to be random in some states, but in no more of them than there are limits.

For any multipliers w >= 0, no policy within the limits is worth more than the best one for the rewards r - w C, plus
w d. With the multipliers of the program, that is the upper bound, certified as every solution is. The lower bound is
what the policy is worth. Where no policy is within the limits, some w >= 0 shows it: the least cost for w C is more
than w d.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias, Unpack

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.core.checks import finite_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.kept import ACTIONS, STATES, Kept, Shelf, labels
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.mdp.auto import auto
from rlsuite.planning.mdp.linear_programming import occupancy
from rlsuite.planning.mdp.policy_evaluation import evaluate_policy, induced
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.questions.until import Sum, paid_by
from rlsuite.planning.reachability import reachable_states
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

Limit: TypeAlias = tuple[Sum, float]
"""A cost of each step, and how much of it is allowed."""

ROUNDS = 6
"""Linear programs, at most: a solver meets limits up to a tolerance, and the next one gets stricter limits."""


@dataclass(frozen=True, eq=False)
class ConstrainedSolution(Kept):
    """A policy within limits on its costs, and how far it is from the best one.

    Attributes
    ----------
    policy : ndarray (S, A) float64
        The probability of each action in each state; all 0 where no action is legal.
    value_at_start : float
        What the policy is worth, the mean over the start distribution of the model.
    upper_bound : float
        No policy within the limits is worth more.
    error_bound : float
        The difference: how much the policy may lose, rounding included.
    costs, limits : ndarray (k,) float64
        The costs of the policy at the start, and the limits on them. No cost exceeds its limit by more than
        `violation`.
    violation : float
        The largest excess, rounding included; at most 0 where the limits are surely met.
    multipliers : ndarray (k,) float64
        By how much the value rises with each limit; 0 for limits that do not bind.
    random_states : ndarray (n,) int64
        The states in which the policy has to choose at random: at most k.
    converged : bool
        Whether `error_bound` and `violation` are within the tolerance.
    iterations : int
        Linear programs.
    seconds : float
        Wall-clock time taken.
    """

    policy: FloatArray = field(repr=False)
    value_at_start: float
    upper_bound: float
    error_bound: float
    costs: FloatArray
    limits: FloatArray
    violation: float
    multipliers: FloatArray
    random_states: IndexArray
    converged: bool
    iterations: int
    seconds: float = field(repr=False)
    lookahead: Lookahead = field(repr=False)
    method: str = field(default="constrained", repr=False)

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the probability of each action in each state, by title."""
        mdp = self.lookahead.mdp
        actions = labels(mdp.action_labels, mdp.n_actions)
        shown = {name: p.tolist() for name, p in zip(actions, self.policy.T, strict=True)}
        return {"state": list[object](labels(mdp.state_labels, mdp.n_states)), **shown}

    @classmethod
    def _restored(cls, shelf: Shelf) -> Self:
        if not isinstance(shelf.model, MDP):
            raise ValueError("its model is a POMDP, not an MDP")
        numbers: dict[str, Any] = {
            name: shelf.number(name, float) for name in ("value_at_start", "upper_bound", "error_bound", "violation")
        }
        return cls(
            policy=shelf.floats("policy", STATES, ACTIONS, at_least=0.0),
            costs=shelf.floats("costs", "limits"),
            limits=shelf.floats("limits", "limits"),
            multipliers=shelf.floats("multipliers", "limits", at_least=0.0),
            random_states=shelf.indices("random_states", "random", below=STATES, at_least=0),
            converged=shelf.number("converged", bool),
            iterations=shelf.number("iterations", int),
            seconds=shelf.number("seconds", float),
            method=shelf.number("method", str),
            lookahead=Lookahead(shelf.model),
            **numbers,
        )


@takes_limits()
def constrained(
    mdp: MDP, constraint: Limit | Sequence[Limit], *, gamma: float | None = None, **limits: Unpack[TimeLimits]
) -> ConstrainedSolution:
    """Find the best policy whose expected costs from the start are within limits.

    Parameters
    ----------
    mdp : MDP
        The model. Costs are discounted as rewards are.
    constraint : (cost, limit) or a sequence of such pairs
        The cost of each step, array_like (S, A) or (S,), or "steps" for 1; and the most that its expected discounted
        sum may be, from ``mdp.start``. A reward that must be earned is a cost with the opposite sign.
    gamma : float, optional
        Discount factor to use instead of the model's. With 1 every policy must come to an end, or pay for it if not.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    ConstrainedSolution
        With a policy that is random in as many states as there are limits at most, and bounds on what it loses.

    Raises
    ------
    ParameterError
        If the constraint is not a pair of a cost and a number, or a sequence of such pairs.
    ModelError
        If no policy is within the limits; the message says by how much the least costs exceed them.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`, or a limit may be exceeded by more.

    Examples
    --------
    Fast earns 10 and wears out 5, slow earns 4 and wears out 1, in each of ten rounds on average. At most 30 may be
    worn out, so fast is taken half of the time:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import constrained
    >>> mdp = MDP.from_successors([[0, 0]], [[10, 4]], gamma=0.9, action_labels=["fast", "slow"])
    >>> found = constrained(mdp, ([[5, 1]], 30.0))
    >>> found.policy.round(6).tolist(), round(found.value_at_start, 6), found.multipliers.round(6).tolist()
    ([[0.5, 0.5]], 70.0, [1.5])
    """
    if gamma is not None:
        mdp = mdp.replace(gamma=gamma)
    cost, most = _constraint(mdp, constraint)
    watch = Watch("constrained", **limits)
    program = _Program(mdp, cost)
    strict = most.copy()
    best: ConstrainedSolution | None = None
    with watch:
        for _ in range(ROUNDS):
            watch.iterations += 1
            visits, multipliers = program.solve(strict, watch)
            if visits is None:
                if best is None:
                    raise ModelError(_infeasible(program, most, watch))
                break  # the stricter limits cannot be met: the last policy is the best that is known
            found = _evaluated(program, visits, multipliers, most, watch)
            if best is None or (found.violation, found.error_bound) < (best.violation, best.error_bound):
                best = found
            if found.violation <= 0.0 or watch.hurries:
                break
            strict = strict - 2.0 * np.maximum(program.excess(found.policy, most), 0.0)
    assert best is not None
    if not best.converged:
        warn_not_converged(
            f"constrained: the policy may lose {best.error_bound:.3g} and exceed a limit by "
            f"{max(best.violation, 0.0):.3g}, more than {watch.asked}; scale rewards and costs to the order "
            "of 1, or allow more"
        )
    return best


def _constraint(mdp: MDP, given: Any) -> tuple[FloatArray, FloatArray]:
    """Return the costs (k, S, A) and the limits (k,)."""
    advice = "constraint is a pair (cost, limit), as in constraint=(costs, 10.0), or a sequence of such pairs"
    try:
        pairs = [tuple(given)] if len(given) == 2 and np.isscalar(given[1]) else [tuple(pair) for pair in given]
    except TypeError as cause:
        raise ParameterError(f"{advice}; it is {given!r}") from cause
    if not pairs or any(len(pair) != 2 or (np.isscalar(pair[0]) and not isinstance(pair[0], str)) for pair in pairs):
        raise ParameterError(advice)
    return np.stack([paid_by(mdp, cost) for cost, _ in pairs]), np.array([finite_number("limit", x) for _, x in pairs])


class _Program:
    """The linear program of a model: its states that can be reached, and their pairs."""

    def __init__(self, mdp: MDP, cost: FloatArray) -> None:
        from scipy.sparse import csr_array

        self.mdp, self.cost, self.lookahead = mdp, cost, Lookahead(mdp)
        acting: BoolArray = reachable_states(mdp) & mdp.legal.any(axis=1)
        self.states: IndexArray = np.flatnonzero(acting)
        self.pairs: IndexArray = np.flatnonzero((mdp.legal & acting[:, np.newaxis]).reshape(-1))
        reward = mdp.expected_reward().reshape(-1)
        self.reward: FloatArray = reward[self.pairs]
        self.paid: FloatArray = cost.reshape(len(cost), -1)[:, self.pairs]
        row = np.arange(self.pairs.size)
        own: Any = csr_array((np.ones(row.size), (row, self.pairs // mdp.n_actions)), shape=(row.size, mdp.n_states))
        ahead: Any = self.lookahead.continuation[self.pairs]
        self.flow: Any = (own - mdp.gamma * ahead)[:, self.states].T.tocsr()

    def solve(self, limits: FloatArray, watch: Watch) -> tuple[FloatArray | None, FloatArray]:
        """Return the number of times each pair (S, A) is taken, and the multipliers; None if HiGHS finds no x."""
        return self._solved(-self.reward, self.paid, limits, watch)

    def least_excess(self, limits: FloatArray, watch: Watch) -> FloatArray:
        """Return weights (k,) of the costs, with the sum 1, by which the limits are missed by the most."""
        # Minimise e, so that C x <= d + e: the multipliers of these limits are the weights.
        extra = np.append(np.zeros(self.pairs.size), 1.0)
        _, weights = self._solved(extra, np.hstack([self.paid, -np.ones((len(limits), 1))]), limits, watch, free=True)
        return weights / weights.sum() if weights.sum() > 0.0 else np.full(len(limits), 1.0 / len(limits))

    def _solved(
        self, minimised: FloatArray, paid: FloatArray, limits: FloatArray, watch: Watch, *, free: bool = False
    ) -> tuple[FloatArray | None, FloatArray]:
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        size = np.abs(paid).max(axis=1, initial=0.0)
        size = np.where(size > 0.0, size, 1.0)
        flow: Any = hstack([self.flow, csr_array((self.states.size, 1))]) if free else self.flow
        bounds: Any = [(0, None)] * self.pairs.size + ([(None, None)] if free else [])
        options = {} if watch.deadline is None else {"time_limit": max(watch.left, 1e-3)}
        program: Any = linprog
        found = program(
            minimised,
            A_ub=paid / size[:, np.newaxis],
            b_ub=limits / size,
            A_eq=flow,
            b_eq=self.mdp.start[self.states],
            bounds=bounds,
            method="highs",
            options=options,
        )
        if found.status == 3:
            raise ModelError(
                "gamma=1, and some policy earns for ever: its total reward is infinite; use gamma=0.99 (say), or let "
                "every step cost something"
            )
        if found.x is None or found.status not in (0, 1):
            return None, np.zeros(len(limits))
        visits: FloatArray = np.zeros(self.mdp.n_states * self.mdp.n_actions)
        visits[self.pairs] = np.maximum(found.x[: self.pairs.size], 0.0)
        multipliers = np.maximum(-np.asarray(found.ineqlin.marginals, dtype=np.float64), 0.0) / size
        return visits.reshape(self.mdp.n_states, -1), multipliers

    def at_start(self, policy: FloatArray, reward: FloatArray) -> tuple[float, float]:
        """Return the expected sum of rewards (S, A) from the start, and a bound on its error.

        If the computed value misses its equation by e(s), the mean at the start is wrong by the sum of x(s) e(s), where
        x(s) is how often the policy acts in s.
        """
        model = self.mdp.replace(reward=reward, reward_std=None, bernoulli=None)
        value = np.nan_to_num(evaluate_policy(model, policy))
        visits = occupancy(self.mdp, policy).sum(axis=1)
        prepared = Lookahead(model)
        chain, paid = induced(prepared, policy)
        left_over = np.abs(paid + self.mdp.gamma * (chain @ value) - value) + prepared.rounding(value)
        begins = self.mdp.start > 0.0
        error = weighted_sum(visits, left_over) + 1e-15 * float(np.abs(value[begins]).max())
        return weighted_sum(self.mdp.start, value), error * (1.0 + 1e-6)

    def excess(self, policy: FloatArray, limits: FloatArray) -> FloatArray:
        """Return by how much each cost (k,) may exceed its limit, rounding included."""
        found = [self.at_start(policy, cost) for cost in self.cost]
        return np.array([cost + error - limit for (cost, error), limit in zip(found, limits, strict=True)])

    def weighted(self, multipliers: FloatArray) -> MDP:
        """Return the model with the rewards r - w C."""
        reward = self.mdp.expected_reward().reshape(self.mdp.n_states, -1) - np.tensordot(
            multipliers, self.cost, axes=1
        )
        return self.mdp.replace(reward=np.where(self.mdp.legal, reward, 0.0), reward_std=None, bernoulli=None)


def _evaluated(
    program: _Program, visits: FloatArray, multipliers: FloatArray, most: FloatArray, watch: Watch
) -> ConstrainedSolution:
    """Return the policy of a solution of the program, with what it is worth and costs."""
    mdp = program.mdp
    relaxed = _solved(program.weighted(multipliers), watch)
    # Where the policy never comes, it is the best one for the rewards r - w C.
    policy: FloatArray = np.zeros((mdp.n_states, mdp.n_actions))
    acting = np.flatnonzero(relaxed.policy >= 0)
    policy[acting, relaxed.policy[acting]] = 1.0
    total = visits.sum(axis=1)
    visited = total > 1e-12 * max(1.0, float(total.max(initial=0.0)))
    policy[visited] = visits[visited] / total[visited, np.newaxis]
    policy[policy < 1e-12] = 0.0
    policy[acting] /= policy[acting].sum(axis=1, keepdims=True)
    value, error = program.at_start(policy, mdp.expected_reward().reshape(mdp.n_states, -1))
    costs = np.array([program.at_start(policy, cost)[0] for cost in program.cost])
    upper = relaxed.value_at_start + relaxed.error_bound + float(multipliers @ most)
    upper += 4.0 * float(np.finfo(np.float64).eps) * (abs(upper) + float(multipliers @ np.abs(most)))
    violation = float(program.excess(policy, most).max())
    lost = max(0.0, upper - value + error)
    watch.size = abs(value)
    return ConstrainedSolution(
        policy=policy,
        value_at_start=value,
        upper_bound=upper,
        error_bound=lost,
        costs=costs,
        limits=most.copy(),
        violation=violation,
        multipliers=multipliers,
        random_states=np.flatnonzero((policy > 0.0).sum(axis=1) > 1),
        converged=lost <= watch.tol and violation <= watch.tol,
        iterations=watch.iterations,
        seconds=watch.seconds,
        lookahead=program.lookahead,
    )


def _solved(mdp: MDP, watch: Watch) -> Solution:
    """Solve a model without limits, a little more accurately than is asked for, in the time that is left."""
    deadline = None if watch.deadline is None else max(watch.left, 1e-3)
    return auto(mdp, tol=watch.absolute / 4.0, rtol=0.0, deadline=deadline)


def _infeasible(program: _Program, most: FloatArray, watch: Watch) -> str:
    """Say in words why no policy is within the limits, after proving it."""
    weights = program.least_excess(most, watch)
    mdp = program.mdp
    cost = np.tensordot(weights, program.cost, axes=1)
    cheapest = _solved(mdp.replace(reward=-cost, reward_std=None, bernoulli=None), watch)
    least = -cheapest.value_at_start - cheapest.error_bound
    allowed = float(weights @ most)
    if least <= allowed:
        return (
            "HiGHS finds no policy within the limits, but that could not be proved: they may be met exactly, and by "
            "nothing but rounding; allow a little more"
        )
    if len(most) == 1:
        return (
            f"no policy is within the limit: the least cost at the start is {least:.6g}, and {most[0]:.6g} is allowed"
        )
    shares = " + ".join(f"{w:.3g} of cost {i}" for i, w in enumerate(weights) if w > 0.0)
    return (
        f"no policy is within all limits: of {shares}, the least at the start is {least:.6g}, and the limits allow "
        f"{allowed:.6g} of it"
    )
