"""Weights of features: a value is a sum of those of the features that an observation has.

The feature maps and scikit-learn are imported when features are given.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.episode_buffer import VectorEpisodeBuffer, new_vector_buffer
from rlsuite.agents.memory import ABSENT, Memory
from rlsuite.agents.prediction.policies import check_size, policy_table
from rlsuite.agents.storage import whole
from rlsuite.agents.values.features import (
    CURRENT_FEATURES,
    FEATURES,
    FEATURES_ON_DEMAND,
    by_fresh_values,
    evaluate_rows,
    new_active_features,
)
from rlsuite.agents.values.representation import Greedy, Representation
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions, whole_amount
from rlsuite.core.declared import check_array
from rlsuite.core.described import Plain
from rlsuite.core.npz import Npz
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.acting import Policy

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False)
class Linear(Representation):
    """Values that are linear in features (S&B2 eq. 9.8); not to be confused with the schedule `rlsuite.Linear`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        One of rlsuite's feature maps, such as `TileCoding`, or whatever has scikit-learn's `fit` and `transform`,
        `apply` (trees: the leaf) or `predict_proba` (classifiers, mixtures). It is copied. By default `OneHot` for ids,
        and `Identity` for all other observations.
    initial : float or array_like (n_features,)
        What every weight, or those of each feature, are before anything is learned.
    fit_on : int
        Observations on which features that learn from data, such as `Clusters`, fit themselves before the first step of
        a new agent: those of as many random actions, which no record counts. What is fitted already stays as it is.

    Attributes
    ----------
    fitted_on : int
        Observations that the features were fitted to; 0 if they needed none.

    Raises
    ------
    ParameterError
        If the features are a class, or have none of these methods, `initial` is not finite, or `fit_on` not a whole
        number above 0.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.agents.values import Linear
    >>> from rlsuite.approximation import OneHot
    >>> agent = rl.Sarsa(values=Linear(OneHot())).learn("FrozenLake-v1", steps=20, seed=1)
    >>> agent.weights_.shape
    (16, 4)
    """

    lacks: ClassVar[Mapping[str, str]] = {"visits_": "it has features, and only a table counts visits"}
    has_rows: ClassVar[bool] = False

    features: "FeatureMap | Transformer | None" = None
    initial: "float | ArrayLike" = 0.0
    fit_on: int = 1_000

    def __post_init__(self) -> None:
        self.fit_on, self.fitted_on = whole_amount("fit_on", self.fit_on), 0
        if self.features is not None:
            from rlsuite.agents.fit_features import check_features

            check_features(self.features)
        given = np.asarray(self.initial)
        if given.dtype.kind not in "iuf" or given.ndim > 1 or not np.isfinite(given).all():
            raise errors.ParameterError(
                f"initial={self.initial!r} must be a finite number, or an array (n_features,) of them"
            )

    # ---------------------------------------------------------------------------------------------- before learning

    def check_policy(self, policy: "ArrayLike | None") -> None:
        """Raise ParameterError unless it is probabilities, for all observations alike or for each id."""
        policy_table("policy_to_follow", policy)

    def bind(self, env: Env, has_learned: bool, seed: int | None) -> Encoding:
        """Fit the features to an environment: to its bounds, or to what is seen in it at first.

        Raises
        ------
        ParameterError
            If they cannot be fitted.
        UnsuitableEnvironment
            If the observations are not numbers, or of another width than what the features were fitted to.
        """
        from rlsuite.agents.fit_features import bind_again, bind_features, legal_ids
        from rlsuite.environments.observation_view import encoding

        if has_learned:  # the weights belong to these features
            self.encoding = bind_again(self.fitted, self.encoding, env)
            self._use(self.fitted, legal_ids(env))
            return self.encoding
        try:
            fitted, self.encoding, self.fitted_on = bind_features(self.features, env, seed, self.fit_on)
        except errors.NotLearned:
            if seed is not None:
                raise
            return encoding(env.observation_space)
        self._use(fitted, legal_ids(env))
        return self.encoding

    def _use(self, fitted: "FeatureMap", legal_ids: NDArray[np.bool_]) -> None:
        self.fitted, self.most_active, self.legal_ids = fitted, fitted.most_active_, legal_ids

    def size(self, n_rows: int) -> int:
        """How many features there are."""
        return self.fitted.n_features_out_

    def of_actions(self, memory: Memory) -> Memory:
        """Add weights of the features to which `bind` has fitted, and the values in two rows."""
        n_actions = memory.legal.shape[1]
        memory = memory._replace(
            **self._initial(n_actions), q=np.zeros((2, n_actions)), stale=np.zeros(2, dtype=np.int64)
        )
        if memory.exploration is ABSENT:
            return memory._replace(operations=FEATURES_ON_DEMAND)
        return memory._replace(exploration=by_fresh_values(memory.exploration), operations=FEATURES)

    def kept_current(self, memory: Memory) -> Memory:
        """Let each update compute the values of both rows again."""
        return memory._replace(operations=CURRENT_FEATURES)

    def of_states(self, memory: Memory, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None) -> Memory:
        """Add weights of state values, and the tables of the policies.

        Raises
        ------
        ParameterError
            If a policy or the initial weights do not fit the environment.
        """
        n_actions = memory.legal.shape[1]
        policy = policy_table("policy_to_follow", followed)
        check_size("policy_to_follow", policy, n_actions, len(self.legal_ids))
        check_size("policy_to_evaluate", evaluated, n_actions, len(self.legal_ids))
        return memory._replace(
            **self._initial(n_columns=1),
            behaviour=np.zeros((0, n_actions)) if policy is None else policy,
            target=np.zeros((0, 0)) if evaluated is None else evaluated,
            operations=FEATURES_ON_DEMAND,
        )

    def _initial(self, n_columns: int) -> Plain:
        """The fields of a memory that are the same for values of actions and of states."""
        n_features, given = self.fitted.n_features_out_, np.asarray(self.initial)
        if given.ndim == 1 and given.size != n_features:
            raise errors.ParameterError(f"initial_weight has {given.size} numbers, but there are {n_features} features")
        weights = np.empty((n_features, n_columns))
        weights.T[:] = given
        return {
            "weights": weights,
            "features": self.fitted.rule,
            "active": new_active_features(self.most_active),
            "visits": np.zeros((2, n_columns), dtype=np.int64),
        }

    def new_buffer(self, longest: int) -> VectorEpisodeBuffer:
        """Make an empty buffer of vectors."""
        return new_vector_buffer(longest, self.fitted.n_features_in_)

    def check_memory(self, memory: Memory) -> None:
        """Raise UnsuitableEnvironment if there are weights of another number of features."""
        if len(memory.weights) != self.fitted.n_features_out_:
            raise errors.UnsuitableEnvironment(
                f"this {self.owner} has learned {len(memory.weights)} weights per action, and the features of "
                f"this environment need {self.fitted.n_features_out_}. Use a new agent for it"
            )

    def refit(self, memory: Memory, observations: "ArrayLike", seed: int) -> tuple[Self, Callable[[Memory], Memory]]:
        """Fit the features again; the new weights are those that change the values at the observations least.

        Raises
        ------
        ParameterError
            If the features do not learn from data, were given fitted, or cannot be fitted to the observations.
        """
        from rlsuite.agents.fit_features import fit_again
        from rlsuite.features.checks import check_observations
        from rlsuite.features.learned import Seen

        rows = check_observations(observations, self.encoding.low.size, self.owner)
        best = self.linear_in(memory.weights, memory, rows).max(axis=1)
        renewed = copy.copy(self)
        fitted, renewed.encoding, renewed.fitted_on = fit_again(self.features, self.encoding, Seen(rows, best), seed)
        renewed._use(fitted, self.legal_ids)

        def carry_over(new: Memory) -> Memory:
            features = renewed.linear_in(np.eye(len(new.weights)), new, rows)

            def carried(known: Any, fresh: AnyArray) -> Any:
                if not hasattr(known, "dtype") or len(known) != len(memory.weights):  # a rate, or of no feature
                    return known
                if fresh.dtype != np.float64:
                    return fresh
                values = self.linear_in(known.reshape(len(known), -1), memory, rows)
                return np.asarray(np.linalg.lstsq(features, values)[0]).reshape(fresh.shape)

            names = getattr(memory.learned, "_fields", ())
            kept = {name: carried(getattr(memory.learned, name), getattr(new.learned, name)) for name in names}
            learned = new.learned._replace(**kept) if kept else new.learned
            return new._replace(weights=carried(memory.weights, new.weights), learned=learned, clock=memory.clock)

        return renewed, carry_over

    # --------------------------------------------------------------------------------------------- what was learned

    def legal(self, memory: Memory) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_ids, n_actions); (0, n_actions) where observations are not ids."""
        return self.legal_ids

    def all_ids(self) -> NDArray[np.float64]:
        """All ids of a Discrete space, counted from 0, as observations (n, 1).

        Raises
        ------
        ParameterError
            If the observations are not ids.
        """
        if not len(self.legal_ids):
            raise errors.ParameterError(
                "observations= is needed, an array (n, d): the observations of this environment are not ids"
            )
        return np.arange(float(len(self.legal_ids)))[:, None]

    def q(
        self, memory: Memory, observations: "ArrayLike | None", rows_of: Callable[[object], list[int]]
    ) -> NDArray[np.float64]:
        """Values by the weights, shape (n, n_columns), of observations (n, d); by default of all ids."""
        return self.linear_in(memory.weights, memory, observations)

    def linear_in(
        self, weights: NDArray[np.float64], memory: Memory, observations: "ArrayLike | None"
    ) -> NDArray[np.float64]:
        """Values by weights (n_features, n_columns), shape (n, n_columns).

        Raises
        ------
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        from rlsuite.features.checks import check_observations

        given = self.all_ids() if observations is None else observations
        rows = check_observations(given, self.encoding.low.size, self.owner)
        if self.encoding.transform is not None:
            rows = self.encoding.transform(rows)
        values, capacity = np.zeros((len(rows), weights.shape[1])), self.most_active
        evaluate_rows(memory.features, weights, rows, np.zeros(capacity, dtype=np.int64), np.zeros(capacity), values)
        return values

    def at(
        self, memory: Memory, observation: Observation, row_of: Callable[[Observation], int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of an observation, and which actions are legal there."""
        vector = self.encoding.numbers_of(observation)
        q = self.linear_in(memory.weights, memory, vector[None])[0]
        return q, self.legal_ids[int(vector[0])] if self.legal_ids.size else np.ones(len(q), dtype=np.bool_)

    def greedy_policy(self, memory: Memory, greedy: Greedy) -> Policy:
        """The greedy policy by a copy of the weights, as a function of a vector and a mask."""
        weights, capacity = memory.weights.copy(), self.most_active
        indices, values = np.zeros(capacity, dtype=np.int64), np.zeros(capacity)

        def policy(vector: NDArray[np.float64], action_mask: "ArrayLike | None") -> NDArray[np.float64]:
            q = np.zeros((1, weights.shape[1]))
            evaluate_rows(memory.features, weights, vector[None], indices, values, q)
            return greedy(q, action_mask)[0]

        return policy

    def followed_policy(self, memory: Memory) -> Policy:
        """The policy that is followed, as a function of a vector and a mask."""

        def policy(vector: NDArray[np.float64], action_mask: "ArrayLike | None") -> NDArray[np.float64]:
            behaviour: NDArray[np.float64] = memory.behaviour
            legal = np.ones(behaviour.shape[1]) if action_mask is None else np.asarray(action_mask, dtype=np.float64)
            if len(behaviour) > 0:
                legal = legal * behaviour[int(vector[0]) if len(behaviour) > 1 else 0]
            if not legal.any():
                raise errors.ParameterError(f"action_mask={action_mask!r} allows no action of the policy")
            return legal / legal.sum()

        return policy

    def followed(self, memory: Memory) -> NDArray[np.float64]:
        """The same of all ids: probabilities, shape (n_ids, n_actions), 0 at ends."""
        policy = cast(Callable[..., NDArray[np.float64]], self.followed_policy(memory))
        ids, legal = self.all_ids(), self.legal_ids
        table = np.zeros(legal.shape)
        for row in np.flatnonzero(legal.any(axis=1)):
            table[row] = policy(ids[row], legal[row])
        return table

    def followed_at(
        self,
        memory: Memory,
        observation: Observation,
        row_of: Callable[[Observation], int],
        action_mask: "ArrayLike | None",
    ) -> NDArray[np.float64]:
        """The same of one observation, shape (n_actions,)."""
        if action_mask is not None:
            legal_actions("action_mask", action_mask, memory.behaviour.shape[1])
        policy = cast(Callable[..., NDArray[np.float64]], self.followed_policy(memory))
        return policy(self.encoding.numbers_of(observation), action_mask)

    # -------------------------------------------------------------------------------------------------------- files

    def kept_arrays(self) -> dict[str, AnyArray]:
        """The fitted features, and the bounds they were fitted to.

        Raises
        ------
        FileError
            If the features are of another package and were given fitted.
        """
        from rlsuite.agents.fit_features import kept_features

        fitted = {f"features.{name}": value for name, value in kept_features(self.fitted, self.encoding).items()}
        return {**fitted, "low": self.encoding.low, "high": self.encoding.high, "legal_ids": self.legal_ids}

    def restore(self, header: Plain, arrays: Npz) -> None:
        """Restore the features.

        Raises
        ------
        KeyError, ValueError
            If something is missing, or is not what the features declare.
        UnsuitableEnvironment
            If the features are those of observations of another width.
        """
        from rlsuite.agents.fit_features import arrays_below, restored_features

        low, high = (arrays.take(name, np.float64, ndim=1) for name in ("low", "high"))
        legal_ids = arrays.take("legal_ids", np.bool_, ndim=2)
        if low.shape != high.shape or np.isnan(low).any() or np.isnan(high).any():
            raise ValueError("low and high must have the same length, without NaN")
        check_array("legal_ids", legal_ids, None, {})
        shape = arrays.headers["legal"].shape  # of the memory, which is read later
        if shape != (2, legal_ids.shape[1]):
            raise ValueError(f"legal has shape {shape}; it must have (2, {legal_ids.shape[1]}), like legal_ids")
        known = Encoding(low, high, whole(header, "first_observation"), n_ids=len(legal_ids))
        fitted, self.encoding = restored_features(self.features, known, arrays_below(arrays, "features."))
        self._use(fitted, legal_ids)
