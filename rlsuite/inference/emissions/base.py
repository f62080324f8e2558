"""The base of emission models: the likelihood of an observation in each hidden state.

Densities depend on the unit: those of a narrow Gaussian in many dimensions overflow and underflow. So an
emission returns their logarithms, and for the compiled passes a separate factor is taken out of every observation,
b_k(z_t) = exp(shift_t) * table[t, k]; the factors cancel in every posterior and are added to the log-likelihood in the
end.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray

MIN_LOG_LIKELIHOOD = -667.0
"""Logarithm of the least likelihood beside one of 1 in a table: products of it and others keep their digits."""

MIN_LIKELIHOOD = float(np.exp(MIN_LOG_LIKELIHOOD))

MISSING = -1
"""What stands for a missing symbol or count; a missing real number is NaN."""


def whole_numbers(z: ArrayLike, what: str, below: int | None) -> IndexArray:
    """Return observations as int64 of the same shape, -1 where one is missing (-1 or NaN).

    Parameters
    ----------
    z : array_like
        The observations.
    what : str
        What they are called, in the plural.
    below : int or None
        They must be less than this.

    Raises
    ------
    ModelError
        If one is not a whole number, or out of range; the message names the first.

    Examples
    --------
    >>> whole_numbers([0, 2, float("nan")], "symbols", 3).tolist()
    [0, 2, -1]
    """
    given = validation.array("z", z)
    named = "whole numbers from 0" if below is None else f"0..{below - 1} (n_{what}={below})"
    allowed = f"the {what} are {named}, and -1 or NaN is a missing one"
    if given.dtype.kind == "f":
        broken = (given != np.floor(given)) & ~np.isnan(given) | np.isinf(given)
        if broken.any():
            raise ModelError(f"{first(given, broken)}; {allowed}")
        given = np.where(np.isnan(given), MISSING, given)
    numbers = given.astype(np.int64, copy=False)
    wrong = numbers < MISSING
    if below is not None:
        wrong |= numbers >= below
    if wrong.any():
        raise ModelError(f"{first(given, wrong)}; {allowed}")
    return numbers


def vectors(z: ArrayLike, width: int) -> FloatArray:
    """Return observations as float64 (T, D), NaN where a number is missing.

    Parameters
    ----------
    z : array_like (T, D), or (T,) if D is 1
        The observations.
    width : int
        D.

    Raises
    ------
    ModelError
        If the shape is another one, or a number is infinite.

    Examples
    --------
    >>> vectors([1.0, float("nan")], 1).tolist()
    [[1.0], [nan]]
    """
    numbers = np.ascontiguousarray(columns(validation.array("z", z), width), dtype=np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise ModelError(f"{first(numbers, infinite)}; observations are finite, or NaN if they are missing")
    return numbers


def columns(z: AnyArray, width: int) -> AnyArray:
    """Return observations as (T, D); (T,) will do if D is 1."""
    if z.ndim == 1 and width == 1:
        return z[:, np.newaxis]
    if z.ndim != 2 or z.shape[1] != width:
        either = "(T,) or (T, 1)" if width == 1 else f"(T, {width})"
        raise ModelError(f"z has shape {z.shape}, not {either}: one observation for each time")
    return z


def all_missing(z: AnyArray) -> BoolArray:
    """Return which observations (T, D) are missing in every coordinate: (T,) bool."""
    gone = z < 0 if z.dtype.kind == "i" else np.isnan(z)
    return np.all(gone, axis=1)


def first(z: AnyArray, wrong: BoolArray) -> str:
    """Return which observation is the first wrong one, as ``"z[t=3] is 7"``."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    inner = "".join(f", {i}" for i in index[1:])
    return f"z[t={index[0]}{inner}] is {z[index]:g}"


@compiled(in_place=True)
def take_largest_out(logs: FloatArray, largest: FloatArray, lowest: float) -> None:
    """Subtract from each row of `logs` (T, K) its largest entry, and put it into `largest` (T,).

    What is left is raised to `lowest`, unless it was minus infinity. Of a row of minus infinities 0 is taken out.
    """
    for t in range(logs.shape[0]):
        high = logs[t, 0]
        for k in range(1, logs.shape[1]):
            high = max(high, logs[t, k])
        if high == -np.inf:
            high = 0.0
        for k in range(logs.shape[1]):
            if logs[t, k] > -np.inf:
                logs[t, k] = max(logs[t, k] - high, lowest)
        largest[t] = high


def scaled(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log-densities (T, K) as what `Emission.likelihoods` returns: a table whose rows have the maximum 1.

    What is possible is at least `MIN_LIKELIHOOD`. The argument becomes the table.

    Examples
    --------
    >>> table, shift = scaled(np.array([[-1000.0, -1000.0 + np.log(2.0)], [-np.inf, -np.inf], [0.0, -9000.0]]))
    >>> table.round(12).tolist(), shift.round(3).tolist(), bool(table[2, 1] > 0.0)
    ([[0.5, 1.0], [0.0, 0.0], [1.0, 0.0]], [-999.307, 0.0, 0.0], True)
    """
    shift = np.empty(len(logs))
    take_largest_out(logs, shift, MIN_LOG_LIKELIHOOD)  # NumPy is slow for short rows
    return np.exp(logs, out=logs), shift


class Likelihoods(NamedTuple):
    """b_k(z_t) of T observations, in the form that the compiled passes read."""

    table: FloatArray
    """(R, K) float64: rows of likelihoods, one for each hidden state; `MIN_LIKELIHOOD` stands for less, too"""
    row: IndexArray
    """(T,) int64: the row of the table that belongs to each observation"""
    shift: FloatArray | None = None
    """(T,) float64, nats: log of the factor that was taken out of each observation's row; None if all are 0"""
    exact: Callable[[], FloatArray] | None = None
    """returns the logarithms of the table, however small its entries are; None if none is small"""


class Emission(SaysWhatToWrite, ABC):
    """A family of distributions of the observation, one for each of K hidden states; immutable.

    Attributes
    ----------
    n_states : int
        K.
    n_parameters : int
        Number of free parameters, as AIC and BIC count them.
    discrete : bool
        Whether observations are symbols, given as integers, with -1 for one that is missing. Otherwise they are real
        numbers (T,) or vectors (T, D), and a row that is NaN throughout is missing.
    """

    discrete: ClassVar[bool] = False
    parameter_names: ClassVar[tuple[str, ...]] = ()
    """The parameters that learning may change."""

    @property
    @abstractmethod
    def n_states(self) -> int:
        """K, the number of hidden states."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them."""

    @abstractmethod
    def check(self, z: ArrayLike) -> AnyArray:
        """Return observations (T,) or (T, D) in the form that the other methods take, or raise `ModelError`.

        A message names the first offender, as ``z[t=3] is 7; the symbols are 0..5``.
        """

    @abstractmethod
    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return ln b_k(z_t) of checked observations in nats: (T, K) float64.

        Minus infinity for what is impossible, and 0 for what is missing. The array belongs to the caller.
        """

    def likelihoods(self, z: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return b_k(z_t) = exp(shift_t) table[t, k] of checked observations: table (T, K) and shift (T,), float64.

        The largest entry of a row is 1 unless all are 0 (an impossible observation); a possible one is at least
        `rlsuite.inference.emissions.base.MIN_LIKELIHOOD`. The row of a missing observation is all 1,
        with shift 0.
        """
        return scaled(self.log_likelihoods(z))

    def prepare(self, z: AnyArray) -> Likelihoods:
        """Return the same for the compiled passes, one row for each different observation."""
        values, row = self.distinct(z)
        table, shift = self.likelihoods(values)
        return Likelihoods(np.ascontiguousarray(table), row, shift[row], partial(self.logarithms, values, shift))

    def logarithms(self, z: AnyArray, shift: FloatArray) -> FloatArray:
        """Return the logarithms of the table of `likelihoods`, however small its entries are: (T, K) float64."""
        return self.log_likelihoods(z) - shift[:, np.newaxis]

    @abstractmethod
    def missing(self, z: AnyArray) -> BoolArray:
        """Return which of the checked observations are missing: (T,) bool."""

    @abstractmethod
    def sample(self, states: IndexArray, rng: np.random.Generator) -> AnyArray:
        """Draw one observation for each of the hidden states (T,)."""

    @abstractmethod
    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return the emission that maximises the weighted log-likelihood of checked observations: the M-step.

        Parameters
        ----------
        z : ndarray (T,) or (T, D)
            Checked observations; missing ones count for nothing.
        weights : ndarray (T, K) float64
            Pr[x_t = k | everything seen].
        prior
            What `resolve_prior` returned; None for none. It is the weighted log-likelihood plus `log_prior` that is
            maximised then.
        frozen : set of str
            Which of `freezable` stay as they are.

        Notes
        -----
        A state of weight 0 keeps its distribution.
        """

    @property
    def collapsed(self) -> tuple[int, ...]:
        """The states whose distribution `fit_weighted` could not make as narrow as the observations asked for."""
        return vars(self).get("_collapsed", ())

    def freezable(self) -> frozenset[str]:
        """Return the names that `frozen=` accepts: `parameter_names`, and those of inner emissions."""
        return frozenset(self.parameter_names)

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes while some of `freezable` are frozen."""
        return 0 if frozen >= set(self.parameter_names) else self.n_parameters

    @property
    def width(self) -> int:
        """Number of columns that an observation takes: D, or 1."""
        return 1

    def distinct(self, z: AnyArray) -> tuple[AnyArray, IndexArray]:
        """Return the different ones of checked observations, (R,) or (R, D), and the number of each: (T,) int64.

        A family of few different observations saves work that way. By default all count as different.
        """
        return z, np.arange(len(z))

    def resolve_prior(self, prior: object, z: AnyArray) -> object:
        """Return a user's prior in the form that `fit_weighted` and `log_prior` take; called once, before learning.

        Raises
        ------
        ParameterError
            If the family takes no such prior.
        """
        if prior is None:
            return None
        raise ParameterError(f"{type(self).__name__} takes no prior; leave it out or pass None")

    def log_prior(self, prior: object) -> float:
        """Return the logarithm of the density of the parameters under a resolved prior, in nats, up to a constant."""
        return 0.0

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return an emission of the same family, drawn at random to suit checked observations: a start for learning.

        By default the observations are cut into blocks, each is given to a random state, and the states are fitted.
        """
        blocks = min(len(z), 4 * self.n_states)
        owner = np.arange(blocks) % self.n_states
        rng.shuffle(owner)
        weights = np.full((len(z), self.n_states), 0.1 / self.n_states)
        weights[np.arange(len(z)), owner[np.arange(len(z)) * blocks // len(z)]] += 0.9
        return self.fit_weighted(z, weights)

    def arrays(self) -> Mapping[str, object]:
        """Return the arguments of the constructor, by keyword, for files."""
        raise NotImplementedError(f"{type(self).__name__} cannot be written to a file")


class LogDensity(Emission):
    """An emission given by its log-density; a subclass of `Emission` can do more, but needs more code.

    Parameters
    ----------
    log_density : callable
        ``log_density(z)`` returns ln b_k(z_t), (T, K), in nats; minus infinity for what cannot be observed. `z` holds
        the observations that are not missing: (T, D), or (T,) if `width` is 1.
    n_states : int
        K.
    width : int
        D, the number of columns of an observation.
    draw : callable, optional
        ``draw(states, rng)`` returns one observation for each of the states (T,); needed for sampling.
    fit : callable, optional
        ``fit(z, weights)`` returns the `log_density` that maximises the log-likelihood weighted with (T, K): the
        M-step. The weights of a state may all be 0. Without it, learning leaves the emission as it is.
    n_parameters : int
        Number of free parameters, for AIC and BIC.

    Raises
    ------
    ModelError
        If the function returns another shape, NaN or plus infinity.

    Examples
    --------
    Waiting times, exponential with the rates 1 and 5:

    >>> rates = np.array([1.0, 5.0])
    >>> waits = LogDensity(lambda z: np.log(rates) - z[:, np.newaxis] * rates, n_states=2)
    >>> table, shift = waits.likelihoods(waits.check([0.1, 1.0, float("nan")]))
    >>> table.round(4).tolist()
    [[0.2984, 1.0], [1.0, 0.0916], [1.0, 1.0]]
    """

    parameter_names: ClassVar[tuple[str, ...]] = ("log_density",)

    def __init__(
        self,
        log_density: Callable[[FloatArray], ArrayLike],
        *,
        n_states: int,
        width: int = 1,
        draw: Callable[[IndexArray, np.random.Generator], ArrayLike] | None = None,
        fit: Callable[[FloatArray, FloatArray], Callable[[FloatArray], ArrayLike]] | None = None,
        n_parameters: int = 0,
    ) -> None:
        self.log_density, self.draw, self.fit = log_density, draw, fit
        self._n_states = whole_number("n_states", n_states)
        self._width = whole_number("width", width)
        self._n_parameters = whole_number("n_parameters", n_parameters, at_least=0)

    @property
    def n_states(self) -> int:
        """K."""
        return self._n_states

    @property
    def width(self) -> int:
        """D."""
        return self._width

    @property
    def n_parameters(self) -> int:
        """As given."""
        return self._n_parameters

    def check(self, z: ArrayLike) -> FloatArray:
        """Return observations as float64 (T, D), NaN where a number is missing."""
        return np.ascontiguousarray(columns(validation.array("z", z), self.width), dtype=np.float64)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing: (T,) bool."""
        return all_missing(z)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the values of the function."""
        there = ~self.missing(z)
        logs = np.zeros((len(z), self.n_states))
        if there.any():
            found = np.asarray(self.log_density(self._handed(z[there])), dtype=np.float64)
            if found.shape != (int(there.sum()), self.n_states):
                raise ModelError(
                    f"log_density returned the shape {found.shape} for {int(there.sum())} observations, not (T, K) = "
                    f"{(int(there.sum()), self.n_states)}"
                )
            wrong = np.isnan(found) | (found == np.inf)
            if wrong.any():
                t, k = (int(i) for i in np.argwhere(wrong)[0])
                raise ModelError(
                    f"log_density is {found[t, k]:g} for the observation {z[there][t].tolist()} in state {k}; it has "
                    "to be a number, or minus infinity"
                )
            logs[there] = found
        return logs

    def sample(self, states: IndexArray, rng: np.random.Generator) -> AnyArray:
        """Draw one observation for each of the hidden states (T,)."""
        if self.draw is None:
            raise ParameterError("this emission cannot be sampled from: pass draw= to LogDensity")
        return np.asarray(self.draw(states, rng))

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return the emission that ``fit`` finds; itself if there is no ``fit``."""
        there = ~self.missing(z)
        if self.fit is None or "log_density" in frozen or not weights[there].any():
            return self
        found = self.fit(self._handed(z[there]), weights[there])
        return type(self)(
            found,
            n_states=self.n_states,
            width=self.width,
            draw=self.draw,
            fit=self.fit,
            n_parameters=self.n_parameters,
        )

    def _handed(self, z: FloatArray) -> FloatArray:
        return z[:, 0] if self.width == 1 else z
