"""Feature maps: scikit-learn transformers that have a compiled form."""

from rlsuite.features.aggregation import Clusters, MixtureResponsibilities, StateAggregation
from rlsuite.features.bases import FourierBasis, Polynomial, RadialBasis
from rlsuite.features.bounded import BoundedMap
from rlsuite.features.chain import Chain
from rlsuite.features.feature_map import FeatureMap, FeatureRule
from rlsuite.features.identity import Identity, OneHot
from rlsuite.features.kernel import Nystroem, RandomFourier
from rlsuite.features.scaling import PrincipalComponents, Scaling, Standardization
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
