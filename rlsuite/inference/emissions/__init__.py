"""Emissions, the distributions of the observation in each hidden state: one class for each family."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.inference.emissions.base import Emission as Emission
    from rlsuite.inference.emissions.base import Likelihoods as Likelihoods
    from rlsuite.inference.emissions.base import LogDensity as LogDensity
    from rlsuite.inference.emissions.before_learning import PseudoObservations as PseudoObservations
    from rlsuite.inference.emissions.categorical import Categorical as Categorical
    from rlsuite.inference.emissions.gaussian import Gaussian as Gaussian
    from rlsuite.inference.emissions.gaussian import MultivariateGaussian as MultivariateGaussian
    from rlsuite.inference.emissions.mixture import Mixture as Mixture
    from rlsuite.inference.emissions.mixture import MixturePrior as MixturePrior
    from rlsuite.inference.emissions.mixture import gaussian_mixture as gaussian_mixture
    from rlsuite.inference.emissions.poisson import Poisson as Poisson
    from rlsuite.inference.emissions.product import Product as Product
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
