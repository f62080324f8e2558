"""A policy that is a classifier: observations in, the action as their class out (behaviour cloning).

Recorded episodes of a good policy are examples, pairs of observation and action; any scikit-learn classifier learns
from them how to act at other observations. The examples come from the states that the teacher visits: where the clone
leaves these, it has no examples (as Pomerleau 1991 observed with his car).

Where the class that is predicted is an illegal action, the legal one that the classifier finds most probable is taken.
"""

from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.batch_learner import OPTIMAL, BatchLearner
from rlsuite.approximation.batch.observed_features import KnownActions, encoded, legal_at
from rlsuite.approximation.batch.regressors import fresh
from rlsuite.core.aliases import Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction, legal_actions, whole_number
from rlsuite.features.checks import check_observations, naming, shown
from rlsuite.features.estimators import Predictor, is_classifier, scikit_learn
from rlsuite.planning.solution import Solution


@dataclass(eq=False)
class ClassifierPolicy(BatchLearner):
    """A policy given by a classifier.

    Parameters
    ----------
    classifier : classifier
        Any estimator of scikit-learn's kind with `fit` and `predict` for classes, a pipeline too; it is copied, not
        changed. ``make_pipeline(TileCoding(...), LogisticRegression())`` classifies features.
    seed : int, optional
        Seeds whatever is random in the classifier and has no ``random_state`` yet; by default that of `learn` does.
    gamma : float
        Discount per step of evaluations, in [0, 1].
    behaviour : str or callable
        Who is cloned, if `learn` is given an environment: "optimal", an optimal policy of its model; "random"; a saved
        agent ``FILE.npz``; or ``behaviour(observation) -> action``.

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

    classifier: Predictor = field(default_factory=lambda: scikit_learn("tree").DecisionTreeClassifier())
    seed: int | None = None
    _: KW_ONLY
    gamma: float = 0.99
    behaviour: object = OPTIMAL

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gamma = fraction("gamma", self.gamma)
        classifier = self.classifier
        if not (hasattr(classifier, "fit") and hasattr(classifier, "predict")) or isinstance(classifier, type):
            raise errors.ParameterError(
                f"classifier={shown(classifier)} must be an instance of a classifier, such as GaussianNB()"
            )
        if not is_classifier(classifier):
            raise errors.ParameterError(
                f"classifier={shown(classifier)} predicts numbers, but actions are classes; FittedQ takes regressors"
            )
        self.seed = None if self.seed is None else whole_number("seed", self.seed, at_least=0)
        self._own_seed = self.seed

    observation_space_: Space | None = field(default=None, init=False, repr=False)
    first_action_: int = field(default=0, init=False, repr=False)
    _known: KnownActions | None = field(default=None, init=False, repr=False)

    def fit(self, observations: ArrayLike, actions: ArrayLike, action_mask: ArrayLike | None = None) -> Self:
        """Learn from examples, observations (n, d) and the actions (n,) taken there, and return self.

        A mask (n, n_actions) says which actions were legal there; by default all.

        Raises
        ------
        ParameterError
            If the observations are not finite numbers, the actions not whole ones, or not as many, or the mask forbids
            one of them.
        LearningError
            If the classifier cannot be fitted; what was learned before is kept.
        """
        seen = check_observations(observations, None, "ClassifierPolicy")
        taken = checked_actions(actions, len(seen))
        known = np.unique(taken)
        legal = None
        if action_mask is not None:
            legal = self._checked_mask(action_mask, known, len(seen))
            allowed = legal[np.arange(taken.size), taken - self.first_action_]
            if not allowed.all():
                at = int(np.argmin(allowed))
                raise errors.ParameterError(f"action_mask[{at}] forbids action {taken[at]}, which actions[{at}] takes")
        fitted = None
        if known.size > 1:  # most classifiers raise an error for a single class
            fitted = fresh(self.classifier, np.random.default_rng(self._own_seed))
            with naming(f"ClassifierPolicy: {type(fitted).__name__} cannot learn from these {len(seen)} examples"):
                fitted.fit(seen, taken)
        self.classifier_, self.actions_, self.n_features_in_ = fitted, known, seen.shape[1]
        self._known = None if legal is None else KnownActions(seen, legal)
        self._share = np.bincount(np.searchsorted(known, taken)) / taken.size
        return self

    def teach(self, batch: Batch, seed: int, progress: bool) -> None:
        """Clone the policy that a batch was collected with, as `fit` does; part of `learn`."""
        self.observation_space_, self.first_action_ = batch.observation_space, batch.first_action
        self._own_seed = seed if self.seed is None else self.seed
        self.fit(batch.observation, batch.action + batch.first_action, batch.action_mask)

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
        legal = solution.q[acts] > -np.inf
        return self.fit(seen[acts], solution.policy[acts], None if legal.all() else legal)

    def predict(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.int64]:
        """Actions (n,) for observations (n, d).

        Parameters
        ----------
        observations : array_like (n, d)
            Observations as vectors.
        action_mask : array_like (n, n_actions), optional
            1 for the actions that are legal. By default those that the masks of the batch allow at observations that
            are in it, and all at others.

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the observations are not finite or of another width, or the mask has not a 0 or 1 for each action, or
            leaves none.
        LearningError
            If the classifier fails.
        """
        if "actions_" not in vars(self):
            raise errors.NotLearned("this ClassifierPolicy has not learned yet; call learn(batch) or fit first")
        seen = check_observations(observations, self.n_features_in_, "ClassifierPolicy")
        if action_mask is not None:
            action_mask = self._checked_mask(action_mask, self.actions_, len(seen))
        legal = legal_at(self._known, seen, action_mask, np.shape(action_mask)[-1] if action_mask is not None else 0)
        if self.classifier_ is None or not len(seen):
            chosen = np.full(len(seen), self.actions_[0])
        else:
            with self._naming(len(seen)):
                chosen = np.asarray(self.classifier_.predict(seen), dtype=np.int64)
        if legal is not None:
            illegal = np.flatnonzero(~legal[np.arange(len(seen)), chosen - self.first_action_])
            if illegal.size:
                chosen[illegal] = self._legal_ones(seen[illegal], legal[illegal])
        return chosen

    def _checked_mask(self, mask: ArrayLike, known: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
        """Return a mask of n observations with a column for each known action, at least."""
        least = int(known[-1]) - self.first_action_ + 1
        width = np.shape(mask)[-1] if np.ndim(mask) == 2 else least
        if width < least:
            raise errors.ParameterError(f"action_mask has {width} columns; the examples have {least} actions")
        return legal_actions("action_mask", mask, width, n)

    def _naming(self, n: int) -> AbstractContextManager[None]:
        return naming(f"ClassifierPolicy: {type(self.classifier_).__name__} cannot choose for {n} observations")

    def _legal_ones(self, seen: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the legal action (n,) that suits best; the first legal one where no example has a legal action."""
        scores = np.where(legal[:, self.actions_ - self.first_action_], self._scores(seen), -np.inf)
        best = self.actions_[scores.argmax(axis=1)]
        return np.where(np.isfinite(scores).any(axis=1), best, legal.argmax(axis=1) + self.first_action_)

    def _scores(self, seen: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how well each of `actions_` suits, (n, k): by the classifier, or by its share of the examples."""
        classifier: Any = self.classifier_
        by_share = np.broadcast_to(self._share, (len(seen), self._share.size))
        with self._naming(len(seen)):
            if hasattr(classifier, "predict_proba"):
                found = np.asarray(classifier.predict_proba(seen), dtype=np.float64)
            elif hasattr(classifier, "decision_function"):
                found = np.asarray(classifier.decision_function(seen), dtype=np.float64)
            else:
                return by_share
        if found.ndim == 1:  # a decision between two: above 0 for the second
            found = np.stack([-found, found], axis=1)
        return found if found.shape == by_share.shape else by_share

    def action_probabilities(self, seen: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probabilities (n, n_actions) of the actions at vectors (n, d), some of them legal; part of evaluations."""
        found = np.zeros(legal.shape)
        chosen = self.predict(seen, None if legal.all() else legal)
        found[np.arange(len(seen)), chosen - self.first_action_] = 1.0
        return found

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Return the action for one observation; see `predict`."""
        mask = None if action_mask is None else np.asarray(action_mask)[None]
        return int(self.predict(encoded(self.observation_space_, observation)[None], mask)[0])

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
