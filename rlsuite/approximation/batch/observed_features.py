"""What estimators see of a batch: observations, actions, and which actions are legal.

The interface between a batch method and an environment: vectors in, indices of actions out.

The legal actions that a batch has at its observations.

Two ways to give a regressor of single numbers the action.

One regressor for each action is fitted to its transitions only; or one regressor for all has, after the features, one
more column for each action, which is 1 for the action taken and 0 for the others. Either way the matrices are built
once, and the values of all actions of many observations take as few calls as there are regressors.

The features of a batch: any transformer of scikit-learn, or none.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Self, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.regressors import predictions
from rlsuite.core.aliases import Space
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions
from rlsuite.environments.observation_view import encoding, numbers_of
from rlsuite.errors import ParameterError
from rlsuite.features.checks import check_observations, naming, shown
from rlsuite.features.estimators import Matrix, Predictor, Transformer, clone, is_frozen
from rlsuite.features.feature_map import FeatureMap
from rlsuite.features.learned import (
    AsFeatures,
    Seen,
    fit_estimator,
    one_thread,
    seeds_of_features,
    set_open_seeds,
    sums_to_the_end,
)

Encode: TypeAlias = Callable[[object], NDArray[np.float64]]
"""``observation -> vector (d,)``"""


def encoder(space: Space | None) -> Encode:
    """Return the function that makes vectors (d,) of the observations of a space; None stands for an unknown space.

    It raises ParameterError for what is not an observation of the space, or does not consist of numbers.
    """
    return numbers_of if space is None else encoding(space).given


def encoded(space: Space | None, observation: object) -> NDArray[np.float64]:
    """Return one observation of a space as a vector (d,)."""
    return encoder(space)(observation)


class KnownActions:
    """The actions that were legal at each observation of a batch; elsewhere all are.

    Where the same observation had different masks, an action is known as legal that was legal once.

    Parameters
    ----------
    observations : ndarray (n, d) float64
    legal : ndarray (n, n_actions) bool

    Examples
    --------
    >>> known = KnownActions(np.array([[1.0], [2.0], [1.0]]), np.array([[True, False], [False, True], [True, False]]))
    >>> known.at([[1.0], [7.0]])
    array([[ True, False],
           [ True,  True]])
    """

    def __init__(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> None:
        self.observations, where = np.unique(observations + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
        self.legal = np.zeros((len(self.observations), legal.shape[1]), dtype=np.bool_)
        np.logical_or.at(self.legal, where.reshape(-1), legal)
        self._rows = {row.tobytes(): i for i, row in enumerate(self.observations)}

    def and_those_at(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> Self:
        """Return what is known with more observations."""
        return type(self)(np.concatenate([self.observations, observations]), np.concatenate([self.legal, legal]))

    def at(self, observations: ArrayLike) -> NDArray[np.bool_]:
        """Return the legal actions (n, n_actions) at observations (n, d)."""
        seen = np.asarray(observations, dtype=np.float64) + 0.0
        rows = np.array([self._rows.get(one.tobytes(), -1) for one in seen], dtype=np.int64)
        return np.where(rows[:, None] >= 0, self.legal[rows], True)


def legal_at(
    known: KnownActions | None, observations: ArrayLike, action_mask: ArrayLike | None, n_actions: int
) -> NDArray[np.bool_] | None:
    """Return the legal actions (n, n_actions) at observations (n, d): those given, or those known; None for all.

    Raises
    ------
    ParameterError
        If the mask is not a 0 or 1 for each action at each observation, or leaves no action at one of them.
    """
    if action_mask is None:
        return None if known is None else known.at(observations)
    legal = legal_actions("action_mask", action_mask, n_actions, len(np.asarray(observations)))
    if not legal.any(axis=1).all():
        at = int(np.argmin(legal.any(axis=1)))
        raise ParameterError(f"action_mask[{at}] leaves no action; at least one must be legal at each observation")
    return legal


Fit: TypeAlias = Callable[[Matrix, NDArray[np.float64], NDArray[np.float64]], Predictor]
"""``(inputs (n, k), targets (n,), weights (n,)) -> fitted regressor``"""


def rows_of_actions(action: NDArray[np.int64], n_actions: int, fix: str) -> list[NDArray[np.int64]]:
    """Return the indices of the transitions of each action.

    Raises
    ------
    ParameterError
        If an action has none; the message ends with what to do.
    """
    rows = [np.flatnonzero(action == a) for a in range(n_actions)]
    missing = [a for a in range(n_actions) if not rows[a].size]
    if missing:
        raise ParameterError(
            f"the batch has no transition with action {', '.join(map(str, missing))} (of 0..{n_actions - 1}), so its "
            f"value cannot be learned; {fix}"
        )
    return rows


class OnePerAction:
    """Training inputs of one regressor per action."""

    def __init__(self, features: Matrix, action: NDArray[np.int64], weight: NDArray[np.float64], n_actions: int):
        fix = "collect more transitions, or let one regressor see all actions (one_per_action=False)"
        self.rows = rows_of_actions(action, n_actions, fix)
        self.inputs = [features[rows] for rows in self.rows]
        self.weights = [weight[rows] for rows in self.rows]

    def fit(self, fit: Fit, target: NDArray[np.float64]) -> list[Predictor]:
        """Fit a regressor to the targets of each action."""
        parts = zip(self.inputs, self.rows, self.weights, strict=True)
        return [fit(inputs, target[rows], weight) for inputs, rows, weight in parts]

    @staticmethod
    def inputs_of_all_actions(features: Matrix, n_actions: int) -> Matrix:
        """Return the inputs whose predictions are the values of all actions: the features themselves."""
        return features

    @staticmethod
    def values(fitted: Sequence[Predictor], owner: str, inputs: Matrix, n_actions: int) -> NDArray[np.float64]:
        """Predict the values (n_actions, n)."""
        return np.stack([predictions(one, owner, inputs) for one in fitted])


class OneForAll:
    """Training inputs of one regressor whose inputs include the action."""

    def __init__(self, features: Matrix, action: NDArray[np.int64], weight: NDArray[np.float64], n_actions: int):
        self.weight = weight
        self.inputs = _side_by_side(features, np.eye(n_actions)[action])

    def fit(self, fit: Fit, target: NDArray[np.float64]) -> list[Predictor]:
        """Fit the regressor to all targets."""
        return [fit(self.inputs, target, self.weight)]

    @staticmethod
    def inputs_of_all_actions(features: Matrix, n_actions: int) -> Matrix:
        """Return the inputs (n_actions * n, k + n_actions) whose predictions are the values of all actions."""
        n = int(features.shape[0])
        return _side_by_side(features[np.tile(np.arange(n), n_actions)], np.repeat(np.eye(n_actions), n, axis=0))

    @staticmethod
    def values(fitted: Sequence[Predictor], owner: str, inputs: Matrix, n_actions: int) -> NDArray[np.float64]:
        """Predict the values (n_actions, n)."""
        return predictions(fitted[0], owner, inputs).reshape(n_actions, -1)


def _side_by_side(features: Matrix, indicators: NDArray[np.float64]) -> Matrix:
    """Return the columns of both, as a sparse matrix if the features are one."""
    if hasattr(features, "tocsr"):
        from scipy.sparse import csr_array, hstack

        return hstack([features, csr_array(indicators)], format="csr")
    return np.hstack([features, indicators])


class ObservedFeatures:
    """A feature map fitted to all observations of a batch, before and after; for ids, to all that there are if it can.

    Parameters
    ----------
    features : transformer or None
        Anything with ``fit(X)`` and ``transform(X)``; it is cloned. None leaves the observations as they are.
    batch : Batch
        What to fit it to.
    owner : str
        Who asks, for the messages.
    seed : int
        Of what is random in the features, and leaves its seed open.

    Attributes
    ----------
    low, high : ndarray (d,) float64
        The range of observations: the bounds of their space and, where it has none, of all batches that `widen` was
        given. Observations outside count as on its border; a `FeatureMap` has bounds of its own.
    outside : int
        How many observations outside were asked for.

    Raises
    ------
    ParameterError
        If it gives no features, or cannot be fitted to the batch.
    """

    def __init__(self, features: Transformer | None, batch: Batch, owner: str, seed: int):
        self.owner = owner
        self.width = batch.observation.shape[1]
        self.low, self.high = np.full(self.width, np.inf), np.full(self.width, -np.inf)
        self.outside = 0
        self.clips = not (isinstance(features, FeatureMap) or is_frozen(features))
        self.map: AsFeatures | None = None
        if features is not None:
            if not hasattr(features, "fit"):
                raise errors.ParameterError(
                    f"{owner}: features={shown(features)} has no fit; give a transformer of scikit-learn, or a feature "
                    "map such as TileCoding()"
                )
            self.map = AsFeatures(features)  # named in messages
            if not is_frozen(features):  # its fit does nothing, but would need targets
                with self._naming("be fitted to"):
                    self.map = AsFeatures(_fitted(features, batch, np.random.default_rng(seeds_of_features(seed))))

    def __call__(self, observations: ArrayLike) -> Matrix:
        """Return the features (n, k) of observations (n, d): an array, or a sparse matrix in row form.

        Raises
        ------
        ParameterError
            If the observations are not finite or of another width, or the transformer refuses them.
        """
        seen: NDArray[np.float64] = check_observations(observations, self.width, self.owner)
        outside = int(np.count_nonzero(((seen < self.low) | (seen > self.high)).any(axis=1)))
        if outside:
            self.outside += outside
            seen = np.clip(seen, self.low, self.high) if self.clips else seen
        if self.map is None:
            return seen
        with self._naming("transform"):
            found: Matrix = self.map(seen)
        return found.tocsr() if hasattr(found, "tocsr") else np.asarray(found, dtype=np.float64)

    def widen(self, batch: Batch) -> None:
        """Take the observations of a batch into the range."""
        both = np.concatenate([batch.observation, batch.next_observation])
        self.low, self.high = np.minimum(self.low, both.min(axis=0)), np.maximum(self.high, both.max(axis=0))
        if batch.observation_space is not None:
            known = encoding(batch.observation_space)
            if known.low.size == self.width:
                self.low = np.where(np.isfinite(known.low), np.minimum(self.low, known.low), self.low)
                self.high = np.where(np.isfinite(known.high), np.maximum(self.high, known.high), self.high)

    def say_outside(self, before: int) -> None:
        """Warn if there were observations outside since there were `before`.

        Warns
        -----
        OutsideWarning
            Then; the message says how many, and what the range is.
        """
        n = self.outside - before
        if not n:
            return
        many = "1 observation lies" if n == 1 else f"{n:,} observations lie"
        ranges = ", ".join(f"{low:g}..{high:g}" for low, high in zip(self.low[:4], self.high[:4], strict=True))
        more = ", ..." if self.width > 4 else ""
        what = "values are those on its border" if self.clips else "the features say what values are there"
        warnings.warn(
            f"{self.owner}: {many} outside of the range that it has learned from "
            f"({ranges}{more}); {what}. A batch that reaches farther mends that",
            errors.OutsideWarning,
            stacklevel=errors.level_of_the_caller(),
        )

    def _naming(self, what: str) -> AbstractContextManager[None]:
        """Raise errors of a third-party transformer as ours, with its name."""
        name = "" if self.map is None else type(self.map.estimator).__name__
        return naming(
            f"{self.owner}: features: {name} cannot {what} observations of {self.width} numbers", errors.ParameterError
        )


def _fitted(features: Transformer, batch: Batch, rng: np.random.Generator) -> Transformer:
    """A fitted copy: of ids, to all that there are, if that is enough; else to what the batch has seen."""
    observations = np.concatenate([batch.observation, batch.next_observation])
    if isinstance(features, FeatureMap):
        fitted = clone(features)
        if not features.is_fitted and isinstance(batch.observation_space, Discrete):
            known = encoding(batch.observation_space)
            return fitted.fit_seen(known.low, known.high, lambda: observations, rng)
        set_open_seeds(fitted, rng)
        with one_thread():
            return fitted.fit(observations)
    returns = sums_to_the_end(batch.reward, np.append(batch.first[1:], True))
    return fit_estimator(features, Seen(observations, np.concatenate([returns, returns - batch.reward])), rng)
