"""The constructor of an `MDP` that all others call, from rows over (state, action), as an inherited class method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.models import row_checks, validation


class FromRows:
    """The base of what is built from rows: an `MDP`, or a class that inherits from it."""

    @classmethod
    @says_what_to_write
    def from_rows(
        cls,
        indptr: ArrayLike,
        next_state: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        *,
        n_actions: int,
        gamma: float,
        terminated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        reward_std: ArrayLike | None = None,
        bernoulli: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from the raw rows.

        Parameters
        ----------
        indptr, next_state, probability, reward, n_actions, gamma, state_labels, action_labels
            As in the class.
        terminated : array_like (N,) bool, optional
            By default the transitions into states without legal actions terminate, and no others.
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action.
        reward_std, bernoulli : array_like (S, A) or (S * A,), optional
            As in the class.

        Examples
        --------
        A coin that is tossed until it shows heads:

        >>> from rlsuite.models import MDP
        >>> MDP.from_rows([0, 2, 2], [0, 1], [0.5, 0.5], [-1, -1], n_actions=1, gamma=1.0).terminated.tolist()
        [False, True]
        """
        actions = whole_number("n_actions", n_actions)
        pointers = validation.integers("indptr", indptr)
        states = row_checks.n_states(pointers, actions)
        can_start = validation.leads_on(pointers, actions)
        ahead = validation.integers("next_state", next_state)
        if terminated is None:
            # The constructor reports successors out of range; here they must only not be used as indices.
            inside = (ahead >= 0) & (ahead < states)
            ended = ~can_start[np.where(inside, ahead, 0)]
        else:
            ended = validation.booleans("terminated", terminated)
        model = cast("type[Any]", cls)  # its fields are those of the dataclass that inherits this
        return model(
            indptr=pointers,
            next_state=ahead,
            probability=validation.array("probability", probability),
            reward=validation.array("reward", reward),
            terminated=ended,
            start=validation.start_distribution(start, can_start),
            gamma=gamma,
            n_actions=actions,
            reward_std=None if reward_std is None else validation.floats("reward_std", reward_std),
            bernoulli=None if bernoulli is None else validation.booleans("bernoulli", bernoulli),
            state_labels=validation.labels("state_labels", state_labels, states),
            action_labels=validation.labels("action_labels", action_labels, actions),
        )
