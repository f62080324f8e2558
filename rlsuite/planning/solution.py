"""What a planner returns: values, a policy, and a bound on their error."""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.validation import number_of
from rlsuite.planning.kept import ACTIONS, STATES, Kept, Shelf, labels
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.watch import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Kept):
    """The solution of a fully observed model, with its error bound.

    Attributes
    ----------
    value : ndarray (S,) float64
        The optimal value of each state, within `error_bound`; 0 where no action is legal. In the unit of the reward.
    policy : ndarray (S,) int64
        A best action of each state: the first of those that are equal up to the rounding error of one backup; -1 where
        no action is legal.
    value_at_start : float
        The mean of `value` over the start distribution.
    converged : bool
        Whether `error_bound` is at most the tolerance that was asked for.
    error_bound : float
        An upper bound, rounding included, on three things in every state: the distance of `value` from the optimal
        value, the distance of `q` from the optimal action values, and what following `policy` for ever loses.
    iterations : int
        What the method counts; its own documentation says what that is.
    seconds : float
        Wall-clock time taken.
    method : str
        Name of the method.
    cost : ndarray (S,) float64
        The least cost, ``-value``: what is shown if the model was made from costs.
    trace : Trace
        How the error bound fell.
    lookahead : Lookahead
        The model, prepared.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.8)
    >>> solution = solve(mdp, method="policy_iteration")
    >>> solution.value.round(9).tolist(), solution.policy.tolist(), solution.converged
    ([5.0, 0.0], [0, -1], True)
    >>> round(solution.value_at_start, 9)
    5.0
    >>> solution.optimal_actions.tolist()  # 1 + 0.8 * 5 = 5: both are optimal
    [[True, True], [False, False]]
    """

    MAY_BE_INFINITE: ClassVar[bool] = False
    """Whether a value may be infinite; files of other solutions in which one is are damaged."""

    value: FloatArray = field(repr=False)
    policy: IndexArray = field(repr=False)
    value_at_start: float = field(init=False)
    converged: bool
    error_bound: float
    iterations: int
    seconds: float
    method: str
    trace: Trace = field(repr=False)
    lookahead: Lookahead = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.value, self.policy, *self.trace):
            array.setflags(write=False)
        object.__setattr__(self, "value_at_start", self._at_start(self.value))

    def _at_start(self, each: FloatArray) -> float:
        """Return the mean of a number (S,) over the start distribution."""
        return weighted_sum(self.lookahead.mdp.start, each)

    @property
    def cost(self) -> FloatArray:
        """(S,) float64: the least cost from each state, the value with the opposite sign."""
        return 0.0 - self.value

    @cached_property
    def q(self) -> FloatArray:
        """(S, A) float64: the optimal value of each action, within `error_bound`; minus infinity for illegal actions.

        Computed when it is first asked for.
        """
        q = self.lookahead.q(self.value)
        q.setflags(write=False)
        return q

    def __repr__(self) -> str:
        of_costs = self.lookahead.mdp.costs
        at_start = (
            f"cost_at_start={-self.value_at_start:.6g}" if of_costs else f"value_at_start={self.value_at_start:.6g}"
        )
        return (
            f"{type(self).__name__}(method={self.method!r}, {at_start}, "
            f"error_bound={self.error_bound:.3g}, converged={self.converged})"
        )

    @overload
    def act(self, state: int | str, steps_left: int | None = None, *, named: Literal[True]) -> str: ...
    @overload
    def act(self, state: int | str, steps_left: int | None = None, *, named: Literal[False] = ...) -> int: ...
    def act(self, state: int | str, steps_left: int | None = None, *, named: bool = False) -> int | str:
        """Return the best action in a state, which is given by its number or its name.

        Parameters
        ----------
        state : int or str
            The state.
        steps_left : int, optional
            For a solution with a horizon, how many steps are left; by default all of them.
        named : bool
            Whether to answer with the name of the action instead of its number.

        Raises
        ------
        ParameterError
            If there is no such state, no action is legal in it, or `steps_left` is not one of 1..H.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> from rlsuite.planning import solve
        >>> names = {"state_labels": ["in", "out"], "action_labels": ["stay", "leave"]}
        >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5, **names)
        >>> solve(mdp).act("in"), solve(mdp).act("in", named=True)
        (1, 'leave')
        """
        mdp = self.lookahead.mdp
        action = int(self._policy(steps_left)[number_of("state", state, mdp.n_states, mdp.state_labels)])
        if action < 0:
            raise ParameterError(f"state={state!r} is an end: no action is legal there")
        return labels(mdp.action_labels, mdp.n_actions)[action] if named else action

    def _policy(self, steps_left: int | None) -> IndexArray:
        if steps_left is not None:
            raise ParameterError("this solution has no horizon: leave steps_left out")
        return self.policy

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the value, the best action and the action values of each state, by title."""
        mdp = self.lookahead.mdp
        actions = [*labels(mdp.action_labels, mdp.n_actions), ""]
        of_actions = 0.0 - self.q if mdp.costs else self.q
        what, what_of_action = ("cost", "cost of") if mdp.costs else ("value", "q")
        values = {
            f"{what_of_action} {action}": q.tolist() for action, q in zip(actions[:-1], of_actions.T, strict=True)
        }
        return {
            "state": list[object](labels(mdp.state_labels, mdp.n_states)),
            what: (self.cost if mdp.costs else self.value).tolist(),
            "action": [actions[a] for a in self.policy.tolist()],
            **values,
        }

    def _proof(self, model: str | PathLike[str] | None) -> str:
        """Return the content of a .cert file; see `write`."""
        from rlsuite.planning.proof import proof_of_values, written

        def prove(text: str, spare: int) -> str:
            return proof_of_values(text, spare, self.value, self.policy)

        return written(self.lookahead.mdp, model, prove)

    @classmethod
    def _restored(cls, shelf: Shelf) -> Self:
        """Return the solution in a file; part of `rlsuite.load`."""
        return cls(**cls._fields_in(shelf))

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        if not isinstance(shelf.model, MDP):
            raise ValueError("its model is a POMDP, not an MDP")
        return {
            "value": shelf.floats("value", STATES, finite=not cls.MAY_BE_INFINITE),
            "policy": shelf.indices("policy", STATES, below=ACTIONS),
            "converged": shelf.number("converged", bool),
            "error_bound": shelf.number("error_bound", float),
            "iterations": shelf.number("iterations", int),
            "seconds": shelf.number("seconds", float),
            "method": shelf.number("method", str),
            "trace": Trace(
                shelf.indices("trace.iterations", "records", below=None, at_least=0),
                shelf.floats("trace.seconds", "records"),
                shelf.floats("trace.error_bound", "records", finite=False),
            ),
            "lookahead": Lookahead(shelf.model),
        }

    @property
    def optimal_actions(self) -> BoolArray:
        """(S, A) bool: the actions that may be optimal.

        Those with ``q >= value - 2 * error_bound``. Since neither `q` nor `value` is further than `error_bound` from
        the truth, no optimal action is missing; an action is wrongly in only if it is within 4 times `error_bound`
        of optimal.
        """
        listed: BoolArray = self.q >= (self.value - 2.0 * self.error_bound)[:, np.newaxis]
        return listed & (self.q > -np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class FiniteHorizonSolution(Solution):
    """The solution for a finite horizon: as `Solution` for the first of H steps, and the same for all the others.

    Attributes
    ----------
    values : ndarray (H + 1, S) float64
        ``values[t]`` is the optimal value of what is still to come after t steps, H - t steps before the end. The
        first row is `value`, the last is 0.
    policies : ndarray (H, S) int64
        ``policies[t]`` is the optimal decision after t steps. The first row is `policy`.
    """

    values: FloatArray = field(repr=False)
    policies: IndexArray = field(repr=False)

    @cached_property
    def q(self) -> FloatArray:
        """(S, A) float64: the optimal value of each action in the first step, minus infinity for illegal actions."""
        q = self.lookahead.q(self.values[1])
        q.setflags(write=False)
        return q

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values.setflags(write=False)
        self.policies.setflags(write=False)

    def _proof(self, model: str | PathLike[str] | None) -> str:
        raise ParameterError("there is no proof for a plan with a horizon: only for values and plans without an end")

    def _policy(self, steps_left: int | None) -> IndexArray:
        left = self.horizon if steps_left is None else whole_number("steps_left", steps_left)
        if left > self.horizon:
            raise ParameterError(f"steps_left={steps_left} is more than the {self.horizon} steps of this plan")
        return self.policies[self.horizon - left]

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the value and the best action of each state after each number of steps, by title."""
        mdp = self.lookahead.mdp
        actions = [*labels(mdp.action_labels, mdp.n_actions), ""]
        values = 0.0 - self.values[:-1] if mdp.costs else self.values[:-1]
        return {
            "step": list[object](np.repeat(np.arange(self.horizon), mdp.n_states).tolist()),
            "state": list[object](labels(mdp.state_labels, mdp.n_states) * self.horizon),
            "cost" if mdp.costs else "value": list[object](values.reshape(-1).tolist()),
            "action": [actions[a] for a in self.policies.reshape(-1).tolist()],
        }

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        policies = shelf.indices("policies", "steps", STATES, below=ACTIONS)
        values = shelf.floats("values", len(policies) + 1, STATES)
        return super()._fields_in(shelf) | {"policies": policies, "values": values}

    @property
    def horizon(self) -> int:
        """H, in steps."""
        return self.policies.shape[0]
