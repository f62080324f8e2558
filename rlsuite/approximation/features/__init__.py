"""Feature maps: scikit-learn transformers that have a compiled form."""

from rlsuite.approximation.features.aggregation import Clusters, StateAggregation
from rlsuite.approximation.features.bounded import BoundedMap
from rlsuite.approximation.features.chain import Chain
from rlsuite.approximation.features.feature_map import FeatureMap, FeatureRule
from rlsuite.approximation.features.fourier import FourierBasis
from rlsuite.approximation.features.identity import Identity, OneHot
from rlsuite.approximation.features.kernel import Nystroem, RandomFourier
from rlsuite.approximation.features.mixture import MixtureResponsibilities
from rlsuite.approximation.features.polynomial import Polynomial
from rlsuite.approximation.features.principal import PrincipalComponents
from rlsuite.approximation.features.radial_basis import RadialBasis
from rlsuite.approximation.features.scaling import Scaling, Standardization
from rlsuite.approximation.features.tile_coding import TileCoding

__all__ = [
    "BoundedMap",
    "Chain",
    "Clusters",
    "FeatureMap",
    "FeatureRule",
    "FourierBasis",
    "Identity",
    "MixtureResponsibilities",
    "Nystroem",
    "OneHot",
    "Polynomial",
    "PrincipalComponents",
    "RadialBasis",
    "RandomFourier",
    "Scaling",
    "Standardization",
    "StateAggregation",
    "TileCoding",
]
