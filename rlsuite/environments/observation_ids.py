"""Numbers for the observations of a space that has finitely many: the rows of an agent's table, the states of a model.

Each observation is a list of integers, whatever the space calls it. They are the digits of its id, the first counts
most, as in `numpy.ravel_multi_index`.
"""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from operator import index
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from rlsuite import errors
from rlsuite.core.aliases import Observation, Space, UntypedSpace
from rlsuite.core.checks import is_tuple

MAX_IDS = 1_000_000
"""Largest number of observations that get ids: a table has a row for each, whether or not it is ever observed."""


class ObservationIds:
    """The ids of the observations of a space: Discrete, MultiDiscrete, MultiBinary, integer Box, Tuple or Dict.

    Parameters
    ----------
    space : gymnasium.Space
        The space.

    Attributes
    ----------
    n : int
        Number of observations; their ids are 0, ..., n - 1.

    Raises
    ------
    UnsuitableEnvironment
        If the space has infinitely many elements, or, unless it is Discrete, more than a million.

    Examples
    --------
    The hand, the dealer's card and the usable ace of Blackjack:

    >>> ids = ObservationIds(spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]))
    >>> ids.n, ids.id_of((20, 10, 1))
    (704, 461)
    >>> ids.observation_of(461)
    (20, 10, 1)
    """

    def __init__(self, space: Space):
        self.space = space
        self._low, self._sizes = zip(*_digits(space, space), strict=True)
        self.n = math.prod(self._sizes)
        if self.n > MAX_IDS and not isinstance(space, spaces.Discrete):
            raise errors.UnsuitableEnvironment(
                f"the observation space {space} has {Decimal(self.n):.3g} elements, and a table has room for "
                f"{MAX_IDS:,}. {_WHAT_TO_DO}"
            )

    def id_of(self, observation: Observation) -> int:
        """Return the id of an observation.

        Raises
        ------
        ValueError
            If it is not in the space.
        """
        number = 0
        try:
            for digit, low, size in zip(_integers(self.space, observation), self._low, self._sizes, strict=True):
                if not 0 <= digit - low < size:
                    raise ValueError
                number = number * size + digit - low
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(f"observation {observation!r} is not in {self.space}") from None
        return number

    def observation_of(self, number: int) -> Any:
        """Return the observation with an id.

        It is of the types that the environment uses, but for the integers of Discrete spaces, which are Python's.
        """
        digits: list[int] = []
        for low, size in zip(reversed(self._low), reversed(self._sizes), strict=True):
            number, digit = divmod(number, size)
            digits.append(low + digit)
        return _observation(self.space, reversed(digits))


_WHAT_TO_DO = (
    "Wrap the environment so that it shows an integer (gymnasium.wrappers.TransformObservation, with a function that "
    "returns one), or learn with features instead of a table: Sarsa(features=TileCoding()), "
    "--features tile-coding"
)


def _digits(space: Space, whole: Space) -> Iterator[tuple[int, int]]:
    """The least value of each integer of an observation, and how many values it has."""
    some: UntypedSpace = space
    if isinstance(space, spaces.Discrete):
        yield int(some.start), int(some.n)
    elif isinstance(space, spaces.MultiDiscrete):
        yield from zip(some.start.ravel().tolist(), some.nvec.ravel().tolist(), strict=True)
    elif isinstance(space, spaces.MultiBinary):
        yield from [(0, 2)] * math.prod(some.shape)
    elif isinstance(space, spaces.Box) and np.issubdtype(some.dtype, np.integer):
        low, high = some.low.ravel().tolist(), some.high.ravel().tolist()
        yield from ((least, most - least + 1) for least, most in zip(low, high, strict=True))
    elif isinstance(space, spaces.Tuple | spaces.Dict):
        for part in some.spaces.values() if isinstance(space, spaces.Dict) else some.spaces:
            yield from _digits(part, whole)
    else:
        raise errors.UnsuitableEnvironment(
            "tabular agents need a Discrete observation space, or one of finitely many integers (MultiDiscrete, "
            f"MultiBinary, an integer Box, Tuple or Dict of these), got {whole}. {_WHAT_TO_DO}"
        )


def _integers(space: Space, observation: Any) -> Iterator[int]:
    """The integers of which an observation consists."""
    some: UntypedSpace = space
    if isinstance(space, spaces.Discrete):
        yield index(observation)
    elif isinstance(space, spaces.Tuple):
        if not is_tuple(observation) or len(observation) != len(some.spaces):
            raise ValueError
        for part, one in zip(some.spaces, observation, strict=True):
            yield from _integers(part, one)
    elif isinstance(space, spaces.Dict):
        if len(cast("Mapping[str, Any]", observation)) != len(some.spaces):
            raise ValueError
        for name, part in some.spaces.items():
            yield from _integers(part, observation[name])
    else:
        if np.shape(observation) != some.shape:
            raise ValueError
        yield from map(index, np.asarray(observation).ravel().tolist())


def described(space: Space) -> object:
    """Describe a space that has ids in what JSON can hold; `space_of` reads it.

    >>> described(spaces.Tuple([spaces.Discrete(32), spaces.MultiBinary(2)]))
    {'tuple': [{'discrete': [32, 0]}, {'binary': [2]}]}
    """
    some: UntypedSpace = space
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(some.n), int(some.start)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"integers": [some.nvec.tolist(), some.start.tolist(), some.dtype.str]}
    if isinstance(space, spaces.MultiBinary):
        return {"binary": list(some.shape)}
    if isinstance(space, spaces.Box):
        return {"box": [some.low.tolist(), some.high.tolist(), some.dtype.str]}
    if isinstance(space, spaces.Tuple):
        return {"tuple": [described(part) for part in some.spaces]}
    return {"dict": [[name, described(part)] for name, part in some.spaces.items()]}


def space_of(description: object) -> Space:
    """Return the space that `described` has described.

    Raises
    ------
    ValueError
        If it is not such a description.
    """
    try:
        [(kind, value)] = cast("Mapping[str, Any]", description).items()
        if kind == "discrete":
            n, start = value
            return spaces.Discrete(n, start=start)
        if kind == "integers":
            sizes, start, dtype = value
            return spaces.MultiDiscrete(np.array(sizes), np.dtype(dtype).type, start=np.array(start))
        if kind == "binary":
            return spaces.MultiBinary(value)
        if kind == "box":
            low, high, dtype = value
            return spaces.Box(np.array(low, dtype), np.array(high, dtype), dtype=np.dtype(dtype).type)
        if kind == "tuple":
            return spaces.Tuple([space_of(part) for part in value])
        if kind == "dict":
            return spaces.Dict({str(name): space_of(part) for name, part in value})
    except (AssertionError, AttributeError, OverflowError, RecursionError, TypeError, ValueError):
        pass
    raise ValueError(f"{description!r} does not describe a space of observations") from None


def _observation(space: Space, digits: Iterator[int]) -> Any:
    """Put integers together to an observation."""
    some: UntypedSpace = space
    if isinstance(space, spaces.Discrete):
        return next(digits)
    if isinstance(space, spaces.Tuple):
        return tuple(_observation(part, digits) for part in some.spaces)
    if isinstance(space, spaces.Dict):
        return {name: _observation(part, digits) for name, part in some.spaces.items()}
    n = math.prod(some.shape)
    return np.array([next(digits) for _ in range(n)], dtype=some.dtype).reshape(some.shape)
