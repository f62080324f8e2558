"""The record of how a model was learned."""

import math
from dataclasses import dataclass
from typing import Any

from rlsuite.inference.expectation_maximisation import EMResult
from rlsuite.models.aliases import FloatArray


@dataclass(frozen=True, eq=False)
class Learning:
    """The course of expectation maximisation, and its result.

    Attributes
    ----------
    converged : bool
        Whether the last iteration gained no more than the tolerance.
    stopped : str
        Why learning ended before it converged; empty if it did.
    log_likelihoods_ : ndarray (n + 1,) float64
        Log-likelihood of the data after 0..n iterations of the best start, in nats.
    log_posteriors_ : ndarray (n + 1,) float64
        The same plus the logarithm of the prior's density, up to a constant; without a prior it is the same. It never
        falls by more than rounding explains: every iteration is checked.
    reached_ : ndarray (number of starts,) float64
        Where each start ended, on the scale of `log_posteriors_`.
    held_out_ : ndarray (n + 1,) float64
        Log-likelihood of data that were held out, after 0..n iterations, in nats; NaN if there are none. Where it
        begins to fall, learning begins to fit noise.
    n_observations_ : int
        Number of observations that are not missing.
    n_parameters : int
        Number of free parameters that were learned.
    seconds : float
        Wall-clock time taken, without what had to be compiled first.
    """

    converged: bool
    stopped: str
    log_likelihoods_: FloatArray
    log_posteriors_: FloatArray
    reached_: FloatArray
    held_out_: FloatArray
    n_observations_: int
    n_parameters: int
    seconds: float

    @property
    def iterations(self) -> int:
        """Iterations of the best start."""
        return self.log_likelihoods_.size - 1

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the data under the learned model, in nats."""
        return float(self.log_likelihoods_[-1])

    @property
    def aic(self) -> float:
        """Akaike's information criterion, 2 p - 2 ln L: the smaller, the better."""
        return 2.0 * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's information criterion, p ln n - 2 ln L: the smaller, the better."""
        return self.n_parameters * math.log(max(self.n_observations_, 1)) - 2.0 * self.log_likelihood


def record_of(
    ascent: EMResult[Any], reached: FloatArray, *, n_observations: int, n_parameters: int, seconds: float
) -> dict[str, Any]:
    """Return the fields of a `Learning`, by name."""
    for array in (ascent.log_likelihoods, ascent.log_posteriors, ascent.held_out, reached):
        array.setflags(write=False)
    return {
        "converged": ascent.converged,
        "stopped": ascent.stopped,
        "log_likelihoods_": ascent.log_likelihoods,
        "log_posteriors_": ascent.log_posteriors,
        "reached_": reached,
        "held_out_": ascent.held_out,
        "n_observations_": n_observations,
        "n_parameters": n_parameters,
        "seconds": seconds,
    }
