"""Bases of the agents that always have features, under the names of S&B2: without `features` these are defaults."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.prediction.policies import check_coverage, policy_table
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.agents.values import Linear, Representation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.training.acting import is_asked


@dataclass(eq=False, kw_only=True)
class LinearAgent(ActionValueAgent):
    """Base of the control agents that always have features; subclasses define `step`.

    It learns in any environment whose observations are numbers. In the compiled loop it runs wherever there is a table
    or compiled dynamics, and the features are a `FeatureMap`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the values are linear in. One of rlsuite's feature maps, or a fitted object with scikit-learn's `fit` and
        `transform`. It is copied. By default `OneHot` for ids, and `Identity` for all other observations.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; a schedule counts steps or episodes.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
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

    initial_value: float = field(init=False, repr=False, default=0.0)
    values: Representation | None = field(init=False, repr=False, default=None)
    initial_weight: float = 0.0

    def __post_init__(self) -> None:
        self.initial_weight = finite_number("initial_weight", self.initial_weight)
        super().__post_init__()

    def representation(self) -> Linear:
        """What the values are learned in."""
        return Linear(self.features, self.initial_weight)

    @property
    def linear_(self) -> Linear:
        """The features, and how observations become the vectors that they are computed from."""
        assert isinstance(self.values_, Linear)
        return self.values_


@dataclass(eq=False, kw_only=True)
class LinearPredictor(StateValueAgent):
    """Base of the agents that evaluate a policy and always have features; subclasses define `step`.

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

    initial_value: float = field(init=False, repr=False, default=0.0)
    values: Representation | None = field(init=False, repr=False, default=None)
    initial_weight: "float | ArrayLike" = 0.0

    def __post_init__(self) -> None:
        given = np.asarray(self.initial_weight)
        if given.dtype.kind not in "iuf" or given.ndim > 1 or not np.isfinite(given).all():
            raise errors.ParameterError(
                f"initial_weight={self.initial_weight!r} must be a finite number, or an array (n_features,) of them"
            )
        super().__post_init__()

    def representation(self) -> Linear:
        """What the values are learned in."""
        return Linear(self.features, self.initial_weight)


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

    policy_to_evaluate: object = None

    def check_policies(self) -> None:
        """Raise ParameterError if a policy is not one, or an action that is evaluated would never be taken."""
        super().check_policies()
        if is_asked(self.policy_to_follow) or is_asked(self.policy_to_evaluate):
            return  # checked when they are tables
        check_coverage(policy_table("policy_to_follow", self.policy_to_follow), self.evaluated())

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions); None if it is the one that is followed."""
        return policy_table("policy_to_evaluate", self.policy_to_evaluate)
