"""Fitted Q iteration: value iteration with any regressor in place of the table (Ernst, Geurts & Wehenkel 2005).

Each round is a supervised problem: the inputs are the observations and actions of the batch, and the targets are::

    y_i = r_i + gamma max_a' Q_(k-1)(s'_i, a'),    nothing after the reward where the episode terminated
    Q_k = the regressor fitted to (s_i, a_i) -> y_i,    Q_0 = 0

With a regressor that averages targets (nearest neighbours, kernels, trees whose splits do not depend on the targets)
that is a contraction, and converges (Gordon 1995; Ormoneit & Sen 2002). Others may diverge, linear ones among them.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.approximation.batch import regressors
from rlsuite.approximation.batch.action_inputs import Matrix, OneForAll, OnePerAction
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_agent import BatchAgent
from rlsuite.approximation.batch.divergence import value_limit
from rlsuite.approximation.batch.fitted_iteration import FittedIteration
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write


@dataclass(eq=False)
class FittedQ(FittedIteration, BatchAgent):
    """Fitted Q iteration (Ernst, Geurts & Wehenkel 2005, Fig. 1) with any regressor.

    Parameters
    ----------
    regressor : estimator
        Any regressor of scikit-learn, or with its methods ``fit`` and ``predict``; it is cloned, never fitted itself.
    gamma : float
        Discount per step, in [0, 1].
    iterations : int
        Rounds of one `learn`, at most.
    features : transformer, optional
        What the regressor sees of an observation; by default the observation. It is fitted to the first batch. With
        ``sklearn.frozen.FrozenEstimator`` it is left as it is.
    tol : float
        Largest change of a target at which learning stops; by default not before nothing changes at all.
    one_per_action : bool
        Whether each action has a regressor of its own; if not, one sees the action as further inputs.

    Attributes
    ----------
    regressors_ : list of estimator
        The fitted regressors: one for each action, or one.
    errors_ : ndarray of float64, shape (n_rounds,)
        Largest change of a target in each round so far. With the exact values of a model in the batch, the error of
        the values is at most 1 / (1 - gamma) times the last of them.
    converged_ : bool
        Whether the last change was at most `tol`.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import rlsuite as rl
    >>> agent = FittedQ(DecisionTreeRegressor(), gamma=0.9, iterations=100)
    >>> agent = agent.learn(Batch.from_model(rl.MDP.from_env("CliffWalking-v1", gamma=0.9)), seed=7)
    >>> agent.act(36), agent.q([[36]]).round(3)
    (0, array([[  -7.458, -106.712,   -7.712,   -7.712]]))
    """

    _: KW_ONLY
    one_per_action: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._way = OnePerAction if self.one_per_action else OneForAll

    @says_what_to_write
    def learn(self, batch: Batch, *, seed: int | None = None, progress: bool = False) -> Self:
        """Do up to `iterations` rounds on a batch, and return self.

        Called again, it goes on with what it has learned, on the same batch or another of the same environment.

        Parameters
        ----------
        batch : Batch
            The transitions.
        seed : int, optional
            Source of the randomness of regressors whose ``random_state`` has been left open.
        progress : bool
            Show a progress bar, with the largest change of a target. After Ctrl-C `learn` may be called again, and goes
            on after the last round that was finished.

        Raises
        ------
        ParameterError
            If `batch` is not one, differs from that before, has no transition with some action, or has weights that
            the regressor cannot use.
        LearningError
            If the regressor cannot be fitted or asked, whatever its error (it is the cause of this one; what the rounds
            before have learned is kept), or the first round already gives values that are not finite.

        Warns
        -----
        DivergenceWarning
            If the values leave all bounds. Learning stops, and the regressors of the round before are kept.
        """
        self.bind_environment(batch)
        rng = np.random.default_rng(None if seed is None else whole_number("seed", seed, at_least=0))
        features = self._features or ObservedFeatures(self.features, batch, "FittedQ")
        training = self._way(features(batch.observation), batch.action, batch.weight, self.n_actions_)
        goes_on = slice(None) if not batch.terminated.any() else np.flatnonzero(~batch.terminated)
        questions = None
        if not batch.terminated.all():
            questions = self._way.questions(features(batch.next_observation[goes_on]), self.n_actions_)
        keyword = regressors.weight_keyword(self.regressor, "FittedQ") if batch.weighted else None

        copies = regressors.Copies(self.regressor)

        def fit_one(inputs: Matrix, target: NDArray[np.float64], weight: NDArray[np.float64]) -> Any:
            weights = {keyword: weight} if keyword else {}
            return regressors.fitted(copies.fresh(rng), self.round_name, inputs, target, **weights)

        def ahead(fitted: list[Any]) -> NDArray[np.float64]:
            if questions is None:
                return np.zeros((self.n_actions_, 0))
            return self._way.answers(fitted, self.round_name, questions, self.n_actions_)

        def targets(predicted: NDArray[np.float64] | None) -> NDArray[np.float64]:
            target = batch.reward.copy()
            if predicted is not None:
                target[goes_on] += self.gamma * predicted.max(axis=0)
            return target

        self.iterate(
            features,
            fit=lambda target: training.fit(fit_one, target),
            ahead=ahead,
            targets=targets,
            limit=value_limit(batch.reward, self.gamma),
            progress=progress,
        )
        return self

    def q(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned action values of observations (n, d), shape (n, n_actions).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width.
        """
        features, fitted = self.learned()
        questions = self._way.questions(features(observations), self.n_actions_)
        return np.ascontiguousarray(self._way.answers(fitted, "FittedQ", questions, self.n_actions_).T)
