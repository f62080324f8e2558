"""The buffer for an environment's answers, from which the compiled session reads; filling it takes most of a step."""

import inspect
import struct
from collections.abc import Callable
from operator import index
from typing import Any, TypeAlias, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.checks import legal_actions
from rlsuite.training.kernels import OBSERVATION, STEPS, Books
from rlsuite.training.sight import Encoding, Sight, next_row
from rlsuite.trust import finite_reward, name_of

Deliver: TypeAlias = Callable[[Any, Any, Any, Any, dict[str, Any]], None]
"""Takes what `step` returns: observation, reward, terminated, truncated, info."""

SHORT = 16
"""Numbers of a vector that are packed one by one; more are faster to copy as an array."""


MASKS = 4096
"""Different masks of legal actions that are remembered as checked."""


class Inbox:
    """The numbers [id, reward, terminated, truncated, *vector] of an answer, and a function for each kind of it.

    Parameters
    ----------
    env : gymnasium.Env
        Whose answers they are.
    books : Books
        Of the run; they tell which row of a vector is free.
    sight : Sight or ()
        What the agent is shown; `sight` is the same with ``arrived`` in here.
    legal : ndarray of bool
        Where legal actions are written, if the environment tells them.
    told : bool
        Whether it does, in each ``info["action_mask"]``.
    encoding : Encoding or None
        How observations become vectors; none for ids.

    Raises
    ------
    LearningError
        By `deliver`, for an observation that is not a vector of the space, or an info that lacks its mask.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        books: Books,
        sight: Sight | tuple[()],
        legal: NDArray[np.bool_],
        told: bool,
        encoding: Encoding | None,
    ):
        self.env, self.books, self.legal, self.told = env, books, legal, told
        self.masks: dict[bytes, NDArray[np.bool_]] = {}  # those that have been checked
        self.numbers = np.zeros(4 + (sight.arrived.size if isinstance(sight, Sight) else 0))
        self.sight: Sight | tuple[()] = ()
        self.deliver: Deliver
        if isinstance(sight, Sight) and encoding is not None:
            self.numbers[4:] = sight.arrived  # the first observation, at the start of a run
            self.sight = sight._replace(arrived=self.numbers[4:])
            careful = self._vectors(self.sight, encoding)
            short = encoding.plain and not told and sight.arrived.size <= SHORT
            self.deliver = self._short_vectors(careful) if short else careful
        else:
            self.numbers[0] = books.place[OBSERVATION]
            self.deliver = self._ids()

    def _ids(self) -> Deliver:
        post, inbox = struct.Struct("4d").pack_into, self.numbers.data.cast("B")
        space: Any = self.env.observation_space
        first, told = int(space.start), self.told

        def deliver(observation: Any, reward: Any, terminated: Any, truncated: Any, info: dict[str, Any]) -> None:
            try:
                row = index(observation) - first
            except TypeError:
                raise errors.LearningError(
                    f"{where(self.env, self.books)} the environment returned observation {observation!r}, which is "
                    f"not in {space}: its elements are integers, not {type(observation).__name__}"
                ) from None
            if told:
                self._note_actions(row, info, terminated or truncated)
            try:
                post(inbox, 0, row, reward, terminated, truncated)
            except struct.error:
                finite_reward(reward, name_of(self.env), int(self.books.place[STEPS]) + 1)
                raise  # it was another of the four

        return deliver

    def _short_vectors(self, careful: Deliver) -> Deliver:
        post, inbox = struct.Struct(f"{self.numbers.size}d").pack_into, self.numbers.data.cast("B")

        def deliver(observation: Any, reward: Any, terminated: Any, truncated: Any, info: dict[str, Any]) -> None:
            try:
                post(inbox, 0, 0.0, reward, terminated, truncated, *observation.tolist())
            except (struct.error, TypeError, AttributeError):  # no array of this shape, or something worse
                careful(observation, reward, terminated, truncated, info)

        return deliver

    def _vectors(self, sight: Sight, encoding: Encoding) -> Deliver:
        post, inbox = struct.Struct("4d").pack_into, self.numbers.data.cast("B")
        encode, arrived, place = encoding.encode, sight.arrived, self.books.place

        def deliver(observation: Any, reward: Any, terminated: Any, truncated: Any, info: dict[str, Any]) -> None:
            try:
                vector = encode(observation)
                if vector.shape != arrived.shape:
                    raise ValueError(f"its shape is {vector.shape}")  # one number would spread over all
                arrived[:] = vector
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise errors.LearningError(
                    f"{where(self.env, self.books)} the environment returned observation {observation!r}, which is "
                    f"not in {self.env.observation_space}"
                ) from error
            if self.told:
                self._note_actions(next_row(int(place[OBSERVATION])), info, terminated or truncated)
            try:
                post(inbox, 0, 0.0, reward, terminated, truncated)
            except struct.error:
                finite_reward(reward, name_of(self.env), int(self.books.place[STEPS]) + 1)
                raise  # it was another of the four

        return deliver

    def _note_actions(self, row: int, info: dict[str, Any], over: Any) -> None:
        """Store which actions are legal; after the end of an episode they are not read."""
        if "action_mask" in info:
            mask = info["action_mask"]
            plain = type(mask) is np.ndarray and mask.dtype.char in "?b" and mask.ndim == 1  # bool or int8
            key = mask.tobytes() if plain else None
            legal = self.masks.get(key) if key else None
            if legal is None:
                legal = mask_of(mask, self.legal.shape[1], where(self.env, self.books))
                if key and len(self.masks) < MASKS:
                    self.masks[key] = legal
            if not over and not legal.any():
                raise errors.LearningError(
                    f"{where(self.env, self.books)} info['action_mask']={mask!r} leaves no action, and the episode "
                    "goes on; an environment has to end the episode where no action is legal"
                )
            if 0 <= row < len(self.legal):
                self.legal[row] = legal
        elif not over:
            raise errors.LearningError(
                f"{where(self.env, self.books)} info has no action_mask, but that of the first reset had one; every "
                "info has to say which actions are legal"
            )


def mask_of(mask: object, n_actions: int, place: str) -> NDArray[np.bool_]:
    """Return ``info["action_mask"]`` as bool (n_actions,); `place` says where it was met, for the error.

    Raises
    ------
    LearningError
        If it is not one 0 or 1 for each action.
    """
    try:
        return legal_actions("info['action_mask']", mask, n_actions)
    except errors.ParameterError as error:
        raise errors.LearningError(f"{place} {error}") from error


def first_mask_of(mask: object, n_actions: int, env: gymnasium.Env[Any, Any]) -> NDArray[np.bool_]:
    """Return ``info["action_mask"]`` of the first reset.

    Raises
    ------
    LearningError
        If it is not one 0 or 1 for each action, or leaves none.
    """
    legal = mask_of(mask, n_actions, f"{name_of(env)}, reset:")
    if not legal.any():
        raise errors.LearningError(
            f"{name_of(env)}, reset: info['action_mask']={mask!r} leaves no action, and the episode goes on"
        )
    return legal


def first_answer(env: gymnasium.Env[Any, Any], seed: int | None = None) -> tuple[Any, dict[str, Any]]:
    """Reset an environment; return its first observation and the info.

    Raises
    ------
    LearningError
        If it returns anything else, or takes no seed.
    """
    try:
        answer: Any = env.reset() if seed is None else env.reset(seed=seed)
    except TypeError as error:
        taken = inspect.signature(env.unwrapped.reset).parameters.values()
        if any(one.name == "seed" or one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
            raise
        raise errors.LearningError(
            f"{name_of(env)}: reset does not take a seed ({error}); write def reset(self, *, seed=None, options=None), "
            "call super().reset(seed=seed) first, and draw from self.np_random"
        ) from error
    if isinstance(answer, tuple) and len(cast("tuple[Any, ...]", answer)) == 2 and isinstance(answer[1], dict):
        return cast("tuple[Any, dict[str, Any]]", answer)
    raise errors.LearningError(f"{name_of(env)}: reset returned {answer!r}, which is not (observation, info)")


def where(env: gymnasium.Env[Any, Any], books: Books) -> str:
    """Return how messages begin: which environment, and at which step."""
    return f"{name_of(env)}, step {int(books.place[STEPS]) + 1}:"
