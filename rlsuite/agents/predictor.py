"""The base of all agents that evaluate a policy: they follow it, and learn the values of its states."""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.memory import STATE, Memory
from rlsuite.agents.prediction.policies import follow
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.value_agent import ValueAgent
from rlsuite.core.aliases import Env, Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.environments.observation_view import Encoding
from rlsuite.models.aliases import AnyArray
from rlsuite.training.acting import Policy, is_asked, policy_of_ids
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality
from rlsuite.training.optimum import Prediction


@dataclass(eq=False, kw_only=True)
class Predictor(ValueAgent):
    """Base of the agents that evaluate a policy; subclasses define `step`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : policy, optional
        An action for each state, or probabilities, as an array (n_states,) of int or (n_states, n_actions); by default
        all legal actions are equally likely. Where observations have ids also a function, an agent, a `Solution`, a
        classifier, and whatever else `rlsuite.evaluate` takes: it is asked once, and its table is kept.
    learning_rate : float or Schedule
        Step size, in [0, 1].
    initial_value : float
        Value of every state before it is visited.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    visits_ : ndarray of int64, shape (n_states,)
        How often each state was left.
    """

    begin: ClassVar[Begin] = follow

    policy_to_follow: object = None
    learning_rate: float | Schedule = 0.1
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_policies()

    def check_policies(self) -> None:
        """Raise ParameterError if a policy is malformed, for any environment."""
        if not is_asked(self.policy_to_follow):
            self.values_.check_policy(cast("ArrayLike | None", self.policy_to_follow))

    def bind_environment(self, env: Env, seed: int | None = None) -> Encoding | None:
        """Prepare for an environment, as every agent; a policy that is no table is asked for one.

        Raises
        ------
        ParameterError
            If a policy that is no table is to be followed where observations are numbers.
        """
        encoding = super().bind_environment(env, seed)
        for name in ("policy_to_follow", "policy_to_evaluate"):
            policy = getattr(self, name, None)
            if is_asked(policy):
                if encoding is not None and not encoding.n_ids:
                    raise errors.ParameterError(
                        f"{name}={policy!r}: where observations are numbers, {type(self).__name__} follows "
                        "probabilities (n_actions,) alone; LSTD(behaviour=...) of rlsuite.approximation evaluates any "
                        "policy"
                    )
                table = policy_of_ids(name, policy, env)
                if encoding is not None:  # no row may be missing; those of ends are not read
                    table[~table.any(axis=1)] = 1.0 / table.shape[1]
                setattr(self, name, table)
        return encoding

    def evaluated(self) -> NDArray[np.float64] | None:
        """The policy that is evaluated, (n_rows, n_actions), where it is not the one that is followed."""
        return None

    def tables(self, n_states: int, /) -> tuple[object, ...]:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside `value`; nothing here."""
        return ()

    def scratch(self, n_states: int, /) -> tuple[object, ...]:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make a memory of initial values, in what represents them, and of the policy.

        Raises
        ------
        ParameterError
            If a policy or the initial weights do not fit the environment.
        """
        size = self.values_.size(len(legal))
        memory = self._memory_without_values(legal, legality)
        memory = memory._replace(learned=self.tables(size), scratch=self.scratch(size))
        return self.values_.of_states(memory, cast("ArrayLike | None", self.policy_to_follow), self.evaluated())

    # ------------------------------------------------------------------------------------------------- what was learned

    def policy(self) -> NDArray[np.float64]:
        """Policy that is followed, shape (n_states, n_actions): probabilities, 0 at ends; of features, of all ids."""
        return self.values_.followed(self.memory_)

    def frozen_policy(self) -> Policy:
        """The policy that is followed, in the form that evaluations use: of ids, or of a vector and a mask."""
        return self.values_.followed_policy(self.memory_)

    def prediction(self) -> Prediction:
        """The values learned so far, and of which policy; empty where observations are not ids."""
        try:
            value, followed = self.value(), self.policy()
        except errors.ParameterError:
            value, followed = np.zeros(0), np.zeros((0, 0))
        evaluated = self.evaluated()
        return Prediction(value, followed, followed if evaluated is None else evaluated, not self.values_.has_rows)

    def act(self, observation: Observation, action_mask: "ArrayLike | None" = None) -> int:
        """Draw an action of the policy that is followed.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space, or terminal, or `action_mask` (n_actions,) allows no action that
            the policy takes.
        """
        reached = np.cumsum(self.values_.followed_at(self.memory_, observation, self.row_of, action_mask))
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_

    @property
    def value_(self) -> NDArray[np.float64]:
        """Learned state values, shape (n_states,)."""
        return self.value()

    def value(self, observations: "ArrayLike | None" = None) -> NDArray[np.float64]:
        """State values, shape (n,), of observations (n, d), or of ids (n,) for a table; by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        return self.values_.q(self.memory_, observations, self.rows_of)[:, STATE]

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name; no action values, although the memory keeps state values as those of one action."""
        if name == "q_":
            raise AttributeError(f"a {type(self).__name__} has no q_: it learns the values of states, value_")
        return super().__getattr__(name)

    @property
    def visits_(self) -> NDArray[np.int64]:
        """How often each state was left, shape (n_states,); only of a table."""
        return self._learned("visits_")[:, STATE]
