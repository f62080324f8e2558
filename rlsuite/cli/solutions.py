"""A planner's solution, as text and as plain values for JSON."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rlsuite.cli.beliefs import names
from rlsuite.cli.output import MOST_ROWS, columns, number, table
from rlsuite.cli.plan_view import View, view
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray
from rlsuite.planning import BeliefPlan, OnlinePlan, Solution
from rlsuite.rendering import GridDrawing

if TYPE_CHECKING:
    from rlsuite.rendering import GridLayout

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
    def setting(self) -> str:
        """What the value of a state is."""
        return "average reward" if self.gamma is None else f"gamma {self.gamma:.15g}"

    @property
    def gamma(self) -> float | None:
        """The discount; None for average reward."""
        return self.mdp.gamma if _gain(self.solution) is None else None

    @property
    def good_enough(self) -> bool:
        """Whether the solution is within the tolerance."""
        return self.solution.converged

    def summary(self) -> str:
        """The value at the start, its error bound, iterations and time."""
        rows = [(key.replace("_", " "), number(value)) for key, value in self._at_start().items()]
        return columns([*rows, ("converged", _effort(self.solution))])

    def facts(self) -> dict[str, Any]:
        """All of it, for JSON."""
        solution, gain = self.solution, _gain(self.solution)
        return {
            **self._at_start(),
            "converged": solution.converged,
            "iterations": solution.iterations,
            "seconds": solution.seconds,
            **({} if gain is None else {"gain": gain}),
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
        self.gamma: float | None = pomdp.gamma

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
        bounds = [("lower bound", plan.lower_bound), ("upper bound", plan.upper_bound), ("gap", plan.gap)]
        rows = [(name, number(value)) for name, value in bounds]
        return columns([*rows, *self._view.said(), ("converged", _effort(plan))])

    def facts(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plan = self.solution
        return {
            "lower_bound": float(plan.lower_bound),
            "upper_bound": float(plan.upper_bound),
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
    shown = min(mdp.n_states, MOST_ROWS)
    states, actions = names(mdp.state_labels, shown), names(mdp.action_labels, mdp.n_actions)
    optimal: list[list[bool]] = solution.optimal_actions[:shown].tolist()

    def rows() -> Iterator[list[str]]:
        for state, row, value in zip(states, optimal, solution.value[:shown].tolist(), strict=False):
            best = [action for action, chosen in zip(actions, row, strict=True) if chosen]
            yield [state, number(value), " or ".join(best) or "-"]

    header = ["state", "value" if _gain(solution) is None else "bias", "best action"]
    return table(header, rows(), mdp.n_states)
