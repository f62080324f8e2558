"""Counts: events in a unit of time, at a rate that depends on the hidden state."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference.emissions.base import Emission, all_missing, columns, whole_numbers
from rlsuite.inference.emissions.before_learning import Pseudo, distant_centres, resolved
from rlsuite.inference.emissions.gaussian import NO_WEIGHT
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Poisson(Emission):
    """Pr(z | k) = exp(-rate_k) rate_k^z / z!, for each of D independent counts.

    Parameters
    ----------
    rate : array_like (K,) or (K, D)
        Events per time step, not negative. With the rate 0, only the count 0 is possible.

    Raises
    ------
    ModelError
        If a rate is negative.

    Examples
    --------
    >>> calls = Poisson([1.0, 4.0])
    >>> table, shift = calls.likelihoods(calls.check([0, 4, -1]))
    >>> (table * np.exp(shift)[:, np.newaxis]).round(6).tolist()
    [[0.367879, 0.018316], [0.015328, 0.195367], [1.0, 1.0]]
    """

    rate: FloatArray

    discrete: ClassVar[bool] = True
    parameter_names: ClassVar[tuple[str, ...]] = ("rate",)

    def __post_init__(self) -> None:
        rate = validation.floats("rate", self.rate)
        if rate.ndim == 1:
            rate = rate[:, np.newaxis]
        if rate.ndim != 2 or 0 in rate.shape:
            raise ModelError(f"rate has shape {rate.shape}, not (K,) or (K, D)")
        if (rate < 0.0).any():
            k, d = (int(i) for i in np.argwhere(rate < 0.0)[0])
            raise ModelError(f"rate[k={k}, d={d}] is {rate[k, d]:g}; rates are at least 0")
        object.__setattr__(self, "rate", validation.frozen(rate, self.rate))

    @classmethod
    def from_data(cls, z: ArrayLike, n_states: int, rng: np.random.Generator) -> Self:
        """Return rates that are observations far from each other, drawn a little towards the mean of all."""
        counts = whole_numbers(z, "counts", None)
        counts = columns(counts, 1 if counts.ndim == 1 else counts.shape[1])
        numbers = np.where(counts < 0, np.nan, counts)
        return cls(0.9 * distant_centres(numbers, n_states, rng)[0] + 0.1 * np.nanmean(numbers, axis=0))

    @property
    def n_states(self) -> int:
        """K."""
        return self.rate.shape[0]

    @property
    def width(self) -> int:
        """D."""
        return self.rate.shape[1]

    @property
    def n_parameters(self) -> int:
        """K D."""
        return self.rate.size

    def check(self, z: ArrayLike) -> IndexArray:
        """Return counts as int64 (T, D), -1 where one is missing."""
        return columns(whole_numbers(z, "counts", None), self.width)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing altogether: (T,) bool."""
        return all_missing(z)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the logarithms of the probabilities of the counts in nats."""
        from scipy.special import gammaln, xlogy

        logs = np.zeros((len(z), self.n_states))
        for d in range(self.width):
            there = z[:, d] >= 0
            count = z[there, d, np.newaxis]
            logs[there] += xlogy(count, self.rate[:, d]) - self.rate[:, d] - gammaln(count + 1.0)
        return logs

    def distinct(self, z: AnyArray) -> tuple[AnyArray, IndexArray]:
        """Return the different counts, and the number of each observation among them."""
        if self.width == 1:  # much faster than by rows
            counts, row = np.unique(z[:, 0], return_inverse=True)
            return counts[:, np.newaxis], row
        counts, row = np.unique(z, axis=0, return_inverse=True)
        return counts, row.reshape(-1)

    def sample(self, states: IndexArray, rng: np.random.Generator) -> IndexArray:
        """Draw one observation for each of the hidden states: (T, D), or (T,) if D is 1."""
        drawn = rng.poisson(self.rate[states])
        return drawn[:, 0] if self.width == 1 else drawn

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted mean counts."""
        assert prior is None or isinstance(prior, Pseudo)
        if "rate" in frozen:
            return self
        there = (z >= 0).astype(np.float64)
        total = weights.T @ there
        events = weights.T @ np.where(z >= 0, z, 0).astype(np.float64)
        if prior is not None:
            total += prior.number
            events += prior.number * prior.mean
        visited = total > NO_WEIGHT
        return type(self)(np.where(visited, events / np.where(visited, total, 1.0), self.rate))

    def resolve_prior(self, prior: object, z: AnyArray) -> Pseudo | None:
        """Return `PseudoObservations` for each state; a number is how many, with the moments of all observations."""
        pseudo = resolved(prior, np.where(z < 0, np.nan, z), self.n_states, needs_variance=False)
        if pseudo is not None and (pseudo.mean < 0.0).any():
            raise ParameterError(f"prior.mean has the entry {pseudo.mean.min():g}; counts are at least 0")
        return pseudo

    def log_prior(self, prior: object) -> float:
        """Return the sum of c (m0 ln rate - rate), in nats."""
        from scipy.special import xlogy

        assert prior is None or isinstance(prior, Pseudo)
        if prior is None:
            return 0.0
        logs = np.asarray(xlogy(prior.mean, self.rate), dtype=np.float64)
        return float(prior.number * (logs - self.rate).sum())

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return rates that are observations far from each other, drawn a little towards the mean of all."""
        return type(self).from_data(z, self.n_states, rng)

    def arrays(self) -> Mapping[str, object]:
        """Return the rates, for files."""
        return {"rate": self.rate}
