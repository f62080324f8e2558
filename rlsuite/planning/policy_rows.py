"""The rows of a model that one policy uses, side by side in memory, so that evaluating it reads nothing else."""

import numpy as np

from rlsuite.models.aliases import FloatArray, PointerArray, StateArray, SuccessorArray
from rlsuite.planning.chain_kernels import follow, follow_in_place, gather, point
from rlsuite.planning.kernels import Range
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.threads import on_blocks


class PolicyRows:
    """T_pi of one deterministic policy at a time: (T_pi V)(s) = r(s, pi(s)) + gamma sum_s' c(s' | s, pi(s)) V(s').

    The memory is used again for the next policy.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    """

    def __init__(self, lookahead: Lookahead) -> None:
        self._lookahead = lookahead
        self.indptr: PointerArray = np.zeros(lookahead.n_states + 1, dtype=np.uint64)
        self.reward: FloatArray = np.empty(lookahead.n_states)
        self.successor: SuccessorArray = np.empty(0, dtype=np.uint32)
        self.weight: FloatArray = np.empty(0)

    def take(self, action: StateArray) -> None:
        """Copy the rows of a policy (S,), -1 for none."""
        lookahead = self._lookahead
        point(lookahead.n_actions, lookahead.rows[1], action, self.indptr)
        needed = int(self.indptr[-1])
        if needed > self.weight.size:
            self.successor = np.empty(needed, dtype=np.uint32)
            self.weight = np.empty(needed)
        rows = lookahead.rows[:-1]
        chain = (self.indptr, self.successor, self.weight, self.reward)
        on_blocks(gather, lookahead.blocks, *rows, action, *chain)

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
