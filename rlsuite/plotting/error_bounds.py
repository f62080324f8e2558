"""The error bounds that planners certified, against iterations or against time."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import positive_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.plotting.figure import CURVE_SIZE, count_along, dress_curves, fresh_axes, wrap, write_caption
from rlsuite.plotting.intervals import FEW_POINTS
from rlsuite.plotting.labels import by_label
from rlsuite.plotting.registry import figure_of_solution
from rlsuite.plotting.style import OPTIMUM, Palette
from rlsuite.plotting.ticks import write_in_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.planning import Solution

AXES: Final = ("iterations", "seconds")

MOST_POINTS: Final = 1_000
"""A longer trace is drawn at this many evenly spread entries, the first and the last among them."""

BRIEF: Final = 0.1
"""Seconds below which time is written in milliseconds."""


@figure_of_solution(on_grid=False)
@says_what_to_write
def convergence(
    solutions: "Solution | Sequence[Solution] | Mapping[str, Solution]",
    *,
    against: Literal["iterations", "seconds"] = "iterations",
    tol: float | None = None,
    ax: "Axes | None" = None,
    palette: Palette | None = None,
) -> "Axes":
    """Certified error bound of a planner, or of several, while they worked; on a logarithmic axis.

    Parameters
    ----------
    solutions
        What `solve` returned; several, labelled by their methods; or several by labels of your own.
    against
        ``"iterations"``: what each method counts, which its documentation says; an iteration of one may cost a
        hundred times that of another. ``"seconds"``: wall-clock time.
    tol
        Tolerance that was asked for, drawn as a dashed line; None: no line.
    ax
        Axes to draw on; None: those of a new figure.
    palette
        Looks of all labels; None: a palette of these alone.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are no solutions, two share a label, none of them ever had a finite error bound, `against` is
        unknown, or `tol` is not positive.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9)
    >>> ax = convergence([solve(mdp, "value_iteration"), solve(mdp, "policy_iteration")], tol=1e-6)
    >>> ax.get_yscale(), ax.get_title(loc="left")
    ('log', '2 states, 2 actions, gamma 0.9')
    """
    named = by_label(solutions)
    if against not in AXES:
        raise errors.ParameterError(errors.unknown("axis to draw against", against, AXES))
    curves = {label: _curve(solution, against) for label, solution in named.items()}
    uncertified = [label for label, (x, _) in curves.items() if not x.size]
    if len(uncertified) == len(curves):
        raise errors.ParameterError(f"nothing to draw: {', '.join(uncertified)} never had a finite error bound above 0")

    looks = palette or Palette(named)
    axes = fresh_axes(CURVE_SIZE) if ax is None else ax
    axes.set_yscale("log")
    for label, (x, bound) in curves.items():
        if x.size:
            look = looks[label]
            marker = "o" if x.size <= FEW_POINTS else ""
            style: Any = {"color": look.colour, "linestyle": look.line, "linewidth": 1.8}
            axes.plot(x, bound, label=label, marker=marker, markersize=3.5, **style)
    said = ["Error bound: certified bound on the error of value and policy; what is not certified yet is left out."]
    if tol is not None:
        axes.axhline(
            positive_number("tol", tol),
            label="tolerance",
            color=OPTIMUM.colour,
            linestyle=OPTIMUM.line,
            linewidth=1.4,
            zorder=1.5,
        )
    if uncertified:
        said.append(f"Never certified: {', '.join(uncertified)}.")
    dress_curves(axes, _title(list(named.values())), against, "error bound")
    _ticks(axes, against)
    write_caption(axes, said)
    if ax is None:
        wrap(axes)
    return axes


def _curve(solution: "Solution", against: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the error bound was finite, and how large."""
    bound = solution.trace.error_bound
    known = np.flatnonzero(np.isfinite(bound) & (bound > 0.0))  # 0 has no logarithm
    if known.size > MOST_POINTS:
        known = known[np.linspace(0, known.size - 1, MOST_POINTS).round().astype(np.int64)]
    return np.asarray(getattr(solution.trace, against), dtype=np.float64)[known], bound[known]


def _title(solutions: "list[Solution]") -> str:
    """The size of the model, if it is the same for all."""
    models = (solution.lookahead.mdp for solution in solutions)
    sizes = {f"{mdp.n_states:,} states, {mdp.n_actions} actions, gamma {mdp.gamma:g}" for mdp in models}
    return sizes.pop() if len(sizes) == 1 else ""


def _ticks(axes: "Axes", against: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0.0, 1.01 * axes.dataLim.x1 or 1.0)
    if against == "iterations":
        count_along(axes)
    elif axes.get_xlim()[1] < BRIEF:
        axes.set_xlabel("milliseconds")
        axes.xaxis.set_major_formatter(FuncFormatter(_in_milliseconds))
    else:
        write_in_full(axes.xaxis)


def _in_milliseconds(seconds: float, position: int | None = None) -> str:
    return f"{1e3 * seconds:.6g}"
