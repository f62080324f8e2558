"""Squares of a value map without a value: ends, states that no episode reaches, and where nothing was learned."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import RlsuiteError
from rlsuite.models import MDP
from rlsuite.rendering import colours
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay

if TYPE_CHECKING:
    import gymnasium
    from matplotlib.axes import Axes

ENDS: Final = "ends"
UNREACHABLE: Final = "out of reach"
NOT_LEARNED: Final = "nothing learned"
NO_VALUE: Final = "no value"

HATCH: Final = (176, 179, 184)
"""Colour of the lines, darker than the square below them."""


def emptied(
    overlay: Overlay,
    env: "gymnasium.Env[Any, Any] | None",
    *,
    acting: NDArray[np.bool_] | None = None,
    q: ArrayLike | None = None,
) -> tuple[Overlay, list[str]]:
    """Return an overlay without the numbers and arrows of states that have no value to show, and the reasons.

    Parameters
    ----------
    overlay
        What is to be drawn.
    env
        The environment, if there is one: its table says where it ends, and what it reaches.
    acting
        (S,) bool, where a solution takes an action; None if there is no solution.
    q
        (S, A) learned action values, if they are to be drawn. A state in which nothing was learned still has its
        initial values, which are those of the ends, or 0.
    """
    assert overlay.value is not None
    layout, value = overlay.layout, overlay.value
    ends = layout.idle | (False if acting is None else ~acting)
    unreachable = np.zeros_like(ends)
    model = None if env is None else _model(env)
    if model is not None and model.n_states == layout.n_states:
        from rlsuite.planning import reachable_states

        unreachable = ~reachable_states(model)
        ends = ends | ~model.legal.any(axis=1)
    found = {ENDS: ends & ~unreachable, UNREACHABLE: unreachable}
    if q is not None:
        found[NOT_LEARNED] = _not_learned(np.asarray(q, dtype=np.float64), ends) & ~ends & ~unreachable
    hidden = np.logical_or.reduce(list(found.values()))
    found[NO_VALUE] = np.isnan(value) & ~hidden
    on_grid = layout.cells[:, 0] >= 0
    reasons = [why for why, states in found.items() if (states & on_grid).any()]
    without_numbers = GridLayout(
        *(layout.n_rows, layout.n_columns, layout.cells),
        *(layout.walls, layout.marks, layout.arrows, layout.idle | hidden),
    )
    return Overlay(without_numbers, np.where(hidden, np.nan, value), overlay.weights), reasons


def draw_hatch(axes: "Axes", overlay: Overlay) -> None:
    """Hatch the squares of states without a number."""
    from matplotlib.collections import PolyCollection

    assert overlay.value is not None
    cells = overlay.layout.cells
    row, column = cells[np.isnan(overlay.value) & (cells[:, 0] >= 0)].T
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    squares = np.stack([column, row], axis=1)[:, np.newaxis, :] + corners
    shade = colours.hexadecimal(HATCH)
    axes.add_collection(
        PolyCollection(list(squares), facecolors="none", edgecolors=shade, linewidths=0.0, hatch="////")
    )


def _model(env: "gymnasium.Env[Any, Any]") -> MDP | None:
    try:
        return MDP.from_env(env, gamma=0.5)
    except RlsuiteError:  # it has no table, or none that can be trusted
        return None


def _not_learned(q: NDArray[np.float64], ends: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows still have the initial value in all legal entries."""
    highest = q.max(axis=1)
    lowest = np.where(np.isneginf(q), highest[:, np.newaxis], q).min(axis=1)
    constant = highest == lowest
    at_ends = np.unique(highest[ends & constant & np.isfinite(highest)])
    initial = at_ends[0] if at_ends.size == 1 else 0.0
    return constant & (highest == initial)
