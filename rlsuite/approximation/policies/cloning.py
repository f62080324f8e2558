"""A policy that is a classifier: observations in, the action as their class out (behaviour cloning).

Recorded episodes of a good policy are examples, pairs of observation and action; any scikit-learn classifier learns
from them how to act at other observations. The examples come from the states that the teacher visits: where the clone
leaves these, it has no examples (as Pomerleau 1991 observed with his car).
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.batch.observations import encoded
from rlsuite.approximation.batch.regressors import fresh
from rlsuite.core.aliases import Space
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.features.checks import check_observations, naming, shown
from rlsuite.features.estimators import Predictor, is_classifier
from rlsuite.planning.solution import Solution


class ClassifierPolicy(SaysWhatToWrite):
    """A policy given by a classifier.

    Parameters
    ----------
    classifier : classifier
        Any estimator of scikit-learn's kind with `fit` and `predict` for classes, a pipeline too; it is copied, not
        changed. ``make_pipeline(TileCoding(...), LogisticRegression())`` classifies features.
    seed : int, optional
        Seeds whatever is random in the classifier and has no ``random_state`` yet.

    Attributes
    ----------
    classifier_ : classifier
        The copy that was fitted; None if the teacher knew one action only.
    actions_ : ndarray of int64, shape (n_actions,)
        The actions of the examples, in ascending order: those that the policy chooses from.
    n_features_in_ : int
        Length of an observation.

    Raises
    ------
    ParameterError
        If `classifier` is none, or `seed` is not a whole number from 0 on.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> policy = ClassifierPolicy(DecisionTreeClassifier()).fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 0, 0])
    >>> policy.act([0.4]), policy.act([7.0])
    (1, 0)
    """

    def __init__(self, classifier: Predictor, seed: int | None = None) -> None:
        if not (hasattr(classifier, "fit") and hasattr(classifier, "predict")) or isinstance(classifier, type):
            raise errors.ParameterError(
                f"classifier={shown(classifier)} must be an instance of a classifier, such as GaussianNB()"
            )
        if not is_classifier(classifier):
            raise errors.ParameterError(
                f"classifier={shown(classifier)} predicts numbers, but actions are classes; FittedQ takes regressors"
            )
        self.classifier = classifier
        self.seed = None if seed is None else whole_number("seed", seed, at_least=0)

    observation_space_: Space | None = None

    def fit(self, observations: ArrayLike, actions: ArrayLike) -> Self:
        """Learn from examples, observations (n, d) and the actions (n,) taken there, and return self.

        Raises
        ------
        ParameterError
            If the observations are not finite numbers, the actions not whole ones, or not as many.
        LearningError
            If the classifier cannot be fitted; what was learned before is kept.
        """
        seen = check_observations(observations, None, "ClassifierPolicy")
        taken = checked_actions(actions, len(seen))
        known = np.unique(taken)
        fitted = None
        if known.size > 1:  # most classifiers raise an error for a single class
            fitted = fresh(self.classifier, np.random.default_rng(self.seed))
            with naming(f"ClassifierPolicy: {type(fitted).__name__} cannot learn from these {len(seen)} examples"):
                fitted.fit(seen, taken)
        self.classifier_, self.actions_, self.n_features_in_ = fitted, known, seen.shape[1]
        return self

    @says_what_to_write
    def learn(self, batch: Batch) -> Self:
        """Clone the policy that a batch was collected with, and return self; see `fit`."""
        check_batch(batch, "ClassifierPolicy.learn")
        self.observation_space_ = batch.observation_space
        return self.fit(batch.observation, batch.action + batch.first_action)

    def imitate(self, solution: Solution, vectors: ArrayLike | None = None) -> Self:
        """Clone the policy of a solved model, and return self; see `fit`.

        Parameters
        ----------
        solution : Solution
            What a planner has found.
        vectors : array (n_states, d), optional
            What is seen in each state, as of a `VectorObservation`; by default the number of the state.
        """
        seen = np.arange(len(solution.policy))[:, None] if vectors is None else np.asarray(vectors)
        if len(seen) != len(solution.policy):
            raise errors.ParameterError(
                f"vectors has {len(seen)} rows, but the model has {len(solution.policy)} states"
            )
        acts = solution.policy >= 0  # a terminal state has no action
        return self.fit(seen[acts], solution.policy[acts])

    def predict(self, observations: ArrayLike) -> NDArray[np.int64]:
        """Actions (n,) for observations (n, d).

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the observations are not finite or of another width.
        LearningError
            If the classifier fails.
        """
        if "actions_" not in vars(self):
            raise errors.NotLearned("this ClassifierPolicy has not learned yet; call learn(batch) or fit first")
        seen = check_observations(observations, self.n_features_in_, "ClassifierPolicy")
        if self.classifier_ is None or not len(seen):
            return np.full(len(seen), self.actions_[0])
        with naming(f"ClassifierPolicy: {type(self.classifier_).__name__} cannot choose for {len(seen)} observations"):
            return np.asarray(self.classifier_.predict(seen), dtype=np.int64)

    def act(self, observation: object) -> int:
        """Return the action for one observation; see `predict`."""
        return int(self.predict(encoded(self.observation_space_, observation)[None])[0])

    def score(self, observations: ArrayLike, actions: ArrayLike) -> float:
        """Share of the observations (n, d) in which the policy takes the given actions (n,)."""
        predicted = self.predict(observations)
        return float((predicted == checked_actions(actions, len(predicted))).mean())


def checked_actions(actions: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return actions as int64 (n,).

    Raises
    ------
    ParameterError
        If they are not whole numbers, or not n.
    """
    found = np.asarray(actions)
    if found.shape != (n,):
        raise errors.ParameterError(f"actions have shape {found.shape}; one for each of the {n} observations is needed")
    numeric = np.issubdtype(found.dtype, np.number)
    whole = np.isfinite(found) & (found == np.floor(found)) if numeric else np.zeros(n, dtype=np.bool_)
    if not whole.all():
        at = int(np.argmin(whole))
        raise errors.ParameterError(
            f"actions[{at}] is {found.tolist()[at]!r}; actions must be whole numbers: a classifier chooses among a "
            "few. Replace each continuous action by the number of the nearest of a few levels"
        )
    return found.astype(np.int64)
