"""Pictures of environments, in characters and in pixels; apart from their dynamics, and without a plotting library.

A `GridLayout` says where states lie, a `Drawing` turns a moment into a picture, and `write_gif` strings pictures
together.
"""

from rlsuite.rendering.boxes import BoxesDrawing
from rlsuite.rendering.drawing import Drawing
from rlsuite.rendering.gif import write_gif
from rlsuite.rendering.grid import GridDrawing
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay, greedy_weights

__all__ = ["BoxesDrawing", "Drawing", "GridDrawing", "GridLayout", "Overlay", "greedy_weights", "write_gif"]
