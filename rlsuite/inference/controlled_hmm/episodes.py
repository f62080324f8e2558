"""Episodes of a hidden process with actions: the actions, and the observations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ModelError
from rlsuite.inference.emissions.observation_checks import whole_numbers
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray


class Episode(NamedTuple):
    """T steps: in the hidden state x_t the action a_t is taken, which leads to x_{t+1}, where z_{t+1} is seen.

    Examples
    --------
    >>> Episode(actions=[0, 0, 2], observations=[1, 1, 0], rewards=[-1, -1, 10]).terminated
    False
    """

    actions: ArrayLike
    """(T,) int: a_0..a_{T-1}"""
    observations: ArrayLike
    """(T,) int: z_1..z_T, -1 where one is missing"""
    rewards: ArrayLike | None = None
    """(T,) float: r_1..r_T, NaN where one is missing"""
    terminated: bool = False
    """whether the last step ended the episode, so that nothing follows it; not whether it was cut off"""
    states: ArrayLike | None = None
    """(T + 1,) int: x_0..x_T as far as they are known, -1 where they are not"""


Episodes: TypeAlias = Iterable[Episode | tuple[ArrayLike, ...]]


class Steps(NamedTuple):
    """N episodes laid end to end, T steps in all."""

    action: IndexArray
    """(T,)"""
    observation: IndexArray
    """(T,), Z for one that is missing"""
    reward: FloatArray
    """(T,), NaN for one that is missing"""
    ended: IndexArray
    """(T,), 1 where the episode ended"""
    state: IndexArray
    """(T + N,), -1 for one that is not known; episode e has the rows ``first[e] + e`` to ``first[e + 1] + e``"""
    first: IndexArray
    """(N + 1,): where each episode begins"""
    n_observations: int
    """Z"""

    @property
    def before(self) -> BoolArray:
        """(T + N,) bool: whether a step follows, which is not so for the last state of each episode."""
        mask = np.ones(self.state.size, dtype=np.bool_)
        mask[self.first[1:] + np.arange(self.first.size - 1)] = False
        return mask

    @property
    def longest(self) -> int:
        """Steps of the longest episode."""
        return int(np.diff(self.first).max())


def steps_of(episodes: Episodes, *, n_actions: int | None, n_observations: int | None, n_states: int | None) -> Steps:
    """Return checked episodes.

    Parameters
    ----------
    episodes : iterable of Episode or tuple
        A tuple has the fields of an `Episode`, in their order.
    n_actions, n_observations, n_states : int, optional
        Bounds of the numbers, if they are known.

    Raises
    ------
    ModelError
        If there are none, one is empty, its parts differ in length, or a number is out of range.
    """
    listed = [_steps(one, n, n_actions, n_observations, n_states) for n, one in enumerate(episodes)]
    if not listed:
        raise ModelError("there are no episodes: at least one is needed")
    symbols = n_observations or max(1, max(int(each.observation.max()) for each in listed) + 1)
    joined = [np.concatenate([each[field] for each in listed]) for field in range(5)]
    observation = np.where(joined[1] < 0, symbols, joined[1])
    first = np.cumsum([0, *(each.action.size for each in listed)])
    return Steps(joined[0], observation, joined[2], joined[3], joined[4], first, symbols)


def _steps(
    given: Episode | tuple[ArrayLike, ...],
    number: int,
    n_actions: int | None,
    n_observations: int | None,
    n_states: int | None,
) -> Steps:
    try:
        if not isinstance(cast("object", given), tuple) or not 2 <= len(given) <= len(Episode._fields):
            raise ModelError("it is neither an Episode nor a tuple (actions, observations, ...)")
        episode = Episode(*cast("tuple[ArrayLike, ArrayLike]", given))
        action = _numbers("actions", episode.actions, n_actions, None)
        length = action.size
        if length == 0:
            raise ModelError("it has no actions: leave it out")
        if (action < 0).any():
            raise ModelError(f"actions[{int(np.argmax(action < 0))}] is missing; every action has to be known")
        observation = _numbers("observations", episode.observations, n_observations, length)
        reward = np.full(length, np.nan)
        if episode.rewards is not None:
            reward = np.asarray(validation.array("rewards", episode.rewards), dtype=np.float64)
            validation.shape("rewards", reward, (length,), meaning="one for each action")
            if np.isinf(reward).any():
                raise ModelError(f"rewards[{int(np.argmax(np.isinf(reward)))}] is infinite")
        state = np.full(length + 1, -1, dtype=np.int64)
        if episode.states is not None:
            state = _numbers("states", episode.states, n_states, length + 1)
    except ModelError as cause:
        raise ModelError(f"episode {number}: {cause}") from cause
    ended = np.zeros(length, dtype=np.int64)
    ended[-1] = bool(episode.terminated)
    return Steps(action, observation, reward, ended, state, np.array([0, length]), 0)


def _numbers(name: str, given: ArrayLike, below: int | None, length: int | None) -> IndexArray:
    try:
        numbers = whole_numbers(given, name, below)
    except ModelError as cause:
        raise ModelError(str(cause).replace("z[t=", f"{name}[").replace("z has", f"{name} has")) from cause
    if numbers.ndim != 1 or (length is not None and numbers.size != length):
        raise ModelError(f"{name} has shape {numbers.shape}, not ({'T' if length is None else length},)")
    return numbers
