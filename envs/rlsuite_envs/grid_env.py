"""What all grids have in common: a model, a layout, and the drawing that the layout makes possible."""

from typing import NamedTuple

from rlsuite.environment import TabularEnv
from rlsuite.models import MDP
from rlsuite.rendering import Drawing, GridDrawing, GridLayout


class GridProblem(NamedTuple):
    """A decision problem on a grid."""

    model: MDP
    layout: GridLayout
    """Where the states of the model lie, for drawings."""


class GridEnv(TabularEnv):
    """A `TabularEnv` that knows where its states lie.

    Parameters
    ----------
    problem : GridProblem
        Model and layout.
    render_mode : {"ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    layout : GridLayout
        For drawings, for instance ``env.drawing = GridDrawing(env.layout, value=..., policy=...)``.
    """

    def __init__(self, problem: GridProblem, render_mode: str | None = None) -> None:
        super().__init__(problem.model, render_mode=render_mode)
        self.layout = problem.layout

    def default_drawing(self) -> Drawing:
        """Return a drawing of the grid without overlay."""
        return GridDrawing(self.layout)
