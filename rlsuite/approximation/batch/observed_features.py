"""The features of a batch: any transformer of scikit-learn, or none."""

import warnings
from contextlib import AbstractContextManager

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.core.array_like import ArrayLike
from rlsuite.environments.observation_view import encoding
from rlsuite.features.checks import check_observations, naming, shown
from rlsuite.features.estimators import Matrix, Transformer, clone, is_frozen
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
