"""Prioritized sweeping: update the pairs with the largest error first (Moore & Atkeson 1993; Peng & Williams 1993).

The model is that of Dyna: the last reward and the next state of each pair. It can be read forwards and backwards: every
state has a linked list of the pairs that lead to it, laid out in arrays. As each pair leads to one state, it is in one
list at most: the lists of all states fit into one entry per pair, and never overflow. The queue is a binary heap in
arrays, with the position of each pair in it, so that a priority can be raised where it stands; it holds each pair once
at most, and is large enough for all.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, choose, max_value
from rlsuite.agents.memory import Memory, count, step_size
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count, CountOfPairs, PairOrNone, StateOrNone
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition

NOWHERE = -1
"""The next state of a step that ended the episode, the end of a list, the position of a pair outside the queue."""


class SweptModel(NamedTuple):
    """The last outcome of each pair, the predecessors of each state, and the queue.

    Pairs are numbered ``state * n_actions + action``.
    """

    last_reward: NDArray[np.float64]  # (n_pairs,)
    last_next: StateOrNone  # (n_pairs,), NOWHERE if the episode terminated, or if never taken
    first_before: PairOrNone  # (n_states,), the first pair that leads to the state, or NOWHERE
    later: PairOrNone  # (n_pairs,), the next pair that leads to the same state, or NOWHERE
    earlier: PairOrNone  # (n_pairs,), the previous one, or NOWHERE
    heap: PairOrNone  # (n_pairs,), the first n_waiting[0] are the pairs that wait, the most urgent first
    position: PairOrNone  # (n_pairs,), its position in the heap, or NOWHERE
    priority: NDArray[np.float64]  # (n_pairs,), of the pairs that wait
    n_waiting: CountOfPairs  # (1,)
    updates: Count  # (1,), how many values have been changed so far
    n: int
    theta: float


# ------------------------------------------------------------------------------------------------------- the queue


@compiled(in_place=True)
def _precedes(model: SweptModel, one: int, other: int) -> bool:
    """Whether a pair is more urgent than another; of two that are equally urgent, the one with the lower number."""
    if model.priority[one] == model.priority[other]:
        return one < other
    return model.priority[one] > model.priority[other]


@compiled(in_place=True)
def _put(model: SweptModel, position: int, pair: int) -> None:
    model.heap[position] = pair
    model.position[pair] = position


@compiled(in_place=True)
def _rise(model: SweptModel, pair: int) -> None:
    """Move a pair towards the front until the pair above it is more urgent."""
    position = model.position[pair]
    while position > 0:
        above = int(model.heap[(position - 1) // 2])
        if _precedes(model, above, pair):
            break
        _put(model, position, above)
        position = (position - 1) // 2
    _put(model, position, pair)


@compiled(in_place=True)
def _sink(model: SweptModel, pair: int) -> None:
    """Move a pair towards the back until the pairs below it are less urgent."""
    position = model.position[pair]
    while 2 * position + 1 < model.n_waiting[0]:
        below = 2 * position + 1
        if below + 1 < model.n_waiting[0] and _precedes(model, int(model.heap[below + 1]), int(model.heap[below])):
            below += 1
        if _precedes(model, pair, int(model.heap[below])):
            break
        _put(model, position, int(model.heap[below]))
        position = below
    _put(model, position, pair)


@compiled(in_place=True)
def _wait(model: SweptModel, pair: int, priority: float) -> None:
    """Let a pair wait with this priority, or with the one it has if that is higher."""
    if model.position[pair] == NOWHERE:
        _put(model, model.n_waiting[0], pair)
        model.n_waiting[0] += 1
    elif priority <= model.priority[pair]:
        return
    model.priority[pair] = priority
    _rise(model, pair)


@compiled(in_place=True)
def _most_urgent(model: SweptModel) -> int:
    """Take the most urgent pair out of the queue, which is not empty."""
    pair = int(model.heap[0])
    model.position[pair] = NOWHERE
    model.n_waiting[0] -= 1
    if model.n_waiting[0] > 0:
        last = int(model.heap[model.n_waiting[0]])
        model.position[last] = 0
        _sink(model, last)
    return pair


# ------------------------------------------------------------------------------------------------------- the model


@compiled(in_place=True)
def _remember(model: SweptModel, pair: int, reward: float, successor: int) -> None:
    """Model(x, a) <- r, x'; the pair moves to the list of what leads to x'."""
    model.last_reward[pair] = reward
    before = model.last_next[pair]
    if before == successor:
        return
    if before != NOWHERE:
        earlier, later = model.earlier[pair], model.later[pair]
        if earlier == NOWHERE:
            model.first_before[before] = later
        else:
            model.later[earlier] = later
        if later != NOWHERE:
            model.earlier[later] = earlier
    model.last_next[pair] = successor
    model.earlier[pair] = model.later[pair] = NOWHERE
    if successor != NOWHERE:
        first = model.first_before[successor]
        model.later[pair] = first
        if first != NOWHERE:
            model.earlier[first] = pair
        model.first_before[successor] = pair


@compiled(in_place=True)
def _error(memory: Memory, pair: int) -> float:
    """Return r + gamma max_a' Q(x', a') - Q(x, a) of a remembered pair."""
    model = memory.learned
    state, action = divmod(pair, memory.q.shape[1])
    successor = model.last_next[pair]
    future = 0.0 if successor == NOWHERE else memory.gamma * max_value(memory, successor)
    return model.last_reward[pair] + future - memory.q[state, action]


@compiled(in_place=True)
def _consider(memory: Memory, pair: int) -> None:
    """Let a pair wait if its error is larger than theta."""
    priority = abs(_error(memory, pair))
    if priority > memory.learned.theta:
        _wait(memory.learned, pair, priority)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember the step, queue its pair, and learn from the n most urgent pairs, whose predecessors are queued."""
    model = memory.learned
    n_actions = memory.q.shape[1]
    _remember(model, t.state * n_actions + t.action, t.reward, NOWHERE if t.terminated else t.next_state)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    _consider(memory, t.state * n_actions + t.action)
    for _ in range(model.n):
        if model.n_waiting[0] == 0:
            break
        pair = _most_urgent(model)
        x, a = divmod(pair, n_actions)
        memory.q[x, a] += step_size(memory, x, a) * _error(memory, pair)
        model.updates[0] += 1
        before = model.first_before[x]
        while before != NOWHERE:
            _consider(memory, before)
            before = model.later[before]
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


def check_model(model: SweptModel) -> None:
    """Raise ValueError unless the two links of each pair agree, and queue and positions do.

    Every pair with a next state stands in the list of that state: either it is the first, or another one of the list
    names it as the next. The queue is as long as it says, and holds each pair at the position stored for it.
    """
    pairs = np.arange(model.last_next.size)
    known = model.last_next != NOWHERE
    if np.any(model.later[~known] != NOWHERE) or np.any(model.earlier[~known] != NOWHERE):
        raise ValueError("a pair without a next state is in a list of predecessors")
    for links, back in ((model.later, model.earlier), (model.earlier, model.later)):
        linked = pairs[links != NOWHERE]
        others = links[linked]
        if np.any(back[others] != linked) or np.any(model.last_next[others] != model.last_next[linked]):
            raise ValueError("the lists of predecessors contradict each other")
    first = pairs[known & (model.earlier == NOWHERE)]
    leads = model.first_before != NOWHERE
    if np.count_nonzero(leads) != first.size or np.any(model.first_before[model.last_next[first]] != first):
        raise ValueError("a list of predecessors must have exactly one head")
    waiting = model.heap[: model.n_waiting[0]]
    if (
        np.any(model.position[waiting] != np.arange(waiting.size))
        or np.count_nonzero(model.position != NOWHERE) != waiting.size
    ):
        raise ValueError("heap and position contradict each other")


@dataclass(eq=False, kw_only=True)
class PrioritizedSweeping(TabularAgent):
    """Prioritized sweeping for a deterministic environment (S&B2 section 8.4).

    A pair whose value is off by more than theta waits in a queue, the largest error first. Learning from it changes
    the targets of the pairs that lead to its state, and these wait in turn: changes propagate backwards from
    where they occur, and pairs without an error are not replayed. A real step does not change a value itself, it only
    puts a pair into the queue.

    Exact where the environment is deterministic: with a `learning_rate` of 1, once every pair has been taken and the
    queue is empty, no value is off by more than theta, so none is farther than theta / (1 - gamma) from Q*. In a random
    environment the model keeps only the last outcome, and the values never settle: use an agent that counts, as
    `PosteriorSampling` does. The planner for known models is `rlsuite.planning.prioritized_sweeping`.

    Parameters
    ----------
    n : int
        Most pairs that are learned from after each real step, at least 1.
    theta : float
        Errors up to this one are ignored, in units of Q, at least 0.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; 1 replaces a value by its target in the model. Below 1, the rest of an error waits for the
        next visit, or for a change of the next state's value.
    exploration : Exploration
        How actions are chosen while learning.
    initial_value : float
        Value of every action before it is tried.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    updates_ : ndarray of int64, shape (1,)
        How many times a value has been changed.
    n_waiting_ : ndarray of int64, shape (1,)
        How many pairs wait in the queue.

    Notes
    -----
    Memory is linear in the number of pairs: seven numbers each, beside the values and their counts.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.PrioritizedSweeping(n=5, gamma=0.9, exploration=rl.EpsilonGreedy(0.5))
    >>> agent.learn("rlsuite/GridGoal-v0", steps=500, seed=7).q_.max(axis=1)
    array([ 81.,  90., 100.,  90., 100.,   0.])
    """

    n: int = 5
    theta: float = 1e-4
    learning_rate: float | Schedule = 1.0
    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n, at_least=1)
        self.theta = finite_number("theta", self.theta)
        if self.theta < 0.0:
            raise ParameterError(f"theta={self.theta:g} is less than 0")

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless lists and queue are what a run leaves: links that agree, and each pair once."""
        check_model(memory.learned)

    def tables(self, n_states: int, n_actions: int) -> SweptModel:
        """Make an empty model and an empty queue."""
        n_pairs = n_states * n_actions

        def nowhere(size: int) -> NDArray[np.int64]:
            return np.full(size, NOWHERE, dtype=np.int64)

        return SweptModel(
            last_reward=np.zeros(n_pairs),
            last_next=nowhere(n_pairs),
            first_before=nowhere(n_states),
            later=nowhere(n_pairs),
            earlier=nowhere(n_pairs),
            heap=nowhere(n_pairs),
            position=nowhere(n_pairs),
            priority=np.zeros(n_pairs),
            n_waiting=np.zeros(1, dtype=np.int64),
            updates=np.zeros(1, dtype=np.int64),
            n=self.n,
            theta=self.theta,
        )
