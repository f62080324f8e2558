"""The value of a plan over all beliefs in two or three states, and the action that is best in each.

The region of beliefs in which vector i is the best is {b : (alpha_j - alpha_i) . b <= 0 for all j}, a piece of a line
or a convex polygon. It is cut out of all beliefs, one line at a time, always along the vector whose value exceeds that
of i most in one of its corners; so a region costs as many cuts as it has sides, however many vectors there are.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    INK,
    LABEL_SIZE,
    TICK_SIZE,
    AxesKeywords,
    finish,
    label_axes,
    open_axes,
    styled,
    write_text,
)
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.labels import counted, names, title_of_model, title_of_plan
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HMM
    from rlsuite.models import POMDP
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


@figure_of("plan", n_states=2)
@styled
def alpha_vectors(
    plan: "AlphaVectorSolution", *, steps_left: int | None = None, **look: Unpack[AxesKeywords]
) -> "Axes":
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
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

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
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -1], [0, -1]], [[0.9, 0.1], [0.4, 0.6]], order="sas",
    ...     gamma=0.9, start=0,
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
    axes = open_axes(look, CURVE_SIZE)

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
    axes.plot(start, _value_at(found, start), "o", color=INK, markersize=6, label="start belief", linestyle="none")
    changes = [region.end for region, _ in pairwise(found)]
    for x in changes:
        axes.axvline(x, color=INK, linewidth=1.0, linestyle=(0.0, (1.0, 1.5)), label=THRESHOLD)

    first = names(pomdp.state_labels, 2, "state")[0]
    label_axes(axes, title_of_plan(pomdp, plan, steps_left), f"probability of {first}", _quantity(plan))
    _frame(axes, found)
    if len(changes) <= MOST_NUMBERS:
        _write_thresholds(axes, changes)
    return finish(axes, look, _said(plan, steps_left, vectors, parts, changes))


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


def _value_at(found: list[Region], belief: float) -> float:
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


def _write_thresholds(axes: "Axes", changes: list[float]) -> None:
    """Write each threshold beside its line, stacked where they are close."""
    taken: list[list[float]] = [[] for _ in NUMBER_ROWS]
    for x in changes:
        centre = min(max(x, 0.6 * NUMBER_WIDTH), 1.0 - 0.6 * NUMBER_WIDTH)
        row = next((row for row, xs in enumerate(taken) if all(abs(centre - x) >= NUMBER_WIDTH for x in xs)), None)
        if row is None:
            continue
        taken[row].append(centre)
        bbox = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        look: Any = {"transform": axes.get_xaxis_transform(), "va": "bottom", "bbox": bbox}
        write_text(axes, centre, NUMBER_ROWS[row], f"{x:.4f}", TICK_SIZE, **look)


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


HEIGHT: Final = 3.0**0.5 / 2.0
CORNERS: Final = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])
CORNERS.flags.writeable = False
"""The corners, where one state is certain: below on the left, below on the right, above."""

WIDTH: Final = 5.0
"""Of the triangle with its margins, in inches."""

MARGIN: Final = 0.09
"""Room for the names of the states round the triangle, whose side is 1."""

QUARTERS: Final = (0.25, 0.5, 0.75)
QUARTER: Final = (0.0, (1.0, 3.0))
"""Where lines of equal probability are drawn, and how."""

FEW_BELIEFS: Final = 60
"""Largest number of beliefs of a trace with arrows between them."""


@figure_of("plan", n_states=3)
@styled
def belief_simplex(
    plan: "AlphaVectorSolution | POMDP | HMM",
    *,
    beliefs: ArrayLike | None = None,
    trace: ArrayLike | None = None,
    steps_left: int | None = None,
    **look: Unpack[AxesKeywords],
) -> "Axes":
    """All beliefs over three hidden states as a triangle, in the colours of the actions that a plan takes there.

    The closer to a corner, the more probable is its state. White lines separate beliefs in which different alpha
    vectors are the best.

    Parameters
    ----------
    plan
        What `solve` returned for a POMDP of three states, by a method whose answer is alpha vectors. Or a model alone,
        for beliefs without a plan.
    beliefs
        (n, 3) beliefs to be marked, or a single one.
    trace
        (n, 3) beliefs that followed each other, such as those of an episode, or what `HMM.filter` returned: joined by
        arrows, the first with a ring.
    steps_left
        For a plan with a horizon: how many steps are still to come, at least 1; None: all of them.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        Equally scaled; the side of the triangle is 1, its first corner at (0, 0).

    Raises
    ------
    ParameterError
        If the model does not have three states, the plan has no alpha vectors, `steps_left` is out of range, or a row
        of `beliefs` or `trace` is not a distribution over three states.

    Examples
    --------
    Beliefs about a machine with three conditions, which gets worse unless it is seen to be good:

    >>> from rlsuite.inference import HMM
    >>> from rlsuite.plotting import belief_simplex
    >>> machine = HMM([1, 0, 0], [[0.8, 0.2, 0], [0, 0.8, 0.2], [0, 0, 1]], [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]],
    ...     state_labels=["good", "worn", "broken"])
    >>> ax = belief_simplex(machine, trace=machine.filter([0, 0, 1, 1, 1]))
    >>> [text.get_text() for text in ax.texts[:3]]
    ['good', 'worn', 'broken']
    """
    given: Any = plan
    parts: dict[int, NDArray[np.float64]] = {}
    actions: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    if hasattr(given, "n_states"):
        model: POMDP | HMM = given
        fits("belief_simplex", model.n_states)
        if steps_left is not None:
            raise ParameterError(f"steps_left={steps_left} applies only to a plan, and a model was given: leave it out")
        title = title_of_model(given) if hasattr(given, "gamma") else counted(model.n_states, "state")
    else:
        vectors, actions = vectors_to_draw(given, steps_left, figure="belief_simplex")
        model, parts = given.pomdp, best_where(vectors)
        if not parts:
            raise ParameterError("nothing to draw: every alpha vector is minus infinity in some state")
        title = title_of_plan(given.pomdp, given, steps_left)
    marked, followed = _points("beliefs", beliefs), _points("trace", trace)

    said: list[str] = []
    axes = open_axes(look, (WIDTH, WIDTH * (HEIGHT + 2 * MARGIN) / (1.0 + 2 * MARGIN)))
    if parts:
        _draw_parts(axes, given.pomdp, parts, actions)
        said.append(f"Colour: action of the plan, of {len(parts):,} vectors that are best somewhere.")
    _draw_triangle(axes, names(model.state_labels, 3, "state"))
    x, y = in_triangle(np.asarray(model.start)[np.newaxis])
    axes.plot(x, y, "*", color=INK, markersize=11, markeredgecolor="white", label="start belief", zorder=4)
    if marked is not None:
        axes.plot(*in_triangle(marked), "o", color=INK, markersize=3.5, linestyle="none", label="beliefs", zorder=3)
    if followed is not None:
        _draw_trace(axes, followed)
        said.append(f"Arrows: {len(followed):,} beliefs, one after the other; the first has a ring.")

    label_axes(axes, title, "", "")
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-MARGIN, 1.0 + MARGIN)
    axes.set_ylim(-MARGIN, HEIGHT + MARGIN)
    return finish(axes, look, [*said, "Dotted: every quarter of the probability of a state."])


def _points(name: str, values: ArrayLike | None) -> NDArray[np.float64] | None:
    """Checked beliefs (n, 3)."""
    if values is None:
        return None
    try:
        table = np.atleast_2d(validation.floats(name, values))
        if table.ndim != 2 or table.shape[1] != 3 or not len(table):
            raise ModelError(f"{name} has shape {table.shape}, not (n, 3): one row for each belief")
        for number, row in enumerate(table):
            validation.distribution(f"{name}[{number}]", row)
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    return table


def in_triangle(beliefs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The positions of beliefs (n, 3): x and y, each (n,)."""
    x, y = (beliefs @ CORNERS).T
    return x, y


def _draw_parts(
    axes: "Axes", pomdp: "POMDP", parts: dict[int, NDArray[np.float64]], actions: NDArray[np.int64]
) -> None:
    labels = names(pomdp.action_labels, pomdp.n_actions, "action")
    looks = Palette(labels)
    named: set[int] = set()
    for number in sorted(parts, key=lambda number: int(actions[number])):
        action = int(actions[number])
        label = "_part" if action in named else labels[action]
        named.add(action)
        colour = looks[labels[action]].colour
        axes.fill(*in_triangle(parts[number]), facecolor=(colour, 0.65), linewidth=0.0, label=label)


def _draw_triangle(axes: "Axes", states: list[str]) -> None:
    for share in QUARTERS:
        for state in range(3):
            one, other = (state + 1) % 3, (state + 2) % 3
            ends = np.zeros((2, 3))
            ends[:, state] = share
            ends[0, one] = ends[1, other] = 1.0 - share
            axes.plot(
                *in_triangle(ends),
                color=INK,
                alpha=0.5,
                linewidth=0.7,
                linestyle=QUARTER,
                zorder=1.5,
                label="_quarter",
            )
    axes.fill(*CORNERS.T, fill=False, edgecolor=INK, linewidth=1.1, zorder=2)
    for name, (x, y), up in zip(states, CORNERS, (-1.0, -1.0, 1.0), strict=True):
        write_text(axes, x, y + 0.3 * MARGIN * up, name, LABEL_SIZE, va="bottom" if up > 0.0 else "top")


def _draw_trace(axes: "Axes", trace: NDArray[np.float64]) -> None:
    x, y = in_triangle(trace)
    axes.plot(x, y, "-o", color=INK, linewidth=0.8, markersize=3.0, label="trace", zorder=3)
    axes.plot(x[:1], y[:1], "o", color=INK, markersize=14.0, fillstyle="none", label="_first", zorder=3)
    if len(trace) > FEW_BELIEFS:
        return
    for k in range(len(trace) - 1):
        begin, end = (float(x[k]), float(y[k])), (float(x[k + 1]), float(y[k + 1]))
        if not np.allclose(begin, end, atol=1e-3):
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.0, "shrinkA": 0.0, "shrinkB": 2.0}
            axes.annotate("", end, begin, arrowprops=arrow, zorder=3)
