"""The compiled point-based search: trials through the most promising and least certain beliefs, and updates on the way.

Below, n is a belief b, k its region, and c a child: a belief that may follow an action. An *update* bounds the value of
a belief again by one backup (HSVI2: Smith and Simmons 2005; SARSOP: Kurniawati, Hsu and Lee 2008),

    upper(b) <- max_a rho(b, a) + gamma sum_z Pr(z | b, a) upper(c),

and the same for lower, for which the vector of the best action is made and kept. An action is looked at only while its
upper bound is the largest, or above the lower bound of the belief. An upper bound is the least of what backups, the
corners of the region, and each of its points p give: since b = ratio p + a rest in the corners, convexity makes it at
most corner(b) + ratio gain(p), with ratio = min over the states of p of b(s) / p(s) (the sawtooth: Hauskrecht 2000).

The place in a trial is part of `Control`, so the search can stop anywhere and be resumed.
"""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record
from rlsuite.models.aliases import FloatArray, IndexArray, SingleArray
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.pomdp.point_based.search_memory import (
    Actions,
    Beliefs,
    Bounds,
    Control,
    Edges,
    Points,
    Scratch,
    Vectors,
)

HASH_RESOLUTION = float(1 << 44)
"""Beliefs that agree to this fraction, entry by entry, may be treated as equal."""
ALIKE = 4.0 / HASH_RESOLUTION


@compiled(in_place=True)
def belief_number(
    k: int,
    at: int,
    end: int,
    probability: float,
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
        s.weights[i] /= probability
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
                z, joint = t.symbol[o], s.ahead[j] * t.probability[o]
                if joint == 0.0:
                    continue
                if s.counts[z] == 0:
                    s.symbols[n_symbols] = z
                    n_symbols += 1
                s.counts[z] += 1
                s.probabilities[z] += joint
    total = 0
    for q in range(n_symbols):
        z = s.symbols[q]
        size = s.counts[z]
        s.counts[z] = total
        total += size
    for j in range(n_after):
        if s.ahead[j] > 0.0:
            for o in range(t.seen[begin + j], t.seen[begin + j + 1]):
                z, joint = t.symbol[o], s.ahead[j] * t.probability[o]
                if joint > 0.0:
                    at = s.counts[z]
                    s.states[at] = t.position[o]
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
        end, probability = int(s.counts[z]), float(s.probabilities[z])
        s.counts[z] = 0
        s.probabilities[z] = 0.0
        edges.child[edge] = belief_number(
            int(t.child[pair * t.n_observations + z]), at, end, probability, t, beliefs, bounds, actions, s, control
        )
        edges.symbol[edge] = z
        edges.probability[edge] = probability
        edge += 1
        at = end
    actions.size[number] = edge - now.n_edges
    now.n_edges = edge
    now.work += int(4 * total + n_after)


FEW = 6
"""Up to this many vectors are compared one by one."""


@compiled(in_place=True)
def raise_lower(
    n: int, size: int, beliefs: Beliefs, bounds: Bounds, v: Vectors, sums: SingleArray, control: Record[Control]
) -> None:
    """Raise the lower bound of a belief by the vectors it was not compared with; its region has `size` states.

    Many are compared in single precision; the value of the winner is computed in full.
    """
    k = beliefs.region[n]
    begin, end = bounds.compared[n], v.used[k]
    capacity, base = v.capacity[k], v.begin[k]
    first, last = beliefs.first[n], beliefs.first[n] + beliefs.size[n]
    # Single precision, vector beside vector: with the plain loop below alone, SARSOP takes 5 times as long on hallway,
    # 6 times on Tiger-grid, and 1.2 times on RockSample.
    if end - begin > FEW:
        new = end - begin
        for i in range(new):
            sums[i] = np.float32(0.0)
        for e in range(first, last):
            w = np.float32(beliefs.weight[e])
            row = v.quick[base + beliefs.state[e] * capacity + begin : base + beliefs.state[e] * capacity + end]
            for i in range(new):
                sums[i] += w * row[i]
        # comparisons with NaN, which is 0 times minus infinity, are false
        highest = np.float32(-np.inf)
        chosen = 0
        for i in range(new):
            if sums[i] > highest:
                highest = sums[i]
                chosen = i
        control[0].work += (new * (last - first)) >> 3
        begin += chosen
        end = begin + 1
    for i in range(begin, end):
        total = 0.0
        for e in range(first, last):
            total += beliefs.weight[e] * v.exact[base + i * size + beliefs.state[e]]
        if total > bounds.lower[n]:
            bounds.lower[n] = total
            bounds.best[n] = i
    bounds.compared[n] = v.used[k]
    control[0].work += (end - begin) * (last - first)


@compiled(in_place=True)
def cut_upper(n: int, beliefs: Beliefs, bounds: Bounds, p: Points, dense: FloatArray, control: Record[Control]) -> None:
    """Lower the upper bound of a belief by the points it was not compared with."""
    k = beliefs.region[n]
    begin, end = p.begin[k] + bounds.projected[n], p.begin[k] + p.used[k]
    first, last = beliefs.first[n], beliefs.first[n] + beliefs.size[n]
    for e in range(first, last):
        dense[beliefs.state[e]] = beliefs.weight[e]
    least = bounds.upper[n] - bounds.corner[n]
    work = 0
    for i in range(begin, end):
        gain = p.gain[i]
        # The sawtooth: b = ratio p + a rest at the corners, with the largest ratio for which the rest is not negative.
        ratio = min(1.0, dense[p.key[i]] * p.inverse[i])
        if ratio * gain < least:  # not ruled out by the most probable state of the point
            other = p.node[i]
            for e in range(beliefs.first[other], beliefs.first[other] + beliefs.size[other]):
                mine = dense[beliefs.state[e]]
                if mine < ratio * beliefs.weight[e]:
                    ratio = mine / beliefs.weight[e]
                    if ratio * gain >= least:
                        break
            least = min(least, ratio * gain)
            work += 8
    for e in range(first, last):
        dense[beliefs.state[e]] = 0.0
    bounds.upper[n] = min(bounds.upper[n], bounds.corner[n] + least)
    bounds.projected[n] = p.used[k]
    control[0].work += work + (end - begin) + 2 * (last - first)


@compiled(in_place=True)
def add_point(n: int, beliefs: Beliefs, bounds: Bounds, p: Points) -> None:
    """Keep the upper bound of a belief as a point."""
    k = beliefs.region[n]
    base, at = p.begin[k], p.used[k]
    # the older point of this belief is weaker; its entry stays, without effect
    if bounds.point[n] >= 0:
        p.gain[base + bounds.point[n]] = 0.0
    chosen = beliefs.first[n]
    for e in range(beliefs.first[n] + 1, beliefs.first[n] + beliefs.size[n]):
        if beliefs.weight[e] > beliefs.weight[chosen]:
            chosen = e
    p.node[base + at] = n
    p.key[base + at] = beliefs.state[chosen]
    p.inverse[base + at] = 1.0 / beliefs.weight[chosen]
    p.gain[base + at] = bounds.upper[n] - bounds.corner[n]
    p.used[k] = at + 1
    bounds.point[n] = at


@compiled(in_place=True)
def add_vector(
    n: int,
    a: int,
    t: Tables,
    beliefs: Beliefs,
    bounds: Bounds,
    actions: Actions,
    edges: Edges,
    v: Vectors,
    s: Scratch,
    control: Record[Control],
) -> None:
    """Make the vector of an action followed by the best vectors of the children, and keep it if it is better.

    alpha(s) = r(s, a) + gamma sum_s' c(s' | s, a) sum_z Pr(z | a, s') alpha_z(s'). After an observation that is
    impossible in the belief, any vector will do.
    """
    k = beliefs.region[n]
    pair = k * t.n_actions + a
    # After an observation z that is possible here, the plan continues with the best vector of the child that z leads
    # to; after the others with the first vector of the region, which is a plan as well.
    for z in range(t.n_observations):
        s.column[z] = 0
    first = actions.edge[n * t.n_actions + a]
    for e in range(first, first + actions.size[n * t.n_actions + a]):
        s.column[edges.symbol[e]] = bounds.best[edges.child[e]]
    # The sum over z first, for each next state: it is the same for every state that leads there.
    begin, end = t.successors[pair], t.successors[pair + 1]
    for j in range(begin, end):
        total = 0.0
        for o in range(t.seen[j], t.seen[j + 1]):
            z = t.symbol[o]
            into = t.child[pair * t.n_observations + z]
            size = t.first[into + 1] - t.first[into]
            total += t.probability[o] * v.exact[v.begin[into] + s.column[z] * size + t.position[o]]
        s.ahead[j - begin] = total
    # The new vector goes to the end of its region. It is written twice: in double precision for values, and state by
    # state in single precision for comparisons, where many vectors are read side by side.
    base = t.first[k]
    size = t.first[k + 1] - base
    row = base * t.n_actions + a * size
    at, capacity = v.used[k], v.capacity[k]
    for i in range(size):
        total = 0.0
        for r in range(t.row[row + i], t.row[row + i + 1]):
            total += t.weight[r] * s.ahead[t.successor[r]]
        total = t.reward[(base + i) * t.n_actions + a] + t.gamma * total
        v.exact[v.begin[k] + at * size + i] = total
        v.quick[v.begin[k] + i * capacity + at] = np.float32(total)
    v.action[v.begin_action[k] + at] = a
    total = 0.0
    for e in range(beliefs.first[n], beliefs.first[n] + beliefs.size[n]):
        total += beliefs.weight[e] * v.exact[v.begin[k] + at * size + beliefs.state[e]]
    # `used` grows only if the vector is better at this belief; otherwise the next vector overwrites it. A belief that
    # had been compared with all others need not be compared with its own.
    if total > bounds.lower[n]:
        bounds.lower[n] = total
        bounds.best[n] = at
        v.used[k] = at + 1
        if bounds.compared[n] == at:
            bounds.compared[n] = at + 1
    control[0].work += int(2 * (t.seen[end] - t.seen[begin] + t.row[row + size] - t.row[row]))


FINISHED, PAUSED, GRAPH_FULL, VECTORS_FULL, POINTS_FULL, STUCK = range(6)
"""Why the search returned; STUCK is a belief in which no action is legal."""
POOL_FULL = (GRAPH_FULL, VECTORS_FULL, POINTS_FULL)


@compiled(in_place=True)
def search(
    t: Tables,
    beliefs: Beliefs,
    bounds: Bounds,
    actions: Actions,
    edges: Edges,
    v: Vectors,
    p: Points,
    s: Scratch,
    control: Record[Control],
    nodes: IndexArray,
    work: int,
) -> int:
    """Do trials, or update a list of beliefs, and return why it ended.

    Parameters
    ----------
    nodes : ndarray int64
        The beliefs to update, from number ``control[0].depth`` on; empty for trials.
    work : int
        About how many operations to do before a pause.
    """
    now = control[0]
    now.work = 0
    listed = nodes.size > 0
    while now.work < work:
        depth = now.depth
        if listed and depth == nodes.size:
            return FINISHED
        n = int(nodes[depth]) if listed else int(s.path[depth])
        upwards = listed or now.upwards > 0
        k = beliefs.region[n]
        pair = n * t.n_actions
        # There must be room for all that this belief may need before anything is written: otherwise the caller makes
        # room and calls again, and the step is repeated.
        now.full_region = k
        if v.used[k] == v.capacity[k]:
            return VECTORS_FULL
        if p.used[k] == p.capacity[k]:
            return POINTS_FULL
        # ------------------------------------------------------------------------------- the bounds of the actions
        for a in range(t.n_actions):
            s.done[a] = 0
        # Follow the action with the largest upper bound, until that is one already followed: its bound is that of the
        # belief. Following an action can only lower its bound, so actions with smaller bounds need not be followed.
        chosen = -1
        while True:
            a = 0
            for b in range(1, t.n_actions):
                if actions.upper[pair + b] > actions.upper[pair + a]:
                    a = b
            if actions.upper[pair + a] == -np.inf:
                return STUCK
            if s.done[a] > 0:  # no other can have a larger bound; next, actions that may still be the best
                chosen = a
                a = -1
                if upwards:
                    for b in range(t.n_actions):
                        known = actions.edge[pair + b] >= 0 or now.all_actions > 0
                        if s.done[b] == 0 and known and actions.upper[pair + b] > bounds.lower[n]:
                            a = b
                            break
                if a < 0:
                    break
            # The beliefs that follow are computed only once, and stored.
            if actions.edge[pair + a] < 0:
                if (
                    now.n_beliefs + t.n_observations > beliefs.region.size
                    or now.n_edges + t.n_observations > edges.child.size
                    or now.n_entries + s.states.size > beliefs.state.size
                ):
                    return GRAPH_FULL
                follow(n, a, t, beliefs, bounds, actions, edges, s, control)
            above = below = 0.0
            first = actions.edge[pair + a]
            for e in range(first, first + actions.size[pair + a]):
                c = int(edges.child[e])
                kc = int(beliefs.region[c])
                # The bounds of a child are updated only when they are needed, with the vectors and points added to its
                # region since the last update.
                if bounds.compared[c] < v.used[kc]:
                    raise_lower(c, int(t.first[kc + 1] - t.first[kc]), beliefs, bounds, v, s.sums, control)
                if bounds.projected[c] < p.used[kc]:
                    cut_upper(c, beliefs, bounds, p, s.dense, control)
                above += edges.probability[e] * bounds.upper[c]
                below += edges.probability[e] * bounds.lower[c]
            # An upper bound stays valid, so the smaller one is kept, whatever the rounding; the lower one is
            # recomputed, as it can only have risen.
            actions.upper[pair + a] = min(actions.upper[pair + a], actions.reward[pair + a] + t.gamma * above)
            actions.lower[pair + a] = actions.reward[pair + a] + t.gamma * below
            s.done[a] = 1
            now.work += 16 + 8 * actions.size[pair + a]
        # -------------------------------------------------------------------------------- the bounds of the belief
        bounds.visits[n] += 1
        bounds.upper[n] = min(bounds.upper[n], actions.upper[pair + chosen])
        if upwards:
            # A point is added only where the bound lies clearly below that of the corners, and below the older point of
            # this belief.
            known_gain = p.gain[p.begin[k] + bounds.point[n]] if bounds.point[n] >= 0 else 0.0
            if bounds.upper[n] - bounds.corner[n] < known_gain - now.least_change:
                add_point(n, beliefs, bounds, p)
            # A vector for the action with the largest lower bound, if that exceeds the belief's by more than rounding.
            a = int(np.int64(-1))  # numba gives a literal -1 another type, and would compile `add_vector` twice
            highest = bounds.lower[n] + 1e-13 * abs(bounds.lower[n])
            for b in range(t.n_actions):
                if s.done[b] > 0 and actions.lower[pair + b] > highest:
                    highest = actions.lower[pair + b]
                    a = b
            if a >= 0:
                add_vector(n, a, t, beliefs, bounds, actions, edges, v, s, control)
        # ---------------------------------------------------------------------------------- where to go from here
        if listed:
            now.depth = depth + 1
        elif upwards and depth > 0:
            now.depth = depth - 1
            now.discount /= now.fading
        elif upwards:
            gap = bounds.upper[n] - bounds.lower[n]
            now.n_trials += 1
            now.upwards = 0
            now.discount = 1.0
            if now.step_cost > 0.0:  # one step of as many as a plan with this value may take
                now.fading = 1.0 - 1.0 / max(2.0, (now.most - bounds.lower[n]) / now.step_cost)
            now.target_gap = gap * (now.turn_deep if now.n_trials % 2 == 0 else now.turn_shallow)
            now.least_change = gap * now.least_share
            if gap <= now.wanted_gap or now.n_trials == now.last_trial:
                return FINISHED
        else:
            # Go to the child whose gap, beyond the target of the trial, contributes the most to the gap at the start:
            # the weighted excess uncertainty of Smith and Simmons 2005.
            # The target grows by 1 / fading with each step, as a gap at some depth counts less at the start. If
            # no gap exceeds it, or the path is full, the trial turns and updates the beliefs on the way back.
            target = now.target_gap / now.discount
            widest = 0.0
            into = -1
            first = actions.edge[pair + chosen]
            for e in range(first, first + actions.size[pair + chosen]):
                c = int(edges.child[e])
                excess = edges.probability[e] * (t.gamma * (bounds.upper[c] - bounds.lower[c]) - target)
                if excess > widest:
                    widest = excess
                    into = c
            if into < 0 or depth + 1 == s.path.size or bounds.upper[n] - bounds.lower[n] <= target:
                now.upwards = 1
            else:
                now.discount *= now.fading
                now.depth = depth + 1
                s.path[depth + 1] = into
    return PAUSED
