"""Neural networks, with PyTorch: an extra, ``pip install 'rlsuite[torch]'``.

`DQN` learns by a network what the tabular agents learn by a table; `AutoencoderFeatures` learns features. PyTorch is
loaded when a `DQN` is made or features are fitted: importing this package costs nothing, and fitted features do
without it.
"""

from rlsuite.approximation.deep.autoencoder import AutoencoderFeatures
from rlsuite.approximation.deep.dqn import DQN
from rlsuite.approximation.deep.network import Convolution

__all__ = ["DQN", "AutoencoderFeatures", "Convolution"]
