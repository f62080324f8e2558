"""The base of the agents that evaluate a policy with values that are linear in features.

A state value is the value of the only action of a problem without choices: so the weights are stored as those of one
action, 0, and the functions of `rlsuite.approximation.linear.memory` for action values apply to them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.predictor import STATE, StateAnswers, begin_predicting
from rlsuite.approximation.linear.following import (
    check_coverage,
    check_size,
    follow_policy,
    policy_table,
    ratio_of_policies,
)
from rlsuite.approximation.linear.learner import LinearLearner, new_active_features
from rlsuite.approximation.linear.memory import (
    FEATURES,
    ActiveFeatures,
    compute_features,
    evaluate_rows,
    linear_step_size,
)
from rlsuite.core.checks import legal_actions
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.exploration import Legality
from rlsuite.features.checks import check_observations
from rlsuite.features.feature_map import FeatureRule
from rlsuite.schedules import Rate, as_schedule
from rlsuite.training.kernels import Begin


@compiled(in_place=True)
def _first_row(memory: Any, observation: NDArray[np.float64]) -> int:
    memory.active.now[0] = 0
    compute_features(memory, observation, 0)
    return 0


@compiled(in_place=True)
def _next_row(memory: Any, next_observation: NDArray[np.float64]) -> int:
    row = 1 - memory.active.now[0]
    compute_features(memory, next_observation, row)
    return row


@compiled(in_place=True)
def _step_size(memory: Any, row: int) -> float:
    return linear_step_size(memory)


STATE_FEATURES = StateAnswers(
    locate_first=_first_row,
    locate=FEATURES.locate,
    locate_next=_next_row,
    value=FEATURES.value,
    update=FEATURES.update,
    visit=FEATURES.visit,
    update_and_decay=FEATURES.update_and_decay,
    step_size=_step_size,
    follow=follow_policy,
    ratio=ratio_of_policies,
    end_step=FEATURES.end_step,
)
"""How weights of features answer a rule of prediction; see `rlsuite.agents.predictor`."""


class LinearValues(NamedTuple):
    """Weights, and everything that following a policy and learning need."""

    weights: NDArray[np.float64]  # (n_features, 1)
    features: FeatureRule
    active: ActiveFeatures
    behaviour: NDArray[np.float64]  # (n_rows, n_actions), the policy that is followed; see `following`
    target: NDArray[np.float64]  # (n_rows, n_actions), the one that is evaluated; (0, 0) if it is the same
    legal: NDArray[np.bool_]  # (2, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    learned: Any = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Any = ()  # NamedTuple of what the rule keeps during an episode; not cleared between episodes
    answers: StateAnswers = STATE_FEATURES


@dataclass(eq=False, kw_only=True)
class LinearPredictor(LinearLearner):
    """Base of the agents that evaluate a policy with features; subclasses define `step`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions, for all observations alike or for each id; by default all legal actions are
        equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.
    """

    begin: ClassVar[Begin] = begin_predicting

    policy_to_follow: ArrayLike | None = None
    initial_weight: float | ArrayLike = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        policy_table("policy_to_follow", self.policy_to_follow)
        given = np.asarray(self.initial_weight)
        if given.dtype.kind not in "iuf" or given.ndim > 1 or not np.isfinite(given).all():
            raise errors.ParameterError(
                f"initial_weight={self.initial_weight!r} must be a finite number, or an array (n_features,) of them"
            )

    def tables(self, n_features: int) -> Any:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside the weights; nothing here."""
        return ()

    def scratch(self, n_features: int) -> Any:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions), where it is not the one that is followed."""
        return None

    def remember(self, legal: NDArray[np.bool_], legality: Legality) -> LinearValues:
        """Make weights for the features that `bind_environment` has fitted, and the tables of the policies.

        Raises
        ------
        ParameterError
            If a policy or the initial weights do not fit the environment.
        """
        n_actions, features = legal.shape[1], self.features_
        n_features = features.n_features_out_
        followed, evaluated = policy_table("policy_to_follow", self.policy_to_follow), self.evaluated()
        check_size("policy_to_follow", followed, n_actions, len(self.legal_))
        check_size("policy_to_evaluate", evaluated, n_actions, len(self.legal_))
        given = np.asarray(self.initial_weight, dtype=np.float64)
        if given.ndim == 1 and given.size != n_features:
            raise errors.ParameterError(f"initial_weight has {given.size} numbers, but there are {n_features} features")
        weights = np.zeros((n_features, 1))
        weights[:, STATE] = given
        return LinearValues(
            weights=weights,
            features=features.rule,
            active=new_active_features(features.most_active_),
            behaviour=np.zeros((0, n_actions)) if followed is None else followed,
            target=np.zeros((0, 0)) if evaluated is None else evaluated,
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            learned=self.tables(n_features),
            scratch=self.scratch(n_features),
        )

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features,)."""
        return self.memory_.weights[:, STATE]

    def value(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """State values, shape (n,), of observations (n, d); by default of all ids of a Discrete space.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        known: LinearValues = self.memory_
        given = self.all_ids() if observations is None else observations
        rows = check_observations(given, self.encoding_.low.size, type(self).__name__)
        if self.encoding_.transform is not None:
            rows = self.encoding_.transform(rows)
        value, room = np.zeros((len(rows), 1)), self.features_.most_active_
        evaluate_rows(known.features, known.weights, rows, np.zeros(room, dtype=np.int64), np.zeros(room), value)
        return value[:, STATE]

    def frozen_policy(self) -> Callable[[NDArray[np.float64], Any], NDArray[np.float64]]:
        """The policy that is followed, as a function of one vector and a mask."""
        return self._chances

    def act(self, observation: Any, action_mask: ArrayLike | None = None) -> int:
        """Draw an action of the policy that is followed.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space, or `action_mask` (n_actions,) allows no action that the policy
            takes.
        """
        known: LinearValues = self.memory_
        if action_mask is not None:
            legal_actions("action_mask", action_mask, known.behaviour.shape[1])
        reached = np.cumsum(self._chances(self.encoding_.numbers_of(observation), action_mask))
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_

    def _chances(self, vector: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
        known: LinearValues = self.memory_
        n_actions = known.behaviour.shape[1]
        legal = np.ones(n_actions) if action_mask is None else np.asarray(action_mask, dtype=np.float64)
        if len(known.behaviour) > 0:
            legal = legal * known.behaviour[int(vector[0]) if len(known.behaviour) > 1 else 0]
        if not legal.any():
            raise errors.ParameterError(f"action_mask={action_mask!r} allows no action of the policy")
        return legal / legal.sum()


@dataclass(eq=False, kw_only=True)
class OffPolicyPredictor(LinearPredictor):
    """Base of the predictors that can evaluate one policy while another one is followed.

    Parameters
    ----------
    policy_to_evaluate : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the policy that is evaluated; by default the one that is followed. It may take no action that
        the latter never takes.
    features, gamma, policy_to_follow, learning_rate, initial_weight
        As for `LinearPredictor`.

    Raises
    ------
    ParameterError
        If an action that is evaluated would never be taken.
    """

    policy_to_evaluate: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_coverage(policy_table("policy_to_follow", self.policy_to_follow), self.evaluated())

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions); None if it is the one that is followed."""
        return policy_table("policy_to_evaluate", self.policy_to_evaluate)
