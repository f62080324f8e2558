"""The base of everything that learns weights of features: control agents and predictors."""

import warnings
from dataclasses import dataclass
from typing import Any, Self, cast

import gymnasium
import numpy as np
import sklearn.base
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.agents.storage import whole
from rlsuite.approximation.linear.fit_features import bind_features, check_features, check_width, legal_ids
from rlsuite.approximation.linear.memory import ActiveFeatures
from rlsuite.core.declared import check_array
from rlsuite.core.npz import Npz
from rlsuite.exploration import Legality
from rlsuite.features.feature_map import FeatureMap
from rlsuite.features.identity import Identity, OneHot
from rlsuite.schedules import VISITS, Rate, Schedule, as_schedule
from rlsuite.training.observation_view import Encoding

_base: Any = sklearn.base  # scikit-learn has no type annotations

INFINITE = "what it has learned is no longer finite"
PUT_BACK = (
    "The weights from before this call are restored. A smaller learning_rate often helps (with n features active at a "
    "time, 1 / n is the largest that makes sense); off-policy with bootstrapping, only gradient-TD methods are "
    "sure to converge"
)
ENORMOUS = 1e12
"""Weights beyond this diverge, whatever the rewards are."""


def new_active_features(most_active: int) -> ActiveFeatures:
    """Make room for the features of two observations."""
    rows = (2, most_active)
    return ActiveFeatures(
        np.zeros(rows, dtype=np.int64), np.zeros(rows), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


def check_unit(name: str, rate: Rate) -> None:
    """Raise ParameterError if a schedule counts visits."""
    if rate.unit == VISITS:
        raise errors.ParameterError(f"{name}: a schedule per='visits' needs a table; use per='steps' or per='episodes'")


@dataclass(eq=False, kw_only=True)
class LinearLearner(Agent):
    """Base of everything that learns weights of features.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in. One of rlsuite's feature maps, or whatever has scikit-learn's `fit` and
        `transform`, fitted. It is copied. By default `OneHot` for ids, and `Identity` for all other observations.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or counts visits, which only a table can do.
    """

    features: Any = None
    learning_rate: float | Schedule = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_unit("learning_rate", as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate)
        check_features(self.features)

    def learn(self, env: str | gymnasium.Env[Any, Any], **options: Any) -> Self:
        """Learn as every agent does (see `Agent.learn`), and check that the weights do not diverge.

        Raises
        ------
        LearningError
            If a weight has become infinite or NaN; what was learned is put back to what it was before this call.

        Warns
        -----
        DivergenceWarning
            If a weight is larger than anything that a return could ask for; it is put back, too.
        """
        before = None if self._memory is None else [array.copy() for array in _learned_by(self._memory)]
        try:
            super().learn(env, **options)
        except errors.LearningError as error:
            why = "" if self._memory is None else self._put_back(before)
            if not why:
                raise
            raise errors.LearningError(f"{type(self).__name__} has diverged: {why} ({error})") from error
        why = self._put_back(before)
        if why.startswith(INFINITE):
            raise errors.LearningError(f"{type(self).__name__} has diverged: {why}")
        if why:
            level = errors.level_of_the_caller()
            warnings.warn(f"{type(self).__name__} diverges: {why}", errors.DivergenceWarning, stacklevel=level)
        return self

    def _put_back(self, before: list[NDArray[Any]] | None) -> str:
        """Restore the previous weights if those that were learned diverge; return the reason."""
        known = self.memory_
        largest = float(np.abs(known.weights).max(initial=0.0))
        finite = all(np.isfinite(array).all() for array in _learned_by(known))
        if finite and largest <= ENORMOUS:
            return ""
        before = before or _learned_by(self.remember(known.legal, known.legality))
        for array, good in zip(_learned_by(known), before, strict=True):
            array[...] = good
        return f"{f'its largest weight has become {largest:.3g}' if finite else INFINITE}. {PUT_BACK}"

    def bind_environment(self, env: gymnasium.Env[Any, Any]) -> Encoding | None:
        """Fit the features to the bounds of an environment, if that is all they need.

        Raises
        ------
        NotLearned
            If the features are not fitted, and bounds are not enough for them.
        UnsuitableEnvironment
            If the observations are not numbers, or of another width than what the features were fitted to.
        """
        # after loading from a file only `features_` is fitted, and `features` is not
        fitted = self._memory is not None and isinstance(self.features, FeatureMap)
        features, self.encoding_ = bind_features(self.features_ if fitted else self.features, env)
        if self._memory is not None:
            features = self.features_  # the weights belong to these features
            check_width(features, self.encoding_)
        self.features_ = features
        self.first_observation_ = self.encoding_.first
        self._legal = legal_ids(env)
        return self.encoding_

    def _restore_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Any:
        known = self._memory
        if known is not None and len(known.weights) != self.features_.n_features_out_:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned {len(known.weights)} weights per action, and the features of "
                f"this environment need {self.features_.n_features_out_}. Use a new agent for it"
            )
        return super()._restore_memory(legal, legality)

    def all_ids(self) -> NDArray[np.float64]:
        """All ids of a Discrete space, counted from 0, as observations (n, 1).

        Raises
        ------
        ParameterError
            If the observations are not ids.
        """
        if not len(self._legal):
            raise errors.ParameterError(
                "observations= is needed, an array (n, d): the observations of this environment are not ids"
            )
        return np.arange(float(len(self._legal)))[:, None]

    @property
    def legal_(self) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_ids, n_actions); (0, n_actions) where observations are not ids."""
        return self._legal

    def kept_arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps beside the learned arrays: the fitted features, and the bounds they were fitted to.

        Raises
        ------
        FileError
            If the features are not a `FeatureMap`: they could be kept as a pickle only, and none is ever loaded.
        """
        if self.encoding_.transform is not None:
            raise errors.FileError(
                f"features of the class {type(self.features).__name__} cannot be saved without a pickle; use a "
                "FeatureMap, such as TileCoding or PrincipalComponents"
            )
        fitted = {f"features.{name}": value for name, value in self.features_.fitted_.items()}
        bounds = {"low": self.encoding_.low, "high": self.encoding_.high, "legal_ids": self._legal}
        return {**super().kept_arrays(), **fitted, **bounds}

    def restore(self, header: dict[str, Any], arrays: Npz, episodes: NDArray[np.void]) -> None:
        """Restore what `save` has written; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the agent or its features declare.
        UnsuitableEnvironment
            If the features are those of observations of another width.
        """
        low, high = (arrays.take(name, np.float64, ndim=1) for name in ("low", "high"))
        self._legal = arrays.take("legal_ids", np.bool_, ndim=2)
        if low.shape != high.shape or np.isnan(low).any() or np.isnan(high).any():
            raise ValueError("low and high must have the same length, without NaN")
        check_array("legal_ids", self._legal, None, {})
        self.encoding_ = Encoding(low, high, whole(header, "first_observation"), n_ids=len(self._legal))
        fitted = {name.removeprefix("features."): arrays.take(name) for name in arrays.below("features.")}
        if self.features is None:
            kind = OneHot if "first_" in fitted else Identity
            self.features_ = kind().restore(fitted)
        else:
            self.features_ = cast(FeatureMap, _base.clone(self.features)).restore(fitted)
        check_width(self.features_, self.encoding_)
        super().restore(header, arrays, episodes)
        n_rows, n_actions = self._memory.legal.shape
        if n_rows != 2 or self._legal.shape[1] != n_actions:
            raise ValueError(
                f"legal has shape {(n_rows, n_actions)}; it must have (2, {self._legal.shape[1]}), like legal_ids"
            )


def _learned_by(memory: Any) -> list[NDArray[Any]]:
    """Everything that a rule learns: the weights, and its other arrays."""
    return [memory.weights, *(value for value in memory.learned if isinstance(value, np.ndarray))]
