"""The base of the agents that evaluate a policy and whose rule asks its memory: a table, or weights of features."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.memory import STATE, begin_following
from rlsuite.agents.predictor import Predictor
from rlsuite.agents.values import Representation, chosen
from rlsuite.training.kernels import Begin

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False, kw_only=True)
class StateValueAgent(Predictor):
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
    values : Table, Linear or Network, optional
        The same in full: what the values are learned in; see `rlsuite.agents.values`.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values; with features, of the ids of a Discrete space.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights; only with features.
    """

    begin: ClassVar[Begin] = begin_following

    values: Representation | None = None
    features: "FeatureMap | Transformer | None" = None

    def representation(self) -> Representation:
        """What the values are learned in."""
        return chosen(self.values, self.features, self.initial_value)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Learned weights, shape (n_features,); only with features."""
        return super().weights_[:, STATE]
