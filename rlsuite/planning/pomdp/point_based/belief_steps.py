"""From a belief to the beliefs that follow it, compiled: KLC98 section 3.3, over the support only."""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.pomdp.point_based.search_arrays import Actions, Beliefs, Bounds, Control, Edges, Scratch

HASH_RESOLUTION = float(1 << 44)
"""Beliefs that agree to this fraction, entry by entry, may be treated as equal."""
ALIKE = 4.0 / HASH_RESOLUTION


@compiled(in_place=True)
def belief_number(
    k: int,
    at: int,
    end: int,
    chance: float,
    t: Tables,
    beliefs: Beliefs,
    bounds: Bounds,
    actions: Actions,
    s: Scratch,
    control: Record[Control],
) -> int:
    """Return the number of the belief in region k whose entries, not yet normalised, are at : end."""
    now = control[0]
    mask = beliefs.table.size - 1
    # The hash is that of the states and of the probabilities, rounded to multiples of 1 / GRAIN because two ways to the
    # same belief round differently. The shifts are needed because products carry nothing down to the low bits, which
    # choose the slot.
    key = np.int64(k) + 1
    for i in range(at, end):
        s.weights[i] /= chance
        key = (key ^ np.int64(s.states[i])) * 0x9E3779B97F4A7C1
        key = (key ^ (key >> 29)) + np.int64(s.weights[i] * HASH_RESOLUTION + 0.5)
    key = key * 0x2545F4914F6CDD1
    key ^= key >> 32
    slot = key & mask
    # Open addressing: the slots from the hash on are in use without a gap until the belief, or a free slot, is found.
    # The table is at most half full.
    while beliefs.table[slot] >= 0:
        other = beliefs.table[slot]
        # Another belief may have the same hash. Only beliefs that agree entry by entry count as equal; the largest
        # distance between two such beliefs is kept, since the bounds have to allow for it.
        if beliefs.key[other] == key and beliefs.region[other] == k and beliefs.size[other] == end - at:
            apart = 0.0
            first = beliefs.first[other] - at
            for i in range(at, end):
                if beliefs.state[first + i] != s.states[i]:
                    apart = 2.0
                apart += abs(beliefs.weight[first + i] - s.weights[i])
            if apart <= ALIKE * (end - at):
                now.merged = max(now.merged, apart)
                return int(other)
        slot = (slot + 1) & mask
    # A new belief takes the next number, and its entries go to the end of the pool. There is room, see `search`.
    n = int(now.n_beliefs)
    first = now.n_entries
    now.n_beliefs += 1
    now.n_entries += end - at
    beliefs.table[slot] = n
    beliefs.key[n] = key
    beliefs.region[n] = k
    beliefs.first[n] = first
    beliefs.size[n] = end - at
    # Bounds that need no lookahead: the fast informed bound, one vector for each action, and one vector of the values
    # at the corners, both linear in the belief. The upper bound is the smaller of the two.
    informed = actions.upper[n * t.n_actions : (n + 1) * t.n_actions]
    for b in range(t.n_actions):
        informed[b] = 0.0
    corner = 0.0
    for i in range(at, end):
        w = s.weights[i]
        beliefs.state[first + i - at] = s.states[i]
        beliefs.weight[first + i - at] = w
        state = t.first[k] + s.states[i]
        corner += w * t.corner[state]
        for b in range(t.n_actions):
            informed[b] += w * t.informed[state * t.n_actions + b]
    # No action has been followed yet. The lower bound comes from the vectors of the region, when the belief is first
    # compared with them.
    highest = -np.inf
    for b in range(t.n_actions):
        highest = max(highest, informed[b])
        actions.edge[n * t.n_actions + b] = -1
        actions.lower[n * t.n_actions + b] = -np.inf
    bounds.corner[n] = corner
    bounds.upper[n] = min(highest, corner)
    bounds.lower[n] = -np.inf
    bounds.best[n] = 0
    bounds.compared[n] = 0
    bounds.projected[n] = 0
    bounds.point[n] = -1
    bounds.visits[n] = 0
    return n


@compiled(in_place=True)
def follow(
    n: int,
    a: int,
    t: Tables,
    beliefs: Beliefs,
    bounds: Bounds,
    actions: Actions,
    edges: Edges,
    s: Scratch,
    control: Record[Control],
) -> None:
    """Compute the beliefs that follow belief n and action a, or find them among those that are known."""
    now = control[0]
    k = beliefs.region[n]
    pair = k * t.n_actions + a
    base = t.first[k]
    row = base * t.n_actions + a * (t.first[k + 1] - base)
    begin = t.successors[pair]
    n_after = t.successors[pair + 1] - begin
    # the next states and their probabilities, whatever is observed
    for j in range(n_after):
        s.ahead[j] = 0.0
    reward = 0.0
    for e in range(beliefs.first[n], beliefs.first[n] + beliefs.size[n]):
        i, w = beliefs.state[e], beliefs.weight[e]
        reward += w * t.reward[(base + i) * t.n_actions + a]
        for r in range(t.row[row + i], t.row[row + i + 1]):
            s.ahead[t.successor[r]] += w * t.weight[r]
    # sorted by observation: first the sizes, then the entries; products that underflow to 0 are left out
    n_symbols = 0
    for j in range(n_after):
        if s.ahead[j] > 0.0:
            for o in range(t.seen[begin + j], t.seen[begin + j + 1]):
                z, joint = t.symbol[o], s.ahead[j] * t.chance[o]
                if joint == 0.0:
                    continue
                if s.counts[z] == 0:
                    s.symbols[n_symbols] = z
                    n_symbols += 1
                s.counts[z] += 1
                s.chances[z] += joint
    total = 0
    for q in range(n_symbols):
        z = s.symbols[q]
        size = s.counts[z]
        s.counts[z] = total
        total += size
    for j in range(n_after):
        if s.ahead[j] > 0.0:
            for o in range(t.seen[begin + j], t.seen[begin + j + 1]):
                z, joint = t.symbol[o], s.ahead[j] * t.chance[o]
                if joint > 0.0:
                    at = s.counts[z]
                    s.states[at] = t.place[o]
                    s.weights[at] = joint
                    s.counts[z] = at + 1
    # The entries of one observation now lie side by side, and `counts` holds where they end.
    number = n * t.n_actions + a
    actions.reward[number] = reward
    actions.edge[number] = now.n_edges
    edge = now.n_edges
    at = int(np.int64(0))  # numba gives a literal 0 another type, and would compile `belief_number` twice
    for q in range(n_symbols):
        z = s.symbols[q]
        end, chance = int(s.counts[z]), float(s.chances[z])
        s.counts[z] = 0
        s.chances[z] = 0.0
        edges.child[edge] = belief_number(
            int(t.child[pair * t.n_observations + z]), at, end, chance, t, beliefs, bounds, actions, s, control
        )
        edges.symbol[edge] = z
        edges.chance[edge] = chance
        edge += 1
        at = end
    actions.size[number] = edge - now.n_edges
    now.n_edges = edge
    now.work += int(4 * total + n_after)
