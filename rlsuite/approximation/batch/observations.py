"""What a batch method is shown of an environment: vectors in, numbers of actions out."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.training.sight import encoding

Encode: TypeAlias = Callable[[Any], NDArray[np.float64]]
"""``observation -> vector (d,)``"""


def as_vector(observation: Any) -> NDArray[np.float64]:
    """Return an observation whose space is not known as a new vector (d,): its numbers, in order.

    Examples
    --------
    >>> as_vector(3), as_vector((14, 10, 1)), as_vector([[0.5], [1.5]])
    (array([3.]), array([14., 10.,  1.]), array([0.5, 1.5]))
    """
    if isinstance(observation, tuple):
        return np.concatenate([as_vector(part) for part in cast("tuple[Any, ...]", observation)])
    return np.array(observation, dtype=np.float64).reshape(-1)


def encoder(space: gymnasium.Space[Any] | None) -> Encode:
    """Return the function that makes vectors (d,) of the observations of a space; None is a space that is not known."""
    return as_vector if space is None else encoding(space).encode


def encoded(space: gymnasium.Space[Any] | None, observation: Any) -> NDArray[np.float64]:
    """Return one observation of a space as a vector (d,)."""
    return encoder(space)(observation)


def check_discrete_actions(space: gymnasium.Space[Any], owner: str) -> spaces.Discrete:
    """Return an action space, which must be Discrete.

    Raises
    ------
    UnsuitableEnvironment
        If it is not; the message says how to choose among continuous actions.
    """
    if not isinstance(space, spaces.Discrete):
        raise errors.UnsuitableEnvironment(
            f"{owner} has actions of {space}; batch methods choose among the actions of a Discrete space. Let them "
            "choose among a few levels: wrap the environment in rlsuite.discrete_actions.DiscreteActions, or give the "
            "number of the level to Batch.from_arrays"
        )
    return space
