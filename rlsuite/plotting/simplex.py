"""All beliefs over three states as a triangle: the action of a plan in each, and the beliefs of a trace."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.plotting.best_vectors import best_where, fits, vectors_to_draw
from rlsuite.plotting.figure import INK, LABEL_SIZE, dress_curves, fresh_axes, wrap, write_caption
from rlsuite.plotting.labels import counted, names, size_of, size_of_plan
from rlsuite.plotting.registry import figure_of_plan
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HMM
    from rlsuite.models import POMDP
    from rlsuite.planning import AlphaVectorSolution

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


@figure_of_plan(n_states=3)
def belief_simplex(
    plan: "AlphaVectorSolution | POMDP | HMM",
    *,
    beliefs: ArrayLike | None = None,
    trace: ArrayLike | None = None,
    steps_left: int | None = None,
    ax: "Axes | None" = None,
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
    ax
        Axes to draw on; None: those of a new figure.

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
        title = size_of(given) if hasattr(given, "gamma") else counted(model.n_states, "state")
    else:
        vectors, actions = vectors_to_draw(given, steps_left, figure="belief_simplex")
        model, parts = given.pomdp, best_where(vectors)
        if not parts:
            raise ParameterError("nothing to draw: every alpha vector is minus infinity in some state")
        title = size_of_plan(given.pomdp, given, steps_left)
    marked, followed = _points("beliefs", beliefs), _points("trace", trace)

    said: list[str] = []
    axes = fresh_axes((WIDTH, WIDTH * (HEIGHT + 2 * MARGIN) / (1.0 + 2 * MARGIN))) if ax is None else ax
    if parts:
        _draw_parts(axes, given.pomdp, parts, actions)
        said += [
            "Colour: action of the plan.",
            f"White lines: between the {len(parts):,} vectors that are best somewhere.",
        ]
    _draw_triangle(axes, names(model.state_labels, 3, "state"))
    x, y = _place(np.asarray(model.start)[np.newaxis])
    axes.plot(x, y, "*", color=INK, markersize=11, markeredgecolor="white", label="start belief", zorder=4)
    if marked is not None:
        axes.plot(*_place(marked), "o", color=INK, markersize=3.5, linestyle="none", label="beliefs", zorder=3)
    if followed is not None:
        _draw_trace(axes, followed)
        said.append(f"Arrows: {len(followed):,} beliefs, one after the other; the first has a ring.")

    dress_curves(axes, title, "", "")
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-MARGIN, 1.0 + MARGIN)
    axes.set_ylim(-MARGIN, HEIGHT + MARGIN)
    write_caption(axes, [*said, "Dotted: every quarter of the probability of a state."])
    if ax is None:
        wrap(axes)
    return axes


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


def _place(beliefs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
        axes.fill(*_place(parts[number]), facecolor=(colour, 0.65), edgecolor="white", linewidth=0.6, label=label)


def _draw_triangle(axes: "Axes", states: list[str]) -> None:
    for share in QUARTERS:
        for state in range(3):
            one, other = (state + 1) % 3, (state + 2) % 3
            ends = np.zeros((2, 3))
            ends[:, state] = share
            ends[0, one] = ends[1, other] = 1.0 - share
            axes.plot(
                *_place(ends), color=INK, alpha=0.5, linewidth=0.7, linestyle=QUARTER, zorder=1.5, label="_quarter"
            )
    axes.fill(*CORNERS.T, fill=False, edgecolor=INK, linewidth=1.1, zorder=2)
    for name, (x, y), up in zip(states, CORNERS, (-1.0, -1.0, 1.0), strict=True):
        axes.text(
            x,
            y + 0.3 * MARGIN * up,
            name,
            ha="center",
            va="bottom" if up > 0.0 else "top",
            fontsize=LABEL_SIZE,
            color=INK,
            parse_math=False,
        )


def _draw_trace(axes: "Axes", trace: NDArray[np.float64]) -> None:
    x, y = _place(trace)
    axes.plot(x, y, "-o", color=INK, linewidth=0.8, markersize=3.0, label="trace", zorder=3)
    axes.plot(x[:1], y[:1], "o", color=INK, markersize=14.0, fillstyle="none", label="_first", zorder=3)
    if len(trace) > FEW_BELIEFS:
        return
    for k in range(len(trace) - 1):
        begin, end = (float(x[k]), float(y[k])), (float(x[k + 1]), float(y[k + 1]))
        if not np.allclose(begin, end, atol=1e-3):
            arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.0, "shrinkA": 0.0, "shrinkB": 2.0}
            axes.annotate("", end, begin, arrowprops=arrow, zorder=3)
