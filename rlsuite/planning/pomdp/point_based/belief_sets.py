"""Sets of beliefs of a point-based search, for methods that choose the beliefs to back up."""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.point_based.belief_steps import follow
from rlsuite.planning.pomdp.point_based.search import Search
from rlsuite.planning.pomdp.point_based.search_memory import grow_beliefs
from rlsuite.planning.watch import Watch

EPISODE = 200
"""Steps after which a random walk begins anew."""

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
    return edges.child[inside].astype(np.int64), edges.chance[inside]


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
        children, chances = edges_of(search, node, int(legal[rng.integers(0, legal.size)]))
        drawn = int(np.searchsorted(np.cumsum(chances), rng.random(), side="right"))
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
def largest_worth(vectors: FloatArray, columns: FloatArray, products: FloatArray, most: FloatArray) -> None:
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
                largest_worth(new, table, np.empty_like(most), most)
                value[inside] = most
        return value
