"""``rlsuite solve ENV``: the optimum of an environment that has a table, or of a model in a file."""

import argparse
import inspect
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.figures import ELSEWHERE, ON_GRID, add_look_flags, drawer
from rlsuite.cli.options import (
    DEFAULT_GAMMA,
    Commands,
    add_command,
    add_env_flags,
    keywords,
    literal,
    parameters,
    spelling_of,
    whole_number,
)
from rlsuite.cli.output import MOVIE_SUFFIXES, check_writable, print_json, print_note
from rlsuite.errors import ConvergenceWarning, ParameterError, UnsuitableEnvironment, unknown

if TYPE_CHECKING:
    from rlsuite.cli.solutions import FoundForMDP, FoundForPOMDP
    from rlsuite.core.aliases import Env
    from rlsuite.models import MDP, POMDP, MarkovChain
    from rlsuite.planning import BeliefPlan, Solution
    from rlsuite.rendering import GridLayout

NOT_CONVERGED = 1
"""Exit code if the error bound of the answer is above the tolerance."""

SAVED = (".npz", ".csv", ".cert", ".alpha", ".policy", ".pg")
"""Suffixes of the files of solutions."""

NOT_EXPLORED = ("property", "constraint", "save", "plot", "movie", "figure", "show", "json")
"""Flags that ask for something else than a page with sliders."""

FLAGS = ("rtol", "horizon", "criterion", "gap", "prune", "max_iterations", "deadline")
"""Keywords of some methods that are flags of their own."""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "solve", run)
    add_env_flags(
        parser,
        "ENV|FILE",
        "; or a model file (.mdp, .pomdp, .npz, .prism, .jani, .drn), with --env for keywords of MDP.read",
    )
    parser.add_argument(
        "--constants",
        action="append",
        dest="env",
        type=lambda word: f"constants={word}",
        metavar="N=4,p=0.5",
        help="values of the constants that a program of PRISM or a JANI model leaves open",
    )
    parser.add_argument("--tabulate", action="store_true", help="build a table by probing the environment")
    parser.add_argument(
        "--method", metavar="NAME", help="policy_iteration, sarsop, ... (default: auto); a wrong name lists all"
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
    parser.add_argument(
        "--rtol",
        type=float,
        metavar="NUMBER",
        help="the same relative to the value (default: a thousandth of --tol, at most 1e-9)",
    )
    parser.add_argument("--horizon", type=whole_number, metavar="N", help="number of steps, for methods that take one")
    parser.add_argument(
        "--criterion", metavar="WHICH", help="discounted, total or average: what counts (default: gamma says it)"
    )
    parser.add_argument(
        "--gap", type=float, metavar="NUMBER", help="largest distance between the two bounds; overrides --tol"
    )
    parser.add_argument(
        "--prune",
        metavar="WHICH",
        help="winning or fewest: the alpha vectors that win somewhere (default), or as few as keep the gap",
    )
    parser.add_argument(
        "--property",
        metavar="TEXT",
        help="answer a question instead, as PRISM writes it: 'Pmax=? [F \"done\"]', 'Rmin=? [F \"done\"]'",
    )
    parser.add_argument(
        "--constraint",
        action="append",
        default=[],
        metavar="COST<=LIMIT",
        help="find the best policy within a limit: 'steps<=20', or 'FILE.npy<=3', a cost for each state and action",
    )
    parser.add_argument("--max-iterations", type=whole_number, metavar="N", help="largest number of iterations")
    parser.add_argument(
        "--deadline", type=float, metavar="SECONDS", help="stop after this time, with the best answer so far"
    )
    parser.add_argument(
        "--unreachable",
        default="allow",
        metavar="WHAT",
        help="allow or error: what to do about states that no episode can reach (default allow)",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="any other keyword of the method"
    )
    parser.add_argument(
        "--show", action="store_true", help="print values and policy, as a map if the environment has one"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="keep the solution: .npz for rlsuite act and rlsuite.load, .csv as a table, .cert as a proof for rlsuite "
        "verify; where states are hidden also .alpha, .policy, .pg for other programs",
    )
    parser.add_argument("--plot", metavar="FILE.png", help="draw a figure (.png, .svg, .pdf)")
    parser.add_argument(
        "--movie",
        metavar="FILE.html",
        help="show value iteration on a grid, or, where states are hidden, a belief over time (.html, .gif, .mp4)",
    )
    parser.add_argument(
        "--explore",
        metavar="FILE.html",
        help="write a page with a slider for each --vary, which shows the solution at all of its values, instead",
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="gamma or a parameter of the environment: a list, 0.9,0.99, or a range with its step, 0:0.5:0.1",
    )
    parser.add_argument(
        "--figure",
        metavar="NAME",
        help=f"which figure (default: {ON_GRID} for a grid, {ELSEWHERE} for others, and where states are hidden one "
        "that suits their number)",
    )
    add_look_flags(parser, colours=True)
    parser.add_argument("--against", metavar="NAME", help="iterations or seconds, the x axis of convergence and gap")


def run(chosen: argparse.Namespace) -> int:
    """Compute the optimum of an environment or of a model file.

    Compute the optimal values and an optimal policy, with a bound on their error; for hidden states, a plan and two
    bounds on its value at the start. Ctrl-C prints the best answer so far.

    Exit code 0: the error bound, or the distance between the two bounds, is within the tolerance, or the method
    searches online and has none. 1: it exceeds the tolerance; the best answer is printed with a warning. 2: an error.

    Examples
    --------
    rlsuite solve FrozenLake-v1 --gamma 0.95 --show --save lake.npz
    rlsuite solve FrozenLake-v1 --gamma 0.5 --method rational_policy_iteration
    rlsuite solve tiger.pomdp --method sarsop --gap 0.01 --save tiger.npz
    rlsuite solve tiger.pomdp --horizon 3 --plot tiger.png
    rlsuite solve tiger.pomdp --save tiger.cert
    rlsuite solve CliffWalking-v1 --explore cliff.html --vary gamma=0.5:0.99:0.07 --vary is_slippery=False,True
    rlsuite solve FrozenLake-v1 --gamma 0.95 --constraint 'steps<=10'
    rlsuite solve FrozenLake-v1 --property 'Pmax=? [F "15"]'
    """
    from rlsuite import planning
    from rlsuite.models import POMDP, MarkovChain

    if chosen.save:
        check_writable(Path(chosen.save), "--save", SAVED)
    if chosen.explore or chosen.vary:
        return _explore(chosen)
    env, model = _opened(chosen)
    if isinstance(model, MarkovChain) or chosen.property or chosen.constraint:
        from rlsuite.cli import questions

        if isinstance(model, POMDP):
            raise ParameterError("--property, --constraint: no question is answered about states that are hidden")
        if isinstance(model, MarkovChain) or chosen.property:
            return questions.check_property(chosen, model)
        return questions.solve_within(chosen, model)
    layout = _layout(env, model)
    if chosen.movie:
        check_writable(Path(chosen.movie), "--movie", MOVIE_SUFFIXES)
        if layout is None and not isinstance(model, POMDP):
            raise ParameterError(f"--movie: {chosen.environment} has no grid to draw; --plot draws its values")
    default: str = inspect.signature(planning.solve).parameters["method"].default
    method = _method(model, chosen.method) if chosen.method else default
    draw = drawer(chosen, env, layout, model, method)
    options = _options(chosen)
    if sys.stderr.isatty() and "progress" in parameters(planning.methods(model).get(method)):
        options = {"progress": True} | options
    solver: Any = planning.solve
    solution = solver(model, method, tol=chosen.tol, unreachable=chosen.unreachable, **options)
    found = _found(model, solution, layout)
    if draw is not None:
        from rlsuite.plotting.figure import write

        write(chosen.plot, draw, solution)
    if chosen.movie:
        from rlsuite import plotting

        if isinstance(model, POMDP):
            plotting.belief_movie(chosen.movie, solution, model, seed=0)
        elif env is not None:
            plotting.planning_movie(chosen.movie, env, gamma=model.gamma)
    if chosen.save:
        as_in_the_file = env is None and chosen.gamma is None and not chosen.env
        _save(solution, Path(chosen.save), chosen.environment if as_in_the_file else None)
    _report(chosen, found, method)
    return 0 if found.good_enough else NOT_CONVERGED


def _options(chosen: argparse.Namespace) -> dict[str, Any]:
    given = {flag: getattr(chosen, flag) for flag in FLAGS if getattr(chosen, flag) is not None}
    return given | keywords("--option", chosen.option)


def _explore(chosen: argparse.Namespace) -> int:
    """Write a page with sliders."""
    from rlsuite import planning
    from rlsuite.cli.sweeping import values_of
    from rlsuite.models import MDP, MarkovChain
    from rlsuite.plotting import explore
    from rlsuite.plotting.exploring import SECONDS

    if not (chosen.explore and chosen.vary):
        raise ParameterError("--explore FILE.html and --vary KEY=VALUES go together, as in --vary gamma=0.5:0.9:0.1")
    for other in NOT_EXPLORED:
        if getattr(chosen, other):
            raise ParameterError(f"--{other} does not go with --explore, which writes a page instead")
    check_writable(Path(chosen.explore), "--explore", (".html",))
    fixed = {name: getattr(chosen, name) for name in ("env", "gamma")}
    ranges: dict[str, list[Any]] = {}
    for text in chosen.vary:
        key, equals, values = text.partition("=")
        ranges[key] = [literal(part) for part in values.split(",")] if "," in values else values_of(values)
        if not equals or not ranges[key]:
            raise ParameterError(f"--vary {text!r} is not of the form KEY=0.9,0.99 or KEY=FIRST:LAST:STEP")

    def answer(**varied: Any) -> object:
        chosen.gamma = varied.pop("gamma", fixed["gamma"])
        chosen.env = [*fixed["env"], *(f"{key}={value}" for key, value in varied.items())]
        _, model = _opened(chosen)
        solver: Any = planning.solve
        if isinstance(model, MarkovChain):
            raise ParameterError(f"{chosen.environment} holds a Markov chain, which has no solution to show")
        method = (_method(model, chosen.method),) if chosen.method else ()
        options = {"deadline": SECONDS} if chosen.gap is None and not isinstance(model, MDP) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the picture says both bounds
            return solver(model, *method, tol=chosen.tol, unreachable=chosen.unreachable, **options | _options(chosen))

    answer.__name__ = chosen.environment
    print_note(f"page: {explore(answer, **ranges).save(chosen.explore, progress=sys.stderr.isatty())}")
    return 0


def _save(solution: "Solution | BeliefPlan", path: Path, model: str | None) -> None:
    """Write a solution to a file of the kind that the suffix says; a proof is about the file of the model, if given."""
    from rlsuite.planning import BeliefPlan, write_plan

    suffix = path.suffix.lower()
    if suffix == ".csv":
        solution.to_csv(path)
    elif suffix == ".npz":
        solution.save(path)
    elif suffix == ".cert":
        solution.write(path, model=model)
    elif isinstance(solution, BeliefPlan):
        write_plan(solution, path)
    else:
        raise ParameterError(f"--save {path}: a {suffix} file is a plan for hidden states; use .npz or .csv")


def _method(model: "MDP | POMDP", typed: str) -> str:
    """The name of a method, typed with dashes or underscores."""
    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import methods

    name = typed.replace("-", "_")
    if not any(name in methods(kind) for kind in (MDP, POMDP)):
        raise ParameterError(unknown("method", typed, methods(model), spelling_of(typed)))
    return name


def _opened(chosen: argparse.Namespace) -> "tuple[Env | None, MDP | POMDP | MarkovChain]":
    """The environment, if it is one, and the model."""
    from rlsuite.cli.load import open_model
    from rlsuite.models import MDP, POMDP, MarkovChain

    model, env = open_model(chosen.environment, keywords("--env", chosen.env), chosen.gamma, probe=chosen.tabulate)
    if isinstance(model, MarkovChain) and not chosen.property:
        raise UnsuitableEnvironment(
            f"{chosen.environment} holds a Markov chain, in which there is nothing to choose; --property asks about it"
        )
    if not isinstance(model, MDP | POMDP | MarkovChain):
        raise UnsuitableEnvironment(
            f"{chosen.environment} holds a hidden Markov model, which has no actions; use 'rlsuite filter'"
        )
    return env, model


def _layout(env: "Env | None", model: "MDP | POMDP") -> "GridLayout | None":
    """The layout of the states, one on each square; None if there is none."""
    from rlsuite.models import MDP
    from rlsuite.rendering import GridLayout

    if env is None or not isinstance(model, MDP):
        return None
    try:
        layout = GridLayout.from_env(env)
        return layout if layout.states.max() < layout.n_states == model.n_states else None
    except (UnsuitableEnvironment, ParameterError):
        return None


def _found(model: "MDP | POMDP", solution: Any, layout: "GridLayout | None") -> "FoundForMDP | FoundForPOMDP":
    from rlsuite.cli.solutions import FoundForMDP, FoundForPOMDP
    from rlsuite.models import POMDP

    return FoundForPOMDP(model, solution) if isinstance(model, POMDP) else FoundForMDP(model, solution, layout)


def _report(chosen: argparse.Namespace, found: "FoundForMDP | FoundForPOMDP", method: str) -> None:
    solver: str = found.solution.method
    if chosen.json:
        by = {"method": solver, "chosen_by": None if solver == method else method}
        gamma = {"gamma": found.gamma}
        written = {kind: getattr(chosen, kind) for kind in ("save", "plot", "movie") if getattr(chosen, kind)}
        print_json({"environment": chosen.environment, **by, **gamma, **found.facts(), **written})
        return
    picked = "" if solver == method else f" (chosen by {method})"
    print(f"{chosen.environment} by {solver}{picked}, {found.setting}")
    print(found.summary())
    if chosen.show:
        print(found.shown())
    for path in filter(None, (chosen.save, chosen.plot, chosen.movie)):
        print(f"  written: {path}")
    if chosen.save and chosen.save.endswith(".npz"):
        print_note(f"next: rlsuite act {chosen.save} {found.where}")
    elif chosen.save and chosen.save.endswith(".cert"):
        print_note(f"next: rlsuite verify {chosen.environment} {chosen.save}")
    elif not chosen.show:
        print_note(f"next: the same command with --show{'' if chosen.plot else ' or --plot value.png'}")
