"""The parts of an update of a belief, compiled; see `rlsuite.planning.pomdp.point_based.search_kernel`."""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record
from rlsuite.models.aliases import FloatArray, SingleArray
from rlsuite.planning.pomdp.bounds.point_tables import Tables
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
    room, base = v.room[k], v.begin[k]
    first, last = beliefs.first[n], beliefs.first[n] + beliefs.size[n]
    if end - begin > FEW:
        new = end - begin
        for i in range(new):
            sums[i] = np.float32(0.0)
        for e in range(first, last):
            w = np.float32(beliefs.weight[e])
            row = v.quick[base + beliefs.state[e] * room + begin : base + beliefs.state[e] * room + end]
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
            total += t.chance[o] * v.exact[v.begin[into] + s.column[z] * size + t.place[o]]
        s.ahead[j - begin] = total
    # The new vector goes to the end of its region. It is written twice: in double precision for values, and state by
    # state in single precision for comparisons, where many vectors are read side by side.
    base = t.first[k]
    size = t.first[k + 1] - base
    row = base * t.n_actions + a * size
    at, room = v.used[k], v.room[k]
    for i in range(size):
        total = 0.0
        for r in range(t.row[row + i], t.row[row + i + 1]):
            total += t.weight[r] * s.ahead[t.successor[r]]
        total = t.reward[(base + i) * t.n_actions + a] + t.gamma * total
        v.exact[v.begin[k] + at * size + i] = total
        v.quick[v.begin[k] + i * room + at] = np.float32(total)
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
