"""The interface between a batch method and an environment: vectors in, indices of actions out."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.aliases import Space
from rlsuite.environments.observation_view import encoding, numbers_of

Encode: TypeAlias = Callable[[object], NDArray[np.float64]]
"""``observation -> vector (d,)``"""


def encoder(space: Space | None) -> Encode:
    """Return the function that makes vectors (d,) of the observations of a space; None stands for an unknown space.

    It raises ParameterError for what is not an observation of the space, or does not consist of numbers.
    """
    return numbers_of if space is None else encoding(space).given


def encoded(space: Space | None, observation: object) -> NDArray[np.float64]:
    """Return one observation of a space as a vector (d,)."""
    return encoder(space)(observation)


def check_discrete_actions(space: Space, owner: str) -> spaces.Discrete:
    """Return an action space, which must be Discrete.

    Raises
    ------
    UnsuitableEnvironment
        If it is not; the message says how to choose among continuous actions.
    """
    if not isinstance(space, spaces.Discrete):
        raise errors.UnsuitableEnvironment(
            f"{owner} has the action space {space}; batch methods need a Discrete one. Replace continuous actions by a "
            "few levels: wrap the environment in rlsuite.DiscreteActions, or give the numbers of the levels to "
            "Batch.from_arrays"
        )
    return space
