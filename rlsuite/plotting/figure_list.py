"""The list of figures, found from the code."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.training.results import Results

Draw: TypeAlias = "Callable[..., Axes]"
"""A function that draws a figure, and returns its Axes."""

Drawer = TypeVar("Drawer", bound=Draw)

_MARK = "__figure__"


class Figure(NamedTuple):
    """A function that draws a figure, and of what."""

    draw: Draw
    of: str
    on_grid: bool
    """Whether it draws a map: ``draw(where, solution)``."""
    n_states: int | None
    """The number of hidden states that a model must have; None for any."""
    has: "Callable[[Results], bool]"
    """Whether it shows something of these results; nobody needs to ask for it then."""


def figure_of(
    of: Literal["results", "solution", "plan"],
    *,
    on_grid: bool = False,
    n_states: int | None = None,
    has: "Callable[[Results], bool]" = lambda _: True,
) -> Callable[[Drawer], Drawer]:
    """Mark a public function that draws `Results`, a `Solution` or a planner's solution of a POMDP: the list finds it.

    Such a function returns the Axes and takes ``ax=`` by keyword. What it draws comes first: one `Results` or a
    sequence of them, with ``palette=`` by keyword; a solution, or for a map a layout or an environment and then the
    solution; a plan. Further keywords are its own; one named ``tol`` is given the tolerance that was asked for.
    """

    def mark(function: Drawer) -> Drawer:
        setattr(function, _MARK, Figure(function, of, on_grid, n_states, has))
        return function

    return mark


def figures_of(results: "Sequence[Results]") -> list[str]:
    """Names of the figures that results are drawn in if nobody chooses."""
    return [name for name, figure in marked("results").items() if any(map(figure.has, results))]


def figures() -> dict[str, Draw]:
    """Functions of this package that draw learning results, by name.

    Returns
    -------
    dict
        Name to function, in alphabetical order. Modules added to the package are searched too.

    Examples
    --------
    >>> sorted(figures())[:3]
    ['cumulative_reward', 'episode_return', 'evaluation']
    """
    return {name: figure.draw for name, figure in marked("results").items()}


def solution_figures() -> dict[str, Figure]:
    """Functions of this package that draw a planner's solution, by name.

    Returns
    -------
    dict
        Name to function and whether it needs a grid, in alphabetical order.

    Examples
    --------
    >>> {name: figure.on_grid for name, figure in solution_figures().items()}
    {'convergence': False, 'diagram': False, 'q_map': True, 'state_values': False, 'value_map': True}
    """
    return marked("solution")


def plan_figures() -> dict[str, Figure]:
    """Functions of this package that draw a planner's solution of a POMDP, by name.

    Returns
    -------
    dict
        Name to function and the number of states that it is for, in alphabetical order.

    Examples
    --------
    >>> {name: figure.n_states for name, figure in plan_figures().items()}
    {'alpha_vectors': 2, 'belief_simplex': 3, 'gap': None, 'policy_graph': None}
    """
    return marked("plan")


def marked(*of: str) -> dict[str, Figure]:
    """All figures of these kinds of objects, by name."""
    package = importlib.import_module("rlsuite.plotting")
    found: dict[str, Figure] = {}
    for module in pkgutil.iter_modules(package.__path__, prefix="rlsuite.plotting."):
        for name, value in vars(importlib.import_module(module.name)).items():
            figure = getattr(value, _MARK, None)
            if isinstance(figure, Figure) and figure.of in of:
                found[name] = figure
    return dict(sorted(found.items()))
