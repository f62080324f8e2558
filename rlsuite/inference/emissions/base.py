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
from numpy.typing import ArrayLike

from rlsuite.errors import ParameterError
from rlsuite.inference.emissions.observation_checks import scaled
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


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


class Emission(ABC):
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
        `rlsuite.inference.emissions.observation_checks.MIN_LIKELIHOOD`. The row of a missing observation is all 1,
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
