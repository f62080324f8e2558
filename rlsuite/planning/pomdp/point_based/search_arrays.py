"""The data of the point-based search: a graph of beliefs, their bounds, and for each region its vectors and points.

All of it is stored in pools with room to spare, because compiled code that makes no arrays runs faster: it stops when
it wants more room, and `rlsuite.planning.pomdp.point_based.search_memory` makes it.
"""

from typing import NamedTuple

from rlsuite.models.aliases import FloatArray, IndexArray, SingleArray, StateArray


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
    chance: FloatArray
    """(e,) float64, its probability"""


class Vectors(NamedTuple):
    """Alpha vectors, region by region: of region k with m states, room for c vectors and n of them in use."""

    used: IndexArray
    """(K,) int64, n"""
    room: IndexArray
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
    room: IndexArray
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
    """Room for intermediate results."""

    ahead: FloatArray
    """(largest number of successors of a pair,)"""
    symbols: StateArray
    """(Z,) the observations that are possible"""
    counts: IndexArray
    """(Z,) 0 between uses"""
    chances: FloatArray
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
    wants_room: int
    """the region whose vectors or points, or whose next beliefs, have no room"""
    work: int
    """operations done in this piece of work"""
    n_trials: int
    """trials done"""
    last_trial: int
    """stop after this many trials"""
    all_actions: int
    """1 if updates look at actions that were never the most promising too"""
    discount: float
    """gamma^depth"""
    target_gap: float
    """the gap at the start at which the trial turns"""
    turn_deep: float
    """the same in parts of the gap at the start, for every other trial"""
    turn_shallow: float
    """and for those between"""
    least_change: float
    """the least change of an upper bound that is worth a point"""
    worth_a_point: float
    """the same in parts of the gap at the start"""
    wanted_gap: float
    """the gap at which the search is at its end"""
    merged: float
    """largest L1 distance of two beliefs that were treated as equal"""
