"""A value function and a policy of states that are not on a grid: one mark per state, along a line."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite.plotting.figure import (
    CURVE_SIZE,
    AxesKeywords,
    count_along,
    dress_curves,
    evenly,
    finish,
    open_axes,
    takes_look,
)
from rlsuite.plotting.figure_list import figure_of_solution
from rlsuite.plotting.labels import check_solved, title_of_model
from rlsuite.plotting.style import OPTIMUM, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.planning import Solution

MARKS: Final = "osD^vP"
"""Marks of actions; if a policy takes more of them, one mark is used for all."""

MOST_STATES: Final = 5_000
"""Of a larger model this many evenly spread states are drawn."""

MOST_NAMES: Final = 60
"""Number of letters for which there is room along the axis."""


@figure_of_solution(on_grid=False)
@takes_look
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
    dress_curves(axes, title_of_model(mdp), "state", quantity)
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
