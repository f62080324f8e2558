"""Two ways to improve a policy at gamma = 1: linear systems, and sweeps in place.

Both begin with a proper policy, one that surely ends, and both can count the steps that a policy takes.
"""

import copy
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.planning.blocks import fixed_blocks, on_blocks
from rlsuite.planning.certificate import largest_change
from rlsuite.planning.kernels import backup_in_place
from rlsuite.planning.linear_system import PER_ENTRY, PER_SYSTEM, seconds_to_eliminate, solve_fixed_point
from rlsuite.planning.operators import Lookahead, best, greedy
from rlsuite.planning.policy_rows import PolicySteps
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

DEPTH, DEEPEST = 0.05, 20
"""A policy is followed until its changes fall to this share, in at most this many sweeps; as in `gauss_seidel`."""

MOST_SWEEPS = 10_000
"""Limit on the sweeps that evaluate one policy."""

SECONDS_PER_ENTRY = 2e-9
"""What an entry of a sweep is taken to last."""

ACCURATE = 0.1
"""How exactly the number of steps must satisfy its equation; it only has to prove that there is an end."""


class Engine(Protocol):
    """The interface of both ways."""

    model: Lookahead
    """The model; what is *terminal* has the value 0."""
    value: FloatArray
    """(S,) the value so far"""

    def advance(self) -> float:
        """Improve `value`, and return its largest change; 0 if nothing is left to improve."""
        ...

    def expected_steps(self, policy: IndexArray) -> FloatArray:
        """Return h (S,) that nearly solves h = 1 + C_pi h; 0 at terminal states."""
        ...

    def raised(self, extra: float, value: FloatArray) -> Self:
        """Return an engine for rewards r + extra that continues from `value` with the present policy."""
        ...


def prepared(lookahead: Lookahead, idle: BoolArray) -> Lookahead:
    """Return the model with idle states terminal, and without actions on which the methods would fail.

    The engines divide by the probability of leaving a state. For an action that never leaves, this probability is 0 and
    the value of the action is minus infinity, as it should be. But rounding can turn the 0 into a small number of
    either sign. So the value of such an action is set to minus infinity before.
    """
    model = _copied(lookahead)
    model.terminal = lookahead.terminal | idle
    mdp = lookahead.mdp
    uneven: BoolArray = np.zeros(mdp.n_states * mdp.n_actions, dtype=np.bool_)
    rows = (mdp.n_actions, mdp.indptr, mdp.next_state, mdp.probability, mdp.terminated)
    on_blocks(_find_uneven, lookahead.blocks, *rows, idle, uneven)
    if uneven.any():
        model.weight = np.where(np.repeat(uneven, np.diff(mdp.indptr)), 0.0, lookahead.weight)
        model.reward = np.where(uneven, -np.inf, lookahead.reward)
    return model


@compiled(in_place=True)
def _find_uneven(
    begin: int,
    end: int,
    n_actions: int,
    indptr: IndexArray,
    next_state: StateArray,
    probability: FloatArray,
    terminated: BoolArray,
    idle: BoolArray,
    uneven: BoolArray,
) -> None:
    """Mark the actions that surely stay in their state, but with probabilities that do not add up to 1 exactly."""
    for s in range(begin, end):
        for row in range(s * n_actions, (s + 1) * n_actions):
            total, stays = 0.0, True
            for i in range(indptr[row], indptr[row + 1]):
                total += probability[i]
                stays = stays and (probability[i] == 0.0 or (next_state[i] == s and not terminated[i]))
            uneven[row] = stays and total != 1.0 and not idle[s] and indptr[row] < indptr[row + 1]


def rewarded(model: Lookahead, reward: FloatArray, size: float) -> Lookahead:
    """Return the model with other rewards (S * A,), the largest of which is `size`."""
    other = _copied(model)
    other.reward = reward
    other.reward_size = size
    return other


def _copied(model: Lookahead) -> Lookahead:
    """Return a copy that shares all arrays but has its own tuple of them, so that they can be replaced."""
    other = copy.copy(model)
    vars(other).pop("rows", None)
    return other


class Exact:
    """Howard's policy iteration: the value of a policy by a linear system, then better actions where there are any.

    Parameters
    ----------
    model : Lookahead
        The model, from `prepared`.
    action : ndarray (S,) integers
        A proper policy; -1 at terminal states, and where nothing is legal.
    """

    def __init__(self, model: Lookahead, action: StateArray | IndexArray) -> None:
        self.model = model
        self.value: FloatArray = np.zeros(model.n_states)
        self._policy = action.astype(np.int64)

    def advance(self) -> float:
        """Evaluate and improve."""
        self.value = self._solved(self._policy, self.model.reward)
        q = self.model.q(self.value)
        own = np.take_along_axis(q, np.maximum(self._policy, 0)[:, np.newaxis], axis=1)[:, 0]
        gain = best(q) - own
        better = (self._policy >= 0) & (gain > 2.0 * self.model.rounding(self.value))
        self._policy = np.where(better, greedy(q), self._policy)
        return float(gain[better].max(initial=0.0))

    def expected_steps(self, policy: IndexArray) -> FloatArray:
        """Return h = 1 + C_pi h, solved."""
        return self._solved(policy, np.ones(self.model.n_states * self.model.n_actions))

    def raised(self, extra: float, value: FloatArray) -> Self:
        """Return an engine for r + extra."""
        model = rewarded(self.model, self.model.reward + extra, self.model.reward_size + extra)
        other = type(self)(model, self._policy)
        other.value = value
        return other

    def _solved(self, policy: IndexArray, reward: FloatArray) -> FloatArray:
        open_, rows, chain = _chain_of(self.model, policy)
        value = np.zeros(self.model.n_states)
        value[open_] = solve_fixed_point(chain, reward[rows])
        return value


def _chain_of(model: Lookahead, policy: IndexArray) -> tuple[IndexArray, IndexArray, "Matrix"]:
    """Return the n open states, the pairs of a policy in them, and the chain (n, n) that it makes of them."""
    open_: IndexArray = np.flatnonzero((policy >= 0) & ~model.terminal)
    rows = open_ * model.n_actions + policy[open_]
    return open_, rows, model.continuation[rows][:, open_]


def with_linear_systems(engine: Engine, policy: IndexArray, seconds: float) -> Engine:
    """Return `Exact`, from an engine's value and a policy on, if solving a system takes no more than `seconds`."""
    if seconds_to_eliminate(_chain_of(engine.model, policy)[2]) > seconds:
        return engine
    exact = Exact(engine.model, policy)
    exact.value = engine.value
    return exact


class Sweeps:
    """Sweeps in place over all actions, forwards and backwards, and sweeps that follow the best ones.

    Where chains mix slowly, sweeps take for ever. So now and then, whenever they have taken as long as an elimination
    is estimated to take, the value becomes that of the best actions, by a linear system: if these come to the end.

    They should begin with values that are too low. These rise within one sweep, from the end as far as the order of the
    states allows; values that are too high fall by only a step's cost per sweep, wherever going round in circles seems
    to cost less than going to the end.

    Parameters
    ----------
    model : Lookahead
        The model, from `prepared`.
    action : ndarray (S,) int32
        A proper policy; -1 at terminal states, and where nothing is legal.
    value : ndarray (S,) float64
        What to begin with, 0 at terminal states; written to.
    watch : Watch
        The clock, which may say that there is no time left.
    """

    def __init__(self, model: Lookahead, action: StateArray, value: FloatArray, watch: Watch) -> None:
        self.model = model
        self.value = value
        self._action = action.copy()
        self._watch = watch
        self._blocks = fixed_blocks(model.n_states)
        self._rows = PolicySteps(model)
        self._spare: FloatArray = np.empty(model.n_states)
        self._entries = float(model.rows.indptr[-1])
        self._work, self._seconds = 0.0, 0.0

    def advance(self) -> float:
        """Back up all states in both directions, then evaluate the actions found."""
        self._eliminate()
        change = 0.0
        for forward in (True, False):
            before = self._seen_by_others(self.value)
            arguments = (forward, self.model.rows, before, self.value, self._action)
            change = largest_change(on_blocks(backup_in_place, self._blocks, *arguments))
        if change > self.model.rounding(self.value):
            self._rows.take(self._action)
            self._follow(self.value, DEPTH * change, DEEPEST)
            self._work += 2.0 * self._entries + DEEPEST * self._entries / self.model.n_actions
        return change

    def _eliminate(self) -> None:
        """Evaluate the best actions by a linear system, if sweeps have taken as long as that."""
        ordering = PER_SYSTEM + PER_ENTRY * self._entries / self.model.n_actions
        spent = self._work * SECONDS_PER_ENTRY
        if spent < max(ordering * SECONDS_PER_ENTRY, self._seconds):
            return
        self._work = 0.0
        policy = np.where(self.model.terminal, -1, self._action).astype(np.int64)
        open_, rows, chain = _chain_of(self.model, policy)
        self._seconds = seconds_to_eliminate(chain)
        if self._seconds > min(spent, self._watch.left):
            self._seconds = max(self._seconds, 2.0 * spent)
            return
        try:
            solved = solve_fixed_point(chain, np.column_stack([self.model.reward[rows], np.ones(rows.size)]))
        except (np.linalg.LinAlgError, RuntimeError):  # singular: these actions may never come to the end
            return
        value, steps = solved.T
        # They surely end if and only if the number of steps solves its equation with h >= 1.
        if np.isfinite(solved).all() and steps.min(initial=1.0) >= 1.0 - 1e-9:
            self.value[open_] = value

    def expected_steps(self, policy: IndexArray) -> FloatArray:
        """Return h = 1 + C_pi h, up to a tenth of a step."""
        acting = (policy >= 0) & ~self.model.terminal
        self._rows.take(np.where(acting, policy, -1).astype(np.int32))
        self._rows.reward.fill(1.0)
        # A first guess: no step costs more than the largest reward; it is exact if all steps cost the same.
        steps = np.where(acting, np.abs(self.value) / max(self.model.reward_size, np.finfo(float).tiny), 0.0)
        wrong, sweeps = np.inf, 8
        while wrong > ACCURATE and sweeps < MOST_SWEEPS and not self._watch.hurries:
            self._follow(steps, 0.1 * ACCURATE, sweeps)
            wrong = largest_change(self._rows.follow(steps, self._spare))
            sweeps *= 2
        return steps

    def raised(self, extra: float, value: FloatArray) -> Self:
        """Return an engine for r + extra."""
        model = rewarded(self.model, self.model.reward + extra, self.model.reward_size + extra)
        return type(self)(model, self._action, value, self._watch)

    def _follow(self, value: FloatArray, enough: float, most: int) -> None:
        for sweep in range(most):
            before = self._seen_by_others(value)
            changes = self._rows.follow_in_place(self._blocks, sweep % 2 == 0, before, value)
            if largest_change(changes) <= enough or self._watch.hurries:
                return

    def _seen_by_others(self, value: FloatArray) -> FloatArray:
        """Return the values that other blocks read: a copy, unless there is only one block."""
        if len(self._blocks) == 1:
            return value
        np.copyto(self._spare, value)
        return self._spare
