"""The base of all agents whose values are linear in features."""

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

import gymnasium
import numpy as np
import sklearn.base
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.approximation.features.feature_map import FeatureMap, check_observations
from rlsuite.approximation.features.identity import Identity, OneHot
from rlsuite.approximation.linear import memory
from rlsuite.approximation.linear.meeting import check_width, legal_ids, meet_environment
from rlsuite.approximation.linear.memory import LinearMemory, Scene, evaluate_rows
from rlsuite.checks import finite_number
from rlsuite.exploration import EpsilonGreedy, Exploration, Legality
from rlsuite.schedules import VISITS, Schedule, as_schedule
from rlsuite.training.evaluation import Policy
from rlsuite.training.kernels import Begin
from rlsuite.training.sight import Encoding, as_vector

_base: Any = sklearn.base  # scikit-learn carries no types

REMEDY = (
    "A smaller learning_rate often helps (with n features active at a time, 1 / n is the largest that makes sense); "
    "off-policy with bootstrapping, only gradient-TD methods are safe"
)
ENORMOUS = 1e12
"""Weights beyond this are on their way to infinity, whatever the rewards are."""


@dataclass(eq=False, kw_only=True)
class LinearAgent(Agent):
    """Base of the agents whose values are linear in features; derive from it with a `step` of your own.

    It learns in any environment whose observations are numbers. In the compiled loop it runs wherever there is a table
    or compiled dynamics, and the features are a `FeatureMap`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in. One of rlsuite's feature maps, or whatever has scikit-learn's `fit` and
        `transform`, fitted. It is copied. By default `OneHot` for ids, and `Identity` for all other observations.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.exploration`.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.
    features_ : FeatureMap
        The fitted feature map.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or counts visits, which features do not know.
    """

    begin: ClassVar[Begin] = memory.begin_linear

    features: Any = None
    exploration: Exploration = field(default_factory=lambda: EpsilonGreedy(0.1))
    learning_rate: float | Schedule = 0.1
    initial_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        exploration = cast(object, self.exploration)  # annotations bind nobody who does not check types
        if not isinstance(exploration, Exploration):
            raise errors.ParameterError(
                f"exploration={exploration!r} must be an exploration such as EpsilonGreedy(0.1) or Softmax(1.0)"
            )
        rates = {"exploration": exploration.rule.first, "exploration ": exploration.rule.second}
        rates["learning_rate"] = as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate
        for name, rate in rates.items():
            if rate.unit == VISITS:
                raise errors.ParameterError(
                    f"{name.strip()}: visits cannot be counted where no observation is met twice; use per='steps' or "
                    "per='episodes'"
                )
        self.initial_weight = finite_number("initial_weight", self.initial_weight)
        if self.features is not None and not hasattr(self.features, "transform"):
            raise errors.ParameterError(
                f"features={self.features!r} must be a feature map such as TileCoding(), or have scikit-learn's fit "
                "and transform"
            )

    def learn(self, env: str | gymnasium.Env[Any, Any], **options: Any) -> Self:
        """Learn as every agent does (see `Agent.learn`), and watch the weights.

        Raises
        ------
        LearningError
            If a weight has become infinite or NaN; the weights are put back to what they were before this call.

        Warns
        -----
        DivergenceWarning
            If a weight is larger than anything that a return could ask for.
        """
        before = None if self._memory is None else self.weights_.copy()
        super().learn(env, **options)
        if not np.isfinite(self.weights_).all():
            self.weights_[:] = self.initial_weight if before is None else before
            raise errors.LearningError(
                f"{type(self).__name__} has diverged: a weight is no finite number any more. The weights are those "
                f"from before this call. {REMEDY}"
            )
        largest = float(np.abs(self.weights_).max(initial=0.0))
        if largest > ENORMOUS:
            warnings.warn(
                f"{type(self).__name__} seems to diverge: its largest weight is {largest:.3g}. {REMEDY}",
                errors.DivergenceWarning,
                stacklevel=2,
            )
        return self

    # ------------------------------------------------------------------------------------------------ the environment

    def meet(self, env: gymnasium.Env[Any, Any]) -> Encoding | None:
        """Fit the features to the bounds of an environment, if that is all they need.

        Raises
        ------
        NotLearned
            If the features are not fitted, and bounds are not enough for them.
        UnsuitableEnvironment
            If the observations are no numbers, or of another width than what the features were fitted to.
        """
        features, self.encoding_ = meet_environment(self.features, env)
        if self._memory is not None:
            features = self.features_  # the weights are those of these
            check_width(features, self.encoding_)
        self.features_ = features
        self.first_observation_ = self.encoding_.first
        self._legal = legal_ids(env)
        return self.encoding_

    def _recall(self, legal: NDArray[np.bool_], legality: Legality) -> Any:
        known = self._memory
        if known is not None and len(known.weights) != self.features_.n_features_out_:
            raise errors.UnsuitableEnvironment(
                f"this {type(self).__name__} has learned {len(known.weights)} weights per action, and the features of "
                f"this environment need {self.features_.n_features_out_}. Learn it with a new agent"
            )
        return super()._recall(legal, legality)

    # ------------------------------------------------------------------------------------------------------ the memory

    def tables(self, n_features: int, n_actions: int) -> Any:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside the weights; nothing here."""
        return ()

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def remember(self, legal: NDArray[np.bool_], legality: Legality) -> LinearMemory:
        """Make weights for the features that `meet` has fitted."""
        n_actions = legal.shape[1]
        features = self.features_
        rows = (2, features.most_active_)
        return LinearMemory(
            weights=np.full((features.n_features_out_, n_actions), self.initial_weight),
            features=features.rule,
            scene=Scene(
                np.zeros(rows, dtype=np.int64), np.zeros(rows), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
            ),
            q=np.zeros((2, n_actions)),
            visits=np.zeros((2, n_actions), dtype=np.int64),
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            exploration=self.exploration.rule,
            scores=np.zeros(n_actions),
            learned=self.tables(features.n_features_out_, n_actions),
            scratch=self.scratch(features.n_features_out_, n_actions),
        )

    # ------------------------------------------------------------------------------------------------- what was learned

    @property
    def legal_(self) -> NDArray[np.bool_]:
        """The actions that exist, shape (n_ids, n_actions); (0, n_actions) where observations are no ids."""
        return self._legal

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features, n_actions)."""
        return self.memory_.weights

    def q(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Action values, shape (n, n_actions), of observations (n, d).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width.
        """
        known: LinearMemory = self.memory_
        width = self.encoding_.low.size
        rows = check_observations(observations, width, type(self).__name__)
        if self.encoding_.transform is not None:
            rows = self.encoding_.transform(rows)
        q = np.zeros((len(rows), known.weights.shape[1]))
        room = self.features_.most_active_
        evaluate_rows(known.features, known.weights, rows, np.zeros(room, dtype=np.int64), np.zeros(room), q)
        return q

    def policy(
        self, observations: ArrayLike | None = None, action_mask: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Greedy policy learned so far: probabilities, ties share them equally.

        Parameters
        ----------
        observations : array_like (n, d), optional
            By default all ids of a Discrete space, counted from 0.
        action_mask : array_like (n, n_actions), optional
            1 for the actions that are legal. By default all, and of ids those that the model of the environment knows.

        Returns
        -------
        ndarray of float64, shape (n, n_actions)
        """
        if observations is None:
            if not self._legal.size:
                raise errors.ParameterError("policy() needs observations=, an array (n, d), where they are not ids")
            ids = np.arange(float(len(self._legal)))[:, None]
            return _greedy(self.q(ids), self._legal if action_mask is None else action_mask)
        return _greedy(self.q(observations), action_mask)

    def frozen_policy(self) -> Policy:
        """Greedy policy learned so far, as a function of one vector and a mask, by a copy of the weights."""
        known: LinearMemory = self.memory_
        weights, room = known.weights.copy(), self.features_.most_active_
        indices, values = np.zeros(room, dtype=np.int64), np.zeros(room)

        def policy(vector: NDArray[np.float64], action_mask: Any) -> NDArray[np.float64]:
            q = np.zeros((1, weights.shape[1]))
            evaluate_rows(known.features, weights, vector[None], indices, values, q)
            return _greedy(q, action_mask)[0]

        return policy

    def act(self, observation: Any, action_mask: ArrayLike | None = None) -> int:
        """Take the best action learned so far; ties are broken at random.

        Parameters
        ----------
        observation : object
            What the environment returned.
        action_mask : array_like (n_actions,), optional
            1 for the actions that are legal, as in ``info["action_mask"]``. By default all, and of ids those that the
            model of the environment knows.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not finite, or of another width, or no action is legal.
        """
        vector = as_vector(observation) - self.encoding_.first
        q = self.q(vector[None])[0]
        if action_mask is None and self._legal.size:
            if not 0 <= vector[0] < len(self._legal):
                first = self.encoding_.first
                raise errors.ParameterError(
                    f"observation {observation!r} is not in {first}..{first + len(self._legal) - 1}"
                )
            action_mask = self._legal[int(vector[0])]
        legal = np.flatnonzero(np.ones(q.size) if action_mask is None else np.asarray(action_mask))
        if not legal.size:
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        best = legal[q[legal] == q[legal].max()]
        return int(self.generator_.choice(best)) + self.first_action_

    # -------------------------------------------------------------------------------------------------- kept in a file

    def kept_arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps beside the learned arrays: what the features have learned, and the bounds they met.

        Raises
        ------
        FileError
            If the features are not rlsuite's: they could be kept as a pickle only, and none is ever loaded.
        """
        if self.encoding_.transform is not None:
            raise errors.FileError(
                f"features of the class {type(self.features).__name__} cannot be saved without a pickle; use one of "
                "rlsuite's feature maps"
            )
        fitted = {f"features.{name}": value for name, value in self.features_.fitted_.items()}
        met = {"low": self.encoding_.low, "high": self.encoding_.high, "legal_ids": self._legal}
        return {**super().kept_arrays(), **fitted, **met}

    def restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], episodes: NDArray[np.void]) -> None:
        """Take over what `save` has written; part of `rlsuite.load`."""
        low, high, self._legal = (arrays.pop(name) for name in ("low", "high", "legal_ids"))
        self.encoding_ = Encoding(low, high, int(header["first_observation"]))
        fitted = {name.removeprefix("features."): value for name, value in arrays.items() if "features." in name}
        if self.features is None:
            kind = OneHot if "first_" in fitted else Identity
            self.features_ = kind().restore(fitted)
        else:
            self.features_ = cast(FeatureMap, _base.clone(self.features)).restore(fitted)
        super().restore(header, {name: value for name, value in arrays.items() if "features." not in name}, episodes)


def _greedy(q: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
    legal = np.ones(q.shape, dtype=np.bool_) if action_mask is None else np.asarray(action_mask, dtype=np.bool_)
    masked = np.where(legal, q, -np.inf)
    best = (masked == masked.max(axis=1, keepdims=True)) & legal
    return best / np.maximum(best.sum(axis=1, keepdims=True), 1)
