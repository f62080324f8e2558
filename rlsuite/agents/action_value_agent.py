"""The base of the agents with action values whose rule asks its memory: a table, or weights of features."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.memory import Memory, begin
from rlsuite.agents.tabular import TabularAgent, greedy
from rlsuite.agents.values import Representation, chosen
from rlsuite.core.aliases import Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions
from rlsuite.training.acting import Policy
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False, kw_only=True)
class ActionValueAgent(TabularAgent):
    """Base of the agents whose rule is the same for a table and for features; subclasses define `step`.

    Without features it learns a table, as every `TabularAgent`. With features it learns weights, in any environment
    whose observations are numbers; in the compiled loop wherever there is a table or compiled dynamics, and the
    features are a `FeatureMap`.

    The rule of an agent of your own asks its memory: `rlsuite.agents.memory` lists what there is to ask. With features,
    each update computes ``memory.q`` again. A class that sets ``renews = True`` beside its `step` saves that time: its
    rule calls `rlsuite.agents.memory.renew` before it reads ``memory.q``, or calls `max_value` or `greedy`, after an
    update; `choose` and `action_probabilities` need no such call.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]; of features a schedule counts steps or episodes. With n features of size 1 active at a
        time, 1 / n moves a value all the way to its target.
    initial_value : float
        Value of every action before it is tried; with features, what every weight is.
    features : FeatureMap or transformer, optional
        What the values are linear in: one of rlsuite's feature maps, such as `TileCoding`, or a fitted object with
        scikit-learn's `fit` and `transform`. It is copied. By default a table.
    values : Table, Linear or Network, optional
        The same in full: what the values are learned in; see `rlsuite.agents.values`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values; with features, of the ids of a Discrete space.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights; only with features.
    features_ : FeatureMap
        The fitted feature map; only with features.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or a schedule counts visits, which features do not know.

    Examples
    --------
    Sarsa written for both, and the same bytes in a table and with one-hot features:

    >>> import rlsuite as rl
    >>> from rlsuite.agents import end_step, locate, locate_next, update, value
    >>> from rlsuite.approximation import OneHot
    >>> @rl.compiled
    ... def my_sarsa(memory, t, rng):
    ...     s, target, next_action = locate(memory, t.state), t.reward, 0
    ...     if not t.terminated:
    ...         next_s = locate_next(memory, t.next_state)
    ...         next_action = rl.choose(memory, next_s, rng)
    ...         target += memory.gamma * memory.q[next_s, next_action]
    ...     update(memory, s, t.action, rl.step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    ...     end_step(memory, s, t.action, t.terminated or t.truncated)
    ...     return next_action
    >>> class MySarsa(rl.ActionValueAgent):
    ...     step = my_sarsa
    >>> table = MySarsa().learn("FrozenLake-v1", steps=500, seed=1)
    >>> weights = MySarsa(features=OneHot()).learn("FrozenLake-v1", steps=500, seed=1)
    >>> table.q_.tobytes() == weights.q_.tobytes() == rl.Sarsa().learn("FrozenLake-v1", steps=500, seed=1).q_.tobytes()
    True
    """

    begin: ClassVar[Begin] = begin

    renews: ClassVar[bool] = False
    """Whether `step` of the same class calls `renew` before it reads values that an update may have changed."""

    values: Representation | None = None
    features: "FeatureMap | Transformer | None" = None

    def representation(self) -> Representation:
        """What the values are learned in."""
        return chosen(self.values, self.features, self.initial_value)

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make a memory of initial values, in which an update leaves no value out of date that the rule may read."""
        memory = super().init_memory(legal, legality)
        author = next((kind for kind in type(self).__mro__ if "step" in vars(kind)), ActionValueAgent)
        return memory if vars(author).get("renews", False) else self.values_.kept_current(memory)

    # ------------------------------------------------------------------------------------------------- what was learned

    @property
    def q_(self) -> NDArray[np.float64]:
        """Learned action values, shape (n_states, n_actions)."""
        return self.q()

    def q(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """Action values, shape (n, n_actions), of observations (n, d), or ids (n,) for a table; by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        return self.values_.q(self.memory_, observations, self.rows_of)

    def policy(
        self, observations: ArrayLike | None = None, action_mask: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Greedy policy learned so far: probabilities, ties share them equally.

        Parameters
        ----------
        observations : array_like (n, d), or ids (n,) for a table, optional
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
        q = self.q(observations)
        if observations is None and action_mask is None:
            return self.to_policy(q, self.legal_)
        mask = None if action_mask is None else legal_actions("action_mask", action_mask, q.shape[1], len(q))
        return self.to_policy(q, mask)

    def to_policy(self, q: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
        """The greedy policy of action values (n, n_actions)."""
        return greedy(q, action_mask)

    def frozen_policy(self) -> Policy:
        """Greedy policy learned so far, in the form that evaluations use: of ids, or of a vector and a mask."""
        return self.values_.greedy_policy(self.memory_, self.to_policy)

    def act(self, observation: Observation, action_mask: ArrayLike | None = None) -> int:
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
        if self.values_.has_rows and action_mask is None:
            return super().act(observation)
        q, legal = self.values_at(observation, action_mask)
        best = np.flatnonzero(legal & (q == q[legal].max()))
        return int(self.generator_.choice(best)) + self.first_action_

    def values_at(
        self, observation: Observation, action_mask: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Action values (n_actions,) of an observation, and which actions are legal there; at least one is.

        Raises
        ------
        ParameterError
            If the observation is not one of the space, or not finite, or no action is legal.
        """
        q, legal = self.values_.at(self.memory_, observation, self.row_of)
        if action_mask is not None:
            legal = legal_actions("action_mask", action_mask, q.size)
        if not legal.any():
            raise errors.ParameterError(
                f"observation {observation!r} is terminal: no action is legal there"
                if action_mask is None
                else f"no action is legal at observation {observation!r}"
            )
        return q, legal
