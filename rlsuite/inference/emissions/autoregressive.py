"""Numbers that depend on those before them, in a way that depends on the hidden state (Hamilton 1989, in levels)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, Self, cast, overload

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction, whole_number
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import Emission, vectors
from rlsuite.inference.emissions.before_learning import constant, scale
from rlsuite.inference.emissions.gaussian import LEAST_VARIANCE, NO_WEIGHT
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


@overload
def lagged(z: list[AnyArray], order: int = 1) -> list[FloatArray]: ...
@overload
def lagged(z: ArrayLike, order: int = 1) -> FloatArray: ...
def lagged(z: ArrayLike | list[AnyArray], order: int = 1) -> FloatArray | list[FloatArray]:
    """Return each number of a sequence beside those before it: the rows that `AutoregressiveGaussian` takes.

    The first `order` numbers have none before them and begin no row: what is learned is conditional on them.

    Parameters
    ----------
    z : array_like (T,), or list of arrays
        A sequence of numbers; or several.
    order : int
        p, how many of those before it.

    Returns
    -------
    ndarray (T - p, 1 + p) float64
        ``[z_t, z_(t-1), ..., z_(t-p)]``; for a list, a list of such arrays.

    Raises
    ------
    ModelError
        If a sequence has no more than p numbers.

    Examples
    --------
    >>> lagged([1, 2, 3, 4], order=2).tolist()
    [[3.0, 2.0, 1.0], [4.0, 3.0, 2.0]]
    """
    order = whole_number("order", order)
    parts = cast("list[object]", z) if isinstance(z, list) else []
    if parts and all(isinstance(part, np.ndarray) for part in parts):
        return [_rows(part, order) for part in cast("list[AnyArray]", parts)]
    return _rows(cast("ArrayLike", z), order)


def _rows(z: ArrayLike, order: int) -> FloatArray:
    numbers = vectors(z, 1)[:, 0]
    if len(numbers) <= order:
        raise ModelError(f"a sequence has {len(numbers)} numbers; for order={order} it needs {order + 1} at least")
    windows = np.lib.stride_tricks.sliding_window_view(numbers, order + 1)
    return np.ascontiguousarray(windows[:, ::-1])


@dataclass(frozen=True, eq=False)
class AutoregressiveGaussian(Emission):
    """z_t = intercept_k + sum_i coefficient_ki z_(t-i) + noise of variance_k, in state k.

    An observation is a row ``[z_t, z_(t-1), ..., z_(t-p)]``, as `lagged` makes them of a sequence. The likelihood is
    that of the numbers given the first p of each sequence. Where z_t is missing (NaN), it counts for nothing.

    Parameters
    ----------
    intercept : array_like (K,)
        In the unit of the observations.
    coefficient : array_like (K, p)
        Of the number one step before, two steps before, and so on; without a unit.
    variance : array_like (K,)
        Of the noise, in the square of the unit of the observations.
    least_variance : float
        Learning keeps every variance at least this many times the variance of all observations.

    Raises
    ------
    ModelError
        If the shapes do not fit, or a variance is not positive.

    Examples
    --------
    A series that returns to 0 in one state, and walks about in the other:

    >>> from rlsuite.inference import HMM
    >>> noise = AutoregressiveGaussian([0, 0], [[0.2], [1.0]], [1.0, 1.0])
    >>> hmm = HMM([0.5, 0.5], [[0.99, 0.01], [0.01, 0.99]], noise)
    >>> hmm.smooth(lagged([9.0, 8.6, 9.1, 8.8, 9.0]))[-1].round(3).tolist()
    [0.0, 1.0]
    """

    intercept: FloatArray
    coefficient: FloatArray
    variance: FloatArray
    least_variance: float = LEAST_VARIANCE

    parameter_names: ClassVar[tuple[str, ...]] = ("intercept", "coefficient", "variance")

    def __post_init__(self) -> None:
        fraction("least_variance", self.least_variance)
        intercept = validation.floats("intercept", self.intercept)
        coefficient = validation.floats("coefficient", self.coefficient)
        variance = validation.floats("variance", self.variance)
        if coefficient.ndim != 2 or 0 in coefficient.shape:
            raise ModelError(f"coefficient has shape {coefficient.shape}, not (K, p)")
        for name, values in (("intercept", intercept), ("variance", variance)):
            if values.shape != coefficient.shape[:1]:
                raise ModelError(f"{name} has shape {values.shape}, and coefficient has {len(coefficient)} rows")
        if (variance <= 0.0).any():
            k = int(np.argmax(variance <= 0.0))
            raise ModelError(f"variance[k={k}] is {variance[k]:g}; variances are positive")
        object.__setattr__(self, "intercept", validation.frozen(intercept, self.intercept))
        object.__setattr__(self, "coefficient", validation.frozen(coefficient, self.coefficient))
        object.__setattr__(self, "variance", validation.frozen(variance, self.variance))

    @classmethod
    def from_data(cls, z: ArrayLike, n_states: int, rng: np.random.Generator) -> Self:
        """Return the regressions of random blocks of rows ``[z_t, z_(t-1), ..., z_(t-p)]``: a start for learning."""
        rows = validation.array("z", z)
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise ModelError(f"z has shape {rows.shape}, not (T, 1 + p): lagged(z, order=p) makes such rows")
        rows = vectors(rows, rows.shape[1])
        numbers = rows[~np.isnan(rows[:, 0]), 0]
        if not len(numbers):
            raise ModelError("every observation is missing: there is nothing to choose initial parameters from")
        states = whole_number("n_states", n_states)
        mean, spread = numbers.mean(), scale(numbers.var(), numbers.mean())
        first = cls(np.full(states, mean), np.zeros((states, rows.shape[1] - 1)), np.full(states, spread))
        return first.randomized(first.check(rows), rng)

    @property
    def n_states(self) -> int:
        """K."""
        return self.coefficient.shape[0]

    @property
    def order(self) -> int:
        """The number p of earlier observations that one depends on."""
        return self.coefficient.shape[1]

    @property
    def width(self) -> int:
        """1 + p."""
        return 1 + self.order

    @property
    def n_parameters(self) -> int:
        """K (p + 2)."""
        return self.n_free(frozenset())

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        sizes = {"intercept": self.n_states, "coefficient": self.coefficient.size, "variance": self.n_states}
        return sum(size for name, size in sizes.items() if name not in frozen)

    def check(self, z: ArrayLike) -> FloatArray:
        """Return observations as float64 (T, 1 + p), NaN in the first column where the number is missing."""
        try:
            rows = vectors(z, self.width)
        except ModelError as cause:
            raise ModelError(f"{cause}. lagged(z, order={self.order}) makes rows of a sequence of numbers") from cause
        broken = np.isnan(rows[:, 1:]) & ~np.isnan(rows[:, :1])
        if broken.any():
            t, lag = (int(i) for i in np.argwhere(broken)[0])
            raise ModelError(
                f"z[t={t}, {lag + 1}] is missing, and z[t={t}, 0] depends on it: with such gaps this is not a hidden "
                "Markov model any more. Leave the row out, or begin another sequence after it"
            )
        return rows

    def missing(self, z: AnyArray) -> BoolArray:
        """Return where the number itself is missing: (T,) bool."""
        return np.isnan(z[:, 0])

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the logarithms of the densities in nats."""
        logs = np.zeros((len(z), self.n_states))
        there = ~self.missing(z)
        away = z[there, :1] - self.intercept - z[there, 1:] @ self.coefficient.T
        logs[there] = -0.5 * (np.log(2.0 * np.pi * self.variance) + away * away / self.variance)
        return logs

    def sample(self, states: IndexArray, rng: np.random.Generator) -> FloatArray:
        """Draw a sequence, before which all is 0, and return its rows (T, 1 + p)."""
        noise = rng.standard_normal(len(states)) * np.sqrt(self.variance[states])
        drawn = np.zeros(self.order + len(states))
        for t, k in enumerate(states):
            before = drawn[t : t + self.order][::-1]
            drawn[t + self.order] = self.intercept[k] + self.coefficient[k] @ before + noise[t]
        return lagged(drawn, self.order)

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted least squares of each state."""
        there = ~self.missing(z)
        y, before, weights = z[there, 0], z[there, 1:], weights[there]
        intercept, coefficient, variance = self.intercept.copy(), self.coefficient.copy(), self.variance.copy()
        everyone = weights.sum(axis=1)
        whole = max(float(everyone.sum()), NO_WEIGHT)
        centre = everyone @ y / whole
        spread = everyone @ (y - centre) ** 2 / whole
        least = self.least_variance * float(scale(spread, centre))
        collapsed: list[int] = []
        for k in range(self.n_states):
            w = weights[:, k]
            total = w.sum()
            if total <= NO_WEIGHT:
                continue
            mean_y, mean_before = w @ y / total, w @ before / total
            if "coefficient" not in frozen:
                # About the means, unless the line has to go through its intercept.
                fixed = "intercept" in frozen
                target = y - (intercept[k] if fixed else mean_y)
                coefficient[k] = _least_squares(before - (0.0 if fixed else mean_before), target, w)
            if "intercept" not in frozen:
                intercept[k] = mean_y - mean_before @ coefficient[k]
            if "variance" not in frozen:
                found = w @ (y - intercept[k] - before @ coefficient[k]) ** 2 / total
                # A variance that is already smaller may stay: no step may make the observations less likely.
                floor = min(least, variance[k])
                collapsed += [k] if found < floor and not constant(spread, centre) else []
                variance[k] = max(found, floor)
        learned = type(self)(intercept, coefficient, variance, self.least_variance)
        object.__setattr__(learned, "_collapsed", tuple(collapsed))
        return learned

    def arrays(self) -> Mapping[str, object]:
        """Return the parameters, for files."""
        return {name: getattr(self, name) for name in (*self.parameter_names, "least_variance")}


def _least_squares(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the shortest b (p,), in units of the columns of x, that minimises sum_t w_t (y_t - x_t b)^2."""
    root = np.sqrt(weights)
    design = root[:, np.newaxis] * x
    length = np.linalg.norm(design, axis=0)
    unit = np.where(length > 0.0, length, 1.0)
    return np.linalg.lstsq(design / unit, root * y, rcond=None)[0] / unit
