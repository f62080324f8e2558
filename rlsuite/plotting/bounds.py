"""What planners have found, beside maps: values of states, bounds that close, error bounds, a front of two rewards."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import one_of, positive_number
from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, count_along, evenly, finish, label_axes, open_axes, styled
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.intervals import FEW_POINTS, identical
from rlsuite.plotting.labels import by_label, check_solved, common_title, title_of_model
from rlsuite.plotting.style import OPTIMUM, Palette, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.planning import BeliefPlan, ParetoFront, Solution


AXES: Final = ("iterations", "seconds")

WIDE: Final = 30.0
"""Ratio of the last to the first time from which on the time axis is logarithmic."""

EARLIEST: Final = 1e-4
"""Seconds; earlier bounds are drawn here on a logarithmic axis."""


class Bounds(NamedTuple):
    """The bounds of one plan over time, all finite."""

    x: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@figure_of("plan")
@styled
def gap(
    plans: "BeliefPlan | Sequence[BeliefPlan] | Mapping[str, BeliefPlan]",
    *,
    against: Literal["seconds", "iterations"] = "seconds",
    palette: Palette | None = None,
    **look: Unpack[AxesKeywords],
) -> "Axes":
    """Lower and upper bound on the optimal value at the start belief, while one planner worked, or several did.

    Parameters
    ----------
    plans
        What `solve` returned for a POMDP; several, labelled by their methods; or several by labels of your own. Of a
        method that records no bounds before its end, they are one point.
    against
        ``"seconds"``: wall-clock time, on a logarithmic axis if much happened early. ``"iterations"``: what each method
        counts, which its documentation says.
    palette
        Looks of all labels; None: a palette of these alone.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are no plans, two share a label, `against` is unknown, or no plan ever had two finite bounds.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -2], [0, -2]], [[0.9, 0.1], [0.4, 0.6]], order="sas",
    ...     gamma=0.9, start=0
    ... )
    >>> plan = solve(machine, "sarsop", gap=1e-3)
    >>> lower, upper = gap(plan).get_lines()
    >>> bool((lower.get_ydata() <= upper.get_ydata()).all()), bool(lower.get_ydata()[-1] == plan.lower_bound)
    (True, True)
    """
    named = by_label("gap", plans, "lower_bound", " for a POMDP")
    one_of("axis to draw against", against, AXES)
    curves = {label: _bounds(plan, against) for label, plan in named.items()}
    unbounded = [label for label, found in curves.items() if not found.x.size]
    if len(unbounded) == len(curves):
        raise errors.ParameterError(f"nothing to draw: {', '.join(unbounded)} never had two finite bounds")
    logarithmic = against == "seconds" and _is_wide([found.x for found in curves.values()])

    looks = palette or Palette(named)
    axes = open_axes(look, CURVE_SIZE)
    if logarithmic:
        axes.set_xscale("log")
    for label, found in curves.items():
        if found.x.size:
            _draw(axes, found if not logarithmic else found._replace(x=np.maximum(found.x, EARLIEST)), label, looks)
    said = ["Band: the optimal value lies between the lower and the upper bound."]
    last = {label: found.upper[-1] - found.lower[-1] for label, found in curves.items() if found.x.size}
    said.append("Gap at the end: " + ", ".join(f"{label} {_short(width)}" for label, width in last.items()) + ".")
    if unbounded:
        said.append(f"Never bounded: {', '.join(unbounded)}.")
    label_axes(
        axes,
        common_title(getattr(plan, "pomdp", None) for plan in named.values()),
        against,
        "value at the start belief",
    )
    _ticks(axes, against, logarithmic)
    return finish(axes, look, said)


def _bounds(plan: "BeliefPlan", against: str) -> Bounds:
    """The bounds and their times, the final result last."""
    trace: Any = getattr(plan, "trace", None)
    end = np.array([[getattr(plan, against), plan.lower_bound, plan.upper_bound]], dtype=np.float64)
    if trace is None:
        known = end
    else:
        known = np.column_stack([getattr(trace, against), trace.lower_bound, trace.upper_bound])
        # Methods that search in several ways count their own iterations, not those of the trace.
        known = np.concatenate([known, end]) if against == "seconds" else known
    x, lower, upper = known.T
    finite = np.isfinite(lower) & np.isfinite(upper)
    return Bounds(x[finite], lower[finite], upper[finite])


def _is_wide(times: list[NDArray[np.float64]]) -> bool:
    """Whether times differ so much that early ones could not be seen on a linear axis."""
    every = np.maximum(np.concatenate(times), EARLIEST)
    return float(every.max()) > WIDE * float(every.min())


def _draw(axes: "Axes", found: Bounds, label: str, looks: Palette) -> None:
    look = looks[label]
    style: Any = {"color": look.colour, "linewidth": 1.6, "drawstyle": "steps-post"}
    style |= {"marker": "o" if found.x.size <= FEW_POINTS else "", "markersize": 3.0}
    axes.plot(found.x, found.lower, label=label, **style)
    axes.plot(found.x, found.upper, label=f"_{label}", **style)
    axes.fill_between(found.x, found.lower, found.upper, step="post", color=look.colour, alpha=0.15, linewidth=0.0)
    if not np.ptp(found.lower) and not np.ptp(found.upper):
        # Bounds that are known only at the end: the band has no width.
        axes.vlines(found.x[-1:], found.lower[-1:], found.upper[-1:], color=look.colour, alpha=0.5, linewidth=3.0)


def _short(width: float) -> str:
    """A gap in two digits, or in whole numbers if it is large."""
    return f"{width:.2g}" if width < 100.0 else f"{width:,.0f}"


def _ticks(axes: "Axes", against: str, logarithmic: bool) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    if against == "iterations":
        count_along(axes)
    elif logarithmic:
        begin, end = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if end < 1e3 * begin else (1.0,)))
        axes.xaxis.set_major_formatter("{x:.6g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0.0, 1.01 * axes.dataLim.x1 or 1.0)


MOST_POINTS: Final = 1_000
"""A longer trace is drawn at this many evenly spread entries, the first and the last among them."""


@figure_of("solution")
@styled
def convergence(
    solutions: "Solution | Sequence[Solution] | Mapping[str, Solution]",
    *,
    against: Literal["iterations", "seconds"] = "iterations",
    tol: float | None = None,
    palette: Palette | None = None,
    **look: Unpack[AxesKeywords],
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
    palette
        Looks of all labels; None: a palette of these alone.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

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
    named = by_label("convergence", solutions, "trace")
    one_of("axis to draw against", against, AXES)
    curves = {label: _curve(solution, against) for label, solution in named.items()}
    uncertified = [label for label, (x, _) in curves.items() if not x.size]
    if len(uncertified) == len(curves):
        raise errors.ParameterError(f"nothing to draw: {', '.join(uncertified)} never had a finite error bound above 0")

    looks = palette or Palette(named)
    axes = open_axes(look, CURVE_SIZE)
    axes.set_yscale("log")
    for label, (x, bound) in curves.items():
        if x.size:
            marker = "o" if x.size <= FEW_POINTS else ""
            axes.plot(x, bound, label=label, marker=marker, markersize=3.5, **drawn(looks[label], 1.8))
    said = ["Error bound: certified bound on the error of value and policy; what is not certified yet is left out."]
    if tol is not None:
        axes.axhline(positive_number("tol", tol), label="tolerance", **drawn(OPTIMUM))
    if uncertified:
        said.append(f"Never certified: {', '.join(uncertified)}.")
    label_axes(axes, common_title(solution.lookahead.mdp for solution in named.values()), against, "error bound")
    _error_ticks(axes, against)
    said += identical(axes, {label: curve for label, curve in curves.items() if curve[0].size})
    return finish(axes, look, said)


def _curve(solution: "Solution", against: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the error bound was finite, and how large."""
    bound = solution.trace.error_bound
    known = np.flatnonzero(np.isfinite(bound) & (bound > 0.0))  # 0 has no logarithm
    known = known[evenly(known.size, MOST_POINTS)]
    return np.asarray(getattr(solution.trace, against), dtype=np.float64)[known], bound[known]


def _error_ticks(axes: "Axes", against: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0.0, 1.01 * axes.dataLim.x1 or 1.0)
    if against == "iterations":
        count_along(axes)


MARKS: Final = "osD^vP"
"""Marks of actions; if a policy takes more of them, one mark is used for all."""

MOST_STATES: Final = 5_000
"""Of a larger model this many evenly spread states are drawn."""

MOST_NAMES: Final = 60
"""Number of letters for which there is room along the axis."""


@figure_of("solution")
@styled
def state_values(solution: "Solution", **look: Unpack[AxesKeywords]) -> "Axes":
    """Value of every state, in the colour of its action: for problems that do not lie on a grid.

    Of a model that was made from costs it shows these.

    Parameters
    ----------
    solution
        What `solve` returned.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        States are placed by their labels if these are numbers, else by their index. Those without actions, the ends,
        are left out.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9, action_labels=["stay", "go"])
    >>> ax = state_values(solve(mdp))
    >>> [line.get_label() for line in ax.get_lines()], [line.get_ydata().round(9).tolist() for line in ax.get_lines()]
    (['stay'], [[10.0]])
    """
    check_solved("state_values", solution, "lookahead")
    mdp = solution.lookahead.mdp
    labels: list[str] = list(mdp.action_labels or map("action {}".format, range(mdp.n_actions)))
    acting = np.flatnonzero(solution.policy >= 0)
    states = acting[evenly(acting.size, MOST_STATES)]
    values, what = (solution.cost, "cost") if mdp.costs else (solution.value, "value")
    taken: list[int] = np.unique(solution.policy[states]).tolist()
    numbers = _numbers(mdp.state_labels)
    where = np.arange(mdp.n_states, dtype=np.float64) if numbers is None else numbers
    axes = open_axes(look, CURVE_SIZE)
    size = 5.0 if states.size <= MOST_STATES // 50 else 2.0
    looks = Palette(labels[action] for action in taken)
    if len(taken) <= len(MARKS):
        for action, mark in zip(taken, MARKS, strict=False):
            chosen = states[solution.policy[states] == action]
            colour = looks[labels[action]].colour
            axes.plot(where[chosen], values[chosen], mark, label=labels[action], color=colour, markersize=size)
    else:
        axes.plot(where[states], values[states], MARKS[0], color=OPTIMUM.colour, markersize=size)

    of_average = hasattr(solution, "gain")
    quantity = f"relative {what}" if of_average else what
    said = ["Marks: an optimal action."] if len(taken) <= len(MARKS) else []
    if not of_average:
        said.append(f"{what.capitalize()}: within {solution.error_bound:.2g}.")
    if states.size < acting.size:
        said.append(f"Drawn: {states.size:,} of {acting.size:,} states, evenly spread.")
    label_axes(axes, title_of_model(mdp), "state", quantity)
    count_along(axes)
    if mdp.state_labels is not None and numbers is None and sum(map(len, mdp.state_labels)) <= MOST_NAMES:
        axes.set_xticks(range(mdp.n_states), mdp.state_labels, parse_math=False)
    axes.margins(x=0.03)
    return finish(axes, look, said)


def _numbers(labels: "tuple[str, ...] | None") -> NDArray[np.float64] | None:
    """Labels of states as numbers, if all are."""
    try:
        numbers = np.array([float(label) for label in labels or ()])
    except ValueError:
        return None
    return numbers if numbers.size and np.isfinite(numbers).all() else None


MARGIN: Final = 0.08
"""Share of the height below the lowest corner."""


@styled
def pareto_front(front: "ParetoFront", **look: Unpack[AxesKeywords]) -> "Axes":
    """What policies are worth in two rewards at once: the corners of the front, and their mixtures between them.

    Parameters
    ----------
    front
        What `rlsuite.planning.pareto` returned.
    **look
        Axes, title, labels and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import rlsuite as rl
    >>> mdp = rl.MDP.from_successors([[0, 0, 0]], [[10, 4, 0]], gamma=0.9)
    >>> front = rl.planning.pareto(mdp, ("reward", [[-5, -1, 0]]), names=("earned", "worn"))
    >>> ax = rl.plotting.pareto_front(front)
    >>> ax.get_xlabel(), ax.get_lines()[0].get_xdata().round(6).tolist()
    ('earned', [0.0, 40.0, 100.0])
    """
    x, y = front.points.T + 0.0
    ax = open_axes(look, CURVE_SIZE)
    colour = Palette(["front"])["front"].colour
    ax.plot(x, y, color=colour, marker="o", markersize=6, linewidth=1.8)
    low = float(y.min()) - MARGIN * max(float(y.max() - y.min()), abs(float(y.max())) * 1e-3, 1e-12)
    ax.fill_between(x, y, low, color=colour, alpha=0.12, linewidth=0)
    ax.set_ylim(bottom=low)
    label_axes(ax, "What can be had of both", *front.names)
    said = [
        f"Points: {len(x)} deterministic policies. Lines: mixtures of two.",
        f"No policy lies beyond by more than {front.error_bound:.2g}.",
    ]
    return finish(ax, look, said)
