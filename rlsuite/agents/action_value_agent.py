"""The base of the agents with action values whose rule asks its memory: a table, or weights of features."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.feature_agent import FeatureAgent, check_unit, new_active_features
from rlsuite.agents.feature_memory import LinearMemory, by_fresh_values, evaluate_rows
from rlsuite.agents.memory import ActionValues, begin
from rlsuite.agents.rule_parameters import in_memory
from rlsuite.agents.schedules import as_schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.aliases import Observation, Own
from rlsuite.core.checks import legal_actions, row_of_id
from rlsuite.core.fingerprints import reads
from rlsuite.training.evaluation import Policy
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality


@dataclass(eq=False, kw_only=True)
class ActionValueAgent(FeatureAgent, TabularAgent):
    """Base of the agents whose rule is the same for a table and for features; subclasses define `step`.

    Without features it learns a table, as every `TabularAgent`. With features it learns weights, in any environment
    whose observations are numbers; in the compiled loop wherever there is a table or compiled dynamics, and the
    features are a `FeatureMap`.

    The rule of an agent of your own asks its memory: `rlsuite.agents.memory` lists what there is to ask.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.uses_features:
            rule = self.exploration.rule
            for rate in (rule.first, rule.second):
                check_unit("exploration", rate)
            if reads(rule.select, "visits") or reads(rule.spread, "visits"):
                raise errors.ParameterError(
                    f"exploration: {self.exploration!r} counts how often each action was taken in each state, which "
                    "needs a table; with features use another, such as EpsilonGreedy or Softmax"
                )

    # ------------------------------------------------------------------------------------------------------ the memory

    @property
    def most_active(self) -> int:
        """How many features may differ from 0 at once; 0 for a table."""
        return self.features_.most_active_ if self.uses_features else 0

    @property
    def initial_weights(self) -> float:
        """What every weight is before anything is learned."""
        return self.initial_value

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Own:
        """Make a table of initial values, or weights for the features that `bind_environment` has fitted."""
        if not self.uses_features:
            return super().init_memory(legal, legality)
        n_actions = legal.shape[1]
        features = self.features_
        return LinearMemory(
            weights=np.full((features.n_features_out_, n_actions), self.initial_weights),
            features=features.rule,
            active=new_active_features(features.most_active_),
            q=np.zeros((2, n_actions)),
            stale=np.zeros(2, dtype=np.int64),
            visits=np.zeros((2, n_actions), dtype=np.int64),
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            exploration=by_fresh_values(self.exploration.rule),
            scores=np.zeros(n_actions),
            learned=self.tables(features.n_features_out_, n_actions),
            scratch=self.scratch(features.n_features_out_, n_actions),
            parameters=in_memory(self),
        )

    # ------------------------------------------------------------------------------------------------- what was learned

    @property
    def q_(self) -> NDArray[np.float64]:
        """Learned action values, shape (n_states, n_actions)."""
        return self.q()

    @property
    def visits_(self) -> NDArray[np.int64]:
        """How often each pair was taken, shape (n_states, n_actions); only of a table."""
        if self.uses_features:
            raise AttributeError("visits_")
        return self.memory_.visits

    def q(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """Action values, shape (n, n_actions), of observations (n, d), or ids (n,) for a table; by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        if self.uses_features:
            return self.values_of(observations)
        known: ActionValues = self.memory_
        if observations is None:
            return known.q
        return known.q[self.rows_of(observations)]

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
            return greedy(q, self.legal_)
        return greedy(q, None if action_mask is None else legal_actions("action_mask", action_mask, q.shape[1], len(q)))

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """Greedy actions of one state (counted from 0), in ascending order; several if tied, none at an end."""
        if not self.uses_features:
            return super().best_actions(state)
        policy = self.policy()
        return np.flatnonzero(policy[row_of_id(state, 0, len(policy))])

    def frozen_policy(self) -> Policy:
        """Greedy policy learned so far, in the form that evaluations use: of ids, or of a vector and a mask."""
        if not self.uses_features:
            return self.policy()
        known: LinearMemory = self.memory_
        weights, most_active = known.weights.copy(), self.features_.most_active_
        indices, values = np.zeros(most_active, dtype=np.int64), np.zeros(most_active)

        def policy(vector: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
            q = np.zeros((1, weights.shape[1]))
            evaluate_rows(known.features, weights, vector[None], indices, values, q)
            return greedy(q, action_mask)[0]

        return policy

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
        if not self.uses_features and action_mask is None:
            return super().act(observation)
        if self.uses_features:
            vector = self.encoding_.numbers_of(observation)
            q = self.q(vector[None])[0]
            known = self._legal[int(vector[0])] if self._legal.size else np.ones(q.size, dtype=np.bool_)
        else:
            row = self.row_of(observation)
            q, known = self.memory_.q[row], self.memory_.legal[row]
        legal = np.flatnonzero(known if action_mask is None else legal_actions("action_mask", action_mask, q.size))
        if not legal.size:
            if action_mask is None:
                raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        best = legal[q[legal] == q[legal].max()]
        return int(self.generator_.choice(best)) + self.first_action_


def greedy(q: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
    """The greedy policy of action values (n, n_actions): probabilities; ties share them equally."""
    legal = np.ones(q.shape, dtype=np.bool_) if action_mask is None else np.asarray(action_mask, dtype=np.bool_)
    masked = np.where(legal, q, -np.inf)
    best = (masked == masked.max(axis=1, keepdims=True)) & legal
    return best / np.maximum(best.sum(axis=1, keepdims=True), 1)
