"""The solutions of planners for a POMDP: bounds on the value at the start, and a policy over beliefs.

Most are plans as alpha vectors: the value of a belief is the best of finitely many linear functions of it (KLC98,
section 4). A plan that starts with some action has the value alpha(s) in the hidden state s, so alpha . b in the belief
b, and the best of a set of plans has the value max_i alpha_i . b: piecewise linear and convex. Every such vector is the
value of a plan, whether or not the set is complete; so the maximum is a lower bound on the optimum, everywhere.

An action that is illegal in a state makes the vectors of all plans that could come to it there minus infinity in the
states that lead to it. Such a vector counts in the beliefs that exclude these states, and in no others: 0 times minus
infinity is 0 here.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP, validation
from rlsuite.models.aliases import BeliefLike, FloatArray, IndexArray
from rlsuite.planning.kept import ACTIONS, OBSERVATIONS, STATES, Kept, Shelf, labels
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from rlsuite.planning.pomdp.simulation import BeliefEpisodes

MATCH = 1e-9
"""Largest L1 distance at which a belief is identified with one of the plan: far above rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class BeliefPlan(Kept, ABC):
    """The base of the solutions of planners for a POMDP, with any form of plan.

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
    pomdp: POMDP = field(repr=False)

    def __repr__(self) -> str:
        horizon = "" if self.horizon is None else f", horizon={self.horizon}"
        return (
            f"{type(self).__name__}(method={self.method!r}, lower_bound={self.lower_bound:.6g}, "
            f"upper_bound={self.upper_bound:.6g}, converged={self.converged}{horizon})"
        )

    @classmethod
    def _fields_in(cls, shelf: Shelf) -> dict[str, Any]:
        return {
            "lower_bound": shelf.number("lower_bound", float),
            "upper_bound": shelf.number("upper_bound", float),
            "converged": shelf.number("converged", bool),
            "horizon": shelf.horizon(),
            "iterations": shelf.number("iterations", int),
            "seconds": shelf.number("seconds", float),
            "method": shelf.number("method", str),
            "pomdp": shelf.pomdp,
        }

    @property
    def gap(self) -> float:
        """``upper_bound - lower_bound``, in the unit of the reward."""
        return self.upper_bound - self.lower_bound

    @overload
    def act(self, belief: BeliefLike, steps_left: int | None = None, *, named: Literal[True]) -> str: ...
    @overload
    def act(self, belief: BeliefLike, steps_left: int | None = None, *, named: Literal[False] = ...) -> int: ...
    def act(self, belief: BeliefLike, steps_left: int | None = None, *, named: bool = False) -> int | str:
        """Return the action in a belief.

        Parameters
        ----------
        belief : array_like (S,) or mapping of str to float
            The probability of each state, in their order or by name.
        steps_left : int, optional
            For a plan with a horizon, how many steps are left.
        named : bool
            Whether to answer with the name of the action instead of its number.

        Raises
        ------
        ParameterError
            If the belief is none, or the plan has no action for it or for this number of steps.
        """
        action = self._action(belief, steps_left)
        return labels(self.pomdp.action_labels, self.pomdp.n_actions)[action] if named else action

    def simulate(self, episodes: int = 1, *, steps: int | None = None, seed: int | None = None) -> "BeliefEpisodes":
        """Act in episodes of the model by the plan; `rlsuite.planning.simulate_beliefs` has more options.

        Raises
        ------
        ParameterError
            If a number is out of range, or without an end neither `steps` nor a discount below 1 is given.
        """
        from rlsuite.planning.pomdp.simulation import simulate_beliefs

        return simulate_beliefs(self.pomdp, self, episodes=episodes, steps=steps, seed=seed)

    @abstractmethod
    def _action(self, belief: BeliefLike, steps_left: int | None) -> int:
        """Return the number of the action; see `act`."""

    @abstractmethod
    def value(self, belief: BeliefLike, steps_left: int | None = None) -> float:
        """Return the value of the plan in a belief; arguments as in `act`."""


Plan = TypeVar("Plan", bound=BeliefPlan)


def noted(kind: type[Plan], watch: Watch, bounds: tuple[float, float], **found: Any) -> Plan:
    """Return what was found, with the two bounds at the start, as a plan that holds what its watch has noted."""
    watch.between(*bounds)
    given: dict[str, Any] = {
        "converged": bounds[1] - bounds[0] <= watch.tol,
        "horizon": None,
        "seconds": watch.seconds,
        "method": watch.method,
    }
    return kind(lower_bound=bounds[0], upper_bound=bounds[1], **given | found)


@dataclass(frozen=True, eq=False, repr=False)
class BeliefSolution(BeliefPlan):
    """The solution of a POMDP in the form of a plan over finitely many beliefs.

    It has the attributes of `BeliefPlan`, and:

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
    pomdp : POMDP
        The model.
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

    def columns(self) -> dict[str, list[object]]:
        """Return the table: each belief, the steps after which it is reached, its value and its action, by title."""
        pomdp, n = self.pomdp, self.n_beliefs
        actions = [*labels(pomdp.action_labels, pomdp.n_actions), ""]
        steps = np.zeros_like(self.depth) if self.horizon is None else self.depth
        policies = np.vstack([self.policies, np.full(n, -1)])
        return {
            "steps": self.depth.tolist(),
            **beliefs_by_state(pomdp, self.beliefs),
            "value": self.values[steps, np.arange(n)].tolist(),
            "action": [actions[a] for a in policies[steps, np.arange(n)].tolist()],
        }

    @classmethod
    def _restored(cls, shelf: Shelf) -> Self:
        """Return the plan in a file; part of `rlsuite.load`."""
        horizon = shelf.horizon()
        rows = 1 if horizon is None else horizon
        return cls(
            **cls._fields_in(shelf),
            beliefs=shelf.floats("beliefs", "beliefs", STATES, at_least=0.0),
            depth=shelf.indices("depth", "beliefs", below=None if horizon is None else horizon + 1, at_least=0),
            values=shelf.floats("values", rows if horizon is None else rows + 1, "beliefs"),
            policies=shelf.indices("policies", rows, "beliefs", below=ACTIONS),
        )

    def _action(self, belief: BeliefLike, steps_left: int | None) -> int:
        t, node = self._position(belief, steps_left)
        action = int(self.policies[t, node]) if t < self.policies.shape[0] else -1
        if action < 0:
            raise ParameterError(
                f"no step of the plan is left in belief {np.asarray(belief).tolist()}, so it has no action"
            )
        return action

    def value(self, belief: BeliefLike, steps_left: int | None = None) -> float:
        """Return the optimal value of the remaining steps; arguments and errors as in `act`."""
        return float(self.values[self._position(belief, steps_left)])

    def _position(self, belief: BeliefLike, steps_left: int | None) -> tuple[int, int]:
        """Return the row of the tables and the number of the belief."""
        b = validation.belief(belief, self.pomdp.n_states, self.pomdp.state_labels)
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


def beliefs_by_state(pomdp: POMDP, beliefs: FloatArray) -> dict[str, list[object]]:
    """Return beliefs (n, S) as columns of a table: the probabilities of each state."""
    return {f"b {state}": column.tolist() for state, column in zip(state_names(pomdp), beliefs.T, strict=True)}


def state_names(pomdp: POMDP) -> list[str]:
    """Return the names of the states, or their numbers."""
    return labels(pomdp.state_labels, pomdp.n_states)


SAME = 1e-13
"""Values of a belief that differ by less than this share of their terms are equal: that is rounding."""
BLOCK = 1 << 18
"""Entries of vectors copied at a time."""


class BoundsTrace(NamedTuple):
    """The bounds at the start belief while a method worked: n entries."""

    iterations: IndexArray
    """(n,) int64, iterations done until then"""
    seconds: FloatArray
    """(n,) float64, wall-clock time until then"""
    lower_bound: FloatArray
    """(n,) float64"""
    upper_bound: FloatArray
    """(n,) float64"""

    @classmethod
    def of(cls, records: list[tuple[int, float, float, float]]) -> Self:
        """Return the trace of a list of (iterations, seconds, lower bound, upper bound).

        A lower bound above a later one, which can be a rounding worse, counts as that one.
        """
        table = np.array(records, dtype=np.float64).reshape(-1, 4)
        lower = np.minimum.accumulate(table[::-1, 2])[::-1]
        return cls(table[:, 0].astype(np.int64), table[:, 1].copy(), lower.copy(), table[:, 3].copy())


class VectorSet(NamedTuple):
    """The alpha vectors of all plans of one length."""

    alpha_vectors: FloatArray
    """(n, S) float64, minus infinity where a plan comes to an illegal action"""
    actions: IndexArray
    """(n,) int64, the first action of each plan"""
    successors: IndexArray
    """(n, Z) int64, how each plan continues after an observation: the number of a vector with one step less to go (in a
    plan without end, of the same set); -1 if the observation is impossible, nothing follows, or it is not known"""

    def frozen(self) -> Self:
        """Return the set itself, its arrays read-only."""
        for array in self:
            array.setflags(write=False)
        return self


def _set_in(shelf: Shelf, prefix: str, n: str, after: str, links: bool = True) -> VectorSet:
    """Return a set of n vectors in a file, of plans that go on with one of a set of the size `after`."""
    vectors = shelf.floats(f"{prefix}alpha_vectors", n, STATES, finite=False)
    if not len(vectors) or vectors.max() == np.inf:
        raise ValueError(f"{prefix}alpha_vectors has no vectors, or an infinite value")
    actions = shelf.indices(f"{prefix}actions", n, below=ACTIONS)
    nowhere: IndexArray = np.empty((0, 0), dtype=np.int64)
    follows = shelf.indices(f"{prefix}successors", n, OBSERVATIONS, below=after) if links else nowhere
    return VectorSet(vectors, actions, follows)


def values_at(alpha_vectors: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return alpha_i . b_k for all vectors (n, S) and beliefs (k, S), as a (k, n) float64 array.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.solution import values_at
    >>> values_at(np.array([[1.0, -np.inf], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [[1.0, 0.0], [-inf, 1.0]]
    """
    if alpha_vectors.min(initial=0.0) > -np.inf:
        return beliefs @ alpha_vectors.T
    illegal = alpha_vectors == -np.inf
    products = beliefs @ np.where(illegal, 0.0, alpha_vectors).T
    products[(beliefs > 0.0) @ illegal.T] = -np.inf
    return products


def values_at_belief(alpha_vectors: FloatArray, belief: FloatArray) -> FloatArray:
    """Return alpha_i . b for all vectors (n, S) and one belief (S,), as (n,) float64: `values_at` without a large copy.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.solution import values_at_belief
    >>> values_at_belief(np.array([[1.0, -np.inf, 5.0], [0.0, 2.0, 5.0]]), np.array([0.5, 0.5, 0.0])).tolist()
    [-inf, 1.0]
    """
    possible = np.flatnonzero(belief)
    if 2 * possible.size <= belief.size:  # reads only the entries that it needs
        return alpha_vectors[:, possible] @ belief[possible]
    with np.errstate(invalid="ignore"):
        values: FloatArray = alpha_vectors @ belief
    unclear = np.flatnonzero(np.isnan(values))  # 0 times minus infinity
    for some in np.array_split(unclear, 1 + unclear.size * belief.size // BLOCK):
        values[some] = alpha_vectors[np.ix_(some, possible)] @ belief[possible]
    return values


def first_of_best(values: FloatArray, tie: float) -> IndexArray:
    """Return the first column of each row (k, n) that is not below the best by more than `tie`: (k,) int64.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.solution import first_of_best
    >>> first_of_best(np.array([[0.3, 0.1 + 0.2, 0.0], [1.0, 2.0, 2.5]]), 1e-12).tolist()
    [0, 2]
    """
    return np.argmax(values >= values.max(axis=1, keepdims=True) - tie, axis=1)


def best_at(values: FloatArray, alpha_vectors: FloatArray, beliefs: FloatArray) -> IndexArray:
    """Return the number of the best vector in each belief (k, S), by their `values_at` (k, n): (k,) int64.

    Of vectors whose values differ by rounding alone it is the first, so that a plan acts alike on every processor.
    """
    size = np.abs(beliefs * np.where(beliefs > 0.0, alpha_vectors[np.argmax(values, axis=1)], 0.0)).sum(axis=1)
    return np.argmax(values >= values.max(axis=1, keepdims=True) - SAME * size[:, np.newaxis], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class AlphaVectorSolution(BeliefPlan):
    """The solution of a POMDP in the form of alpha vectors: it acts in any belief.

    It has the attributes of `BeliefPlan`, and:

    Attributes
    ----------
    alpha_vectors : ndarray (n, S) float64
        The vectors, in the unit of the reward; for a plan with a horizon those with all steps to go. Minus infinity
        where a plan comes to an illegal action.
    actions : ndarray (n,) int64
        The first action of the plan behind each vector.
    pomdp : POMDP
        The model.
    trace : BoundsTrace
        The bounds over time.
    successors : ndarray (n, Z) int64 or None
        For a plan without end: the vector of the set with which a plan continues after each observation, -1 if it is
        impossible. None if the method does not know.
    stages : tuple of VectorSet
        For a plan with a horizon: ``stages[t]`` are the vectors with t steps to go, t = 0..H. Empty otherwise.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> plan = solve(machine, "incremental_pruning", horizon=2)
    >>> plan.alpha_vectors.tolist(), plan.actions.tolist()
    ([[1.81, 0.0]], [0])
    >>> plan.value([0.5, 0.5]), plan.value([0.5, 0.5], steps_left=1), plan.act([0.5, 0.5])
    (0.905, 0.5, 0)
    """

    alpha_vectors: FloatArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    trace: BoundsTrace = field(repr=False)
    successors: IndexArray | None = field(default=None, repr=False)
    stages: tuple[VectorSet, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        own = (self.alpha_vectors, self.actions, *(() if self.successors is None else (self.successors,)))
        for array in (*own, *self.trace):
            array.setflags(write=False)
        for stage in self.stages:
            stage.frozen()

    def columns(self) -> dict[str, list[object]]:
        """Return the table: the action of each vector, its entries, and what follows each observation, by title."""
        pomdp = self.pomdp
        actions = [*labels(pomdp.action_labels, pomdp.n_actions), ""]
        seen = labels(pomdp.observation_labels, pomdp.n_observations)
        follows = () if self.successors is None else self.successors.T
        return {
            "vector": list[object](range(self.n_vectors)),
            "action": [actions[a] for a in self.actions.tolist()],
            **{state: column.tolist() for state, column in zip(state_names(pomdp), self.alpha_vectors.T, strict=True)},
            **{
                f"after {z}": [k if k >= 0 else "" for k in row.tolist()] for z, row in zip(seen, follows, strict=False)
            },
        }

    @classmethod
    def _restored(cls, shelf: Shelf) -> Self:
        """Return the plan in a file; part of `rlsuite.load`."""
        horizon = shelf.horizon()
        stages: list[VectorSet] = []
        for t in range(0 if horizon is None else horizon + 1):
            stages.append(_set_in(shelf, f"stages.{t}.", f"vectors {t}", f"vectors {max(t - 1, 0)}"))
        own = _set_in(shelf, "", "vectors", "vectors", links="successors" in shelf)
        return cls(
            **cls._fields_in(shelf),
            alpha_vectors=own.alpha_vectors,
            actions=own.actions,
            trace=BoundsTrace(
                shelf.indices("trace.iterations", "records", below=None, at_least=0),
                shelf.floats("trace.seconds", "records"),
                shelf.floats("trace.lower_bound", "records", finite=False),
                shelf.floats("trace.upper_bound", "records", finite=False),
            ),
            successors=own.successors if own.successors.size else None,
            stages=tuple(stages),
        )

    def _actions_at(self, beliefs: FloatArray, steps_left: int | None) -> IndexArray:
        """Return the actions in some beliefs (k, S): (k,) int64."""
        plan = self.stages[steps_left] if self.stages and steps_left is not None else self
        possible = np.flatnonzero(beliefs.any(axis=0))  # few states of a large model at a time
        vectors, inside = plan.alpha_vectors[:, possible], beliefs[:, possible]
        values = values_at(vectors, inside)
        lost = values.max(axis=1) == -np.inf
        if lost.any():
            self.act(beliefs[np.argmax(lost)], steps_left)  # raises the error
        return plan.actions[best_at(values, vectors, inside)]

    def _proof(self, model: str | PathLike[str] | None) -> str:
        """Return the content of a .cert file; see `write`."""
        from rlsuite.planning.pomdp.proof import proof_of_plan
        from rlsuite.planning.proof import written

        if self.horizon is not None or isinstance(self, UpperBoundSolution):
            kind = "upper bounds" if self.horizon is None else "a plan with a horizon"
            raise ParameterError(f"there is no proof for {kind}: only for plans without an end, as of sarsop")
        if self.pomdp.gamma == 1.0:
            raise ParameterError("there is no proof for gamma=1 where states are hidden: only for gamma below 1")

        def prove(text: str, spare: int) -> str:
            return proof_of_plan(text, spare, self.alpha_vectors, self.actions)

        return written(self.pomdp, model, prove)

    @property
    def n_vectors(self) -> int:
        """Number of alpha vectors."""
        return self.alpha_vectors.shape[0]

    def _action(self, belief: BeliefLike, steps_left: int | None) -> int:
        vectors, actions, _ = self.vectors_with(steps_left)
        best, _ = self._best(vectors, belief)
        if actions[best] < 0:
            raise ParameterError("steps_left=0: the plan is at its end, and no action is left")
        return int(actions[best])

    def value(self, belief: BeliefLike, steps_left: int | None = None) -> float:
        """Return max_i alpha_i . b, a lower bound on the optimum; arguments and errors as in `act`, but 0 steps do."""
        return self._best(self.vectors_with(steps_left).alpha_vectors, belief)[1]

    def vector(self, belief: BeliefLike, steps_left: int | None = None) -> int:
        """Return the number of the best vector, the first of equals up to rounding; the rest as in `value`."""
        return self._best(self.vectors_with(steps_left).alpha_vectors, belief)[0]

    def vectors_with(self, steps_left: int | None) -> VectorSet:
        """Return the vectors for a number of steps, all of them without a horizon."""
        if self.horizon is None:
            if steps_left is not None:
                raise ParameterError("this plan has no horizon: leave steps_left out")
        elif steps_left is not None:
            if whole_number("steps_left", steps_left, at_least=0) > self.horizon:
                raise ParameterError(f"steps_left={steps_left} is more than the {self.horizon} steps of this plan")
            return self.stages[steps_left]
        nowhere = self.successors if self.successors is not None else np.empty((0, 0), dtype=np.int64)
        return VectorSet(self.alpha_vectors, self.actions, nowhere)

    def _best(self, vectors: FloatArray, belief: BeliefLike) -> tuple[int, float]:
        b = validation.belief(belief, self.pomdp.n_states, self.pomdp.state_labels)
        values = values_at_belief(vectors, b)
        best = int(np.argmax(values))
        if values[best] == -np.inf:
            raise ParameterError(
                f"no plan is legal in every state of the belief's support: {np.flatnonzero(b).tolist()}"
            )
        first = best_at(values[np.newaxis], vectors, b[np.newaxis])
        return int(first[0]), float(values[best])


@dataclass(frozen=True, eq=False, repr=False)
class PointBasedSolution(AlphaVectorSolution):
    """A plan of many vectors, most of which are known in a part of the states only, and minus infinity elsewhere.

    It has the attributes of `AlphaVectorSolution`. Its value is a lower bound in every belief, but the vectors were
    computed for those that are reached from the start, and are close to the optimum there.
    """


@dataclass(frozen=True, eq=False, repr=False)
class UpperBoundSolution(AlphaVectorSolution):
    """A plan that acts by an upper bound: its vectors, one per action, are above the value of any plan.

    It has the attributes of `AlphaVectorSolution`, but `value` is an upper bound on the optimum in every belief.
    ``converged`` says whether that bound was computed to the tolerance, and not whether the two bounds at the start
    are close.
    """
