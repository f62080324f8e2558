"""Partially observable Monte-Carlo planning in compiled code: UCT on a tree of histories (Silver & Veness 2010).

A node is a history h; it counts its visits N(h), and for each action N(ha) and the mean return Q(ha). A simulation
draws a state from the belief at the root and goes down: in a node it takes the action with the largest
Q(ha) + c sqrt(ln N(h) / N(ha)), untried ones first, and draws the successor, the reward and the observation, which
leads to a child. Where there is no child yet one is made, and the rest of the return is that of a random policy. On the
way back the return of every pair passed goes into its mean.

An action is legal in a history if it was legal in every state that was ever drawn there.
"""

import math
from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record, record
from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.validation import pointers

RandomState = np.ndarray[tuple[int], np.dtype[np.uint64]]
"""(2,) uint64, not both 0."""


class Simulator(NamedTuple):
    """The tables of a model; the row of the pair (s, a) is s * A + a, that of observations in s' after a is a * S + s'.

    Probabilities are running sums within their rows.
    """

    n_states: int
    """S"""
    n_actions: int
    """A"""
    n_observations: int
    """Z"""
    indptr: IndexArray
    """(S * A + 1,) int64"""
    next_state: StateArray
    """(N,) int32"""
    cumulative: FloatArray
    """(N,) float64"""
    reward: FloatArray
    """(N,) float64, means"""
    terminated: BoolArray
    """(N,) bool"""
    seen: IndexArray
    """(A * S + 1,) int64"""
    symbol: StateArray
    """(M,) int32"""
    symbol_cumulative: FloatArray
    """(M,) float64"""
    choices: IndexArray
    """(S + 1,) int64, where the legal actions of each state begin"""
    legal_action: StateArray
    """(L,) int32"""
    all_legal: bool
    """whether every action is legal wherever one is"""


def simulator(pomdp: POMDP) -> Simulator:
    """Return the tables of a model."""
    mdp, rows = pomdp.mdp, pomdp.observation_rows
    legal = mdp.legal
    choices = pointers(legal.sum(axis=1))
    found = Simulator(
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        n_observations=rows.n_observations,
        indptr=mdp.indptr,
        next_state=mdp.next_state,
        cumulative=_running_sums(mdp.probability, mdp.indptr),
        reward=mdp.rows.reward,
        terminated=mdp.terminated,
        seen=rows.indptr,
        symbol=rows.observation,
        symbol_cumulative=_running_sums(rows.probability, rows.indptr),
        choices=choices,
        legal_action=np.nonzero(legal)[1].astype(np.int32),
        all_legal=bool((legal.all(axis=1) == legal.any(axis=1)).all()),
    )
    # Read-only like the arrays of a model: numba gives writable arrays another type, and would compile twice.
    for array in found:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return found


def random_state(rng: np.random.Generator) -> RandomState:
    """Return the state of a small generator, seeded from a large one."""
    return rng.integers(1, np.iinfo(np.uint64).max, size=2, dtype=np.uint64)


@compiled(in_place=True)
def uniform(state: RandomState) -> float:
    """Return a random number in [0, 1) and advance the generator."""
    one, other = state[0], state[1]
    total = one + other
    other ^= one
    state[0] = ((one << np.uint64(24)) | (one >> np.uint64(40))) ^ other ^ (other << np.uint64(16))
    state[1] = (other << np.uint64(37)) | (other >> np.uint64(27))
    return (total >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled(in_place=True)
def pick(cumulative: FloatArray, begin: int, end: int, state: RandomState) -> int:
    """Return an entry of the row ``begin : end``, drawn by its running sums."""
    if end - begin == 1:
        return begin
    u = uniform(state)
    if end - begin <= 8:
        for entry in range(begin, end - 1):
            if u < cumulative[entry]:
                return entry
        return end - 1
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) >> 1
        if u < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compiled(in_place=True)
def random_action(model: Simulator, s: int, state: RandomState) -> int:
    """Return a legal action of s, each equally likely; -1 at an end."""
    begin, end = model.choices[s], model.choices[s + 1]
    if begin == end:
        return -1
    return int(model.legal_action[begin + int(uniform(state) * (end - begin))])


def _running_sums(probability: FloatArray, indptr: IndexArray) -> FloatArray:
    """Return the running sums within each row, each row's last one at least 1."""
    lengths = np.diff(indptr)
    filled = lengths > 0
    sums = np.cumsum(probability)
    before = np.where(indptr[:-1] > 0, sums[np.maximum(indptr[:-1] - 1, 0)], 0.0)
    sums -= np.repeat(before, lengths)
    sums[indptr[1:][filled] - 1] = 1.0
    return sums


ILLEGAL = -1
"""Count of an action that is illegal in some state drawn."""

FREE = -1


class Used:
    """What a search has done so far: the fields of one record, ``tree.used[0].n_nodes``."""

    n_nodes: int
    """nodes in use"""
    deepest: int
    """depth of the deepest node"""
    n_simulations: int
    """simulations run"""
    n_steps: int
    """steps simulated"""


class Tree(NamedTuple):
    """Histories as nodes, in the order in which they are made; node 0 is the root.

    The pair (node, action) has the number node * A + action, and the edge (node, action, z) the number pair * Z + z.
    """

    visits: StateArray
    """(n,) int32, N(h)"""
    tried: StateArray
    """(n * A,) int32, N(ha), or ILLEGAL"""
    q: FloatArray
    """(n * A,) float64, Q(ha)"""
    edge: IndexArray
    """(n,) int64, the edge that leads to each node; -1 at the root"""
    table: StateArray
    """(h,) int32, hash table of the nodes by their edges, FREE or a node; h is a power of 2"""
    used: Record[Used]
    """how much of them is in use, and what was done"""


class Path(NamedTuple):
    """The path of one simulation down the tree."""

    pair: IndexArray
    """(H,) int64"""
    reward: FloatArray
    """(H,) float64"""


class SearchParameters(NamedTuple):
    """The parameters of a search."""

    gamma: float
    """discount factor per step"""
    depth: int
    """H, steps of a simulation"""
    exploration: float
    """c, in the unit of the return"""
    leaf: FloatArray
    """(S,) float64: values of the states that stand in for a random policy, or (0,)"""


def new_tree(n_nodes: int, n_actions: int) -> Tree:
    """Return an empty tree with room for a number of nodes."""
    tree = Tree(
        visits=np.zeros(n_nodes, dtype=np.int32),
        tried=np.zeros(n_nodes * n_actions, dtype=np.int32),
        q=np.zeros(n_nodes * n_actions),
        edge=np.full(n_nodes, -1, dtype=np.int64),
        table=np.full(table_size(n_nodes), FREE, dtype=np.int32),
        used=record(Used),
    )
    tree.used[0].n_nodes = 1
    return tree


def table_size(n_nodes: int) -> int:
    """Return the size of the hash table: a power of 2, at most half full."""
    return 1 << max(4, (2 * n_nodes - 1).bit_length())


def grown(tree: Tree, n_nodes: int, n_actions: int) -> Tree:
    """Return the same tree with room for more nodes."""
    larger = new_tree(n_nodes, n_actions)
    used = int(tree.used[0].n_nodes)
    for old, new, width in (
        (tree.visits, larger.visits, 1),
        (tree.tried, larger.tried, n_actions),
        (tree.q, larger.q, n_actions),
        (tree.edge, larger.edge, 1),
    ):
        new[: used * width] = old[: used * width]
    larger = larger._replace(used=tree.used)
    register_all(larger)
    return larger


@compiled(in_place=True)
def _slot(tree: Tree, edge: int) -> int:
    """Return the position of an edge in the hash table, or where it would be inserted."""
    mask = tree.table.size - 1
    mixed = np.uint64(edge) * np.uint64(0x9E3779B97F4A7C15)
    slot = int(mixed >> np.uint64(32)) & mask
    while tree.table[slot] != FREE and tree.edge[tree.table[slot]] != edge:
        slot = (slot + 1) & mask
    return slot


@compiled(in_place=True)
def register_all(tree: Tree) -> None:
    """Fill the hash table again."""
    for slot in range(tree.table.size):
        tree.table[slot] = FREE
    for node in range(1, tree.used[0].n_nodes):
        tree.table[_slot(tree, tree.edge[node])] = node


@compiled(in_place=True)
def child_of(tree: Tree, edge: int) -> int:
    """Return the node behind an edge, FREE if there is none."""
    return int(tree.table[_slot(tree, edge)])


@compiled(in_place=True)
def _choose(tree: Tree, model: Simulator, node: int, s: int, exploration: float, rng: RandomState) -> int:
    """Return the action to try: an untried one at random, else the one with the largest upper confidence bound."""
    actions = model.n_actions
    first = node * actions
    if not model.all_legal:
        for a in range(actions):
            pair = s * actions + a
            if model.indptr[pair] == model.indptr[pair + 1]:
                tree.tried[first + a] = ILLEGAL
    if tree.visits[node] < actions:
        start = int(uniform(rng) * actions)
        for step in range(actions):
            a = start + step
            if a >= actions:
                a -= actions
            if tree.tried[first + a] == 0:
                return a
    wide = exploration * np.sqrt(math.log(max(tree.visits[node], 1)))
    best, highest = -1, -np.inf
    for a in range(actions):
        n = tree.tried[first + a]
        if n > 0:
            bound = tree.q[first + a] + wide / np.sqrt(np.float64(n))
            if bound > highest:
                best, highest = a, bound
        elif n == 0:
            return a
    return best


@compiled(in_place=True)
def _rollout(model: Simulator, parameters: SearchParameters, s: int, depth: int, tree: Tree, rng: RandomState) -> float:
    """Return the return from s at some depth: of a random policy, or the value given for the leaf."""
    if parameters.leaf.size > 0:
        return parameters.leaf[s]
    total, discount = 0.0, 1.0
    steps = 0
    while depth + steps < parameters.depth:
        a = random_action(model, s, rng)
        if a < 0:
            break
        pair = s * model.n_actions + a
        outcome = pick(model.cumulative, model.indptr[pair], model.indptr[pair + 1], rng)
        total += discount * model.reward[outcome]
        discount *= parameters.gamma
        steps += 1
        if model.terminated[outcome]:
            break
        s = int(model.next_state[outcome])
    tree.used[0].n_steps += steps
    return total


@compiled(in_place=True)
def simulate(
    model: Simulator,
    parameters: SearchParameters,
    tree: Tree,
    path: Path,
    support: StateArray,
    cumulative: FloatArray,
    rng: RandomState,
    simulations: int,
    make_nodes: bool,
) -> int:
    """Run simulations from the belief that gives the states `support` the running sums `cumulative`.

    Stops early, and returns how many were done, where every node is in use and `make_nodes` is set; without it, no
    nodes are made.
    """
    first = int(np.int64(0))  # numba gives a literal 0 another type, and would compile `pick` once more
    for done in range(simulations):
        if make_nodes and tree.used[0].n_nodes == tree.visits.size:
            return done
        s = int(support[pick(cumulative, first, support.size, rng)])
        # In the tree: choose by upper confidence, draw what happens, and go to the node of that history.
        node, depth, rest = first, first, 0.0
        while depth < parameters.depth:
            a = _choose(tree, model, node, s, parameters.exploration, rng)
            if a < 0:
                break
            pair = s * model.n_actions + a
            outcome = pick(model.cumulative, model.indptr[pair], model.indptr[pair + 1], rng)
            path.pair[depth] = node * model.n_actions + a
            path.reward[depth] = model.reward[outcome]
            depth += 1
            if model.terminated[outcome] or depth == parameters.depth:
                break
            s = int(model.next_state[outcome])
            row = a * model.n_states + s
            z = model.symbol[pick(model.symbol_cumulative, model.seen[row], model.seen[row + 1], rng)]
            edge = path.pair[depth - 1] * model.n_observations + z
            slot = _slot(tree, edge)
            # A history without a node: each simulation adds one node, and a rollout estimates its value.
            if tree.table[slot] == FREE:
                if make_nodes:
                    made = tree.used[0].n_nodes
                    tree.used[0].n_nodes += 1
                    tree.edge[made] = edge
                    tree.table[slot] = made
                    tree.used[0].deepest = max(tree.used[0].deepest, depth)
                rest = _rollout(model, parameters, s, depth, tree, rng)
                break
            node = int(tree.table[slot])
        tree.used[0].n_steps += depth
        # Back up the return from the last step to the first: each pair on the path keeps the mean of what followed it.
        for step in range(depth - 1, -1, -1):
            rest = path.reward[step] + parameters.gamma * rest
            pair = path.pair[step]
            tree.visits[pair // model.n_actions] += 1
            tree.tried[pair] += 1
            tree.q[pair] += (rest - tree.q[pair]) / tree.tried[pair]
        tree.used[0].n_simulations += 1
    return simulations


@compiled(in_place=True)
def move_root(tree: Tree, root: int, n_actions: int, n_observations: int, number: StateArray) -> None:
    """Keep the nodes below `root`, which becomes node 0, and remove all others.

    `number` (n,) is room for the new numbers. Children come after their parents, so one pass finds them, and entries
    move towards the beginning only.
    """
    per_node = n_actions * n_observations
    used = tree.used[0].n_nodes
    kept = 0
    for node in range(used):
        number[node] = FREE
    for node in range(root, used):
        parent = FREE if node == root else int(number[tree.edge[node] // per_node])
        if node != root and parent == FREE:
            continue
        number[node] = kept
        tree.visits[kept] = tree.visits[node]
        for a in range(n_actions):
            tree.tried[kept * n_actions + a] = tree.tried[node * n_actions + a]
            tree.q[kept * n_actions + a] = tree.q[node * n_actions + a]
        tree.edge[kept] = -1 if node == root else parent * per_node + tree.edge[node] % per_node
        kept += 1
    for node in range(kept, used):
        tree.visits[node] = 0
        tree.edge[node] = -1
        for a in range(n_actions):
            tree.tried[node * n_actions + a] = 0
            tree.q[node * n_actions + a] = 0.0
    tree.used[0].n_nodes = kept
    tree.used[0].deepest = 0
    register_all(tree)
