"""Least squares: LSTD, LSTDQ and LSPI.

The linear systems of least-squares methods: A w = b, without the features that were never active.

Feature vectors are linearly dependent more often than not (the tiles of each tiling add up to 1, for one). Then A is
singular, but the system still has solutions, all of the same values; the shortest is taken.

Least-squares temporal differences: the fixed point of linear TD(lambda), by one linear system.

TD(lambda) moves the weights by alpha (r + gamma w.phi' - w.phi) z at each step, where z is the eligibility trace of the
features phi. At the fixed point these changes sum to 0 (Bradtke & Barto 1996; Boyan 2002)::

    A w = b,    A = sum_t z_t (phi_t - gamma phi'_t)^T,    b = sum_t z_t r_t,
    z_t = gamma lambda z_(t-1) + phi_t,    phi'_t = 0 where the episode terminated

There is no step size, the order of presentation does not matter, and every transition is used fully.

Least-squares policy iteration (Lagoudakis & Parr 2003): policy iteration whose evaluation is a linear system.

The action values are linear, with weights of their own for each action: Q(s, a) = w_a . phi(s). A policy is evaluated
by LSTDQ, the fixed point of TD for action values on all transitions of the batch, whichever policy made them::

    sum_i phi_i (w_(a_i) . phi_i - r_i - gamma w_(pi(s'_i)) . phi'_i) = 0    for each action, over its transitions

and the next policy is greedy on these values. Only the term of s' depends on the policy;
the others are added up once.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_learner import BatchAgent, BatchLearner
from rlsuite.approximation.batch.observed_features import ObservedFeatures, rows_of_actions
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, fraction, whole_amount
from rlsuite.core.threads import one_blas_thread
from rlsuite.errors import ConvergenceWarning, NotLearned, ParameterError, level_of_the_caller
from rlsuite.features.estimators import Matrix, Transformer
from rlsuite.models.aliases import AnyArray

_sparse_linalg: Any = scipy.sparse.linalg  # its stubs ask which sparse matrix it is

SMALL: Final = 1_000
"""Unknowns up to which a sparse system is solved as a dense one."""

LARGE: Final = 6_000
"""Unknowns up to which a singular system is worth a decomposition, which takes some minutes there."""

SINGULAR: Final = 1e-13
"""Ratio of the smallest to the largest pivot of a matrix that is singular but for rounding."""

CONSISTENT: Final = 1e-7
"""Largest relative residual that rounding may cause."""


def solve(A: Matrix, b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    """Return w (k,) with (A + ridge I) w = b; 0 for features that were never active, whose rows of A are empty.

    Parameters
    ----------
    A : ndarray or sparse matrix, (k, k)
    b : ndarray (k,)
    ridge : float
        Added to the diagonal.
    owner : str
        Who asks, for the messages.

    Raises
    ------
    LearningError
        If there is no solution, or one that is not finite.

    Examples
    --------
    >>> solve(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), np.array([2.0, 0.0, 2.0]), 0.0, "LSTD")
    array([1. , 0. , 0.5])
    """
    sparse = hasattr(A, "tocsr")
    nonempty = np.diff(A.tocsr().indptr) > 0 if sparse else (A != 0.0).any(axis=1)
    if b[~nonempty].any():
        raise _contradiction(ridge, owner)
    unknowns = np.flatnonzero(nonempty)
    system: Matrix = A.tocsr()[unknowns][:, unknowns] if sparse else A[np.ix_(unknowns, unknowns)]
    weights = np.zeros(b.size)
    if unknowns.size:
        _finite(system.data if sparse else system, ridge, owner)
        _finite(b, ridge, owner)
        weights[unknowns] = _finite(_solved(system, b[unknowns], ridge, owner), ridge, owner)
    return weights


def _finite(numbers: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    if not np.isfinite(numbers).all():
        raise errors.LearningError(
            f"{owner}: the linear equations or their solution are not finite; the features or rewards may be too "
            f"large, or the features too similar: try ridge={max(10.0 * ridge, 1e-6):g}"
        )
    return numbers


def _solved(system: Matrix, b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    k = b.size
    if hasattr(system, "tocsr") and k > SMALL:
        factors = _factors((system + ridge * scipy.sparse.eye_array(k)).tocsc())
        if factors is not None:
            return factors.solve(b)
        if k > LARGE:
            raise errors.LearningError(
                f"{owner}: the {k} features are linearly dependent; give a small ridge, such as ridge=1e-6, which "
                "makes the weights unique"
            )
    dense: NDArray[np.float64] = system.toarray() if hasattr(system, "toarray") else system
    dense = dense + ridge * np.eye(k)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            return scipy.linalg.solve(dense, b)
    except (scipy.linalg.LinAlgWarning, np.linalg.LinAlgError):
        return _shortest(dense, b, ridge, owner)


def _factors(system: Matrix) -> Matrix:
    """Return the decomposition of a sparse matrix; None if it is singular."""
    try:
        with one_blas_thread():
            factors = _sparse_linalg.splu(system)
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(factors.U.diagonal())
    return factors if pivots.min() > SINGULAR * pivots.max() else None


def _shortest(A: NDArray[np.float64], b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = scipy.linalg.lstsq(A, b, cond=SINGULAR * len(b))[0]
    if not np.abs(A @ weights - b).max() <= CONSISTENT * np.abs(b).max():
        raise _contradiction(ridge, owner)
    return weights


def _contradiction(ridge: float, owner: str) -> errors.LearningError:
    return errors.LearningError(
        f"{owner}: the linear equations of the TD fixed point have no solution, which can happen if the batch is too "
        f"small, or was collected with another policy; try ridge={max(10.0 * ridge, 1e-6):g}"
    )


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


TIE = 1e-9
"""Part of the largest value by which another action has to be better before a policy changes, more than rounding."""


@dataclass(eq=False)
class LSPI(BatchAgent):
    """LSPI: least-squares policy iteration (Lagoudakis & Parr 2003, Fig. 8) with any features.

    Parameters
    ----------
    features : transformer, optional
        What an action value is a linear function of; by default the numbers of the observation. It is fitted to the
        first batch. None of them is a constant unless the map makes one.
    gamma : float
        Discount per step, in [0, 1].
    iterations : int
        Policies that are evaluated by one `learn`, at most.
    ridge : float
        Added to the diagonal of the system, for features that are almost linearly dependent.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights; 0 for features that were never active with an action.
    changes_ : list of int
        For how many of the observations that follow in the batch each policy differed from that before.
    converged_ : bool
        Whether the last policy is greedy on its own values.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.

    Examples
    --------
    >>> from rlsuite.features.identity import OneHot
    >>> import rlsuite as rl
    >>> batch = Batch.from_model(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    >>> agent = LSPI(OneHot(48), gamma=0.9).learn(batch)
    >>> agent.converged_, agent.value([[36]]).round(3)
    (True, array([-7.458]))
    """

    features: Transformer | None = None
    _: KW_ONLY
    gamma: float = 0.99
    iterations: int = 50
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gamma = fraction("gamma", self.gamma)
        self.iterations = whole_amount("iterations", self.iterations)
        self.ridge = finite_number("ridge", self.ridge)
        if self.ridge < 0.0:
            raise ParameterError(f"ridge={self.ridge:g} is negative")
        self._features: ObservedFeatures | None = None
        self._weights: NDArray[np.float64] | None = None
        self.changes_: list[int] = []
        self.converged_ = False

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Improve the policy on a batch until it stays the same; part of `learn`.

        The first policy takes action 0 everywhere; called again, it goes on with the last, also after Ctrl-C. Nothing
        is random.

        Raises
        ------
        ParameterError
            If the batch differs from that before.
        LearningError
            If the values of a policy have no solution; those of the policy before are kept.

        Warns
        -----
        ConvergenceWarning
            If the policy still changes after `iterations` rounds. With features that are not exact it may alternate
            between policies for ever.
        """
        self.bind_environment(batch)
        features = self._features or ObservedFeatures(self.features, batch, "LSPI", seed)
        features.widen(batch)
        system = _System(features, batch, self.n_actions_, self.gamma)
        policy = system.greedy(self._weights, None)
        bar = tqdm(range(self.iterations), desc="LSPI", unit="round", disable=not progress)
        for _ in bar:
            self._weights = system.weights_of(policy, self.ridge)
            self._features = features
            improved = system.greedy(self._weights, policy)
            self.changes_.append(int((improved != policy).sum()))
            bar.set_postfix_str(f"{self.changes_[-1]} changes", refresh=False)
            policy = improved
            self.converged_ = not self.changes_[-1]
            if self.converged_:
                return
        warnings.warn(
            f"LSPI: the policy still changes at {self.changes_[-1]} of {policy.size} observations after "
            f"{self.iterations} rounds; more features, more transitions or a ridge may help",
            ConvergenceWarning,
            stacklevel=level_of_the_caller(),
        )

    def predicted(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Predict the values of all actions (n, n_actions) at observations (n, d), legal or not; errors as in `q`."""
        weights = self.weights_
        assert self._features is not None
        return self._features(observations) @ weights

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features, n_actions)."""
        if self._weights is None:
            raise self.not_learned()
        return self._weights


class _System:
    """The equations of a batch, of which only one part depends on the policy."""

    def __init__(self, features: ObservedFeatures, batch: Batch, n_actions: int, gamma: float):
        self.n_actions, self.gamma = n_actions, gamma
        before = features(batch.observation)
        self.goes_on = ~batch.terminated
        self.ahead = features(batch.next_observation[self.goes_on])
        self.rows = rows_of_actions(batch.action, n_actions, "collect more transitions")
        self.weighted = [scaled(before[rows], batch.weight[rows]).T for rows in self.rows]  # (k, n_a)
        self.own = [self.weighted[a] @ before[rows] for a, rows in enumerate(self.rows)]  # (k, k)
        self.b = np.concatenate([self.weighted[a] @ batch.reward[rows] for a, rows in enumerate(self.rows)])
        self.legal = None if batch.next_action_mask is None else batch.next_action_mask[self.goes_on]
        # row of `ahead` for each transition that does not end its episode
        self.position = np.cumsum(self.goes_on) - 1

    def greedy(self, weights: NDArray[np.float64] | None, policy: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the best legal action for each row of `ahead`; that of `policy` where no other is better."""
        n = int(self.ahead.shape[0])
        if weights is None:
            return np.zeros(n, dtype=np.int64) if self.legal is None else self.legal.argmax(axis=1)
        q: NDArray[np.float64] = self.ahead @ weights
        largest = np.abs(q).max(initial=0.0, where=True if self.legal is None else self.legal)
        if self.legal is not None:
            q = np.where(self.legal, q, -np.inf)
        best = q.argmax(axis=1)
        if policy is None:
            return best
        every = np.arange(n)
        better = q[every, best] > q[every, policy] + TIE * largest
        return np.where(better, best, policy)

    def weights_of(self, policy: NDArray[np.int64], ridge: float) -> NDArray[np.float64]:
        """Return the weights (k, n_actions) of the values of a policy, given for each row of `ahead`."""
        next_action = np.full(self.goes_on.size, -1)
        next_action[self.goes_on] = policy
        blocks: list[list[Matrix]] = []
        for a, rows in enumerate(self.rows):
            line: list[Matrix] = []
            for then in range(self.n_actions):
                chosen = np.flatnonzero(next_action[rows] == then)
                part = self.weighted[a][:, chosen] @ self.ahead[self.position[rows[chosen]]]
                line.append(-self.gamma * part if then != a else self.own[a] - self.gamma * part)
            blocks.append(line)
        weights = solve(_assembled(blocks), self.b, ridge, "LSPI")
        return np.ascontiguousarray(weights.reshape(self.n_actions, -1).T)


def _assembled(blocks: list[list[Matrix]]) -> Matrix:
    if hasattr(blocks[0][0], "tocsr"):
        from scipy.sparse import block_array

        return block_array(blocks, format="csr")
    return np.block(blocks)
