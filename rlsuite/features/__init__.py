"""Feature maps: scikit-learn transformers that have a compiled form."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.features.aggregation import Clusters as Clusters
from rlsuite.features.aggregation import MixtureResponsibilities as MixtureResponsibilities
from rlsuite.features.aggregation import StateAggregation as StateAggregation
from rlsuite.features.bases import FourierBasis as FourierBasis
from rlsuite.features.bases import Polynomial as Polynomial
from rlsuite.features.bases import RadialBasis as RadialBasis
from rlsuite.features.bounded import BoundedMap as BoundedMap
from rlsuite.features.chain import Chain as Chain
from rlsuite.features.feature_map import FeatureMap as FeatureMap
from rlsuite.features.feature_map import FeatureRule as FeatureRule
from rlsuite.features.identity import Identity as Identity
from rlsuite.features.identity import OneHot as OneHot
from rlsuite.features.kernel import Nystroem as Nystroem
from rlsuite.features.kernel import RandomFourier as RandomFourier
from rlsuite.features.scaling import PrincipalComponents as PrincipalComponents
from rlsuite.features.scaling import Scaling as Scaling
from rlsuite.features.scaling import Standardization as Standardization
from rlsuite.features.tile_coding import TileCoding as TileCoding

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
