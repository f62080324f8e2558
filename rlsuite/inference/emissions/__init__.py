"""Emissions, the distributions of the observation in each hidden state: one class for each family."""

from rlsuite.inference.emissions.base import Emission, Likelihoods
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian, MultivariateGaussian
from rlsuite.inference.emissions.log_density import LogDensity
from rlsuite.inference.emissions.mixture import Mixture, MixturePrior, gaussian_mixture
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.emissions.product import Product
from rlsuite.inference.emissions.pseudo_observations import PseudoObservations

__all__ = [
    "Categorical",
    "Emission",
    "Gaussian",
    "Likelihoods",
    "LogDensity",
    "Mixture",
    "MixturePrior",
    "MultivariateGaussian",
    "Poisson",
    "Product",
    "PseudoObservations",
    "gaussian_mixture",
]
