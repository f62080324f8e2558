"""The features of a batch: any transformer of scikit-learn, or none."""

from typing import Any

import numpy as np
import sklearn.base
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.features.feature_map import check_observations

# scikit-learn carries no types that strict checking could use
_base: Any = sklearn.base


class ObservedFeatures:
    """A feature map fitted to all observations of a batch, before and after.

    Parameters
    ----------
    features : transformer or None
        Anything with ``fit(X)`` and ``transform(X)``; it is cloned. None leaves the observations as they are.
    batch : Batch
        What to fit it to.
    owner : str
        Who asks, for the messages.

    Raises
    ------
    ParameterError
        If it is no transformer.
    """

    def __init__(self, features: Any, batch: Batch, owner: str):
        self.owner = owner
        self.width = batch.observation.shape[1]
        self.map: Any = None
        if features is not None:
            if isinstance(features, type) or not (hasattr(features, "fit") and hasattr(features, "transform")):
                raise errors.ParameterError(
                    f"{owner}: features={features!r} is no transformer; give an instance with fit and transform, such "
                    "as TileCoding(), or a Pipeline of scikit-learn"
                )
            self.map = _base.clone(features).fit(np.concatenate([batch.observation, batch.next_observation]))

    def __call__(self, observations: ArrayLike) -> Any:
        """Return the features (n, k) of observations (n, d): an array, or a sparse matrix in row form.

        Raises
        ------
        ParameterError
            If the observations are not finite or of another width.
        """
        seen: NDArray[np.float64] = check_observations(observations, self.width, self.owner)
        if self.map is None:
            return seen
        found: Any = self.map.transform(seen)
        return found.tocsr() if hasattr(found, "tocsr") else np.asarray(found, dtype=np.float64)
