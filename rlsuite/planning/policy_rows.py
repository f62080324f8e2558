"""Following one policy: T_pi V, from the rows of the model that the policy uses.

The rows are copied, contiguous in memory, so that evaluating a policy reads nothing else. Row s of such a chain is
``indptr[s] : indptr[s + 1]``, the row of the action that the policy takes in s, and empty where it takes none; its
weights are gamma c(s' | s, pi(s)). Everything else is as in `rlsuite.planning.kernels`.

The value of a policy is also a series: with the change d = T_pi V - V of one backup, V_pi = V + sum_k (gamma C_pi)^k d
(P94 Theorem 6.1.1). A planner that backs up again and again needs but the first digits of that sum each time: what is
missing shows in the next d, which is computed in double precision (iterative refinement). So `ValueSeries` adds it up
in single precision, which halves the memory that a sweep has to move.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, PointerArray, SingleArray, StateArray, SuccessorArray
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.certificate import interval, largest_change
from rlsuite.planning.kernels import ONE, Range, Rows, expected
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.vectors import vector

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

SINGLE_EPS = float(np.finfo(np.float32).eps)
"""Terms that are smaller, in units of the first, no longer change the sum."""


@compiled(in_place=True)
def point(n_actions: int, indptr: PointerArray, action: StateArray, chain_indptr: PointerArray) -> None:
    """Fill the row pointers of the chain of a policy (S,), whose entry -1 stands for an empty row."""
    total = np.uint64(0)
    chain_indptr[0] = total
    for s in range(np.uint64(action.size)):
        if action[s] >= 0:
            row = s * np.uint64(n_actions) + np.uint64(action[s])
            total += indptr[row + ONE] - indptr[row]
        chain_indptr[s + ONE] = total


@compiled(in_place=True)
def gather(
    begin: int,
    end: int,
    rows: Rows,
    action: StateArray,
    chain_indptr: PointerArray,
    chain_successor: SuccessorArray,
    chain_weight: FloatArray | SingleArray,
) -> None:
    """Copy the row of the chosen action of each state, so that following a policy reads no other."""
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] < 0:
            continue
        row = s * np.uint64(rows.n_actions) + np.uint64(action[s])
        first, to = rows.indptr[row], chain_indptr[s]
        for i in range(rows.indptr[row + ONE] - first):
            chain_successor[to + i] = rows.successor[first + i]
            chain_weight[to + i] = rows.gamma * rows.weight[first + i]


@compiled(in_place=True)
def earn(
    begin: int, end: int, n_actions: int, reward: FloatArray, action: StateArray, chain_reward: FloatArray
) -> None:
    """Fill r(s, pi(s)), 0 where no action is taken."""
    for s in range(np.uint64(begin), np.uint64(end)):
        chain_reward[s] = 0.0
        if action[s] >= 0:
            chain_reward[s] = reward[s * np.uint64(n_actions) + np.uint64(action[s])]


@compiled(in_place=True)
def follow(
    begin: int,
    end: int,
    ordered: bool,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    ahead: FloatArray,
    out: FloatArray,
) -> Range:
    """Fill T_pi V, one step of a chain whose row s is ``indptr[s] : indptr[s + 1]``; the reward where it is empty."""
    least, greatest = np.inf, -np.inf
    last = indptr[begin]
    for s in range(np.uint64(begin), np.uint64(end)):
        first, last = last, indptr[s + ONE]
        value = reward[s] + expected(first, last, ordered, successor, weight, ahead)
        out[s] = value
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
    return least, greatest


@compiled(in_place=True)
def begin_series(
    begin: int,
    end: int,
    action: StateArray,
    before: FloatArray,
    after: FloatArray,
    scale: float,
    change: SingleArray,
    total: SingleArray,
) -> None:
    """Fill (after - before) / scale into `change`, 0 where no action is taken, and 0 into `total`."""
    for s in range(np.uint64(begin), np.uint64(end)):
        change[s] = (after[s] - before[s]) / scale if action[s] >= 0 else 0.0
        total[s] = 0.0


@compiled(in_place=True)
def end_series(
    begin: int, end: int, action: StateArray, total: SingleArray, scale: float, shift: float, value: FloatArray
) -> None:
    """Add ``scale * total + shift`` to `value` where an action is taken."""
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] >= 0:
            value[s] += scale * total[s] + shift


@compiled(in_place=True)
def propagate(
    begin: int,
    end: int,
    ordered: bool,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: SingleArray,
    change: SingleArray,
    out: SingleArray,
    total: SingleArray,
) -> Range:
    """Fill gamma C_pi `change` into `out`, in single precision, and add it to `total`."""
    least, greatest = np.inf, -np.inf
    last = indptr[begin]
    for s in range(np.uint64(begin), np.uint64(end)):
        first, last = last, indptr[s + ONE]
        follows = expected(first, last, ordered, successor, weight, change)
        out[s] = follows
        total[s] += follows
        if last > first:
            least = min(least, float(follows))
            greatest = max(greatest, float(follows))
    return least, greatest


@compiled(in_place=True)
def follow_in_place(
    begin: int,
    end: int,
    forward: bool,
    indptr: PointerArray,
    successor: SuccessorArray,
    weight: FloatArray,
    reward: FloatArray,
    before: FloatArray,
    ahead: FloatArray,
) -> Range:
    """`follow` with the newest values of this block, as in `backup_in_place`."""
    least, greatest = np.inf, -np.inf
    lowest, beyond = np.uint64(begin), np.uint64(end)
    for k in range(beyond - lowest):
        s = lowest + k if forward else beyond - ONE - k
        first, last = indptr[s], indptr[s + ONE]
        value, back = reward[s], 0.0
        for i in range(first, last):
            there = np.uint64(successor[i])
            if there == s:
                back += weight[i]
            elif lowest <= there < beyond:
                value += weight[i] * ahead[there]
            else:
                value += weight[i] * before[there]
        if back > 0.0:
            value /= 1.0 - back
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
            ahead[s] = value
    return least, greatest


class PolicyRows:
    """gamma C_pi of one deterministic policy at a time; the memory is reused for the next one.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    precision : type
        NumPy's type of the weights: float64 or float32.

    Attributes
    ----------
    indptr : ndarray (S + 1,) uint64
        The row of state s is ``indptr[s] : indptr[s + 1]``; empty where no action is taken.
    successor : ndarray (n,) uint32
        Where each transition leads.
    weight : ndarray (n,) float64 or float32
        gamma times what it adds to c(s' | s, pi(s)).
    """

    def __init__(self, lookahead: Lookahead, precision: type[Any] = np.float64) -> None:
        self._lookahead = lookahead
        self._policy: StateArray | None = None
        self.indptr: PointerArray = vector(lookahead.n_states + 1, np.uint64)
        self.successor: SuccessorArray = np.empty(0, dtype=np.uint32)
        self.weight: NDArray[Any] = np.empty(0, dtype=precision)

    @property
    def matrix(self) -> "Matrix":
        """The rows as a csr_array (S, S), which shares their memory; it has weights into terminal states, too."""
        from scipy.sparse import csr_array

        n, needed = self.indptr.size - 1, int(self.indptr[-1])
        pointers: Any = (self.successor[:needed].view(np.int32), self.indptr.view(np.int64))
        return csr_array((self.weight[:needed], *pointers), shape=(n, n))

    def take(self, action: StateArray) -> bool:
        """Copy the rows of a policy (S,), -1 for none; return whether it differs from the previous one."""
        lookahead = self._lookahead
        if self._policy is not None and np.array_equal(self._policy, action):
            return False
        point(lookahead.n_actions, lookahead.rows.indptr, action, self.indptr)
        needed = int(self.indptr[-1])
        if needed > self.weight.size:
            self.successor = vector(needed, np.uint32)
            self.weight = vector(needed, self.weight.dtype.type)
        on_blocks(gather, lookahead.policy_blocks, lookahead.rows, action, self.indptr, self.successor, self.weight)
        self._policy = action.copy()
        return True


class PolicySteps(PolicyRows):
    """T_pi of one deterministic policy at a time: (T_pi V)(s) = r(s, pi(s)) + gamma sum_s' c(s' | s, pi(s)) V(s').

    Attributes
    ----------
    reward : ndarray (S,) float64
        r(s, pi(s)), 0 where no action is taken.
    """

    def __init__(self, lookahead: Lookahead) -> None:
        super().__init__(lookahead)
        self.reward: FloatArray = vector(lookahead.n_states)

    def take(self, action: StateArray) -> bool:
        """Copy the rows and the rewards of a policy."""
        lookahead = self._lookahead
        on_blocks(earn, lookahead.policy_blocks, lookahead.n_actions, lookahead.reward, action, self.reward)
        return super().take(action)

    def follow(self, ahead: FloatArray, out: FloatArray) -> list[Range]:
        """Fill T_pi V into `out`."""
        chain = (self._lookahead.ordered, self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow, self._lookahead.policy_blocks, *chain, ahead, out)

    def follow_in_place(
        self, blocks: list[tuple[int, int]], forward: bool, before: FloatArray, ahead: FloatArray
    ) -> list[Range]:
        """Replace V by T_pi V state by state, in one direction; `before` is a copy of V if there are many blocks."""
        chain = (self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow_in_place, blocks, forward, *chain, before, ahead)


class ValueSeries:
    """The sums for one policy after the other, in the same memory.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.

    Attributes
    ----------
    exhausted : bool
        Whether further terms are too small for single precision.
    """

    exhausted: bool
    _action: StateArray
    _scale: float
    _missing: float
    _largest: float

    def __init__(self, lookahead: Lookahead) -> None:
        self._lookahead = lookahead
        self._rows = PolicyRows(lookahead, np.float32)
        self._change: SingleArray = vector(lookahead.n_states, np.float32)
        self._spare: SingleArray = vector(lookahead.n_states, np.float32)
        self._total: SingleArray = vector(lookahead.n_states, np.float32)

    def begin(self, action: StateArray, before: FloatArray, after: FloatArray, scale: float) -> bool:
        """Begin with d = after - before, whose largest entry is `scale`; return whether this is another policy.

        `action` (S,) is the policy, -1 at closed states. The first term, d itself, is what `after` already has.
        """
        another = self._rows.take(action)
        self._action = action
        self._scale = scale
        on_blocks(begin_series, self._lookahead.policy_blocks, action, before, after, scale, self._change, self._total)
        return another

    def add_term(self) -> float:
        """Add the next term; return how far apart the bounds on the value of the policy are then."""
        rows, lookahead = self._rows, self._lookahead
        chain = (lookahead.ordered, rows.indptr, rows.successor, rows.weight)
        terms = on_blocks(propagate, lookahead.policy_blocks, *chain, self._change, self._spare, self._total)
        self._change, self._spare = self._spare, self._change
        bounds = interval(lookahead, terms, 0.0)
        self._missing = self._scale * bounds.certain
        self._largest = largest_change(terms)
        self.exhausted = self._largest <= SINGLE_EPS
        return self._scale * bounds.width

    @property
    def floor(self) -> float:
        """How far apart rounding alone can keep the bounds after the last term: a smaller distance says nothing."""
        noise = self.noise(self._largest)
        return self._scale * interval(self._lookahead, [(-noise, noise)], 0.0).width

    def noise(self, size: float) -> float:
        """Return a bound on the rounding error of an entry of a term, if none is larger than `size`."""
        return 0.5 * SINGLE_EPS * (self._lookahead.longest_row + 2) * size

    def settle(self, value: FloatArray) -> None:
        """Add the sum to `value`, and what the series still lacks in every state."""
        arguments = (self._action, self._total, self._scale, self._missing, value)
        on_blocks(end_series, self._lookahead.policy_blocks, *arguments)
