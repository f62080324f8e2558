"""Principal components: the directions in which observations differ most."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from rlsuite import errors
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.checks import check_observations, check_seed
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import FeatureMap, FeatureRule


class Directions(NamedTuple):
    """The data of the compiled form of `PrincipalComponents`."""

    mean: NDArray[np.float64]  # (d,)
    directions: NDArray[np.float64]  # (n, d)


@compiled(in_place=True)
def _project(
    data: Directions, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    n = data.directions.shape[0]
    for i in range(n):
        indices[i] = i
        values[i] = 0.0
        for j in range(data.mean.size):
            values[i] += data.directions[i, j] * (observation[j] - data.mean[j])
    return n


@dataclass(eq=False, repr=False)
class PrincipalComponents(FeatureMap):
    """The observation on the axes along which observations vary most: what scikit-learn's ``PCA`` returns.

    It keeps as much of the squared distance between observations as so many numbers can. For long observations, such
    as images, before a map that would have too many features; linear in the observation, so no use on its own.

    Parameters
    ----------
    n_components : int
        How many axes.
    whiten : bool
        Whether the features are divided by their standard deviation.
    seed : int, optional
        Of the randomised singular value decomposition, which is used where the axes are few of very many.

    Attributes
    ----------
    mean_ : ndarray of float64, shape (d,)
        The mean observation.
    directions_ : ndarray of float64, shape (n_components, d)
        The axes, longest variation first; divided by the standard deviations if they whiten.
    explained_variance_ratio_ : ndarray of float64, shape (n_components,)
        Which part of the variance lies along each.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values, or there are more axes than numbers in an observation,
        or than observations.

    Examples
    --------
    >>> axes = PrincipalComponents(1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> abs(axes.transform([[6.0, 8.0]])).round(6)
    array([[5.]])
    """

    n_components: int = 2
    whiten: bool = field(default=False, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    learns: ClassVar[Mapping[str, Array] | None] = {
        "mean_": Array(shape=("d",)),
        "directions_": Array(shape=("n", "d")),
        "explained_variance_ratio_": Array(shape=("n",)),
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False  # except for a few components of very many dimensions
        return tags

    def check_parameters(self) -> None:
        """Raise unless the number of axes is above 0."""
        whole_number("n_components", self.n_components)
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the axes of observations (n, d); `y` is ignored."""
        self.check_parameters()
        observations = check_observations(X, None, "PrincipalComponents")
        if self.n_components > min(observations.shape):
            raise errors.ParameterError(
                f"PrincipalComponents: n_components={self.n_components}, but {observations.shape[0]} observations of "
                f"{observations.shape[1]} numbers have at most {min(observations.shape)} "
                f"(n_samples={observations.shape[0]}, n_features={observations.shape[1]})"
            )
        pca = scikit_learn("decomposition").PCA
        found = pca(self.n_components, whiten=self.whiten, random_state=self.seed).fit(observations)
        self.mean_: NDArray[np.float64] = found.mean_
        self.explained_variance_ratio_: NDArray[np.float64] = found.explained_variance_ratio_
        self.directions_: NDArray[np.float64] = np.array(found.components_, order="C")
        if self.whiten:
            # as in scikit-learn, no divisor is less than the precision of a float
            deviations = np.sqrt(found.explained_variance_)
            self.directions_ /= np.maximum(deviations, np.finfo(np.float64).eps)[:, None]
        self.n_features_in_ = observations.shape[1]
        self.n_features_out_ = self.most_active_ = self.n_components
        return self.name_columns(X)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_project, Directions(self.mean_, self.directions_))
