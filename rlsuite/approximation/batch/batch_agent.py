"""The base of methods that learn action values from a batch, and act greedily on them."""

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.batch.action_masks import KnownActions, legal_at
from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.approximation.batch.batch_learner import BatchLearner
from rlsuite.approximation.batch.observations import Encode, encoder
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.aliases import Space
from rlsuite.core.array_like import ArrayLike


class BatchAgent(BatchLearner):
    """Base of the agents that learn from a `Batch`; subclasses define `predicted`.

    An action that a mask of the batch forbids at an observation has the value minus infinity there, and is never taken.

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
    _known: KnownActions | None = None
    _features: ObservedFeatures | None = None

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
        if batch.action_mask is not None and batch.next_action_mask is not None:
            ahead = ~batch.terminated
            seen = np.concatenate([batch.observation, batch.next_observation[ahead]])
            legal = np.concatenate([batch.action_mask, batch.next_action_mask[ahead]])
            self._known = KnownActions(seen, legal) if self._known is None else self._known.and_those_at(seen, legal)

    def predicted(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Predict the values of all actions (n, n_actions) at observations (n, d), legal or not; errors as in `q`."""
        raise NotImplementedError

    def q(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
        """Learned action values of observations (n, d), shape (n, n_actions).

        Parameters
        ----------
        observations : array_like (n, d)
            Observations as vectors.
        action_mask : array_like (n, n_actions), optional
            1 for the actions that are legal; illegal ones have the value minus infinity. By default the masks of the
            batch say so at the observations that are in it, and all actions are legal at others.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite or of another width, or the mask has not a 0 or 1 for each action, or
            leaves none.

        Warns
        -----
        OutsideWarning
            If observations lie outside of the range of those that it has learned from.
        """
        before = self.outside_
        found = self._legal_q(observations, action_mask)
        if self._features is not None:
            self._features.say_outside(before)
        return found

    def _legal_q(self, observations: ArrayLike, action_mask: ArrayLike | None) -> NDArray[np.float64]:
        q = self.predicted(observations)
        legal = legal_at(self._known, observations, action_mask, self.n_actions_)
        return q if legal is None else np.where(legal, q, -np.inf)

    def value(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
        """Values of observations (n, d), shape (n,): of the best legal action of each; see `q`."""
        return self.q(observations, action_mask).max(axis=1)

    def policy(self, observations: ArrayLike, action_mask: ArrayLike | None = None) -> NDArray[np.int64]:
        """Best legal actions for observations (n, d), shape (n,), counted from 0; the first of equally good ones."""
        return self._legal_q(observations, action_mask).argmax(axis=1)

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Take the best legal action, as the environment calls it; the first of those that are equally good.

        Parameters
        ----------
        observation : object
            What the environment returned.
        action_mask : array_like (n_actions,), optional
            1 for the actions that are legal, as in ``info["action_mask"]``; by default see `q`.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not finite or of another width, or the mask has not a 0 or 1 for each action, or
            leaves none.
        """
        if "n_actions_" not in vars(self):
            raise self.not_learned()
        if self._encode is None:
            self._encode = encoder(self.observation_space_)
        mask = None if action_mask is None else np.asarray(action_mask)[None]
        return int(self.policy(self._encode(observation)[None], mask)[0]) + self.first_action_

    def action_probabilities(self, seen: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probabilities (n, n_actions) of the actions at vectors (n, d), some of them legal; part of evaluations."""
        found = np.zeros(legal.shape)
        found[np.arange(len(seen)), self.policy(seen, legal)] = 1.0
        return found

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle without the function that encodes observations, which is made again when needed."""
        copied = super().__getstate__()
        return {**copied, "_encode": None} if "_encode" in copied else copied

    def not_learned(self) -> errors.NotLearned:
        """Return the error for a call before learning."""
        return errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(batch) first")
