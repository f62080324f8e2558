"""Pictures of environments, in characters and in pixels, without a plotting library.

A `GridLayout` says where states are drawn, a `Drawing` draws one state of an episode, and `write_gif` makes an
animation.
"""

from rlsuite.rendering.boxes import BoxesDrawing
from rlsuite.rendering.drawing import Drawing
from rlsuite.rendering.gif import write_gif
from rlsuite.rendering.grid import GridDrawing
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay, greedy_weights

__all__ = ["BoxesDrawing", "Drawing", "GridDrawing", "GridLayout", "Overlay", "greedy_weights", "write_gif"]
