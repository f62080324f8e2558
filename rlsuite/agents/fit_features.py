"""A linear agent's view of an environment: its observations as vectors, and their features.

Features that learn from data fit themselves on what the agent sees before its first step: it takes random actions for
so many steps as its `fit_on` says. These steps belong to no record. They depend on the seed of the run alone, and a
file keeps what has been fitted; so all loops, and a run that goes on from a file, have the same features.
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.core.checks import finite_reward, is_list, is_tuple
from rlsuite.core.compilation import compiled
from rlsuite.core.described import kinds, match
from rlsuite.core.npz import Npz
from rlsuite.environments.facts import action_space_of, facts_of, name_of
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.environments.observing import has_cells
from rlsuite.features.aggregation import StateAggregation
from rlsuite.features.checks import naming, shown
from rlsuite.features.estimators import Transformer, clone, dense
from rlsuite.features.feature_map import Active, FeatureMap, FeatureRule
from rlsuite.features.identity import Identity, OneHot
from rlsuite.features.learned import (
    AsFeatures,
    Seen,
    fit_estimator,
    gives_features,
    is_fitted,
    seeds_of_features,
    sums_to_the_end,
)
from rlsuite.models import MDP
from rlsuite.training.step_buffer import first_answer, mask_of

FIT_ON: Final = 1_000
"""Observations on which features that learn from data fit themselves, if nothing else is said."""


ANYTHING: Final = np.zeros((2, 0))
"""The range of features that were fitted to no observations."""


class Bound(NamedTuple):
    """Features that are fitted to an environment."""

    features: FeatureMap
    encoding: Encoding
    """How observations become the vectors that the features are given; it transforms for an estimator of others."""
    fitted_on: int
    """Observations that they were fitted to; 0 if they needed none."""
    known: NDArray[np.float64] = ANYTHING
    """The least and the largest numbers of these, shape (2, k), and the bounds of the space; (2, 0) without any."""


def bind_features(features: FeatureMap | Transformer | None, env: Env, seed: int | None, fit_on: int = FIT_ON) -> Bound:
    """Fit features to the bounds of an environment, or to what is seen in it at first.

    Parameters
    ----------
    features : FeatureMap, transformer or None
        As given to the agent; what is not fitted is copied.
    env : gymnasium.Env
        Where features that learn from data take random actions; it has to be reset afterwards.
    seed : int or None
        That of the run; None takes no steps.
    fit_on : int
        How many observations they learn from.

    Raises
    ------
    NotLearned
        If features are not fitted and need observations, and there is no seed.
    ParameterError
        If they cannot be fitted to the observations.
    UnsuitableEnvironment
        If the observations are not numbers, or of another width than what the features were fitted to.
    """
    found = encoding(env.observation_space)
    if features is None:
        features = OneHot() if isinstance(env.observation_space, gymnasium.spaces.Discrete) else Identity()
    bound = _bound(features, found, _First(env, found, seed, fit_on))
    if seed is not None and has_cells(env):
        warn_of_numbers(features, name_of(env), found.n_ids)
    return bound


def _bound(features: FeatureMap | Transformer, found: Encoding, source: "_Source") -> Bound:
    """Fit features to observations from a source, if they need any."""
    if not isinstance(features, FeatureMap):
        bound = _of_others(features, found, source)
    elif features.is_fitted:
        bound = Bound(copy.deepcopy(features), found, 0)
    else:
        with source.naming(features):
            fitted = clone(features).fit_seen(found.low, found.high, lambda: source.seen().observations, source.rng)
        bound = Bound(fitted, found, source.used, source.range_in(found))
    check_width(bound.features, bound.encoding)
    return bound


def fit_again(features: FeatureMap | Transformer | None, found: Encoding, seen: Seen, seed: int) -> Bound:
    """Fit features that learn from data to other observations of the same environment.

    Parameters
    ----------
    features : FeatureMap, transformer or None
        As given to the agent.
    found : Encoding
        That of the features until now.
    seen : Seen
        The observations, and what a tree or a classifier learns of them.
    seed : int
        For maps that leave their seed open.

    Raises
    ------
    ParameterError
        If the features do not learn from data, were given fitted, or cannot be fitted to the observations.
    """
    if features is None or not learn_from_data(features):
        raise errors.ParameterError(
            f"features: {shown(features)} cannot be fitted again: it does not learn from data, or was given fitted"
        )
    return _bound(features, found._replace(transform=None), _Source(seen, seed))


def bind_again(fitted: FeatureMap, before: Encoding, env: Env) -> Encoding:
    """How the observations of another environment become the vectors that fitted features are given.

    Raises
    ------
    UnsuitableEnvironment
        If they are of another width.
    """
    found = encoding(env.observation_space)
    if before.transform is None:
        check_width(fitted, found)
        return found
    _check_width(before.low.size, found)
    return found._replace(transform=before.transform, plain=False)


def learn_from_data(features: object) -> bool:
    """Whether features have to see observations before an agent can use them."""
    if isinstance(features, FeatureMap):
        parts: Sequence[FeatureMap] = getattr(features, "features", [features])
        kinds: list[type[FeatureMap]] = [type(part) for part in parts]
        return not features.is_fitted and any(kind.fit_bounds is FeatureMap.fit_bounds for kind in kinds)
    return features is not None and not is_fitted(features)


def check_features(features: object) -> None:
    """Raise unless features are None, or an instance that gives some; the parameters of a `FeatureMap` are checked.

    Raises
    ------
    ParameterError
        If they are a class, or have none of the methods, or a parameter is outside its allowed values.
    """
    if isinstance(features, FeatureMap):
        try:
            features.check_parameters()
        except errors.ParameterError as error:
            raise errors.ParameterError(f"features, {type(features).__name__}: {error}") from error
    if isinstance(features, type):
        name = features.__name__
        raise errors.ParameterError(f"features= is the class {name}; give an instance, {name}()")
    if isinstance(features, str):
        raise errors.ParameterError(
            f"features={features!r} is a name, which command line and files take; in Python give the object: "
            f"features={match(features, kinds(FeatureMap)) or 'TileCoding'}()"
        )
    if is_list(features) or is_tuple(features):
        raise errors.ParameterError(
            f"features={features!r} is a {type(features).__name__}: write features=Chain([...]) for maps one after the "
            "other, or make_pipeline(...) of scikit-learn"
        )
    if features is not None and not gives_features(features):
        raise errors.ParameterError(
            f"features={shown(features)} must be a feature map such as TileCoding(), or have scikit-learn's fit and "
            "one of transform, apply (of trees) and predict_proba (of classifiers and mixtures)"
        )


def warn_of_numbers(features: object, grid: str, n_states: int) -> None:
    """Warn if features would be computed from the number of a state where its place can be shown.

    Parameters
    ----------
    features : FeatureMap or transformer
        As given to the agent.
    grid : str
        The environment that shows such numbers; empty if it does not.
    n_states : int
        How many there are.

    Warns
    -----
    StateNumberWarning
        Then. Features that tell all numbers apart are not meant.
    """
    first = features
    while parts := getattr(first, "features", None) or getattr(first, "steps", None):  # one after the other
        first = parts[0][1] if isinstance(parts[0], tuple) else parts[0]
    if not grid or isinstance(first, OneHot) or "OneHot" in type(first).__name__:
        return
    if isinstance(first, StateAggregation) and np.prod(first.bins) >= n_states:
        return
    warnings.warn(
        f"{grid} shows the number of a state, and {type(first).__name__} takes states with near numbers for "
        'similar; make the environment with observe="cell", which shows where the state is',
        errors.StateNumberWarning,
        stacklevel=errors.level_of_the_caller(),
    )


def check_width(features: FeatureMap, found: Encoding) -> None:
    """Raise UnsuitableEnvironment if features were fitted to observations of another width."""
    if found.transform is None:
        _check_width(features.n_features_in_, found)


def _check_width(width: int, found: Encoding) -> None:
    if width != found.low.size:
        raise errors.UnsuitableEnvironment(
            f"these features were fitted to observations of {width} numbers; those of the environment have "
            f"{found.low.size}. Use a new feature map for it"
        )


def legal_ids(env: Env) -> NDArray[np.bool_]:
    """The legal actions of each id, (n_ids, n_actions), if a model gives them; (0, n_actions) without ids."""
    n_actions = int(action_space_of(env).n)
    space = env.observation_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        return np.zeros((0, n_actions), dtype=np.bool_)
    model: object = getattr(env.unwrapped, "model", None)
    return np.array(model.legal) if isinstance(model, MDP) else np.ones((int(space.n), n_actions), dtype=np.bool_)


# ----------------------------------------------------------------------------------------- what is seen at first


def range_of(seen: Seen, found: Encoding) -> NDArray[np.float64]:
    """The range (2, k) of observations; where their space has bounds, these are in it.

    >>> range_of(Seen(np.array([[0.5, 1.0], [0.2, 3.0]]), np.zeros(2)), Encoding(np.zeros(2), np.array([1.0, np.inf])))
    array([[0., 0.],
           [1., 3.]])
    """
    low, high = seen.observations.min(axis=0), seen.observations.max(axis=0)
    low = np.where(np.isfinite(found.low), np.minimum(low, found.low), low)
    return np.stack([low, np.where(np.isfinite(found.high), np.maximum(high, found.high), high)])


class Watched(NamedTuple):
    """The data of features that count the observations outside of their range."""

    active: Active
    data: object
    low: NDArray[np.float64]  # (k,)
    high: NDArray[np.float64]  # (k,)
    outside: NDArray[np.int64]  # (1,), how many there were


@compiled(in_place=True)
def _count_and_list(
    data: Watched, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    for i in range(data.low.size):
        if observation[i] < data.low[i] or observation[i] > data.high[i]:
            data.outside[0] += 1
            break
    return data.active(data.data, observation, indices, values)


def watched(rule: FeatureRule, known: NDArray[np.float64], outside: NDArray[np.int64]) -> FeatureRule:
    """The same features, which count the observations outside of a range (2, k) in `outside` (1,)."""
    low, high = known
    return FeatureRule(_count_and_list, Watched(*rule, low, high, outside)) if known.size else rule


class _Source:
    """Observations to fit features to, and the seeds of the fit."""

    def __init__(self, seen: Seen | None, seed: int, what: str = "the observations given") -> None:
        self._seen, self.own_seed, self.what = seen, seed, what
        self.rng = np.random.default_rng(seed)
        self.used = 0

    def seen(self) -> Seen:
        """The observations (n, d), and what followed them."""
        if self._seen is None:
            self._seen = self.look()
        self.used = len(self._seen.observations)
        return self._seen

    def range_in(self, found: Encoding) -> NDArray[np.float64]:
        """The range (2, k) of what was fitted to, of which `Bound.known` says more."""
        return ANYTHING if self._seen is None or not self.used else range_of(self._seen, found)

    def look(self) -> Seen:
        """Make the observations, once somebody asks for them."""
        raise NotImplementedError

    def naming(self, features: object) -> Any:
        """Raise what goes wrong in a fit with the name of what was fitted."""
        return naming(f"features: {type(features).__name__} cannot be fitted to {self.what}", errors.ParameterError)


class _First(_Source):
    """What is seen in an environment before the first step of a run."""

    def __init__(self, env: Env, found: Encoding, seed: int | None, fit_on: int) -> None:
        self.env, self.encoding, self.seed, self.fit_on = env, found, seed, fit_on
        drawn = seeds_of_features(0 if seed is None else seed).generate_state(2)
        self.env_seed = int(drawn[0])
        super().__init__(None, int(drawn[1]), f"the first {fit_on:,} observations of {name_of(env)}")

    def look(self) -> Seen:
        """Take random actions."""
        if self.seed is None:
            raise errors.NotLearned("these features learn from what is seen in a run, and none has begun")
        return random_steps(self.env, self.encoding, self.fit_on, self.env_seed)


def random_steps(env: Env, found: Encoding, n: int, seed: int) -> Seen:
    """Take random actions, all legal ones equally likely, until there are n observations.

    Raises
    ------
    LearningError
        If the environment answers with what is not an observation, a reward or a mask of legal actions.
    """
    rng, n_actions = np.random.default_rng(seed), int(action_space_of(env).n)
    first, facts, by_id = int(action_space_of(env).start), facts_of(env), legal_ids(env)
    observations, rewards, ends = np.zeros((n, found.low.size)), np.zeros(n), np.zeros(n, dtype=np.bool_)
    observation, info = first_answer(env, seed)
    masked = facts.has_action_mask(info)
    for i in range(n):
        with naming(f"{facts.name}: observation {observation!r} is not in {env.observation_space}"):
            observations[i] = found.encode(observation)
        legal = mask_of(info["action_mask"], n_actions, f"{facts.name}:") if masked else np.ones(n_actions, np.bool_)
        if len(by_id) and not masked:
            legal = by_id[int(observations[i, 0])]
        observation, reward, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(legal))) + first)
        rewards[i] = finite_reward(reward, facts.name, i + 1)
        ends[i] = terminated or truncated
        if ends[i]:
            observation, info = first_answer(env)
    if not np.isfinite(observations).all():
        raise errors.LearningError(f"{facts.name}: an observation is not finite")
    return Seen(observations, sums_to_the_end(rewards, ends))


# --------------------------------------------------------------------------------------- estimators of other packages


class Outside:
    """The features of an estimator of another package, as a function from vectors (n, k) to features (n, d).

    Parameters
    ----------
    estimator : estimator
        Fitted.
    seen : Seen or None
        What it was fitted to; None if it was given fitted.
    seed : int
        Of its fit.
    """

    def __init__(self, estimator: Any, seen: Seen | None = None, seed: int = 0) -> None:
        self.features, self.seen, self.seed = AsFeatures(estimator), seen, seed
        self.known, self.outside = ANYTHING, np.zeros(1, dtype=np.int64)

    def __call__(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute features; what lies outside of what was fitted to is counted, and taken to its border.

        Raises
        ------
        LearningError
            If the estimator fails, by an error of whatever class, or its features are not finite.
        """
        if self.known.size:
            within = np.clip(vectors, *self.known)
            self.outside[0] += np.count_nonzero((within != vectors).any(axis=1))
            vectors = within
        with naming(f"features: {type(self.features.estimator).__name__} cannot transform {len(vectors)} observations"):
            made = np.ascontiguousarray(dense(self.features(vectors)), dtype=np.float64)
            if not np.isfinite(made).all():
                raise ValueError(f"of {vectors[~np.isfinite(made).all(axis=1)][0].tolist()} it makes NaN or infinity")
            return made

    def bind(self, found: Encoding) -> tuple[FeatureMap, Encoding]:
        """The map and the encoding of an agent that is shown the features."""
        with np.errstate(invalid="ignore"):  # bounds may be infinite
            middle = np.nan_to_num((found.low + found.high) / 2.0, nan=0.0, posinf=0.0, neginf=0.0)
        name = type(self.features.estimator).__name__
        what = f"features: {name} cannot transform observations of {middle.size} numbers"
        with naming(what, errors.UnsuitableEnvironment):
            width = dense(self.features(middle[None])).shape[1]
        if self.seen is not None:
            self.known = range_of(self.seen, found)
        unknown = np.zeros(width)  # Identity uses only how many bounds there are
        return Identity().fit_bounds(unknown, unknown), found._replace(transform=self, plain=False)


def _of_others(estimator: Transformer, found: Encoding, source: _Source) -> Bound:
    """Apply features that only Python can compute to the observations before the agent receives them."""
    try:
        return Bound(*Outside(estimator).bind(found), 0)
    except errors.UnsuitableEnvironment:
        if is_fitted(estimator):
            raise
    seen = source.seen()
    with source.naming(estimator):
        fitted = Outside(fit_estimator(estimator, seen, source.rng), seen, source.own_seed)
        return Bound(*fitted.bind(found), source.used)


# -------------------------------------------------------------------------------------------------------------- files


def kept_features(fitted: FeatureMap, found: Encoding) -> dict[str, NDArray[Any]]:
    """Arrays by name, from which `restored_features` makes the same features.

    Raises
    ------
    FileError
        If an estimator of another package was given fitted: it could be kept as a pickle only, and none is ever loaded.
    """
    if found.transform is None:
        return {name: np.asarray(value) for name, value in fitted.fitted_.items()}
    outside = cast(Outside, found.transform)
    if outside.seen is None:
        name = type(outside.features.estimator).__name__
        raise errors.FileError(
            f"features of the class {name} cannot be saved without a pickle, since they were given fitted; give "
            f"{name}(...) unfitted, so that it learns from the first observations of the run, or a FeatureMap"
        )
    return {**outside.seen._asdict(), "seed": np.array(outside.seed)}


def restored_features(
    features: FeatureMap | Transformer | None, found: Encoding, arrays: Mapping[str, NDArray[Any]]
) -> tuple[FeatureMap, Encoding]:
    """Make the features of a file, from those that the agent was given.

    Raises
    ------
    KeyError, ValueError
        If an array is missing, or is not what the features declare.
    ParameterError
        If an estimator of another package cannot be fitted to what the file says it has seen.
    UnsuitableEnvironment
        If the features are those of observations of another width.
    """
    if features is None:
        features = OneHot() if "first_" in arrays else Identity()
    if isinstance(features, FeatureMap):
        fitted = copy.deepcopy(features).restore(dict(arrays))
        check_width(fitted, found)
        return fitted, found
    observations, returns, seed = arrays["observations"], arrays["returns"], int(arrays["seed"])
    shapes = ((len(returns), found.low.size), observations.shape)
    numbers = observations.dtype == returns.dtype == np.float64
    if shapes[0] != shapes[1] or not numbers or not (np.isfinite(observations).all() and np.isfinite(returns).all()):
        raise ValueError(f"what the features have seen, of shape {shapes[1]}, must be {shapes[0]} finite numbers")
    seen = Seen(observations, returns)
    with naming(f"features: {type(features).__name__} cannot be fitted", errors.ParameterError):
        fitted = fit_estimator(features, seen, np.random.default_rng(seed))
        return Outside(fitted, seen, seed).bind(found)


def arrays_below(arrays: Npz, prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file whose names begin with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): arrays.take(name) for name in arrays.below(prefix)}
