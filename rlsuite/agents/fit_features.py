"""A linear agent's view of an environment: its observations as vectors, and their features."""

import copy

import gymnasium
import numpy as np
import sklearn.exceptions
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.environments.facts import action_space_of
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.features.checks import naming, shown
from rlsuite.features.estimators import Transformer, clone, dense
from rlsuite.features.feature_map import FeatureMap
from rlsuite.features.identity import Identity, OneHot
from rlsuite.models import MDP


def bind_features(features: FeatureMap | Transformer | None, env: Env) -> tuple[FeatureMap, Encoding]:
    """Fit features to the bounds of an environment, if that is all they need.

    Parameters
    ----------
    features : FeatureMap, transformer or None
        As given to the agent; a feature map is copied.
    env : gymnasium.Env

    Returns
    -------
    tuple
        A fitted feature map, and how observations become the vectors that it is given. For a transformer of others the
        map is `Identity`, and the encoding transforms.

    Raises
    ------
    NotLearned
        If the features are not fitted, and bounds are not enough for them.
    UnsuitableEnvironment
        If the observations are not numbers, or of another width than what the features were fitted to.
    """
    found = encoding(env.observation_space)
    if features is None:
        features = OneHot() if isinstance(env.observation_space, gymnasium.spaces.Discrete) else Identity()
    if not isinstance(features, FeatureMap):
        return _outside(features, found)
    fitted = copy.deepcopy(features) if features.is_fitted else clone(features).fit_bounds(found.low, found.high)
    check_width(fitted, found)
    return fitted, found


def check_features(features: object) -> None:
    """Raise unless features are None, or an instance that can transform; the parameters of a `FeatureMap` are checked.

    Raises
    ------
    ParameterError
        If they are a class, or have no `transform`, or a parameter is outside its allowed values.
    """
    if isinstance(features, FeatureMap):
        try:
            features.check_parameters()
        except errors.ParameterError as error:
            raise errors.ParameterError(f"features, {type(features).__name__}: {error}") from error
    if isinstance(features, type):
        name = features.__name__
        raise errors.ParameterError(f"features= is the class {name}; give an instance, {name}()")
    if features is not None and not hasattr(features, "transform"):
        raise errors.ParameterError(
            f"features={shown(features)} must be a feature map such as TileCoding(), or have scikit-learn's fit and "
            "transform"
        )


def check_width(features: FeatureMap, found: Encoding) -> None:
    """Raise UnsuitableEnvironment if features were fitted to observations of another width."""
    if found.transform is None and features.n_features_in_ != found.low.size:
        raise errors.UnsuitableEnvironment(
            f"these features were fitted to observations of {features.n_features_in_} numbers; those of the "
            f"environment have {found.low.size}. Use a new feature map for it"
        )


def legal_ids(env: Env) -> NDArray[np.bool_]:
    """The legal actions of each id, (n_ids, n_actions), if a model gives them; (0, n_actions) without ids."""
    n_actions = int(action_space_of(env).n)
    space = env.observation_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        return np.zeros((0, n_actions), dtype=np.bool_)
    model: object = getattr(env.unwrapped, "model", None)
    return np.array(model.legal) if isinstance(model, MDP) else np.ones((int(space.n), n_actions), dtype=np.bool_)


def _outside(features: Transformer, found: Encoding) -> tuple[FeatureMap, Encoding]:
    """Apply features that only Python can compute to the observations before the agent receives them."""
    middle = np.nan_to_num((found.low + found.high) / 2.0, nan=0.0, posinf=0.0, neginf=0.0)
    name = type(features).__name__
    with naming(
        f"features: {name} cannot transform observations of {middle.size} numbers", errors.UnsuitableEnvironment
    ):
        try:
            width = _dense_features(features, middle[None]).shape[1]
        except sklearn.exceptions.NotFittedError as error:
            raise errors.NotLearned(
                f"features: {name} is not fitted; call its fit(observations) first, with an array (n, {middle.size}) "
                "of observations from a few random episodes"
            ) from error
    unknown = np.zeros(int(width))  # Identity uses only how many bounds there are
    return Identity().fit_bounds(unknown, unknown), found._replace(transform=Outside(features), plain=False)


class Outside:
    """A third-party transformer, as a function from vectors (n, k) to features (n, d)."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer

    def __call__(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute features.

        Raises
        ------
        LearningError
            If the transformer fails, by an error of whatever class.
        """
        with naming(f"features: {type(self.transformer).__name__} cannot transform {len(vectors)} observations"):
            return _dense_features(self.transformer, vectors)


def _dense_features(transformer: Transformer, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(dense(transformer.transform(vectors)), dtype=np.float64)
