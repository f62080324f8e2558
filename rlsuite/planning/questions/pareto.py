"""What can be had of two rewards at once: the Pareto front of deterministic policies and their mixtures.

The expected sums of two rewards that policies attain from the start are a convex polygon (Altman 1999, chapter 3). The
best one for the weights (w, 1 - w) is a corner of its upper right border, the front. Between two corners there is a
further one if and only if some policy is better than both for the weights that make the two equal; so the corners are
found by solving a model for each of them, and one for each edge (Aneja & Nair 1979). Policies between two corners are
mixtures of these: one of the two is drawn at the start, and followed.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.core.checks import whole_amount
from rlsuite.core.shown import ShowsItself
from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.mdp.auto import auto
from rlsuite.planning.mdp.policy_evaluation import evaluate_policy
from rlsuite.planning.questions.until import Sum, paid_by
from rlsuite.planning.watch import Watch


@dataclass(frozen=True, eq=False)
class ParetoFront(ShowsItself):
    """The front of two rewards.

    Attributes
    ----------
    points : ndarray (n, 2) float64
        What each corner is worth at the start, in both rewards; from the best in the second to the best in the first.
    policies : ndarray (n, S) int64
        A policy for each corner.
    weights : ndarray (n,) float64
        A weight w of the first reward for which the corner is the best for w r_1 + (1 - w) r_2.
    names : tuple of str
        Names of the two rewards, for figures.
    error_bound : float
        No policy is worth more than some point of the front plus this, in the weighted sum that sets it apart.
    converged : bool
        Whether that is within the tolerance.
    seconds : float
        Wall-clock time taken.
    """

    points: FloatArray
    policies: IndexArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    names: tuple[str, str]
    error_bound: float
    converged: bool
    seconds: float = field(repr=False)

    def mixture(self, first_at_least: float) -> tuple[int, int, float]:
        """Return two corners and the probability of the second one, so that the first reward is as given on average.

        Parameters
        ----------
        first_at_least : float
            What the first reward has to be worth at the start.

        Returns
        -------
        tuple of int, int, float
            Draw the second corner's policy with this probability at the start, the first one's otherwise.

        Raises
        ------
        ParameterError
            If no policy has so much of the first reward.
        """
        x = self.points[:, 0]
        if first_at_least > x[-1]:
            raise ParameterError(f"first_at_least={first_at_least:g} is more than the largest, {x[-1]:g}")
        if first_at_least <= x[0]:
            return 0, 0, 0.0
        after = int(np.searchsorted(x, first_at_least))
        return after - 1, after, float((first_at_least - x[after - 1]) / (x[after] - x[after - 1]))


class _Corner(NamedTuple):
    weight: float
    policy: IndexArray
    point: FloatArray


@takes_limits()
def pareto(
    mdp: MDP,
    rewards: tuple[Sum, Sum],
    *,
    names: tuple[str, str] = ("first", "second"),
    gamma: float | None = None,
    most_points: int = 200,
    **limits: Unpack[TimeLimits],
) -> ParetoFront:
    """Find what can be had of two rewards at once, from the start.

    Parameters
    ----------
    mdp : MDP
        The model. Both rewards are discounted by its gamma.
    rewards : tuple of two
        Each "reward" for that of the model, "steps" for 1 in each step, or array_like (S, A) or (S,). Costs are
        rewards with the opposite sign.
    names : tuple of two str
        What they are called in figures.
    gamma : float, optional
        Discount factor to use instead of the model's.
    most_points : int
        Most corners; there may be very many. If some are left out, `error_bound` says what that loses.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    ParetoFront

    Raises
    ------
    ParameterError
        If there are not two rewards, or an option is out of range.
    ModelError
        As for `rlsuite.planning.solve`.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    Fast earns 10 and wears out 5, slow earns 4 and wears out 1; or the machine rests:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import pareto
    >>> mdp = MDP.from_successors([[0, 0, 0]], [[10, 4, 0]], gamma=0.9)
    >>> front = pareto(mdp, ("reward", [[-5, -1, 0]]))
    >>> (front.points + 0.0).round(6).tolist(), front.policies.tolist()
    ([[0.0, 0.0], [40.0, -10.0], [100.0, -50.0]], [[2], [1], [0]])
    """
    try:
        first, second = rewards
    except (TypeError, ValueError) as cause:
        raise ParameterError(f"rewards={rewards!r} are not two; write rewards=('reward', costs)") from cause
    if gamma is not None:
        mdp = mdp.replace(gamma=gamma)
    most_points = whole_amount("most_points", most_points, at_least=2)
    watch = Watch("pareto", **limits)
    paid = np.stack([paid_by(mdp, first), paid_by(mdp, second)])
    size = np.maximum(np.abs(paid).max(axis=(1, 2)), 1e-300)
    lost = 0.0

    def best(weight: float) -> tuple[_Corner, float]:
        """Return a best corner for a weight, and an upper bound on the weighted sum of all policies."""
        combined = mdp.replace(reward=weight * paid[0] + (1.0 - weight) * paid[1], reward_std=None, bernoulli=None)
        deadline = None if watch.deadline is None else max(watch.left, 1e-3)
        found = auto(combined, tol=watch.absolute / 4.0, rtol=0.0, deadline=deadline)
        values = [evaluate_policy(mdp.replace(reward=r, reward_std=None, bernoulli=None), found.policy) for r in paid]
        point = np.array([weighted_sum(mdp.start, value) for value in values])
        return _Corner(weight, found.policy, point), found.value_at_start + found.error_bound

    with watch:
        # For a weight of 1 alone the second reward would not matter: almost 1, for the best of those.
        ends = [best(weight)[0] for weight in _almost(size)]
        corners = [ends[0]]
        waiting = [(ends[0], ends[1])]
        while waiting:
            left, right = waiting.pop()
            gain = right.point[0] - left.point[0]
            drop = left.point[1] - right.point[1]
            between: _Corner | None = None
            if gain > 0.0 and drop > 0.0:
                weight = drop / (gain + drop)
                found, upper = best(weight)
                level = weight * left.point[0] + (1.0 - weight) * left.point[1]
                more = weight * found.point[0] + (1.0 - weight) * found.point[1] - level
                if more > watch.absolute / 2.0 and len(corners) + len(waiting) < most_points - 1 and not watch.hurries:
                    between = found
                else:
                    lost = max(lost, upper - level)
            if between is not None:
                waiting += [(between, right), (left, between)]
            else:
                corners.append(right)
    kept = _front(corners)
    points = np.array([corner.point for corner in kept])
    watch.size = float(np.abs(points).max())
    converged = lost <= watch.tol
    if not converged:
        warn_not_converged(
            f"pareto: {len(kept)} corners leave out what is worth up to {lost:.3g} more; raise most_points"
        )
    return ParetoFront(
        points=points,
        policies=np.array([corner.policy for corner in kept]),
        weights=np.array([corner.weight for corner in kept]),
        names=(str(names[0]), str(names[1])),
        error_bound=lost,
        converged=converged,
        seconds=watch.seconds,
    )


def _almost(size: FloatArray) -> tuple[float, float]:
    """Return weights for which one reward decides, and the other only between equals."""
    small = 1e-9
    return small * size[1] / (small * size[1] + size[0]), size[1] / (size[1] + small * size[0])


def _front(corners: list[_Corner]) -> list[_Corner]:
    """Leave out corners that another one is as good as in both rewards."""
    kept: list[_Corner] = []
    for corner in sorted(corners, key=lambda each: (each.point[0], each.point[1])):
        while kept and kept[-1].point[1] <= corner.point[1]:
            kept.pop()
        kept.append(corner)
    return kept
