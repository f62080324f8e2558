"""Fitted value iteration: a regressor for state values (Gordon 1995; Munos & Szepesvari 2008).

It needs a batch in which every action was tried at every observation, once or several times: one made from a model, or
drawn from a simulator that can be set to any state. Each round does a full backup at these observations::

    y_j = max_a mean of r + gamma V_(k-1)(s') over the transitions of action a at observation j
    V_k = the regressor fitted to s_j -> y_j,    V_0 = 0

State values alone do not determine actions, which need a model as well; `FittedQ` learns action values, and from any
batch.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.approximation.batch import regressors
from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.batch.divergence import value_limit
from rlsuite.approximation.batch.fitted_iteration import FittedIteration
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError


@dataclass(eq=False)
class FittedValueIteration(FittedIteration):
    """Fitted value iteration (Munos & Szepesvari 2008) with any regressor.

    Parameters
    ----------
    regressor : estimator
        Any regressor of scikit-learn, or with its methods ``fit`` and ``predict``; it is cloned, never fitted itself.
    gamma : float
        Discount per step, in [0, 1].
    iterations : int
        Rounds of one `learn`, at most.
    features : transformer, optional
        What the regressor sees of an observation; by default the observation. It is fitted to the first batch.
    tol : float
        Largest change of a target at which learning stops; by default not before nothing changes at all.

    Attributes
    ----------
    regressors_ : list of estimator
        The fitted regressor, alone.
    errors_ : ndarray of float64, shape (n_rounds,)
        Largest change of a target in each round so far.
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
    >>> batch = Batch.from_model(rl.MDP.from_env("CliffWalking-v1", gamma=0.9))
    >>> FittedValueIteration(DecisionTreeRegressor(), gamma=0.9).learn(batch, seed=7).value([[36]]).round(3)
    array([-7.458])
    """

    @says_what_to_write
    def learn(self, batch: Batch, *, seed: int | None = None, progress: bool = False) -> Self:
        """Do up to `iterations` rounds on a batch, and return self.

        Called again, it goes on with what it has learned.

        Parameters
        ----------
        batch : Batch
            Transitions of every action at every observation.
        seed : int, optional
            Source of the randomness of a regressor whose ``random_state`` has been left open.
        progress : bool
            Show a progress bar, with the largest change of a target. After Ctrl-C `learn` may be called again, and goes
            on after the last round that was finished.

        Raises
        ------
        ParameterError
            If `batch` is not one, or some action was not tried at some observation.
        LearningError
            If the regressor cannot be fitted or asked, whatever its error (it is the cause of this one; what the rounds
            before have learned is kept), or the first round already gives values that are not finite.

        Warns
        -----
        DivergenceWarning
            If the values leave all bounds. Learning stops, and the regressor of the round before is kept.
        """
        check_batch(batch, "FittedValueIteration.learn")
        rng = np.random.default_rng(None if seed is None else whole_number("seed", seed, at_least=0))
        features = self._features or ObservedFeatures(self.features, batch, "FittedValueIteration")
        observations, place = np.unique(batch.observation, axis=0, return_inverse=True)
        pair = place.reshape(-1) * batch.n_actions + batch.action
        total = _every_pair_weighs(observations, pair, batch)
        inputs = features(observations)
        goes_on = np.flatnonzero(~batch.terminated)
        questions = features(batch.next_observation[goes_on]) if goes_on.size else None

        copies = regressors.Copies(self.regressor)

        def ahead(fitted: list[Any]) -> NDArray[np.float64]:
            return np.zeros(0) if questions is None else regressors.predictions(fitted[0], self.round_name, questions)

        def targets(predicted: NDArray[np.float64] | None) -> NDArray[np.float64]:
            worth = batch.reward.copy()
            if predicted is not None:
                worth[goes_on] += self.gamma * predicted
            mean = np.bincount(pair, weights=batch.weight * worth) / total
            return mean.reshape(-1, batch.n_actions).max(axis=1)

        self.iterate(
            features,
            fit=lambda target: [regressors.fitted(copies.fresh(rng), self.round_name, inputs, target)],
            ahead=ahead,
            targets=targets,
            limit=value_limit(batch.reward, self.gamma),
            progress=progress,
        )
        return self

    def value(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned values of observations (n, d), shape (n,).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width.
        """
        features, fitted = self.learned()
        return regressors.predictions(fitted[0], "FittedValueIteration", features(observations))


def _every_pair_weighs(observations: NDArray[np.float64], pair: NDArray[np.int64], batch: Batch) -> NDArray[np.float64]:
    """Return the weight of all transitions of each pair of observation and action; raise if one has none."""
    n_pairs = len(observations) * batch.n_actions
    total = np.asarray(np.bincount(pair, weights=batch.weight, minlength=n_pairs), dtype=np.float64)
    if not total.all():
        where, action = divmod(int(np.argmin(total)), batch.n_actions)
        raise ParameterError(
            f"action {action} was not tried at observation {observations[where].tolist()}, and fitted value iteration "
            "needs every action at every observation (Batch.from_model, Batch.from_dynamics); FittedQ does not"
        )
    return total
