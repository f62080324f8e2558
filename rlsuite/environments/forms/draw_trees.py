"""The compiled form of a tabulated environment: for each state and action, a tree of what its step draws.

``begin`` and ``step`` are those of `rlsuite.environments.forms.form`. They draw from the environment's own
generator, in the order in which its `reset` and its `step` do.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.compilation import Compiled, compiled, has_machine_code
from rlsuite.environments.observation_view import View
from rlsuite.environments.outcomes import Again, IntegerNode, Leaf, MaskedNode, Tree, UniformNode
from rlsuite.environments.tabulation import Tabulation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

LEAF, UNIFORM, INTEGER, MASKED, AGAIN = range(5)
KINDS: dict[type, int] = {UniformNode: UNIFORM, IntegerNode: INTEGER, MaskedNode: MASKED}

ONE, SHIFT, LOW_BITS = np.uint64(1), np.uint64(32), np.uint64(2**32 - 1)


def _next_uint32_in_python(bit_generator: Any) -> int:
    """Draw 32 bits: one half of 64 of which the other half is kept."""
    interface = bit_generator.ctypes
    return interface.next_uint32(interface.state)


next_uint32: Callable[[Any], int] = _next_uint32_in_python
if has_machine_code():
    _core: Any = import_module("numba.np.random.generator_core")  # numba has no types
    next_uint32 = _core.next_uint32


class DrawTrees(NamedTuple):
    """The trees of all pairs of states and actions; the nodes of all trees have one numbering."""

    n_actions: int
    start: int  # the root of what `reset` draws
    root: IndexArray  # (S * A,); -1 where an episode is over, and of actions that are not legal
    kind: IndexArray  # (N,): LEAF, UNIFORM, INTEGER, MASKED or AGAIN
    first: IndexArray  # (N,): the first of the children, which follow each other; of LEAF its row, of AGAIN a node
    bounds_begin: IndexArray  # (N + 1,): where the bounds of a uniform number begin
    bounds: FloatArray
    n_children: IndexArray  # (N,)
    next_state: IndexArray  # (L,)
    observation: IndexArray  # (L,)
    reward: FloatArray  # (L,)
    terminated: BoolArray  # (L,)
    truncated: BoolArray  # (L,)
    draw_integer: "Compiled[[np.random.Generator, int, bool], np.int64]"
    mask: IndexArray  # (L,): a row of masks, or -1 where the info says nothing
    masks: BoolArray  # (M, n_actions)
    legal: BoolArray  # (n_observations, n_actions): where the masks are noted
    record_legal: "Compiled[[DrawTrees, int], None]"


@compiled(in_place=True)
def no_integer(rng: np.random.Generator, n: int, masked: bool) -> np.int64:
    """Stand in where no integers are drawn."""
    return np.int64(0)


@compiled(in_place=True)
def integer(rng: np.random.Generator, n: int, masked: bool) -> np.int64:
    """Draw one of 0, ..., n - 1 as `Generator.integers` does (Lemire 2019, Fast random integer generation, Alg. 5).

    Numba's own makes an array for it, which is not possible in place. If it is masked, `Generator.shuffle` draws so.
    """
    if masked:
        mask = np.uint64(1)
        while mask < np.uint64(n):
            mask = mask << ONE
        value = np.uint64(next_uint32(rng.bit_generator)) & (mask - ONE)
        while value >= np.uint64(n):
            value = np.uint64(next_uint32(rng.bit_generator)) & (mask - ONE)
        return np.int64(value)
    product = np.uint64(next_uint32(rng.bit_generator)) * np.uint64(n)
    low = product & LOW_BITS
    if low < np.uint64(n):
        threshold = (LOW_BITS + ONE - np.uint64(n)) % np.uint64(n)
        while low < threshold:
            product = np.uint64(next_uint32(rng.bit_generator)) * np.uint64(n)
            low = product & LOW_BITS
    return np.int64(product >> SHIFT)


@compiled(in_place=True)
def drawn_leaf(trees: DrawTrees, node: int, rng: np.random.Generator) -> int:
    """Make the draws below a node; return the row of the leaf."""
    while trees.kind[node] != LEAF:
        child = 0
        if trees.kind[node] == UNIFORM:
            u = rng.random()
            for i in range(trees.bounds_begin[node], trees.bounds_begin[node + 1]):
                if trees.bounds[i] > u:
                    break
                child += 1
        elif trees.kind[node] != AGAIN:
            child = trees.draw_integer(rng, trees.n_children[node], trees.kind[node] == MASKED)
        node = trees.first[node] + child
    return trees.first[node]


@compiled(in_place=True)
def record_nothing(trees: DrawTrees, leaf: int) -> None:
    """Stand in where all actions are legal."""


@compiled(in_place=True)
def record_mask(trees: DrawTrees, leaf: int) -> None:
    """Record which actions are legal where a leaf leads, as the info of the environment would tell it."""
    mask = trees.mask[leaf]
    if mask >= 0:
        for action in range(trees.n_actions):
            trees.legal[trees.observation[leaf], action] = trees.masks[mask, action]


@compiled(in_place=True)
def trees_begin(trees: DrawTrees, view: View, rng: np.random.Generator) -> tuple[int, int]:
    """Draw the beginning of an episode."""
    leaf = drawn_leaf(trees, trees.start, rng)
    trees.record_legal(trees, leaf)
    return trees.next_state[leaf], trees.observation[leaf]


@compiled(in_place=True)
def trees_step(
    trees: DrawTrees, state: int, action: int, observation: int, view: View, rng: np.random.Generator
) -> tuple[int, float, bool, bool, int]:
    """Take an action."""
    leaf = drawn_leaf(trees, trees.root[state * trees.n_actions + action], rng)
    trees.record_legal(trees, leaf)
    return (
        trees.next_state[leaf],
        trees.reward[leaf],
        trees.terminated[leaf],
        trees.truncated[leaf],
        trees.observation[leaf],
    )


_latest: list[tuple[Tabulation, DrawTrees]] = []


def trees_of(tabulation: Tabulation) -> DrawTrees:
    """Number the nodes of all trees, or find the numbers of the latest tabulation: many seeds have the same."""
    latest = _latest[:1]
    if not latest or latest[0][0] is not tabulation:
        latest[:] = [(tabulation, draw_trees(tabulation))]
        _latest[:] = latest
    return latest[0][1]


def draw_trees(tabulation: Tabulation) -> DrawTrees:
    """Number the nodes of all trees."""
    kind: list[int] = []
    first: list[int] = []
    children: list[int] = []
    bounds: list[tuple[float, ...]] = []
    leaves: list[tuple[int, int, float, bool, bool, int]] = []
    known: dict[object, int] = {}  # equal outcomes have one row
    masks: dict[bytes, int] = {}
    numbered: list[int] = []  # the nodes of the draws of one tree, depth first
    going_back: list[tuple[int, int]] = []  # nodes, and the numbers of the draws with which they continue

    def add(trees: tuple[Tree, ...]) -> int:
        """Number trees that follow each other; return the number of the first."""
        begin = len(kind)
        for tree in trees:
            if isinstance(tree, Leaf):
                answer = tree.outcome
                leaf = (
                    answer.state,
                    answer.observation,
                    answer.reward,
                    answer.terminated,
                    answer.truncated,
                    masks.setdefault(answer.legal, len(masks)) if answer.legal else -1,
                )
                if leaf not in known:
                    known[leaf] = len(leaves)
                    leaves.append(leaf)
                kind.append(LEAF)
                first.append(known[leaf])
            elif isinstance(tree, Again):
                going_back.append((len(kind), tree.number))
                kind.append(AGAIN)
                first.append(-1)
            else:
                kind.append(KINDS[type(tree)])
                first.append(-1)
            bounds.append(tree.bounds if isinstance(tree, UniformNode) else ())
            children.append(len(tree.children) if isinstance(tree, UniformNode | IntegerNode | MaskedNode) else 0)
        for node, tree in enumerate(trees, begin):
            if isinstance(tree, UniformNode | IntegerNode | MaskedNode):
                numbered.append(node)
                first[node] = add(tree.children)
        return begin

    def root_of(tree: Tree) -> int:
        """Number a tree; return the number of its root."""
        numbered.clear()
        going_back.clear()
        node = add((tree,))
        for one, number in going_back:
            first[one] = numbered[number]
        return node

    start = root_of(tabulation.start)
    rows = [[None] * tabulation.n_actions if row is None else row for row in tabulation.rows]
    root = [-1 if tree is None else root_of(tree) for row in rows for tree in row]
    next_state, observation, reward, terminated, truncated, mask = zip(*leaves, strict=True)
    return DrawTrees(
        n_actions=tabulation.n_actions,
        start=start,
        root=np.array(root, dtype=np.int64),
        kind=np.array(kind, dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        bounds_begin=np.cumsum([0, *map(len, bounds)], dtype=np.int64),
        bounds=np.array([bound for each in bounds for bound in each], dtype=np.float64),
        n_children=np.array(children, dtype=np.int64),
        next_state=np.array(next_state, dtype=np.int64),
        observation=np.array(observation, dtype=np.int64),
        reward=np.array(reward, dtype=np.float64),
        terminated=np.array(terminated, dtype=np.bool_),
        truncated=np.array(truncated, dtype=np.bool_),
        draw_integer=integer if {INTEGER, MASKED} & {*kind} else no_integer,
        mask=np.array(mask, dtype=np.int64),
        masks=np.frombuffer(b"".join(masks), dtype=np.bool_).reshape(-1, tabulation.n_actions).copy(),
        legal=np.zeros((0, tabulation.n_actions), dtype=np.bool_),
        record_legal=record_mask if masks else record_nothing,
    )
