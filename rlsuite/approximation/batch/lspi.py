"""Least-squares policy iteration (Lagoudakis & Parr 2003): policy iteration whose evaluation is a linear system.

The action values are linear, with weights of their own for each action: Q(s, a) = w_a . phi(s). A policy is evaluated
by LSTDQ, the fixed point of TD for action values on all transitions of the batch, whichever policy made them::

    sum_i phi_i (w_(a_i) . phi_i - r_i - gamma w_(pi(s'_i)) . phi'_i) = 0    for each action, over its transitions

and the next policy is greedy on these values. Only the term of s' depends on the policy;
the others are added up once.
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite.approximation.batch.action_inputs import rows_of_actions
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_agent import BatchAgent
from rlsuite.approximation.batch.linear_systems import solve
from rlsuite.approximation.batch.lstd import scaled
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, fraction, whole_amount
from rlsuite.errors import ConvergenceWarning, ParameterError, level_of_the_caller
from rlsuite.features.estimators import Matrix, Transformer

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
