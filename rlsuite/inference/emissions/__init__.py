"""Emissions, the distributions of the observation in each hidden state: one class for each family."""

from rlsuite.inference.emissions.base import Emission, Likelihoods, LogDensity
from rlsuite.inference.emissions.before_learning import PseudoObservations
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian, MultivariateGaussian
from rlsuite.inference.emissions.mixture import Mixture, MixturePrior, gaussian_mixture
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.emissions.product import Product

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
