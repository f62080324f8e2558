"""The buffer for an environment's answers, from which the compiled session reads; filling it takes most of a step."""

import inspect
import struct
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, SupportsFloat, TypeAlias, cast

import numpy as np
from gymnasium.spaces import Discrete

from rlsuite import errors
from rlsuite.core.aliases import Env, Info, Observation
from rlsuite.core.checks import finite_reward, is_dict, is_tuple, legal_actions
from rlsuite.environments.facts import name_of
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.observation_view import Encoding, ObservationView, View, next_row
from rlsuite.models.aliases import BoolArray
from rlsuite.training.kernels import ALL_STEPS, OBSERVATION, RunState

ReceiveStep: TypeAlias = Callable[[Observation, SupportsFloat, bool, bool, Info], None]
"""Takes what `step` returns: observation, reward, terminated, truncated, info."""

SHORT = 16
"""Vectors of up to this many numbers are packed one by one; longer ones are faster to copy as arrays."""

MASKS = 4096
"""Largest number of different masks of legal actions that are kept, so that they are checked only once."""


class StepBuffer:
    """The numbers [id, reward, terminated, truncated, *vector] of an answer, and the function that writes them.

    Parameters
    ----------
    env : gymnasium.Env
        The environment that answers.
    run_state : RunState
        The state of the run; it says which row is free for the next vector.
    view : ObservationView or ()
        What the agent observes; the attribute `view` is the same with ``arrived`` in this buffer.
    legal : ndarray of bool
        Where legal actions are written, if the environment reports them.
    masked : bool
        Whether it does, in each ``info["action_mask"]``.
    encoding : Encoding or None
        How observations become vectors; None for ids.

    Raises
    ------
    LearningError
        By `receive_step`, for an observation that is not a vector of the space, or an info that lacks its mask.
    """

    def __init__(
        self,
        env: Env,
        run_state: RunState,
        view: View,
        legal: BoolArray,
        masked: bool,
        encoding: Encoding | None,
    ):
        self.env, self.run_state, self.legal, self.masked = env, run_state, legal, masked
        self.masks: dict[bytes, BoolArray] = {}  # checked masks by their bytes
        self.numbers = np.zeros(4 + (view.arrived.size if isinstance(view, ObservationView) else 0))
        self.view: View = ()
        self.receive_step: ReceiveStep
        if isinstance(view, ObservationView) and encoding is not None:
            self.numbers[4:] = view.arrived  # the first observation, at the start of a run
            self.view = view._replace(arrived=self.numbers[4:])
            careful = self._vectors(self.view, encoding)
            short = encoding.plain and not masked and view.arrived.size <= SHORT
            self.receive_step = self._short_vectors(careful) if short else careful
        else:
            self.numbers[0] = run_state.position[OBSERVATION]
            self.receive_step = self._ids()

    def _ids(self) -> ReceiveStep:
        pack, buffer = struct.Struct("4d").pack_into, self.numbers.data.cast("B")
        space: Any = self.env.observation_space
        discrete, masked = isinstance(space, Discrete), self.masked
        first, id_of = int(space.start) if discrete else 0, ObservationIds(space).id_of

        def receive_step(
            observation: Observation, reward: SupportsFloat, terminated: bool, truncated: bool, info: Info
        ) -> None:
            try:
                row = index(observation) - first if discrete else id_of(observation)
            except ValueError:
                raise self._unknown(observation) from None
            except TypeError:
                raise self._unknown(
                    observation, f": its elements are integers, not {type(observation).__name__}"
                ) from None
            if masked:
                self._record_actions(row, info, terminated or truncated)
            try:
                pack(buffer, 0, row, reward, terminated, truncated)
            except struct.error:
                self._check(reward, terminated, truncated)
                raise

        return receive_step

    def _short_vectors(self, careful: ReceiveStep) -> ReceiveStep:
        pack, buffer = struct.Struct(f"{self.numbers.size}d").pack_into, self.numbers.data.cast("B")

        def receive_step(
            observation: Observation, reward: SupportsFloat, terminated: bool, truncated: bool, info: Info
        ) -> None:
            try:
                pack(buffer, 0, 0.0, reward, terminated, truncated, *observation.tolist())
            except (struct.error, TypeError, AttributeError):  # not an array of this shape, or not a valid answer
                careful(observation, reward, terminated, truncated, info)

        return receive_step

    def _vectors(self, view: ObservationView, encoding: Encoding) -> ReceiveStep:
        pack, buffer = struct.Struct("4d").pack_into, self.numbers.data.cast("B")
        encode, arrived, position = encoding.encode, view.arrived, self.run_state.position

        def receive_step(
            observation: Observation, reward: SupportsFloat, terminated: bool, truncated: bool, info: Info
        ) -> None:
            try:
                vector = encode(observation)
                if vector.shape != arrived.shape:
                    raise ValueError(f"its shape is {vector.shape}")  # numpy would broadcast one number
                arrived[:] = vector
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise self._unknown(observation) from error
            if self.masked:
                self._record_actions(next_row(int(position[OBSERVATION])), info, terminated or truncated)
            try:
                pack(buffer, 0, 0.0, reward, terminated, truncated)
            except struct.error:
                self._check(reward, terminated, truncated)
                raise

        return receive_step

    def _unknown(self, observation: Observation, why: str = "") -> errors.LearningError:
        return errors.LearningError(
            f"{where(self.env, self.run_state)} the environment returned observation {observation!r}, which is not in "
            f"{self.env.observation_space}{why}"
        )

    def _check(self, reward: SupportsFloat, terminated: object, truncated: object) -> None:
        """Say what of an answer is no number."""
        finite_reward(reward, name_of(self.env), int(self.run_state.position[ALL_STEPS]) + 1)
        five_of((None, reward, terminated, truncated, None), where(self.env, self.run_state))

    def _record_actions(self, row: int, info: Info, over: Any) -> None:
        """Store which actions are legal; after the end of an episode they are not read."""
        mask: Any = info.get("action_mask")
        if over and mask is None:
            return
        plain = type(mask) is np.ndarray and mask.dtype.char in "?b" and mask.ndim == 1  # bool or int8
        key = mask.tobytes() if plain else None
        legal = self.masks.get(key) if key else None
        if legal is None or not (over or legal.any()):
            legal = legal_in(info, self.legal.shape[1], where(self.env, self.run_state), over=over)
            if key and len(self.masks) < MASKS:
                self.masks[key] = legal
        if 0 <= row < len(self.legal):
            self.legal[row] = legal


def mask_of(mask: object, n_actions: int, where: str) -> BoolArray:
    """Return ``info["action_mask"]`` as bool (n_actions,); `where` says for the error where it was found.

    Raises
    ------
    LearningError
        If it does not have a 0 or 1 for each action.
    """
    try:
        return legal_actions("info['action_mask']", mask, n_actions)
    except errors.ParameterError as error:
        raise errors.LearningError(f"{where} {error}") from error


def legal_in(info: Mapping[str, Any], n_actions: int, where: str, *, over: bool = False) -> BoolArray:
    """Return the legal actions (n_actions,) of an environment that has masks; none at an end whose info has no mask.

    Raises
    ------
    LearningError
        If the mask is missing, does not have a 0 or 1 for each action, or leaves none although the episode goes on.
    """
    if "action_mask" not in info:
        if over:
            return np.zeros(n_actions, dtype=np.bool_)
        raise errors.LearningError(
            f"{where} info has no action_mask, but that of the first reset had one; every info has to say which "
            "actions are legal"
        )
    legal = mask_of(info["action_mask"], n_actions, where)
    if not over and not legal.any():
        raise errors.LearningError(
            f"{where} info['action_mask']={info['action_mask']!r} leaves no action, and the episode continues; an "
            "environment must end the episode where no action is legal"
        )
    return legal


def first_answer(env: Env, seed: int | None = None) -> tuple[Any, Info]:
    """Reset an environment; return its first observation and the info.

    Raises
    ------
    LearningError
        If `reset` returns anything else, or takes no seed.
    """
    try:
        answer: object = env.reset() if seed is None else env.reset(seed=seed)
    except TypeError as error:
        taken = inspect.signature(env.unwrapped.reset).parameters.values()
        if any(one.name == "seed" or one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
            raise
        raise errors.LearningError(
            f"{name_of(env)}: reset does not take a seed ({error}); write def reset(self, *, seed=None, options=None), "
            "call super().reset(seed=seed) first, and draw from self.np_random"
        ) from error
    if is_tuple(answer) and len(answer) == 2 and is_dict(answer[1]):
        return answer[0], answer[1]
    raise errors.LearningError(
        f"{name_of(env)}: reset returned {answer!r}, which is not (observation, info); write return observation, {{}}"
    )


def five_of(answer: object, where: str) -> tuple[Any, Any, Any, Any, Info]:
    """Return the answer of `step`; `where` begins a message.

    Raises
    ------
    LearningError
        If these are not five values, or a flag is neither true nor false: a list, an array of one number, a text.
    """
    if not is_tuple(answer) or len(answer) != 5:
        raise errors.LearningError(
            f"{where} step returned {answer!r}, which is not (observation, reward, terminated, truncated, info); old "
            "Gym's (observation, reward, done, info) is not enough"
        )
    five = cast("tuple[Any, Any, Any, Any, Info]", answer)
    for name, flag in zip(("terminated", "truncated"), five[2:4], strict=True):
        if type(flag) is not bool and (np.ndim(flag) or np.asarray(flag).dtype.kind not in "biuf"):
            raise errors.LearningError(
                f"{where} the environment returned {name}={flag!r}, which is not true or false: return "
                f"bool(np.all({name}))"
            )
    return five


def where(env: Env, run_state: RunState) -> str:
    """Return how messages begin: which environment, and at which step."""
    return f"{name_of(env)}, step {int(run_state.position[ALL_STEPS]) + 1}:"
