"""``rlsuite solve``, ``act`` and ``verify``: the optimum of a model, what a plan does, and whether a proof holds."""

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rlsuite.cli.flags import Typed
from rlsuite.cli.options import EnvFlags, Keywords, Look, keywords, literal, parameters, spelling_of
from rlsuite.cli.output import FigureFile, MovieFile, PageFile, columns, names, number, print_json, print_note
from rlsuite.errors import ConvergenceWarning, FileError, ParameterError, UnsuitableEnvironment, unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.cli.load import Opened
    from rlsuite.core.aliases import Env
    from rlsuite.models import MDP, POMDP, MarkovChain
    from rlsuite.models.aliases import FloatArray
    from rlsuite.planning import BeliefPlan, Solution

    Draw = Callable[[Any], Axes]

NOT_DONE = 1
"""Exit code if an error bound is above the tolerance, a question has the answer no, or a proof does not hold."""

MODEL = "env observe max-episode-steps constants gamma tabulate"
ASKED = f"{MODEL} tol rtol deadline max-iterations property constraint save show json"
EXPLORED = (
    f"{MODEL} tol rtol deadline max-iterations method horizon criterion gap prune unreachable option explore vary"
)
"""Flags of ``rlsuite solve`` for the model; for questions; and for a page with sliders."""

PLAN_SUFFIXES = (".alpha", ".pg", ".policy")
"""Suffixes of plans without their model."""


@dataclass(frozen=True)
class Source(EnvFlags):
    """Model.

    Parameters
    ----------
    environment : ENV|FILE
        an id, module:Id, or file.py:Class; or a model file (.mdp, .pomdp, .npz, .prism, .jani, .drn), with --env for
        keywords of MDP.read
    constants : N=4,p=0.5
        values of the constants that a program of PRISM or a JANI model leaves open
    gamma : NUMBER
        discount (default: the model's own; 0.99 for environments without one)
    tabulate
        build a table by probing the environment
    """

    environment: str
    _: KW_ONLY
    constants: str | None = None
    gamma: float | None = None
    tabulate: bool = False

    @property
    def words(self) -> list[str]:
        """The keywords as texts."""
        return [*super().words, *([f"constants={self.constants}"] if self.constants else [])]

    def open(self) -> "Opened":
        """The model, and the environment if it is of one."""
        from rlsuite.cli.load import open_model

        return open_model(self.environment, self.keywords, self.gamma, probe=self.tabulate)


@dataclass(frozen=True)
class Limits:
    """How exact.

    Parameters
    ----------
    tol : NUMBER
        largest error allowed (default 1e-6)
    rtol : NUMBER
        the same relative to the value (default: a thousandth of --tol, at most 1e-9)
    horizon : N
        number of steps, for methods that take one
    criterion : WHICH
        discounted, total or average: what counts (default: gamma says it)
    gap : NUMBER
        largest distance between the two bounds; overrides --tol
    prune : WHICH
        winning or fewest: the alpha vectors that win somewhere (default), or as few as keep the gap
    max_iterations : N
        largest number of iterations
    deadline : SECONDS
        stop after this time, with the best answer so far
    unreachable : WHAT
        allow or error: what to do about states that no episode can reach (default allow)
    option : KEY=VALUE
        any other keyword of the method
    """

    _: KW_ONLY
    tol: float = 1e-6
    rtol: float | None = None
    horizon: int | None = None
    criterion: str | None = None
    gap: float | None = None
    prune: str | None = None
    max_iterations: int | None = None
    deadline: float | None = None
    unreachable: str = "allow"
    option: Sequence[str] = ()

    @property
    def keywords(self) -> Keywords:
        """Keywords of a method."""
        given = {name: value for name, value in vars(self).items() if value is not None and name != "option"}
        return given | keywords("--option", self.option)

    def stops(self, *more: str) -> Keywords:
        """When the answer to a question is exact enough, or takes too long."""
        return {
            name: value for name in ("tol", "rtol", "deadline", *more) if (value := getattr(self, name)) is not None
        }


@dataclass(frozen=True)
class Picture(Look):
    """Figure.

    Parameters
    ----------
    figure : NAME
        which figure (default: value_map for a grid, state_values for others, and where states are hidden one that suits
        their number)
    against : NAME
        iterations or seconds, the x axis of convergence and gap
    vmin, vmax : VALUE
        value with the first colour, and with the last
    """

    _: KW_ONLY
    figure: str | None = None
    against: str | None = None
    vmin: float | None = None
    vmax: float | None = None


def solve(
    source: Source,
    *,
    method: str | None = None,
    limits: Limits,
    property_: str | None = None,
    constraint: Sequence[str] = (),
    show: bool = False,
    save: Annotated[str, (".npz", ".csv", ".cert", *PLAN_SUFFIXES)] | None = None,
    plot: FigureFile | None = None,
    picture: Picture,
    movie: MovieFile | None = None,
    explore: PageFile | None = None,
    vary: Sequence[str] = (),
    json: bool = False,
    typed: Typed,
) -> int:
    """Compute the optimum of an environment or of a model file.

    Compute the optimal values and an optimal policy, with a bound on their error; for hidden states, a plan and two
    bounds on its value at the start. Ctrl-C prints the best answer so far.

    Exit code 0: the error bound, or the distance between the two bounds, is within the tolerance, or the method
    searches online and has none. 1: it exceeds the tolerance; the best answer is printed with a warning. 2: an error.

    Parameters
    ----------
    method : NAME
        policy_iteration, sarsop, ... (default: auto); a wrong name lists all
    property_ : TEXT
        answer a question instead, as PRISM writes it: 'Pmax=? [F "done"]', 'Rmin=? [F "done"]'
    constraint : COST<=LIMIT
        find the best policy within a limit: 'steps<=20', or 'FILE.npy<=3', a cost for each state and action
    show
        print values and policy, as a map if the environment has one
    save : FILE
        keep the solution: .npz for rlsuite act and rlsuite.load, .csv as a table, .cert as a proof for rlsuite verify;
        where states are hidden also .alpha, .policy, .pg for other programs
    plot : FILE.png
        draw a figure (.png, .svg, .pdf)
    movie : FILE.html
        show value iteration on a grid, or, where states are hidden, a belief over time (.html, .gif, .mp4)
    explore : FILE.html
        write a page with a slider for each --vary, which shows the solution at all of its values, instead
    vary : KEY=VALUES
        gamma or a parameter of the environment: a list, 0.9,0.99, or a range with its step, 0:0.5:0.1
    json
        print the result as JSON

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

    if explore or vary:
        typed.allow(EXPLORED, " cannot be combined with --explore, which writes a page instead")
        return _explore(source, method, limits, explore, vary)
    model, env = _opened(source, questions=property_ is not None)
    from rlsuite.cli import solutions

    written = {kind: path for kind, path in (("save", save), ("plot", plot), ("movie", movie)) if path}
    if isinstance(model, MarkovChain) or property_ or constraint:
        if isinstance(model, POMDP):
            raise ParameterError("--property, --constraint: no question is answered about states that are hidden")
        if save and Path(save).suffix.lower() not in (".npz", ".csv"):
            raise ParameterError(f"--save {save}: the answer to a question is kept as .npz or .csv")
        flag = "--property" if property_ else "--constraint"
        typed.allow(ASKED, f" cannot be combined with {flag}; --tol, --rtol and --deadline can")
        if property_ or isinstance(model, MarkovChain):
            stops, watched = limits.stops("max_iterations"), sys.stderr.isatty()
            answer = planning.check_property(model, property_ or "", progress=watched, **stops)
            solution, found = answer.solution, solutions.found_for(model, answer, "")
        else:
            solution = planning.constrained(model, [_constraint(text) for text in constraint], **limits.stops())
            found = solutions.found_for(model, solution, ", ".join(constraint))
    else:
        layout = solutions.layout_of(env, model)
        if movie and layout is None and not isinstance(model, POMDP):
            raise ParameterError(f"--movie: {source.environment} has no grid to draw; --plot draws its values")
        asked = _method(model, method) if method else inspect.signature(planning.solve).parameters["method"].default
        place, drawn = source.environment, picture.of(plot)
        draw = solutions.drawer(place, env, layout, model, asked, drawn, limits.tol) if plot else None
        options = limits.keywords
        if sys.stderr.isatty() and "progress" in parameters(planning.methods(model).get(asked)):
            options = {"progress": True} | options
        solver: Any = planning.solve
        solution = solver(model, asked, **options)
        found = solutions.found_for(model, solution, asked, layout)
        if plot and draw is not None:
            from rlsuite.plotting.figure import write

            write(plot, draw, solution)
        if movie:
            from rlsuite import plotting

            if isinstance(model, POMDP):
                plotting.belief_movie(movie, solution, model, seed=0)
            elif env is not None:
                plotting.planning_movie(movie, env, gamma=model.gamma)
    if save:
        as_in_the_file = env is None and source.gamma is None and not source.words
        _save(solution, Path(save), source.environment if as_in_the_file else None)
    if json:
        print_json({"environment": source.environment, **found.facts(), **written})
        return 0 if found.good_enough else NOT_DONE
    print(f"{source.environment}{found.title}", columns(found.rows()), *([found.shown()] if show else []), sep="\n")
    for path in written.values():
        print(f"  written: {path}")
    if save and save.endswith(".npz") and found.where:
        print_note(f"next: rlsuite act {save} {found.where}")
    elif save and save.endswith(".cert"):
        print_note(f"next: rlsuite verify {source.environment} {save}")
    elif not (show or save):
        more = "" if plot or not found.where else " or --plot value.png"
        print_note(f"next: the same command with --show{more}")
    return 0 if found.good_enough else NOT_DONE


def _explore(source: Source, method: str | None, limits: Limits, page: str | None, vary: Sequence[str]) -> int:
    """Write a page with sliders."""
    from rlsuite import planning
    from rlsuite.cli.comparing import values_of
    from rlsuite.models import MDP, MarkovChain
    from rlsuite.plotting import explore
    from rlsuite.plotting.exploring import SECONDS

    if not (page and vary):
        raise ParameterError("--explore FILE.html and --vary KEY=VALUES go together, as in --vary gamma=0.5:0.9:0.1")
    ranges: dict[str, list[Any]] = {}
    for text in vary:
        key, equals, values = text.partition("=")
        ranges[key] = [literal(part) for part in values.split(",")] if "," in values else values_of(values)
        if not equals or not ranges[key]:
            raise ParameterError(f"--vary {text!r} is not of the form KEY=0.9,0.99 or KEY=FIRST:LAST:STEP")

    def answer(**varied: Any) -> object:
        gamma = varied.pop("gamma", source.gamma)
        env = [*source.env, *(f"{key}={value}" for key, value in varied.items())]
        model, _ = _opened(replace(source, gamma=gamma, env=env))
        solver: Any = planning.solve
        if isinstance(model, MarkovChain):
            raise ParameterError(f"{source.environment} holds a Markov chain, which has no solution to show")
        named = (_method(model, method),) if method else ()
        options = {"deadline": SECONDS} if limits.gap is None and not isinstance(model, MDP) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the picture says both bounds
            return solver(model, *named, **options | limits.keywords)

    answer.__name__ = source.environment
    print_note(f"page: {explore(answer, **ranges).save(page, progress=sys.stderr.isatty())}")
    return 0


def _save(solution: Any, path: Path, model: str | None) -> None:
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


def _opened(source: Source, *, questions: bool = False) -> "tuple[MDP | POMDP | MarkovChain, Env | None]":
    """The model, and its environment, if it is of one."""
    from rlsuite.models import MDP, POMDP, MarkovChain

    model, env = source.open()
    if isinstance(model, MarkovChain) and not questions:
        raise UnsuitableEnvironment(
            f"{source.environment} holds a Markov chain, in which there is nothing to choose; --property asks about it"
        )
    if not isinstance(model, MDP | POMDP | MarkovChain):
        raise UnsuitableEnvironment(
            f"{source.environment} holds a hidden Markov model, which has no actions; use 'rlsuite filter'"
        )
    return model, env


def _constraint(text: str) -> tuple[Any, float]:
    """Return the cost and the limit of ``steps<=20`` or ``costs.npy<=3``."""
    import numpy as np

    name, sign, limit = text.partition("<=")
    try:
        most = float(limit)
    except ValueError:
        sign, most = "", 0.0
    if not sign:
        raise ParameterError(
            f"--constraint {text!r}: write steps<=20, or FILE.npy<=20 with a cost for each state and action"
        )
    name = name.strip()
    if name in ("steps", "reward"):
        return name, most
    try:
        return np.load(name, allow_pickle=False) if name.endswith(".npy") else np.loadtxt(name, delimiter=","), most
    except (OSError, ValueError) as cause:
        raise FileError(
            f"--constraint {text!r}: {name} is not steps, reward, or a .npy or .csv file of numbers"
        ) from cause


def act(
    plan: str, where: str | None = None, *, steps_left: int | None = None, model: str | None = None, json: bool = False
) -> int:
    """Say what a saved solution, or a saved agent, does somewhere.

    Print the action of a solution that 'rlsuite solve ... --save' has written, and the value there: in a state, or,
    where states are hidden, in a belief; by default at the start. Of an agent, the action after an observation.

    States are names of the model, or numbers from 0. A belief is a list of the probabilities of all states, or of names
    with theirs, ok=0.5,broken=0.5; states that it leaves out have the probability 0.

    Parameters
    ----------
    plan : PLAN
        a .npz file; or .alpha, .policy or .pg, with --model
    where : STATE|BELIEF
        a state; where states are hidden, probabilities; of an agent an observation
    steps_left : N
        steps to go, of a plan with a horizon
    model : FILE|ENV
        the POMDP of a plan that is kept without it
    json
        print the result as JSON

    Examples
    --------
    rlsuite act lake.npz 14
    rlsuite act tiger.npz 0.9,0.1
    """
    from rlsuite.planning import BeliefPlan, Solution, read_plan
    from rlsuite.registry import load

    found: Any = None
    if Path(plan).suffix.lower() not in PLAN_SUFFIXES:
        if model is not None:
            raise ParameterError(f"{plan} holds its model: leave --model out")
        found = load(plan)
    elif model is None:
        raise ParameterError(f"{plan} does not hold its model: add --model FILE.pomdp, or an environment")
    else:
        found = read_plan(plan, _pomdp(model))
    if isinstance(found, BeliefPlan):
        answer, by = _in_belief(found, where, steps_left), found.method
    elif isinstance(found, Solution):
        answer, by = _in_state(found, where, steps_left), found.method
    else:
        answer, by = _after(found, plan, where, steps_left), type(found).__name__
    facts: dict[str, object] = {"where": answer.where, "action": answer.action}
    if answer.value is not None:
        facts |= {"cost": 0.0 - answer.value} if answer.costs else {"value": answer.value}
    if answer.labels is not None:
        facts["action_label"] = answer.labels[answer.action]
    if json:
        print_json({"plan": plan, **facts})
        return 0
    print(f"{plan} by {by}, {answer.where}")
    shown = [(name, number(value)) for name, value in facts.items() if isinstance(value, float)]
    print(columns([("action", str(facts.get("action_label", answer.action))), *shown]))
    return 0


class Answer(NamedTuple):
    """What is done somewhere."""

    where: str
    action: int
    value: float | None = None
    labels: tuple[str, ...] | None = None
    costs: bool = False


def _pomdp(name: str) -> "POMDP":
    from rlsuite.models import POMDP

    model = Source(name).open().model
    if not isinstance(model, POMDP):
        raise ParameterError(f"--model {name} is a {type(model).__name__}, and the plan is for a POMDP")
    return model


def _after(agent: Any, file: str, where: str | None, steps_left: int | None) -> Answer:
    """What an agent does after an observation."""
    if where is None or steps_left is not None:
        raise ParameterError(f"{file} holds an agent, which acts after an observation: rlsuite act {file} OBSERVATION")
    return Answer(f"after the observation {where}", int(agent.act(literal(where))))


def _in_state(solution: "Solution", where: str | None, steps_left: int | None) -> Answer:
    from rlsuite.models.validation import number_of
    from rlsuite.planning import FiniteHorizonSolution

    mdp = solution.lookahead.mdp
    if where is None:
        begins = mdp.start.nonzero()[0].tolist()
        if len(begins) != 1:
            raise ParameterError(f"an episode begins in one of {len(begins)} states: name one, rlsuite act PLAN STATE")
        state: int = begins[0]
    else:
        is_number = where not in (mdp.state_labels or ()) and where.isascii() and where.isdigit()
        state = number_of("state", int(where) if is_number else where, mdp.n_states, mdp.state_labels)
    name = f"in state {names(mdp.state_labels, mdp.n_states)[state]}"
    labels, costs = mdp.action_labels, mdp.costs
    if not isinstance(solution, FiniteHorizonSolution):
        if steps_left is not None:
            raise ParameterError("this solution has no horizon: leave --steps-left out")
        return Answer(name, solution.act(state), float(solution.value[state]), labels, costs)
    left = solution.horizon if steps_left is None else steps_left
    action, value = solution.act(state, left), float(solution.values[solution.horizon - left, state])
    return Answer(f"{name} with {left} steps left", action, value, labels, costs)


def _in_belief(plan: "BeliefPlan", where: str | None, steps_left: int | None) -> Answer:
    pomdp: POMDP | None = getattr(plan, "pomdp", None)
    if pomdp is None:
        raise ParameterError(f"a plan of {plan.method} does not hold its model")
    belief = pomdp.start if where is None else _belief(where, pomdp)
    left = plan.horizon if steps_left is None else steps_left
    place = "at the start" if where is None else f"in the belief {where}"
    return Answer(place, plan.act(belief, left), plan.value(belief, left), pomdp.action_labels, pomdp.mdp.costs)


def _belief(typed: str, pomdp: "POMDP") -> "FloatArray":
    """The belief that a list of probabilities, or of names and probabilities, means."""
    from rlsuite.models.validation import belief

    given: Mapping[str, float] | list[float]
    parts = [part.strip() for part in typed.split(",")]
    if any("=" in part for part in parts):
        pairs = [part.rpartition("=") for part in parts]
        given = {name.strip(): _probability(word) for name, _, word in pairs}
        if len(given) < len(parts):
            raise ParameterError(f"{typed}: a state occurs twice")
    else:
        given = [_probability(part) for part in parts]
        if len(given) != pomdp.n_states:
            states = f": {', '.join(pomdp.state_labels)}" if pomdp.state_labels is not None else ""
            raise ParameterError(
                f"{typed} has {len(given)} probabilities, and the model {pomdp.n_states} hidden states{states}"
            )
    return belief(given, pomdp.n_states, pomdp.state_labels)


def _probability(word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise ParameterError(f"{word!r} is not a probability: write 0.5,0.5 or name=0.5,name=0.5") from error


def verify(
    source: Source,
    proof: str,
    *,
    text: Annotated[str, (".mdp", ".pomdp")] | None = None,
    solve: bool = False,
    json: bool = False,
) -> int:
    """Check a proof of a solution in exact arithmetic.

    Check a proof, as 'rlsuite solve MODEL --save plan.cert' writes it, or bounds of another program: a line 'state
    NAME LOW HIGH' for each state, perhaps with an action. Every inequality is derived anew from the text of the model,
    in fractions.

    Exit code 0: the proof holds. 1: it does not; the first thing that fails is printed. 2: an error.

    Parameters
    ----------
    proof : PLAN.cert
        the proof
    text : FILE
        keep the text of the model that was checked (.mdp, .pomdp), for verify.py
    solve
        if bounds do not prove themselves, solve the model, and compare them with a proof of that
    json
        print the result as JSON

    Examples
    --------
    rlsuite verify tiger.pomdp tiger.cert
    """
    from rlsuite.core.files import replacing
    from rlsuite.models import MDP
    from rlsuite.planning import solve as solution_of
    from rlsuite.planning.proof import checked, compared, is_hidden, plain_file, proof_of_values, text_of

    try:
        given = Path(proof).read_text("utf-8-sig", "replace")
    except OSError as cause:
        raise FileError(f"{proof} cannot be read: {cause.strerror or cause}") from cause
    plain = None if source.gamma is not None or source.words else plain_file(source.environment)
    model = _decisions(source) if plain is None else None
    checked_text = text_of(model) if model is not None else plain or ""
    found = checked(checked_text, given)
    if solve and not found.right and not is_hidden(checked_text):
        model = model or _decisions(source)
        best = solution_of(model) if isinstance(model, MDP) else None
        own = "" if best is None else proof_of_values(checked_text, 0, best.value, best.policy)
        found = compared(checked_text, given, own)
    if text:
        with replacing(text) as unfinished:
            unfinished.write_text(checked_text, encoding="utf-8")
    if json:
        print_json({"model": source.environment, "proof": proof, **found._asdict()})
    else:
        print(f"{'right' if found.right else 'refused'}: {found.sentence}")
    return 0 if found.right else NOT_DONE


def _decisions(source: Source) -> "MDP | POMDP":
    """A model whose values can be proved."""
    from rlsuite.models import MDP, POMDP

    model = source.open().model
    if not isinstance(model, MDP | POMDP):
        raise UnsuitableEnvironment(f"{source.environment} holds no decision problem, whose values could be proved")
    return model
