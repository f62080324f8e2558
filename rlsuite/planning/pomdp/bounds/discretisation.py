"""The belief MDP on a grid of beliefs: a fully observed MDP for any planner or learner. Lovejoy 1991.

In a grid belief b, action a earns sum_s b(s) r(s, a), and observation z leads to SE(b, a, z) with the probability
Pr(z | b, a), as in `rlsuite.planning.pomdp.reachable_beliefs`. Usually that belief is not a grid point: it is replaced
by the nearest one, or by a draw from those that it is the mean of. The first merges different beliefs, so the process
is not Markov any more. The second replaces V by its interpolation, an average, so that the backup stays a contraction.

The grid of resolution M consists of all beliefs whose entries are multiples of 1 / M: (M + S - 1)! / (M! (S - 1)!) of
them. In the coordinates x_i = M sum_{j >= i} b_j its points are the falling sequences of whole numbers, M >= x_2 >= ...
>= x_S >= 0, and Freudenthal's triangulation cuts the cell [x, x + 1] around a belief along the order of the fractional
parts (Lovejoy 1991, section 3): each belief is the mean of at most S grid points around it, whose supports lie within
its own. A falling sequence is numbered by the combinatorial number system, so no table is searched.
"""

import itertools
import math
from typing import Literal, NamedTuple

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.clock import Clock, OutOfTime
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.models import MDP, POMDP, validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.watch import DeadlineTooShort

Interpolation = Literal["freudenthal", "nearest"]


class SimplexGrid:
    """All beliefs over some states whose entries are multiples of 1 / resolution.

    Parameters
    ----------
    states : ndarray (S,) bool
        The states that the supports of the grid's beliefs may contain, L of them.
    resolution : int
        M.
    max_beliefs : int
        How many grid points there may be.

    Attributes
    ----------
    beliefs : ndarray (n, S) float64
        The grid points.

    Raises
    ------
    ParameterError
        If there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.bounds.discretisation import SimplexGrid
    >>> grid = SimplexGrid(np.array([True, True]), resolution=4, max_beliefs=100)
    >>> grid.beliefs.tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]
    >>> numbers, weights = grid.made_of(np.array([[0.65, 0.35]]), "freudenthal")
    >>> numbers.tolist(), weights.round(9).tolist()
    ([[1, 2]], [[0.6, 0.4]])
    """

    def __init__(self, states: BoolArray, resolution: int, max_beliefs: int) -> None:
        living = int(states.sum())
        number = math.comb(resolution + living - 1, living - 1)
        if number > max_beliefs:
            raise ParameterError(
                f"a grid of resolution={resolution} over {living} states has {number} beliefs, more than "
                f"max_beliefs={max_beliefs}; use a smaller resolution= or a larger max_beliefs="
            )
        self.states = states
        self.resolution = resolution
        chosen = itertools.combinations(range(resolution + living - 1), living - 1)
        rising = np.array(list(chosen), dtype=np.int64).reshape(number, living - 1)
        self._binomial: IndexArray = np.array(
            [[min(math.comb(n, k), number) for k in range(1, living)] for n in range(resolution + living)],
            dtype=np.int64,
        ).reshape(resolution + living, living - 1)
        # x_2 >= ... >= x_L from the largest to the smallest, and M in front
        falling = np.empty((number, living), dtype=np.int64)
        falling[:, 0] = resolution
        falling[:, 1:] = rising[:, ::-1] - np.arange(living - 1)[::-1]
        order = np.argsort(self._numbers(falling[:, 1:]))
        counts = falling - np.concatenate([falling[:, 1:], np.zeros((number, 1), dtype=np.int64)], axis=1)
        self.beliefs: FloatArray = np.zeros((number, states.size))
        self.beliefs[:, states] = counts[order] / resolution
        self.beliefs.setflags(write=False)

    def made_of(self, beliefs: FloatArray, interpolation: Interpolation) -> tuple[IndexArray, FloatArray]:
        """Return the numbers (k, m) of the grid points that each belief (k, S) is made of, and their weights (k, m).

        m is L, or 1 for the nearest point; a weight may be 0. Nearest in the sum of absolute differences.
        """
        own = beliefs[:, self.states]
        return self._nearest(own) if interpolation == "nearest" else self._freudenthal(own)

    def _freudenthal(self, beliefs: FloatArray) -> tuple[IndexArray, FloatArray]:
        k, living = beliefs.shape
        # Running sums of such terms never decrease, so equal coordinates stay in order whatever the rounding.
        x = np.minimum(np.cumsum(beliefs[:, ::-1], axis=1)[:, -2::-1] * self.resolution, self.resolution)
        corner: IndexArray = np.floor(x).astype(np.int64)
        part = x - corner
        order = np.argsort(-part, axis=1, kind="stable")
        falling = np.take_along_axis(part, order, axis=1)
        weights = np.empty((k, living))
        weights[:, 0] = 1.0 - (falling[:, 0] if living > 1 else 0.0)
        weights[:, 1:-1] = falling[:, :-1] - falling[:, 1:]
        if living > 1:
            weights[:, -1] = falling[:, -1]
        numbers: IndexArray = np.empty((k, living), dtype=np.int64)
        numbers[:, 0] = self._numbers(corner)
        for step in range(living - 1):
            raised = weights[:, step + 1] > 0.0
            later = (weights[:, step + 1 :] > 0.0).any(axis=1)
            corner[later, order[later, step]] += 1
            numbers[:, step + 1] = np.where(raised, self._numbers(np.minimum(corner, self.resolution)), numbers[:, 0])
        return numbers, weights

    def _nearest(self, beliefs: FloatArray) -> tuple[IndexArray, FloatArray]:
        scaled = beliefs * self.resolution
        counts: IndexArray = np.floor(scaled).astype(np.int64)
        missing = self.resolution - counts.sum(axis=1)
        # the largest remainders are rounded up
        rank = np.argsort(np.argsort(counts - scaled, axis=1, kind="stable"), axis=1)
        counts += rank < missing[:, np.newaxis]
        falling = np.cumsum(counts[:, ::-1], axis=1)[:, -2::-1]
        return self._numbers(falling)[:, np.newaxis], np.ones((len(beliefs), 1))

    def _numbers(self, falling: IndexArray) -> IndexArray:
        """Return the number of each falling sequence x_2 >= ... >= x_L: sum of binomial(x_j + L - j, L - j + 1)."""
        rising: IndexArray = falling[:, ::-1] + np.arange(int(falling.shape[1]))
        return self._binomial[rising, np.arange(int(falling.shape[1]))].sum(axis=1)


INTERPOLATIONS = ("freudenthal", "nearest")


class GridMDP(NamedTuple):
    """A belief MDP whose n states are the beliefs of a grid."""

    mdp: MDP
    grid: SimplexGrid

    @property
    def beliefs(self) -> FloatArray:
        """(n, S) float64: the grid points."""
        return self.grid.beliefs

    def cell(self, belief: ArrayLike) -> int:
        """Return the number of the grid point nearest to a belief (S,): the state in which a learner of the MDP acts.

        Raises
        ------
        ParameterError
            If `belief` is not a distribution over the states.
        """
        b = validation.belief(belief, self.beliefs.shape[1])
        return int(self.grid.made_of(b[np.newaxis], "nearest")[0][0, 0])


class _Step(NamedTuple):
    """Where one action leads from each of the grid points: m grid points after each observation."""

    row: IndexArray
    successor: IndexArray
    probability: FloatArray


@says_what_to_write
def discretised(
    pomdp: POMDP,
    *,
    resolution: int = 10,
    interpolation: Interpolation = "freudenthal",
    max_beliefs: int = 100_000,
    deadline: float | None = None,
) -> GridMDP:
    """Return the belief MDP on a regular grid, over all states that an episode can be in while it continues.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    resolution : int
        M: the entries of grid beliefs are multiples of 1 / M.
    interpolation : {"freudenthal", "nearest"}
        Whether a belief is replaced by a mean of the grid points around it, or by the nearest.
    max_beliefs : int
        How many grid points there may be.
    deadline : float, optional
        Seconds after which to give up.

    Raises
    ------
    ParameterError
        If there are more grid points, the deadline is too short for them, or an argument is out of range.
    ModelError
        If a grid point leads to a belief in which no action is legal in every state of its support.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import discretised, solve
    >>> stay, again = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [stay, again, again], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], again, again],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5],
    ... )
    >>> cells = discretised(tiger, resolution=100, interpolation="nearest")
    >>> cells.mdp
    MDP(n_states=101, n_actions=3, n_transitions=606, gamma=0.95, kind='stochastic')
    >>> solve(cells.mdp).policy[cells.cell([0.5, 0.5])].item()
    0
    """
    if interpolation not in INTERPOLATIONS:
        raise ParameterError(unknown("interpolation", interpolation, INTERPOLATIONS))
    clock = CompilingClock("discretised", deadline=deadline)
    legal: BoolArray = pomdp.mdp.legal
    lookahead = Lookahead(pomdp.mdp)
    entered = np.asarray(lookahead.continuation.sum(axis=0)).reshape(-1) > 0.0
    states: BoolArray = legal.any(axis=1) & (entered | (pomdp.start > 0.0))
    grid = SimplexGrid(states, whole_number("resolution", resolution), whole_number("max_beliefs", max_beliefs))
    beliefs = grid.beliefs
    n, actions = len(beliefs), pomdp.n_actions
    allowed: BoolArray = ~((beliefs > 0.0) @ ~legal)
    reward = beliefs @ lookahead.reward.reshape(-1, actions)
    try:
        pairs = [np.flatnonzero(allowed[:, a]) for a in range(actions)]
        steps = [_followed(pomdp, lookahead, grid, interpolation, a, pairs[a], clock) for a in range(actions)]
    except OutOfTime:
        remark = f"a grid of {n} beliefs: pass a longer deadline= or a resolution below {resolution}"
        raise DeadlineTooShort(clock.deadline or 0.0, remark) from None
    row = np.concatenate([step.row * actions + a for a, step in enumerate(steps)])
    successor = np.concatenate([step.successor for step in steps])
    probability = np.concatenate([step.probability for step in steps])
    order = np.argsort(row, kind="stable")
    row, successor, probability = row[order], successor[order], probability[order]
    ends = successor < 0
    stuck: BoolArray = ~ends & ~np.asarray(allowed.any(axis=1))[successor]
    if stuck.any():
        belief = beliefs[successor[int(np.argmax(stuck))]]
        raise ModelError(
            f"a belief near {belief.tolist()} can be reached, but no action is legal in every state of its support"
        )
    total = np.bincount(row, weights=probability, minlength=n * actions)
    indptr = validation.pointers(np.bincount(row, minlength=n * actions))
    numbers, weights = grid.made_of(pomdp.start[np.newaxis], interpolation)
    start = np.bincount(numbers[0], weights=np.maximum(weights[0], 0.0), minlength=n)
    mdp = MDP.from_rows(
        indptr,
        np.where(ends, 0, successor),
        probability / total[row],
        np.where(allowed, reward, 0.0),
        n_actions=actions,
        gamma=pomdp.gamma,
        terminated=ends,
        start=start / start.sum(),
        action_labels=pomdp.action_labels,
    )
    return GridMDP(mdp, grid)


def _followed(
    pomdp: POMDP,
    lookahead: Lookahead,
    grid: SimplexGrid,
    interpolation: Interpolation,
    action: int,
    allowed: IndexArray,
    clock: Clock,
) -> _Step:
    beliefs = grid.beliefs[allowed]
    matrix = lookahead.continuation[action :: pomdp.n_actions]
    ahead: FloatArray = np.asarray(matrix.T @ beliefs.T).T
    rows: list[IndexArray] = []
    successors: list[IndexArray] = []
    probabilities: list[FloatArray] = []
    seen_in: FloatArray = pomdp.observation_matrix(action).toarray()
    for z in range(pomdp.n_observations):
        clock.check()
        joint = ahead * seen_in[:, z]
        total = joint.sum(axis=1)
        seen: IndexArray = np.flatnonzero(total > 0.0)
        follows = joint[seen] / total[seen, np.newaxis]
        numbers, weights = grid.made_of(follows, interpolation)
        some: BoolArray = weights > 0.0
        rows.append(np.broadcast_to(allowed[seen, np.newaxis], numbers.shape)[some])
        successors.append(numbers[some])
        probabilities.append((total[seen, np.newaxis] * weights)[some])
    ending = np.where(pomdp.mdp.terminated, pomdp.mdp.probability, 0.0)
    ends = np.bincount(pomdp.mdp.pairs(), weights=ending, minlength=pomdp.n_states * pomdp.n_actions)
    share = beliefs @ ends.reshape(-1, pomdp.n_actions)[:, action]
    over: IndexArray = np.flatnonzero(share > 0.0)
    rows.append(allowed[over])
    successors.append(np.full(len(over), -1, dtype=np.int64))
    probabilities.append(share[over])
    return _Step(np.concatenate(rows), np.concatenate(successors), np.concatenate(probabilities))
