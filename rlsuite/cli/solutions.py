"""What a planner found, as text and as plain values for JSON."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rlsuite.cli.output import columns, number
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray
from rlsuite.planning import BeliefSolution, Solution
from rlsuite.rendering import GridDrawing

if TYPE_CHECKING:
    from rlsuite.rendering import GridLayout

MOST_ROWS = 200
"""Rows of a table on the screen; --json has them all."""

LARGEST_MAP = 100
"""Rows or columns of a grid that is still printed as a map."""


class Found(NamedTuple):
    """A model and what a planner found, whatever their kind."""

    model: MDP | POMDP
    solution: Any
    """`Solution` of an MDP, `BeliefSolution` of a POMDP."""
    layout: "GridLayout | None" = None
    """Where the states lie, if they do."""

    @property
    def setting(self) -> str:
        """What the value of a state is."""
        return "average reward" if self.gamma is None else f"gamma {self.gamma:.15g}"

    @property
    def gamma(self) -> float | None:
        """The discount, None where it plays no part."""
        return self.model.gamma if _gain(self.solution) is None else None

    def summary(self) -> str:
        """The value at the start, how wrong it can be, and what it took."""
        solution = self.solution
        rows = [(key.replace("_", " "), number(value)) for key, value in self._at_start().items()]
        converged = "yes" if solution.converged else "no"
        effort = f"{solution.iterations} iteration{'s' if solution.iterations != 1 else ''}, {solution.seconds:.3f} s"
        return columns([*rows, ("converged", f"{converged}, {effort}")])

    def facts(self) -> dict[str, Any]:
        """All of it, for JSON."""
        solution = self.solution
        effort = {"converged": solution.converged, "iterations": solution.iterations, "seconds": solution.seconds}
        details = _of_beliefs(solution) if isinstance(solution, BeliefSolution) else _of_states(solution)
        return {**self._at_start(), **effort, **details}

    def shown(self) -> str:
        """Values and best actions, as a map where there is one, else as a table."""
        if isinstance(self.model, POMDP):
            return _beliefs(self.model, self.solution)
        layout = self.layout
        if layout is None or max(layout.n_rows, layout.n_columns) > LARGEST_MAP:
            return _table(self.model, self.solution)
        return _map(layout, self.model, self.solution)

    def _at_start(self) -> dict[str, float]:
        solution = self.solution
        if isinstance(self.model, POMDP):
            return {"lower_bound": float(solution.lower_bound), "upper_bound": float(solution.upper_bound)}
        gain = _gain(solution)
        name, each = ("value_at_start", solution.value) if gain is None else ("gain_at_start", gain)
        at_start = float(self.model.start @ np.broadcast_to(each, self.model.n_states))
        return {name: at_start, "error_bound": float(solution.error_bound)}


def _gain(solution: Any) -> Any:
    """Reward per step in the long run, None where rewards are discounted or there is an end to them."""
    return getattr(solution, "gain", None)


def _of_states(solution: Solution) -> dict[str, Any]:
    gain = _gain(solution)
    return {
        **({} if gain is None else {"gain": gain}),
        "value": solution.value,
        "policy": solution.policy,
        "optimal_actions": _listed(solution.optimal_actions),
        "trace": solution.trace._asdict(),
    }


def _listed(chosen: BoolArray) -> list[list[int]]:
    """Return the columns that are True in each row: S lists of actions."""
    actions: list[int] = np.nonzero(chosen)[1].tolist()
    ends: list[int] = np.count_nonzero(chosen, axis=1).cumsum().tolist()
    return [actions[begin:end] for begin, end in pairwise([0, *ends])]


def _map(layout: "GridLayout", mdp: MDP, solution: Solution) -> str:
    """Values and best actions, each on its square."""
    policy = None if layout.arrows is None else solution.optimal_actions.astype(np.float64)
    drawing = GridDrawing(layout, solution.value, policy)
    rows = drawing.ansi(int(mdp.start.argmax())).splitlines()[:-1]  # the last one is about the agent
    return "\n".join(f"  {row}" for row in rows)


def _table(mdp: MDP, solution: Solution) -> str:
    """Value and best actions of each state, one row each."""
    shown = min(mdp.n_states, MOST_ROWS)
    states = mdp.state_labels or [str(state) for state in range(shown)]
    actions = mdp.action_labels or [str(action) for action in range(mdp.n_actions)]
    rows: list[list[bool]] = solution.optimal_actions[:shown].tolist()
    best = [" or ".join(name for name, optimal in zip(actions, row, strict=True) if optimal) or "-" for row in rows]
    values = map(number, solution.value[:shown].tolist())
    header = ("state", "value" if _gain(solution) is None else "bias", "best action")
    text = columns([header, *zip(states[:shown], values, best, strict=True)])
    rest = mdp.n_states - shown
    return f"{text}\n  ... and {rest:,} more: --json has them" if rest else text


def _of_beliefs(solution: BeliefSolution) -> dict[str, Any]:
    value, policy = _where_first_reached(solution)
    return {"beliefs": solution.beliefs, "depth": solution.depth, "value": value, "policy": policy}


def _where_first_reached(solution: BeliefSolution) -> tuple[list[float], list[int]]:
    """Value and best action of every belief, -1 at the edge of the plan."""
    beliefs = range(solution.n_beliefs)
    # a plan for H steps has a row for each number of steps taken; a belief is looked up at its depth
    rows: list[int] = [0] * solution.n_beliefs if solution.horizon is None else solution.depth.tolist()
    planned = len(solution.policies)
    value = [float(solution.values[row, belief]) for row, belief in zip(rows, beliefs, strict=True)]
    policy = [int(solution.policies[row, one]) if row < planned else -1 for row, one in zip(rows, beliefs, strict=True)]
    return value, policy


def _beliefs(pomdp: POMDP, solution: BeliefSolution) -> str:
    value, policy = _where_first_reached(solution)
    states = pomdp.state_labels or [str(state) for state in range(pomdp.n_states)]
    actions: list[str] = [*(pomdp.action_labels or map(str, range(pomdp.n_actions))), "-"]
    texts = [", ".join(f"{p:.4f}" for p in belief) for belief in solution.beliefs[:MOST_ROWS].tolist()]
    best = [actions[action] for action in policy]
    reached = map(str, solution.depth.tolist())
    header = (f"belief ({', '.join(states)})", "after steps", "value", "best action")
    return columns([header, *zip(texts, reached, map(number, value), best, strict=False)])
