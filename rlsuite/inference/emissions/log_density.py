"""Any distribution of the observation, given by its log-density."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.observation_checks import all_missing, columns
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


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
