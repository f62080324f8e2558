"""Neural networks, with PyTorch: an extra, ``pip install 'rlsuite[torch]'``.

`DQN` has a network where the tabular agents have a table; `AutoencoderFeatures` learns features. PyTorch is loaded when
a `DQN` is made or features are fitted: importing this package does not load it, and fitted features do not need it.
"""

from typing import TYPE_CHECKING

from rlsuite.approximation.deep.autoencoder import AutoencoderFeatures as AutoencoderFeatures
from rlsuite.approximation.deep.dqn import DQN as DQN
from rlsuite.approximation.deep.network import Convolution as Convolution
from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
