"""The base of the agents that evaluate a policy and whose rule asks its memory: a table, or weights of features."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.feature_agent import FeatureAgent, new_active_features
from rlsuite.agents.feature_memory import LinearValues
from rlsuite.agents.prediction.policies import check_size, policy_table
from rlsuite.agents.predictor import STATE, Predictor, begin_predicting
from rlsuite.agents.rule_parameters import in_memory
from rlsuite.agents.schedules import as_schedule
from rlsuite.core.aliases import Observation, Own
from rlsuite.core.checks import legal_actions
from rlsuite.training.evaluation import Policy
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality


@dataclass(eq=False, kw_only=True)
class StateValueAgent(FeatureAgent, Predictor):
    """Base of the predictors whose rule is the same for a table and for features; subclasses define `step`.

    Without features it learns a table, as every `Predictor`; with features, weights.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like, optional
        For a table (n_states,) of int, an action for each state, or (n_states, n_actions), probabilities; with features
        probabilities (n_actions,), for all observations alike, or (n_ids, n_actions). By default all legal actions are
        equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; of features a schedule counts steps or episodes.
    initial_value : float
        Value of every state before it is visited; with features, what every weight is.
    features : FeatureMap or transformer, optional
        What the values are linear in; see `ActionValueAgent`. By default a table.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values; with features, of the ids of a Discrete space.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights; only with features.
    """

    begin: ClassVar[Begin] = begin_predicting

    def check_policies(self) -> None:
        """Raise ParameterError if a policy is malformed, for any environment."""
        if self.uses_features:
            policy_table("policy_to_follow", self.policy_to_follow)
        else:
            super().check_policies()

    @property
    def most_active(self) -> int:
        """How many features may differ from 0 at once; 0 for a table."""
        return self.features_.most_active_ if self.uses_features else 0

    @property
    def initial_weights(self) -> float | ArrayLike:
        """What every weight, or each of them, is before anything is learned."""
        return self.initial_value

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions), where it is not the one that is followed."""
        return None

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        """Make a table of initial values, or weights for the features that `bind_environment` has fitted.

        Raises
        ------
        ParameterError
            If a policy or the initial weights do not fit the environment.
        """
        if not self.uses_features:
            return super().init_memory(legal, legality)
        n_actions, features = legal.shape[1], self.features_
        n_features = features.n_features_out_
        followed, evaluated = policy_table("policy_to_follow", self.policy_to_follow), self.evaluated()
        check_size("policy_to_follow", followed, n_actions, len(self.legal_))
        check_size("policy_to_evaluate", evaluated, n_actions, len(self.legal_))
        given = np.asarray(self.initial_weights, dtype=np.float64)
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
            parameters=in_memory(self),
        )

    # ------------------------------------------------------------------------------------------------- what was learned

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features,); only with features."""
        return super().weights_[:, STATE]

    @property
    def visits_(self) -> NDArray[np.int64]:
        """How often each state was left, shape (n_states,); only of a table."""
        if self.uses_features:
            raise AttributeError("visits_")
        return self.memory_.visits

    def value(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """State values, shape (n,), of observations (n, d), or of ids (n,) for a table; by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        if self.uses_features:
            return self.values_of(observations)[:, STATE]
        return super().value(observations)

    def policy(self) -> NDArray[np.float64]:
        """Policy that is evaluated, shape (n_states, n_actions): probabilities, 0 at ends; of features, of all ids."""
        if not self.uses_features:
            return super().policy()
        return np.array(
            [self._probabilities(vector, legal) for vector, legal in zip(self.all_ids(), self._legal, strict=True)]
        )

    def frozen_policy(self) -> Policy:
        """The policy that is followed, in the form that evaluations use: of ids, or of a vector and a mask."""
        return self._probabilities if self.uses_features else super().frozen_policy()

    def act(self, observation: Observation, action_mask: ArrayLike | None = None) -> int:
        """Draw an action of the policy that is followed.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space, or `action_mask` (n_actions,) allows no action that the policy
            takes.
        """
        if not self.uses_features:
            if action_mask is not None:
                raise errors.ParameterError(
                    "action_mask= is for agents with features; a table already knows the legal actions"
                )
            return super().act(observation)
        known: LinearValues = self.memory_
        if action_mask is not None:
            legal_actions("action_mask", action_mask, known.behaviour.shape[1])
        reached = np.cumsum(self._probabilities(self.encoding_.numbers_of(observation), action_mask))
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_

    def _probabilities(self, vector: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
        known: LinearValues = self.memory_
        n_actions = known.behaviour.shape[1]
        legal = np.ones(n_actions) if action_mask is None else np.asarray(action_mask, dtype=np.float64)
        if len(known.behaviour) > 0:
            legal = legal * known.behaviour[int(vector[0]) if len(known.behaviour) > 1 else 0]
        if not legal.any():
            raise errors.ParameterError(f"action_mask={action_mask!r} allows no action of the policy")
        return legal / legal.sum()
