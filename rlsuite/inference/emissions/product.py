"""Several channels that are independent of each other given the hidden state: naive Bayes."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference.emissions.base import Emission, columns
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


class _ChannelPriors(NamedTuple):
    """The resolved priors of the channels."""

    each: tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Product(Emission):
    """b_k(z) = product of the channels' b_k.

    An observation is a row: the columns of the first channel, then those of the second, and so on. Each channel may be
    missing alone (NaN, or -1 for a symbol), and is then ignored.

    Parameters
    ----------
    channels : sequence of Emission
        One or more, each for the same K states.

    Raises
    ------
    ModelError
        If there is none, or the numbers of states differ.

    Examples
    --------
    A symbol and a temperature:

    >>> from rlsuite.inference.emissions.categorical import Categorical
    >>> from rlsuite.inference.emissions.gaussian import Gaussian
    >>> health = Product([Categorical([[0.9, 0.1], [0.4, 0.6]]), Gaussian([36.8, 38.9], [0.09, 0.64])])
    >>> table, shift = health.likelihoods(health.check([[0, 36.9], [1, np.nan], [-1, 39.0]]))
    >>> table.round(4).tolist()
    [[1.0, 0.0077], [0.1667, 1.0], [0.0, 1.0]]
    """

    channels: Sequence[Emission]

    parameter_names: ClassVar[tuple[str, ...]] = ("channels",)

    def __post_init__(self) -> None:
        channels = tuple(self.channels)
        if not channels:
            raise ModelError("channels is empty; at least one is needed")
        for c, channel in enumerate(channels):
            if not isinstance(cast("object", channel), Emission):
                raise ModelError(f"channels[{c}] is a {type(channel).__name__}, not an Emission")
            if channel.n_states != channels[0].n_states:
                raise ModelError(
                    f"channels[{c}] has {channel.n_states} hidden states, but channels[0] has {channels[0].n_states}"
                )
        object.__setattr__(self, "channels", channels)

    @property
    def discrete(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - depends on the channels
        """Whether all observations are whole numbers."""
        return all(channel.discrete for channel in self.channels)

    @property
    def n_states(self) -> int:
        """K."""
        return self.channels[0].n_states

    @property
    def width(self) -> int:
        """Number of columns of all channels."""
        return sum(channel.width for channel in self.channels)

    @property
    def n_parameters(self) -> int:
        """Those of all channels."""
        return sum(channel.n_parameters for channel in self.channels)

    @property
    def collapsed(self) -> tuple[int, ...]:
        """The states with a channel that `fit_weighted` could not make as narrow as the observations asked for."""
        return tuple(sorted({state for channel in self.channels for state in channel.collapsed}))

    def freezable(self) -> frozenset[str]:
        """Return "channels", "channels[0]" and so on, and the names of the channels' parameters."""
        numbered = {f"channels[{c}]" for c in range(len(self.channels))}
        return super().freezable().union(numbered, *(channel.freezable() for channel in self.channels))

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        learned = [c for c in range(len(self.channels)) if not frozen & {"channels", f"channels[{c}]"}]
        return sum(self.channels[c].n_free(frozen) for c in learned)

    def check(self, z: ArrayLike) -> AnyArray:
        """Return observations (T, D), int64 if all channels are discrete, else float64."""
        given = columns(validation.array("z", z), self.width)
        checked: list[AnyArray] = []
        for channel, block in self._split(given):
            try:
                part = channel.check(block[:, 0] if channel.width == 1 else block)
            except ModelError as cause:
                raise ModelError(f"channel {len(checked)}: {cause}") from cause
            part = part.reshape(len(given), -1)
            if channel.discrete and not self.discrete:
                part = np.where(part < 0, np.nan, part)
            checked.append(part)
        return np.hstack(checked)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing in every channel: (T,) bool."""
        return np.all([channel.missing(block) for channel, block in self._parts(z)], axis=0)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the sums over the channels, in nats."""
        logs = np.zeros((len(z), self.n_states))
        for channel, block in self._parts(z):
            values, row = channel.distinct(block)
            logs += channel.log_likelihoods(values)[row]
        return logs

    def distinct(self, z: AnyArray) -> tuple[AnyArray, IndexArray]:
        """Return the different rows if all channels are discrete."""
        if not self.discrete:
            return super().distinct(z)
        values, row = np.unique(z, axis=0, return_inverse=True)
        return values, row.reshape(-1)

    def sample(self, states: IndexArray, rng: np.random.Generator) -> AnyArray:
        """Draw one observation for each of the hidden states: (T, D)."""
        return np.hstack([channel.sample(states, rng).reshape(len(states), -1) for channel in self.channels])

    def fit_weighted(
        self,
        z: AnyArray,
        weights: FloatArray,
        prior: object = None,
        frozen: AbstractSet[str] = frozenset(),
    ) -> Self:
        """Return each channel, fitted alone."""
        assert prior is None or isinstance(prior, _ChannelPriors)
        priors = [None] * len(self.channels) if prior is None else prior.each
        channels = list(self.channels)
        for c, (channel, block) in enumerate(self._parts(z)):
            if "channels" not in frozen and f"channels[{c}]" not in frozen:
                channels[c] = channel.fit_weighted(block, weights, priors[c], frozen)
        return type(self)(channels)

    def resolve_prior(self, prior: object, z: AnyArray) -> _ChannelPriors | None:
        """Return a prior for each channel; a single number applies to every channel."""
        if prior is None:
            return None
        each = isinstance(prior, list | tuple)
        priors = cast("Sequence[object]", prior) if each else [prior] * len(self.channels)
        if len(priors) != len(self.channels):
            raise ParameterError(f"{len(priors)} priors for {len(self.channels)} channels; give one for each, or None")
        parts = self._parts(z)
        return _ChannelPriors(
            tuple(channel.resolve_prior(own, block) for (channel, block), own in zip(parts, priors, strict=True))
        )

    def log_prior(self, prior: object) -> float:
        """Return the sum over the channels, in nats."""
        assert prior is None or isinstance(prior, _ChannelPriors)
        if prior is None:
            return 0.0
        return sum(channel.log_prior(own) for channel, own in zip(self.channels, prior.each, strict=True))

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return each channel at random."""
        return type(self)([channel.randomized(block, rng) for channel, block in self._parts(z)])

    def arrays(self) -> Mapping[str, object]:
        """Return the channels, for files."""
        return {"channels": self.channels}

    def _split(self, z: AnyArray) -> Iterator[tuple[Emission, AnyArray]]:
        bounds = np.cumsum([0, *(channel.width for channel in self.channels)]).tolist()
        for channel, (begin, end) in zip(self.channels, pairwise(bounds), strict=True):
            yield channel, z[:, begin:end]

    def _parts(self, z: AnyArray) -> Iterator[tuple[Emission, AnyArray]]:
        """Yield each channel and its own part of checked observations, in the form that it takes."""
        for channel, block in self._split(z):
            if channel.discrete:
                numbers = np.where(np.isnan(block), -1, block).astype(np.int64)
                yield channel, channel.check(numbers)
            else:
                yield channel, np.ascontiguousarray(block, dtype=np.float64)
