"""How close learned action values are to the optimal ones."""

from typing import NamedTuple, Protocol

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.solution import Solution


class HasQ(Protocol):
    """An agent that has learned action values in a table or of features of each state."""

    @property
    def q_(self) -> FloatArray:
        """(S, A) action values."""
        ...


class QAgreement(NamedTuple):
    """How well learned action values agree with the optimal ones."""

    rmse: float
    """Root of the mean squared difference, in the unit of the rewards."""
    correlation: float
    """Pearson's correlation, in [-1, 1]: 1 if they differ in scale and offset only; NaN if one of them is constant."""


@says_what_to_write
def q_agreement(
    agent: "HasQ | ArrayLike", solution: Solution | ArrayLike, weights: ArrayLike | None = None
) -> QAgreement:
    """Root mean squared error and correlation of learned action values with those of the solved model.

    Greedy behaviour needs the order of actions only: values that are far off, but correlated, can be as good as exact
    ones. Both numbers are about the legal pairs of state and action.

    Parameters
    ----------
    agent
        An agent that has learned, or action values (S, A).
    solution
        The solution of the same problem, the values of which are exact up to its `error_bound`; or exact values (S, A)
        of anything else, -inf where an action is illegal: of a policy by `evaluate_policy`, with A = 1.
    weights
        (S, A) or (S,) float, how much a pair, or a state, counts; None: all pairs alike. ``agent.visits_`` weighs them
        by experience, and leaves out what was never tried.

    Returns
    -------
    QAgreement

    Raises
    ------
    ParameterError
        If shapes differ, a value or weight is not finite, a weight is negative, or no legal pair counts.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> best = rl.solve(rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=0.9))
    >>> agent = rl.QLearning(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.5))
    >>> early = rl.planning.q_agreement(agent.learn("rlsuite/GridGoal-v0", steps=50, seed=7), best)
    >>> late = rl.planning.q_agreement(agent.learn("rlsuite/GridGoal-v0", steps=1_000, seed=7), best)
    >>> round(early.rmse), round(late.rmse), early.correlation < late.correlation
    (56, 0, True)
    """
    learned = np.asarray(getattr(agent, "q_", agent), dtype=np.float64)
    optimal = np.asarray(solution.q if isinstance(solution, Solution) else solution, dtype=np.float64)
    if learned.ndim != 2 or learned.shape != optimal.shape:
        raise ParameterError(
            f"the agent has action values {learned.shape} and the solution {optimal.shape}: needed those of one "
            "environment, with a row for each of its states"
        )
    counts = np.ones_like(optimal) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape == optimal.shape[:1]:
        counts = np.repeat(counts[:, np.newaxis], optimal.shape[1], axis=1)
    if counts.shape != optimal.shape:
        raise ParameterError(f"weights has shape {counts.shape}: needed {optimal.shape} or {optimal.shape[:1]}")
    if not np.isfinite(counts).all() or (counts < 0.0).any():
        raise ParameterError("weights must be finite numbers of at least 0")
    used = (optimal > -np.inf) & (counts > 0.0)
    if not used.any():
        raise ParameterError("no legal pair of state and action has a weight above 0")
    w, q, best = counts[used] / counts[used].sum(), learned[used], optimal[used]
    if not np.isfinite(q).all():
        raise ParameterError("the agent's action values are not finite")
    error = float(np.sqrt(w @ (q - best) ** 2))
    if not np.ptp(q) or not np.ptp(best):
        return QAgreement(error, np.nan)
    covariance = np.cov(q, best, aweights=w, ddof=0)
    return QAgreement(error, float(np.clip(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]), -1.0, 1.0)))
