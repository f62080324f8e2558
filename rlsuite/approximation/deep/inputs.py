"""How observations enter a network: numbers scaled by their bounds, pixels divided by 255, ids as one-hot vectors."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.pytorch import pytorch

WIDEST = 1e6
"""Bounds further apart are taken for none: they were written because something had to be."""


@dataclass(frozen=True)
class Inputs:
    """The observations of one space.

    Parameters
    ----------
    shape : tuple of int
        Shape of an observation as it is stored: that of a Box; (1,) for an id.
    pixels : bool
        Whether they are bytes, 0 to 255.
    n_ids : int
        How many ids there are; 0 if observations are not ids.
    first_id : int
        The smallest id.
    low, high : tuple of float
        Bounds of the numbers of an observation, in the order of memory, or one for all; infinite where there is none.
        What lies between finite ones is brought to [-1, 1]: a network is slow to find out that a velocity of at most
        0.07 matters as much as an angle.
    """

    shape: tuple[int, ...]
    pixels: bool = False
    n_ids: int = 0
    first_id: int = 0
    low: tuple[float, ...] = (-np.inf,)
    high: tuple[float, ...] = (np.inf,)

    @classmethod
    def of(cls, space: gymnasium.Space[Any]) -> Self:
        """Describe the observations of a space.

        Raises
        ------
        UnsuitableEnvironment
            If it is neither a Box nor Discrete.

        Examples
        --------
        >>> Inputs.of(spaces.Box(-np.inf, np.inf, (4,)))
        Inputs(shape=(4,), pixels=False, n_ids=0, first_id=0, low=(-inf,), high=(inf,))
        """
        if isinstance(space, spaces.Discrete):
            return cls((1,), n_ids=int(space.n), first_id=int(space.start))
        if isinstance(space, spaces.Box) and space.shape:
            box = cast(Any, space)  # the type of its numbers is known to the running program only
            if box.dtype == np.uint8:
                return cls(tuple(space.shape), pixels=True)
            low, high = (np.ravel(bound).astype(np.float64).tolist() for bound in (box.low, box.high))
            n = 1 if len(set(low)) == len(set(high)) == 1 else len(low)
            return cls(tuple(space.shape), low=tuple(low[:n]), high=tuple(high[:n]))
        raise errors.UnsuitableEnvironment(
            f"a network needs a Box or a Discrete observation space, got {space}. "
            "Wrap the environment: gymnasium.wrappers.FlattenObservation(env) makes one vector of all parts"
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which observations are stored."""
        return np.dtype(np.uint8 if self.pixels else np.int64 if self.n_ids else np.float32)

    @property
    def network_shape(self) -> tuple[int, ...]:
        """Shape of what enters the network."""
        return (self.n_ids,) if self.n_ids else self.shape

    @cached_property
    def _scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What is subtracted from an observation, and what it is then multiplied by."""
        low, high = np.array(self.low), np.array(self.high)
        bounded = (high - low > 0.0) & (high - low <= WIDEST)
        centre, factor = np.zeros(low.size), np.ones(low.size)
        centre[bounded] = (low[bounded] + high[bounded]) / 2.0
        factor[bounded] = 2.0 / (high[bounded] - low[bounded])
        shape = self.shape if low.size > 1 else (1,) * len(self.shape)
        return centre.reshape(shape), factor.reshape(shape)

    def stored(self, observations: object) -> NDArray[Any]:
        """Check n observations and return them as they are stored, shape (n, *shape).

        Raises
        ------
        ParameterError
            If they are of another shape, not finite, or ids out of range.

        Examples
        --------
        >>> Inputs((2,), low=(-np.inf, 0.0), high=(np.inf, 10.0)).stored([[0.5, 7.5]])
        array([[0.5, 0.5]], dtype=float32)
        """
        try:
            found = np.asarray(observations)
            if found.dtype.kind not in "biuf":
                raise TypeError(f"their dtype is {found.dtype}")
            numbers = found.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise errors.ParameterError(f"observations must be an array of numbers ({error})") from error
        if self.n_ids:
            return self._ids(numbers.reshape(-1, 1))
        if found.ndim != 1 + len(self.shape) or found.shape[1:] != self.shape:
            raise errors.ParameterError(
                f"observations of shape {found.shape[1:]} are not those of this network, which have shape {self.shape}"
            )
        with np.errstate(over="ignore"):  # what becomes infinite is found below
            kept = numbers.astype(np.uint8) if self.pixels else self._scaled(numbers)
        if not np.isfinite(kept).all():
            raise errors.ParameterError(f"observation {found[~np.isfinite(kept)][0]} is not a finite number")
        return kept

    def _ids(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        last = self.first_id + self.n_ids - 1
        known = (numbers >= self.first_id) & (numbers <= last) & (numbers == np.floor(numbers))
        if not known.all():
            raise errors.ParameterError(f"observation {numbers[~known][0]:g} is not in {self.first_id}..{last}")
        return numbers.astype(np.int64) - self.first_id

    def _scaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        centre, factor = self._scaling
        return ((numbers - centre) * factor).astype(np.float32)

    def tensor(self, stored: NDArray[Any], device: Any) -> Any:
        """Return stored observations as what enters the network: a float32 tensor (n, *network_shape)."""
        torch = pytorch()
        moved = torch.from_numpy(stored).to(device)
        if self.n_ids:
            return torch.nn.functional.one_hot(moved[:, 0], self.n_ids).float()
        return moved.float() / 255.0 if self.pixels else moved
