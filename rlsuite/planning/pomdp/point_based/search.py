"""The point-based search, from Python: its initial state, and its results when it pauses."""

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.pomdp.point_based import search_kernel as kernel
from rlsuite.planning.pomdp.point_based.belief_steps import belief_number
from rlsuite.planning.pomdp.point_based.search_memory import (
    Pools,
    first_pools,
    grow_beliefs,
    grow_points,
    grow_vectors,
)

NOTHING: IndexArray = np.empty(0, dtype=np.int64)

TURN_DEEP, TURN_SHALLOW = 0.3, 0.9
"""Trials turn, in turn, where the gap is this fraction of that at the start: deep ones raise the lower bound, shallow
ones lower the upper bound."""

GROWTH = 1.5
"""About how much larger all pools together become when one of them grows."""

COPIED = 2e9
"""Bytes that are copied in a second, about."""

WORTH_A_POINT = 1e-3
"""The least change of an upper bound that is propagated to other beliefs, relative to the gap at the start."""


class Search:
    """A point-based search of one model.

    Parameters
    ----------
    t : Tables
        The model.
    vectors : ndarray (n, S) float64
        Vectors to begin with: plans that can be kept. For every belief one of them must not be minus infinity.
    vector_actions : ndarray (n,) int64
        Their first actions.
    start : ndarray (S,) float64
        The start belief, which becomes belief 0.
    wanted_gap : float
        Trials end when the bounds of belief 0 are this close.
    deepest : int
        Largest depth of a trial, in steps.
    max_bytes : int
        Pools beyond this size do not grow.

    Attributes
    ----------
    pools : Pools
        What the search has found.
    full : bool
        Whether it had to stop for lack of memory.
    seconds_left : float
        How long the next piece of work may take; to be set before it.
    late : bool
        Whether it had to stop because there was no time left to make room.
    """

    def __init__(
        self,
        t: Tables,
        vectors: FloatArray,
        vector_actions: IndexArray,
        start: FloatArray,
        *,
        wanted_gap: float,
        deepest: int = 1000,
        max_bytes: int = 1 << 32,
    ) -> None:
        self.t = t
        self.full = self.late = False
        self.seconds_left = np.inf
        self._max_bytes = max_bytes
        self.pools: Pools = first_pools(t, len(vectors), deepest)
        v = self.pools.vectors
        v.used[:] = len(vectors)
        for k in range(v.used.size):
            own = vectors[:, t.states[t.first[k] : t.first[k + 1]]]
            block = slice(v.begin[k], v.begin[k] + own.shape[1] * v.room[k])
            v.exact[block][: own.size] = own.reshape(-1)
            v.quick[block].reshape(own.shape[1], -1)[:, : len(own)] = own.T
            v.action[v.begin_action[k] : v.begin_action[k] + len(own)] = vector_actions
        now = self.pools.control[0]
        now.discount = 1.0
        now.turn_deep, now.turn_shallow, now.worth_a_point = TURN_DEEP, TURN_SHALLOW, WORTH_A_POINT
        now.wanted_gap = wanted_gap
        self.add(0, start[t.states[t.first[0] : t.first[1]]])
        now.target_gap = now.turn_shallow * (self.upper - self.lower)
        now.least_change = now.worth_a_point * (self.upper - self.lower)

    @property
    def lower(self) -> float:
        """The lower bound of belief 0."""
        return float(self.pools.bounds.lower[0])

    @property
    def upper(self) -> float:
        """The upper bound of belief 0."""
        return float(self.pools.bounds.upper[0])

    @property
    def trials(self) -> int:
        """Number of trials done."""
        return int(self.pools.control[0].n_trials)

    @property
    def n_beliefs(self) -> int:
        """Number of beliefs known."""
        return int(self.pools.control[0].n_beliefs)

    @property
    def n_vectors(self) -> int:
        """Number of vectors in all regions."""
        return int(self.pools.vectors.used.sum())

    @property
    def work(self) -> int:
        """Operations done in the last piece of work."""
        return int(self.pools.control[0].work)

    def add(self, k: int, belief: FloatArray) -> int:
        """Return the number of a belief, given over the states of region k, which is added if it is new."""
        t = self.t
        self.pools = grow_beliefs(t, self.pools)
        beliefs, bounds, actions, _, v, _, scratch, control = self.pools
        places = np.flatnonzero(belief)
        scratch.states[: places.size] = places
        scratch.weights[: places.size] = belief[places]
        total = float(belief[places].sum())
        # The plain Python function, since numba compiles it only within the search; its hash overflows on purpose.
        with np.errstate(over="ignore"):
            n = belief_number.function(k, 0, places.size, total, t, beliefs, bounds, actions, scratch, control)
        size = int(t.first[k + 1] - t.first[k])
        held = v.exact[v.begin[k] : v.begin[k] + v.used[k] * size].reshape(-1, size)
        values = (held[:, places] * (belief[places] / total)).sum(axis=1)
        bounds.best[n], bounds.lower[n], bounds.compared[n] = values.argmax(), values.max(), v.used[k]
        return n

    def trial(self, work: int, last_trial: int) -> bool:
        """Continue the trials for about that many operations; return whether they are done.

        Raises
        ------
        ModelError
            If no action is legal in every state of the support of a belief that can be reached.
        """
        self.pools.control[0].last_trial = last_trial
        return self._run(NOTHING, work)

    def update(self, nodes: IndexArray, work: int) -> bool:
        """Update some beliefs, in turn, looking at all actions; return whether it reached the last one.

        Called again with the same beliefs, it goes on where it stopped. Errors as in `trial`.
        """
        now = self.pools.control[0]
        now.all_actions = 1
        done = self._run(np.ascontiguousarray(nodes), work)
        if done:
            now.depth = 0
        return done

    def _run(self, nodes: IndexArray, work: int) -> bool:
        now = self.pools.control[0]
        while True:
            pools = self.pools
            code = kernel.search(self.t, *pools, nodes, work)
            if code in kernel.WANTS_ROOM:
                n_bytes = pools.n_bytes
                if GROWTH * n_bytes > self._max_bytes:
                    self.full = True
                    return True
                if n_bytes > self.seconds_left * COPIED:
                    self.late = True
                    return False
            if code == kernel.GRAPH_FULL:
                self.pools = grow_beliefs(self.t, pools)
            elif code == kernel.VECTORS_FULL:
                self.pools = grow_vectors(self.t, pools, int(now.wants_room))
            elif code == kernel.POINTS_FULL:
                self.pools = grow_points(pools, int(now.wants_room))
            elif code == kernel.STUCK:
                n = int(nodes[now.depth] if nodes.size else pools.scratch.path[now.depth])
                raise ModelError(
                    f"belief {self.belief(n)} can be reached, but no action is legal in every state of its support"
                )
            else:
                return code == kernel.FINISHED

    def belief(self, n: int) -> dict[int, float]:
        """Return the states of a belief's support and their probabilities."""
        beliefs = self.pools.beliefs
        entries = slice(beliefs.first[n], beliefs.first[n] + beliefs.size[n])
        states = self.t.states[self.t.first[beliefs.region[n]] + beliefs.state[entries]]
        return dict(zip(states.tolist(), beliefs.weight[entries].tolist(), strict=True))
