"""A tree of beliefs with bounds in compiled code: AEMS2 (Ross & Chaib-draa 2007).

A node is a belief b; expanded, it has for every action and observation a child, the belief that follows. A leaf has
bounds that need no search; for the others

    L(b) = max_a L(b, a),    L(b, a) = r(b, a) + gamma sum_z Pr(z | b, a) L(b_az),

and U alike. Expanded next is the leaf that contributes most to the uncertainty at the root along the most promising
actions: it maximises gamma^depth (U - L) times the probability of the observations on the way, where each action on the
way is the one with the largest U(b, a).
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record, record
from rlsuite.models import POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, StateArray

GOES_ON, CLOSED, PROVEN, FULL, STUCK = range(5)
"""Why a search returned."""

LEAF = -1


class BeliefModel(NamedTuple):
    """The tables of a model.

    The row of the pair (s, a) has the number s * A + a, that of what is seen in s' after a the number a * S + s'.
    """

    n_states: int
    """S"""
    n_actions: int
    """A"""
    gamma: float
    """discount factor per step"""
    reward: FloatArray
    """(S * A,) float64"""
    legal: BoolArray
    """(S, A) bool"""
    indptr: IndexArray
    """(S * A + 1,) int64"""
    successor: StateArray
    """(N,) int32, s'"""
    weight: FloatArray
    """(N,) float64, probabilities of the transitions that do not end the episode"""
    seen: IndexArray
    """(A * S + 1,) int64"""
    symbol: StateArray
    """(M,) int32, z"""
    probability: FloatArray
    """(M,) float64, Pr(z | a, s')"""
    lower: FloatArray
    """(S, n) float64: max_i lower_i . b is a lower bound"""
    upper: FloatArray
    """(S, A) float64: max_a upper_a . b is an upper bound"""


class Used:
    """How much of the arrays of a tree is in use: the fields of one record, ``tree.used[0].n_nodes``."""

    n_nodes: int
    """nodes, each a belief"""
    n_slots: int
    """nodes that were expanded"""
    n_entries: int
    """entries of all beliefs"""
    stuck_at: int
    """a node in whose belief no action is legal, once the search returned STUCK"""


class BoundTree(NamedTuple):
    """Beliefs in the order in which they are made; node 0 is the root. The children of a pair are contiguous.

    The m-th expanded node has the slot m; its pair with action a has the number m * A + a.
    """

    first: IndexArray
    """(n,) int64, where the entries of the belief begin"""
    size: StateArray
    """(n,) int32, number of entries"""
    lower: FloatArray
    """(n,) float64"""
    upper: FloatArray
    """(n,) float64"""
    probability: FloatArray
    """(n,) float64, Pr(z | b, a) of the parent"""
    parent: IndexArray
    """(n,) int64, pair of the parent"""
    slot: StateArray
    """(n,) int32, LEAF where nothing was expanded"""
    best: StateArray
    """(n,) int32, the leaf below that is to be expanded next"""
    score: FloatArray
    """(n,) float64, what it contributes to the uncertainty here"""
    node: StateArray
    """(m,) int32, the node of each slot"""
    reward: FloatArray
    """(m * A,) float64, r(b, a)"""
    child: IndexArray
    """(m * A,) int64, first child"""
    children: StateArray
    """(m * A,) int32, number of children"""
    pair_lower: FloatArray
    """(m * A,) float64, minus infinity for illegal actions"""
    pair_upper: FloatArray
    """(m * A,) float64"""
    state: StateArray
    """(e,) int32"""
    weight: FloatArray
    """(e,) float64"""
    used: Record[Used]
    """how much of them is in use"""


class Scratch(NamedTuple):
    """Memory for one expansion; all zeros between expansions."""

    ahead: FloatArray
    """(S,) float64"""
    touched: StateArray
    """(S,) int32"""
    total: FloatArray
    """(Z,) float64"""
    number: StateArray
    """(Z,) int32"""
    position: IndexArray
    """(Z,) int64"""
    symbols: StateArray
    """(Z,) int32"""
    sums: FloatArray
    """(max(n, A),) float64"""


@compiled(in_place=True)
def _bound(tree: BoundTree, node: int, vectors: FloatArray, sums: FloatArray) -> float:
    """Return max_i vectors_i . b."""
    n = vectors.shape[1]
    for i in range(n):
        sums[i] = 0.0
    for e in range(tree.first[node], tree.first[node] + tree.size[node]):
        s, w = tree.state[e], tree.weight[e]
        for i in range(n):
            sums[i] += w * vectors[s, i]
    largest = -np.inf
    for i in range(n):
        largest = max(largest, sums[i])
    return largest


@compiled(in_place=True)
def _begin(tree: BoundTree, model: BeliefModel, node: int, scratch: Scratch) -> bool:
    """Set the bounds that need no search at a node whose belief is known; return whether any action is legal there."""
    tree.lower[node] = _bound(tree, node, model.lower, scratch.sums)
    tree.upper[node] = max(_bound(tree, node, model.upper, scratch.sums), tree.lower[node])
    tree.slot[node] = LEAF
    tree.best[node] = node
    tree.score[node] = tree.upper[node] - tree.lower[node]
    return tree.upper[node] > -np.inf


@compiled(in_place=True)
def _followed(tree: BoundTree, model: BeliefModel, node: int, a: int, pair: int, scratch: Scratch) -> bool:
    """Make the children of a node for an action; return whether there was room."""
    reward = 0.0
    n_touched, n_symbols, n_entries = 0, 0, 0
    # The prediction: probability of each next state while the episode continues, and the list of those above 0, so that
    # only they are touched and cleared. Products that underflow to 0 are left out, here and below.
    for e in range(tree.first[node], tree.first[node] + tree.size[node]):
        row, w = int(tree.state[e]) * model.n_actions + a, tree.weight[e]
        reward += w * model.reward[row]
        for k in range(model.indptr[row], model.indptr[row + 1]):
            s, joint = model.successor[k], w * model.weight[k]
            if joint == 0.0:
                continue
            if scratch.ahead[s] == 0.0:
                scratch.touched[n_touched] = s
                n_touched += 1
            scratch.ahead[s] += joint
    # The probability of each observation, and how many states it leaves possible: the size of its child.
    for i in range(n_touched):
        row = a * model.n_states + scratch.touched[i]
        for k in range(model.seen[row], model.seen[row + 1]):
            z, joint = model.symbol[k], scratch.ahead[scratch.touched[i]] * model.probability[k]
            if joint == 0.0:
                continue
            if scratch.number[z] == 0:
                scratch.symbols[n_symbols] = z
                n_symbols += 1
            scratch.number[z] += 1
            scratch.total[z] += joint
            n_entries += 1
    # All children or none: bounds from some of them would be wrong. Without room the tree stays as it was.
    made, entry = tree.used[0].n_nodes, tree.used[0].n_entries
    fits = made + n_symbols <= tree.first.size and entry + n_entries <= tree.state.size
    if fits:
        for i in range(n_symbols):
            z, child = scratch.symbols[i], made + i
            tree.first[child], tree.size[child] = entry, scratch.number[z]
            tree.parent[child], tree.probability[child] = pair, scratch.total[z]
            scratch.position[z] = entry
            entry += int(scratch.number[z])
        # Bayes' rule, entry by entry, into the place of each child.
        for i in range(n_touched):
            s = scratch.touched[i]
            row = a * model.n_states + s
            for k in range(model.seen[row], model.seen[row + 1]):
                z, joint = model.symbol[k], scratch.ahead[s] * model.probability[k]
                if joint > 0.0:
                    tree.state[scratch.position[z]] = s
                    tree.weight[scratch.position[z]] = joint / scratch.total[z]
                    scratch.position[z] += 1
        tree.reward[pair], tree.child[pair], tree.children[pair] = reward, made, n_symbols
        tree.used[0].n_nodes, tree.used[0].n_entries = made + n_symbols, entry
    # The scratch arrays are cleared for the next call, whether there was room or not.
    for i in range(n_touched):
        scratch.ahead[scratch.touched[i]] = 0.0
    for i in range(n_symbols):
        scratch.total[scratch.symbols[i]] = 0.0
        scratch.number[scratch.symbols[i]] = 0
    return fits


@compiled(in_place=True)
def _weigh(tree: BoundTree, gamma: float, pair: int) -> None:
    """Compute L(b, a) and U(b, a) from the children."""
    lower = upper = tree.reward[pair]
    for child in range(tree.child[pair], tree.child[pair] + tree.children[pair]):
        lower += gamma * tree.probability[child] * tree.lower[child]
        upper += gamma * tree.probability[child] * tree.upper[child]
    tree.pair_lower[pair], tree.pair_upper[pair] = lower, upper


@compiled(in_place=True)
def _expand(tree: BoundTree, model: BeliefModel, node: int, scratch: Scratch) -> int:
    """Expand a leaf; return GOES_ON, or FULL (and the leaf stays one), or STUCK."""
    slot = tree.used[0].n_slots
    nodes, entries = tree.used[0].n_nodes, tree.used[0].n_entries
    if slot == tree.node.size:
        return FULL
    for a in range(model.n_actions):
        pair = slot * model.n_actions + a
        legal = True
        for e in range(tree.first[node], tree.first[node] + tree.size[node]):
            legal = legal and model.legal[tree.state[e], a]
        tree.reward[pair], tree.child[pair], tree.children[pair] = -np.inf, nodes, 0
        if legal and not _followed(tree, model, node, a, pair, scratch):
            tree.used[0].n_nodes, tree.used[0].n_entries = nodes, entries
            return FULL
    for child in range(nodes, tree.used[0].n_nodes):
        if not _begin(tree, model, child, scratch):
            tree.used[0].stuck_at = child
            return STUCK
    tree.slot[node] = slot
    tree.node[slot] = node
    tree.used[0].n_slots += 1
    for a in range(model.n_actions):
        _weigh(tree, model.gamma, slot * model.n_actions + a)
    return GOES_ON


@compiled(in_place=True)
def _back_up(tree: BoundTree, model: BeliefModel, node: int) -> None:
    """Update the bounds of an expanded node and of all its ancestors."""
    actions = model.n_actions
    while True:
        first = tree.slot[node] * actions
        lower, upper, chosen = -np.inf, -np.inf, 0
        for a in range(actions):
            lower = max(lower, tree.pair_lower[first + a])
            if tree.pair_upper[first + a] > upper:
                upper, chosen = tree.pair_upper[first + a], a
        tree.lower[node] = max(tree.lower[node], lower)
        tree.upper[node] = max(min(tree.upper[node], upper), tree.lower[node])
        tree.best[node], tree.score[node] = node, 0.0
        pair = first + chosen
        for child in range(tree.child[pair], tree.child[pair] + tree.children[pair]):
            score = model.gamma * tree.probability[child] * tree.score[child]
            if score > tree.score[node]:
                tree.best[node], tree.score[node] = tree.best[child], score
        if node == 0:
            return
        pair = tree.parent[node]
        _weigh(tree, model.gamma, pair)
        node = int(tree.node[pair // actions])


@compiled(in_place=True)
def is_proven(tree: BoundTree, n_actions: int) -> bool:
    """Return whether one action at the root is at least as good as any other, whatever the values within the bounds."""
    if tree.slot[0] == LEAF:
        return False
    first = tree.slot[0] * n_actions
    best = 0
    for a in range(1, n_actions):
        if tree.pair_lower[first + a] > tree.pair_lower[first + best]:
            best = a
    rivals = 0
    for a in range(n_actions):
        rivals += a != best and tree.pair_upper[first + a] > tree.pair_lower[first + best]
    return rivals == 0


@compiled(in_place=True)
def search(
    tree: BoundTree, model: BeliefModel, scratch: Scratch, expansions: int, tol: float, until_proven: bool
) -> int:
    """Expand leaves; return why it ended: GOES_ON if all expansions are done, else CLOSED, PROVEN, FULL or STUCK."""
    for _ in range(expansions):
        if tree.slot[0] != LEAF:
            if tree.upper[0] - tree.lower[0] <= tol or tree.score[0] <= 0.0:
                return CLOSED
            if until_proven and is_proven(tree, model.n_actions):
                return PROVEN
        leaf = int(tree.best[0])
        code = _expand(tree, model, leaf, scratch)
        if code != GOES_ON:
            return code
        _back_up(tree, model, leaf)
    return GOES_ON


SLOTS_AT_FIRST = 1 << 14
NODE_ARRAYS = ("first", "size", "lower", "upper", "probability", "parent", "slot", "best", "score")
SLOT_ARRAYS = ("node", "reward", "child", "children", "pair_lower", "pair_upper")
ENTRY_ARRAYS = ("state", "weight")


def new_scratch(pomdp: POMDP, vectors: int) -> Scratch:
    """Return memory for expansions, given the number of vectors in the lower bound."""
    states, symbols = pomdp.n_states, pomdp.n_observations
    return Scratch(
        ahead=np.zeros(states),
        touched=np.zeros(states, dtype=np.int32),
        total=np.zeros(symbols),
        number=np.zeros(symbols, dtype=np.int32),
        position=np.zeros(symbols, dtype=np.int64),
        symbols=np.zeros(symbols, dtype=np.int32),
        sums=np.zeros(max(vectors, pomdp.n_actions)),
    )


def new_tree(actions: int, support: int) -> BoundTree:
    """Return an empty tree; unused memory costs nothing, because the system allocates it on first use."""
    slots, nodes, entries = SLOTS_AT_FIRST, 16 * SLOTS_AT_FIRST, 64 * SLOTS_AT_FIRST + support
    return BoundTree(
        first=np.zeros(nodes, dtype=np.int64),
        size=np.zeros(nodes, dtype=np.int32),
        lower=np.zeros(nodes),
        upper=np.zeros(nodes),
        probability=np.zeros(nodes),
        parent=np.zeros(nodes, dtype=np.int64),
        slot=np.zeros(nodes, dtype=np.int32),
        best=np.zeros(nodes, dtype=np.int32),
        score=np.zeros(nodes),
        node=np.zeros(slots, dtype=np.int32),
        reward=np.zeros(slots * actions),
        child=np.zeros(slots * actions, dtype=np.int64),
        children=np.zeros(slots * actions, dtype=np.int32),
        pair_lower=np.zeros(slots * actions),
        pair_upper=np.zeros(slots * actions),
        state=np.zeros(entries, dtype=np.int32),
        weight=np.zeros(entries),
        used=record(Used),
    )


def _full_arrays(tree: BoundTree) -> dict[str, int]:
    """Return how much of each array is in use, of those that need more room."""
    used, actions = tree.used[0], tree.reward.size // tree.node.size
    groups = (
        (int(used.n_nodes), tree.first.size, NODE_ARRAYS),
        (int(used.n_slots), tree.node.size, SLOT_ARRAYS),
        (int(used.n_entries), tree.state.size, ENTRY_ARRAYS),
    )
    tight = [group for group in groups if 2 * group[0] > group[1]] or groups
    return {
        name: n * (actions if names is SLOT_ARRAYS and name != "node" else 1) for n, _, names in tight for name in names
    }


def used_bytes(tree: BoundTree) -> int:
    """Return the memory that a tree would take with more room, as far as it is in use now."""
    full, arrays = _full_arrays(tree), tree._asdict()
    return sum(2 * used * arrays[name].itemsize for name, used in full.items())


def grown(tree: BoundTree) -> BoundTree:
    """Return the same tree with twice the room where it needs more."""
    arrays: dict[str, AnyArray] = tree._asdict()
    larger: dict[str, AnyArray] = {}
    for name, used in _full_arrays(tree).items():
        old = arrays[name]
        larger[name] = np.zeros(2 * old.size, dtype=old.dtype)
        larger[name][:used] = old[:used]
    return tree._replace(**larger)
