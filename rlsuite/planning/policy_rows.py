"""The rows of a model that one policy uses, side by side in memory, so that evaluating it reads nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.models.aliases import FloatArray, PointerArray, StateArray, SuccessorArray
from rlsuite.planning.chain_kernels import exchange, follow, follow_in_place, gather, point
from rlsuite.planning.kernels import Range
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.threads import on_blocks
from rlsuite.planning.vectors import vector


class PolicyRows:
    """T_pi of one deterministic policy at a time: (T_pi V)(s) = r(s, pi(s)) + gamma sum_s' c(s' | s, pi(s)) V(s').

    The memory is used again for the next policy.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    precision : type
        NumPy's type of the weights: float64 or float32.
    """

    def __init__(self, lookahead: Lookahead, precision: type[Any] = np.float64) -> None:
        self._lookahead = lookahead
        self._taken: StateArray | None = None
        self.indptr: PointerArray = vector(lookahead.n_states + 1, np.uint64)
        self.reward: FloatArray = vector(lookahead.n_states)
        self.successor: SuccessorArray = np.empty(0, dtype=np.uint32)
        self.weight: NDArray[Any] = np.empty(0, dtype=precision)

    def take(self, action: StateArray) -> bool:
        """Copy the rows of a policy (S,), -1 for none; return whether it is another one than before.

        Only new rows are copied, if they are as long as the old ones.
        """
        lookahead = self._lookahead
        rows = lookahead.rows[:-1]
        if self._taken is not None:
            chain = (self.indptr, self.successor, self.weight, self.reward)
            exchanged = on_blocks(exchange, lookahead.blocks, *rows, action, self._taken, *chain)
            if min(exchanged) >= 0:
                return any(exchanged)
        point(lookahead.n_actions, lookahead.rows[1], action, self.indptr)
        needed = int(self.indptr[-1])
        if needed > self.weight.size:
            self.successor = vector(needed, np.uint32)
            self.weight = vector(needed, self.weight.dtype.type)
        chain = (self.indptr, self.successor, self.weight, self.reward)
        on_blocks(gather, lookahead.blocks, *rows, action, *chain)
        self._taken = action.copy()
        return True

    def follow(self, ahead: FloatArray, out: FloatArray) -> list[Range]:
        """Fill T_pi V into `out`."""
        gamma = self._lookahead.mdp.gamma
        chain = (self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow, self._lookahead.blocks, *chain, gamma, ahead, out)

    def follow_in_place(
        self, blocks: list[tuple[int, int]], forward: bool, before: FloatArray, ahead: FloatArray
    ) -> list[Range]:
        """Replace V by T_pi V state by state, in one direction; `before` is a copy of V if there are many blocks."""
        gamma = self._lookahead.mdp.gamma
        chain = (self.indptr, self.successor, self.weight, self.reward)
        return on_blocks(follow_in_place, blocks, forward, *chain, gamma, before, ahead)
