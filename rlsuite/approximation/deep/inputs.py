"""The inputs of a network: numbers scaled by their bounds, pixels as fractions, ids as one-hot vectors.

Images enter it as (planes, rows, columns), in whatever order the environment has them.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.network import pytorch
from rlsuite.core.aliases import Space
from rlsuite.models.aliases import AnyArray

CHANNELS = ("auto", "first", "last")
"""The axis of an image's planes: its colours, or one plane for each kind of object."""

MANY = 4
"""Usual numbers of planes: up to three colours and opacity, or the last four grey pictures."""

WIDEST = 1e6
"""Bounds further apart than this are ignored: they are placeholders."""


@dataclass(frozen=True)
class Inputs:
    """The observations of one space.

    Parameters
    ----------
    shape : tuple of int
        Shape of an observation as it is stored: that of a Box; (1,) for an id.
    pixels : bool
        Whether they are pixels, stored as bytes: 0 to `brightest`.
    n_ids : int
        How many ids there are; 0 if observations are not ids.
    first_id : int
        The smallest id.
    low, high : tuple of float
        Bounds of the numbers of an observation, in the order of memory, or one for all; infinite where there is none.
        What lies between finite ones is brought to [-1, 1]: a network is slow to find out that a velocity of at most
        0.07 matters as much as an angle.
    brightest : int
        What enters the network as 1 if observations are pixels: 255 for bytes, 1 for flags.
    channels_last : bool
        Whether observations are images (rows, columns, planes), which enter the network as (planes, rows, columns).
        Several images, one after the other, enter it as one that has the planes of all.
    """

    shape: tuple[int, ...]
    pixels: bool = False
    n_ids: int = 0
    first_id: int = 0
    low: tuple[float, ...] = (-np.inf,)
    high: tuple[float, ...] = (np.inf,)
    brightest: int = 255
    channels_last: bool = False

    @classmethod
    def of(cls, space: Space, channels: str = "first") -> Self:
        """Describe the observations of a space; `channels` is the axis of the planes of images.

        Raises
        ------
        UnsuitableEnvironment
            If it is neither a Box nor Discrete, or it is not clear where images have their planes.

        Examples
        --------
        >>> Inputs.of(spaces.Box(0, 255, (210, 160, 3), np.uint8), "auto").network_shape
        (3, 210, 160)
        """
        if isinstance(space, spaces.Discrete):
            return cls((1,), n_ids=int(space.n), first_id=int(space.start))
        if isinstance(space, spaces.Box) and space.shape:
            box = cast(Any, space)  # its dtype is known only at run time
            last = channels_last(space.shape[-3:], channels)
            if box.dtype in (np.uint8, np.bool_):
                brightest = 255 if box.dtype == np.uint8 else 1
                return cls(tuple(space.shape), pixels=True, brightest=brightest, channels_last=last)
            low, high = (np.ravel(bound).astype(np.float64).tolist() for bound in (box.low, box.high))
            n = 1 if len(set(low)) == len(set(high)) == 1 else len(low)
            return cls(tuple(space.shape), low=tuple(low[:n]), high=tuple(high[:n]), channels_last=last)
        raise errors.UnsuitableEnvironment(
            f"a network needs a Box or a Discrete observation space, got {space}. "
            "Wrap the environment: gymnasium.wrappers.FlattenObservation(env) makes one vector of all parts"
        )

    def check(self) -> None:
        """Raise ValueError unless the fields are consistent; part of reading a file.

        Raises
        ------
        ValueError
            If one is of another type or out of its range, or the bounds are not those of so many numbers.
        """
        whole = [("n_ids", self.n_ids), ("first_id", self.first_id), ("brightest", self.brightest)]
        for name, number in [*whole, *(("shape", length) for length in self.shape)]:
            least = {"first_id": -(2**53), "n_ids": 0}.get(name, 1)
            if type(number) is not int or not least <= number <= 2**53:
                raise ValueError(f"{name} of the inputs is {number!r}, not a whole number of at least {least}")
        if type(self.pixels) is not bool or type(self.channels_last) is not bool:
            raise ValueError("pixels and channels_last of the inputs must be true or false")
        if self.n_ids and self.shape != (1,):
            raise ValueError(f"inputs that are ids have shape {self.shape}, not (1,)")
        for bound in (self.low, self.high):
            if len(bound) not in (1, math.prod(self.shape)) or not all(type(each) is float for each in bound):
                raise ValueError(f"low and high of the inputs must be 1 or {math.prod(self.shape)} floats each")
        if len(self.low) != len(self.high) or any(np.isnan(self.low + self.high)):
            raise ValueError("low and high of the inputs have different lengths, or are NaN")

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type in which observations are stored."""
        return np.dtype(np.uint8 if self.pixels else np.int64 if self.n_ids else np.float32)

    @property
    def network_shape(self) -> tuple[int, ...]:
        """Shape of the network's inputs."""
        if self.n_ids:
            return (self.n_ids,)
        image = (self.shape[-1], *self.shape[-3:-1]) if self.channels_last else self.shape[-3:]
        return (math.prod(self.shape[:-3]) * image[0], *image[1:]) if len(self.shape) > 3 else image

    @property
    def has_range(self) -> bool:
        """Whether all numbers have bounds, or are pixels."""
        return self.pixels or bool(np.isfinite([*self.low, *self.high]).all())

    @cached_property
    def _scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The offset that is subtracted from an observation, and the factor that it is then multiplied by."""
        low, high = np.array(self.low), np.array(self.high)
        bounded = (high - low > 0.0) & (high - low <= WIDEST)
        centre, factor = np.zeros(low.size), np.ones(low.size)
        centre[bounded] = (low[bounded] + high[bounded]) / 2.0
        factor[bounded] = 2.0 / (high[bounded] - low[bounded])
        shape = self.shape if low.size > 1 else (1,) * len(self.shape)
        return centre.reshape(shape), factor.reshape(shape)

    def stored(self, observations: object) -> AnyArray:
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
                f"observations have shape {found.shape[1:]}; this network takes observations of shape {self.shape}"
            )
        with np.errstate(over="ignore"):  # infinite results are refused below
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

    def tensor(self, stored: AnyArray, device: Any) -> Any:
        """Return stored observations as inputs of the network: a float32 tensor (n, *network_shape)."""
        torch = pytorch()
        if self.n_ids:
            one_hot = np.zeros((len(stored), self.n_ids), dtype=np.float32)
            one_hot[np.arange(len(stored)), stored[:, 0]] = 1.0
            return torch.from_numpy(one_hot).to(device)
        moved = torch.from_numpy(stored).to(device)
        if self.channels_last:
            moved = moved.movedim(-1, -3)
        # the order in memory decides which convolution torch uses, and these round differently
        moved = moved.contiguous().reshape(-1, *self.network_shape)
        return moved.float() / self.brightest if self.pixels else moved


def channels_last(shape: tuple[int, ...], channels: str) -> bool:
    """Whether images of a shape are (rows, columns, planes); False unless there are three dimensions.

    With "auto", planes are what is fewer than both rows and columns, and either usual in number or beside an image that
    is square.

    Raises
    ------
    UnsuitableEnvironment
        If that leaves a doubt.

    Examples
    --------
    >>> [channels_last(shape, "auto") for shape in ((4, 84, 84), (210, 160, 3), (10, 10, 7), (84, 84))]
    [False, True, True, False]
    """
    if len(shape) != 3 or channels != "auto":
        return len(shape) == 3 and channels == "last"
    first, middle, last = shape
    if not (1 < first <= MANY and 1 < last <= MANY):
        if _evident(first, middle, last):
            return False
        if _evident(last, first, middle):
            return True
    raise errors.UnsuitableEnvironment(
        f"images of shape {shape} may be {first} planes of {middle} x {last} numbers, or {last} planes of {first} x "
        f"{middle}; say which by channels='first' or channels='last'"
    )


def _evident(planes: int, rows: int, columns: int) -> bool:
    """Whether this is a usual number of planes for images with that many rows and columns."""
    side = min(rows, columns)
    return planes < side and (rows == columns or planes <= max(MANY, side // 4))
