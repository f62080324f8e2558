"""Following one policy: T_pi V, from the rows of the model that the policy uses.

The rows are copied, contiguous in memory, so that evaluating a policy reads nothing else. Row s of such a chain is
``indptr[s] : indptr[s + 1]``, the row of the action that the policy takes in s, and empty where it takes none; its
weights are gamma c(s' | s, pi(s)). Everything else is as in `rlsuite.planning.kernels`.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, PointerArray, StateArray, SuccessorArray
from rlsuite.planning.blocks import on_blocks
from rlsuite.planning.kernels import ONE, Range, Rows, expected, successors_at
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.vectors import vector

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix


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
    chain_weight: FloatArray,
) -> None:
    """Copy the row of the chosen action of each state, so that following a policy reads no other."""
    for s in range(np.uint64(begin), np.uint64(end)):
        if action[s] < 0:
            continue
        row = s * np.uint64(rows.n_actions) + np.uint64(action[s])
        first, to = rows.indptr[row], chain_indptr[s]
        at = successors_at(rows, first)
        for i in range(rows.indptr[row + ONE] - first):
            chain_successor[to + i] = rows.successor[at + i]
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
        value = reward[s] + expected(first, last, first, ordered, successor, weight, ahead)
        out[s] = value
        if last > first:
            least = min(least, value - ahead[s])
            greatest = max(greatest, value - ahead[s])
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


class PolicySteps:
    """T_pi of one deterministic policy at a time: (T_pi V)(s) = r(s, pi(s)) + gamma sum_s' c(s' | s, pi(s)) V(s').

    The memory is reused for the next policy.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.

    Attributes
    ----------
    indptr : ndarray (S + 1,) uint64
        The row of state s is ``indptr[s] : indptr[s + 1]``; empty where no action is taken.
    successor : ndarray (n,) uint32
        Where each transition leads.
    weight : ndarray (n,) float64
        gamma times what it adds to c(s' | s, pi(s)).
    reward : ndarray (S,) float64
        r(s, pi(s)), 0 where no action is taken.
    """

    def __init__(self, lookahead: Lookahead) -> None:
        self._lookahead = lookahead
        self._policy: StateArray | None = None
        self.indptr: PointerArray = vector(lookahead.n_states + 1, np.uint64)
        self.successor: SuccessorArray = np.empty(0, dtype=np.uint32)
        self.weight: FloatArray = np.empty(0)
        self.reward: FloatArray = vector(lookahead.n_states)

    @property
    def matrix(self) -> "Matrix":
        """The rows as a csr_array (S, S), which shares their memory; it has weights into terminal states, too."""
        from scipy.sparse import csr_array

        n, needed = self.indptr.size - 1, int(self.indptr[-1])
        pointers: Any = (self.successor[:needed].view(np.int32), self.indptr.view(np.int64))
        return csr_array((self.weight[:needed], *pointers), shape=(n, n))

    def take(self, action: StateArray) -> bool:
        """Copy the rows and the rewards of a policy (S,), -1 for none; return whether it is another one."""
        lookahead = self._lookahead
        on_blocks(earn, lookahead.policy_blocks, lookahead.n_actions, lookahead.rows.reward, action, self.reward)
        if self._policy is not None and np.array_equal(self._policy, action):
            return False
        point(lookahead.n_actions, lookahead.rows.indptr, action, self.indptr)
        needed = int(self.indptr[-1])
        if needed > self.weight.size:
            self.successor = vector(needed, np.uint32)
            self.weight = vector(needed)
        on_blocks(gather, lookahead.policy_blocks, lookahead.rows, action, self.indptr, self.successor, self.weight)
        self._policy = action.copy()
        return True

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
