"""One function for every planner: methods are found in the code, chosen by name, and given the options they accept.

A method is a module of `rlsuite.planning.mdp` or `rlsuite.planning.pomdp` with a function of the module's own name,
which takes the model and keyword-only options, `tol` among them. Adding such a module adds the method, here and
wherever methods are listed.
"""

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, overload

from rlsuite.core.checks import one_of
from rlsuite.core.clock import waited_for
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import MDP, POMDP
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BeliefPlan
from rlsuite.planning.reachability import check_reachable
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from rlsuite.core.aliases import Env

Planner: TypeAlias = Callable[..., Solution | BeliefPlan]
"""A method: from a model and its own options to the solution."""

Criterion = Literal["discounted", "total", "average"]
CRITERIA: tuple[Criterion, ...] = ("discounted", "total", "average")
Prune = Literal["winning", "fewest"]
PRUNE: tuple[Prune, ...] = ("winning", "fewest")
Unreachable = Literal["allow", "error"]
UNREACHABLE: tuple[Unreachable, ...] = ("allow", "error")
EVERYWHERE = ("criterion", "gamma", "prune", "unreachable")
"""Options of `solve` itself."""
FEW = 24
"""Vectors that are not too many for a graph, and so are not pruned by default."""

INSTEAD: Mapping[str, str] = {
    "gap": "; use tol=",
    "exact": '; write solve(mdp, "rational_policy_iteration")',
    "constraint": "; write rl.constrained(mdp, constraint)",
}
"""What to write for options that a method does not take."""

PACKAGES: Mapping[type, str] = {MDP: "rlsuite.planning.mdp", POMDP: "rlsuite.planning.pomdp"}


@says_what_to_write
def methods(model: MDP | POMDP | type[MDP] | type[POMDP]) -> dict[str, Planner]:
    """Return the methods that solve a kind of model, by name.

    Parameters
    ----------
    model : MDP, POMDP, or one of the two classes
        What is to be solved.

    Returns
    -------
    dict of str to callable
        Sorted by name; the first line of a function's docstring says what it does.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import methods
    >>> {"gauss_seidel", "policy_iteration", "value_iteration"} <= methods(MDP).keys()
    True
    """
    found = {name: _function_of(module) for name, module in _modules_of(_kind(model)).items()}
    return {name: function for name, function in found.items() if function is not None}


def _modules_of(kind: type) -> dict[str, str]:
    """Return the modules that may hold a method, by their last names; they are not imported."""
    package = PACKAGES[kind]
    return _listed(package, tuple(import_module(package).__path__))


@cache
def _listed(package: str, folders: tuple[str, ...]) -> dict[str, str]:
    found = [module.name for module in pkgutil.walk_packages(folders, prefix=f"{package}.")]
    return {name.rpartition(".")[2]: name for name in sorted(found, key=lambda name: name.rpartition(".")[2])}


def _function_of(module: str) -> Planner | None:
    """Import a module; return its function of the same name, if it has one."""
    function: Planner | None = getattr(import_module(module), module.rpartition(".")[2], None)
    return function if callable(function) else None


@overload
def solve(model: MDP, method: str = ..., **options: object) -> Solution: ...
@overload
def solve(model: POMDP, method: str = ..., **options: object) -> BeliefPlan: ...
@overload
def solve(model: "str | EnvSpec | Env", method: str = ..., **options: object) -> Solution | BeliefPlan: ...
@waited_for()
@says_what_to_write
def solve(
    model: "MDP | POMDP | str | EnvSpec | Env",
    method: str = "auto",
    *,
    tol: float = 1e-6,
    rtol: float | None = None,
    gamma: float | None = None,
    max_iterations: int | None = None,
    horizon: int | None = None,
    criterion: Criterion | None = None,
    deadline: float | None = None,
    progress: bool | None = None,
    prune: Prune | None = None,
    unreachable: Unreachable = "allow",
    tabulate: bool = False,
    **options: object,
) -> Solution | BeliefPlan:
    """Solve a model, with a bound on the distance of the solution from the optimum.

    Parameters
    ----------
    model : MDP, POMDP, str, EnvSpec or gymnasium.Env
        The model; or an environment that declares its table, with `gamma`.
    method : str
        Name of a method; `methods` lists those of each kind of model. By default one that suits the model; the
        solution says which.
    tol : float
        Largest error of the value, and largest loss of the policy, that is allowed; for a POMDP, largest distance of
        the two bounds at the start belief. In the unit of the reward.
    rtol : float, optional
        The same relative to the value. A solution has converged if its error bound (the distance of its bounds) is at
        most max(tol, rtol * size), as in `math.isclose`, with the largest absolute value of a state for the size; of
        the gain, for the average reward; and for a POMDP the absolute value at the start belief, or the least that it
        can be between the bounds. By default a thousandth of `tol`, at most 1e-9: that matters for values beyond
        1,000, whose last digits are lost to rounding. 0 leaves it to `tol`.
    gamma : float, optional
        Discount factor to use instead of the model's.
    max_iterations : int, optional
        Limit on the iterations of an iterative method; each method has its own default.
    horizon : int, optional
        Number of steps, for methods that plan for a finite number of them; by default one of these is chosen then.
    deadline : float, optional
        Number of seconds after which a method returns the best solution found so far. The clock stands still while
        numba compiles, in the first run of all. To load compiled code counts; it takes a few tenths of a second in the
        first run in a process, which cannot keep a shorter deadline.
    progress : bool, optional
        Whether to show a progress bar on stderr.
    prune : {"winning", "fewest"}, optional
        For a POMDP, which alpha vectors are returned: those that are the best in some belief; or as few as keep the
        bounds at the start together, which makes a finite-state controller of the plan, with a value of its own. By
        default these, if `gap` is given, there are more than 24 of the others, and they are found in a tenth of the
        time that the plan took.
    criterion : {"discounted", "total", "average"}, optional
        What counts, if `method` is "auto": the rewards discounted by gamma < 1, their sum, or their mean per step in
        the long run. By default gamma says it: below 1 the first, 1 the second. The sum and the mean leave gamma out.
    unreachable : {"allow", "error"}
        What to do about states that can occur in no episode. By default they are solved like all others: Gymnasium's
        Taxi and CliffWalking have some. In a model of your own they may be a mistake; "error" then names them before
        any work is done. For a POMDP this means its hidden states.
    tabulate : bool
        Whether to make the model of an environment without a table by `rlsuite.tabulate`, with its defaults.
    **options
        What else the method accepts, such as ``gap=`` of `sarsop`; see its own documentation.

    Returns
    -------
    Solution or BeliefPlan
        The first for an MDP. The second for a POMDP: `AlphaVectorSolution`, `BeliefSolution` or
        `OnlinePlan`; the method's documentation says which. All of them act in beliefs.

    Raises
    ------
    ParameterError
        If the method does not exist, belongs to another kind of model, or does not accept an option that was given; if
        an option has an impossible value; or if gamma is 1 and the method, without a horizon, needs a discount; or if
        an environment is given without `gamma`.
    EnvironmentNotFound, UnsuitableEnvironment
        If there is no such environment, it declares no table, or a wrapper could change what the table says.
    ModelError
        If the rewards are so large that values overflow; or if some state is unreachable, and that is an error.

    Warns
    -----
    ConvergenceWarning
        If the error bound of the result exceeds `tol`, or its two bounds are further apart.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = solve(mdp, method="value_iteration")
    >>> solution.value.tolist(), solution.converged, solution.error_bound < 1e-11
    ([90.0, 100.0, 0.0], True, True)
    >>> solve(mdp, method="value_iteraton")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: unknown method 'value_iteraton'; did you mean 'value_iteration'? (choices: ...

    A machine runs or is broken. Only its products are observed, and the plan is for two steps:

    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> plan = solve(machine, horizon=2)
    >>> plan.method, round(plan.lower_bound, 9), round(plan.upper_bound, 9), plan.act([0.5, 0.5])
    ('incremental_pruning', 1.81, 1.81, 0)
    """
    if not isinstance(model, MDP | POMDP):
        model = _tabulated(model, gamma) if tabulate else _declared(model, gamma)
    elif tabulate:
        raise ParameterError("tabulate=True makes the model of an environment, and a model is given: leave it out")
    if criterion is not None:
        method, gamma = _for_criterion(model, method, criterion, gamma, horizon)
    if method == "auto" and horizon is not None and _kind(model) is MDP:
        method = "backward_induction"
    function = _method(model, method)
    named = {
        "tol": tol,
        "rtol": rtol,
        "max_iterations": max_iterations,
        "horizon": horizon,
        "deadline": deadline,
        "progress": progress,
    }
    given = {name: value for name, value in named.items() if value is not None} | options
    _check_options(model, method, function, given)
    one_of("unreachable", unreachable, UNREACHABLE)
    if unreachable == "error":
        check_reachable(model if isinstance(model, MDP) else model.mdp)
    if prune is not None:
        one_of("prune", prune, PRUNE)
    if prune == "fewest" and isinstance(model, MDP):
        raise ParameterError("prune='fewest' leaves out alpha vectors, and an MDP has none: leave it out")
    if gamma is not None:
        model = model.replace(gamma=gamma)
    solution = function(model, **given)
    asked, by_itself = prune == "fewest", prune is None and given.get("gap") is not None
    return _of_few_vectors(solution, given, asked) if asked or by_itself else solution


def _for_criterion(
    model: MDP | POMDP, method: str, criterion: Criterion, gamma: float | None, horizon: int | None
) -> tuple[str, float | None]:
    """Return the method and the discount that a criterion asks for."""
    one_of("criterion", criterion, CRITERIA)
    if method != "auto":
        raise ParameterError(f"criterion={criterion!r} chooses the method: leave it out, or method={method!r}")
    discount = model.gamma if gamma is None else gamma
    if criterion == "discounted":
        if discount == 1.0:
            raise ParameterError("criterion='discounted' needs gamma below 1, and it is 1: pass gamma=0.99, say")
        return method, gamma
    if gamma not in (None, 1.0):
        raise ParameterError(f"criterion={criterion!r} does not discount: leave gamma={gamma:g} out")
    if criterion == "total":
        return method, 1.0
    if isinstance(model, POMDP):
        raise ParameterError("criterion='average' is for models of type MDP, and the states of this one are hidden")
    if horizon is not None:
        raise ParameterError("criterion='average' looks at the long run: leave horizon out, or take criterion='total'")
    return "average_reward_policy_iteration", None


def _of_few_vectors(plan: Solution | BeliefPlan, given: Mapping[str, object], asked: bool) -> Solution | BeliefPlan:
    """Return a plan of few vectors; unless this was asked for, only where it is possible and found at once."""
    from rlsuite.planning.pomdp.plan_pruning import fewest

    if not asked and not (isinstance(plan, AlphaVectorSolution) and plan.n_vectors > FEW):
        return plan
    if not isinstance(plan, AlphaVectorSolution):
        method = plan.method
        raise ParameterError(f"prune='fewest' leaves out alpha vectors, and a plan of {method} has none: leave it out")
    watch = Watch(plan.method, tol=given["tol"], rtol=given.get("rtol"), gap=given.get("gap"))
    watch.between(plan.lower_bound, plan.upper_bound)
    try:
        return fewest(plan, watch.tol, None if asked else plan.seconds / 10.0)
    except ParameterError:
        if asked:
            raise
        return plan


def _tabulated(env: "str | EnvSpec | Env", gamma: float | None) -> MDP | POMDP:
    from rlsuite.environments.tabulated_model import tabulate

    return tabulate(env) if gamma is None else tabulate(env, gamma=gamma)


def _declared(given: object, gamma: float | None) -> MDP | POMDP:
    """The model that an environment declares."""
    import gymnasium
    from gymnasium.envs.registration import EnvSpec

    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import opened
    from rlsuite.environments.forms.table import declared_model

    if not isinstance(given, str | gymnasium.Env | EnvSpec):
        raise ParameterError(f"{given!r} is neither an MDP nor a POMDP, nor an environment")
    if isinstance(given, str) and Path(given).suffix and Path(given).is_file() and Path(given).suffix != ".py":
        raise ParameterError(f"{given!r} is a file: read the model first, as in rl.solve(rl.POMDP.read({given!r}))")
    with opened(cast("str | EnvSpec | Env", given)) as env:
        return declared_model(facts_of(env), gamma)


def _kind(model: object) -> type:
    for kind in PACKAGES:
        if isinstance(model, kind) or model is kind:
            return kind
    raise ParameterError(f"{model!r} is neither an MDP nor a POMDP")


def _method(model: MDP | POMDP, name: str) -> Planner:
    kind = _kind(model)
    modules = _modules_of(kind)
    function = _function_of(modules[name]) if name in modules else None
    if function is not None:
        return function
    own = methods(model)
    for other in PACKAGES:
        if other is not kind and name in methods(other):
            hint = "; solve(model.mdp) plans as if the states were observed" if kind is POMDP else ""
            raise ParameterError(
                f"{name!r} solves a model of type {other.__name__}, and this one is of type {kind.__name__}; its "
                f"methods: {', '.join(own)}{hint}"
            )
    hint = f"; write criterion={name!r}" if name in CRITERIA else ""
    raise ParameterError(f"{unknown('method', name, own)}{hint}")


def _check_options(model: MDP | POMDP, method: str, function: Planner, given: Mapping[str, object]) -> None:
    accepted = _options(function)
    for name in given:
        if name in accepted:
            continue
        instead = INSTEAD.get(name, "")
        others = [other for other, candidate in methods(model).items() if name in _options(candidate)]
        if others:
            raise ParameterError(f"{method} takes no {name}{instead}; these do: {', '.join(others)}")
        raise ParameterError(unknown(f"option of {method}", name, [*accepted, *EVERYWHERE]) + instead)
    for name, parameter in accepted.items():
        if parameter.default is Parameter.empty and name not in given:
            raise ParameterError(f"{method} needs {name}=")


def _options(function: Planner) -> dict[str, Parameter]:
    """Return the keyword-only parameters of a method."""
    return {name: p for name, p in signature(function).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
