"""``rlsuite solve ENV``: the optimum of an environment that has a table, or of a model in a file."""

import argparse
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import add_env_flags, add_json_flag, import_packages, keywords, whole_number
from rlsuite.cli.output import FIGURE_SUFFIXES, check_writable, note, print_json
from rlsuite.errors import ConvergenceWarning, ParameterError, UnsuitableEnvironment, unknown

if TYPE_CHECKING:
    import gymnasium
    from matplotlib.axes import Axes

    from rlsuite.cli.solutions import Found
    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import Solution
    from rlsuite.rendering import GridLayout

DEFAULT_GAMMA = 0.99
ON_GRID, ELSEWHERE = "value_map", "state_values"
"""Figures that --plot draws unless --figure names another one."""

NOT_CONVERGED = 1
"""Exit code if the error bound of the answer is above the tolerance."""


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="compute the optimum of an environment that has a table, or of a model file",
        description="Compute the optimal values and an optimal policy, with a bound on their error. Ctrl-C prints the "
        "best answer so far.",
        epilog="Exit code 0: the error bound is within the tolerance. 1: it is not; the best answer found is printed "
        "with a warning. 2: there is no answer.",
        allow_abbrev=False,
    )
    add_env_flags(parser, "ENV|FILE", "; or a model file (.mdp, .npz, .tra), with --env for keywords of MDP.read")
    parser.add_argument(
        "--method", metavar="NAME", help="policy_iteration, ... (default: auto); a wrong name lists all"
    )
    parser.add_argument(
        "--gamma",
        type=float,
        metavar="NUMBER",
        help=f"discount (default: the model's own; {DEFAULT_GAMMA} for environments without one)",
    )
    parser.add_argument(
        "--tol", type=float, default=1e-6, metavar="NUMBER", help="largest error allowed (default 1e-6)"
    )
    parser.add_argument("--horizon", type=whole_number, metavar="N", help="number of steps, for methods that take one")
    parser.add_argument("--max-iterations", type=whole_number, metavar="N", help="limit of iterative methods")
    parser.add_argument("--deadline", type=float, metavar="SECONDS", help="then stop with the best answer so far")
    parser.add_argument(
        "--unreachable",
        default="allow",
        metavar="WHAT",
        help="allow or error: what to do about states in which no episode can be (default allow)",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="any other keyword of the method"
    )
    parser.add_argument("--show", action="store_true", help="print values and policy, as a map where there is one")
    parser.add_argument("--plot", metavar="FILE.png", help="draw a figure (.png, .svg, .pdf)")
    parser.add_argument(
        "--figure", metavar="NAME", help=f"which figure (default: {ON_GRID} for a grid, {ELSEWHERE} for others)"
    )
    parser.add_argument("--against", metavar="NAME", help="iterations or seconds, the x axis of convergence")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Solve."""
    from rlsuite import planning
    from rlsuite.cli.solutions import Found

    env, model = _opened(chosen)
    layout = _layout(env, model)
    draw = _drawer(chosen, env, layout, model)
    known = planning.methods(model)
    method = chosen.method.replace("-", "_") if chosen.method else min(known, key=_preference)
    given = {"horizon": chosen.horizon, "max_iterations": chosen.max_iterations, "deadline": chosen.deadline}
    options = {key: value for key, value in given.items() if value is not None} | keywords("--option", chosen.option)
    if sys.stderr.isatty() and "progress" in _parameters(known.get(method)):
        options = {"progress": True} | options
    solver: Any = planning.solve
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        solution = solver(model, method, tol=chosen.tol, unreachable=chosen.unreachable, **options)
    found = Found(model, solution, layout)
    if draw is not None:
        from rlsuite.plotting import save

        save(draw(solution), chosen.plot)
    _report(chosen, found, method)
    return 0 if solution.converged else NOT_CONVERGED


def _opened(chosen: argparse.Namespace) -> "tuple[gymnasium.Env[Any, Any] | None, MDP | POMDP]":
    """The environment, if it is one, and the model."""
    from rlsuite.models import MDP, POMDP
    from rlsuite.models.on_disk import SUFFIXES

    path, given = Path(chosen.environment), keywords("--env", chosen.env)
    if path.suffix.lower() in SUFFIXES or (path.suffix not in ("", ".py") and path.is_file()):
        known = _parameters(MDP.read) - {"gamma"}
        for name in given.keys() - known:
            raise ParameterError(f"{path}: {unknown('keyword of MDP.read', name, known)}")
        return None, MDP.read(path, gamma=chosen.gamma, **given)
    from rlsuite.finding import find_env

    import_packages()
    env = find_env(chosen.environment, **given)
    own = getattr(env.unwrapped, "model", None)
    own_gamma = own.gamma if isinstance(own, MDP | POMDP) else DEFAULT_GAMMA
    kind = POMDP if isinstance(own, POMDP) else MDP
    return env, kind.from_env(env, gamma=own_gamma if chosen.gamma is None else chosen.gamma)


def _preference(method: str) -> tuple[bool, str]:
    """The library's own default first."""
    from rlsuite.planning import solve

    return method != inspect.signature(solve).parameters["method"].default, method


def _parameters(function: Callable[..., Any] | None) -> set[str]:
    """Keywords of a function; none if there is no such function."""
    if function is None:
        return set()
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def _layout(env: "gymnasium.Env[Any, Any] | None", model: "MDP | POMDP") -> "GridLayout | None":
    """Where the states lie, one on each square; None if they do not."""
    from rlsuite.models import MDP
    from rlsuite.rendering import GridLayout

    if env is None or not isinstance(model, MDP):
        return None
    try:
        layout = GridLayout.from_env(env)
        return layout if layout.states.max() < layout.n_states == model.n_states else None
    except (UnsuitableEnvironment, ParameterError):
        return None


def _drawer(
    chosen: argparse.Namespace,
    env: "gymnasium.Env[Any, Any] | None",
    layout: "GridLayout | None",
    model: "MDP | POMDP",
) -> "Callable[[Solution], Axes] | None":
    """How --plot draws what will be found; what cannot be drawn is found out before solving."""
    from rlsuite.models import MDP

    if not chosen.plot:
        for flag in ("figure", "against"):
            if getattr(chosen, flag):
                raise ParameterError(f"--{flag} is about the figure of --plot: give its file name too")
        return None
    check_writable(Path(chosen.plot), "--plot", FIGURE_SUFFIXES)
    if not isinstance(model, MDP):
        raise UnsuitableEnvironment(f"--plot draws values of states, and the states of {chosen.environment} are hidden")
    from rlsuite.plotting import solution_figures

    name = (chosen.figure or (ELSEWHERE if layout is None else ON_GRID)).replace("-", "_")
    if name not in solution_figures():
        raise ParameterError(unknown("figure", name, solution_figures()))
    figure = solution_figures()[name]
    if figure.on_grid and layout is None:
        raise UnsuitableEnvironment(
            f"{chosen.environment} does not say where its states lie on a grid, and {name} draws them there"
        )
    given = {"against": chosen.against} if chosen.against else {}
    for flag in given.keys() - _parameters(figure.draw):
        raise ParameterError(f"--{flag} is not about {name}")
    if "tol" in _parameters(figure.draw):
        given["tol"] = chosen.tol
    first = (env,) if figure.on_grid else ()
    return lambda solution: figure.draw(*first, solution, **given)


def _report(chosen: argparse.Namespace, found: "Found", method: str) -> None:
    solver: str = found.solution.method
    if chosen.json:
        by = {"method": solver, "chosen_by": None if solver == method else method}
        gamma = {"gamma": found.gamma}
        written = {"plot": chosen.plot} if chosen.plot else {}
        print_json({"environment": chosen.environment, **by, **gamma, **found.facts(), **written})
        return
    picked = "" if solver == method else f" (chosen by {method})"
    print(f"{chosen.environment} by {solver}{picked}, {found.setting}")
    print(found.summary())
    if chosen.show:
        print(found.shown())
    if chosen.plot:
        print(f"  written: {chosen.plot}")
    if not chosen.show:
        note(f"next: the same with --show{_or_plot(chosen, found)}")


def _or_plot(chosen: argparse.Namespace, found: "Found") -> str:
    from rlsuite.models import MDP

    if chosen.plot or not isinstance(found.model, MDP):
        return ""
    return " or --plot value.png"
