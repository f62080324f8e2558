"""Plans as alpha vectors: the value of a belief is the best of finitely many linear functions of it. KLC98 section 4.

A plan that starts with some action has the value alpha(s) in the hidden state s, so alpha . b in the belief b, and the
best of a set of plans has the value max_i alpha_i . b: piecewise linear and convex. Every such vector is the value of a
plan, whether or not the set is complete; so the maximum is a lower bound on the optimum, everywhere.

An action that is illegal in a state makes the vectors of all plans that could come to it there minus infinity in the
states that lead to it. Such a vector counts in the beliefs that exclude these states, and in no others: 0 times minus
infinity is 0 here.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.solution import BeliefPlan

SAME = 1e-13
"""Values of a belief that differ by less than this share of their terms are equal: that is rounding."""
BLOCK = 1 << 18
"""Entries of vectors copied at a time."""


class BoundsTrace(NamedTuple):
    """The bounds at the start belief while a method worked: n entries."""

    iterations: IndexArray
    """(n,) int64, iterations done until then"""
    seconds: FloatArray
    """(n,) float64, wall-clock time until then"""
    lower_bound: FloatArray
    """(n,) float64"""
    upper_bound: FloatArray
    """(n,) float64"""

    @classmethod
    def of(cls, records: list[tuple[int, float, float, float]]) -> Self:
        """Return the trace of a list of (iterations, seconds, lower bound, upper bound).

        A lower bound above a later one, which can be a rounding worse, counts as that one.
        """
        table = np.array(records, dtype=np.float64).reshape(-1, 4)
        lower = np.minimum.accumulate(table[::-1, 2])[::-1]
        return cls(table[:, 0].astype(np.int64), table[:, 1].copy(), lower.copy(), table[:, 3].copy())


class VectorSet(NamedTuple):
    """The alpha vectors of all plans of one length."""

    alpha_vectors: FloatArray
    """(n, S) float64, minus infinity where a plan comes to an illegal action"""
    actions: IndexArray
    """(n,) int64, the first action of each plan"""
    successors: IndexArray
    """(n, Z) int64, how each plan goes on after an observation: the number of a vector with one step less to go (in a
    plan without end, of the same set); -1 if the observation is impossible or nothing follows"""

    def frozen(self) -> Self:
        """Return the set itself, its arrays read-only."""
        for array in self:
            array.setflags(write=False)
        return self


def worth(alpha_vectors: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return alpha_i . b_k for all vectors (n, S) and beliefs (k, S), as a (k, n) float64 array.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.vectors import worth
    >>> worth(np.array([[1.0, -np.inf], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [[1.0, 0.0], [-inf, 1.0]]
    """
    if alpha_vectors.min(initial=0.0) > -np.inf:
        return beliefs @ alpha_vectors.T
    illegal = alpha_vectors == -np.inf
    products = beliefs @ np.where(illegal, 0.0, alpha_vectors).T
    products[(beliefs > 0.0) @ illegal.T] = -np.inf
    return products


def worth_at(alpha_vectors: FloatArray, belief: FloatArray) -> FloatArray:
    """Return alpha_i . b for all vectors (n, S) and one belief (S,), as (n,) float64: `worth` without a large copy.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.vectors import worth_at
    >>> worth_at(np.array([[1.0, -np.inf, 5.0], [0.0, 2.0, 5.0]]), np.array([0.5, 0.5, 0.0])).tolist()
    [-inf, 1.0]
    """
    possible = np.flatnonzero(belief)
    if 2 * possible.size <= belief.size:  # reads only the entries that it needs
        return alpha_vectors[:, possible] @ belief[possible]
    with np.errstate(invalid="ignore"):
        values: FloatArray = alpha_vectors @ belief
    unclear = np.flatnonzero(np.isnan(values))  # 0 times minus infinity
    for some in np.array_split(unclear, 1 + unclear.size * belief.size // BLOCK):
        values[some] = alpha_vectors[np.ix_(some, possible)] @ belief[possible]
    return values


def first_of_best(values: FloatArray, tie: float) -> IndexArray:
    """Return the first column of each row (k, n) that is not below the best by more than `tie`: (k,) int64.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.vectors import first_of_best
    >>> first_of_best(np.array([[0.3, 0.1 + 0.2, 0.0], [1.0, 2.0, 2.5]]), 1e-12).tolist()
    [0, 2]
    """
    return np.argmax(values >= values.max(axis=1, keepdims=True) - tie, axis=1)


def best_at(values: FloatArray, alpha_vectors: FloatArray, beliefs: FloatArray) -> IndexArray:
    """Return the number of the best vector in each belief (k, S), by their `worth` (k, n): (k,) int64.

    Of vectors whose values differ by rounding alone it is the first, so that a plan acts alike on every processor.
    """
    size = np.abs(beliefs * np.where(beliefs > 0.0, alpha_vectors[np.argmax(values, axis=1)], 0.0)).sum(axis=1)
    return np.argmax(values >= values.max(axis=1, keepdims=True) - SAME * size[:, np.newaxis], axis=1)


@dataclass(frozen=True, eq=False)
class AlphaVectorSolution(BeliefPlan):
    """The solution of a POMDP in the form of alpha vectors: it acts in any belief.

    Its attributes are those of `BeliefPlan`, and:

    Attributes
    ----------
    alpha_vectors : ndarray (n, S) float64
        The vectors, in the unit of the reward; for a plan with a horizon those with all steps to go. Minus infinity
        where a plan comes to an illegal action.
    actions : ndarray (n,) int64
        The first action of the plan behind each vector.
    pomdp : POMDP
        The model.
    trace : BoundsTrace
        The bounds over time.
    successors : ndarray (n, Z) int64 or None
        For a plan without end: the vector of the set with which a plan goes on after each observation, -1 if it is
        impossible. None if the method does not know.
    stages : tuple of VectorSet
        For a plan with a horizon: ``stages[t]`` are the vectors with t steps to go, t = 0..H. Empty otherwise.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> plan = solve(machine, "incremental_pruning", horizon=2)
    >>> plan.alpha_vectors.tolist(), plan.actions.tolist()
    ([[1.81, 0.0]], [0])
    >>> plan.value([0.5, 0.5]), plan.value([0.5, 0.5], steps_left=1), plan.act([0.5, 0.5])
    (0.905, 0.5, 0)
    """

    alpha_vectors: FloatArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    pomdp: POMDP = field(repr=False)
    trace: BoundsTrace = field(repr=False)
    successors: IndexArray | None = field(default=None, repr=False)
    stages: tuple[VectorSet, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        own = (self.alpha_vectors, self.actions, *(() if self.successors is None else (self.successors,)))
        for array in (*own, *self.trace):
            array.setflags(write=False)
        for stage in self.stages:
            stage.frozen()

    @property
    def n_vectors(self) -> int:
        """Number of alpha vectors."""
        return self.alpha_vectors.shape[0]

    def act(self, belief: ArrayLike, steps_left: int | None = None) -> int:
        """Return the first action of the plan with the largest value in a belief.

        Parameters
        ----------
        belief : array_like (S,)
            Any distribution over the states.
        steps_left : int, optional
            For a plan with a horizon: how many steps are still to come, this one included; all of them by default. To
            be left out if the plan has no horizon.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution, `steps_left` is out of range or 0, or no plan is legal in every state of
            the belief's support.
        """
        vectors, actions, _ = self._with(steps_left)
        best, _ = self._best(vectors, belief)
        if actions[best] < 0:
            raise ParameterError("steps_left=0: the plan is at its end, and no action is left")
        return int(actions[best])

    def value(self, belief: ArrayLike, steps_left: int | None = None) -> float:
        """Return max_i alpha_i . b, a lower bound on the optimum; arguments and errors as in `act`, but 0 steps do."""
        return self._best(self._with(steps_left).alpha_vectors, belief)[1]

    def vector(self, belief: ArrayLike, steps_left: int | None = None) -> int:
        """Return the number of the best vector, the first of equals up to rounding; the rest as in `value`."""
        return self._best(self._with(steps_left).alpha_vectors, belief)[0]

    def _with(self, steps_left: int | None) -> VectorSet:
        if self.horizon is None:
            if steps_left is not None:
                raise ParameterError("this plan has no horizon: leave steps_left out")
        elif steps_left is not None:
            if whole_number("steps_left", steps_left, at_least=0) > self.horizon:
                raise ParameterError(f"steps_left={steps_left} is more than the {self.horizon} steps of this plan")
            return self.stages[steps_left]
        nowhere = self.successors if self.successors is not None else np.empty((0, 0), dtype=np.int64)
        return VectorSet(self.alpha_vectors, self.actions, nowhere)

    def _best(self, vectors: FloatArray, belief: ArrayLike) -> tuple[int, float]:
        b = validation.belief(belief, vectors.shape[1])
        values = worth_at(vectors, b)
        best = int(np.argmax(values))
        if values[best] == -np.inf:
            raise ParameterError(
                f"no plan is legal in every state of the belief's support: {np.flatnonzero(b).tolist()}"
            )
        first = best_at(values[np.newaxis], vectors, b[np.newaxis])
        return int(first[0]), float(values[best])
