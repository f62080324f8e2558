"""The rows of a model that one policy uses, contiguous in memory, so that evaluating it reads nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.models.aliases import FloatArray, PointerArray, StateArray, SuccessorArray
from rlsuite.planning.chain_kernels import earn, exchange, follow, follow_in_place, gather, point
from rlsuite.planning.kernels import Range
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.threads import on_blocks
from rlsuite.planning.vectors import vector


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
        self._taken: StateArray | None = None
        self.indptr: PointerArray = vector(lookahead.n_states + 1, np.uint64)
        self.successor: SuccessorArray = np.empty(0, dtype=np.uint32)
        self.weight: NDArray[Any] = np.empty(0, dtype=precision)

    def take(self, action: StateArray) -> bool:
        """Copy the rows of a policy (S,), -1 for none; return whether it differs from the previous one.

        Only new rows are copied, if they are as long as the old ones.
        """
        lookahead = self._lookahead
        n_actions, indptr, successor, weight, _, gamma = lookahead.rows
        rows = (n_actions, indptr, successor, weight, gamma)
        if self._taken is not None:
            chain = (self.indptr, self.successor, self.weight)
            exchanged = on_blocks(exchange, lookahead.blocks, *rows, action, self._taken, *chain)
            if min(exchanged) >= 0:
                return any(exchanged)
        point(n_actions, indptr, action, self.indptr)
        needed = int(self.indptr[-1])
        if needed > self.weight.size:
            self.successor = vector(needed, np.uint32)
            self.weight = vector(needed, self.weight.dtype.type)
        on_blocks(gather, lookahead.blocks, *rows, action, self.indptr, self.successor, self.weight)
        self._taken = action.copy()
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
        on_blocks(earn, lookahead.blocks, lookahead.n_actions, lookahead.reward, action, self.reward)
        return super().take(action)

    def follow(self, ahead: FloatArray, out: FloatArray) -> list[Range]:
        """Fill T_pi V into `out`."""
        chain = (self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow, self._lookahead.blocks, *chain, ahead, out)

    def follow_in_place(
        self, blocks: list[tuple[int, int]], forward: bool, before: FloatArray, ahead: FloatArray
    ) -> list[Range]:
        """Replace V by T_pi V state by state, in one direction; `before` is a copy of V if there are many blocks."""
        chain = (self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow_in_place, blocks, forward, *chain, before, ahead)
