"""The base of all grids: a model, a layout, and a drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP, POMDP
from rlsuite.rendering import Drawing, GridDrawing, GridLayout


class GridProblem(NamedTuple):
    """A decision problem on a grid."""

    model: MDP
    layout: GridLayout
    """The positions of the model's states, for drawings."""


class HiddenGridProblem(NamedTuple):
    """A problem on a grid whose state is hidden or partly hidden."""

    model: POMDP
    layout: GridLayout
    """The positions of the model's states, for drawings."""


class NamedActionsDrawing(GridDrawing):
    """A drawing of a grid on which not all actions are moves: the line below it names them.

    Parameters
    ----------
    layout : GridLayout
        Where the states lie.
    action_labels : sequence of str
        A names.

    Examples
    --------
    >>> drawing = NamedActionsDrawing(GridLayout.row_major(1, 3), ["left", "right", "look"])
    >>> print(drawing.ansi(1, 2, -1.0), end="")
     . [.] .
    look, reward -1
    """

    action_labels: tuple[str, ...]

    def __init__(self, layout: GridLayout, action_labels: Sequence[str]) -> None:
        super().__init__(layout)
        object.__setattr__(self, "action_labels", tuple(action_labels))

    def _action_word(self, action: int | None) -> str:
        return "" if action is None else self.action_labels[action]


class GridEnv(TabularEnv):
    """A `TabularEnv` with a layout of its states.

    Parameters
    ----------
    problem : GridProblem or HiddenGridProblem
        Model and layout.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    layout : GridLayout
        For drawings, for instance ``env.drawing = GridDrawing(env.layout, value=..., policy=...)``.
    """

    def __init__(self, problem: GridProblem | HiddenGridProblem, render_mode: str | None = None) -> None:
        super().__init__(problem.model, render_mode=render_mode)
        self.layout = problem.layout

    def default_drawing(self) -> Drawing:
        """Return a drawing of the grid without overlay."""
        labels = self.model.action_labels
        if labels is not None and self.layout.arrows is None:
            return NamedActionsDrawing(self.layout, labels)
        return GridDrawing(self.layout)
