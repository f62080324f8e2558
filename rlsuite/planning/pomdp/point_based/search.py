"""The point-based search, from Python: its initial state, its results when it pauses, and sets of its beliefs."""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.bounds.initial_bounds import Blind
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.pomdp.point_based import search_kernel as kernel
from rlsuite.planning.pomdp.point_based.search_kernel import belief_number, follow
from rlsuite.planning.pomdp.point_based.search_memory import (
    Pools,
    first_pools,
    grow_beliefs,
    grow_points,
    grow_vectors,
)
from rlsuite.planning.pomdp.solution import best_at, values_at
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch

NOTHING: IndexArray = np.empty(0, dtype=np.int64)

TURN_DEEP, TURN_SHALLOW = 0.3, 0.9
"""Trials turn, in turn, where the gap is this fraction of that at the start: deep ones raise the lower bound, shallow
ones lower the upper bound."""

GROWTH = 1.5
"""About how much larger all pools together become when one of them grows."""

COPIED = 2e9
"""Bytes that are copied in a second, about."""

LEAST_SHARE = 1e-3
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
            block = slice(v.begin[k], v.begin[k] + own.shape[1] * v.capacity[k])
            v.exact[block][: own.size] = own.reshape(-1)
            v.quick[block].reshape(own.shape[1], -1)[:, : len(own)] = own.T
            v.action[v.begin_action[k] : v.begin_action[k] + len(own)] = vector_actions
        now = self.pools.control[0]
        now.fading, now.discount = t.gamma, 1.0
        now.turn_deep, now.turn_shallow, now.least_share = TURN_DEEP, TURN_SHALLOW, LEAST_SHARE
        now.wanted_gap = wanted_gap
        self.add(0, start[t.states[t.first[0] : t.first[1]]])
        now.target_gap = now.turn_shallow * (self.upper - self.lower)
        now.least_change = now.least_share * (self.upper - self.lower)

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
        positions = np.flatnonzero(belief)
        scratch.states[: positions.size] = positions
        scratch.weights[: positions.size] = belief[positions]
        total = float(belief[positions].sum())
        # The plain Python function, since numba compiles it only within the search; its hash overflows on purpose.
        with np.errstate(over="ignore"):
            n = belief_number.function(k, 0, positions.size, total, t, beliefs, bounds, actions, scratch, control)
        size = int(t.first[k + 1] - t.first[k])
        held = v.exact[v.begin[k] : v.begin[k] + v.used[k] * size].reshape(-1, size)
        values = (held[:, positions] * (belief[positions] / total)).sum(axis=1)
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

        Called again with the same beliefs, it continues where it stopped. Errors as in `trial`.
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
            if code in kernel.POOL_FULL:
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
                self.pools = grow_vectors(self.t, pools, int(now.full_region))
            elif code == kernel.POINTS_FULL:
                self.pools = grow_points(pools, int(now.full_region))
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


EPISODE = 200
"""Steps after which a random walk begins again."""

PATIENCE = 1000
"""Steps without a new belief after which the walk ends: there may be fewer beliefs than requested."""


def dense(search: Search, nodes: IndexArray) -> FloatArray:
    """Return beliefs of one region as rows over its states."""
    beliefs = search.pools.beliefs
    k = int(beliefs.region[nodes[0]])
    table = np.zeros((nodes.size, int(search.t.first[k + 1] - search.t.first[k])))
    sizes = beliefs.size[nodes].astype(np.int64)
    begins = np.cumsum(sizes) - sizes
    entries: IndexArray = np.repeat(beliefs.first[nodes] - begins, sizes) + np.arange(int(sizes.sum()))
    table[np.repeat(np.arange(nodes.size), sizes), beliefs.state[entries]] = beliefs.weight[entries]
    return table


def followers(search: Search, nodes: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return all pairs of a belief, as its index in the set, and a known successor of it."""
    actions, n_actions = search.pools.actions, search.t.n_actions
    pairs = (nodes[:, np.newaxis] * n_actions + np.arange(n_actions)).reshape(-1)
    owner = np.repeat(np.arange(nodes.size), n_actions)
    followed = actions.edge[pairs] >= 0
    pairs, owner = pairs[followed], owner[followed]
    sizes = actions.size[pairs].astype(np.int64)
    begins = np.cumsum(sizes) - sizes
    edges: IndexArray = np.repeat(actions.edge[pairs] - begins, sizes) + np.arange(int(sizes.sum()))
    return np.repeat(owner, sizes), search.pools.edges.child[edges].astype(np.int64)


def edges_of(search: Search, node: int, action: int) -> tuple[IndexArray, FloatArray]:
    """Return the beliefs that follow a belief and an action, and their probabilities."""
    t, pair = search.t, node * search.t.n_actions + action
    if search.pools.actions.edge[pair] < 0:
        search.pools = grow_beliefs(t, search.pools)
        beliefs, bounds, actions, edges, _, _, scratch, control = search.pools
        follow(node, action, t, beliefs, bounds, actions, edges, scratch, control)
    actions, edges = search.pools.actions, search.pools.edges
    inside = slice(int(actions.edge[pair]), int(actions.edge[pair]) + int(actions.size[pair]))
    return edges.child[inside].astype(np.int64), edges.probability[inside]


def legal_actions(search: Search, node: int) -> IndexArray:
    """Return the actions that are legal in every state of a belief's support."""
    pairs = slice(node * search.t.n_actions, (node + 1) * search.t.n_actions)
    return np.flatnonzero(search.pools.actions.upper[pairs] > -np.inf)


def random_walk(search: Search, wanted: int, rng: np.random.Generator, watch: Watch) -> IndexArray:
    """Return up to `wanted` different beliefs of a random walk from the start, fewer if time is up.

    Actions are drawn uniformly, and episodes are cut after a number of steps. If the walk does not find as many, those
    that can follow the ones found are added, in order.
    """
    found: dict[int, None] = {0: None}
    node = step = latest = 0
    while len(found) < wanted and step - latest < PATIENCE and not watch.hurries:
        step += 1
        legal = legal_actions(search, node)
        if step % EPISODE == 0 or legal.size == 0:
            node = 0
            continue
        children, probabilities = edges_of(search, node, int(legal[rng.integers(0, legal.size)]))
        drawn = int(np.searchsorted(np.cumsum(probabilities), rng.random(), side="right"))
        node = int(children[drawn]) if drawn < children.size else 0  # otherwise the episode has ended
        latest = latest if node in found else step
        found[node] = None
    queue = list(found)
    for node in queue:
        for action in legal_actions(search, node).tolist():
            for child in edges_of(search, node, action)[0].tolist():
                if len(found) < wanted and child not in found:
                    found[child] = None
                    queue.append(child)
        if len(found) == wanted or watch.hurries:
            break
    return np.array(list(found), dtype=np.int64)


@compiled(in_place=True)
def largest_values(vectors: FloatArray, columns: FloatArray, products: FloatArray, most: FloatArray) -> None:
    """Raise `most` (n,) to max_i alpha_i . b of each belief, for vectors (k, S) and beliefs as `columns` (S, n).

    Whether a belief has become better decides what is done next, so the sums are formed state by state, in the same
    order on every processor; `products` (n,) is memory. Entries of vectors may be minus infinity.
    """
    for i in range(vectors.shape[0]):
        for k in range(most.size):
            products[k] = 0.0
        for s in range(columns.shape[0]):
            here = vectors[i, s]
            for k in range(most.size):
                products[k] += here * columns[s, k] if columns[s, k] > 0.0 else 0.0
        for k in range(most.size):
            most[k] = max(most[k], products[k])


class BeliefSet:
    """A fixed set of beliefs, as one table per region.

    Parameters
    ----------
    search : Search
        Where they are from.
    nodes : ndarray (n,) int64
        Their numbers.
    """

    def __init__(self, search: Search, nodes: IndexArray) -> None:
        self.search, self.nodes = search, nodes
        region = search.pools.beliefs.region[nodes]
        self._parts: list[tuple[int, IndexArray, FloatArray]] = []
        for k in np.unique(region).tolist():
            inside = np.flatnonzero(region == k)
            self._parts.append((k, inside, np.ascontiguousarray(dense(search, nodes[inside]).T)))

    def values(self, since: IndexArray) -> FloatArray:
        """Return max_i alpha_i . b of each belief (n,), over the vectors from number ``since[k]`` on of region k.

        Minus infinity where there is none.
        """
        v = self.search.pools.vectors
        value: FloatArray = np.full(self.nodes.size, -np.inf)
        for k, inside, table in self._parts:
            size, begin = table.shape[0], int(v.begin[k])
            new = v.exact[begin + since[k] * size : begin + v.used[k] * size].reshape(-1, size)
            if new.size:
                most = np.full_like(table[0], -np.inf)
                largest_values(new, table, np.empty_like(most), most)
                value[inside] = most
        return value


SMALL = 1 << 16
"""Entries up to which equal vectors of a set are looked for."""

MOST_PRODUCTS = 1e7
"""Operations up to which all vectors are compared in all beliefs before some are left out."""


def kept_vectors(search: Search, blind: Blind, n_bytes: int) -> tuple[FloatArray, IndexArray]:
    """Return the vectors that matter, with their actions.

    Those are the blind plans, which cover every belief, and the best ones in the beliefs that the search has reached.
    Those of beliefs that it only saw as successors are as important: the value of a plan is reached only if, wherever
    its first step may lead, there is a vector as good as the one that was used. Outside its region a vector is minus
    infinity. Of a set larger than `n_bytes` the vectors of the beliefs found first are returned; the best one at the
    start is always among them.

    Returns
    -------
    alpha_vectors : ndarray (n, S) float64
        Best at the start comes first.
    actions : ndarray (n,) int64
        The first action of each.
    """
    t, v = search.t, search.pools.vectors
    regions, chosen = _best_at_beliefs(search)
    n_states = blind.vectors.shape[1]
    pairs = regions * int(v.used.max()) + chosen
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first)[: max(1, n_bytes // (8 * n_states))]
    n = first.size
    alpha = vector((n + len(blind.vectors)) * n_states).reshape(-1, n_states)
    alpha[:n] = -np.inf
    alpha[n:] = blind.vectors
    actions = np.concatenate([np.empty(n, dtype=np.int64), blind.actions])
    for row, (k, i) in enumerate(zip(regions[first].tolist(), chosen[first].tolist(), strict=True)):
        begin, end = int(t.first[k]), int(t.first[k + 1])
        at = int(v.begin[k]) + i * (end - begin)
        alpha[row, t.states[begin:end]] = v.exact[at : at + end - begin]
        actions[row] = v.action[v.begin_action[k] + i]
    if alpha.size > SMALL:
        return alpha, actions
    _, rows = np.unique(alpha, axis=0, return_index=True)
    rows = np.sort(rows)
    return alpha[rows], actions[rows]


def _best_at_beliefs(search: Search) -> tuple[IndexArray, IndexArray]:
    """Return the region and the best vector of each belief, the start first."""
    t, beliefs, bounds, v = search.t, search.pools.beliefs, search.pools.bounds, search.pools.vectors
    n = search.n_beliefs
    regions, chosen = beliefs.region[:n].astype(np.int64), bounds.best[:n].astype(np.int64)
    sizes = np.diff(t.first)
    counts = np.bincount(regions, minlength=sizes.size)
    if float((counts * v.used * sizes).sum()) > MOST_PRODUCTS:
        return regions, chosen
    for k in np.flatnonzero(counts):
        inside = np.flatnonzero(regions == k)
        held = v.exact[v.begin[k] : v.begin[k] + v.used[k] * sizes[k]].reshape(-1, sizes[k])
        at = dense(search, inside)
        values = values_at(held, at)
        best = best_at(values, held, at)
        rows = np.arange(inside.size)
        most = values[rows, best]  # minus infinity where no plan is known to be legal
        better = most > values[rows, chosen[inside]] + 1e-12 * np.abs(np.where(most > -np.inf, most, 0.0))
        chosen[inside] = np.where(better, best, chosen[inside])
    return regions, chosen
