"""The data of the point-based search: a graph of beliefs, their bounds, and for each region its vectors and points.

All of it is stored in pools with room to spare, because compiled code that makes no arrays runs faster: it stops when
it wants more room, and the functions below make it.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.records import Record, record
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray, SingleArray, StateArray
from rlsuite.planning.pomdp.bounds.point_tables import Tables
from rlsuite.planning.vectors import vector


class Beliefs(NamedTuple):
    """Beliefs, as the states of their support and their probabilities; equal ones are stored once."""

    region: StateArray
    """(n,) int32"""
    first: IndexArray
    """(n,) int64, where the entries of a belief begin"""
    size: StateArray
    """(n,) int32, their number"""
    key: IndexArray
    """(n,) int64, hash of the belief"""
    state: StateArray
    """(m,) int32, a state, as a number within the region"""
    weight: FloatArray
    """(m,) float64, its probability, above 0"""
    table: StateArray
    """(h,) int32, hash table of the beliefs, -1 where free; h is a power of 2"""


class Bounds(NamedTuple):
    """Bounds on the optimal value of each belief."""

    lower: FloatArray
    """(n,) float64, the largest alpha . b found"""
    best: StateArray
    """(n,) int32, the vector that gives it, as a number within the region"""
    compared: StateArray
    """(n,) int32, how many vectors of the region the belief has been compared with"""
    upper: FloatArray
    """(n,) float64"""
    corner: FloatArray
    """(n,) float64, the upper bound by the corners of the region: the values of the states if they are observed"""
    projected: StateArray
    """(n,) int32, how many points of the region the belief has been compared with"""
    point: StateArray
    """(n,) int32, its own point, -1 if it has none"""
    visits: StateArray
    """(n,) int32, how often it was updated"""


class Actions(NamedTuple):
    """The pairs of a belief and an action; that of belief n and action a has the number n A + a."""

    upper: FloatArray
    """(n * A,) float64, upper bound on the value of the action; minus infinity if it is illegal"""
    lower: FloatArray
    """(n * A,) float64, lower bound"""
    reward: FloatArray
    """(n * A,) float64, rho(b, a), if the action was followed"""
    edge: IndexArray
    """(n * A,) int64, where its edges begin; -1 if it was not followed yet"""
    size: StateArray
    """(n * A,) int32, number of edges"""


class Edges(NamedTuple):
    """From a belief and an action to the beliefs that follow."""

    child: StateArray
    """(e,) int32, the belief"""
    symbol: StateArray
    """(e,) int32, the observation that leads to it"""
    probability: FloatArray
    """(e,) float64, its probability"""


class Vectors(NamedTuple):
    """Alpha vectors, region by region: of region k with m states, room for c vectors and n of them in use."""

    used: IndexArray
    """(K,) int64, n"""
    capacity: IndexArray
    """(K,) int64, c"""
    begin: IndexArray
    """(K,) int64, where the block of a region of m c numbers begins"""
    begin_action: IndexArray
    """(K,) int64, where its block of c actions begins"""
    exact: FloatArray
    """float64, vector by vector: state s of vector i at begin + i m + s"""
    quick: SingleArray
    """float32, state by state, at begin + s c + i: for comparing many at once"""
    action: StateArray
    """int32, first action of each plan"""


class Points(NamedTuple):
    """Beliefs whose upper bound is below what the corners of their region give, region by region."""

    used: IndexArray
    """(K,) int64"""
    capacity: IndexArray
    """(K,) int64"""
    begin: IndexArray
    """(K,) int64, where the block of a region begins"""
    node: StateArray
    """int32, the belief"""
    key: StateArray
    """int32, its most probable state"""
    inverse: FloatArray
    """float64, 1 / the probability of that state"""
    gain: FloatArray
    """float64, upper bound less what the corners give: below 0; or 0 if another entry took its place"""


class Scratch(NamedTuple):
    """Arrays for intermediate results."""

    ahead: FloatArray
    """(largest number of successors of a pair,)"""
    symbols: StateArray
    """(Z,) the observations that are possible"""
    counts: IndexArray
    """(Z,) 0 between uses"""
    probabilities: FloatArray
    """(Z,) 0 between uses"""
    column: StateArray
    """(Z,) the vector that follows each observation"""
    dense: FloatArray
    """(largest region,) 0 between uses"""
    states: StateArray
    """entries of all beliefs that follow one action"""
    weights: FloatArray
    """their probabilities"""
    done: StateArray
    """(A,) whether the bounds of an action were looked at"""
    sums: SingleArray
    """(largest room for vectors,) alpha . b of many"""
    path: StateArray
    """(deepest + 1,) the beliefs of the trial that is going on"""


class Control:
    """Where the search is, and its limits: the fields of one record, ``control[0].depth``."""

    n_beliefs: int
    """beliefs known"""
    n_edges: int
    """edges of the graph"""
    n_entries: int
    """entries of all beliefs"""
    depth: int
    """of the belief in turn, in the trial or in the list"""
    upwards: int
    """1 if the trial is on its way back"""
    full_region: int
    """the region whose vectors or points, or whose next beliefs, have no room"""
    work: int
    """operations done in this piece of work"""
    n_trials: int
    """trials done"""
    last_trial: int
    """stop after this many trials"""
    all_actions: int
    """1 if updates look at actions that were never the most promising too"""
    fading: float
    """by this factor a gap counts less at the start with each step: gamma, or for gamma = 1 what episodes end by"""
    discount: float
    """fading^depth"""
    step_cost: float
    """for gamma = 1: what a step costs at least, on average; otherwise 0"""
    most: float
    """for gamma = 1: what an episode earns at most beside these costs"""
    target_gap: float
    """the gap at the start at which the trial turns"""
    turn_deep: float
    """the same in parts of the gap at the start, for every other trial"""
    turn_shallow: float
    """and for those between"""
    least_change: float
    """the least change of an upper bound for which a point is added"""
    least_share: float
    """the same in parts of the gap at the start"""
    wanted_gap: float
    """the gap at which the search is at its end"""
    merged: float
    """largest L1 distance of two beliefs that were treated as equal"""


F64, F32, I64, I32 = np.float64, np.float32, np.int64, np.int32


class Pools(NamedTuple):
    """All arrays of the compiled search, except those of the model."""

    beliefs: Beliefs
    bounds: Bounds
    actions: Actions
    edges: Edges
    vectors: Vectors
    points: Points
    scratch: Scratch
    control: Record[Control]

    @property
    def n_bytes(self) -> int:
        """Memory that they take."""
        return sum(array.nbytes for pool in self[:-1] for array in pool)


def first_pools(t: Tables, n_vectors: int, deepest: int) -> Pools:
    """Return pools for a few beliefs, and for a number of vectors in each region."""
    sizes = np.diff(t.first)
    symbols, regions = t.n_observations, sizes.size
    most_entries = max(int(np.diff(t.seen[t.successors]).max()), int(sizes.max()))
    beliefs = max(256, 2 * symbols)
    entries = max(4 * most_entries, 8 * int(sizes.max()), 1024)
    vector_capacity: IndexArray = np.full(regions, max(16, 2 * n_vectors), dtype=I64)
    point_capacity: IndexArray = np.full(regions, 16, dtype=I64)
    cells, n_points = int((vector_capacity * sizes).sum()), int(point_capacity.sum())
    return Pools(
        Beliefs(*_flat(_made(beliefs, I32, I64, I32, I64), _made(entries, I32, F64), (_table(beliefs),))),
        Bounds(*_made(beliefs, F64, I32, I32, F64, F64, I32, I32, I32)),
        Actions(*_made(beliefs * t.n_actions, F64, F64, F64, I64, I32)),
        Edges(*_made(max(1024, 2 * symbols), I32, I32, F64)),
        Vectors(
            *_flat(
                (
                    np.zeros(regions, dtype=I64),
                    vector_capacity,
                    _begins(vector_capacity * sizes),
                    _begins(vector_capacity),
                ),
                _made(cells, F64, F32),
                _made(int(vector_capacity.sum()), I32),
            )
        ),
        Points(
            *_flat(
                (np.zeros(regions, dtype=I64), point_capacity, _begins(point_capacity)),
                _made(n_points, I32, I32, F64, F64),
            )
        ),
        Scratch(
            *_flat(
                _made(int(np.diff(t.successors).max(initial=0)), F64),
                _made(symbols, I32, I64, F64, I32),
                _made(int(sizes.max()), F64),
                _made(most_entries, I32, F64),
                _made(t.n_actions, I32),
                _made(int(vector_capacity.max()), F32),
                _made(deepest + 1, I32),
            )
        ),
        record(Control),
    )


@compiled(in_place=True)
def fill_table(n_nodes: int, key: IndexArray, table: StateArray) -> None:
    """Enter all beliefs into an empty hash table."""
    mask = table.size - 1
    for n in range(n_nodes):
        slot = key[n] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = n


def grow_beliefs(t: Tables, pools: Pools) -> Pools:
    """Return pools with room for the beliefs that may follow one action."""
    beliefs, bounds, actions, edges = pools.beliefs, pools.bounds, pools.actions, pools.edges
    now, symbols = pools.control[0], t.n_observations
    if now.n_beliefs + symbols > beliefs.region.size:
        size = 2 * beliefs.region.size
        table = _table(size)
        fill_table(int(now.n_beliefs), beliefs.key, table)
        beliefs = Beliefs(*_flat(_grown(beliefs[:4], size), (beliefs.state, beliefs.weight, table)))
        bounds = Bounds(*_grown(bounds, size))
        actions = Actions(*_grown(actions, size * t.n_actions))
    if now.n_edges + symbols > edges.child.size:
        edges = Edges(*_grown(edges, 2 * edges.child.size))
    if now.n_entries + pools.scratch.states.size > beliefs.state.size:
        state, weight = _grown((beliefs.state, beliefs.weight), 2 * beliefs.state.size)
        beliefs = beliefs._replace(state=state, weight=weight)
    return pools._replace(beliefs=beliefs, bounds=bounds, actions=actions, edges=edges)


def grow_vectors(t: Tables, pools: Pools, k: int) -> Pools:
    """Return pools with room for twice as many vectors in region k, whose block moves to the end."""
    v = pools.vectors
    states, old = int(t.first[k + 1] - t.first[k]), int(v.capacity[k])
    capacity = 2 * old
    cells, at = int((v.capacity * np.diff(t.first)).sum()), _end(v.begin, v.capacity * np.diff(t.first))
    if at + capacity * states > v.exact.size:
        exact, quick = _grown((v.exact, v.quick), 2 * max(cells, at) + capacity * states)
        v = v._replace(exact=exact, quick=quick)
    at_action = _end(v.begin_action, v.capacity)
    if at_action + capacity > v.action.size:
        (action,) = _grown((v.action,), 2 * at_action + capacity)
        v = v._replace(action=action)
    begin, begin_action = int(v.begin[k]), int(v.begin_action[k])
    v.exact[at : at + old * states] = v.exact[begin : begin + old * states]
    before = v.quick[begin : begin + old * states].reshape(states, old)
    v.quick[at : at + capacity * states].reshape(states, capacity)[:, :old] = before
    v.action[at_action : at_action + old] = v.action[begin_action : begin_action + old]
    v.begin[k], v.begin_action[k], v.capacity[k] = at, at_action, capacity
    scratch = pools.scratch
    if scratch.sums.size < capacity:
        scratch = scratch._replace(sums=np.zeros(capacity, dtype=F32))
    return pools._replace(vectors=v, scratch=scratch)


def grow_points(pools: Pools, k: int) -> Pools:
    """Return pools with room for twice as many points in region k, whose block moves to the end."""
    p = pools.points
    old, at = int(p.capacity[k]), _end(p.begin, p.capacity)
    if at + 2 * old > p.node.size:
        p = Points(*_flat(p[:3], _grown(p[3:], 2 * (at + 2 * old))))
    begin = int(p.begin[k])
    for array in p[3:]:
        array[at : at + old] = array[begin : begin + old]
    p.begin[k], p.capacity[k] = at, 2 * old
    return pools._replace(points=p)


def _made(size: int, *dtypes: type[np.generic]) -> tuple[AnyArray, ...]:
    return tuple(np.zeros(size, dtype=dtype) for dtype in dtypes)


def _grown(arrays: tuple[AnyArray, ...], size: int) -> tuple[AnyArray, ...]:
    def longer(array: AnyArray) -> AnyArray:
        new = vector(size, array.dtype.type)
        new[: array.size] = array
        return new

    return tuple(map(longer, arrays))


def _flat(*parts: tuple[AnyArray, ...]) -> tuple[AnyArray, ...]:
    return tuple(array for part in parts for array in part)


def _table(beliefs: int) -> StateArray:
    return np.full(1 << (2 * beliefs).bit_length(), -1, dtype=I32)


def _begins(lengths: IndexArray) -> IndexArray:
    return np.cumsum(lengths) - lengths


def _end(begin: IndexArray, lengths: IndexArray) -> int:
    return int((begin + lengths).max())
