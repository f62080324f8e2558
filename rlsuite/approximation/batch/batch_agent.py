"""The base of methods that learn action values from a batch, and act greedily on them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.batch.observations import Encode, encoder
from rlsuite.core.aliases import Space


class BatchAgent:
    """Base of the agents that learn from a `Batch`; subclasses define `q`.

    Attributes
    ----------
    n_actions_ : int
        How many actions there are.
    first_action_ : int
        What the environment calls action 0.
    """

    n_actions_: int
    first_action_: int
    observation_space_: Space | None
    _encode: Encode | None

    def bind_environment(self, batch: Batch) -> None:
        """Store the spaces of the transitions.

        Raises
        ------
        ParameterError
            If it is not a batch, or of an environment with other actions than the one before.
        """
        check_batch(batch, f"{type(self).__name__}.learn")
        if "n_actions_" in vars(self) and batch.n_actions > self.n_actions_:
            raise errors.ParameterError(
                f"this {type(self).__name__} has learned {self.n_actions_} actions, and the batch has "
                f"{batch.n_actions}; give the first batch n_actions={batch.n_actions}, or learn with a new agent"
            )
        if "n_actions_" not in vars(self):
            self.n_actions_ = batch.n_actions
        self.first_action_ = batch.first_action
        self.observation_space_ = batch.observation_space
        self._encode = encoder(batch.observation_space)

    def q(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned action values of observations (n, d), shape (n, n_actions).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width.
        """
        raise NotImplementedError

    def value(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Values of observations (n, d), shape (n,): of the best action of each."""
        return self.q(observations).max(axis=1)

    def policy(self, observations: ArrayLike) -> NDArray[np.int64]:
        """Best actions for observations (n, d), shape (n,), counted from 0; the first of equally good ones."""
        return self.q(observations).argmax(axis=1)

    def act(self, observation: object) -> int:
        """Take the best action, as the environment calls it; the first of those that are equally good.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not finite or of another width.
        """
        if "n_actions_" not in vars(self):
            raise self.not_learned()
        if self._encode is None:
            self._encode = encoder(self.observation_space_)
        return int(self.policy(self._encode(observation)[None])[0]) + self.first_action_

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle without the function that encodes observations, which is made again when needed."""
        return {**self.__dict__, "_encode": None} if "_encode" in self.__dict__ else self.__dict__

    def not_learned(self) -> errors.NotLearned:
        """Return the error for a call before learning."""
        return errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(batch) first")
