"""Value iteration on the discretised belief MDP, with the bound that interpolation gives. Lovejoy 1991.

The optimal value is convex in the belief (`rlsuite.planning.pomdp.solution`), so its interpolation between grid points
lies above it; a backup of something above it does too, and so the fixed point of the discretised problem is an upper
bound, everywhere. Replacing a belief by the nearest grid point gives no one-sided bound, but a two-sided one: values
change by at most K = (largest - smallest return) / 2 per unit of the sum of absolute differences, so one at most delta
away is wrong by K delta in each step.

The lower bound is that of the plans which are the best in the grid beliefs (`Projection.at_points`).
"""

import math
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np

from rlsuite.core.checks import whole_amount, whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import BeliefLike, BoolArray, FloatArray, IndexArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.kept import labels
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.mdp.backward_induction import backward_induction
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.bounds.discretisation import GridMDP, Interpolation, discretised
from rlsuite.planning.pomdp.bounds.linear_bounds import Bounds, endless_bounds
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.solution import SAME, BeliefPlan, beliefs_by_state, first_of_best, values_at
from rlsuite.planning.watch import Watch, shares_the_deadline_of

MOST_POINTS = 256
"""Grid beliefs for which the lower bound makes plans."""
MOST_SWEEPS = 200
"""Number of times that it improves them."""
SMALL_CHANGE = 1e-4
"""Relative change, times 1 - beta, at which they are good enough."""


def lower_bound(
    projection: Projection, cells: GridMDP, bounds: Bounds | None, horizon: int | None, watch: Watch
) -> float:
    """Return the value at the start of the best plans for some of the grid points."""
    start = projection.pomdp.start[np.newaxis]
    legal = projection.pomdp.mdp.legal
    stuck = np.asarray(((cells.beliefs > 0.0) @ ~legal).all(axis=1))
    points = cells.beliefs[~stuck]
    points = np.concatenate([start, points[:: 1 + len(points) // MOST_POINTS]])
    if bounds is None:
        vectors = np.zeros((1, projection.pomdp.n_states))
        rounding = 0.0
        for _ in range(horizon or 0):
            rounding = projection.pomdp.gamma * rounding + projection.rounding(vectors)
            vectors, _ = projection.at_points(vectors, points)
        return float(values_at(vectors, start).max()) - rounding
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        return bounds.at(start[0])[0]
    vectors = bounds.lower
    vectors[:, ~legal.any(axis=1)] = 0.0
    values = values_at(vectors, points).max(axis=1)
    modulus = projection.lookahead.modulus
    for _ in range(MOST_SWEEPS):
        vectors = np.concatenate([vectors, projection.at_points(vectors, points)[0]])
        promised = values_at(vectors, points)
        vectors = vectors[np.unique(first_of_best(promised, projection.rounding(vectors)))]
        before, values = values, promised.max(axis=1)
        enough = min(1e-3 * watch.tol, SMALL_CHANGE * float(np.abs(values).max())) * (1.0 - modulus)
        if np.max(values - before) <= enough or watch.hurries:
            break
    return float(values[0]) - projection.rounding(vectors) / (1.0 - modulus)


def upper_bound(projection: Projection, bounds: Bounds | None, horizon: int | None) -> float:
    """Return the fast informed bound at the start."""
    if bounds is not None:
        return bounds.at(projection.pomdp.start)[1]
    above = np.zeros((1, projection.pomdp.n_states))
    for _ in range(horizon or 0):
        above = projection.informed(above) + projection.rounding(above)
    return float(values_at(above, projection.pomdp.start[np.newaxis]).max())


def _steps(projection: Projection, horizon: int | None) -> float:
    """Return the discounted number of steps."""
    if horizon is None:
        return 1.0 / (1.0 - projection.lookahead.modulus)
    return float((projection.pomdp.gamma ** np.arange(horizon)).sum())


def allowance(projection: Projection, horizon: int | None) -> float:
    """Return a bound on the effect of rounding in the probabilities and rewards of the grid."""
    roundings = 4 * projection.pomdp.n_states + 2 * projection.pomdp.n_observations + 8
    return roundings * EPS * projection.lookahead.reward_size * _steps(projection, horizon) ** 2


def misplaced(projection: Projection, cells: GridMDP, at_start: float, horizon: int | None) -> float:
    """Return a bound on the error of replacing beliefs by the nearest grid point."""
    legal = projection.pomdp.mdp.legal
    if not (legal.all(axis=1) | ~legal.any(axis=1)).all():
        return math.inf  # values jump where an action becomes illegal
    rewards = projection.reward[:, legal.any(axis=1)]
    steps = _steps(projection, horizon)
    # an episode that has ended earns 0 in each step
    spread = max(float(rewards.max()), 0.0) - min(float(rewards.min()), 0.0)
    if not projection.pomdp.mdp.terminated.any():
        spread = float(rewards.max() - rewards.min())
    per_distance = spread * steps / 2.0
    return per_distance * (at_start + projection.pomdp.gamma * cells.distance * steps)


SHORTEST = 1e-3
"""Seconds that are left for a part of the work when the deadline has passed."""


@dataclass(frozen=True, eq=False, repr=False)
class GridSolution(BeliefPlan):
    """The solution of `belief_grid`: values at the points of a grid, and between them.

    It has the attributes of `BeliefPlan`, and:

    Attributes
    ----------
    pomdp : POMDP
        The model.
    cells : GridMDP
        The belief MDP on the grid, with the grid points as ``cells.beliefs``.
    values : ndarray (H + 1, n) float64, or (1, n) without a horizon
        The value of each grid point; row t is that after t steps.
    policies : ndarray (H, n) int64, or (1, n) without a horizon
        The best action of each grid point, -1 where none is legal.
    """

    pomdp: POMDP = field(repr=False)
    cells: GridMDP = field(repr=False)
    values: FloatArray = field(repr=False)
    policies: IndexArray = field(repr=False)

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        self.policies.setflags(write=False)

    def columns(self) -> dict[str, list[object]]:
        """Return the table: each point of the grid, its value and its action, by title."""
        pomdp = self.pomdp
        actions = [*labels(pomdp.action_labels, pomdp.n_actions), ""]
        return {
            **beliefs_by_state(pomdp, self.cells.beliefs),
            "value": self.values[0].tolist(),
            "action": [actions[a] for a in self.policies[0].tolist()],
        }

    def value(self, belief: BeliefLike, steps_left: int | None = None) -> float:
        """Return the value of a belief: the interpolation, which is an upper bound, or that of the nearest grid point.

        Parameters
        ----------
        belief : array_like (S,)
            Any distribution over the states that an episode can be in while it continues.
        steps_left : int, optional
            For a plan with a horizon: how many steps are still to come; all of them by default. To be left out if the
            plan has no horizon.

        Raises
        ------
        ParameterError
            If `belief` is not such a distribution, or `steps_left` is out of range.
        """
        row = self.values[self._row(steps_left)]
        return float(self._interpolated(row, self._checked(belief)[np.newaxis])[0])

    def act(self, belief: BeliefLike, steps_left: int | None = None) -> int:
        """Return the action that is best one step ahead of the values; arguments and errors as in `value`.

        Raises
        ------
        ParameterError
            Also if no step is left, or no action is legal in every state of the belief's support.
        """
        b = self._checked(belief)
        after = self._row(steps_left) + (self.horizon is not None)
        if after >= len(self.values):
            raise ParameterError("steps_left=0: the plan is at its end, and no action is left")
        legal = np.asarray(self.pomdp.mdp.legal[b > 0.0].all(axis=0))
        if not legal.any():
            raise ParameterError(
                f"no action is legal in every state of the belief's support: {np.flatnonzero(b).tolist()}"
            )
        reward = b @ self.pomdp.mdp.expected_reward()
        q = np.full(self.pomdp.n_actions, -np.inf)
        for a in np.flatnonzero(legal).tolist():
            joint = np.stack([self.pomdp.joint(b, a, z) for z in range(self.pomdp.n_observations)])
            total = joint.sum(axis=1)
            seen: BoolArray = total > 0.0
            follows = joint[seen] / total[seen, np.newaxis]
            ahead = float(total[seen] @ self._interpolated(self.values[after], follows))
            q[a] = reward[a] + self.pomdp.gamma * ahead
        tie = SAME * float(np.abs(reward[legal]).max() + self.pomdp.gamma * np.abs(self.values[after]).max())
        return int(first_of_best(q[np.newaxis], tie)[0])  # the same among equal ones on every processor

    def _interpolated(self, values: FloatArray, beliefs: FloatArray) -> FloatArray:
        numbers, weights = self.cells.grid.made_of(beliefs, self.cells.interpolation)
        return (weights * values[numbers]).sum(axis=1)

    def _checked(self, belief: BeliefLike) -> FloatArray:
        b = validation.belief(belief, self.pomdp.n_states, self.pomdp.state_labels)
        over = (b > 0.0) & ~self.cells.grid.states
        if over.any():
            raise ParameterError(
                f"no running episode can be in state {int(np.argmax(over))}, which is in the belief's support; "
                "give it probability 0"
            )
        return b

    def _row(self, steps_left: int | None) -> int:
        if self.horizon is None:
            if steps_left is not None:
                raise ParameterError("this plan has no horizon: leave steps_left out")
            return 0
        left = self.horizon if steps_left is None else whole_number("steps_left", steps_left, at_least=0)
        if left > self.horizon:
            raise ParameterError(f"steps_left={steps_left} is more than the {self.horizon} steps of this plan")
        return self.horizon - left


@takes_limits()
def belief_grid(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    resolution: int = 10,
    interpolation: Interpolation = "freudenthal",
    max_beliefs: int = 100_000,
    **limits: Unpack[TimeLimitsOfBounds],
) -> GridSolution:
    """Solve a POMDP approximately, as an MDP over a regular grid of beliefs.

    The route of the lecture notes. The number of grid points grows with the power S - 1 of the resolution, which is
    what ends it: two to six states are its size.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    resolution : int
        M: the entries of grid beliefs are multiples of 1 / M.
    interpolation : {"freudenthal", "nearest"}
        How other beliefs are made of them; see `rlsuite.planning.pomdp.bounds.discretisation`.
    max_beliefs : int
        How many grid points there may be.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`. How close the bounds can be depends
        on the resolution. There is an answer once the grid is built, and with a horizon after the last step: a deadline
        that leaves no time for these is an error.

    Returns
    -------
    GridSolution
        ``iterations`` are those of the planner on the grid. Its bounds allow for rounding.

    Raises
    ------
    ParameterError
        If there are too many beliefs, the deadline is too short for them, gamma is 1 without a horizon, or an argument
        is out of range.
    ModelError
        If values overflow, or a grid point leads to a belief in which no action is legal in every state of its support.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import belief_grid
    >>> stay, again = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [stay, again, again], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], again, again],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5],
    ... )
    >>> plan = belief_grid(tiger, resolution=30, tol=10)  # the optimum is 19.3714
    >>> round(plan.lower_bound, 2), round(plan.upper_bound, 2), plan.act([0.5, 0.5])
    (19.37, 19.52, 0)
    """
    watch = Watch("belief_grid", **limits)
    if horizon is not None:
        horizon = whole_amount("horizon", horizon)
    with watch:
        bounds = None
        if horizon is None:
            bounds = endless_bounds(PreparedModel(pomdp, "belief_grid without a horizon"), watch)
        with shares_the_deadline_of(watch):
            cells = discretised(
                pomdp,
                resolution=resolution,
                interpolation=interpolation,
                max_beliefs=max_beliefs,
                deadline=max(watch.left, SHORTEST),
            )
            left = max(watch.left, SHORTEST)
            if horizon is None:
                found = policy_iteration(cells.mdp, tol=math.inf, deadline=left)
                values, policies = found.value[np.newaxis], found.policy[np.newaxis]
            else:
                found = backward_induction(cells.mdp, horizon=horizon, tol=math.inf, deadline=left)
                values, policies = found.values, found.policies
        projection = Projection(pomdp)
        start = pomdp.start[np.newaxis]
        numbers, weights = cells.grid.made_of(start, interpolation)
        value = float((weights * values[0][numbers]).sum())
        error = found.error_bound + allowance(projection, horizon)
        upper, lower = value + error, lower_bound(projection, cells, bounds, horizon, watch)
        if interpolation == "nearest":
            error += misplaced(projection, cells, float(np.abs(cells.beliefs[numbers[0, 0]] - start).sum()), horizon)
            upper, lower = value + error, max(lower, value - error)
        upper = min(upper, upper_bound(projection, bounds, horizon))
    watch.between(lower, upper)
    solution = GridSolution(
        lower_bound=lower,
        upper_bound=upper,
        converged=upper - lower <= watch.tol,
        horizon=horizon,
        iterations=found.iterations,
        seconds=watch.seconds,
        method="belief_grid",
        pomdp=pomdp,
        cells=cells,
        values=values,
        policies=policies,
    )
    if not solution.converged:
        warn_not_converged(
            f"belief_grid returned bounds that are {solution.gap:.3g} apart, more than {watch.asked}; "
            f"pass a resolution above {resolution}"
        )
    return solution
