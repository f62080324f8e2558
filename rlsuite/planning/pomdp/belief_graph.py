"""The beliefs that can be reached from the start, as a fully observed MDP. KLC98 section 3.4.

A POMDP is an MDP over beliefs: in belief b, action a earns rho(b, a) = sum_s b(s) r(s, a), and observation z, which has
the probability Pr(z | b, a), leads to the belief SE(b, a, z). From one start belief only finitely many are reached in
finitely many steps, and often few, because different histories lead to the same belief.
"""

from bisect import bisect_right
from typing import Any, NamedTuple, cast

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import Lookahead

BLOCK = 32
"""Beliefs that are expanded between two checks of the clock."""

DECIMALS = 12
"""Beliefs that agree after rounding to this many decimals are treated as equal."""


class BeliefMDP(NamedTuple):
    """The MDP over n reachable beliefs."""

    mdp: MDP
    """its state 0 is the start belief; beliefs that were not expanded have no legal action"""
    beliefs: FloatArray
    """(n, S)"""
    depth: IndexArray
    """(n,) int64, least number of steps to reach each"""
    merged: float
    """largest L1 distance between two beliefs that were treated as equal"""
    closed: bool
    """whether all beliefs were expanded"""


class _Step(NamedTuple):
    """One step from k beliefs, reached after the same number of steps, by every action."""

    successor: IndexArray
    """(k, A, Z + 1) numbers of the beliefs that follow each observation; the last column is the end of the episode"""
    probability: FloatArray
    """(k, A, Z + 1), 0 for illegal actions"""
    reward: FloatArray
    """(k, A)"""


class _Register:
    """Numbers beliefs in the order in which they occur; equal ones have one number."""

    def __init__(self, max_beliefs: int) -> None:
        self.beliefs: list[FloatArray] = []
        self.merged = 0.0
        self._max_beliefs = max_beliefs
        self._number: dict[bytes, int] = {}

    def number(self, belief: FloatArray) -> int:
        # Adding 0 turns -0.0 into 0.0, whose bytes differ.
        key = (np.round(belief, DECIMALS) + 0.0).tobytes()
        found = self._number.setdefault(key, len(self.beliefs))
        if found < len(self.beliefs):
            self.merged = max(self.merged, float(np.abs(belief - self.beliefs[found]).sum()))
            return found
        if found == self._max_beliefs:
            raise ParameterError(
                f"more than max_beliefs={self._max_beliefs} beliefs can be reached from the start; "
                "use a smaller horizon=, a larger tol=, or a larger max_beliefs="
            )
        self.beliefs.append(belief)
        return found


@says_what_to_write
def belief_mdp(pomdp: POMDP, *, steps: int, max_beliefs: int, deadline: float | None = None) -> BeliefMDP:
    """Expand all beliefs from the start for a number of steps, or until there is no new one.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    steps : int
        How many steps to follow up.
    max_beliefs : int
        How many beliefs there may be.
    deadline : float, optional
        Follow up no more beliefs after this many seconds, or after Ctrl-C; those that were reached first have been.

    Returns
    -------
    BeliefMDP
        An action is legal in a belief if it is legal in every state of its support.

    Raises
    ------
    ParameterError
        If there are more beliefs than `max_beliefs`.
    ModelError
        If no action is legal in every state of the support of some belief.
    """
    register = _Register(max_beliefs)
    register.number(pomdp.start)
    ways = _Ways(pomdp)
    followed: list[_Step] = []
    depth = [0]
    first = 0
    with Clock("belief_mdp", deadline=deadline) as clock:
        while first < len(depth) and depth[first] < steps and not (followed and clock.hurries):
            end = min(first + BLOCK, bisect_right(depth, depth[first]))
            followed.append(ways.follow(np.stack(register.beliefs[first:end]), register))
            depth += [depth[first] + 1] * (len(register.beliefs) - len(depth))
            first = end
    beliefs = np.stack(register.beliefs)
    return BeliefMDP(
        mdp=_assemble(pomdp, followed, expanded=first, n_beliefs=len(beliefs)),
        beliefs=beliefs,
        depth=np.array(depth, dtype=np.int64),
        merged=register.merged,
        closed=first == len(beliefs),
    )


class _Ways:
    """The beliefs that the actions of a model lead to from any belief."""

    def __init__(self, pomdp: POMDP) -> None:
        lookahead = Lookahead(pomdp.mdp)
        shape = pomdp.n_states, pomdp.n_actions
        self._pomdp = pomdp
        self._into: list[Any] = [lookahead.continuation[a :: shape[1]].T.tocsr() for a in range(shape[1])]
        self._seen = [pomdp.observation_matrix(a) for a in range(shape[1])]
        self._reward = lookahead.reward.reshape(shape)
        self._ends = np.zeros(shape)
        ending = np.where(pomdp.mdp.terminated, pomdp.mdp.probability, 0.0)
        np.add.at(self._ends.reshape(-1), pomdp.mdp.pairs(), ending)

    def follow(self, frontier: FloatArray, register: _Register) -> _Step:
        """Expand some beliefs (k, S)."""
        count, actions, symbols = len(frontier), self._pomdp.n_actions, self._pomdp.n_observations
        legal = _legal(self._pomdp, frontier)
        successor = np.zeros((count, actions, symbols + 1), dtype=np.int64)
        probability = np.zeros((count, actions, symbols + 1))
        ahead = [cast("FloatArray", into @ frontier.T).T for into in self._into]
        for i, a in np.argwhere(legal).tolist():
            support = np.flatnonzero(ahead[a][i])  # few states: a whole (S, Z) table for each belief would cost more
            joint = ahead[a][i, support, np.newaxis] * _rows(self._seen[a], support)
            probability[i, a, :symbols] = joint.sum(axis=0)
            for z in np.flatnonzero(probability[i, a, :symbols]).tolist():
                belief = np.zeros(self._pomdp.n_states)
                belief[support] = joint[:, z] / probability[i, a, z]
                successor[i, a, z] = register.number(belief)
        probability[:, :, symbols] = (frontier @ self._ends) * legal
        return _Step(successor, probability, frontier @ self._reward)


def _rows(matrix: Any, states: IndexArray) -> FloatArray:
    """Return some rows of a sparse matrix as a dense table; SciPy's own indexing would cost more than all the rest."""
    table = np.zeros((states.size, matrix.shape[1]))
    for row, s in enumerate(states.tolist()):
        entries = slice(matrix.indptr[s], matrix.indptr[s + 1])
        table[row, matrix.indices[entries]] = matrix.data[entries]
    return table


def _legal(pomdp: POMDP, frontier: FloatArray) -> BoolArray:
    """Return the actions (k, A) that are legal in every state of the belief's support."""
    legal: BoolArray = ~((frontier > 0.0) @ ~pomdp.mdp.legal)
    stuck = ~legal.any(axis=1)
    if stuck.any():
        belief = frontier[int(np.argmax(stuck))]
        raise ModelError(
            f"belief {belief.tolist()} can be reached, but no action is legal in every state of its support"
        )
    return legal


def _assemble(pomdp: POMDP, followed: list[_Step], *, expanded: int, n_beliefs: int) -> MDP:
    successor = np.concatenate([step.successor for step in followed])
    probability = np.concatenate([step.probability for step in followed])
    reward = np.concatenate([step.reward for step in followed])
    ends = np.zeros(successor.shape, dtype=np.bool_)
    ends[:, :, -1] = True
    ends |= successor >= expanded
    possible = probability > 0.0
    lengths = np.zeros((n_beliefs, pomdp.n_actions), dtype=np.int64)
    lengths[:expanded] = possible.sum(axis=2)
    indptr = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    total = probability.sum(axis=2, keepdims=True)
    # Rows of the model sum to 1 within a tolerance, which products of two such sums may exceed.
    share = np.divide(probability, total, out=np.zeros_like(probability), where=total > 0.0)
    return MDP.from_rows(
        indptr,
        successor[possible],
        share[possible],
        np.broadcast_to(reward[:, :, np.newaxis], possible.shape)[possible],
        n_actions=pomdp.n_actions,
        gamma=pomdp.gamma,
        terminated=ends[possible],
        start=0,
        action_labels=pomdp.action_labels,
    )
