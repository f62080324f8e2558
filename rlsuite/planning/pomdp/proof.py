"""From a plan for hidden states to a proof that `rlsuite.planning.pomdp.verify` accepts: vectors below, points above.

Below: the beliefs that the plan meets, or the vectors that it follows in them, become the nodes of a controller. Each
goes on, after an observation, with the node that is the best then. The value is computed, and lowered by what is left
over, divided by 1 - gamma.

Above: the fast informed bound F_a, and upper bounds v_k at beliefs b_k that follow from the start. With H the backup of
these, in which what follows is bounded by F, or by interpolation between a point and the corners (Hauskrecht 2000: the
sawtooth), v = F(b) is a bound with v >= H v, and so is each iterate of v = min(v, H v). H contracts and keeps order,
and the optimal values at the points are at most what it makes of them, as V is convex: so the optimum is at most any v
with v >= H v. What rounding spoils is mended by a constant.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import bicgstab

from rlsuite.core.threads import one_blas_thread
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.pomdp.verify import Model
from rlsuite.planning.proof import grid_for

EPS = float(np.finfo(np.float64).eps)

MOST_SWEEPS = 100_000
"""Sweeps over a controller, or over the points, at most."""

MOST_SHARES, MOST_NUMBERS = 2**22, 2**24
"""Numbers kept for the interpolation between points, and for what follows them, which limits how many there are."""

MOST_POINTS = 400
"""Points of a proof."""

MOST_MET, FEW_NODES, MOST_VALUES = 1_000, 60, 2**20
"""Beliefs that the plan meets, those that are enough for most plans, and values of all nodes in all states."""

DENSE = 0.05
"""Share of entries other than 0 from which on a full array takes less time than a sparse one."""

CLOSE, ITERATIONS = 1e-12, 1_000
"""Residual of BiCGSTAB in times of the rewards, and its iterations at most; what it leaves, sweeps mend."""

ROUNDS = 4
"""How often the points are chosen anew, by the bounds of the former."""

ROUNDS_BELOW = 40
"""Steps of policy iteration, at most."""

PATIENCE = 3
"""Steps of it, at least: the first ones may lose."""

ENOUGH, FINE = 1e-6, 1e-13
"""Changes that end an iteration, in times of the largest value, while points are chosen and at the end."""

CORNERS = 64
"""Up to this many states, beliefs that are sure of a state are points as well."""

DIGITS, SAME = 15, 9
"""Decimals of a belief, and those that tell it from others."""


class Arrays(NamedTuple):
    """A model as floats: what its text says, up to rounding."""

    reward: FloatArray
    """(A, S)"""
    joint: list[list[Any]]
    """For each action and observation, sparse (S, S): Pr(s', z | s, a); None if it is impossible"""
    start: FloatArray
    """(S,)"""
    gamma: float


def arrays_of(model: Model) -> Arrays:
    """Return the model of a text as arrays."""
    number_of = {state: k for k, state in enumerate(model.states)}
    joint = list[list[Any]]()
    for action in model.actions:
        parts: dict[str, list[tuple[float, int, int]]] = {view: [] for view in model.seen}
        for state in model.states:
            _, weights, total = model.rows[state, action]
            for (view, then), w in weights.items():
                parts[view].append((w / total, number_of[state], number_of[then]))
        joint.append([None if not each else _matrix(each, len(number_of)) for each in parts.values()])
    reward = np.array([[float(model.rows[state, action][0]) for state in model.states] for action in model.actions])
    start = np.array([float(model.start.get(state, 0)) for state in model.states])
    return Arrays(reward, joint, start, float(model.gamma))


def _matrix(entries: Sequence[tuple[float, int, int]], n: int) -> Any:
    weight, row, column = (np.array(each) for each in zip(*entries, strict=True))
    return csr_array((weight, (row, column)), shape=(n, n))


# ------------------------------------------------------------------------------------------------ below


class Controller(NamedTuple):
    """A finite-state controller, and about its value."""

    actions: IndexArray
    """(n,) int64"""
    successors: IndexArray
    """(n, Z) int64"""
    value: FloatArray
    """(n, S)"""


def best(vectors: FloatArray, belief: FloatArray) -> int:
    """Return the number of the best vector (n, S) in a belief; entries may be minus infinity."""
    possible = np.flatnonzero(belief)
    return int(np.argmax(vectors[:, possible] @ belief[possible]))


def controller_of(arrays: Arrays, vectors: FloatArray, actions: IndexArray) -> Controller:
    """Return a controller that is worth as much at the start as the plan, if one is found that is not too large.

    It has a node for each of a few beliefs that the plan meets; or for each vector that it follows; or for each of many
    beliefs. A vector is followed in many of them, whose sum its node chooses for, each times how likely it is.
    """
    met = explored(arrays, lambda b: int(actions[best(vectors, b)]), min(MOST_MET, MOST_VALUES // arrays.start.size))
    beliefs = np.array([belief for _, belief in met])
    followed: IndexArray = np.array([best(vectors, belief) for belief in beliefs], dtype=np.int64)
    used, node = np.unique(followed, return_inverse=True)
    together = np.zeros((used.size, arrays.start.size))
    np.add.at(together, node, beliefs * np.array([weight for weight, _ in met])[:, np.newaxis])
    possible, found = np.flatnonzero(arrays.start), list[Controller]()
    wanted = float((vectors[:, possible] @ arrays.start[possible]).max())

    def at_start(each: Controller) -> float:
        return float((each.value @ arrays.start).max())

    for at, first in (beliefs[:FEW_NODES], followed[:FEW_NODES]), (together, used), (beliefs, followed):
        found.append(improved(arrays, at, vectors[first], actions[first]))
        if at_start(found[-1]) >= wanted:
            break
    return max(found, key=at_start)


def improved(arrays: Arrays, beliefs: FloatArray, value: FloatArray, chosen: IndexArray) -> Controller:
    """Return a controller with a node for each belief (n, S), improved by policy iteration.

    Ji, Parr, Li, Liao and Carin 2007, point-based policy iteration: each node takes the action, and goes on with the
    nodes, that are the best in its belief by the values of the present ones; then all are evaluated. The first ones
    have the values (n, S) and actions (n,) of a plan.
    """
    least = float(arrays.reward.min()) / (1.0 - arrays.gamma)
    value, rows = np.maximum(value, least), np.arange(len(beliefs))
    then: IndexArray = np.zeros((len(beliefs), len(arrays.joint), len(arrays.joint[0])), dtype=np.int64)
    found = Controller(chosen, then[:, 0], np.full_like(value, least))
    for k in range(ROUNDS_BELOW):
        earned = beliefs @ arrays.reward.T
        for a, z, after in followers(arrays, csr_array(beliefs)):
            crowded = after.nnz > DENSE * after.shape[0] * after.shape[1]
            ahead: FloatArray = (after.toarray() if crowded else after) @ value.T
            then[:, a, z] = np.argmax(ahead, axis=1)
            earned[:, a] += arrays.gamma * ahead[rows, then[:, a, z]]
        if k > 0:
            chosen = np.argmax(earned, axis=1)
        successors = then[rows, chosen]
        value = controller_value(arrays, chosen, successors, value)
        gain = float((value @ arrays.start).max() - (found.value @ arrays.start).max())
        if gain > 0.0:
            found = Controller(chosen, successors, value)
        if k >= PATIENCE and gain <= ENOUGH * abs(least):
            break
    return _met(arrays, found)


def _met(arrays: Arrays, whole: Controller) -> Controller:
    """Return the nodes that are met from the best one at the start, which becomes the first."""
    nodes = [int(np.argmax(whole.value @ arrays.start))]
    number_of = {nodes[0]: 0}
    for node in nodes:  # the list grows during the loop
        for z, then in enumerate(whole.successors[node].tolist()):
            if then not in number_of and arrays.joint[int(whole.actions[node])][z] is not None:
                number_of[then] = len(nodes)
                nodes.append(then)
    successors = [[number_of.get(then, 0) for then in whole.successors[node].tolist()] for node in nodes]
    return Controller(whole.actions[nodes], np.array(successors, dtype=np.int64), whole.value[nodes])


def controller_value(arrays: Arrays, actions: IndexArray, successors: IndexArray, value: FloatArray) -> FloatArray:
    """Return about the value (n, S) of a controller of n nodes, from a first guess of it."""
    size = float(np.abs(arrays.reward).max()) / (1.0 - arrays.gamma)
    ahead, reward = chain_of(arrays, actions, successors), arrays.reward[actions].reshape(-1)
    flat = value.reshape(-1)
    with one_blas_thread():
        solved, _ = bicgstab(
            eye_array(flat.size, format="csr") - ahead, reward, x0=flat, rtol=CLOSE, maxiter=ITERATIONS
        )
    flat = min(flat, solved, key=lambda each: float(np.abs(reward + ahead @ each - each).max()))
    for _ in range(MOST_SWEEPS):
        renewed = reward + ahead @ flat
        change = float(np.abs(renewed - flat).max())
        flat = renewed
        if change <= 4.0 * EPS * size:
            break
    return flat.reshape(value.shape)


def chain_of(arrays: Arrays, actions: IndexArray, successors: IndexArray) -> Any:
    """Return gamma Pr(s', j | s, i) of node i and state s to node j and state s': sparse (n S, n S)."""
    n, states = actions.size, arrays.start.size
    row, column, weight = list[IndexArray](), list[IndexArray](), list[FloatArray]()
    for a, views in enumerate(arrays.joint):
        own = np.flatnonzero(actions == a)
        for z, matrix in enumerate(views):
            if matrix is not None:
                entries = matrix.tocoo()
                row.append((own[:, np.newaxis] * states + entries.row).reshape(-1))
                column.append((successors[own, z][:, np.newaxis] * states + entries.col).reshape(-1))
                weight.append(np.tile(arrays.gamma * entries.data, own.size))
    where = np.concatenate(row), np.concatenate(column)
    return csr_array((np.concatenate(weight), where), shape=(n * states, n * states))


# ------------------------------------------------------------------------------------------------ above


def informed_backup(arrays: Arrays, uppers: FloatArray) -> FloatArray:
    """Return one backup of the fast informed bound (A, S)."""
    renewed = arrays.reward.copy()
    for a, views in enumerate(arrays.joint):
        for matrix in views:
            if matrix is not None:
                renewed[a] += arrays.gamma * (matrix @ uppers.T).max(axis=1)
    return renewed


def informed_bound(arrays: Arrays) -> FloatArray:
    """Return about the fast informed bound, (A, S) float64."""
    uppers: FloatArray = np.full(arrays.reward.shape, float(arrays.reward.max()) / (1.0 - arrays.gamma))
    size = float(np.abs(arrays.reward).max()) / (1.0 - arrays.gamma)
    for _ in range(MOST_SWEEPS):
        renewed = informed_backup(arrays, uppers)
        change = float(np.abs(renewed - uppers).max())
        uppers = renewed
        if change <= 4.0 * EPS * size:
            break
    return uppers


class Points(NamedTuple):
    """Upper bounds at beliefs, and by which of them each follows."""

    beliefs: FloatArray
    """(n, S)"""
    q: FloatArray
    """(n, A) upper bounds on the value of each action"""
    high: FloatArray
    """(n,)"""
    use: IndexArray
    """(n, A, Z) the point that bounds what follows; -1 for the fast informed bound"""


def points_of(arrays: Arrays, uppers: FloatArray, beliefs: FloatArray, enough: float) -> Points:
    """Return upper bounds at beliefs (n, S), by iteration from the fast informed bound (A, S)."""
    n, (n_actions, states) = len(beliefs), uppers.shape
    views = len(arrays.joint[0])
    flat = following(arrays, beliefs).reshape(-1, states)
    possible = np.flatnonzero(flat.any(axis=1))
    flat = flat[possible]
    share = np.empty((len(flat), n))
    for j, belief in enumerate(beliefs):
        own = np.flatnonzero(belief)
        share[:, j] = (flat[:, own] / belief[own]).min(axis=1)
    informed, earned = (flat @ uppers.T).max(axis=1), beliefs @ arrays.reward.T
    first, alone = uppers.max(axis=0), np.flatnonzero(np.count_nonzero(beliefs, axis=1) == 1)
    high, size = (beliefs @ uppers.T).max(axis=1), float(np.abs(uppers).max())
    between, q = informed, np.zeros((n, n_actions))
    chosen: IndexArray = np.zeros(len(flat), dtype=np.int64)
    for _ in range(MOST_SWEEPS):
        corner = first.copy()
        np.minimum.at(corner, np.argmax(beliefs[alone], axis=1), high[alone])
        lowered = share * (high - beliefs @ corner)
        chosen[:] = np.argmin(lowered, axis=1)
        between = flat @ corner + lowered[np.arange(len(flat)), chosen]
        ahead = np.zeros(n * n_actions * views)
        ahead[possible] = np.minimum(informed, between)
        q = earned + arrays.gamma * ahead.reshape(n, n_actions, views).sum(axis=2)
        change = float((high - q.max(axis=1)).max())
        high = np.minimum(high, q.max(axis=1))
        if change <= enough * size:
            break
    use: IndexArray = np.zeros(n * n_actions * views, dtype=np.int64) - 1
    use[possible] = np.where(between < informed, chosen, -1)
    return Points(beliefs, q, high, use.reshape(n, n_actions, views))


def points_from_the_start(arrays: Arrays, uppers: FloatArray) -> Points:
    """Return upper bounds at beliefs that follow from the start by the actions that seem to be the best."""
    states = uppers.shape[1]
    corners = np.eye(states) if states <= CORNERS else np.zeros((0, states))
    known = dict[bytes, FloatArray]()

    def choose(belief: FloatArray) -> int:
        return int(np.argmax(known.get(belief.tobytes(), uppers @ belief)))

    found = points_of(arrays, uppers, arrays.start[np.newaxis], ENOUGH)
    for k in range(1, ROUNDS + 1):
        beliefs = [belief for _, belief in explored(arrays, choose, most_points(arrays) * k // ROUNDS)]
        enough = FINE if k == ROUNDS else ENOUGH
        found = points_of(arrays, uppers, np.unique(np.vstack([*beliefs, *corners]), axis=0), enough)
        known |= {belief.tobytes(): q for belief, q in zip(found.beliefs, found.q, strict=True)}
    return found


# ------------------------------------------------------------------------------------------------ both


def followers(arrays: Arrays, beliefs: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield actions, observations, and what follows beliefs (n, S) with these, times how likely it is; all sparse."""
    for a, views in enumerate(arrays.joint):
        for z, matrix in enumerate(views):
            if matrix is not None:
                yield a, z, beliefs @ matrix


def most_points(arrays: Arrays) -> int:
    """Return how many beliefs there is room for."""
    each = len(arrays.joint) * len(arrays.joint[0])
    return max(1, min(MOST_POINTS, int((MOST_SHARES / each) ** 0.5), MOST_NUMBERS // (each * arrays.start.size)))


def following(arrays: Arrays, beliefs: FloatArray) -> FloatArray:
    """Return what follows beliefs (n, S), times how likely it is: (n, A, Z, S) float64."""
    after = np.zeros((len(beliefs), len(arrays.joint), len(arrays.joint[0]), beliefs.shape[1]))
    for a, matrices in enumerate(arrays.joint):
        for z, matrix in enumerate(matrices):
            if matrix is not None:
                after[:, a, z] = (matrix.T @ beliefs.T).T
    return after


def explored(arrays: Arrays, choose: Callable[[FloatArray], int], count: int) -> list[tuple[float, FloatArray]]:
    """Return beliefs that are met from the start, the likeliest first, and how likely, discounted, each is.

    Parameters
    ----------
    arrays : Arrays
        The model.
    choose : callable
        From a belief (S,) to the number of the action.
    count : int
        Number of beliefs, at most.
    """
    heap, pushed, met = [(-1.0, 0, arrays.start)], 0, dict[bytes, tuple[float, FloatArray]]()
    while heap and len(met) < max(1, count):
        weight, _, belief = heapq.heappop(heap)
        key = belief.round(SAME).tobytes()
        if key in met:
            continue
        met[key] = (-weight, belief)
        for matrix in arrays.joint[choose(belief)]:
            after = np.zeros_like(belief) if matrix is None else matrix.T @ belief
            likely = float(after.sum())
            if likely > 0.0:
                pushed += 1
                heapq.heappush(heap, (weight * arrays.gamma * likely, pushed, (after / likely).round(DIGITS)))
    return list(met.values())


def proof_of_plan(text: str, spare: int, vectors: FloatArray, actions: IndexArray) -> str:
    """Return the lines of a proof about a model whose states are hidden.

    Parameters
    ----------
    text : str
        The model, as the checker reads it.
    spare : int
        By how many units of the last decimal the inequalities hold at least.
    vectors, actions : ndarray (n, S) float64, (n,) int64
        The plan; the states may be one less than in the text.

    Returns
    -------
    str
        The lines.

    Raises
    ------
    ValueError
        If the text is not what the checker reads.
    ParameterError
        If it is about another number of states.
    """
    model = Model(text)
    arrays = arrays_of(model)
    added = len(model.states) - vectors.shape[1]
    if added not in (0, 1):
        raise ParameterError(
            f"the plan is about {vectors.shape[1]} states, and the file of its model has {len(model.states)}: name the "
            "file that the model is from"
        )
    chosen, successors, value = controller_of(arrays, np.pad(vectors, ((0, 0), (0, added))), actions)
    uppers = informed_bound(arrays)
    grid = grid_for(np.array([np.abs(value).max(), np.abs(uppers).max()]))
    # Rounding of the sums, of the rows and of the decimals, in every backup.
    rounding = 4.0 * EPS * grid.largest * (len(model.states) + 8) + (spare + 2) * float(grid.unit)
    slack = 1.0 - arrays.gamma
    ahead = chain_of(arrays, chosen, successors) @ value.reshape(-1)
    short = float((value.reshape(-1) - ahead - arrays.reward[chosen].reshape(-1)).max(initial=0.0))
    value = value - (short + rounding) / slack
    uppers = uppers + (float((informed_backup(arrays, uppers) - uppers).max(initial=0.0)) + rounding) / slack
    points = points_from_the_start(arrays, uppers)
    high = points.high + (float((points.q.max(axis=1) - points.high).max(initial=0.0)) + 4.0 * rounding) / slack
    names = [*model.actions]

    def row(numbers: FloatArray) -> str:
        return " ".join(grid.text(grid.nearest(x)) for x in numbers.tolist())

    lines = [
        f"vector {names[a]} {' '.join(map(str, follows))} {row(own)}"
        for a, follows, own in zip(chosen.tolist(), successors.tolist(), value, strict=True)
    ]
    lines += [f"upper {action} {row(own)}" for action, own in zip(names, uppers, strict=True)]
    for belief, bound, use in zip(points.beliefs.tolist(), high, points.use, strict=True):
        uses = " ".join(str(k) if k >= 0 else "-" for k in use.reshape(-1).tolist())
        weights = " ".join(repr(b) if b else "0" for b in belief)
        lines.append(f"point {uses} {weights} {row(bound[np.newaxis])}")
    return "".join(f"{line}\n" for line in lines)
