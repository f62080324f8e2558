"""The compiled point-based search: trials through the most promising and least certain beliefs, and updates on the way.

Below, n is a belief b, k its region, and c a child: a belief that may follow an action. An *update* bounds the value of
a belief anew by one backup (HSVI2: Smith and Simmons 2005; SARSOP: Kurniawati, Hsu and Lee 2008),

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
from rlsuite.models.aliases import IndexArray, StateArray
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.pomdp.point_based.belief_steps import follow
from rlsuite.planning.pomdp.point_based.bound_updates import add_point, add_vector, cut_upper, raise_lower
from rlsuite.planning.pomdp.point_based.search_arrays import (
    Actions,
    Beliefs,
    Bounds,
    Control,
    Edges,
    Points,
    Scratch,
    Vectors,
)

FINISHED, PAUSED, GRAPH_FULL, VECTORS_FULL, POINTS_FULL, STUCK = range(6)
"""Why the search returned; STUCK is a belief in which no action is legal."""
WANTS_ROOM = (GRAPH_FULL, VECTORS_FULL, POINTS_FULL)


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
        now.wants_room = k
        if v.used[k] == v.room[k]:
            return VECTORS_FULL
        if p.used[k] == p.room[k]:
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
                above += edges.chance[e] * bounds.upper[c]
                below += edges.chance[e] * bounds.lower[c]
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
            now.discount /= t.gamma
        elif upwards:
            gap = bounds.upper[n] - bounds.lower[n]
            now.n_trials += 1
            now.upwards = 0
            now.discount = 1.0
            now.target_gap = gap * (now.turn_deep if now.n_trials % 2 == 0 else now.turn_shallow)
            now.least_change = gap * now.worth_a_point
            if gap <= now.wanted_gap or now.n_trials == now.last_trial:
                return FINISHED
        else:
            # Go to the child whose gap, beyond the target of the trial, contributes the most to the gap at the start.
            # The target grows by 1 / gamma with each step, as a gap at some depth counts gamma^depth at the start. If
            # no gap exceeds it, or the path is full, the trial turns and updates the beliefs on the way back.
            target = now.target_gap / now.discount
            widest = 0.0
            into = -1
            first = actions.edge[pair + chosen]
            for e in range(first, first + actions.size[pair + chosen]):
                c = int(edges.child[e])
                excess = edges.chance[e] * (t.gamma * (bounds.upper[c] - bounds.lower[c]) - target)
                if excess > widest:
                    widest = excess
                    into = c
            if into < 0 or depth + 1 == s.path.size or bounds.upper[n] - bounds.lower[n] <= target:
                now.upwards = 1
            else:
                now.discount *= t.gamma
                now.depth = depth + 1
                s.path[depth + 1] = into
    return PAUSED


@compiled(in_place=True)
def fill_table(n_nodes: int, key: IndexArray, table: StateArray) -> None:
    """Enter all beliefs into an empty hash table."""
    mask = table.size - 1
    for n in range(n_nodes):
        slot = key[n] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = n
