"""Agents whose rule asks its memory, and not a table: `features=` replaces the table by weights of features.

A rule that is written with the functions of `rlsuite.agents.memory` learns in a table as well as in weights. What
differs is the memory, and what an environment's observations become; both are here. Without features everything is
that of `Agent`. The feature maps and scikit-learn are imported when features are given.
"""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.agents.feature_memory import ActiveFeatures, evaluate_rows
from rlsuite.agents.schedules import VISITS, Rate, Schedule, as_schedule
from rlsuite.agents.storage import whole
from rlsuite.core.aliases import Env, Own
from rlsuite.core.declared import check_array
from rlsuite.core.described import Plain
from rlsuite.core.npz import Npz
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.legality import Legality

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap

ONLY = {
    "visits_": "it has features, and only a table counts visits",
    "weights_": "it learns a table; an agent with features= learns weights",
}
"""Why a learned array is missing."""


def new_active_features(most_active: int) -> ActiveFeatures:
    """Make a buffer for the features of two observations."""
    rows = (2, most_active)
    return ActiveFeatures(
        np.zeros(rows, dtype=np.int64), np.zeros(rows), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


def check_unit(name: str, rate: Rate) -> None:
    """Raise ParameterError if a schedule counts visits."""
    if rate.unit == VISITS:
        raise errors.ParameterError(f"{name}: a schedule per='visits' needs a table; use per='steps' or per='episodes'")


@dataclass(eq=False, kw_only=True)
class FeatureAgent(Agent):
    """Base of the agents that learn in a table, or in weights of features.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in: one of rlsuite's feature maps, or a fitted object with scikit-learn's `fit` and
        `transform`. It is copied. By default a table.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; of features a schedule counts steps or episodes.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or a schedule counts visits, which only a table can do.
    """

    needs_features: ClassVar[bool] = False
    """Whether there is no table: without `features` these are `OneHot` for ids, and `Identity` for all others."""

    learning_rate: float | Schedule = 0.1
    features: "FeatureMap | Transformer | None" = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features is not None:
            from rlsuite.agents.fit_features import check_features

            check_features(self.features)
        if self.uses_features:
            check_unit("learning_rate", as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate)

    @property
    def uses_features(self) -> bool:
        """Whether it learns weights of features, and not a table."""
        return self.needs_features or self.features is not None

    # ------------------------------------------------------------------------------------------------------- learning

    def bind_environment(self, env: Env) -> Encoding | None:
        """Fit the features to the bounds of an environment, if that is all they need.

        Raises
        ------
        NotLearned
            If the features are not fitted, and bounds are not enough for them.
        UnsuitableEnvironment
            If the observations are not ids, for a table; not numbers, or of another width than what the features were
            fitted to.
        """
        if not self.uses_features:
            return super().bind_environment(env)
        from rlsuite.agents.fit_features import bind_features, check_width, legal_ids
        from rlsuite.features import FeatureMap

        # after loading from a file only `features_` is fitted, and `features` is not
        fitted = self._memory is not None and isinstance(self.features, FeatureMap)
        features, self.encoding_ = bind_features(self.features_ if fitted else self.features, env)
        if self._memory is not None:
            features = self.features_  # the weights belong to these features
            check_width(features, self.encoding_)
        self.features_: FeatureMap = features
        self.first_observation_, self.observation_ids_ = self.encoding_.first, None
        self._legal = legal_ids(env)
        return self.encoding_

    def _restore_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        known = self._memory
        if self.uses_features and known is not None and len(known.weights) != self.features_.n_features_out_:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned {len(known.weights)} weights per action, and the features of "
                f"this environment need {self.features_.n_features_out_}. Use a new agent for it"
            )
        return super()._restore_memory(legal, legality)

    # ------------------------------------------------------------------------------------------------ what was learned

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features, n_actions); only with features."""
        if self._memory is not None and not self.uses_features:
            raise AttributeError("weights_")
        return self.memory_.weights

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name, as of every agent; those that only a table has, or only weights, say so."""
        if name in ONLY and self._memory is not None:
            raise AttributeError(f"this {type(self).__name__} has no {name}: {ONLY[name]}")
        return super().__getattr__(name)

    def values_of(self, observations: ArrayLike | None) -> NDArray[np.float64]:
        """The values by the weights, shape (n, n_columns), of observations (n, d); by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        from rlsuite.features.checks import check_observations

        known = self.memory_
        given = self.all_ids() if observations is None else observations
        rows = check_observations(given, self.encoding_.low.size, type(self).__name__)
        if self.encoding_.transform is not None:
            rows = self.encoding_.transform(rows)
        values, most_active = np.zeros((len(rows), known.weights.shape[1])), self.features_.most_active_
        evaluate_rows(
            known.features, known.weights, rows, np.zeros(most_active, dtype=np.int64), np.zeros(most_active), values
        )
        return values

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
        return self._legal if self.uses_features else super().legal_

    def kept_arrays(self) -> dict[str, AnyArray]:
        """What a file keeps beside the learned arrays: the fitted features, and the bounds they were fitted to.

        Raises
        ------
        FileError
            If the features are not a `FeatureMap`: they could be kept as a pickle only, and none is ever loaded.
        """
        if not self.uses_features:
            return super().kept_arrays()
        if self.encoding_.transform is not None:
            raise errors.FileError(
                f"features of the class {type(self.features).__name__} cannot be saved without a pickle; use a "
                "FeatureMap, such as TileCoding or PrincipalComponents"
            )
        fitted = {f"features.{name}": value for name, value in self.features_.fitted_.items()}
        bounds = {"low": self.encoding_.low, "high": self.encoding_.high, "legal_ids": self._legal}
        return {**super().kept_arrays(), **fitted, **bounds}

    def restore(self, header: Plain, arrays: Npz, episodes: NDArray[np.void]) -> None:
        """Restore what `save` has written; part of `rlsuite.load`.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the agent or its features declare.
        UnsuitableEnvironment
            If the features are those of observations of another width.
        """
        if not self.uses_features:
            super().restore(header, arrays, episodes)
            return
        from rlsuite.agents.fit_features import check_width
        from rlsuite.features import Identity, OneHot

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
            unfitted = cast("FeatureMap", copy.deepcopy(self.features))  # others are not saved
            self.features_ = unfitted.restore(fitted)
        check_width(self.features_, self.encoding_)
        super().restore(header, arrays, episodes)
        n_rows, n_actions = self._memory.legal.shape
        if n_rows != 2 or self._legal.shape[1] != n_actions:
            raise ValueError(
                f"legal has shape {(n_rows, n_actions)}; it must have (2, {self._legal.shape[1]}), like legal_ids"
            )
