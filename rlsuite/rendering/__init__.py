"""Pictures of environments, in characters and in pixels, without a plotting library.

A `GridLayout` says where states are drawn, a `Drawing` draws one state of an episode, and `write_gif` makes an
animation.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.rendering.boxes import BoxesDrawing as BoxesDrawing
    from rlsuite.rendering.drawing import Drawing as Drawing
    from rlsuite.rendering.gif import write_gif as write_gif
    from rlsuite.rendering.grid import GridDrawing as GridDrawing
    from rlsuite.rendering.layout import GridLayout as GridLayout
    from rlsuite.rendering.overlay import Overlay as Overlay
    from rlsuite.rendering.overlay import greedy_weights as greedy_weights
    from rlsuite.rendering.toy_text import TaxiDrawing as TaxiDrawing
    from rlsuite.rendering.toy_text import drawing_of as drawing_of
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
