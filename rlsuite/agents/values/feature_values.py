"""What weights of features and networks have in common: they see an observation as its features.

The feature maps and scikit-learn are imported when features are given.
"""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.episode_buffer import VectorEpisodeBuffer, new_vector_buffer
from rlsuite.agents.memory import Memory
from rlsuite.agents.prediction.policies import check_size, policy_table
from rlsuite.agents.storage import whole
from rlsuite.agents.values.representation import Greedy, Representation
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions, whole_amount
from rlsuite.core.declared import check_array
from rlsuite.core.described import Plain
from rlsuite.core.npz import Npz
from rlsuite.environments.observation_view import Encoding, encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.acting import Policy

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap, FeatureRule


class FeatureValues(Representation):
    """Base of `Linear` and `Network`: values of the features of an observation."""

    has_rows: ClassVar[bool] = False

    if TYPE_CHECKING:  # its subclasses declare them, each in the order of its own parameters
        features: "FeatureMap | Transformer | None"
        fit_on: int

    def __post_init__(self) -> None:
        self.fit_on, self.fitted_on, self.known = whole_amount("fit_on", self.fit_on), 0, np.zeros((2, 0))
        if self.features is not None:
            from rlsuite.agents.fit_features import check_features

            check_features(self.features)

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class says how values are made of features."""
        return cls is not FeatureValues

    # ---------------------------------------------------------------------------------------------- before learning

    def features_for(self, found: Encoding) -> "FeatureMap | Transformer | None":
        """The features of such observations; None stands for `OneHot` of ids, and `Identity` of all others."""
        return self.features

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

        if has_learned:  # the weights belong to these features
            self.encoding = bind_again(self.fitted, self.encoding, env)
            self.legal_ids = legal_ids(env)
            return self.encoding
        try:
            given = self.features_for(encoding(env.observation_space))
            fitted, self.encoding, self.fitted_on, self.known = bind_features(given, env, seed, self.fit_on)
        except errors.NotLearned:
            if seed is not None:
                raise
            return encoding(env.observation_space)
        self.use(fitted, legal_ids(env))
        return self.encoding

    def use(self, fitted: "FeatureMap", legal_ids: NDArray[np.bool_]) -> None:
        """Take fitted features, and which actions are legal at each id."""
        self.fitted, self.most_active, self.legal_ids = fitted, fitted.most_active_, legal_ids
        transform: object = self.encoding.transform
        self.outside: NDArray[np.int64] = getattr(transform, "outside", np.zeros(1, dtype=np.int64))

    def rule(self) -> "FeatureRule":
        """The fitted features in compiled form; those that learned from data count what lies outside of it."""
        from rlsuite.agents.fit_features import watched

        return watched(self.fitted.rule, self.known, self.outside)

    def size(self, n_rows: int) -> int:
        """How many features there are."""
        return self.fitted.n_features_out_

    def new_buffer(self, longest: int) -> VectorEpisodeBuffer:
        """Make an empty buffer of vectors."""
        return new_vector_buffer(longest, self.fitted.n_features_in_)

    def of_policies(self, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None, n_actions: int) -> Plain:
        """The fields of a memory of state values that hold the tables of the policies.

        Raises
        ------
        ParameterError
            If a policy does not fit the environment.
        """
        policy = policy_table("policy_to_follow", followed)
        check_size("policy_to_follow", policy, n_actions, len(self.legal_ids))
        check_size("policy_to_evaluate", evaluated, n_actions, len(self.legal_ids))
        return {
            "behaviour": np.zeros((0, n_actions)) if policy is None else policy,
            "target": np.zeros((0, 0)) if evaluated is None else evaluated,
        }

    def check_memory(self, memory: Memory) -> None:
        """Raise UnsuitableEnvironment if there are weights of another number of features."""
        if len(memory.weights) != self.fitted.n_features_out_:
            raise errors.UnsuitableEnvironment(
                f"this {self.owner} has learned {len(memory.weights)} weights per action, and the features of "
                f"this environment need {self.fitted.n_features_out_}. Use a new agent for it"
            )

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

    @abstractmethod
    def valuation(self, memory: Memory) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """The function from vectors (n, d), as an agent observes them, to their values (n, n_columns)."""

    def q(
        self, memory: Memory, observations: "ArrayLike | None", rows_of: Callable[[object], list[int]]
    ) -> NDArray[np.float64]:
        """Learned values, shape (n, n_columns), of observations (n, d); errors as of `values_at`."""
        return self.values_at(memory, observations)

    def values_at(self, memory: Memory, observations: "ArrayLike | None") -> NDArray[np.float64]:
        """Learned values, shape (n, n_columns), of observations (n, d); by default of all ids.

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
        return self.valuation(memory)(rows)

    def at(
        self, memory: Memory, observation: Observation, row_of: Callable[[Observation], int]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of an observation, and which actions are legal there."""
        vector = self.encoding.numbers_of(observation)
        q = self.values_at(memory, vector[None])[0]
        return q, self.legal_ids[int(vector[0])] if self.legal_ids.size else np.ones(len(q), dtype=np.bool_)

    def greedy_policy(self, memory: Memory, greedy: Greedy) -> Policy:
        """The greedy policy by a copy of what was learned, as a function of a vector and a mask."""
        weights, learned = copy.deepcopy((memory.weights, memory.learned))
        value = self.valuation(memory._replace(weights=weights, learned=learned))

        def policy(vector: NDArray[np.float64], action_mask: "ArrayLike | None") -> NDArray[np.float64]:
            return greedy(value(vector[None]), action_mask)[0]

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
        vector = self.encoding.numbers_of(observation)
        if action_mask is not None:
            legal_actions("action_mask", action_mask, memory.behaviour.shape[1])
        elif self.legal_ids.size:
            action_mask = legal = self.legal_ids[int(vector[0])]
            if not legal.any():
                raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
        policy = cast(Callable[..., NDArray[np.float64]], self.followed_policy(memory))
        return policy(vector, action_mask)

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
        if self.known.size:
            fitted["known"] = self.known
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
        if "known" in arrays:  # earlier versions have not kept it
            self.known = arrays.take("known", np.float64, (2, low.size))
        known = Encoding(low, high, whole(header, "first_observation"), n_ids=len(legal_ids))
        fitted, self.encoding = restored_features(self.features_for(known), known, arrays_below(arrays, "features."))
        self.use(fitted, legal_ids)
