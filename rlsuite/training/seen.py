"""Outcomes of steps that the environment itself has shown, so that the compiled loop stops where it meets another one.

A run on an unknown table (`rlsuite.training.verification`) lets the environment take the step in which an
outcome occurs for the first time, however improbable it is. The loop notices an outcome when it has been drawn; then it
puts the generator back, as if the step had not been taken.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.environments.observation_view import NONE
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


class Seen(NamedTuple):
    """Outcomes that were seen, one list for each observation and action; and the memory of the generator.

    Attributes
    ----------
    first : (n_observations, n_actions) int64
        The first outcome in the list of a pair; NONE if there is none. Without any entry, the loop never stops.
    then : (m,) int64
        The next outcome in the list.
    observation : (m,) int64
        What is observed next; NONE if the episode is over.
    reward : (m,) float64
        NaN where it may be any, as it is drawn from a continuum.
    terminated : (m,) bool
    state : (2,) int64
        The state of the environment's generator, where it keeps it.
    half : (1,) int64
        Half a number that the generator has kept for the next draw of 32 bits.
    """

    first: IndexArray
    then: IndexArray
    observation: IndexArray
    reward: FloatArray
    terminated: BoolArray
    state: AnyArray
    half: AnyArray


def _empty(shape: tuple[int, int], capacity: int, memory: tuple[AnyArray, AnyArray]) -> Seen:
    first, then = np.full(shape, NONE), np.full(capacity, NONE)
    return Seen(first, then, then.copy(), np.zeros(capacity), np.zeros(capacity, dtype=np.bool_), *memory)


NOTHING_SEEN = _empty((0, 0), 0, (np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)))
"""Where the loop is not to stop."""


@compiled(in_place=True)
def is_seen(seen: Seen, pair: tuple[int, int], observation: int, reward: float, terminated: bool) -> bool:
    """Whether an outcome of a pair of observation and action is in its list."""
    i = seen.first[pair]
    while i != NONE:
        same_reward = seen.reward[i] == reward or np.isnan(seen.reward[i])
        if seen.observation[i] == observation and same_reward and seen.terminated[i] == terminated:
            return True
        i = seen.then[i]
    return False


class SeenOutcomes:
    """The outcomes that an environment has shown.

    Parameters
    ----------
    shape : tuple of int
        How many observations and actions there are.
    any_reward : bool
        Whether outcomes that differ only in their rewards are one.
    """

    def __init__(self, shape: tuple[int, int], any_reward: bool = False):
        self.shape, self.any_reward = shape, any_reward
        self.forget()

    def forget(self) -> None:
        """Begin again."""
        self._seen = _empty(self.shape, 64, (NOTHING_SEEN.state, NOTHING_SEEN.half))
        self._outcomes: set[tuple[int, int, int, float | None, bool]] = set()

    def add(self, observation: int, action: int, following: int, reward: float, terminated: bool) -> None:
        """Add an outcome; `following` is what is observed next, NONE if the episode is over."""
        outcome = observation, action, following, None if self.any_reward else reward, terminated
        if outcome in self._outcomes:
            return
        seen, n = self._seen, len(self._outcomes)
        if n == seen.then.size:
            larger = _empty((0, 0), 2 * n, (seen.state, seen.half))
            for new, old in zip(larger[1:5], seen[1:5], strict=True):
                new[:n] = old
            seen = self._seen = larger._replace(first=seen.first)
        seen.observation[n], seen.terminated[n] = following, terminated
        seen.reward[n] = np.nan if self.any_reward else reward
        seen.then[n], seen.first[observation, action] = seen.first[observation, action], n
        self._outcomes.add(outcome)

    def of(self, rng: np.random.Generator) -> Seen:
        """Return them for a loop that draws from a generator of which `memory_of` is known."""
        memory = memory_of(rng)
        assert memory is not None
        return self._seen._replace(state=memory[0], half=memory[1])


def memory_of(rng: np.random.Generator) -> tuple[AnyArray, AnyArray] | None:
    """Return what changes in a generator when it draws, as arrays that share its memory; None if that is not known.

    Examples
    --------
    >>> rng = np.random.default_rng(7)
    >>> state, half = memory_of(rng)
    >>> before = state.copy(), half.copy()
    >>> first = rng.random()
    >>> state[:], half[:] = before
    >>> rng.random() == first
    True
    """
    bits: Any = rng.bit_generator
    if type(bits) not in (np.random.PCG64, np.random.PCG64DXSM) or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    # struct { struct { uint128 state, inc; } *; int has_uint32; uint32_t uinteger; }
    outer = np.ctypeslib.as_array((ctypes.c_int64 * 2).from_address(bits.ctypes.state_address))
    inner = np.ctypeslib.as_array((ctypes.c_int64 * 2).from_address(int(outer[0]) % 2**64))
    now = bits.state
    number, kept = now["state"]["state"], outer[1:].view(np.uint32).tolist()
    halves = sorted([number & (2**64 - 1), number >> 64])
    known = sorted(word % 2**64 for word in inner.tolist()) == halves and kept == [now["has_uint32"], now["uinteger"]]
    return (inner, outer[1:]) if known else None
