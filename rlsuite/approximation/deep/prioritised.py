"""A replay that draws transitions with large errors more often (Schaul et al. 2016), from a tree of sums.

Transition i is drawn with probability P(i) = p_i^alpha / sum_k p_k^alpha (their eq. 1), p_i the size of its latest
error. What is drawn more often counts less in a lesson: w_i = (N P(i))^-beta / max_j w_j (section 3.4).

The tree has the priorities as its leaves, and in each node the sum of the two below it: to draw one of N transitions,
and to change its priority, takes log2 N steps.

In plain NumPy: `rlsuite.reference.deep_q.prioritised_draw`, `rlsuite.reference.deep_q.importance_weights`.
"""

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.deep.replay import Replay, Transitions
from rlsuite.core.compilation import compiled

SMALLEST_ERROR = 1e-6
"""Added to the size of an error, so that what is known for certain is drawn now and then."""


def empty_tree(capacity: int) -> NDArray[np.float64]:
    """Return a tree of so many priorities of 0: node 1 is the root, those below node i are 2i and 2i + 1.

    >>> empty_tree(3).size
    8
    """
    return np.zeros(2 << max(0, capacity - 1).bit_length())


@compiled(in_place=True)
def put_priorities(tree: NDArray[np.float64], rows: NDArray[np.int64], priority: NDArray[np.float64]) -> None:
    """Set the priorities (n,) of these rows (n,), and the sums above them."""
    n_leaves = tree.size // 2
    for i in range(rows.size):
        node = n_leaves + rows[i]
        tree[node] = priority[i]
        while node > 1:
            node //= 2
            tree[node] = tree[2 * node] + tree[2 * node + 1]


@compiled(in_place=True)
def find_rows(tree: NDArray[np.float64], shares: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
    """Find the rows (n,) in which these shares (n,), in [0, 1), of the sum of all priorities lie."""
    n_leaves = tree.size // 2
    for i in range(rows.size):
        rest, node = shares[i] * tree[1], 1
        while node < n_leaves:
            node *= 2
            if rest >= tree[node] and tree[node + 1] > 0.0:  # rounding leads to no row without priority
                rest -= tree[node]
                node += 1
        rows[i] = node - n_leaves


class PrioritisedReplay(Replay):
    """The latest transitions, drawn by how large their errors were.

    A new one has the largest priority so far: it is drawn soon. One is drawn from each of n equal parts of the sum.

    Parameters
    ----------
    capacity, shape, dtype, n_actions
        As for `Replay`.
    exponent : float
        alpha, in (0, 1]: by 1 priorities are the sizes of errors, towards 0 they are more and more alike.

    Examples
    --------
    >>> replay = PrioritisedReplay(4, (1,), np.dtype(np.float32), n_actions=2, exponent=1.0)
    >>> for t in range(4):
    ...     replay.add([t], 0, 1.0, [t + 1], 0.9, [True, True])
    >>> replay.sample(4, np.random.default_rng(1)).observation[:, 0].tolist()  # all are new
    [0.0, 1.0, 2.0, 3.0]
    >>> replay.learned(np.array([0.0, 0.0, 0.0, 1.0]))
    >>> replay.sample(4, np.random.default_rng(1)).observation[:, 0].tolist()
    [3.0, 3.0, 3.0, 3.0]
    """

    def __init__(
        self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], n_actions: int, exponent: float
    ):
        super().__init__(capacity, shape, dtype, n_actions)
        self.tree, self.exponent, self.largest = empty_tree(capacity), exponent, 1.0
        self.drawn = np.zeros(0, dtype=np.int64)

    def add(
        self,
        observation: object,
        action: int,
        reward: float,
        next_observation: object,
        discount: float,
        next_legal: object,
    ) -> None:
        """Keep one transition."""
        row = self.added % self.capacity
        super().add(observation, action, reward, next_observation, discount, next_legal)
        put_priorities(self.tree, np.array([row]), np.array([self.largest]))

    def sample(self, n: int, rng: np.random.Generator) -> Transitions:
        """Draw n of the transitions by their priorities, with replacement."""
        self.drawn = np.zeros(n, dtype=np.int64)
        find_rows(self.tree, (np.arange(n) + rng.random(n)) / n, self.drawn)
        return self.rows(self.drawn)

    def weights(self, exponent: float) -> NDArray[np.float32]:
        """How much each transition of the last sample counts, (n,), at most 1; `exponent` is beta."""
        share = self.tree[self.tree.size // 2 + self.drawn] / self.tree[1]
        weight = (len(self) * share) ** -exponent
        return (weight / weight.max()).astype(np.float32)

    def learned(self, error: NDArray[np.float32]) -> None:
        """Set the priorities of the last sample by its errors (n,)."""
        priority = (np.abs(error.astype(np.float64)) + SMALLEST_ERROR) ** self.exponent
        self.largest = max(self.largest, float(priority.max()))
        put_priorities(self.tree, self.drawn, priority)
