"""From a vector of values to a solution with a bound on its error.

Let V be any vector and pi a policy with T_pi V = TV, and let every entry of TV - V lie in [least, greatest]. Then,
since V_pi - TV = gamma C_pi (I - gamma C_pi)^-1 (TV - V), and V* - TV is bounded by the same from above,

    TV + lower <= V_pi <= V* <= TV + upper,    lower = m(least), upper = m(greatest),

where m(x) = beta / (1 - beta) x with the largest beta = gamma sum_s' c(s' | s, a) if x makes the interval wider that
way, that is for x < 0 in the lower and x > 0 in the upper bound, and the smallest beta otherwise (MacQueen 1966 and
Porteus 1971; P94 section 6.6.2, where all row sums are 1). So upper - lower bounds both the distance of any value in
between from V*, and the loss of the policy. Where nothing ends, a change that is the same everywhere makes it zero.

The arithmetic is not exact: every entry of TV is computed with an error of at most delta (`Lookahead.rounding`), and
the policy is greedy up to a tie of 2 delta. So `least` is lowered by 4 delta and `greatest` raised by delta first, and
the interval is widened by delta.

The bound does not depend on how V was found, so it holds for every method.
"""

import warnings
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError, level_of_the_caller
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.kernels import Range
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.residuals import LARGEST, precise_backup, rounding_of_residuals
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

Kind = TypeVar("Kind", bound=Solution)

LARGEST_VALUE = 1e300
OF_ROUNDING = 0.02
"""If rounding makes more than a tenth of the distance between the bounds, it is computed to twice the precision."""

LEAST_MARGIN = 1e-10
"""How far below 1 the modulus must lie; double precision gives a relative error of about 1e-16 / (1 - beta)."""

FOR_MDPS = (
    "Pass gamma=0.99 (say), solve for a finite horizon, say by method='backward_induction', horizon=100, or, if "
    "episodes come to an end, for the total reward: method='stochastic_shortest_path'."
)
FOR_POMDPS = (
    "Pass gamma=0.99 (say), or solve for a finite horizon: method='incremental_pruning', horizon=10 (say), or, if "
    "episodes come to an end, take method='goal_hsvi'."
)


class Contraction(Protocol):
    """What the bounds need from an operator; `Lookahead` and the operator of a single policy both have it."""

    modulus: float
    """beta, rounded up"""
    least_modulus: float
    """the smallest gamma sum_s' c(s' | s, a), rounded down"""


class Interval(NamedTuple):
    """Bounds between which V* - TV and V_pi - TV lie in every state."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The largest possible distance between V* and the value of the policy."""
        return self.upper - self.lower

    @property
    def shift(self) -> float:
        """What to add to TV: 0 if V* may lie on either side of it, else the midpoint of the interval."""
        return 0.0 if self.lower <= 0.0 <= self.upper else (self.lower + self.upper) / 2.0

    @property
    def certain(self) -> float:
        """The least amount by which V* differs from TV in every state; negative if V* is smaller."""
        return max(0.0, self.lower) + min(0.0, self.upper)


def interval(operator: Contraction, changes: list[Range], rounding: float) -> Interval:
    """Return the bounds on V* - TV and V_pi - TV that the module's docstring derives.

    Parameters
    ----------
    operator : Contraction
        The model, prepared; or one policy of it.
    changes : list of (float, float)
        Least and greatest computed TV - V in each block of states that are not terminal.
    rounding : float
        delta.
    """
    least = min(change[0] for change in changes)
    greatest = max(change[1] for change in changes)
    if least > greatest:  # every state is terminal: TV depends on the rewards only
        return Interval(-4.0 * rounding, rounding)
    least -= 4.0 * rounding
    greatest += rounding
    lower = _carried_on(least, operator.modulus if least < 0.0 else operator.least_modulus)
    upper = _carried_on(greatest, operator.modulus if greatest > 0.0 else operator.least_modulus)
    # The last factors cover the rounding of these lines.
    return Interval(
        lower - rounding - 16.0 * EPS * abs(lower),
        upper + rounding + 16.0 * EPS * abs(upper),
    )


def _carried_on(change: float, modulus: float) -> float:
    return modulus / (1.0 - modulus) * change


def largest_change(changes: list[Range]) -> float:
    """Return the largest absolute change of a sweep, 0 if nothing could change."""
    return max(0.0, -min(change[0] for change in changes), max(change[1] for change in changes))


def certified(lookahead: Lookahead, value: FloatArray, watch: Watch) -> Solution:
    """Back `value` up once more and return the result with its error bound.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    value : ndarray (S,) float64
        What the method found.
    watch : Watch
        The clock and counter of the method.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds the tolerance.
    """
    solution = bounded(lookahead, value, watch)
    warn_unless_converged(solution, watch)
    return solution


def width(lookahead: Lookahead, value: FloatArray) -> float:
    """Return the distance between the bounds after one backup of `value` (S,), which is 0 at terminal states."""
    backed_up: FloatArray = np.empty(lookahead.n_states)
    action: StateArray = np.empty(lookahead.n_states, dtype=np.int32)
    changes = lookahead.back_up(value, backed_up, action)
    return interval(lookahead, changes, lookahead.rounding(value)).width


def closer(lookahead: Lookahead, value: FloatArray, other: FloatArray) -> FloatArray:
    """Return the one of two values (S,) whose bounds are closer; `value` if both are alike."""
    return min(value, other, key=lambda one: width(lookahead, lookahead.ahead(one)))


def bounded(lookahead: Lookahead, value: FloatArray, watch: Watch) -> Solution:
    """Return what `certified` returns, without a warning: for methods that continue if the bound is too wide."""
    ahead = lookahead.ahead(value)
    rounding = lookahead.rounding(ahead)
    result: FloatArray = np.empty(lookahead.n_states)
    policy: IndexArray = np.empty(lookahead.n_states, dtype=np.int64)
    changes = lookahead.back_up_greedily(ahead, 2.0 * rounding, result, policy)
    bounds = interval(lookahead, changes, rounding)
    if rounding > OF_ROUNDING * (1.0 - lookahead.modulus) * bounds.width and lookahead.largest_value < LARGEST:
        bounds = _precise(lookahead, ahead, rounding, result, policy)
    if bounds.shift != 0.0:
        np.add(result, bounds.shift, out=result, where=policy >= 0)
    distance = bounds.width / 2.0 if bounds.shift != 0.0 else max(-bounds.lower, bounds.upper)
    # The second term bounds the error of q = Q(value).
    bound = max(bounds.width, lookahead.modulus * distance + lookahead.rounding(result)) * (1.0 + 4.0 * EPS)
    watch.record(bound)
    watch.measure(result)
    return noted(Solution, watch, bound, value=result, policy=policy, lookahead=lookahead)


def _precise(
    lookahead: Lookahead, ahead: FloatArray, rounding: float, result: FloatArray, policy: IndexArray
) -> Interval:
    """Fill TV and a policy from residuals of twice the precision, and return the bounds that are left then.

    V_pi - T_pi V and V* - TV lie in m(least) and m(greatest), as in the docstring of the module, and T_pi V is below TV
    by at most a gap. The entries of TV are rounded when they are stored.
    """
    largest = float(max(ahead.max(initial=0.0), -ahead.min(initial=0.0)))
    arguments = (lookahead.rows, lookahead.q(ahead), ahead, 2.0 * rounding, 4.0 * EPS * largest, result, policy)
    least, greatest, size, gap = zip(*on_blocks(precise_backup, lookahead.blocks, *arguments), strict=True)
    off = rounding_of_residuals(lookahead, ahead, max(size))
    stored = 2.0 * EPS * float(max(result.max(initial=0.0), -result.min(initial=0.0))) + off
    if min(least) > max(greatest):
        return Interval(-stored, stored)
    below, above = min(least) - off, max(greatest) + off
    lower = _carried_on(below, lookahead.modulus if below < 0.0 else lookahead.least_modulus)
    upper = _carried_on(above, lookahead.modulus if above > 0.0 else lookahead.least_modulus)
    return Interval(
        lower - max(gap) - 2.0 * off - stored - 16.0 * EPS * abs(lower),
        upper + stored + 16.0 * EPS * abs(upper),
    )


def noted(kind: type[Kind], watch: Watch, bound: float, **found: Any) -> Kind:
    """Return what was found, with a bound on its error, as a solution that holds what its watch has noted."""
    return kind(
        converged=bound <= watch.tol and bound < np.inf,
        error_bound=bound,
        iterations=watch.iterations,
        seconds=watch.seconds,
        method=watch.method,
        trace=watch.trace,
        **found,
    )


def finished(kind: type[Kind], watch: Watch, bound: float, **found: Any) -> Kind:
    """Return the same, after a warning if the bound exceeds the tolerance."""
    solution = noted(kind, watch, bound, **found)
    warn_unless_converged(solution, watch)
    return solution


def warn_unless_converged(solution: Solution, watch: Watch) -> None:
    """Issue a `ConvergenceWarning` if the error bound of `solution` exceeds the tolerance, and say why it stopped."""
    if not solution.converged:
        warn_not_converged(
            f"{solution.method} stopped after {solution.iterations} iterations with an error bound of "
            f"{solution.error_bound:.3g}, more than {watch.asked}{watch.stopped and f': {watch.stopped}'}"
        )


def warn_not_converged(message: str) -> None:
    """Issue a `ConvergenceWarning` that points at the line outside rlsuite which asked for the result."""
    warnings.warn(message, ConvergenceWarning, stacklevel=level_of_the_caller())


def discounted(model: MDP | Lookahead, method: str, remedy: str = FOR_MDPS) -> Lookahead:
    """Prepare the model, unless that has been done, and check that its values are finite and can be computed.

    Raises
    ------
    ParameterError
        If gamma is 1, or so close to 1 that nothing can be certified.
    ModelError
        If the rewards are so large that values overflow.
    """
    mdp = model.mdp if isinstance(model, Lookahead) else model
    if mdp.gamma == 1.0:
        raise ParameterError(
            f"{method} needs gamma < 1, and gamma is 1: without discounting, values may be infinite. {remedy}"
        )
    lookahead = model if isinstance(model, Lookahead) else Lookahead(mdp)
    contracting(lookahead)
    return lookahead


def contracting(lookahead: Lookahead) -> None:
    """Raise `ParameterError` if the Bellman operator hardly contracts, `ModelError` if its values overflow."""
    margin = 1.0 - lookahead.modulus
    if margin < LEAST_MARGIN:
        raise ParameterError(
            f"gamma={lookahead.mdp.gamma!r} is too close to 1 for double precision: gamma times the largest row sum of "
            f"the transitions that do not end the episode is {lookahead.modulus!r}, and must be at least "
            f"{LEAST_MARGIN:g} below 1; use a smaller gamma"
        )
    representable(lookahead, 1.0 / margin)


def representable(lookahead: Lookahead, steps: float) -> None:
    """Raise `ModelError` if `steps` times the largest reward is beyond double precision."""
    if not lookahead.reward_size * steps <= LARGEST_VALUE:
        raise ModelError(
            f"rewards up to {lookahead.reward_size:g} over {steps:g} steps make values that overflow; "
            "scale the rewards down"
        )
