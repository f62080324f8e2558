"""The solutions of planners for a POMDP: bounds on the value at the start, and a policy over beliefs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, IndexArray

MATCH = 1e-9
"""Largest L1 distance at which a belief is identified with one of the plan: far above rounding errors."""


@dataclass(frozen=True, eq=False)
class BeliefPlan(ABC):
    """The base of the solutions of planners for a POMDP, whatever form the plan has.

    Attributes
    ----------
    lower_bound, upper_bound : float
        The optimal value at the start belief lies between the two, rounding included. In the unit of the reward.
    converged : bool
        Whether the two are at most the tolerance apart that was asked for.
    horizon : int or None
        H, the number of steps planned for; None if the plan has no end.
    iterations : int
        What the method counts; its own documentation says what that is.
    seconds : float
        Wall-clock time taken, without what was spent on compiling.
    method : str
        Name of the method.
    """

    lower_bound: float
    upper_bound: float
    converged: bool
    horizon: int | None
    iterations: int
    seconds: float
    method: str

    @property
    def gap(self) -> float:
        """``upper_bound - lower_bound``, in the unit of the reward."""
        return self.upper_bound - self.lower_bound

    @abstractmethod
    def act(self, belief: ArrayLike, steps_left: int | None = None) -> int:
        """Return the action of the plan in a belief (S,), with `steps_left` if the plan has a horizon."""

    @abstractmethod
    def value(self, belief: ArrayLike, steps_left: int | None = None) -> float:
        """Return the value of the plan in a belief; arguments as in `act`."""


@dataclass(frozen=True, eq=False)
class BeliefSolution(BeliefPlan):
    """The solution of a POMDP in the form of a plan over finitely many beliefs.

    Its attributes are those of `BeliefPlan`, and:

    Attributes
    ----------
    beliefs : ndarray (n, S) float64
        The beliefs that can be reached from the start, which is the first of them.
    depth : ndarray (n,) int64
        Least number of steps after which each is reached.
    values : ndarray (H + 1, n) float64, or (1, n) without a horizon
        Optimal values: row t holds those of the beliefs after t steps.
    policies : ndarray (H, n) int64, or (1, n) without a horizon
        Optimal actions, in the same order; -1 for beliefs at the edge of the plan.
    """

    beliefs: FloatArray = field(repr=False)
    depth: IndexArray = field(repr=False)
    values: FloatArray = field(repr=False)
    policies: IndexArray = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.beliefs, self.depth, self.values, self.policies):
            array.setflags(write=False)

    @property
    def n_beliefs(self) -> int:
        """Number of beliefs in the plan."""
        return self.beliefs.shape[0]

    def act(self, belief: ArrayLike, steps_left: int | None = None) -> int:
        """Return the optimal action.

        Parameters
        ----------
        belief : array_like (S,)
            A belief that can be reached from the start, as `POMDP.update_belief` computes it.
        steps_left : int
            How many steps are still to come, this one included; to be left out if the plan has no horizon.

        Raises
        ------
        ParameterError
            If the plan does not contain the belief, or not with that many steps left.
        """
        t, node = self._place(belief, steps_left)
        action = int(self.policies[t, node]) if t < self.policies.shape[0] else -1
        if action < 0:
            raise ParameterError(
                f"no step of the plan is left in belief {np.asarray(belief).tolist()}, so it has no action"
            )
        return action

    def value(self, belief: ArrayLike, steps_left: int | None = None) -> float:
        """Return the optimal value of the remaining steps; arguments and errors as in `act`."""
        return float(self.values[self._place(belief, steps_left)])

    def _place(self, belief: ArrayLike, steps_left: int | None) -> tuple[int, int]:
        """Return the row of the tables and the number of the belief."""
        b = validation.belief(belief, self.beliefs.shape[1])
        distance = np.abs(self.beliefs - b).sum(axis=1)
        node = int(np.argmin(distance))
        if distance[node] > MATCH:
            raise ParameterError(
                f"belief {b.tolist()} cannot be reached from the start, so the plan has no action for it"
            )
        if self.horizon is None:
            if steps_left is not None:
                raise ParameterError("this plan has no horizon: leave steps_left out")
            return 0, node
        most = self.horizon - int(self.depth[node])
        if steps_left is None or not 0 <= whole_number("steps_left", steps_left, at_least=0) <= most:
            raise ParameterError(
                f"steps_left={steps_left!r}: this is a plan for {self.horizon} steps, of which 0..{most} can be left "
                f"in belief {b.tolist()}"
            )
        return self.horizon - steps_left, node
