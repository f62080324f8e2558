"""Dyna: learn from each real step, store it in a model, and learn again from steps of the model (Sutton 1990).

The model of a Dyna agent is the simplest one: for each pair of state and action, the last reward and next state.
Planning replays it, one remembered step at a time, with the same rule that learns from real steps.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, choose, is_legal, max_value
from rlsuite.agents.memory import Memory, count, step_size
from rlsuite.agents.schedules import STEPS
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count, CountOfPairs, Pair, StateOrNone
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition

END = -1
"""The next state, in a model, of a step that ended the episode."""


class LastOutcomes(NamedTuple):
    """The last outcome of each pair, and the pairs that planning may draw."""

    last_reward: NDArray[np.float64]  # (n_states, n_actions)
    last_next: StateOrNone  # (n_states, n_actions), END if the episode terminated
    pairs: Pair  # (n_states * n_actions,), the first n_pairs[0] are known: state * n_actions + action
    n_pairs: CountOfPairs  # (1,)
    n: int


class DatedOutcomes(NamedTuple):
    """The same, with the time at which each pair was last tried."""

    last_reward: NDArray[np.float64]  # (n_states, n_actions)
    last_next: StateOrNone  # (n_states, n_actions), END if the episode terminated
    pairs: Pair  # (n_states * n_actions,), the first n_pairs[0] may be drawn
    n_pairs: CountOfPairs  # (1,)
    n: int
    listed: NDArray[np.bool_]  # (n_states, n_actions), which pairs are in `pairs`
    last_tried: Count  # (n_states, n_actions), the step at which it was last taken, counted from 1; 0: never
    kappa: float


@compiled(in_place=True)
def _learn(memory: Memory, state: int, action: int, reward: float, next_state: int) -> None:
    """Q(x, a) <- Q(x, a) + alpha [r + gamma max_a' Q(x', a') - Q(x, a)]; the value of an end is 0."""
    target = reward if next_state == END else reward + memory.gamma * max_value(memory, next_state)
    memory.q[state, action] += step_size(memory, state, action) * (target - memory.q[state, action])


@compiled(in_place=True)
def _list(model: Any, state: int, action: int) -> None:
    """Let planning draw this pair from now on."""
    model.pairs[model.n_pairs[0]] = state * model.last_next.shape[1] + action
    model.n_pairs[0] += 1


@compiled(in_place=True)
def _draw(model: Any, rng: np.random.Generator) -> int:
    """Any pair that is listed, each equally likely."""
    return model.pairs[int(rng.random() * model.n_pairs[0])]


@compiled(in_place=True)
def _dyna_q(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Learn by Q-learning from the step, then from n remembered steps."""
    model = memory.learned
    successor = END if t.terminated else t.next_state
    _learn(memory, t.state, t.action, t.reward, successor)
    if memory.visits[t.state, t.action] == 0:
        _list(model, t.state, t.action)
    model.last_reward[t.state, t.action] = t.reward
    model.last_next[t.state, t.action] = successor
    count(memory, t.state, t.action, t.terminated or t.truncated)
    for _ in range(model.n):
        x, a = divmod(_draw(model, rng), memory.q.shape[1])
        _learn(memory, x, a, model.last_reward[x, a], model.last_next[x, a])
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@compiled(in_place=True)
def _dyna_q_plus(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Learn by Q-learning from the step, then from n remembered steps whose reward is r + kappa sqrt(tau)."""
    model = memory.learned
    successor = END if t.terminated else t.next_state
    _learn(memory, t.state, t.action, t.reward, successor)
    for a in range(memory.q.shape[1]):
        if not model.listed[t.state, a] and (a == t.action or is_legal(memory, t.state, a)):
            model.listed[t.state, a] = True
            model.last_next[t.state, a] = t.state  # until it is tried: the state itself, with reward 0
            _list(model, t.state, a)
    model.last_reward[t.state, t.action] = t.reward
    model.last_next[t.state, t.action] = successor
    count(memory, t.state, t.action, t.terminated or t.truncated)
    model.last_tried[t.state, t.action] = memory.clock[STEPS]
    for _ in range(model.n):
        x, a = divmod(_draw(model, rng), memory.q.shape[1])
        tau = memory.clock[STEPS] - model.last_tried[x, a]
        _learn(memory, x, a, model.last_reward[x, a] + model.kappa * np.sqrt(tau), model.last_next[x, a])
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class DynaQ(TabularAgent):
    """Dyna-Q: Q-learning, and n more of its updates on remembered steps after each real one (S&B2 section 8.2).

    The remembered pairs are drawn uniformly from all that were ever taken, at the same cost however many they are. Each
    replay uses the reward and the next state that came last, so the model is exact where nothing is random. With n = 0
    this is `QLearning`, bit for bit. Where the environment changes, the model is wrong until the change is met, and
    nothing makes the agent look for it: see `DynaQPlus`.

    Converges to Q* where nothing is random, with the step sizes of `QLearning` and every pair taken infinitely often.
    In a random environment the model keeps only the last outcome, and the replays pull the values towards it.

    Parameters
    ----------
    n : int
        Remembered steps that are replayed after each real step, at least 0.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size of real and of remembered steps, in [0, 1]; a schedule per visits counts the real ones.
    exploration : Exploration
        How actions are chosen while learning.
    initial_value : float
        Value of every action before it is tried.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    last_reward_ : ndarray of float64, shape (n_states, n_actions)
        The reward that each pair brought last; 0 where it was never taken.
    last_next_ : ndarray of int64, shape (n_states, n_actions)
        The state it led to last; -1 where it ended the episode, or was never taken.

    Notes
    -----
    The book draws a state first and one of the actions taken there second. That prefers pairs of states where little
    was tried; where everything was tried, it is the same.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs, gymnasium
    >>> maze = gymnasium.make("rlsuite/GridWorld-v0", map="DynaMaze")
    >>> agent = rl.DynaQ(n=50, gamma=0.95, learning_rate=0.1).learn(maze, episodes=20, seed=7)
    >>> bool(agent.episodes_["length"][-10:].mean() < 25)  # the shortest way takes 14 steps
    True
    """

    n: int = 10
    step: ClassVar[Step] = _dyna_q

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n, at_least=0)

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError if more pairs are known than were taken: the next would be written beyond the end."""
        model: LastOutcomes = memory.learned
        if model.n_pairs[0] > np.count_nonzero(memory.visits):
            raise ValueError(
                f"n_pairs is {model.n_pairs[0]}, but only {np.count_nonzero(memory.visits)} pairs were taken"
            )

    def tables(self, n_states: int, n_actions: int) -> LastOutcomes:
        """Make an empty model."""
        shape = (n_states, n_actions)
        return LastOutcomes(
            last_reward=np.zeros(shape),
            last_next=np.full(shape, END, dtype=np.int64),
            pairs=np.zeros(n_states * n_actions, dtype=np.int64),
            n_pairs=np.zeros(1, dtype=np.int64),
            n=self.n,
        )


@dataclass(eq=False, kw_only=True)
class DynaQPlus(TabularAgent):
    """Dyna-Q+: planning adds a bonus to pairs that have not been tried for a long time (S&B2 section 8.3).

    A remembered step pays kappa sqrt(tau) more than it did, with tau the real steps since its pair was last taken. The
    bonus is learned as if it were a reward, so it leads the agent a long way to where something may have changed.
    Planning also considers what was never tried in the states that were visited: such an action is expected to lead
    back to its state with reward 0, and its tau counts from the beginning.

    The values contain the bonuses. They settle only as far as kappa sqrt(tau) does, so kappa should be small: the bonus
    after the longest time without a try should be small compared with the rewards.

    Parameters
    ----------
    n : int
        Remembered steps that are replayed after each real step, at least 0.
    kappa : float
        Weight of the bonus, in units of reward per square root of a step, at least 0.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size of real and of remembered steps, in [0, 1]; a schedule per visits counts the real ones.
    exploration : Exploration
        How actions are chosen while learning.
    initial_value : float
        Value of every action before it is tried.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values, bonuses included.
    last_reward_ : ndarray of float64, shape (n_states, n_actions)
        The reward that each pair brought last, without a bonus; 0 where it was never taken.
    last_next_ : ndarray of int64, shape (n_states, n_actions)
        The state it led to last, or is thought to lead to; -1 where it ended the episode or the state was never left.
    last_tried_ : ndarray of int64, shape (n_states, n_actions)
        The step at which it was last taken, counted from 1; 0 where it never was.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs, gymnasium
    >>> maze = gymnasium.make("rlsuite/GridWorld-v0", map="DynaMaze")
    >>> agent = rl.DynaQPlus(n=20, kappa=1e-4, gamma=0.95).learn(maze, steps=5_000, seed=7)
    >>> int(agent.visits_[3].min()) > 0  # nothing that can be tried is left untried
    True
    """

    n: int = 10
    kappa: float = 1e-3
    step: ClassVar[Step] = _dyna_q_plus

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n, at_least=0)
        self.kappa = finite_number("kappa", self.kappa)
        if self.kappa < 0.0:
            raise ParameterError(f"kappa={self.kappa:g} is less than 0")

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless the pairs that planning may draw are those that are listed.

        There are as many as are marked: otherwise the next would be written beyond the end.
        """
        model: DatedOutcomes = memory.learned
        if model.n_pairs[0] != np.count_nonzero(model.listed):
            raise ValueError(f"n_pairs is {model.n_pairs[0]}, but {np.count_nonzero(model.listed)} pairs are listed")

    def tables(self, n_states: int, n_actions: int) -> DatedOutcomes:
        """Make an empty model."""
        shape = (n_states, n_actions)
        return DatedOutcomes(
            last_reward=np.zeros(shape),
            last_next=np.full(shape, END, dtype=np.int64),
            pairs=np.zeros(n_states * n_actions, dtype=np.int64),
            n_pairs=np.zeros(1, dtype=np.int64),
            n=self.n,
            listed=np.zeros(shape, dtype=np.bool_),
            last_tried=np.zeros(shape, dtype=np.int64),
            kappa=self.kappa,
        )
