"""The decision problems that planners are measured on, built once and kept in files that every solver reads.

*Garnet* (S, A=4, 5 successors): every pair (s, a) leads to 5 distinct states drawn uniformly, with probabilities from
uniform cuts of [0, 1]; its reward is uniform on [0, 1) (Archibald, McKinnon & Thomas 1995).

*Slippery grid* (n x n): four moves, each step costs 1, a wall stops a move where it is, and the corner at the bottom
right is the goal. On the grid "sides" a move goes where it should with probability 0.8 and to either side with 0.1; on
the grid "thirds", as on FrozenLake, it goes to each of the three with 1/3. The goal leads to itself with reward 0. That
is the same problem as an episode that ends there, and the only way to say so that every solver understands.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ACTIONS = 4
SUCCESSORS = 5
SEED = 7
SLIPS = {"sides": (0.8, 0.1, 0.1), "thirds": (1 / 3, 1 / 3, 1 / 3)}
MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))  # left, right, up, down, as (rows, columns)
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))


class Case(NamedTuple):
    """A problem and its discount."""

    family: str  # "garnet", "sides" or "thirds"
    size: int  # number of states, or side of the grid
    gamma: float

    @property
    def n_states(self) -> int:
        """S."""
        return self.size if self.family == "garnet" else self.size**2

    @property
    def model(self) -> str:
        """Name of the problem, whatever the discount.

        >>> Case("sides", 316, 0.99).model
        'grid 316 x 316, sides'
        """
        if self.family == "garnet":
            return f"garnet {self.size:,}"
        return f"grid {self.size} x {self.size}, {self.family}"


class Rows(NamedTuple):
    """A problem, row by row: the row of the pair (s, a) is number ``s * A + a``, and names no successor twice."""

    indptr: NDArray[np.int64]  # (S * A + 1,)
    next_state: NDArray[np.int32]  # (N,)
    probability: NDArray[np.float64]  # (N,)
    reward: NDArray[np.float64]  # (S * A,)

    @property
    def n_states(self) -> int:
        """S."""
        return self.reward.size // ACTIONS

    def write(self, folder: Path) -> None:
        """Write each array to a file of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in self._asdict().items():
            np.save(folder / f"{name}.npy", values)

    @classmethod
    def read(cls, folder: Path) -> "Rows":
        """Read what `write` wrote; read-only and owning their memory, so that no solver needs to copy the arrays."""
        rows = cls(*(np.load(folder / f"{name}.npy").copy() for name in cls._fields))
        for values in rows:
            values.setflags(write=False)
        return rows


def build(family: str, size: int) -> Rows:
    """Build a problem; the same arguments give the same arrays."""
    return garnet(size) if family == "garnet" else slippery_grid(size, SLIPS[family])


def garnet(n_states: int) -> Rows:
    """Build a Garnet problem."""
    rng = np.random.default_rng(SEED)
    pairs = n_states * ACTIONS
    next_state = rng.integers(n_states, size=(pairs, SUCCESSORS), dtype=np.int32)
    while True:
        next_state.sort(axis=1)
        again = np.flatnonzero((next_state[:, 1:] == next_state[:, :-1]).any(axis=1))
        if again.size == 0:
            break
        next_state[again] = rng.integers(n_states, size=(again.size, SUCCESSORS), dtype=np.int32)
    cuts = np.zeros((pairs, SUCCESSORS + 1))
    cuts[:, -1] = 1.0
    cuts[:, 1:-1] = np.sort(rng.random((pairs, SUCCESSORS - 1)), axis=1)
    probability = np.diff(cuts, axis=1)
    indptr = np.arange(pairs + 1, dtype=np.int64) * SUCCESSORS
    return Rows(indptr, next_state.reshape(-1), probability.reshape(-1), rng.random(pairs))


def slippery_grid(side: int, chances: tuple[float, float, float]) -> Rows:
    """Build a grid; ``chances`` are those of the intended move and of the two sides."""
    from scipy.sparse import csr_array

    states = side * side
    goal = states - 1
    square = np.arange(states, dtype=np.int32)
    row, column = np.divmod(square, np.int32(side))
    ahead = np.empty((states, len(MOVES)), dtype=np.int32)
    for action, (down, right) in enumerate(MOVES):
        to_row, to_column = row + down, column + right
        inside = (to_row >= 0) & (to_row < side) & (to_column >= 0) & (to_column < side)
        ahead[:, action] = np.where(inside, square + down * side + right, square)
    ahead[goal] = goal
    directions = np.array([(action, *SIDES[action]) for action in range(len(MOVES))])
    next_state = ahead[:, directions].reshape(-1)
    probability = np.tile(np.array(chances), states * ACTIONS)
    pairs = states * ACTIONS
    indptr = np.arange(pairs + 1, dtype=np.int64) * len(chances)
    merged: Any = csr_array((probability, next_state, indptr), shape=(pairs, states))
    merged.sum_duplicates()  # bumping into a corner from two directions
    reward = np.full(pairs, -1.0)
    reward[goal * ACTIONS :] = 0.0
    return Rows(
        merged.indptr.astype(np.int64, copy=False), merged.indices.astype(np.int32, copy=False), merged.data, reward
    )


def distance_to_fixed_point(rows: Rows, value: NDArray[np.float64], gamma: float, block: int = 1_000_000) -> float:
    """Return max |TV - V| / (1 - gamma), which no error of V can exceed; written without any solver's help."""
    worst = 0.0
    for first in range(0, rows.n_states, block):
        last = min(first + block, rows.n_states)
        pointers = rows.indptr[first * ACTIONS : last * ACTIONS + 1]
        here = slice(pointers[0], pointers[-1])
        terms = rows.probability[here] * value[rows.next_state[here]]
        ahead = np.add.reduceat(terms, pointers[:-1] - pointers[0])
        q = rows.reward[first * ACTIONS : last * ACTIONS] + gamma * ahead
        worst = max(worst, float(np.abs(q.reshape(-1, ACTIONS).max(axis=1) - value[first:last]).max()))
    return worst / (1.0 - gamma)
