"""The latest transitions, of one step or several, drawn all alike or by how large their errors were.

Several steps as one transition: from an observation to the one n steps later (Sutton & Barto 2018, section 7.1).

In plain NumPy: `rlsuite.reference.deep_q.n_step_target`.

Experience replay: the latest transitions, of which a learner draws a random minibatch at a time (Lin 1992).

A replay that draws transitions with large errors more often (Schaul et al. 2016), from a tree of sums.

Transition i is drawn with probability P(i) = p_i^alpha / sum_k p_k^alpha (their eq. 1), p_i the size of its latest
error. What is drawn more often counts less in a lesson: w_i = (N P(i))^-beta / max_j w_j (section 3.4).

The tree has the priorities as its leaves, and in each node the sum of the two below it: to draw one of N transitions,
and to change its priority, takes log2 N steps.

In plain NumPy: `rlsuite.reference.deep_q.prioritised_draw`, `rlsuite.reference.deep_q.importance_weights`.
"""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import fits_in_memory
from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import AnyArray


class Steps(NamedTuple):
    """An observation and the action taken there, with the discounted rewards since."""

    observation: AnyArray  # (*shape)
    action: int  # counted from 0
    reward: float  # R_1 + gamma R_2 + ... + gamma^{m-1} R_m, of m steps
    discount: float  # gamma^m, of what comes after them; 0 if nothing does


class Window:
    """The latest steps of an episode, until each of them is n steps old or the episode is over.

    Parameters
    ----------
    n : int
        How many steps make a transition. Those at the end of an episode have fewer.
    gamma : float
        Discount per step.

    Examples
    --------
    Two steps that pay 1 and 10, and an end after a third that pays 100:

    >>> window = Window(n=2, gamma=0.5)
    >>> for reward, terminated in ((1.0, False), (10.0, False), (100.0, True)):
    ...     print([tuple(each) for each in window.add("x", 0, reward, terminated, ends=terminated)])
    []
    [('x', 0, 6.0, 0.25)]
    [('x', 0, 60.0, 0.0), ('x', 0, 100.0, 0.0)]
    """

    def __init__(self, n: int, gamma: float):
        self.n, self.gamma = n, gamma
        self.latest: deque[Steps] = deque()

    def add(self, observation: AnyArray, action: int, reward: float, terminated: bool, ends: bool) -> list[Steps]:
        """Add one step, and return the transitions that are complete now, the oldest first.

        Parameters
        ----------
        observation : ndarray
            What was seen before the step.
        action : int
            What was done.
        reward : float
            What it paid.
        terminated : bool
            Whether nothing comes after it.
        ends : bool
            Whether the episode is over: terminated or truncated.
        """
        self.latest.append(Steps(observation, action, reward, 1.0))
        if not ends and len(self.latest) < self.n:
            return []
        complete: list[Steps] = []
        total, discount = 0.0, 0.0 if terminated else 1.0
        for step in reversed(self.latest):  # G_t = R_{t+1} + gamma G_{t+1}
            total, discount = step.reward + self.gamma * total, self.gamma * discount
            complete.append(step._replace(reward=total, discount=discount))
        complete.reverse()
        if ends:
            self.latest.clear()
            return complete
        self.latest.popleft()
        return complete[:1]

    def clear(self) -> None:
        """Forget the steps of an episode that was interrupted."""
        self.latest.clear()


class Transitions(NamedTuple):
    """Transitions, one a row.

    A next observation in which an episode was truncated is no end: the target bootstraps from it.
    """

    observation: AnyArray  # (n, *shape)
    action: NDArray[np.int64]  # (n,), counted from 0
    reward: NDArray[np.float32]  # (n,), that of several steps if the next observation is several steps later
    next_observation: AnyArray  # (n, *shape)
    discount: NDArray[np.float32]  # (n,), of what the next observation is worth: gamma^steps, 0 if the episode ended
    next_legal: NDArray[np.bool_]  # (n, n_actions), the actions that are legal in the next observation


class Replay:
    """The latest `capacity` transitions; a new one takes the place of the oldest.

    Parameters
    ----------
    capacity : int
        How many are kept.
    shape : tuple of int
        Shape of an observation.
    dtype : numpy.dtype
        Type of its numbers.
    n_actions : int
        Number of actions.

    Raises
    ------
    ParameterError
        If so many do not fit into the memory of this machine.

    Examples
    --------
    >>> replay = Replay(capacity=2, shape=(1,), dtype=np.dtype(np.float32), n_actions=2)
    >>> for t in range(3):
    ...     replay.add([t], 0, 1.0, [t + 1], 0.9, [True, True])
    >>> len(replay), replay.kept.observation[:, 0].tolist()
    (2, [2.0, 1.0])
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], n_actions: int):
        per_transition = 2 * int(np.prod(shape)) * dtype.itemsize + n_actions + 16
        fits_in_memory(f"a replay of {capacity:,} transitions", capacity * per_transition)
        self.kept = Transitions(
            observation=np.zeros((capacity, *shape), dtype=dtype),
            action=np.zeros(capacity, dtype=np.int64),
            reward=np.zeros(capacity, dtype=np.float32),
            next_observation=np.zeros((capacity, *shape), dtype=dtype),
            discount=np.zeros(capacity, dtype=np.float32),
            next_legal=np.zeros((capacity, n_actions), dtype=np.bool_),
        )
        self.capacity = capacity
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(
        self,
        observation: object,
        action: int,
        reward: float,
        next_observation: object,
        discount: float,
        next_legal: Any,
    ) -> None:
        """Keep one transition."""
        row = self.added % self.capacity
        kept = self.kept
        kept.observation[row] = observation
        kept.action[row] = action
        kept.reward[row] = reward
        kept.next_observation[row] = next_observation
        kept.discount[row] = discount
        kept.next_legal[row] = next_legal
        self.added += 1

    def sample(self, n: int, rng: np.random.Generator) -> Transitions:
        """Draw n of the transitions, each equally likely, with replacement."""
        return self.rows(rng.integers(len(self), size=n))

    def rows(self, rows: NDArray[np.int64]) -> Transitions:
        """Return the transitions (n,) in these rows."""
        return Transitions._make(column[rows] for column in self.kept)

    def weights(self, exponent: float) -> NDArray[np.float32] | None:
        """How much each transition of the last sample counts, (n,), at most 1; None if all count alike."""
        return None

    def learned(self, error: NDArray[np.float32]) -> None:
        """Record the errors (n,) of the last sample, from before it was learned from."""


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
