"""The value of a given policy by sweeps, for models too large for a linear system. S&B2 (4.5), P94 section 6.3.

Following a policy is a model with one action per state, whose rows are those of the actions taken, weighted with their
probabilities. T_pi contracts like the Bellman operator, so the same interval bounds V_pi (P94 section 6.6.2): with
every entry of T_pi V - V in [least, greatest], V_pi lies between T_pi V + m(least) and T_pi V + m(greatest), where m is
that of `rlsuite.planning.certificate`.

In plain NumPy: `rlsuite.reference.mdp.iterative_policy_evaluation`.
"""

from dataclasses import dataclass, field
from typing import Unpack, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray
from rlsuite.models.policies import policy_weights
from rlsuite.planning.certificate import Interval, discounted, interval, largest_change, warn_not_converged
from rlsuite.planning.kernels import Range
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.mdp.policy_evaluation import induced
from rlsuite.planning.operators import EPS, TINY, Lookahead, starting_value
from rlsuite.planning.watch import Trace, Watch


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """The value of a policy, with its certificate.

    Attributes
    ----------
    value : ndarray (S,) float64
        Expected discounted return of following the policy from each state, within `error_bound`; 0 where no action is
        legal. In the unit of the reward.
    converged : bool
        Whether `error_bound` is at most the tolerance that was asked for.
    error_bound : float
        An upper bound on the error of `value` in every state, rounding included.
    iterations : int
        Number of sweeps.
    seconds : float
        Wall-clock time taken.
    trace : Trace
        How the error bound fell.
    """

    value: FloatArray = field(repr=False)
    converged: bool
    error_bound: float
    iterations: int
    seconds: float
    trace: Trace = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.value, *self.trace):
            array.setflags(write=False)


@takes_limits(max_iterations=1_000_000)
def iterative_policy_evaluation(
    mdp: MDP,
    policy: ArrayLike,
    *,
    initial: ArrayLike | None = None,
    **limits: Unpack[Limits],
) -> PolicyValue:
    """Return the value of following `policy` from each state, by sweeps V <- T_pi V.

    `evaluate_policy` is exact, and faster where a linear system with S unknowns can be solved; sweeps need no more
    memory than the rows of the policy.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    policy : array_like (S,) int, or (S, A) float
        One action per state, or the probability of each action. Entries at states without legal actions are ignored.
    initial : array_like (S,), optional
        A guess of the value to begin with; by default 0.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PolicyValue
        After a stop before its time, by a limit or by Ctrl-C, the best answer so far with its true error bound.

    Raises
    ------
    ParameterError
        If gamma is 1 (`evaluate_policy` knows what to do then), or an argument is out of range; if `policy` has another
        shape, is not a distribution in some state, or takes an illegal action.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    Half of the time 1 and once more, half of the time 5 and no more:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import iterative_policy_evaluation
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.8)
    >>> result = iterative_policy_evaluation(mdp, [[0.5, 0.5], [0, 0]])
    >>> result.value.round(6).tolist(), result.converged
    ([5.0, 0.0], True)
    """
    name = "iterative_policy_evaluation"
    watch = Watch(name, **limits)
    lookahead = discounted(mdp, name)
    weights = policy_weights(mdp.legal, policy)
    chain = Chain(lookahead, weights)
    value = starting_value(lookahead, initial)
    spare: FloatArray = np.empty(mdp.n_states)
    bound = np.inf
    with watch:
        while watch.goes_on(bound):
            changes = chain.follow(value, spare)
            rounding = chain.rounding(value)
            bound = _distance(interval(chain, changes, rounding))
            value, spare = spare, value
            watch.measure(value, lookahead.largest_value)
            if largest_change(changes) <= rounding:
                watch.give_up("the changes are down to rounding error")
                break
    changes = chain.follow(value, spare)
    bounds = interval(chain, changes, chain.rounding(value))
    result = np.add(spare, bounds.shift, out=spare, where=chain.filled)
    # No value depends on that of a terminal state, so the sweeps skip them; one backup now gives their values.
    chosen = weights[lookahead.terminal] > 0.0
    q = np.where(chosen, lookahead.q(result)[lookahead.terminal], 0.0)
    result[lookahead.terminal] = (weights[lookahead.terminal] * q).sum(axis=1)
    bound = (_distance(bounds) + chain.rounding(result) + lookahead.rounding(result)) * (1.0 + 4.0 * EPS)
    watch.record(bound)
    watch.measure(result)
    if bound > watch.tol:
        warn_not_converged(
            f"{name} stopped after {watch.iterations} sweeps with an error bound of {bound:.3g}, more than "
            f"{watch.asked}{watch.stopped and f': {watch.stopped}'}"
        )
    return PolicyValue(result, bound <= watch.tol, bound, watch.iterations, watch.seconds, watch.trace)


class Chain:
    """T_pi of one policy: (T_pi V)(s) = sum_a pi(a | s) (r(s, a) + gamma sum_s' c(s' | s, a) V(s')).

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    weights : ndarray (S, A) float64
        pi(a | s), legal.

    Attributes
    ----------
    filled : ndarray (S,) bool
        The states with a row: those that act and are not terminal.
    modulus, least_modulus : float
        gamma times the largest row sum of what continues, rounded up; gamma times the smallest, rounded down.
    """

    def __init__(self, lookahead: Lookahead, weights: FloatArray) -> None:
        weights = np.where(lookahead.terminal[:, np.newaxis], 0.0, weights)
        chain, self.reward = induced(lookahead, weights)
        self.matrix = lookahead.mdp.gamma * chain
        self.filled = weights.any(axis=1)
        going_on: FloatArray = np.asarray(self.matrix.sum(axis=1)).reshape(-1)
        # An entry of T_pi V is a sum of products of at most this many factors and summands, see `Lookahead.rounding`.
        self._terms = (lookahead.longest_row + 1) * lookahead.n_actions
        slack = (self._terms + 4) * EPS
        self.modulus = float(going_on.max(initial=0.0)) * (1.0 + slack)
        self.least_modulus = float(going_on[self.filled].min(initial=lookahead.mdp.gamma)) * (1.0 - slack)
        self._reward_size = lookahead.reward_size * float(weights.sum(axis=1).max()) * (1.0 + slack)

    def follow(self, ahead: FloatArray, out: FloatArray) -> list[Range]:
        """Fill T_pi V into `out`, 0 at states without a row, and return the least and the greatest change."""
        np.add(self.reward, cast("FloatArray", self.matrix @ ahead), out=out)
        changes = (out - ahead)[self.filled]
        return [(float(changes.min(initial=np.inf)), float(changes.max(initial=-np.inf)))]

    def rounding(self, value: FloatArray) -> float:
        """Return a bound on the rounding error in every entry of T_pi V, as `Lookahead.rounding` does."""
        magnitude = self._reward_size + self.modulus * float(np.abs(value).max(initial=0.0))
        return (self._terms + 8) * (0.5 * EPS * magnitude + TINY)


def _distance(bounds: Interval) -> float:
    """Return the largest possible distance between V_pi and the shifted T_pi V."""
    return bounds.width / 2.0 if bounds.shift != 0.0 else max(-bounds.lower, bounds.upper)
