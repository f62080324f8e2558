"""The answers: solutions whose value is a probability, or an expectation until a goal."""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.kept import ACTIONS, STATES, Shelf, labels
from rlsuite.planning.solution import Solution

Objective = Literal["max", "min"]
OBJECTIVES: tuple[Objective, ...] = ("max", "min")

GOAL, CERTAIN, IMPOSSIBLE, OPEN = 2, 1, 0, -1
"""What the graph says about a state."""


@dataclass(frozen=True, eq=False, repr=False)
class GoalSolution(Solution):
    """What the answers share: the objective, and where the runs begin."""

    start: FloatArray = field(repr=False)
    objective: Objective
    known: IndexArray = field(repr=False)

    WHAT: ClassVar[str] = "value"
    """What the value is called in tables."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start.setflags(write=False)
        self.known.setflags(write=False)

    @property
    def goal(self) -> BoolArray:
        """(S,) bool: the goal."""
        return self.known == GOAL

    @cached_property
    def q(self) -> FloatArray:
        """(S, A) float64: what follows each action, within `error_bound`; NaN where it is not legal."""
        mdp = self.lookahead.mdp
        ahead = np.where(mdp.terminated, self._at_end[mdp.next_state], self.value[mdp.next_state])
        ahead = np.where(mdp.probability > 0.0, mdp.probability * ahead, 0.0)
        total = np.bincount(mdp.pairs(), weights=ahead, minlength=mdp.legal.size).reshape(mdp.legal.shape)
        q = np.where(mdp.legal, total + self._paid, np.nan)
        q.setflags(write=False)
        return q

    @property
    def optimal_actions(self) -> BoolArray:
        """(S, A) bool: the actions that may be optimal, those whose `q` is within 2 * `error_bound` of the value."""
        best = self.value[:, np.newaxis]
        largest = np.where(np.isfinite(best), np.abs(best), 0.0)
        slack = 2.0 * self.error_bound + 4.0 * np.spacing(largest)
        near = self.q >= best - slack if self.objective == "max" else self.q <= best + slack
        return self.lookahead.mdp.legal & near

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.objective} {self.WHAT} at the start {self.value_at_start:.6g}, "
            f"error_bound={self.error_bound:.3g}, converged={self.converged})"
        )

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the answer and the action of each state, by title."""
        mdp = self.lookahead.mdp
        actions = [*labels(mdp.action_labels, mdp.n_actions), ""]
        return {
            "state": list[object](labels(mdp.state_labels, mdp.n_states)),
            self.WHAT: self.value.tolist(),
            "action": [actions[a] for a in self.policy.tolist()],
        }

    @property
    def _paid(self) -> FloatArray | float:
        """What each pair (S, A) itself adds to its q."""
        return 0.0

    @property
    def _at_end(self) -> FloatArray:
        """The value of an episode that ends in each state (S,)."""
        return self.goal.astype(np.float64)

    def _at_start(self, each: FloatArray) -> float:
        return weighted_sum(self.start, each)

    def _proof(self, model: str | PathLike[str] | None) -> str:
        raise ParameterError("there is no proof for an answer about a goal: only for values and plans of rewards")

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        objective = shelf.number("objective", str)
        if objective not in OBJECTIVES:
            raise ValueError(f"objective is {objective!r}")
        return super()._fields_in(shelf) | {
            "start": shelf.floats("start", STATES, at_least=0.0),
            "objective": objective,
            "known": shelf.indices("known", STATES, below=GOAL + 1),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ReachSolution(GoalSolution):
    """Probabilities of reaching a goal, with their error bound.

    Attributes
    ----------
    value : ndarray (S,) float64
        The largest or smallest probability of reaching the goal from each state, within `error_bound`; 1 in the goal, 0
        in the states to be avoided. What follows from the graph alone is exactly 0 or 1.
    policy : ndarray (S,) int64
        An action of each state that attains it, the first legal action where it makes no difference; -1 where no action
        is legal.
    value_at_start : float
        The mean of `value` over `start`.
    q : ndarray (S, A) float64
        The probability after each action; NaN where it is not legal.
    error_bound : float
        An upper bound, rounding included, on the distance of `value` from the truth, and on what following `policy`
        loses. 0 if the graph decides everything.
    objective : {"max", "min"}
        Which of the two.
    certain, impossible, goal : ndarray (S,) bool
        Where the probability is exactly 1, as the graph says; where it is exactly 0; and the goal.
    start : ndarray (S,) float64
        The distribution that `value_at_start` is about.
    policies : ndarray (H, S) int64, or None
        With a number of steps H, ``policies[t]`` is the decision after t steps, and its first row is `policy`.

    See Also
    --------
    Solution : the other attributes.
    """

    policies: IndexArray | None = field(repr=False, default=None)

    WHAT = "probability"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policies is not None:
            self.policies.setflags(write=False)

    @property
    def certain(self) -> BoolArray:
        """(S,) bool: where the graph says that the probability is 1."""
        return self.known >= CERTAIN

    @property
    def impossible(self) -> BoolArray:
        """(S,) bool: where the graph says that the probability is 0."""
        return self.known == IMPOSSIBLE

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        found = super()._fields_in(shelf)
        if "policies" in shelf:
            found["policies"] = shelf.indices("policies", "steps", STATES, below=ACTIONS)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedSolution(GoalSolution):
    """Expected sums until a goal is reached, with their error bound.

    Attributes
    ----------
    value : ndarray (S,) float64
        The largest or smallest expected sum from each state, within `error_bound`; 0 in the goal, infinite where the
        goal may be missed.
    policy : ndarray (S,) int64
        An action of each state that attains it, the first legal action where the sum is infinite or the goal is
        reached; -1 where no action is legal.
    value_at_start : float
        The mean of `value` over `start`.
    q : ndarray (S, A) float64
        The expected sum after each action; NaN where it is not legal.
    error_bound : float
        An upper bound, rounding included, on the distance of finite values from the truth, and on what following
        `policy` loses there.
    objective : {"max", "min"}
        Which of the two.
    goal, infinite : ndarray (S,) bool
        The goal; and where the sum is infinite, as the graph says.
    start : ndarray (S,) float64
        The distribution that `value_at_start` is about.
    paid : ndarray (S, A) float64
        What each step adds.
    missed : float
        Infinity, or minus infinity: the sum of a run that never reaches the goal.

    See Also
    --------
    Solution : the other attributes.
    """

    paid: FloatArray = field(repr=False)
    missed: float

    WHAT = "expected sum"
    MAY_BE_INFINITE = True

    @property
    def infinite(self) -> BoolArray:
        """(S,) bool: where the sum is infinite, because the goal may be missed."""
        return self.known == IMPOSSIBLE

    @property
    def _paid(self) -> FloatArray:
        return self.paid

    @property
    def _at_end(self) -> FloatArray:
        return np.where(self.goal, 0.0, self.missed)

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        found = super()._fields_in(shelf)
        found["missed"] = shelf.number("missed", float)
        if abs(found["missed"]) != np.inf:
            raise ValueError(f"missed is {found['missed']!r}")
        return found | {"paid": shelf.floats("paid", STATES, ACTIONS)}


@dataclass(frozen=True, eq=False, repr=False)
class LongRunSolution(GoalSolution):
    """Long-run averages, with their error bound.

    Attributes
    ----------
    value : ndarray (S,) float64
        The largest or smallest average per step in the long run from each state, within `error_bound`: the share of the
        steps that are spent in some states, or the reward.
    policy : ndarray (S,) int64
        An action of each state that attains it; -1 where no action is legal.
    value_at_start : float
        The mean of `value` over `start`.
    q : ndarray (S, A) float64
        The average after each action; NaN where it is not legal.
    error_bound : float
        An upper bound, rounding included, on the distance of `value` from the truth, and on what following `policy`
        loses.
    objective : {"max", "min"}
        Which of the two.
    goal : ndarray (S,) bool
        The states whose share it is; none if the average is that of the reward.
    start : ndarray (S,) float64
        The distribution that `value_at_start` is about.

    See Also
    --------
    Solution : the other attributes.
    """

    WHAT = "long-run average"
