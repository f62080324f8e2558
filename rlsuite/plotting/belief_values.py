"""The value of a plan over all beliefs in two states: alpha vectors, the best of them, and where the action changes."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.best_vectors import best_where, vectors_to_draw
from rlsuite.plotting.figure import CURVE_SIZE, INK, TICK_SIZE, dress_curves, fresh_axes, wrap, write_caption
from rlsuite.plotting.labels import names, size_of_plan
from rlsuite.plotting.registry import figure_of_plan
from rlsuite.plotting.style import Palette
from rlsuite.plotting.ticks import write_in_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.planning import AlphaVectorSolution

VECTOR, ENVELOPE, THRESHOLD = "_vector", "_envelope", "_threshold"
"""Labels of lines that the legend leaves out."""

BELOW: Final = 0.45
ABOVE: Final = 0.12
"""Room below and above the best values, as a fraction of their range: elsewhere vectors are far lower."""

MOST_NUMBERS: Final = 8
"""Largest number of thresholds that are written out."""

NUMBER_WIDTH: Final = 0.085
"""Room for a number, as a fraction of the width of the axes."""

NUMBER_ROWS: Final = (0.03, 0.10, 0.17)
"""Heights at which numbers stand, as fractions of the height of the axes."""


class Region(NamedTuple):
    """Neighbouring beliefs in which a plan takes the same action."""

    action: int
    begin: float
    end: float
    belief: NDArray[np.float64]
    """where the best vector changes, both ends included"""
    value: NDArray[np.float64]
    """the value of the plan there"""


@figure_of_plan(n_states=2)
def alpha_vectors(plan: "AlphaVectorSolution", *, steps_left: int | None = None, ax: "Axes | None" = None) -> "Axes":
    """Alpha vectors of a plan for two hidden states, and the best of them in every belief.

    Each vector is a straight line over the probability of the first state, in the colour of its action. The value of
    the plan is the highest of them, drawn thick; the background has the colour of the action that is taken there, and
    dotted lines mark where it changes.

    Parameters
    ----------
    plan
        What `solve` returned for a POMDP of two states, by a method whose answer is alpha vectors.
    steps_left
        For a plan with a horizon: how many steps are still to come, at least 1; None: all of them.
    ax
        Axes to draw on; None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If the plan has no alpha vectors, the model does not have two states, or `steps_left` is out of range.

    Examples
    --------
    A machine that is fine or broken; making a product pays 1 if it is fine, and a repair costs 1:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -1], [0, -1]], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0,
    ...     state_labels=["fine", "broken"], action_labels=["make", "repair"],
    ... )
    >>> ax = alpha_vectors(solve(machine, "incremental_pruning", horizon=3))
    >>> [round(line.get_xdata()[0], 6) for line in ax.get_lines() if line.get_label() == "_threshold"]
    [0.255059]
    >>> ax.get_xlabel()
    'probability of fine'
    """
    vectors, actions = vectors_to_draw(plan, steps_left, figure="alpha_vectors")
    parts = best_where(vectors)
    if not parts:
        raise ParameterError("nothing to draw: every alpha vector is minus infinity in some state")
    found = _regions(vectors, actions, parts)
    pomdp = plan.pomdp
    labels = names(pomdp.action_labels, pomdp.n_actions, "action")
    colours = [Palette(labels)[label].colour for label in labels]
    axes = fresh_axes(CURVE_SIZE) if ax is None else ax

    for number in parts:
        ends, action = vectors[number, ::-1], int(actions[number])
        axes.plot([0.0, 1.0], ends, color=colours[action], linewidth=0.9, alpha=0.75, label=VECTOR)
    for region in found:
        colour = colours[region.action]
        axes.axvspan(region.begin, region.end, color=colour, alpha=0.13, linewidth=0.0, zorder=0.5)
        axes.plot(region.belief, region.value, color=colour, linewidth=3.2, solid_capstyle="butt", label=ENVELOPE)
    for action in dict.fromkeys(region.action for region in found):
        axes.plot([], [], color=colours[action], linewidth=3.2, label=labels[action])
    start = float(pomdp.start[0])
    axes.plot(start, _worth(found, start), "o", color=INK, markersize=6, label="start belief", linestyle="none")
    changes = [region.end for region, _ in pairwise(found)]
    for x in changes:
        axes.axvline(x, color=INK, linewidth=1.0, linestyle=(0.0, (1.0, 1.5)), label=THRESHOLD)

    first = names(pomdp.state_labels, 2, "state")[0]
    dress_curves(axes, size_of_plan(pomdp, plan, steps_left), f"probability of {first}", _quantity(plan))
    _frame(axes, found)
    if len(changes) <= MOST_NUMBERS:
        _write_thresholds(axes, changes)
    write_caption(axes, _said(plan, steps_left, vectors, parts, changes))
    if ax is None:
        wrap(axes)
    return axes


def _regions(
    vectors: NDArray[np.float64], actions: NDArray[np.int64], parts: dict[int, NDArray[np.float64]]
) -> list[Region]:
    """The beliefs in ascending order of the probability of the first state, cut where the action changes."""
    ordered = sorted(parts, key=lambda number: parts[number][:, 0].sum())
    found: list[Region] = []
    for action, together in groupby(ordered, key=lambda number: int(actions[number])):
        numbers = list(together)
        corners = np.concatenate([parts[numbers[0]][:1], *(parts[number][1:] for number in numbers)])
        value = np.array([max(corner @ vectors[number] for number in numbers) for corner in corners])
        found.append(Region(action, float(corners[0, 0]), float(corners[-1, 0]), corners[:, 0], value))
    return found


def _worth(found: list[Region], belief: float) -> float:
    """The value of the plan in a belief."""
    x, y = (np.concatenate(each) for each in ([r.belief for r in found], [r.value for r in found]))
    return float(np.interp(belief, x, y))


def _quantity(plan: "AlphaVectorSolution") -> str:
    from rlsuite.planning import UpperBoundSolution

    return "upper bound on the value" if isinstance(plan, UpperBoundSolution) else "value"


def _frame(axes: "Axes", found: list[Region]) -> None:
    """Limit the axes to all beliefs, and to the values of the best vectors."""
    best = np.concatenate([region.value for region in found])
    span = float(np.ptp(best)) or max(abs(float(best[0])), 1.0) / 4.0
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(float(best.min()) - BELOW * span, float(best.max()) + ABOVE * span)
    write_in_full(axes.yaxis)


def _write_thresholds(axes: "Axes", changes: list[float]) -> None:
    """Write each threshold beside its line, stacked where they are close."""
    taken: list[list[float]] = [[] for _ in NUMBER_ROWS]
    for x in changes:
        centre = min(max(x, 0.6 * NUMBER_WIDTH), 1.0 - 0.6 * NUMBER_WIDTH)
        row = next((row for row, xs in enumerate(taken) if all(abs(centre - x) >= NUMBER_WIDTH for x in xs)), None)
        if row is None:
            continue
        taken[row].append(centre)
        axes.text(
            centre,
            NUMBER_ROWS[row],
            f"{x:.4f}",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=TICK_SIZE,
            color=INK,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )


def _said(
    plan: "AlphaVectorSolution",
    steps_left: int | None,
    vectors: NDArray[np.float64],
    parts: dict[int, NDArray[np.float64]],
    changes: list[float],
) -> list[str]:
    said = [f"Thin lines: the alpha vectors that are the best somewhere, {len(parts):,} of {len(vectors):,}."]
    said.append("Thick: the best of them, in the colour of its action.")
    if changes:
        listed = ": " + ", ".join(f"{x:.6g}" for x in changes) if len(changes) <= MOST_NUMBERS else ""
        said.append(f"Dotted: where the action changes{listed}.")
    if steps_left in (None, plan.horizon):
        bounds = f"{plan.lower_bound:.6g}", f"{plan.upper_bound:.6g}"
        between = bounds[0] if bounds[0] == bounds[1] else f"between {bounds[0]} and {bounds[1]}"
        said.append(f"Optimal value in the start belief: {between}.")
    return said
