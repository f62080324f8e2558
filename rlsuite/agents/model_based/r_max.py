"""R-max: pairs that are not known well are assumed to pay r_max for ever (Brafman & Tennenholtz 2002)."""

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, EpsilonGreedy, Exploration, greedy, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.model_based.counted import (
    MOST_SWEEPS,
    check_counts,
    check_discount,
    iterate_values,
    mean_value,
    new_counts,
    observe,
)
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, positive_number, whole_amount, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array, Count
from rlsuite.training.kernels import Begin, Step, Transition
from rlsuite.training.legality import Legality


class OptimisticModel(NamedTuple):
    """Counts of the first m outcomes of each pair, and the plan made with them."""

    outcomes: Count  # (n_pairs, n_states + 1)
    successors: Annotated[NDArray[np.int32], Array(at_least=0, at_most="n_states")]  # (n_pairs, n_states + 1)
    n_successors: Count  # (n_pairs,)
    mean_reward: NDArray[np.float64]  # (n_states, n_actions)
    value: NDArray[np.float64]  # (n_states + 1,), of the plan; the last, 0, is that of a terminal state
    largest_reward: NDArray[np.float64]  # (1,), r_max, or the largest reward so far if that is larger
    iterations: Count  # (1,), sweeps of the last plan
    error_bound: NDArray[np.float64]  # (1,), of its values
    m: int
    tol: float
    max_iterations: int


@compiled(in_place=True)
def _best_possible(memory: Memory) -> float:
    """Return the optimistic value: r_max for ever; or 0, the value of an end, if that is more."""
    return max(memory.learned.largest_reward[0], 0.0) / (1.0 - memory.gamma)


@compiled(in_place=True)
def _backup(memory: Memory, state: int, action: int) -> float:
    """R + gamma sum_x' p(x') V(x') as it was counted, of a pair that is known; the optimistic value of all others."""
    model = memory.learned
    if memory.visits[state, action] < model.m:
        return _best_possible(memory)
    future = mean_value(model, state * memory.q.shape[1] + action, model.m, model.value)
    return model.mean_reward[state, action] + memory.gamma * future


@compiled(in_place=True)
def _plan(memory: Memory) -> None:
    model = memory.learned
    iterate_values(_backup, memory, model.value, model.tol, model.max_iterations, model.iterations, model.error_bound)


@compiled(in_place=True)
def _set_optimistic(memory: Memory) -> None:
    """Set all states to the optimistic value, so that planning begins above the values that it computes."""
    for state in range(memory.q.shape[0]):
        for action in range(memory.q.shape[1]):
            if is_legal(memory, state, action):
                memory.learned.value[state] = _best_possible(memory)


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Take the best action of the plan."""
    return greedy(memory, state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Count the outcome unless its pair is known; plan again when a pair becomes known; take the best action."""
    model = memory.learned
    tried = memory.visits[t.state, t.action]
    if tried < model.m:
        observe(memory, t.state, t.action, t.reward, t.next_state, t.terminated, tried)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    surprised = t.reward > model.largest_reward[0]
    if surprised:
        model.largest_reward[0] = t.reward
        _set_optimistic(memory)
    if surprised or tried + 1 == model.m:
        _plan(memory)
    return NO_ACTION if t.terminated or t.truncated else greedy(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class RMax(TabularAgent):
    """R-max: explores by planning in an optimistic model (Brafman & Tennenholtz 2002; Kakade 2003).

    A pair is known once it was taken m times; these m outcomes are its model from then on. A pair that is not known is
    assumed to have the value of the largest reward for ever. The agent acts greedily in this model and never at random:
    either the model is right and it earns much, or a pair becomes known. It plans again, by value iteration from above,
    whenever a pair becomes known, so n_states n_actions times at most.

    With probability 1 - delta it acts nearly optimally in all but polynomially many steps, if m is large enough: of the
    order n_states / ((1 - gamma)^4 epsilon^2) for values to within epsilon / (1 - gamma) (Kakade 2003). A much smaller
    m is enough in practice, and m = 1 is exact where nothing is random.

    Parameters
    ----------
    m : int
        How often a pair has to be taken to be known, at least 1.
    r_max : float
        Largest possible reward of a step. If a larger one occurs, it replaces this one and the optimistic values are
        computed again; but what was done until then was not optimistic. If it is negative, the optimistic value is 0,
        like that of an end.
    gamma : float
        Discount per step, in [0, 1).
    tol : float
        Largest error of the values of a plan, in units of Q, above 0.
    max_iterations : int
        Limit on the sweeps of one plan; if it is reached, `error_bound_` exceeds `tol`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Values of the last plan: an upper bound on the values as far as they are known, up to the errors of the model.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken; pairs with m or more are known.
    outcomes_ : ndarray of int64, shape (n_states * n_actions, n_states + 1)
        How often each of the first m times of a pair led to each state, and (last column) to an end.
    mean_reward_ : ndarray of float64, shape (n_states, n_actions)
        Mean reward of the first m times.
    iterations_, error_bound_ : ndarray, shape (1,)
        Sweeps of the last plan, and how far its values may be from those of the model.

    Warns
    -----
    RewardWarning
        Once by `learn`, if the environment has rewards outside the range that is expected.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.RMax(m=1, r_max=100.0, gamma=0.9).learn("rlsuite/GridGoal-v0", steps=100, seed=7)
    >>> agent.q_.max(axis=1).round(3)
    array([ 81.,  90., 100.,  90., 100.,   0.])
    """

    m: int = 10
    r_max: float = 1.0
    tol: float = 1e-4
    max_iterations: int = MOST_SWEEPS
    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    initial_value: float = field(init=False, repr=False, default=0.0)
    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    expected_rewards = (-math.inf, "r_max")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_discount("RMax", self.gamma)
        self.m = whole_number("m", self.m, at_least=1)
        self.r_max = finite_number("r_max", self.r_max)
        self.tol = positive_number("tol", self.tol)
        self.max_iterations = whole_amount("max_iterations", self.max_iterations)
        self.initial_value = max(self.r_max, 0.0) / (1.0 - self.gamma)

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless the counts go together."""
        check_counts(memory.learned)

    def tables(self, n_states: int, n_actions: int) -> OptimisticModel:
        """Make empty counts."""
        return OptimisticModel(
            *new_counts("RMax", n_states, n_actions),
            value=np.zeros(n_states + 1),
            largest_reward=np.array([self.r_max]),
            iterations=np.zeros(1, dtype=np.int64),
            error_bound=np.zeros(1),
            m=self.m,
            tol=self.tol,
            max_iterations=self.max_iterations,
        )

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make a table of the optimistic value."""
        memory = super().init_memory(legal, legality)
        memory.q[~legal] = 0.0
        memory.learned.value[:-1] = memory.q.max(axis=1)
        return memory
