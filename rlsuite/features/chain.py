"""Maps one after the other, compiled as one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.features.checks import check_observations
from rlsuite.features.estimators import Fitted, clone, dense
from rlsuite.features.feature_map import Bounds, FeatureMap, FeatureRule


class Composition(NamedTuple):
    """The data of the compiled form of two maps in a row."""

    first: FeatureRule
    second: FeatureRule
    capacity: int  # entries of the lists that the two maps use
    width: int  # entries after these, for the features of the first map


@compiled(in_place=True)
def _composed(
    data: Composition, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Write the features of the first map as a vector after the lists, and apply the second map to it."""
    between = values[data.capacity : data.capacity + data.width]
    for i in range(data.width):
        between[i] = 0.0
    for k in range(data.first.active(data.first.data, observation, indices, values)):
        between[indices[k]] += values[k]
    return data.second.active(data.second.data, between, indices, values)


@dataclass(eq=False, repr=False)
class Chain(FeatureMap):
    """Several maps, each applied to the features of the one before: a pipeline with a compiled form.

    scikit-learn's own ``Pipeline`` takes the maps too, and any transformer between them, but has no compiled form.

    Parameters
    ----------
    features : sequence of FeatureMap
        At least one; `fit` fits copies of them.

    Attributes
    ----------
    maps_ : list of FeatureMap
        The fitted maps.

    Raises
    ------
    ParameterError
        From `fit`, if there is no map, or something else than maps.

    Examples
    --------
    >>> from rlsuite.features import Polynomial, Scaling
    >>> chain = Chain([Scaling(low=0.0, high=10.0), Polynomial(3)]).fit([[0.0]])
    >>> chain.transform([[5.0]])
    array([[1.   , 0.5  , 0.25 , 0.125]])
    """

    features: Sequence[FeatureMap]

    def check_parameters(self) -> None:
        """Raise unless all features are maps, and there is at least one."""
        if len(self.features) == 0:
            raise errors.ParameterError("Chain: features is empty; give at least one feature map")
        for i, each in enumerate(cast("Sequence[object]", self.features)):
            if not isinstance(each, FeatureMap):
                raise errors.ParameterError(
                    f"Chain: features[{i}] is a {type(each).__name__}, which is not a FeatureMap of rlsuite and has no "
                    "compiled form; scikit-learn's Pipeline takes any transformer"
                )
            each.check_parameters()

    @property
    def sparse(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - it is that of the last map
        """Whether `transform` returns a SciPy CSR matrix: as the last map does."""
        return self.features[-1].sparse

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit each map to the features that the maps before it compute from observations (n, d); `y` is ignored."""
        self.check_parameters()
        features = check_observations(X, None, "Chain")
        fitted: list[FeatureMap] = []
        for i, each in enumerate(self.features):
            if i > 0:
                features = dense(fitted[-1].transform(features))
            fitted.append(clone(each).fit(features))
        return self._link(fitted).name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Fit each map to the bounds of the features of the maps before it, from bounds (d,)."""
        self.check_parameters()
        fitted: list[FeatureMap] = []
        for each in self.features:
            fitted.append(clone(each).fit_bounds(low, high))
            low, high = fitted[-1].image(low, high)
        return self._link(fitted)

    def fit_seen(
        self,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        seen: Callable[[], NDArray[np.float64]],
        rng: np.random.Generator,
    ) -> Self:
        """Fit each map to the bounds of the features before it, and else to the features of what was seen.

        Features that have no bounds, after a map that has learned, are those of what was seen.
        """
        self.check_parameters()
        fitted: list[FeatureMap] = []

        def features() -> NDArray[np.float64]:
            return reduce(lambda found, each: dense(each.transform(found)), fitted, seen())

        for each in self.features:
            one = clone(each)
            if fitted and not np.isfinite(np.concatenate([low, high])).all():
                low, high = features().min(axis=0), features().max(axis=0)
            fitted.append(one.fit_seen(low, high, features, rng))
            low, high = fitted[-1].image(low, high)
        return self._link(fitted)

    def _link(self, fitted: list[FeatureMap]) -> Self:
        self.maps_ = fitted
        self.n_features_in_, self.n_features_out_ = fitted[0].n_features_in_, fitted[-1].n_features_out_
        self.most_active_ = reduce(_join, [(each.rule, each.most_active_, each.n_features_out_) for each in fitted])[1]
        return self

    def check(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return observations in the form that the first map expects."""
        return self.maps_[0].check(X)

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Bounds of the last map's features."""
        for each in self.maps_:
            low, high = each.image(low, high)
        return low, high

    @property
    def rule(self) -> FeatureRule:
        """The fitted maps in compiled form."""
        return reduce(_join, [(each.rule, each.most_active_, each.n_features_out_) for each in self.maps_])[0]

    @property
    def fitted_(self) -> Fitted:
        """The fitted attributes of the maps, as arrays by number and name."""
        return {f"{i}.{name}": value for i, each in enumerate(self.maps_) for name, value in each.fitted_.items()}

    def restore(self, fitted: Fitted) -> Self:
        """Restore the arrays that `fitted_` returned."""
        restored: list[FeatureMap] = []
        for i, each in enumerate(self.features):
            of_map = {name.removeprefix(f"{i}."): fitted[name] for name in fitted if name.startswith(f"{i}.")}
            restored.append(clone(each).restore(of_map))
            if i and restored[-1].n_features_in_ != restored[-2].n_features_out_:
                raise ValueError(
                    f"map {i} was fitted to {restored[-1].n_features_in_} features, and the map before it makes "
                    f"{restored[-2].n_features_out_}"
                )
        known = {f"{i}." for i in range(len(restored))}
        for name in sorted(fitted):
            if f"{name.partition('.')[0]}." not in known:
                raise ValueError(f"it has an unknown array {name!r}")
        return self._link(restored)


Link = tuple[FeatureRule, int, int]
"""A rule, how long its lists are, and how many features it has."""


def _join(first: Link, second: Link) -> Link:
    capacity, width = max(first[1], second[1]), first[2]
    return FeatureRule(_composed, Composition(first[0], second[0], capacity, width)), capacity + width, second[2]
