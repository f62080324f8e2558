"""Feature maps: scikit-learn transformers that have a compiled form."""

from rlsuite.features.aggregation import Clusters, StateAggregation
from rlsuite.features.bounded import BoundedMap
from rlsuite.features.chain import Chain
from rlsuite.features.feature_map import FeatureMap, FeatureRule
from rlsuite.features.fourier import FourierBasis
from rlsuite.features.identity import Identity, OneHot
from rlsuite.features.kernel import Nystroem, RandomFourier
from rlsuite.features.mixture import MixtureResponsibilities
from rlsuite.features.polynomial import Polynomial
from rlsuite.features.principal import PrincipalComponents
from rlsuite.features.radial_basis import RadialBasis
from rlsuite.features.scaling import Scaling, Standardization
from rlsuite.features.tile_coding import TileCoding

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
