"""The list of figures, found from the code."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.training.results import Results

Draw: TypeAlias = "Callable[..., Axes]"
"""A function that draws a figure, and returns its Axes."""

Drawer = TypeVar("Drawer", bound=Draw)

_RESULTS = "__figure_of_results__"
_ONLY_OF = "__only_of__"
_SOLUTION = "__figure_of_solution__"
_PLAN = "__figure_of_plan__"


class SolutionFigure(NamedTuple):
    """A function that draws a planner's solution."""

    draw: Draw
    on_grid: bool
    """Whether it draws a map: ``draw(where, solution)``; otherwise ``draw(solution)``."""


class PlanFigure(NamedTuple):
    """A function that draws a plan for hidden states."""

    draw: Draw
    n_states: int | None
    """The number of states that the model must have; None for any."""


def figure_of_results(function: Drawer) -> Drawer:
    """Mark a public function that draws `Results`, so that `figures` finds it.

    Such a function takes one `Results` or a sequence of them, and ``ax=`` and ``palette=`` by keyword, and returns the
    Axes.
    """
    setattr(function, _RESULTS, True)
    return function


def only_of(has: "Callable[[Results], bool]") -> Callable[[Drawer], Drawer]:
    """Mark a figure of results that is drawn without being asked for only if one of them has what it shows."""

    def mark(function: Drawer) -> Drawer:
        setattr(function, _ONLY_OF, has)
        return function

    return mark


def figures_of(results: "Sequence[Results]") -> list[str]:
    """Names of the figures that results are drawn in if nobody chooses."""
    return [
        name
        for name, function in figures().items()
        if (has := getattr(function, _ONLY_OF, None)) is None or any(map(has, results))
    ]


def figure_of_solution(*, on_grid: bool) -> Callable[[Drawer], Drawer]:
    """Mark a public function that draws a `Solution`, so that `solution_figures` finds it.

    Such a function returns the Axes and takes ``ax=`` by keyword. If it needs a grid, it takes a layout or an
    environment first and the solution second; if not, the solution first. Further keywords are its own; one named
    ``tol`` is given the tolerance that was asked for.
    """

    def mark(function: Drawer) -> Drawer:
        setattr(function, _SOLUTION, SolutionFigure(function, on_grid))
        return function

    return mark


def figure_of_plan(*, n_states: int | None = None) -> Callable[[Drawer], Drawer]:
    """Mark a public function that draws a planner's solution of a POMDP, so that `plan_figures` finds it.

    Such a function takes the plan first and ``ax=`` by keyword, and returns the Axes. Further keywords are its own.
    """

    def mark(function: Drawer) -> Drawer:
        setattr(function, _PLAN, PlanFigure(function, n_states))
        return function

    return mark


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
    return dict(sorted((name, function) for name, function in _functions() if getattr(function, _RESULTS, False)))


def solution_figures() -> dict[str, SolutionFigure]:
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
    marked = ((name, getattr(function, _SOLUTION, None)) for name, function in _functions())
    return dict(sorted((name, figure) for name, figure in marked if isinstance(figure, SolutionFigure)))


def plan_figures() -> dict[str, PlanFigure]:
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
    marked = ((name, getattr(function, _PLAN, None)) for name, function in _functions())
    return dict(sorted((name, figure) for name, figure in marked if isinstance(figure, PlanFigure)))


def _functions() -> Iterator[tuple[str, Draw]]:
    package = importlib.import_module("rlsuite.plotting")
    for module in pkgutil.iter_modules(package.__path__, prefix="rlsuite.plotting."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, FunctionType):
                yield name, value
