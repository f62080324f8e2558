"""The region of beliefs over two or three states in which each alpha vector is the best.

The part of vector i is {b : (alpha_j - alpha_i) . b <= 0 for all j}, a piece of a line or a convex polygon. It is cut
out of all beliefs, one line at a time, always along the vector whose value exceeds that of i most in one of its
corners; so a part costs as many cuts as it has sides, however many vectors there are.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.planning import AlphaVectorSolution

CLOSE: Final = 1e-9
"""Values are equal up to this fraction of the largest."""

SMALLEST: Final = 1e-9
"""Parts smaller than this fraction of all beliefs are left out."""

FIGURES: Final = {2: "alpha_vectors", 3: "belief_simplex"}
"""The figure that draws all beliefs over this many states."""


def vectors_to_draw(
    plan: "AlphaVectorSolution", steps_left: int | None, *, figure: str
) -> tuple[FloatArray, IndexArray]:
    """Alpha vectors (n, S) of a plan and their actions (n,), if the figure can draw them.

    Raises
    ------
    ParameterError
        If the plan has no alpha vectors or fewer steps, or the figure is for another number of states.
    """
    given: Any = plan
    if not hasattr(given, "alpha_vectors"):
        raise ParameterError(
            f"{figure} draws alpha vectors, and a {type(given).__name__} has none: solve with incremental_pruning or "
            "sarsop"
        )
    fits(figure, plan.pomdp.n_states)
    if steps_left is None:
        return plan.alpha_vectors, plan.actions
    if plan.horizon is None:
        raise ParameterError(f"steps_left={steps_left}: this plan has no horizon; leave steps_left out")
    if whole_number("steps_left", steps_left) > plan.horizon:
        raise ParameterError(f"steps_left={steps_left} is more than the {plan.horizon} steps of this plan")
    stage = plan.stages[steps_left]
    return stage.alpha_vectors, stage.actions


def fits(figure: str, n_states: int) -> None:
    """Raise `ParameterError` if a figure of all beliefs is for another number of states; it says which one to use."""
    if FIGURES.get(n_states) != figure:
        wanted = next(number for number, name in FIGURES.items() if name == figure)
        instead = FIGURES.get(n_states, "policy_graph, gap or belief_trace")
        raise ParameterError(
            f"{figure} draws beliefs over {wanted} states, and this model has {n_states}: use {instead}"
        )


def best_where(alpha_vectors: FloatArray) -> dict[int, FloatArray]:
    """Return the part of the beliefs in which each vector is the best.

    Parameters
    ----------
    alpha_vectors
        (n, S) float64, S = 2 or 3. A vector that is minus infinity in some state is left out: it is the best in no
        belief in which all states are possible.

    Returns
    -------
    dict
        The number of each vector that is the best somewhere, to the corners of its part: (2, 2) beliefs in ascending
        order of the probability of the first state, or (m, 3) beliefs in the order round the polygon. Of equal vectors
        only the first has a part.

    Examples
    --------
    >>> best_where(np.array([[0.0, 4.0], [1.0, 1.0], [2.0, -8.0], [0.5, 0.5]]))[1].round(6).tolist()
    [[0.75, 0.25], [0.9, 0.1]]
    """
    whole: IndexArray = np.flatnonzero(np.isfinite(alpha_vectors).all(axis=1))
    vectors = alpha_vectors[whole]
    close = CLOSE * max(1.0, float(np.abs(vectors).max(initial=0.0)))
    parts: dict[int, FloatArray] = {}
    for position, number in enumerate(whole.tolist()):
        corners = _part(vectors - vectors[position], position, close)
        if _size(corners) > SMALLEST:
            ends = [int(corners[:, 0].argmin()), int(corners[:, 0].argmax())]
            parts[number] = corners[ends] if corners.shape[1] == 2 else corners
    return parts


def _part(ahead: FloatArray, position: int, close: float) -> FloatArray:
    """Corners of the part in which no vector is ahead, `ahead` being (n, S): alpha_j - alpha_i."""
    corners: FloatArray = np.eye(ahead.shape[1])
    for _ in range(len(ahead)):
        lead = corners @ ahead.T
        rival = int(lead.max(axis=0).argmax())
        if lead[:, rival].max() <= close:
            break
        corners = _cut(corners, lead[:, rival])
        if not len(corners):
            return corners
    equal = (np.abs(corners @ ahead[:position].T) <= close).all(axis=0)
    return corners[:0] if equal.any() else corners


def _cut(corners: FloatArray, height: FloatArray) -> FloatArray:
    """Return the corners of the part of a polygon where a linear function, `height` at the corners, is at most 0."""
    kept: list[FloatArray] = []
    for k in range(len(corners)):
        after = (k + 1) % len(corners)
        here, there = float(height[k]), float(height[after])
        if here <= 0.0:
            kept.append(corners[k])
        if here * there < 0.0:
            kept.append(corners[k] + here / (here - there) * (corners[after] - corners[k]))
    return np.array(kept).reshape(-1, corners.shape[1])


def _size(corners: FloatArray) -> float:
    """Size of a part as a fraction of all beliefs."""
    if not len(corners):
        return 0.0
    x = corners[:, 0]
    if corners.shape[1] == 2:
        return float(np.ptp(x))
    y = corners[:, 1]
    return float(abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()))
