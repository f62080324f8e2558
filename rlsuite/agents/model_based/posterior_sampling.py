"""Posterior sampling: draw a model from the posterior, and act as if it were the true one (Strens 2000).

The priors are conjugate. The next state of a pair: a Dirichlet distribution over the states and the end, whose
parameters are prior weights plus counts. Its reward: a normal distribution of unknown mean and precision, with a
normal-gamma prior of both. So every action is taken with the posterior probability that it is the best one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, EpsilonGreedy, Exploration, greedy, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.model_based.counted import (
    MOST_SWEEPS,
    check_counts,
    check_discount,
    has_doubled,
    iterate_values,
    new_counts,
    observe,
)
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, one_of, positive_number, whole_amount
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Array, Count
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Begin, Step, Transition

Redraw = Compiled[[Memory, int, int], bool]


class Belief(NamedTuple):
    """The counts, and the time at which the present model was drawn."""

    outcomes: Count  # (n_pairs, n_states + 1)
    successors: Annotated[NDArray[np.int32], Array(at_least=0, at_most="n_states")]  # (n_pairs, n_states + 1)
    n_successors: Count  # (n_pairs,)
    mean_reward: NDArray[np.float64]  # (n_states, n_actions)
    deviation: NDArray[np.float64]  # (n_states, n_actions), sum of squared deviations from the mean reward
    planned_at: Count  # (n_states, n_actions), how often each pair had been taken when the model was drawn
    iterations: Count  # (1,), sweeps of the last plan
    error_bound: NDArray[np.float64]  # (1,), of its values


class SampledModel(NamedTuple):
    """The model that was drawn, its prior, and the parameters of planning in it."""

    probability: NDArray[np.float64]  # (n_pairs, n_states + 1), probabilities of the outcomes
    reward: NDArray[np.float64]  # (n_states, n_actions), mean rewards
    value: NDArray[np.float64]  # (n_states + 1,), of the best policy; the last, 0, is that of a terminal state
    weight: float  # prior weight of each outcome
    mean: float  # the four parameters of the prior of the rewards
    mean_weight: float
    shape: float
    rate: float
    redraw: Redraw
    tol: float
    max_iterations: int


@compiled(in_place=True)
def _never(memory: Memory, state: int, action: int) -> bool:
    """Keep the model for the whole episode."""
    return False


REDRAWS: dict[str, Redraw] = {"episode": _never, "doubling": has_doubled}
"""Whether to draw a new model during an episode, before a pair is taken; by the name it has in a constructor."""


@compiled(in_place=True)
def draw_probabilities(memory: Memory, pair: int, rng: np.random.Generator) -> None:
    """p(x' | x, a) ~ Dirichlet(weight + N(x, a, x')): independent gamma variables, divided by their sum."""
    counts, sampled = memory.learned.outcomes[pair], memory.scratch
    probability = sampled.probability[pair]
    total = 0.0
    for outcome in range(probability.size):
        probability[outcome] = rng.gamma(sampled.weight + counts[outcome], 1.0)
        total += probability[outcome]
    if total == 0.0:  # all have underflowed: in the limit of small weights one outcome is certain
        probability[int(rng.random() * probability.size)] = total = 1.0
    for outcome in range(probability.size):
        probability[outcome] /= total


@compiled(in_place=True)
def draw_reward(memory: Memory, state: int, action: int, rng: Any) -> float:
    """Draw precision ~ Gamma(shape_n, rate_n), then the mean reward ~ Normal(mean_n, 1 / (weight_n precision)).

    With n rewards of mean r and squared deviations D: weight_n = weight + n, mean_n = (weight mean + n r) / weight_n,
    shape_n = shape + n / 2, rate_n = rate + D / 2 + weight n (r - mean)^2 / (2 weight_n).
    """
    model, prior = memory.learned, memory.scratch
    n = memory.visits[state, action]
    surprise = model.mean_reward[state, action] - prior.mean
    weight = prior.mean_weight + n
    mean = prior.mean + n * surprise / weight
    shape = prior.shape + 0.5 * n
    square = surprise * surprise
    rate = prior.rate + 0.5 * model.deviation[state, action] + 0.5 * prior.mean_weight * n * square / weight
    precision = rng.gamma(shape, 1.0) / rate
    return mean + rng.standard_normal() / math.sqrt(weight * precision)


@compiled(in_place=True)
def _backup(memory: Memory, state: int, action: int) -> float:
    """R + gamma sum_x' p(x') V(x') in the model that was drawn."""
    sampled = memory.scratch
    pair = state * memory.q.shape[1] + action
    future = 0.0
    for outcome in range(sampled.value.size):
        future += sampled.probability[pair, outcome] * sampled.value[outcome]
    return sampled.reward[state, action] + memory.gamma * future


@compiled(in_place=True)
def _imagine(memory: Memory, rng: np.random.Generator) -> None:
    """Draw a model and plan in it."""
    model, sampled = memory.learned, memory.scratch
    for state in range(memory.q.shape[0]):
        for action in range(memory.q.shape[1]):
            model.planned_at[state, action] = memory.visits[state, action]
            if is_legal(memory, state, action):
                draw_probabilities(memory, state * memory.q.shape[1] + action, rng)
                sampled.reward[state, action] = draw_reward(memory, state, action, rng)
    iterate_values(
        _backup, memory, sampled.value, sampled.tol, sampled.max_iterations, model.iterations, model.error_bound
    )


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Draw a model, and take the best action in it."""
    _imagine(memory, rng)
    return greedy(memory, state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Count the outcome, and take the best action in the present model; if a new one is due, draw it first."""
    model = memory.learned
    surprise = t.reward - model.mean_reward[t.state, t.action]
    observe(memory, t.state, t.action, t.reward, t.next_state, t.terminated, memory.visits[t.state, t.action])
    model.deviation[t.state, t.action] += surprise * (t.reward - model.mean_reward[t.state, t.action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    next_action = greedy(memory, t.next_state, rng)
    if memory.scratch.redraw(memory, t.next_state, next_action):
        _imagine(memory, rng)
        next_action = greedy(memory, t.next_state, rng)
    return next_action


@dataclass(eq=False, kw_only=True)
class PosteriorSampling(TabularAgent):
    """Posterior sampling for reinforcement learning, PSRL (Strens 2000; Osband, Russo & Van Roy 2013).

    At the beginning of an episode a model is drawn from the posterior and solved by value iteration; its best policy is
    followed. The values of uncertain pairs differ from draw to draw, so these are tried for as long as they may be the
    best; well-known pairs differ little, and exploration ends on its own. In continuing tasks a new model is also drawn
    when the count of a pair has doubled. The expected regret after T steps is of the order H S sqrt(A T) for episodes
    of H steps (Osband, Russo & Van Roy 2013, Theorem 1) if the prior is right.

    To draw a model costs S^2 A random numbers, and each sweep of its solution as many multiplications, since all states
    are possible successors of all pairs: it is meant for up to a hundred states or two.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1), with which models are solved.
    outcome_weight : float
        Weight of the prior of where a pair leads, in steps: it is shared equally by all states and the end. Above 0.
    reward_prior : sequence of 4 floats
        Prior of the rewards of a pair: expected mean, weight of this expectation in steps, shape and rate of the gamma
        distribution of the precision 1 / sigma^2; the last three above 0. The spread of the drawn mean rewards should
        be of the size of the rewards: with (0, 1, 1, b), a pair that was never taken has a reward with Student's
        distribution with 2 degrees of freedom and scale sqrt(b).
    redraw : {"doubling", "episode"}
        Whether to draw a model also within an episode, when the next pair has been taken as often since the last
        draw as before it; or at the beginning of episodes only.
    tol : float
        Largest error of the values of a plan, in units of Q, above 0.
    max_iterations : int
        Limit on the sweeps of one plan; if it is reached, `error_bound_` exceeds `tol`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Values in the model that was drawn last.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken.
    outcomes_ : ndarray of int64, shape (n_states * n_actions, n_states + 1)
        How often each pair led to each state, and (last column) to an end.
    mean_reward_, deviation_ : ndarray of float64, shape (n_states, n_actions)
        Mean of the rewards of each pair, and the sum of their squared deviations from it.
    iterations_, error_bound_ : ndarray, shape (1,)
        Sweeps of the last plan, and how far its values may be from those of the model that was drawn.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.PosteriorSampling(gamma=0.95, reward_prior=(0, 1, 1, 25))
    >>> agent = agent.learn("rlsuite/Chain-v0", steps=5_000, seed=7)
    >>> agent.policy()[:, 0]  # forward, away from the small reward
    array([1., 1., 1., 1., 1.])
    """

    outcome_weight: float = 1.0
    reward_prior: Sequence[float] = (0.0, 1.0, 1.0, 1.0)
    redraw: str = "doubling"
    tol: float = 1e-4
    max_iterations: int = MOST_SWEEPS
    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    initial_value: float = field(init=False, repr=False, default=0.0)
    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        check_discount("PosteriorSampling", self.gamma)
        self.outcome_weight = _positive("outcome_weight", self.outcome_weight)
        self.reward_prior = _reward_prior(self.reward_prior)
        one_of("redraw", self.redraw, REDRAWS)
        self.tol = positive_number("tol", self.tol)
        self.max_iterations = whole_amount("max_iterations", self.max_iterations)

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless the counts go together."""
        check_counts(memory.learned)

    def tables(self, n_states: int, n_actions: int) -> Belief:
        """Make empty counts."""
        shape = (n_states, n_actions)
        return Belief(
            *new_counts("PosteriorSampling", n_states, n_actions, also=8),
            deviation=np.zeros(shape),
            planned_at=np.zeros(shape, dtype=np.int64),
            iterations=np.zeros(1, dtype=np.int64),
            error_bound=np.zeros(1),
        )

    def scratch(self, n_states: int, n_actions: int) -> SampledModel:
        """Make an empty model."""
        return SampledModel(
            np.zeros((n_states * n_actions, n_states + 1)),
            np.zeros((n_states, n_actions)),
            np.zeros(n_states + 1),
            self.outcome_weight / (n_states + 1),
            *self.reward_prior,
            redraw=REDRAWS[self.redraw],
            tol=self.tol,
            max_iterations=self.max_iterations,
        )


def _positive(name: str, value: object) -> float:
    number = finite_number(name, value)
    if number <= 0.0:
        raise ParameterError(f"{name}={number:g} is not above 0")
    return number


def _reward_prior(value: object) -> list[float]:
    given: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, Sequence | np.ndarray) else []
    if len(given) != 4 or isinstance(value, str):
        raise ParameterError(f"reward_prior={value!r} must be four numbers: mean, its weight, shape and rate")
    names = [f"reward_prior[{k}]" for k in range(4)]
    return [finite_number(names[0], given[0]), *map(_positive, names[1:], given[1:])]
