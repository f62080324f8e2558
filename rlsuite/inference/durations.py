"""How long a hidden state lasts: the distributions of the durations of a hidden semi-Markov model.

Each distribution gives its table Pr[a segment of k lasts d steps], d = 1..D. The families without an end are cut off
where less than `TAIL` is left, and the rest is spread over what is kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.inference import dirichlet
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray

TAIL = 1e-15
"""Probability of longer durations that may be left out."""

MOST = 100_000
"""Steps; a family that needs a longer table is refused."""

ROUND = 1e9
"""Shape of a negative binomial from which on it is a Poisson distribution."""


class Durations(SaysWhatToWrite, ABC):
    """A family of distributions of durations, one for each of K hidden states; immutable."""

    families: ClassVar[dict[str, type["Durations"]]] = {}
    """All families, by name, for files."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Durations.families[cls.__name__] = cls

    @property
    @abstractmethod
    def table(self) -> FloatArray:
        """(K, D) float64: ``table[k, d - 1]`` = Pr[a segment of k lasts d steps]."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them."""

    @abstractmethod
    def fit_weighted(self, counts: FloatArray, pseudo: float) -> Self:
        """Return the most probable durations given expected counts (K, D): the M-step.

        Parameters
        ----------
        counts : ndarray (K, D) float64
            Expected number of segments of each length.
        pseudo : float
            Added to the counts of all durations that are possible in a table; other families take no notice.
        """

    @abstractmethod
    def arrays(self) -> Mapping[str, FloatArray]:
        """Return the arguments of the constructor, by keyword, for files."""

    @property
    def n_states(self) -> int:
        """K."""
        return len(self.table)

    @property
    def survival(self) -> FloatArray:
        """(K, D) float64: ``survival[k, d - 1]`` = Pr[a segment of k lasts d steps or longer]."""
        return np.cumsum(self.table[:, ::-1], axis=1)[:, ::-1]

    @property
    def mean(self) -> FloatArray:
        """(K,) float64: mean duration, in steps."""
        return self.table @ np.arange(1.0, self.table.shape[1] + 1.0)


@dataclass(frozen=True, eq=False)
class TableDurations(Durations):
    """Any distribution of durations up to D.

    Parameters
    ----------
    probability : array_like (K, D)
        ``probability[k, d - 1]`` = Pr[a segment of k lasts d steps].

    Raises
    ------
    ModelError
        If a row is no distribution.

    Examples
    --------
    >>> from rlsuite.inference import TableDurations
    >>> TableDurations([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).mean.tolist()
    [1.5, 3.0]
    """

    probability: FloatArray

    def __post_init__(self) -> None:
        table = validation.floats("durations", self.probability)
        if table.ndim != 2 or 0 in table.shape:
            raise ModelError(f"durations has shape {table.shape}, not (K, D): one row of probabilities for each state")
        for k, row in enumerate(table):
            validation.distribution(f"durations[k={k}]", row)
        object.__setattr__(self, "probability", validation.frozen(table, self.probability))

    @property
    def table(self) -> FloatArray:
        """(K, D) float64: the probabilities."""
        return self.probability

    @property
    def n_parameters(self) -> int:
        """Number of positive probabilities, less one for each state."""
        return int(np.count_nonzero(self.probability)) - len(self.probability)

    def fit_weighted(self, counts: FloatArray, pseudo: float) -> Self:
        """Return the shares of the counts; what is impossible stays so."""
        added = dirichlet.pseudo_counts("prior", pseudo, self.probability)
        return type(self)(dirichlet.most_probable(counts, added, self.probability))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return the probabilities, for files."""
        return {"probability": self.probability}


@dataclass(frozen=True, eq=False)
class PoissonDurations(Durations):
    """The steps after the first one of a segment are Poisson distributed.

    Parameters
    ----------
    mean_duration : array_like (K,)
        Mean duration, in steps, at least 1.

    Raises
    ------
    ModelError
        If a mean is less than 1, or so large that the table would have more than 100,000 columns.

    Examples
    --------
    >>> from rlsuite.inference import PoissonDurations
    >>> durations = PoissonDurations([1.0, 5.0])
    >>> durations.mean.round(9).tolist(), durations.table.shape
    ([1.0, 5.0], (2, 29))
    """

    mean_duration: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_duration", _means(self.mean_duration))

    @property
    def table(self) -> FloatArray:
        """(K, D) float64: the probabilities, cut off where less than 1e-15 is left."""
        return self._table

    @cached_property
    def _table(self) -> FloatArray:
        from scipy.stats import poisson

        rest: Any = poisson(self.mean_duration[:, np.newaxis] - 1.0)
        return _cut(rest)

    @property
    def n_parameters(self) -> int:
        """K."""
        return self.mean_duration.size

    def fit_weighted(self, counts: FloatArray, pseudo: float) -> Self:
        """Return the weighted means."""
        total = counts.sum(axis=1)
        mean = counts @ np.arange(1.0, counts.shape[1] + 1.0) / np.where(total > 0.0, total, 1.0)
        return type(self)(np.where(total > dirichlet.NO_VISITS, np.maximum(mean, 1.0), self.mean_duration))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return the means, for files."""
        return {"mean_duration": self.mean_duration}


@dataclass(frozen=True, eq=False)
class NegativeBinomialDurations(Durations):
    """The steps after the first one of a segment have a negative binomial distribution.

    Its variance is ``m + m**2 / shape`` with m = mean_duration - 1: larger than that of a Poisson distribution, which
    it approaches for large shapes. With the shape 1 durations are geometric, as those of a plain hidden Markov model.

    Parameters
    ----------
    mean_duration : array_like (K,)
        Mean duration, in steps, at least 1.
    shape : array_like (K,)
        Positive.

    Raises
    ------
    ModelError
        If a parameter is out of range, or the table would have more than 100,000 columns.

    Examples
    --------
    >>> from rlsuite.inference import NegativeBinomialDurations
    >>> durations = NegativeBinomialDurations([4.0], [1.0])
    >>> durations.table[0, :3].round(6).tolist()  # geometric: 1/4, 3/16, 9/64
    [0.25, 0.1875, 0.140625]
    """

    mean_duration: FloatArray
    shape: FloatArray

    def __post_init__(self) -> None:
        mean = _means(self.mean_duration)
        shape = validation.floats("shape", self.shape)
        validation.shape("shape", shape, mean.shape, meaning="that of mean_duration")
        if (shape <= 0.0).any():
            k = int(np.argmax(shape <= 0.0))
            raise ModelError(f"shape[k={k}] is {shape[k]:g}; shapes are positive")
        object.__setattr__(self, "mean_duration", mean)
        object.__setattr__(self, "shape", validation.frozen(shape, self.shape))

    @property
    def table(self) -> FloatArray:
        """(K, D) float64: the probabilities, cut off where less than 1e-15 is left."""
        return self._table

    @cached_property
    def _table(self) -> FloatArray:
        from scipy.stats import nbinom

        rest: Any = nbinom(self.shape[:, np.newaxis], self._stops[:, np.newaxis])
        return _cut(rest)

    @property
    def n_parameters(self) -> int:
        """2 K."""
        return 2 * self.mean_duration.size

    def fit_weighted(self, counts: FloatArray, pseudo: float) -> Self:
        """Return the weighted means, and the shapes that are most probable with them, by a search in one dimension."""
        from scipy.optimize import minimize_scalar
        from scipy.stats import nbinom

        steps = np.arange(counts.shape[1], dtype=np.float64)
        total = counts.sum(axis=1)
        visited = total > dirichlet.NO_VISITS
        rest = counts @ steps / np.where(visited, total, 1.0)
        shape = self.shape.copy()
        search: Any = minimize_scalar
        logs: Any = nbinom.logpmf
        for k in np.flatnonzero(visited & (rest > 0.0)):
            used = counts[k] > 0.0

            def loss(log_shape: float, k: int = int(k), used: Any = used) -> float:
                r = float(np.exp(log_shape))
                return -float(counts[k, used] @ logs(steps[used], r, r / (r + rest[k])))

            found = search(loss, bounds=(-7.0, float(np.log(ROUND))), method="bounded", options={"xatol": 1e-8})
            before = float(np.log(shape[k]))
            shape[k] = np.exp(found.x if found.fun <= loss(before) else before)
        return type(self)(np.where(visited, rest + 1.0, self.mean_duration), shape)

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return means and shapes, for files."""
        return {"mean_duration": self.mean_duration, "shape": self.shape}

    @property
    def _stops(self) -> FloatArray:
        return self.shape / (self.shape + self.mean_duration - 1.0)


def durations_of(given: ArrayLike | Durations) -> Durations:
    """Return durations; an array is a table of probabilities."""
    return given if isinstance(given, Durations) else TableDurations(validation.floats("durations", given))


@says_what_to_write
def uniform_durations(n_states: int, longest: int) -> TableDurations:
    """Return durations that are all equally probable up to the longest: a start for learning.

    Examples
    --------
    >>> uniform_durations(2, 4).mean.tolist()
    [2.5, 2.5]
    """
    states, most = whole_number("n_states", n_states), whole_number("longest", longest)
    return TableDurations(np.full((states, most), 1.0 / most))


def _means(given: ArrayLike) -> FloatArray:
    mean = validation.floats("mean_duration", given)
    if mean.ndim != 1 or mean.size == 0:
        raise ModelError(f"mean_duration has shape {mean.shape}, not (K,): one mean for each state")
    if (mean < 1.0).any():
        k = int(np.argmax(mean < 1.0))
        raise ModelError(f"mean_duration[k={k}] is {mean[k]:g}; a segment lasts 1 step at least")
    return validation.frozen(mean, given)


def _cut(rest: Any) -> FloatArray:
    """Return the table of the steps after the first one, a frozen distribution of SciPy with rows (K, 1)."""
    longest = int(np.max(rest.isf(TAIL), initial=0.0)) + 1
    if longest > MOST:
        raise ModelError(f"durations up to {longest:,} steps are too many: {MOST:,} at most; let a step be longer")
    table = np.asarray(rest.pmf(np.arange(longest)), dtype=np.float64)
    return table / table.sum(axis=1, keepdims=True)
