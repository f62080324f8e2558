"""What ``rlsuite solve --plot`` draws: checked before solving, so that errors come early."""

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Keywords, parameters, spelling_of
from rlsuite.cli.output import FIGURE_SUFFIXES, check_writable
from rlsuite.errors import ParameterError, UnsuitableEnvironment, unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.core.aliases import Env
    from rlsuite.models import MDP, POMDP
    from rlsuite.rendering import GridLayout

    Draw = Callable[[Any], Axes]

ON_GRID, ELSEWHERE = "value_map", "state_values"
"""Figures of an MDP that --plot draws unless --figure names another one."""

ANY_PLAN = "gap"
"""The figure of a POMDP that fits every kind of solution; all others draw alpha vectors."""


LOOK = ("title", "xlim", "ylim", "context")
"""Flags that all figures take."""

COLOURS = ("vmin", "vmax")
"""Flags of figures that show numbers as colours."""


def add_look_flags(parser: Any, *, colours: bool = False) -> None:
    """Add the flags that all figures take, and those of colours if asked for."""
    parser.add_argument("--title", metavar="TEXT", help="title of the figure")
    for axis in "xy":
        text = f"limits of the {axis} axis; none for an end that fits"
        parser.add_argument(f"--{axis}lim", nargs=2, type=_limit, metavar=("LOW", "HIGH"), help=text)
    parser.add_argument("--context", metavar="WHERE", help="notebook, paper or slides: where the figure is shown")
    for flag, which in zip(COLOURS if colours else (), ("first", "last"), strict=False):
        parser.add_argument(f"--{flag}", type=float, metavar="VALUE", help=f"value with the {which} colour")


def _limit(text: str) -> float | None:
    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number: give two, or none for an end that fits") from None


def look_of(chosen: argparse.Namespace) -> Keywords:
    """Keywords of a figure by the flags that all take.

    Raises
    ------
    ParameterError
        If one is given, and no figure is drawn.
    """
    asked = {name: getattr(chosen, name, None) for name in LOOK + COLOURS}
    given = {name: value for name, value in asked.items() if value is not None}
    if given and not getattr(chosen, "plot", "a folder"):
        raise ParameterError(f"--{next(iter(given))} applies only to the figure of --plot: add --plot FILE.png")
    return given


def drawer(
    chosen: argparse.Namespace,
    env: "Env | None",
    layout: "GridLayout | None",
    model: "MDP | POMDP",
    method: str,
) -> "Draw | None":
    """Return how --plot draws the solution, None if nothing is to be drawn.

    Raises
    ------
    ParameterError
        If there is no such figure, or a flag does not apply to it.
    UnsuitableEnvironment
        If it needs what the environment or the method does not have.
    FileError
        If the file cannot be written.
    """
    from rlsuite.models import POMDP

    look = look_of(chosen)
    if not chosen.plot:
        for flag in ("figure", "against"):
            if getattr(chosen, flag):
                raise ParameterError(f"--{flag} applies only to the figure of --plot: add --plot FILE.png")
        return None
    check_writable(Path(chosen.plot), "--plot", FIGURE_SUFFIXES)
    if isinstance(model, POMDP):
        return _of_plan(chosen, model, method, look)
    return _of_values(chosen, env, layout, look)


def _of_values(chosen: argparse.Namespace, env: "Env | None", layout: "GridLayout | None", look: Keywords) -> "Draw":
    from rlsuite.plotting import solution_figures

    typed: str = chosen.figure or (ELSEWHERE if layout is None else ON_GRID)
    name = typed.replace("-", "_")
    if name not in solution_figures():
        raise ParameterError(unknown("figure", typed, solution_figures(), spelling_of(typed)))
    figure = solution_figures()[name]
    if figure.on_grid and layout is None:
        raise UnsuitableEnvironment(
            f"{name} draws states on a grid, and {chosen.environment} does not say where its states are: use --figure "
            f"{ELSEWHERE}"
        )
    given = _given(chosen, name, figure.draw, look)
    first = (env,) if figure.on_grid else ()
    return lambda solution: figure.draw(*first, solution, **given)


def _of_plan(chosen: argparse.Namespace, pomdp: "POMDP", method: str, look: Keywords) -> "Draw":
    from rlsuite.planning import methods
    from rlsuite.plotting.figure_list import plan_figures

    known, function = plan_figures(), methods(pomdp).get(method)
    vectors = function is None or _finds_vectors(function)  # `solve` reports an unknown method
    fitting = [name for name, figure in known.items() if vectors and figure.n_states == pomdp.n_states]
    name = chosen.figure.replace("-", "_") if chosen.figure else next(iter(fitting), ANY_PLAN)
    if name not in known:
        raise ParameterError(unknown("figure", chosen.figure, known, spelling_of(chosen.figure)))
    figure = known[name]
    if figure.n_states not in (None, pomdp.n_states):
        raise UnsuitableEnvironment(
            f"{chosen.environment} has {pomdp.n_states} hidden states, and {name} draws beliefs over "
            f"{figure.n_states}: use --figure {ANY_PLAN}"
        )
    if name != ANY_PLAN and not vectors:
        able = [one for one, other in methods(pomdp).items() if _finds_vectors(other)]
        raise UnsuitableEnvironment(
            f"{name} draws alpha vectors, and {method} finds none; methods that find them: {', '.join(able)}"
        )
    given = _given(chosen, name, figure.draw, look)
    return lambda plan: figure.draw(plan, **given)


def _finds_vectors(method: Callable[..., Any]) -> bool:
    """Whether a method may find alpha vectors, by its return type."""
    from rlsuite.planning import AlphaVectorSolution, BeliefPlan

    returned = inspect.signature(method).return_annotation
    other = isinstance(returned, type) and issubclass(returned, BeliefPlan)
    return not other or issubclass(returned, AlphaVectorSolution)


def _given(chosen: argparse.Namespace, name: str, draw: Callable[..., Any], look: Keywords) -> Keywords:
    """Keywords of a figure."""
    given = look | ({"against": chosen.against} if chosen.against else {})
    for flag in given.keys() - parameters(draw):
        raise ParameterError(f"--{flag} does not apply to {name}")
    if "tol" in parameters(draw):
        given["tol"] = chosen.tol
    return given
