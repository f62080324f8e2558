"""Least-squares temporal differences: the fixed point of linear TD(lambda), by one linear system.

TD(lambda) moves the weights by alpha (r + gamma w.phi' - w.phi) z at each step, where z is the eligibility trace of the
features phi. At the fixed point these changes sum to 0 (Bradtke & Barto 1996; Boyan 2002)::

    A w = b,    A = sum_t z_t (phi_t - gamma phi'_t)^T,    b = sum_t z_t r_t,
    z_t = gamma lambda z_(t-1) + phi_t,    phi'_t = 0 where the episode terminated

There is no step size, the order of presentation does not matter, and every transition is used fully.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_learner import BatchLearner
from rlsuite.approximation.batch.linear_systems import solve
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, fraction
from rlsuite.errors import NotLearned, ParameterError
from rlsuite.features.estimators import Matrix, Transformer
from rlsuite.models.aliases import AnyArray

CHUNK = 2_048
"""Transitions whose traces are in memory at once."""


@dataclass(eq=False)
class LSTD(BatchLearner):
    """LSTD(lambda): the value of the policy that collected the batch, linear in the features (Boyan 2002).

    Parameters
    ----------
    features : transformer, optional
        What a value is a linear function of; by default the numbers of the observation. It is fitted to the first
        batch. None of them is a constant unless the map makes one.
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        Decay of the traces, in [0, 1]. At 1 the weights are the least squares fit to the returns.
    ridge : float
        Added to the diagonal of A, for features that are almost linearly dependent.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        One weight per feature; 0 for those that were never active.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.

    Examples
    --------
    A walk of three states, which pays 1 on the right:

    >>> from rlsuite.features.identity import OneHot
    >>> import rlsuite as rl
    >>> R = lambda s, a, next_state: float(next_state == 4)
    >>> walk = rl.MDP.from_successors([[None], [{0, 2}], [{1, 3}], [{2, 4}], [None]], R, gamma=1.0)
    >>> agent = LSTD(OneHot(5), gamma=1.0).learn(Batch.from_model(walk))
    >>> agent.value([[1], [2], [3]]).round(6)
    array([0.25, 0.5 , 0.75])
    """

    features: Transformer | None = None
    _: KW_ONLY
    gamma: float = 0.99
    lambda_: float = 0.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gamma = fraction("gamma", self.gamma)
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.ridge = finite_number("ridge", self.ridge)
        if self.ridge < 0.0:
            raise ParameterError(f"ridge={self.ridge:g} is negative")
        self._features: ObservedFeatures | None = None
        self._weights: NDArray[np.float64] | None = None
        self._matrix: Matrix = None
        self._vector = np.zeros(0)

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Add the transitions of a batch to those learned from before; part of `learn`.

        The order and the number of batches make no difference, as long as none ends within an episode. Nothing is
        random.

        Raises
        ------
        ParameterError
            If its observations are of another width than before.
        LearningError
            If the equations have no solution; what was learned before is kept.
        """
        features = self._features or ObservedFeatures(self.features, batch, "LSTD", seed)
        features.widen(batch)
        before = features(batch.observation)
        step = before - self.gamma * scaled(features(batch.next_observation), ~batch.terminated)
        if self.lambda_ > 0.0:
            matrix, vector = self._traced(before, step, batch)
        else:
            weighted = scaled(before, batch.weight).T
            matrix, vector = weighted @ step, weighted @ batch.reward
        if self._matrix is not None:
            matrix, vector = self._matrix + matrix, self._vector + vector
        self._weights = solve(matrix, vector, self.ridge, "LSTD")
        self._features, self._matrix, self._vector = features, matrix, vector

    def _traced(self, before: Matrix, step: Matrix, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return A (k, k) and b (k,) with traces: these are dense, whatever the features are."""
        k = int(before.shape[1])
        matrix, vector = np.zeros((k, k)), np.zeros(k)
        trace = np.zeros(k)
        decay = np.where(batch.first, 0.0, self.gamma * self.lambda_)
        for start in range(0, len(batch), CHUNK):
            rows = slice(start, start + CHUNK)
            traces = as_dense(before[rows])
            for i, fraction_left in enumerate(decay[rows]):
                traces[i] += fraction_left * trace
                trace = traces[i]
            traces = batch.weight[rows, None] * traces
            matrix += traces.T @ as_dense(step[rows])
            vector += traces.T @ batch.reward[rows]
        return matrix, vector

    def value(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned values of observations (n, d), shape (n,).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width.

        Warns
        -----
        OutsideWarning
            If observations lie outside of the range of those that it has learned from.
        """
        weights = self.weights_
        assert self._features is not None
        before = self.outside_
        found = self._features(observations) @ weights
        self._features.say_outside(before)
        return found

    def evaluated(self) -> None:
        """Nothing of its own: what is evaluated is the policy that collects, whose values it learns."""

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features,)."""
        if self._weights is None:
            raise NotLearned("this LSTD has not learned yet; call learn(batch) first")
        return self._weights


def scaled(features: Matrix, factors: AnyArray) -> Matrix:
    """Return features (n, k) with each row times its factor (n,)."""
    if hasattr(features, "tocsr"):
        from scipy.sparse import diags_array

        return (diags_array(factors.astype(np.float64)) @ features).tocsr()
    return features * factors[:, None]


def as_dense(features: Matrix) -> NDArray[np.float64]:
    """Return features (n, k) as a new array."""
    return features.toarray() if hasattr(features, "toarray") else features.copy()
