"""The base of all agents whose values are linear in features."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.memory import begin
from rlsuite.approximation.linear.learner import LinearLearner, check_unit, new_active_features
from rlsuite.approximation.linear.memory import LinearMemory, evaluate_rows
from rlsuite.core.checks import finite_number, legal_actions
from rlsuite.exploration import EpsilonGreedy, Exploration, Legality
from rlsuite.features.checks import check_observations
from rlsuite.schedules import as_schedule
from rlsuite.training.evaluation import Policy
from rlsuite.training.kernels import Begin


@dataclass(eq=False, kw_only=True)
class LinearAgent(LinearLearner):
    """Base of the agents whose values are linear in features; subclasses define `step`.

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

    begin: ClassVar[Begin] = begin

    exploration: Exploration = field(default_factory=lambda: EpsilonGreedy(0.1))
    initial_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        exploration = cast(object, self.exploration)  # annotations are not checked at run time
        if not isinstance(exploration, Exploration):
            raise errors.ParameterError(
                f"exploration={exploration!r} must be an exploration such as EpsilonGreedy(0.1) or Softmax(1.0)"
            )
        for rate in (exploration.rule.first, exploration.rule.second):
            check_unit("exploration", rate)
        self.initial_weight = finite_number("initial_weight", self.initial_weight)

    # ------------------------------------------------------------------------------------------------------ the memory

    def tables(self, n_features: int, n_actions: int) -> Any:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside the weights; nothing here."""
        return ()

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def remember(self, legal: NDArray[np.bool_], legality: Legality) -> LinearMemory:
        """Make weights for the features that `bind_environment` has fitted."""
        n_actions = legal.shape[1]
        features = self.features_
        return LinearMemory(
            weights=np.full((features.n_features_out_, n_actions), self.initial_weight),
            features=features.rule,
            active=new_active_features(features.most_active_),
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
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features, n_actions)."""
        return self.memory_.weights

    def q(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """Action values, shape (n, n_actions), of observations (n, d); by default of all ids of a Discrete space.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        known: LinearMemory = self.memory_
        given = self.all_ids() if observations is None else observations
        rows = check_observations(given, self.encoding_.low.size, type(self).__name__)
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

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not of the space, or the mask is not one 0 or 1 for each action at each of them.
        """
        if observations is None and action_mask is None:
            action_mask = self._legal
        q = self.q(observations)
        return _greedy(
            q, None if action_mask is None else legal_actions("action_mask", action_mask, q.shape[1], len(q))
        )

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
            If the observation is not one of the space, or not finite, or no action is legal.
        """
        vector = self.encoding_.numbers_of(observation)
        q = self.q(vector[None])[0]
        if action_mask is None and self._legal.size:
            action_mask = self._legal[int(vector[0])]
        mask = np.ones(q.size) if action_mask is None else action_mask
        legal = np.flatnonzero(legal_actions("action_mask", mask, q.size))
        if not legal.size:
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        best = legal[q[legal] == q[legal].max()]
        return int(self.generator_.choice(best)) + self.first_action_


def _greedy(q: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
    legal = np.ones(q.shape, dtype=np.bool_) if action_mask is None else np.asarray(action_mask, dtype=np.bool_)
    masked = np.where(legal, q, -np.inf)
    best = (masked == masked.max(axis=1, keepdims=True)) & legal
    return best / np.maximum(best.sum(axis=1, keepdims=True), 1)
