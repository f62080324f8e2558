"""Legal actions: those that an environment gives during an episode, and those that a batch has at its observations."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite.core.aliases import Env
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions
from rlsuite.environments.facts import facts_of
from rlsuite.errors import LearningError, ParameterError
from rlsuite.training.step_buffer import mask_of


class MaskedActions:
    """The legal actions at each step of an episode, from ``info["action_mask"]``.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    masked : bool, optional
        Whether it has masks; by default the first info decides.
    """

    def __init__(self, env: Env, *, masked: bool | None = None) -> None:
        self._facts = facts_of(env)
        self._n_actions = int(env.action_space.n) if isinstance(env.action_space, spaces.Discrete) else 0
        self._masked = masked

    def after(self, info: Mapping[str, Any], step: int, *, over: bool = False) -> NDArray[np.bool_] | None:
        """Return the legal actions (n_actions,) after so many steps of the episode; None if all are, always.

        Raises
        ------
        LearningError
            If the mask is not a 0 or 1 for each action, leaves no action, or is missing where the first info had one.
        """
        if self._masked is None:
            self._masked = self._n_actions > 0 and self._facts.has_action_mask(info)
        if not self._masked:
            return None
        where = f"{self._facts.name}, {f'step {step}' if step else 'reset'}:"
        if "action_mask" not in info:
            if over:
                return np.zeros(self._n_actions, dtype=np.bool_)
            raise LearningError(f"{where} info has no action_mask, but that of the first reset had one")
        legal = mask_of(info["action_mask"], self._n_actions, where)
        if not over and not legal.any():
            raise LearningError(
                f"{where} info['action_mask'] leaves no action, and the episode goes on; an environment has to end the "
                "episode where no action is legal"
            )
        return legal


def takes_mask(policy: Callable[..., object]) -> bool:
    """Whether a policy can be told the legal actions: ``policy(observation, action_mask=...)``.

    >>> takes_mask(lambda observation, action_mask=None: 0), takes_mask(lambda observation: 0)
    (True, False)
    """
    try:
        return "action_mask" in inspect.signature(policy).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False


class KnownActions:
    """The actions that were legal at each observation of a batch; elsewhere all are.

    Where the same observation had different masks, an action is known as legal that was legal once.

    Parameters
    ----------
    observations : ndarray (n, d) float64
    legal : ndarray (n, n_actions) bool

    Examples
    --------
    >>> known = KnownActions(np.array([[1.0], [2.0], [1.0]]), np.array([[True, False], [False, True], [True, False]]))
    >>> known.at([[1.0], [7.0]])
    array([[ True, False],
           [ True,  True]])
    """

    def __init__(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> None:
        self.observations, where = np.unique(observations + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
        self.legal = np.zeros((len(self.observations), legal.shape[1]), dtype=np.bool_)
        np.logical_or.at(self.legal, where.reshape(-1), legal)
        self._rows = {row.tobytes(): i for i, row in enumerate(self.observations)}

    def and_those_at(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> Self:
        """Return what is known with more observations."""
        return type(self)(np.concatenate([self.observations, observations]), np.concatenate([self.legal, legal]))

    def at(self, observations: ArrayLike) -> NDArray[np.bool_]:
        """Return the legal actions (n, n_actions) at observations (n, d)."""
        seen = np.asarray(observations, dtype=np.float64) + 0.0
        rows = np.array([self._rows.get(one.tobytes(), -1) for one in seen], dtype=np.int64)
        return np.where(rows[:, None] >= 0, self.legal[rows], True)


def legal_at(
    known: KnownActions | None, observations: ArrayLike, action_mask: ArrayLike | None, n_actions: int
) -> NDArray[np.bool_] | None:
    """Return the legal actions (n, n_actions) at observations (n, d): those given, or those known; None for all.

    Raises
    ------
    ParameterError
        If the mask is not a 0 or 1 for each action at each observation, or leaves no action at one of them.
    """
    if action_mask is None:
        return None if known is None else known.at(observations)
    legal = legal_actions("action_mask", action_mask, n_actions, len(np.asarray(observations)))
    if not legal.any(axis=1).all():
        at = int(np.argmin(legal.any(axis=1)))
        raise ParameterError(f"action_mask[{at}] leaves no action; at least one must be legal at each observation")
    return legal
