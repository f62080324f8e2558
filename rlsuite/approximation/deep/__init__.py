"""Neural networks, with PyTorch: an extra, ``pip install 'rlsuite[torch]'``.

`DQN` has a network where the tabular agents have a table; `AutoencoderFeatures` learns features. PyTorch is loaded when
a `DQN` is made or features are fitted: importing this package does not load it, and fitted features do not need it.
"""

from rlsuite.approximation.deep.autoencoder import AutoencoderFeatures
from rlsuite.approximation.deep.dqn import DQN
from rlsuite.approximation.deep.network import Convolution

__all__ = ["DQN", "AutoencoderFeatures", "Convolution"]
