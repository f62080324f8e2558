"""Memory for trees of beliefs: its initial size, and how it grows."""

from typing import Any

import numpy as np

from rlsuite.core.records import record
from rlsuite.models import POMDP
from rlsuite.planning.pomdp.online.bound_tree import BoundTree, Scratch, Used

SLOTS_AT_FIRST = 1 << 14
NODE_ARRAYS = ("first", "size", "lower", "upper", "chance", "parent", "slot", "best", "score")
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
        place=np.zeros(symbols, dtype=np.int64),
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
        chance=np.zeros(nodes),
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
    larger: dict[str, Any] = {}
    for name, used in _full_arrays(tree).items():
        old = getattr(tree, name)
        larger[name] = np.zeros(2 * old.size, dtype=old.dtype)
        larger[name][:used] = old[:used]
    return tree._replace(**larger)
