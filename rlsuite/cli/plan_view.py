"""A planner's solution of a POMDP, as text and as plain values for JSON: one view for each form of a plan."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from rlsuite.cli.beliefs import MOST_COLUMNS, cells, heads, names
from rlsuite.cli.output import MOST_ROWS, number, table
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning import (
    AlphaVectorSolution,
    BeliefPlan,
    BeliefSolution,
    GridSolution,
    OnlinePlan,
    UpperBoundSolution,
)
from rlsuite.planning.pomdp.vectors import worth


class View(Protocol):
    """The view of a plan, beyond its bounds."""

    def said(self) -> list[tuple[str, str]]:
        """Return lines of the summary: what, and how much."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        ...

    def shown(self) -> str:
        """Return the plan as a table."""
        ...


def view(pomdp: POMDP, plan: BeliefPlan) -> View:
    """Return the view of a plan."""
    if isinstance(plan, AlphaVectorSolution):
        return _Vectors(pomdp, plan)
    if isinstance(plan, BeliefSolution):
        return _Points(pomdp, plan, plan.beliefs, *_where_first_reached(plan), plan.depth)
    if isinstance(plan, GridSolution):
        return _Points(pomdp, plan, plan.cells.beliefs, plan.values[0].tolist(), plan.policies[0].tolist())
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

    def facts(self) -> dict[str, Any]:
        return {"first_action": self.first}

    def shown(self) -> str:
        return table(["belief", "action"], [["start", _actions(self.pomdp)[self.first]]], 1)


class _Vectors:
    """A plan of alpha vectors."""

    def __init__(self, pomdp: POMDP, plan: AlphaVectorSolution) -> None:
        self.pomdp, self.plan = pomdp, plan
        self.first = plan.vector(pomdp.start)

    def said(self) -> list[tuple[str, str]]:
        action = _actions(self.pomdp)[int(self.plan.actions[self.first])]
        kind = ", upper bounds" if isinstance(self.plan, UpperBoundSolution) else ""
        return [
            ("first action", f"{action} (vector {self.first})"),
            ("alpha vectors", f"{self.plan.n_vectors:,}{kind}"),
        ]

    def facts(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "first_action": int(plan.actions[self.first]),
            "first_vector": self.first,
            "upper_bounds": isinstance(plan, UpperBoundSolution),
            "alpha_vectors": plan.alpha_vectors,
            "actions": plan.actions,
            "successors": plan.successors,
            "stages": [{"alpha_vectors": stage.alpha_vectors, "actions": stage.actions} for stage in plan.stages],
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
        return table(header, rows(), plan.n_vectors)

    def _values(self) -> Iterator[list[str]]:
        """The entries of each vector."""
        for vector in self.plan.alpha_vectors:
            yield [number(value) for value in vector.tolist()]

    def _sizes(self) -> Iterator[list[str]]:
        """The value of each vector at the start, the number of its finite entries, and their range."""
        vectors = self.plan.alpha_vectors[:MOST_ROWS]
        for vector, start in zip(vectors, worth(vectors, self.pomdp.start[np.newaxis])[0].tolist(), strict=True):
            held = vector[vector > -np.inf]
            yield [number(start), f"{held.size:,}", *((number(held.min()), number(held.max())) if held.size else "--")]


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
        self.value, self.policy, self.depth = value, policy, depth
        self.first = plan.act(pomdp.start, plan.horizon)

    def said(self) -> list[tuple[str, str]]:
        return [("first action", _actions(self.pomdp)[self.first]), ("beliefs", f"{len(self.beliefs):,}")]

    def facts(self) -> dict[str, Any]:
        reached = {} if self.depth is None else {"depth": self.depth}
        found = {"value": self.value, "policy": self.policy}
        return {"first_action": self.first, "beliefs": self.beliefs, **reached, **found}

    def shown(self) -> str:
        actions, states = _actions(self.pomdp), names(self.pomdp.state_labels, self.pomdp.n_states)

        def rows() -> Iterator[list[str]]:
            for belief, weights in enumerate(self.beliefs):
                reached = [] if self.depth is None else [str(self.depth[belief])]
                yield [*cells(weights, states), *reached, number(self.value[belief]), actions[self.policy[belief]]]

        reached = [] if self.depth is None else ["after steps"]
        return table([*heads(states), *reached, "value", "best action"], rows(), len(self.beliefs))


class _Search:
    """An online planner, which has searched from the start belief."""

    def __init__(self, pomdp: POMDP, plan: OnlinePlan) -> None:
        self.pomdp, self.decision = pomdp, plan.decision

    def said(self) -> list[tuple[str, str]]:
        decision = self.decision
        return [
            ("first action", _actions(self.pomdp)[decision.action]),
            ("value by search", number(decision.value)),
        ]

    def facts(self) -> dict[str, Any]:
        decision = self.decision
        return {"first_action": decision.action, "value": decision.value, "q": decision.q}

    def shown(self) -> str:
        def rows() -> Iterator[list[str]]:
            for action, q in zip(_actions(self.pomdp), self.decision.q.tolist(), strict=False):
                yield [action, "illegal" if q == -np.inf else "not searched" if np.isnan(q) else number(q)]

        return table(["action", "value at the start"], rows(), self.pomdp.n_actions)


def _where_first_reached(solution: BeliefSolution) -> tuple[list[float], list[int]]:
    """Value and best action of every belief, -1 where the plan has no action."""
    beliefs = range(solution.n_beliefs)
    # a plan for H steps has a row for each number of steps taken; a belief is looked up at its depth
    rows: list[int] = [0] * solution.n_beliefs if solution.horizon is None else solution.depth.tolist()
    planned = len(solution.policies)
    value = [float(solution.values[row, belief]) for row, belief in zip(rows, beliefs, strict=True)]
    policy = [int(solution.policies[row, one]) if row < planned else -1 for row, one in zip(rows, beliefs, strict=True)]
    return value, policy
