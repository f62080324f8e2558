"""A planner's solution, as text and as plain values for JSON."""

import shlex
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from rlsuite.cli.output import MOST_COLUMNS, Facts, cells, columns, heads, names, number, table
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning import (
    AlphaVectorSolution,
    BeliefPlan,
    BeliefSolution,
    OnlinePlan,
    Solution,
    UpperBoundSolution,
)
from rlsuite.planning.mdp.rational_policy_iteration import ExactSolution
from rlsuite.planning.pomdp.solution import values_at
from rlsuite.rendering import GridDrawing

if TYPE_CHECKING:
    from rlsuite.rendering import GridLayout


V = TypeVar("V", float, FloatArray)

LONGEST_FRACTION = 60
"""Characters of a fraction on the screen; --json has all of them."""

MOST_SHOWN = 20
"""Rows of a table of states, vectors or beliefs on the screen; --json has them all."""


class View(Protocol):
    """The view of a plan, beyond its bounds."""

    def said(self) -> list[tuple[str, str]]:
        """Return lines of the summary: what, and how much."""
        ...

    def facts(self) -> Facts:
        """Return everything, for JSON."""
        ...

    def shown(self) -> str:
        """Return the plan as a table."""
        ...


def paid(pomdp: POMDP, value: V) -> V:
    """Return values as they are shown: of costs, which are rewards with the opposite sign, the costs."""
    return 0.0 - value if pomdp.mdp.costs else value


def word(pomdp: POMDP) -> str:
    """Return what a value is called."""
    return "cost" if pomdp.mdp.costs else "value"


def view(pomdp: POMDP, plan: BeliefPlan) -> View:
    """Return the view of a plan."""
    if isinstance(plan, AlphaVectorSolution):
        return _Vectors(pomdp, plan)
    if isinstance(plan, BeliefSolution):
        return _Points(pomdp, plan, plan.beliefs, *_where_first_reached(plan), plan.depth)
    if isinstance(plan, OnlinePlan):
        return _Search(pomdp, plan)
    return _Any(pomdp, plan)


def _actions(pomdp: POMDP) -> list[str]:
    """Names of the actions, and a dash as the last one: the number of no action is -1."""
    return [*names(pomdp.action_labels, pomdp.n_actions), "-"]


class _Any:
    """A plan of a form that is not known here."""

    def __init__(self, pomdp: POMDP, plan: BeliefPlan) -> None:
        self.pomdp = pomdp
        self.first = plan.act(pomdp.start, plan.horizon)

    def said(self) -> list[tuple[str, str]]:
        return [("first action", _actions(self.pomdp)[self.first])]

    def facts(self) -> Facts:
        return {"first_action": self.first}

    def shown(self) -> str:
        return table(["belief", "action"], [["start", _actions(self.pomdp)[self.first]]], 1, MOST_SHOWN)


class _Vectors:
    """A plan of alpha vectors."""

    def __init__(self, pomdp: POMDP, plan: AlphaVectorSolution) -> None:
        self.pomdp, self.plan = pomdp, plan
        self.first = plan.vector(pomdp.start)

    def said(self) -> list[tuple[str, str]]:
        action = _actions(self.pomdp)[int(self.plan.actions[self.first])]
        side = "lower" if self.pomdp.mdp.costs else "upper"
        kind = f", {side} bounds" if isinstance(self.plan, UpperBoundSolution) else ""
        return [
            ("first action", f"{action} (vector {self.first})"),
            ("alpha vectors", f"{self.plan.n_vectors:,}{kind}"),
        ]

    def facts(self) -> Facts:
        plan = self.plan
        return {
            "first_action": int(plan.actions[self.first]),
            "first_vector": self.first,
            "upper_bounds": isinstance(plan, UpperBoundSolution),
            "alpha_vectors": paid(self.pomdp, plan.alpha_vectors),
            "actions": plan.actions,
            "successors": plan.successors,
            "stages": [
                {"alpha_vectors": paid(self.pomdp, stage.alpha_vectors), "actions": stage.actions}
                for stage in plan.stages
            ],
            "trace": plan.trace._asdict(),
        }

    def shown(self) -> str:
        pomdp, plan, actions = self.pomdp, self.plan, _actions(self.pomdp)
        few = pomdp.n_states <= MOST_COLUMNS
        values = self._values() if few else self._sizes()
        follows = plan.successors if pomdp.n_observations <= MOST_COLUMNS else None
        states = names(pomdp.state_labels, pomdp.n_states) if few else ["at the start", "states", "least", "most"]
        after = [] if follows is None else names(pomdp.observation_labels, pomdp.n_observations)

        def rows() -> Iterator[list[str]]:
            for vector, entries in enumerate(values):
                then = [] if follows is None else ["-" if k < 0 else str(k) for k in follows[vector].tolist()]
                yield [str(vector), actions[int(plan.actions[vector])], *entries, *then]

        header = ["vector", "action", *states, *(f"after {seen}" for seen in after)]
        return table(header, rows(), plan.n_vectors, MOST_SHOWN)

    def _values(self) -> Iterator[list[str]]:
        """The entries of each vector."""
        for vector in paid(self.pomdp, self.plan.alpha_vectors):
            yield [number(value) for value in vector.tolist()]

    def _sizes(self) -> Iterator[list[str]]:
        """The value of each vector at the start, the number of its finite entries, and their range."""
        vectors = self.plan.alpha_vectors[:MOST_SHOWN]
        for vector, start in zip(vectors, values_at(vectors, self.pomdp.start[np.newaxis])[0].tolist(), strict=True):
            held = paid(self.pomdp, vector[vector > -np.inf])
            ends = (number(held.min()), number(held.max())) if held.size else ("-", "-")
            yield [number(paid(self.pomdp, start)), f"{held.size:,}", *ends]


class _Points:
    """A plan over beliefs, each with a value and an action, -1 where there is none."""

    def __init__(
        self,
        pomdp: POMDP,
        plan: BeliefPlan,
        beliefs: FloatArray,
        value: list[float],
        policy: list[int],
        depth: IndexArray | None = None,
    ) -> None:
        self.pomdp, self.beliefs = pomdp, beliefs
        self.value: list[float] = paid(pomdp, np.array(value)).tolist()
        self.policy, self.depth = policy, depth
        self.first = plan.act(pomdp.start, plan.horizon)

    def said(self) -> list[tuple[str, str]]:
        return [("first action", _actions(self.pomdp)[self.first]), ("beliefs", f"{len(self.beliefs):,}")]

    def facts(self) -> Facts:
        reached = {} if self.depth is None else {"depth": self.depth}
        found = {word(self.pomdp): self.value, "policy": self.policy}
        return {"first_action": self.first, "beliefs": self.beliefs, **reached, **found}

    def shown(self) -> str:
        actions, states = _actions(self.pomdp), names(self.pomdp.state_labels, self.pomdp.n_states)

        def rows() -> Iterator[list[str]]:
            for belief, weights in enumerate(self.beliefs):
                reached = [] if self.depth is None else [str(self.depth[belief])]
                yield [*cells(weights, states), *reached, number(self.value[belief]), actions[self.policy[belief]]]

        reached = [] if self.depth is None else ["after steps"]
        return table([*heads(states), *reached, word(self.pomdp), "best action"], rows(), len(self.beliefs), MOST_SHOWN)


class _Search:
    """An online planner, which has searched from the start belief."""

    def __init__(self, pomdp: POMDP, plan: OnlinePlan) -> None:
        self.pomdp, self.decision = pomdp, plan.decision
        self.value = paid(pomdp, plan.decision.value)
        self.q = paid(pomdp, plan.decision.q)

    def said(self) -> list[tuple[str, str]]:
        return [
            ("first action", _actions(self.pomdp)[self.decision.action]),
            (f"{word(self.pomdp)} by search", number(self.value)),
        ]

    def facts(self) -> Facts:
        return {"first_action": self.decision.action, word(self.pomdp): self.value, "q": self.q}

    def shown(self) -> str:
        def rows() -> Iterator[list[str]]:
            for action, q in zip(_actions(self.pomdp), self.q.tolist(), strict=False):
                yield [action, "illegal" if abs(q) == np.inf else "not searched" if np.isnan(q) else number(q)]

        return table(["action", f"{word(self.pomdp)} at the start"], rows(), self.pomdp.n_actions, MOST_SHOWN)


def _where_first_reached(solution: BeliefSolution) -> tuple[list[float], list[int]]:
    """Value and best action of every belief, -1 where the plan has no action."""
    beliefs = range(solution.n_beliefs)
    # a plan for H steps has a row for each number of steps taken; a belief is looked up at its depth
    rows: list[int] = [0] * solution.n_beliefs if solution.horizon is None else solution.depth.tolist()
    planned = len(solution.policies)
    value = [float(solution.values[row, belief]) for row, belief in zip(rows, beliefs, strict=True)]
    policy = [int(solution.policies[row, one]) if row < planned else -1 for row, one in zip(rows, beliefs, strict=True)]
    return value, policy


LARGEST_MAP = 100
"""Rows or columns of a grid that is still printed as a map."""


class FoundForMDP:
    """An MDP and its solution.

    Parameters
    ----------
    mdp : MDP
        The model.
    solution : Solution
        What was found.
    layout : GridLayout, optional
        Where the states lie on a grid, if there is one.
    """

    def __init__(self, mdp: MDP, solution: Solution, layout: "GridLayout | None" = None) -> None:
        self.mdp, self.solution, self.layout = mdp, solution, layout

    @property
    def where(self) -> str:
        """Where to ask a saved solution for its action, on the command line."""
        return f"--state {shlex.quote(names(self.mdp.state_labels, self.mdp.n_states)[int(self.mdp.start.argmax())])}"

    @property
    def setting(self) -> str:
        """What the value of a state is."""
        return "average reward" if self.gamma is None else f"gamma {self.gamma:.15g}"

    @property
    def gamma(self) -> float | None:
        """The discount; None for average reward."""
        return self.solution.lookahead.mdp.gamma if _gain(self.solution) is None else None

    @property
    def good_enough(self) -> bool:
        """Whether the solution is within the tolerance."""
        return self.solution.converged

    def summary(self) -> str:
        """The value at the start, its error bound, iterations and time."""
        rows = [(key.replace("_", " "), number(value)) for key, value in self._shown_at_start().items()]
        exact = [
            ("exactly", text if len(text) <= LONGEST_FRACTION else f"a fraction of {len(text)} digits, see --json")
            for text in self._exact()[:1]
        ]
        return columns([*rows[:1], *exact, *rows[1:], ("converged", _effort(self.solution))])

    def facts(self) -> Facts:
        """All of it, for JSON."""
        solution, gain = self.solution, _gain(self.solution)
        return {
            **self._at_start(),
            **self._shown_at_start(),
            "converged": solution.converged,
            "iterations": solution.iterations,
            "seconds": solution.seconds,
            **({} if gain is None else {"gain": gain}),
            **({"exactly_at_start": exact[0], "exactly": exact[1:]} if (exact := self._exact()) else {}),
            "value": solution.value,
            "policy": solution.policy,
            "optimal_actions": _listed(solution.optimal_actions),
            "trace": solution.trace._asdict(),
        }

    def shown(self) -> str:
        """Values and best actions, as a map where there is one, else as a table."""
        layout = self.layout
        if layout is None or max(layout.n_rows, layout.n_columns) > LARGEST_MAP:
            return _table(self.mdp, self.solution)
        return _map(layout, self.mdp, self.solution)

    def _exact(self) -> list[str]:
        """The value, or cost, at the start and of each state as a fraction; empty if it was not solved exactly."""
        if not isinstance(self.solution, ExactSolution):
            return []
        values = [-one if self.mdp.costs else one for one in self.solution.fractions]
        at_start = sum((Fraction(p) * one for p, one in zip(self.mdp.start.tolist(), values, strict=True)), Fraction(0))
        return [str(one) for one in (at_start, *values)]

    def _shown_at_start(self) -> dict[str, float]:
        """The same, with the cost in place of the value if the model was made from costs."""
        (name, value), *rest = self._at_start().items()
        if self.mdp.costs:
            name, value = "cost_per_step" if _gain(self.solution) is not None else "cost_at_start", 0.0 - value
        return {name: value, **dict(rest)}

    def _at_start(self) -> dict[str, float]:
        name = "value_at_start" if _gain(self.solution) is None else "gain_at_start"
        return {name: getattr(self.solution, name), "error_bound": float(self.solution.error_bound)}


class FoundForPOMDP:
    """A POMDP and its solution.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    solution : BeliefPlan
        What was found.
    """

    def __init__(self, pomdp: POMDP, solution: BeliefPlan) -> None:
        self.pomdp, self.solution = pomdp, solution
        self.gamma: float = getattr(solution, "pomdp", pomdp).gamma

    @property
    def where(self) -> str:
        """Where to ask a saved plan for its action, on the command line."""
        few = self.pomdp.n_states <= MOST_COLUMNS
        return f"--belief {','.join(map(number, self.pomdp.start.tolist()))}" if few else ""

    @property
    def setting(self) -> str:
        """What the value of a belief is."""
        horizon = self.solution.horizon
        return f"gamma {self.gamma:.15g}" + ("" if horizon is None else f", {horizon} step{_plural(horizon)}")

    @property
    def good_enough(self) -> bool:
        """Whether it is within the tolerance; online planners have none."""
        return self.solution.converged or isinstance(self.solution, OnlinePlan)

    def summary(self) -> str:
        """The bounds at the start, what the plan consists of, and what it took."""
        plan = self.solution
        rows = [(name.replace("_", " "), number(value)) for name, value in [*self._bounds(), ("gap", plan.gap)]]
        return columns([*rows, *self._view.said(), ("converged", _effort(plan))])

    def facts(self) -> Facts:
        """All of it, for JSON."""
        plan = self.solution
        return {
            **dict(self._bounds()),
            "gap": float(plan.gap),
            "converged": plan.converged,
            "iterations": plan.iterations,
            "seconds": plan.seconds,
            "horizon": plan.horizon,
            "state_labels": self.pomdp.state_labels,
            "action_labels": self.pomdp.action_labels,
            "observation_labels": self.pomdp.observation_labels,
            **self._view.facts(),
        }

    def shown(self) -> str:
        """The plan as a table."""
        return self._view.shown()

    def _bounds(self) -> list[tuple[str, float]]:
        """Between what the value at the start lies; of costs, which are rewards with the opposite sign, the cost."""
        low, high = float(self.solution.lower_bound), float(self.solution.upper_bound)
        if self.pomdp.mdp.costs:
            return [("cost_lower_bound", 0.0 - high), ("cost_upper_bound", 0.0 - low)]
        return [("lower_bound", low), ("upper_bound", high)]

    @cached_property
    def _view(self) -> View:
        return view(self.pomdp, self.solution)


def _effort(solution: Solution | BeliefPlan) -> str:
    converged, iterations = "yes" if solution.converged else "no", solution.iterations
    return f"{converged}, {iterations} iteration{_plural(iterations)}, {solution.seconds:.3f} s"


def _plural(count: int) -> str:
    return "" if count == 1 else "s"


def _gain(solution: Any) -> Any:
    """Reward per step in the long run, of a solution for average reward; None for all others."""
    return getattr(solution, "gain", None)


def _listed(chosen: BoolArray) -> list[list[int]]:
    """Return the columns that are True in each row: S lists of actions."""
    actions: list[int] = np.nonzero(chosen)[1].tolist()
    ends: list[int] = np.count_nonzero(chosen, axis=1).cumsum().tolist()
    return [actions[begin:end] for begin, end in pairwise([0, *ends])]


def _map(layout: "GridLayout", mdp: MDP, solution: Solution) -> str:
    """Values and best actions, each on its square."""
    policy = None if layout.arrows is None else solution.optimal_actions.astype(np.float64)
    drawing = GridDrawing(layout, solution.value, policy)
    rows = drawing.ansi(int(mdp.start.argmax())).splitlines()[:-1]  # the last line describes the agent
    return "\n".join(f"  {row}" for row in rows)


def _table(mdp: MDP, solution: Solution) -> str:
    """Value and best actions of each state, one row each."""
    shown = min(mdp.n_states, MOST_SHOWN)
    states, actions = names(mdp.state_labels, shown), names(mdp.action_labels, mdp.n_actions)
    values = solution.cost if mdp.costs else solution.value
    optimal: list[list[bool]] = solution.optimal_actions[:shown].tolist()

    def rows() -> Iterator[list[str]]:
        for state, row, value in zip(states, optimal, values[:shown].tolist(), strict=False):
            best = [action for action, chosen in zip(actions, row, strict=True) if chosen]
            yield [state, number(value), " or ".join(best) or "-"]

    what = "cost" if mdp.costs else "value"
    header = ["state", what if _gain(solution) is None else f"relative {what}" if mdp.costs else "bias", "best action"]
    return table(header, rows(), mdp.n_states, MOST_SHOWN)
