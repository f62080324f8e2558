"""``rlsuite solve ENV``: the exact optimum of an environment that has a table."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import add_env_flags, add_json_flag, import_packages, keywords, whole_number
from rlsuite.cli.output import FIGURE_SUFFIXES, check_writable, columns, note, number, print_json
from rlsuite.errors import ParameterError, UnsuitableEnvironment

if TYPE_CHECKING:
    import gymnasium

    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import BeliefSolution, Solution
    from rlsuite.rendering import GridLayout

DEFAULT_GAMMA = 0.99
MOST_ROWS = 200
"""Rows of a table on the screen; --json has them all."""


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="compute the optimum of an environment that has a table",
        description="Compute the optimal values and an optimal policy, with a bound on their error.",
        allow_abbrev=False,
    )
    add_env_flags(parser)
    parser.add_argument("--method", metavar="NAME", help="policy_iteration, ...; a wrong name lists all that there are")
    parser.add_argument(
        "--gamma", type=float, metavar="NUMBER", help=f"discount (default: the environment's own, else {DEFAULT_GAMMA})"
    )
    parser.add_argument(
        "--tol", type=float, default=1e-6, metavar="NUMBER", help="largest error allowed (default 1e-6)"
    )
    parser.add_argument("--horizon", type=whole_number, metavar="N", help="number of steps, for methods that take one")
    parser.add_argument("--max-iterations", type=whole_number, metavar="N", help="limit of iterative methods")
    parser.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="any other keyword of the method"
    )
    parser.add_argument("--show", action="store_true", help="print values and policy, as a map where there is one")
    parser.add_argument("--plot", metavar="FILE.png", help="draw values and policy of a grid (.png, .svg, .pdf)")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Solve."""
    import_packages()
    from rlsuite import planning
    from rlsuite.finding import find_env
    from rlsuite.models import MDP

    env = find_env(chosen.environment, **keywords("--env", chosen.env))
    model = _model(env, chosen.gamma)
    if chosen.plot:
        check_writable(Path(chosen.plot), "--plot", FIGURE_SUFFIXES)
        if not isinstance(model, MDP):
            raise UnsuitableEnvironment(
                f"--plot draws values of states, and the states of {chosen.environment} are hidden"
            )
        _layout(env)
    known = planning.methods(model)
    method = chosen.method.replace("-", "_") if chosen.method else next(iter(sorted(known, key=_preference)))
    given = {"horizon": chosen.horizon, "max_iterations": chosen.max_iterations}
    options = {key: value for key, value in given.items() if value is not None} | keywords("--option", chosen.option)
    solver: Any = planning.solve
    solution = solver(model, method, tol=chosen.tol, **options)
    if isinstance(model, MDP):
        facts, shown = _of_states(env, model, solution)
    else:
        facts, shown = _of_beliefs(model, solution)
    if chosen.json:
        print_json({"environment": chosen.environment, "method": method, "gamma": model.gamma, **facts})
        return 0
    print(f"{chosen.environment} by {method}, gamma {number(model.gamma)}")
    print(columns(_summary(solution, facts)))
    if chosen.show:
        print(shown())
    if chosen.plot:
        _plot(env, solution, chosen.plot)
        print(f"  written: {chosen.plot}")
    if not chosen.show:
        note(f"next: the same with --show{'' if chosen.plot or not isinstance(model, MDP) else ' or --plot value.png'}")
    return 0


def _preference(method: str) -> tuple[bool, str]:
    """The library's own default first."""
    from inspect import signature

    from rlsuite.planning import solve

    return method != signature(solve).parameters["method"].default, method


def _model(env: "gymnasium.Env[Any, Any]", gamma: float | None) -> "MDP | POMDP":
    from rlsuite.models import MDP, POMDP

    own = getattr(env.unwrapped, "model", None)
    discount = gamma if gamma is not None else own.gamma if isinstance(own, MDP | POMDP) else DEFAULT_GAMMA
    return (POMDP if isinstance(own, POMDP) else MDP).from_env(env, gamma=discount)


def _layout(env: "gymnasium.Env[Any, Any]") -> "GridLayout":
    from rlsuite.rendering import GridLayout

    return GridLayout.from_env(env)


def _summary(solution: Any, facts: dict[str, Any]) -> list[tuple[str, str]]:
    converged = "yes" if solution.converged else "no"
    rows = [(key.replace("_", " "), number(value)) for key, value in facts.items() if isinstance(value, float)]
    effort = f"{solution.iterations} iteration{'s' if solution.iterations != 1 else ''}, {solution.seconds:.3f} s"
    return [*rows, ("converged", f"{converged}, {effort}")]


def _of_states(
    env: "gymnasium.Env[Any, Any]", mdp: "MDP", solution: "Solution"
) -> tuple[dict[str, Any], Callable[[], str]]:
    facts: dict[str, Any] = {
        "value_at_start": float(mdp.start @ solution.value),
        "error_bound": float(solution.error_bound),
        "converged": solution.converged,
        "value": solution.value,
        "policy": solution.policy,
    }
    return facts, lambda: _map(env, mdp, solution) or _table(mdp, solution)


def _map(env: "gymnasium.Env[Any, Any]", mdp: "MDP", solution: "Solution") -> str:
    """Values and best actions as a map; empty where there is no grid."""
    from rlsuite.rendering import GridDrawing, greedy_weights

    try:
        layout = _layout(env)
        drawing = GridDrawing(layout, solution.value, greedy_weights(solution.q))
    except (UnsuitableEnvironment, ParameterError):
        return ""
    rows = drawing.ansi(int(mdp.start.argmax())).splitlines()[:-1]  # the last one is about the agent
    return "\n".join(f"  {row}" for row in rows)


def _table(mdp: "MDP", solution: "Solution") -> str:
    """Value and best actions of each state, one row each."""
    states = mdp.state_labels or [str(state) for state in range(mdp.n_states)]
    actions = mdp.action_labels or [str(action) for action in range(mdp.n_actions)]
    rows: list[list[bool]] = solution.optimal_actions[:MOST_ROWS].tolist()
    best = [" or ".join(name for name, optimal in zip(actions, row, strict=True) if optimal) for row in rows]
    shown = zip(states, map(number, solution.value.tolist()), best, strict=False)
    text = columns([("state", "value", "best action"), *shown])
    rest = mdp.n_states - MOST_ROWS
    return f"{text}\n  ... and {rest} more: --json has them" if rest > 0 else text


def _of_beliefs(pomdp: "POMDP", solution: "BeliefSolution") -> tuple[dict[str, Any], Callable[[], str]]:
    beliefs = range(solution.n_beliefs)
    # a plan for H steps has a row for each number of steps taken; a belief is looked up where it is reached first
    rows: list[int] = [0] * solution.n_beliefs if solution.horizon is None else solution.depth.tolist()
    value = [float(solution.values[row, belief]) for row, belief in zip(rows, beliefs, strict=True)]
    planned = len(solution.policies)
    policy = [int(solution.policies[row, one]) if row < planned else -1 for row, one in zip(rows, beliefs, strict=True)]
    facts: dict[str, Any] = {
        "lower_bound": float(solution.lower_bound),
        "upper_bound": float(solution.upper_bound),
        "converged": solution.converged,
        "beliefs": solution.beliefs,
        "depth": solution.depth,
        "value": value,
        "policy": policy,
    }

    def shown() -> str:
        states = pomdp.state_labels or [str(state) for state in range(pomdp.n_states)]
        actions: list[str] = [*(pomdp.action_labels or map(str, range(pomdp.n_actions))), "-"]
        texts = [", ".join(f"{p:.4f}" for p in belief) for belief in solution.beliefs[:MOST_ROWS].tolist()]
        best = [actions[action] for action in policy]
        reached = map(str, solution.depth.tolist())
        header = (f"belief ({', '.join(states)})", "after steps", "value", "best action")
        return columns([header, *zip(texts, reached, map(number, value), best, strict=False)])

    return facts, shown


def _plot(env: "gymnasium.Env[Any, Any]", solution: "Solution", path: str) -> None:
    from rlsuite.plotting import save, value_map

    save(value_map(env, solution.value, q=solution.q), path)
