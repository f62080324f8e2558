"""Memory for the point-based search: its initial pools, and larger ones with the same content."""

from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.records import Record, record
from rlsuite.models.aliases import IndexArray
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
from rlsuite.planning.pomdp.point_based.search_kernel import fill_table
from rlsuite.planning.vectors import vector

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
    vector_room: IndexArray = np.full(regions, max(16, 2 * n_vectors), dtype=I64)
    point_room: IndexArray = np.full(regions, 16, dtype=I64)
    cells, n_points = int((vector_room * sizes).sum()), int(point_room.sum())
    return Pools(
        Beliefs(*_flat(_made(beliefs, I32, I64, I32, I64), _made(entries, I32, F64), (_table(beliefs),))),
        Bounds(*_made(beliefs, F64, I32, I32, F64, F64, I32, I32, I32)),
        Actions(*_made(beliefs * t.n_actions, F64, F64, F64, I64, I32)),
        Edges(*_made(max(1024, 2 * symbols), I32, I32, F64)),
        Vectors(
            *_flat(
                (np.zeros(regions, dtype=I64), vector_room, _begins(vector_room * sizes), _begins(vector_room)),
                _made(cells, F64, F32),
                _made(int(vector_room.sum()), I32),
            )
        ),
        Points(
            *_flat(
                (np.zeros(regions, dtype=I64), point_room, _begins(point_room)),
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
                _made(int(vector_room.max()), F32),
                _made(deepest + 1, I32),
            )
        ),
        record(Control),
    )


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
    states, old = int(t.first[k + 1] - t.first[k]), int(v.room[k])
    room = 2 * old
    cells, at = int((v.room * np.diff(t.first)).sum()), _end(v.begin, v.room * np.diff(t.first))
    if at + room * states > v.exact.size:
        exact, quick = _grown((v.exact, v.quick), 2 * max(cells, at) + room * states)
        v = v._replace(exact=exact, quick=quick)
    at_action = _end(v.begin_action, v.room)
    if at_action + room > v.action.size:
        (action,) = _grown((v.action,), 2 * at_action + room)
        v = v._replace(action=action)
    begin, begin_action = int(v.begin[k]), int(v.begin_action[k])
    v.exact[at : at + old * states] = v.exact[begin : begin + old * states]
    before = v.quick[begin : begin + old * states].reshape(states, old)
    v.quick[at : at + room * states].reshape(states, room)[:, :old] = before
    v.action[at_action : at_action + old] = v.action[begin_action : begin_action + old]
    v.begin[k], v.begin_action[k], v.room[k] = at, at_action, room
    scratch = pools.scratch
    if scratch.sums.size < room:
        scratch = scratch._replace(sums=np.zeros(room, dtype=F32))
    return pools._replace(vectors=v, scratch=scratch)


def grow_points(pools: Pools, k: int) -> Pools:
    """Return pools with room for twice as many points in region k, whose block moves to the end."""
    p = pools.points
    old, at = int(p.room[k]), _end(p.begin, p.room)
    if at + 2 * old > p.node.size:
        p = Points(*_flat(p[:3], _grown(p[3:], 2 * (at + 2 * old))))
    begin = int(p.begin[k])
    for array in p[3:]:
        array[at : at + old] = array[begin : begin + old]
    p.begin[k], p.room[k] = at, 2 * old
    return pools._replace(points=p)


def _made(size: int, *dtypes: type) -> tuple[Any, ...]:
    made: list[Any] = [np.zeros(size, dtype=dtype) for dtype in dtypes]
    return tuple(made)


def _grown(arrays: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    def longer(array: Any) -> Any:
        new: Any = vector(size, array.dtype.type)
        new[: array.size] = array
        return new

    return tuple(map(longer, arrays))


def _flat(*parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(array for part in parts for array in part)


def _table(beliefs: int) -> Any:
    return np.full(1 << (2 * beliefs).bit_length(), -1, dtype=I32)


def _begins(lengths: IndexArray) -> IndexArray:
    return np.cumsum(lengths) - lengths


def _end(begin: IndexArray, lengths: IndexArray) -> int:
    return int((begin + lengths).max())
