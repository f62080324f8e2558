"""UCRL2: act optimally in the best of all models that agree with the observations (Jaksch, Ortner & Auer 2010).

Every pair has a confidence region: its mean reward lies within a distance of the observed mean, and its distribution of
successors within an L1 distance of the observed frequencies, all with probability 1 - delta at all times. The agent
plans for the model in these regions whose average reward is the largest (extended value iteration), and follows the
plan until the visits of some pair have doubled. Then it plans again.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, EpsilonGreedy, Exploration, greedy, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.model_based.counted import MOST_SWEEPS, check_counts, has_doubled, mean_value, new_counts, observe
from rlsuite.agents.schedules import STEPS, Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, whole_amount
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array, Count, StateOrEnd
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Begin, Step, Transition


class Regions(NamedTuple):
    """The counts, and the plan for the best plausible model."""

    outcomes: Count  # (n_pairs, n_states + 1)
    successors: Annotated[NDArray[np.int32], Array(at_least=0, at_most="n_states")]  # (n_pairs, n_states + 1)
    n_successors: Count  # (n_pairs,)
    mean_reward: NDArray[np.float64]  # (n_states, n_actions)
    planned_at: Count  # (n_states, n_actions), how often each pair had been taken at the last plan
    starts: Count  # (n_states,), how many episodes began in each state
    is_end: NDArray[np.bool_]  # (n_states,), states that ended an episode and were never left
    reward_range: NDArray[np.float64]  # (2,), least and largest reward
    value: NDArray[np.float64]  # (n_states + 1,), up to a constant, in units of the reward range; the end's last
    ranking: StateOrEnd  # (n_states + 1,), outcomes by value, the best first
    gain: NDArray[np.float64]  # (1,), average reward of the plan in the optimistic model
    iterations: Count  # (1,), sweeps of the last plan
    error_bound: NDArray[np.float64]  # (1,), bound on the error of the gain
    delta: float
    max_iterations: int


# ------------------------------------------------------------------------------ the most optimistic model of a pair


@compiled(in_place=True)
def reward_distance(tried: int, n_pairs: int, steps: int, delta: float) -> float:
    """sqrt(7 ln(2 S A t / delta) / (2 max(1, N))): eq. 3 of the paper."""
    return math.sqrt(3.5 * math.log(2.0 * n_pairs * steps / delta) / max(tried, 1))


@compiled(in_place=True)
def outcome_distance(tried: int, n_states: int, n_actions: int, steps: int, delta: float) -> float:
    """sqrt(14 S ln(2 A t / delta) / max(1, N)): eq. 4 of the paper, in L1."""
    return math.sqrt(14.0 * n_states * math.log(2.0 * n_actions * steps / delta) / max(tried, 1))


@compiled(in_place=True)
def best_mean(model: Regions, pair: int, tried: int, distance: float) -> float:
    """max_p sum_x' p(x') u(x') over all p within an L1 distance of the observed frequencies (Fig. 2 of the paper).

    Half the distance is added to the probability of the best outcome, and taken from the worst ones.
    """
    best = model.ranking[0]
    if tried == 0:
        return float(model.value[best])
    added = min(0.5 * distance, 1.0 - model.outcomes[pair, best] / tried)
    total = mean_value(model, pair, tried, model.value) + added * model.value[best]
    for k in range(model.ranking.size - 1, 0, -1):
        if added <= 0.0:
            break
        outcome = model.ranking[k]
        taken = min(model.outcomes[pair, outcome] / tried, added)
        total -= taken * model.value[outcome]
        added -= taken
    return float(total)


@compiled(in_place=True)
def best_reward(model: Regions, mean: float, tried: int, distance: float) -> float:
    """Return the largest mean reward that is plausible, as a share of the range of rewards; 1 is the largest of all."""
    width = model.reward_range[1] - model.reward_range[0]
    if tried == 0 or width <= 0.0:
        return 1.0
    return min(float((mean - model.reward_range[0]) / width) + distance, 1.0)


# --------------------------------------------------------------------------------------------------------- the plan


@compiled(in_place=True)
def _rank(value: NDArray[np.float64], ranking: NDArray[np.int64]) -> None:
    """Sort outcomes by value, the best first; equal ones keep their order. Fast where little has changed."""
    for k in range(1, ranking.size):
        outcome = ranking[k]
        rank = k
        while rank > 0 and value[ranking[rank - 1]] < value[outcome]:
            ranking[rank] = ranking[rank - 1]
            rank -= 1
        ranking[rank] = outcome


@compiled(in_place=True)
def _settle_ends(model: Regions, n_states: int) -> None:
    """Set the value of an end to that of the next episode, the mean over the starts so far."""
    total, n_starts = 0.0, 0
    for state in range(n_states):
        total += model.starts[state] * model.value[state]
        n_starts += model.starts[state]
    model.value[n_states] = total / max(n_starts, 1)
    for state in range(n_states):
        if model.is_end[state]:
            model.value[state] = model.value[n_states]


@compiled(in_place=True)
def _plan(memory: Memory) -> None:
    """Extended value iteration: u(x) <- max_a [r~ + max_p~ sum_x' p~(x') u(x')] until all gains are nearly equal.

    With t steps so far it ends when the gains of the states differ by less than 1 / sqrt(t). A constant is taken off u
    after each sweep, which changes nothing but keeps the numbers small.
    """
    model = memory.learned
    n_states, n_actions = memory.q.shape
    steps = memory.clock[STEPS]
    for state in range(n_states):
        for action in range(n_actions):
            model.planned_at[state, action] = memory.visits[state, action]
    for sweep in range(model.max_iterations):
        _settle_ends(model, n_states)
        _rank(model.value, model.ranking)
        for state in range(n_states):
            for action in range(n_actions):
                if is_legal(memory, state, action):
                    tried = memory.visits[state, action]
                    near = outcome_distance(tried, n_states, n_actions, steps, model.delta)
                    close = reward_distance(tried, n_states * n_actions, steps, model.delta)
                    memory.q[state, action] = best_reward(
                        model, model.mean_reward[state, action], tried, close
                    ) + best_mean(model, state * n_actions + action, tried, near)
        most, least = -np.inf, np.inf
        for state in range(n_states):
            best = -np.inf
            for action in range(n_actions):
                if is_legal(memory, state, action):
                    best = max(best, memory.q[state, action])
            if best > -np.inf and not model.is_end[state]:
                most, least = max(most, best - model.value[state]), min(least, best - model.value[state])
                model.value[state] = best
        for state in range(n_states):
            model.value[state] -= least
            for action in range(n_actions):
                memory.q[state, action] -= least
        width = model.reward_range[1] - model.reward_range[0]
        model.iterations[0] = sweep + 1
        model.gain[0] = model.reward_range[0] + 0.5 * (most + least) * width
        model.error_bound[0] = 0.5 * (most - least) * width
        if most - least < 1.0 / math.sqrt(steps):
            break


# --------------------------------------------------------------------------------------------------------- the rule


@compiled(in_place=True)
def _follow(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Take the action of the plan, unless its count has doubled since the plan was made: then plan again."""
    memory.learned.is_end[state] = False
    action = greedy(memory, state, rng)
    if has_doubled(memory, state, action):
        _plan(memory)
        action = greedy(memory, state, rng)
    return action


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Store where the episode begins, and continue with the plan."""
    memory.learned.starts[state] += 1
    return _follow(memory, state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Count the outcome, and continue with the plan."""
    model = memory.learned
    observe(memory, t.state, t.action, t.reward, t.next_state, t.terminated, memory.visits[t.state, t.action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    model.reward_range[0] = min(model.reward_range[0], t.reward)
    model.reward_range[1] = max(model.reward_range[1], t.reward)
    if t.terminated:
        left = 0
        for a in range(memory.q.shape[1]):
            left += memory.visits[t.next_state, a]
        model.is_end[t.next_state] = left == 0
    return NO_ACTION if t.terminated or t.truncated else _follow(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class UCRL2(TabularAgent):
    """UCRL2: optimism with a guarantee, for average reward without discount (Jaksch, Ortner & Auer 2010).

    If every state can be reached from every other, in D steps on average at most, the regret against the best average
    reward is below 34 D S sqrt(A T ln(T / delta)) after T steps, with probability 1 - delta (Theorem 2). The confidence
    regions are wide, and it explores for very long: `PosteriorSampling` swims up a river of six states (RiverSwim)
    after some thousand steps, UCRL2 after a million.

    Episodes are treated as one continuing task: an end has the value of the next start. States that cannot be
    reached stay optimistic for ever, and the agent never stops looking for them; ends are recognised when they occur.

    Parameters
    ----------
    delta : float
        Probability with which the guarantee may fail, in (0, 1).
    r_min, r_max : float
        Least and largest possible reward of a step. A reward outside widens the range; but what was done until then was
        not optimistic.
    max_iterations : int
        Limit on the sweeps of one plan; if it is reached, `error_bound_` is larger than the plan was to have.
    gamma : float
        Not used by the rule, which averages; the discount of evaluations.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        What the plan hopes for, as shares of the range of rewards and up to a constant: its largest entries are the
        actions that are taken.
    gain_ : ndarray of float64, shape (1,)
        Average reward per step that the plan hopes for: above the best possible with probability 1 - delta.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken.
    outcomes_ : ndarray of int64, shape (n_states * n_actions, n_states + 1)
        How often each pair led to each state, and (last column) to an end.
    mean_reward_ : ndarray of float64, shape (n_states, n_actions)
        Mean of the rewards of each pair.
    iterations_, error_bound_ : ndarray, shape (1,)
        Sweeps of the last plan, and how far its gain may be from the largest in the regions.

    Warns
    -----
    RewardWarning
        Once by `learn`, if the environment has rewards outside the range that is expected.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs, gymnasium
    >>> river = gymnasium.make("rlsuite/RiverSwim-v0", n=3, left_reward=0.005, right_reward=1.0)
    >>> agent = rl.UCRL2(delta=0.05).learn(river, steps=100_000, seed=7)
    >>> agent.policy()[:, 1]  # up the river
    array([1., 1., 1.])
    """

    delta: float = 0.05
    r_min: float = 0.0
    r_max: float = 1.0
    max_iterations: int = MOST_SWEEPS
    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    initial_value: float = field(init=False, repr=False, default=0.0)
    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    expected_rewards = ("r_min", "r_max")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.delta = finite_number("delta", self.delta)
        if not 0.0 < self.delta < 1.0:
            raise ParameterError(f"delta={self.delta:g} is not in (0, 1)")
        self.r_min, self.r_max = finite_number("r_min", self.r_min), finite_number("r_max", self.r_max)
        if self.r_min > self.r_max:
            raise ParameterError(f"r_min={self.r_min:g} is larger than r_max={self.r_max:g}")
        self.max_iterations = whole_amount("max_iterations", self.max_iterations)

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless the counts go together."""
        check_counts(memory.learned)

    def tables(self, n_states: int, n_actions: int) -> Regions:
        """Make empty counts."""
        return Regions(
            *new_counts("UCRL2", n_states, n_actions),
            planned_at=np.zeros((n_states, n_actions), dtype=np.int64),
            starts=np.zeros(n_states, dtype=np.int64),
            is_end=np.zeros(n_states, dtype=np.bool_),
            reward_range=np.array([self.r_min, self.r_max]),
            value=np.zeros(n_states + 1),
            ranking=np.arange(n_states + 1),
            gain=np.array([self.r_max]),
            iterations=np.zeros(1, dtype=np.int64),
            error_bound=np.zeros(1),
            delta=self.delta,
            max_iterations=self.max_iterations,
        )
