"""What ``rlsuite solve`` has found, as text and as plain values for JSON, and how it is drawn."""

import inspect
import shlex
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rlsuite.cli.options import Keywords, parameters, spelling_of
from rlsuite.cli.output import MOST_COLUMNS, Facts, cells, heads, names, number, table
from rlsuite.errors import ParameterError, UnsuitableEnvironment, unknown
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning import (
    AlphaVectorSolution,
    BeliefPlan,
    BeliefSolution,
    ConstrainedSolution,
    OnlinePlan,
    PropertyAnswer,
    Solution,
    UpperBoundSolution,
    methods,
)
from rlsuite.planning.mdp.rational_policy_iteration import ExactSolution
from rlsuite.planning.pomdp.solution import values_at
from rlsuite.rendering import GridDrawing, GridLayout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.core.aliases import Env

    Draw = Callable[[Any], Axes]

V = TypeVar("V", float, FloatArray)

LONGEST_FRACTION = 60
"""Characters of a fraction on the screen; --json has all of them."""

MOST_SHOWN = 20
"""Rows of a table of states, vectors or beliefs on the screen; --json has them all."""

LARGEST_MAP = 100
"""Rows or columns of a grid that is still printed as a map."""

ON_GRID, ELSEWHERE = "value_map", "state_values"
"""Figures of an MDP that --plot draws unless --figure names another one."""

ANY_PLAN = "gap"
"""The figure of a POMDP that fits every kind of solution; all others draw alpha vectors."""


class Found:
    """What was found."""

    title: str
    """What it is, behind the name of the model."""
    good_enough: bool
    """Whether it is within the tolerance."""
    where: str = ""
    """Where to ask a saved solution for its action, on the command line."""

    def rows(self) -> list[tuple[str, str]]:
        """Lines of the summary: what, and how much."""
        raise NotImplementedError

    def facts(self) -> Facts:
        """All of it, for JSON."""
        raise NotImplementedError

    def shown(self) -> str:
        """Values and actions, as a map or a table."""
        raise NotImplementedError


def found_for(model: Any, solution: Any, asked: str, layout: GridLayout | None = None) -> Found:
    """What a method has found, or the answer to a question.

    Parameters
    ----------
    model : MDP, POMDP or MarkovChain
        The model.
    solution : Solution, BeliefPlan, PropertyAnswer or ConstrainedSolution
        What was found.
    asked : str
        The method that was asked for, which may have chosen another one; or the constraints, with commas between them.
    layout : GridLayout, optional
        Where the states of an MDP lie on a grid, if there is one.
    """
    if isinstance(solution, PropertyAnswer):
        return _Answered(solution)
    if isinstance(solution, ConstrainedSolution):
        return _Within(model, solution, asked)
    if isinstance(model, MDP):
        return _FoundForMDP(model, solution, asked, layout)
    kinds = {AlphaVectorSolution: _Vectors, BeliefSolution: _Beliefs, OnlinePlan: _Search}
    kind = next((found for plan, found in kinds.items() if isinstance(solution, plan)), _FoundForPOMDP)
    return kind(model, solution, asked)


def layout_of(env: "Env | None", model: MDP | POMDP) -> GridLayout | None:
    """The layout of the states, one on each square; None if there is none."""
    if env is None or not isinstance(model, MDP):
        return None
    try:
        layout = GridLayout.from_env(env)
        return layout if layout.states.max() < layout.n_states == model.n_states else None
    except (UnsuitableEnvironment, ParameterError):
        return None


def _by(solution: Any, asked: str, setting: str) -> str:
    picked = "" if solution.method == asked else f" (chosen by {asked})"
    return f" by {solution.method}{picked}, {setting}"


def _method(solution: Any, asked: str) -> Facts:
    return {"method": solution.method, "chosen_by": None if solution.method == asked else asked}


class _FoundForMDP(Found):
    """A solution of an MDP."""

    def __init__(self, mdp: MDP, solution: Solution, asked: str, layout: GridLayout | None) -> None:
        self.mdp, self.solution, self.asked, self.layout = mdp, solution, asked, layout
        self.gain: Any = getattr(solution, "gain", None)
        self.gamma = solution.lookahead.mdp.gamma if self.gain is None else None
        setting = "average reward" if self.gamma is None else f"gamma {self.gamma:.15g}"
        self.title, self.good_enough = _by(solution, asked, setting), solution.converged
        self.where = shlex.quote(names(mdp.state_labels, mdp.n_states)[int(mdp.start.argmax())])

    def rows(self) -> list[tuple[str, str]]:
        (name, value), *_ = self._at_start().items()
        exact = [
            ("exactly", text if len(text) <= LONGEST_FRACTION else f"a fraction of {len(text)} digits, see --json")
            for text in self._exact()[:1]
        ]
        bound = ("error bound", number(float(self.solution.error_bound)))
        return [(name.replace("_", " "), number(value)), *exact, bound, ("converged", _effort(self.solution))]

    def facts(self) -> Facts:
        solution, exact = self.solution, self._exact()
        average = self.gain is not None
        name = "gain_at_start" if average else "value_at_start"
        return {
            **_method(solution, self.asked),
            "gamma": self.gamma,
            name: getattr(solution, name),
            **self._at_start(),
            **{key: getattr(solution, key) for key in ("error_bound", "converged", "iterations", "seconds")},
            **({"gain": self.gain} if average else {}),
            **({"exactly_at_start": exact[0], "exactly": exact[1:]} if exact else {}),
            "value": solution.value,
            "policy": solution.policy,
            "optimal_actions": _listed(solution.optimal_actions),
            "trace": solution.trace._asdict(),
        }

    def shown(self) -> str:
        layout, solution = self.layout, self.solution
        if layout is None or max(layout.n_rows, layout.n_columns) > LARGEST_MAP:
            return self._table()
        policy = None if layout.arrows is None else solution.optimal_actions.astype(np.float64)
        drawing = GridDrawing(layout, solution.value, policy)
        rows = drawing.ansi(int(self.mdp.start.argmax())).splitlines()[:-1]  # the last line describes the agent
        return "\n".join(f"  {row}" for row in rows)

    def _table(self) -> str:
        """Value and best actions of each state, one row each."""
        mdp, shown = self.mdp, min(self.mdp.n_states, MOST_SHOWN)
        actions = names(mdp.action_labels, mdp.n_actions)
        values = self.solution.cost if mdp.costs else self.solution.value
        optimal: list[list[bool]] = self.solution.optimal_actions[:shown].tolist()

        def rows() -> Iterator[list[str]]:
            for state, row, value in zip(
                names(mdp.state_labels, shown), optimal, values[:shown].tolist(), strict=False
            ):
                best = [action for action, chosen in zip(actions, row, strict=True) if chosen]
                yield [state, number(value), " or ".join(best) or "-"]

        what = "cost" if mdp.costs else "value"
        header = what if self.gain is None else f"relative {what}" if mdp.costs else "bias"
        return table(["state", header, "best action"], rows(), mdp.n_states, MOST_SHOWN)

    def _exact(self) -> list[str]:
        """The value, or cost, at the start and of each state as a fraction; empty if it was not solved exactly."""
        if not isinstance(self.solution, ExactSolution):
            return []
        values = [-one if self.mdp.costs else one for one in self.solution.fractions]
        at_start = sum((Fraction(p) * one for p, one in zip(self.mdp.start.tolist(), values, strict=True)), Fraction(0))
        return [str(one) for one in (at_start, *values)]

    def _at_start(self) -> dict[str, float]:
        """The value at the start, or the cost if the model was made from costs."""
        name = "value_at_start" if self.gain is None else "gain_at_start"
        value: float = getattr(self.solution, name)
        if self.mdp.costs:
            return {"cost_at_start" if self.gain is None else "cost_per_step": 0.0 - value}
        return {name: value}


class _FoundForPOMDP(Found):
    """A plan for a POMDP, of a form that is not known here."""

    def __init__(self, pomdp: POMDP, solution: Any, asked: str) -> None:
        self.pomdp, self.solution, self.asked = pomdp, solution, asked
        self.gamma: float = getattr(solution, "pomdp", pomdp).gamma
        horizon = solution.horizon
        steps = "" if horizon is None else f", {horizon} step{_plural(horizon)}"
        self.title = _by(solution, asked, f"gamma {self.gamma:.15g}{steps}")
        self.good_enough = solution.converged or isinstance(solution, OnlinePlan)  # which has no tolerance
        few = pomdp.n_states <= MOST_COLUMNS
        self.where = ",".join(map(number, pomdp.start.tolist())) if few else ""
        self.states = names(pomdp.state_labels, pomdp.n_states)
        self.actions = [*names(pomdp.action_labels, pomdp.n_actions), "-"]  # the number of no action is -1
        self.word = "cost" if pomdp.mdp.costs else "value"

    def first(self) -> int:
        """The action at the start."""
        return self.solution.act(self.pomdp.start, self.solution.horizon)

    def own_rows(self) -> list[tuple[str, str]]:
        """Lines of the summary about this form of a plan."""
        return []

    def own_facts(self) -> Facts:
        """What this form of a plan consists of."""
        return {"first_action": self.first()}

    def shown(self) -> str:
        return table(["belief", "action"], [["start", self.actions[self.first()]]], 1, MOST_SHOWN)

    def rows(self) -> list[tuple[str, str]]:
        plan = self.solution
        bounds = [(name.replace("_", " "), number(value)) for name, value in [*self._bounds(), ("gap", plan.gap)]]
        ends = ("converged", _effort(plan))
        return [*bounds, ("first action", self.actions[self.first()]), *self.own_rows(), ends]

    def facts(self) -> Facts:
        of_plan = ("gap", "converged", "iterations", "seconds", "horizon")
        return {
            **_method(self.solution, self.asked),
            "gamma": self.gamma,
            **dict(self._bounds()),
            **{name: getattr(self.solution, name) for name in of_plan},
            **{name: getattr(self.pomdp, name) for name in ("state_labels", "action_labels", "observation_labels")},
            **self.own_facts(),
        }

    def paid(self, value: V) -> V:
        """Values as they are shown: of costs, which are rewards with the opposite sign, the costs."""
        return 0.0 - value if self.pomdp.mdp.costs else value

    def _bounds(self) -> list[tuple[str, float]]:
        """Between what the value, or the cost, at the start lies."""
        low, high = float(self.solution.lower_bound), float(self.solution.upper_bound)
        if self.pomdp.mdp.costs:
            return [("cost_lower_bound", 0.0 - high), ("cost_upper_bound", 0.0 - low)]
        return [("lower_bound", low), ("upper_bound", high)]


class _Vectors(_FoundForPOMDP):
    """A plan of alpha vectors."""

    def vector(self) -> int:
        """The best one at the start."""
        return self.solution.vector(self.pomdp.start)

    def first(self) -> int:
        return int(self.solution.actions[self.vector()])

    def rows(self) -> list[tuple[str, str]]:
        said = [
            (name, f"{text} (vector {self.vector()})" if name == "first action" else text)
            for name, text in super().rows()
        ]
        return said

    def own_rows(self) -> list[tuple[str, str]]:
        side = "lower" if self.pomdp.mdp.costs else "upper"
        kind = f", {side} bounds" if isinstance(self.solution, UpperBoundSolution) else ""
        return [("alpha vectors", f"{self.solution.n_vectors:,}{kind}")]

    def own_facts(self) -> Facts:
        plan = self.solution
        stages = [{"alpha_vectors": self.paid(stage.alpha_vectors), "actions": stage.actions} for stage in plan.stages]
        return {
            "first_action": self.first(),
            "first_vector": self.vector(),
            "upper_bounds": isinstance(plan, UpperBoundSolution),
            "alpha_vectors": self.paid(plan.alpha_vectors),
            "actions": plan.actions,
            "successors": plan.successors,
            "stages": stages,
            "trace": plan.trace._asdict(),
        }

    def shown(self) -> str:
        pomdp, plan = self.pomdp, self.solution
        few = pomdp.n_states <= MOST_COLUMNS
        follows = plan.successors if pomdp.n_observations <= MOST_COLUMNS else None
        after = [] if follows is None else names(pomdp.observation_labels, pomdp.n_observations)

        def rows() -> Iterator[list[str]]:
            for vector, entries in enumerate(self._values() if few else self._sizes()):
                then = [] if follows is None else ["-" if k < 0 else str(k) for k in follows[vector].tolist()]
                yield [str(vector), self.actions[int(plan.actions[vector])], *entries, *then]

        states = self.states if few else ["at the start", "states", "least", "most"]
        header = ["vector", "action", *states, *(f"after {seen}" for seen in after)]
        return table(header, rows(), plan.n_vectors, MOST_SHOWN)

    def _values(self) -> Iterator[list[str]]:
        """The entries of each vector."""
        for vector in self.paid(self.solution.alpha_vectors):
            yield [number(value) for value in vector.tolist()]

    def _sizes(self) -> Iterator[list[str]]:
        """The value of each vector at the start, the number of its finite entries, and their range."""
        vectors: FloatArray = self.solution.alpha_vectors[:MOST_SHOWN]
        for vector, start in zip(vectors, values_at(vectors, self.pomdp.start[np.newaxis])[0].tolist(), strict=True):
            held = self.paid(vector[vector > -np.inf])
            ends = (number(held.min()), number(held.max())) if held.size else ("-", "-")
            yield [number(self.paid(start)), f"{held.size:,}", *ends]


class _Beliefs(_FoundForPOMDP):
    """A plan over the beliefs that can be reached, with the value and action (-1: none) where each is first reached."""

    def __init__(self, pomdp: POMDP, solution: Any, asked: str) -> None:
        super().__init__(pomdp, solution, asked)
        # a plan for H steps has a row for each number of steps taken; a belief is looked up at its depth
        rows: list[int] = [0] * solution.n_beliefs if solution.horizon is None else solution.depth.tolist()
        value = [float(solution.values[row, belief]) for belief, row in enumerate(rows)]
        self.value: list[float] = self.paid(np.array(value)).tolist()
        planned, policies = len(solution.policies), solution.policies
        self.policy = [int(policies[row, belief]) if row < planned else -1 for belief, row in enumerate(rows)]

    def own_rows(self) -> list[tuple[str, str]]:
        return [("beliefs", f"{self.solution.n_beliefs:,}")]

    def own_facts(self) -> Facts:
        reached = {name: getattr(self.solution, name) for name in ("beliefs", "depth")}
        return {"first_action": self.first(), **reached, self.word: self.value, "policy": self.policy}

    def shown(self) -> str:
        reached = zip(self.solution.beliefs, self.solution.depth, self.value, self.policy, strict=True)
        rows = (
            [*cells(belief, self.states), str(steps), number(value), self.actions[action]]
            for belief, steps, value, action in reached
        )
        header = [*heads(self.states), "after steps", self.word, "best action"]
        return table(header, rows, len(self.policy), MOST_SHOWN)


class _Search(_FoundForPOMDP):
    """An online planner, which has searched from the start belief."""

    def first(self) -> int:
        return self.solution.decision.action

    def own_rows(self) -> list[tuple[str, str]]:
        return [(f"{self.word} by search", number(self.paid(self.solution.decision.value)))]

    def own_facts(self) -> Facts:
        decision = self.solution.decision
        return {"first_action": decision.action, self.word: self.paid(decision.value), "q": self.paid(decision.q)}

    def shown(self) -> str:
        searched = zip(self.actions, self.paid(self.solution.decision.q).tolist(), strict=False)
        said = (
            [a, "illegal" if abs(q) == np.inf else "not searched" if np.isnan(q) else number(q)] for a, q in searched
        )
        return table(["action", f"{self.word} at the start"], said, self.pomdp.n_actions, MOST_SHOWN)


class _Answered(Found):
    """The answer to a property."""

    def __init__(self, answer: PropertyAnswer) -> None:
        self.answer, self.asks = answer, "=?" in answer.text
        self.title = f": {answer.text}"
        self.good_enough = answer.converged and (self.asks or answer.holds is True)

    def rows(self) -> list[tuple[str, str]]:
        answer = self.answer
        holds = {True: "yes", False: "no", None: "undecided: within the error bound"}[answer.holds]
        return [
            *([] if self.asks else [("holds", holds)]),
            ("at the start", number(answer.value)),
            ("error bound", number(answer.error_bound)),
            ("converged", "yes" if answer.converged else "no"),
        ]

    def facts(self) -> Facts:
        answer, solution = self.answer, self.answer.solution
        return {
            "property": answer.text,
            "value_at_start": answer.value,
            **{name: getattr(answer, name) for name in ("holds", "error_bound", "converged")},
            "seconds": solution.seconds,
            "value": answer.values,
            "policy": solution.policy,
        }

    def shown(self) -> str:
        mdp = self.answer.solution.lookahead.mdp
        actions = [*names(mdp.action_labels, mdp.n_actions), "-"]
        listed = zip(
            names(mdp.state_labels, mdp.n_states), self.answer.values, self.answer.solution.policy, strict=True
        )
        rows = ([state, number(float(value)), actions[int(action)]] for state, value, action in listed)
        return table(["state", "value", "action"], rows, mdp.n_states, MOST_SHOWN)


class _Within(Found):
    """The best policy within limits."""

    def __init__(self, mdp: MDP, solution: ConstrainedSolution, constraints: str) -> None:
        self.mdp, self.solution, self.constraints = mdp, solution, constraints.split(", ")
        self.title = f" within {constraints}, gamma {mdp.gamma:.15g}"
        self.good_enough = solution.converged
        self.states = names(mdp.state_labels, mdp.n_states)

    def rows(self) -> list[tuple[str, str]]:
        found = self.solution
        of_costs = [text.partition("<=")[0].strip() for text in self.constraints]
        costs = [
            (f"{name} (limit {number(limit)})", f"{number(cost)}; the value rises by {number(price)} for each more")
            for name, limit, cost, price in zip(of_costs, found.limits, found.costs, found.multipliers, strict=True)
        ]
        chance = [state for state, row in zip(self.states, found.policy, strict=True) if (row > 0.0).sum() > 1]
        return [
            ("value at start", number(found.value_at_start)),
            ("upper bound", number(found.upper_bound)),
            *costs,
            ("random states", ", ".join(chance) or "none"),
            ("converged", "yes" if found.converged else "no"),
        ]

    def facts(self) -> Facts:
        values = ("value_at_start", "upper_bound", "error_bound", "costs", "limits", "violation", "multipliers")
        kept = (*values, "random_states", "converged", "seconds", "policy")
        return {name: getattr(self.solution, name) for name in kept}

    def shown(self) -> str:
        rows = zip(self.states, self.solution.policy.tolist(), strict=True)
        shown = ([state, *map(number, row)] for state, row in rows)
        head = ["state", *names(self.mdp.action_labels, self.mdp.n_actions)]
        return table(head, shown, self.mdp.n_states, MOST_SHOWN)


def _effort(solution: Solution | BeliefPlan) -> str:
    converged, iterations = "yes" if solution.converged else "no", solution.iterations
    return f"{converged}, {iterations} iteration{_plural(iterations)}, {solution.seconds:.3f} s"


def _plural(count: int) -> str:
    return "" if count == 1 else "s"


def _listed(chosen: BoolArray) -> list[list[int]]:
    """Return the columns that are True in each row: S lists of actions."""
    actions: list[int] = np.nonzero(chosen)[1].tolist()
    ends: list[int] = np.count_nonzero(chosen, axis=1).cumsum().tolist()
    return [actions[begin:end] for begin, end in pairwise([0, *ends])]


def drawer(
    place: str,
    env: "Env | None",
    layout: GridLayout | None,
    model: "MDP | POMDP",
    method: str,
    given: Keywords,
    tol: float,
) -> "Draw":
    """How the solution is drawn, with what was given of the figure.

    Raises
    ------
    ParameterError
        If there is no such figure, or a flag does not apply to it.
    UnsuitableEnvironment
        If it needs what the environment or the method does not have.
    """
    from rlsuite.plotting.figure_list import marked

    hidden = isinstance(model, POMDP)
    known = marked("plan" if hidden else "solution")
    function = methods(model).get(method)
    vectors = hidden and (function is None or _finds_vectors(function))  # `solve` reports an unknown method
    default = ELSEWHERE if layout is None else ON_GRID
    if hidden:
        default = next((one for one in known if vectors and known[one].n_states == model.n_states), ANY_PLAN)
    typed = given.pop("figure", default)
    name = typed.replace("-", "_")
    if name not in known:
        raise ParameterError(unknown("figure", typed, known, spelling_of(typed)))
    draw, _, on_grid, n_states, _ = known[name]
    if n_states not in (None, model.n_states):
        raise UnsuitableEnvironment(
            f"{place} has {model.n_states} hidden states, and {name} draws beliefs over {n_states}: use --figure "
            f"{ANY_PLAN}"
        )
    if hidden and name != ANY_PLAN and not vectors:
        able = [one for one, other in methods(model).items() if _finds_vectors(other)]
        raise UnsuitableEnvironment(
            f"{name} draws alpha vectors, and {method} finds none; methods that find them: {', '.join(able)}"
        )
    if on_grid and layout is None:
        raise UnsuitableEnvironment(
            f"{name} draws states on a grid, and {place} does not say where its states are: use --figure {ELSEWHERE}"
        )
    for flag in given.keys() - parameters(draw):
        raise ParameterError(f"--{flag} does not apply to {name}")
    if "tol" in parameters(draw):
        given["tol"] = tol
    first = (env,) if on_grid else ()
    return lambda solution: draw(*first, solution, **given)


def _finds_vectors(method: Callable[..., Any]) -> bool:
    """Whether a method may find alpha vectors, by its return type."""
    returned = inspect.signature(method).return_annotation
    other = isinstance(returned, type) and issubclass(returned, BeliefPlan)
    return not other or issubclass(returned, AlphaVectorSolution)
