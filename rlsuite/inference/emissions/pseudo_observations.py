"""Pseudo-observations: a prior for families whose parameters are means and variances.

A prior worth c observations of mean m0 and covariance V0 adds c times their mean log-likelihood to what is maximised.
For a Gaussian that is the normal-inverse-Wishart prior with kappa0 = c, and for a Poisson the gamma prior with shape
c m0 + 1 and rate c, each maximised at its mode.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import finite_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray


class PseudoObservations(NamedTuple):
    """A prior as observations that were made in every state before the data.

    Examples
    --------
    >>> PseudoObservations(2.0, mean=[0.0, 10.0], variance=1.0).number
    2.0
    """

    number: float
    """c, how many observations the prior is worth, at least 0"""
    mean: ArrayLike
    """m0: a number, (D,), or (K, D) for each state"""
    variance: ArrayLike | None = None
    """the diagonal of V0, the rest being 0: a number, (D,) or (K, D)"""
    covariance: ArrayLike | None = None
    """V0 in full: (D, D) or (K, D, D); instead of `variance`"""


class Pseudo(NamedTuple):
    """The same, checked and for each state."""

    number: float
    mean: FloatArray
    """(K, D)"""
    covariance: FloatArray
    """(K, D, D), positive semidefinite"""


def resolved(prior: object, z: FloatArray, n_states: int, needs_variance: bool) -> Pseudo | None:
    """Return a prior for each state; a number is how many observations, with the moments of all of `z`.

    Parameters
    ----------
    prior : float, PseudoObservations or None
        What the user gave.
    z : ndarray (T, D) float64
        Checked observations, NaN where a number is missing.
    n_states : int
        K.
    needs_variance : bool
        Whether the family has one.

    Raises
    ------
    ParameterError
        If it is not a prior, or its parts do not fit.
    """
    if prior is None:
        return None
    width = z.shape[1]
    if not isinstance(prior, PseudoObservations):
        number = finite_number("prior of the emission", prior)
        with np.errstate(invalid="ignore"):
            n_observed = np.maximum((~np.isnan(z)).sum(axis=0), 1)
            mean = np.nansum(z, axis=0) / n_observed
            variance = np.nansum((z - mean) ** 2, axis=0) / n_observed
        prior = PseudoObservations(number, mean, variance)
    number = finite_number("prior.number", prior.number)
    if number < 0.0:
        raise ParameterError(f"prior.number={number:g} is negative; a number of observations is at least 0")
    if needs_variance and (prior.variance is None) == (prior.covariance is None):
        raise ParameterError("give either prior.variance or prior.covariance: how the pseudo-observations scatter")
    try:
        mean = _spread("prior.mean", prior.mean, (n_states, width))
        if prior.covariance is not None:
            covariance = _spread("prior.covariance", prior.covariance, (n_states, width, width))
        else:
            variance = _spread("prior.variance", 0.0 if prior.variance is None else prior.variance, (n_states, width))
            covariance = variance[:, :, np.newaxis] * np.eye(width)
        if np.linalg.eigvalsh(covariance).min() < 0.0:
            raise ModelError("prior.variance is negative, or prior.covariance is not positive semi-definite")
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    return Pseudo(number, mean, covariance)


def _spread(name: str, given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    values = validation.floats(name, given)
    try:
        return np.broadcast_to(values, shape)
    except ValueError as cause:
        raise ModelError(f"{name} has shape {values.shape}, which does not fit {shape}") from cause
