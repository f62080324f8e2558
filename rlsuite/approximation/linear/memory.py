"""The memory of linear agents, and the functions that their rules share.

The value of an action is a sum of a few weights: Q(s, a) = sum_i w[i, a] x_i(s), where x(s) are
the features of the observation (S&B2 eq. 9.8). Of the features only those that are not 0 are listed, so the cost of a
step does not depend on how many there are.

Two observations matter at any time: the one an action was taken in, and the one it led to. Each has a row in the
memory, in turn, and `now` says which row is the former. Row 0 is that of the first observation of an episode.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.features.feature_map import FeatureRule
from rlsuite.compilation import compiled
from rlsuite.declared import Count
from rlsuite.exploration import ExplorationRule, Legality, choose
from rlsuite.schedules import EPISODES, STEPS, Rate, rate_now


class Scene(NamedTuple):
    """The features of the present and of the next observation."""

    indices: NDArray[np.int64]  # (2, most_active)
    values: NDArray[np.float64]  # (2, most_active)
    n_active: NDArray[np.int64]  # (2,), how many of them there are
    now: NDArray[np.int64]  # (1,), row of the present observation


class LinearMemory(NamedTuple):
    """Weights, and everything that choosing and learning need.

    The fields `q`, `visits`, `legal`, `legality`, `clock` and `scores` are those that `rlsuite.exploration` asks for,
    with the two rows in the place of states.
    """

    weights: NDArray[np.float64]  # (n_features, n_actions)
    features: FeatureRule
    scene: Scene
    q: NDArray[np.float64]  # (2, n_actions), action values in the two observations, as `evaluate` has found them
    visits: Count  # (2, n_actions), zeros: visits of what is never quite the same cannot be counted
    legal: NDArray[np.bool_]  # (2, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    exploration: ExplorationRule
    scores: NDArray[np.float64]  # (n_actions,), room for one number per action while one is chosen
    learned: Any = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Any = ()  # NamedTuple of what it keeps during an episode; `begin` finds what the last episode left


@compiled(in_place=True)
def perceive(memory: Any, observation: NDArray[np.float64], row: int) -> None:
    """Compute the features of an observation into a row."""
    scene, rule = memory.scene, memory.features
    scene.n_active[row] = rule.active(rule.data, observation, scene.indices[row], scene.values[row])


@compiled(in_place=True)
def value_of(memory: Any, row: int, action: int) -> float:
    """Q(s, a) of the observation in a row, by the present weights."""
    scene = memory.scene
    value = 0.0
    for k in range(scene.n_active[row]):
        value += memory.weights[scene.indices[row, k], action] * scene.values[row, k]
    return value


@compiled(in_place=True)
def evaluate(memory: Any, row: int) -> None:
    """Fill in ``q[row]``: Q(s, a) of all actions for the observation in a row, by the present weights."""
    scene = memory.scene
    for action in range(memory.weights.shape[1]):
        memory.q[row, action] = 0.0
    for k in range(scene.n_active[row]):
        index, value = scene.indices[row, k], scene.values[row, k]
        for action in range(memory.weights.shape[1]):
            memory.q[row, action] += memory.weights[index, action] * value


@compiled(in_place=True)
def improve(memory: Any, row: int, action: int, amount: float) -> None:
    """Add ``amount * x(s)`` to the weights of an action: the gradient of Q(s, a) is x(s)."""
    scene = memory.scene
    for k in range(scene.n_active[row]):
        memory.weights[scene.indices[row, k], action] += amount * scene.values[row, k]


@compiled(in_place=True)
def begin_linear(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Compute the features of the first observation of an episode, and choose an action by the exploration."""
    memory.scene.now[0] = 0
    perceive(memory, observation, 0)
    evaluate(memory, 0)
    return choose(memory, 0, rng)


@compiled(in_place=True)
def linear_step_size(memory: Any) -> float:
    """The learning rate now."""
    return rate_now(memory.learning_rate, memory.clock, 0)


@compiled(in_place=True)
def move_on(memory: Any, over: bool) -> None:
    """Count this step, and this episode if it is over; the next observation becomes the present one.

    Every rule calls it once a step, at its end.
    """
    memory.scene.now[0] = 1 - memory.scene.now[0]
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


@compiled(in_place=True)
def evaluate_rows(
    rule: FeatureRule,
    weights: NDArray[np.float64],
    observations: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Compute Q of many observations (n, d) into (n, n_actions), adding up in the order of `evaluate`."""
    for i in range(observations.shape[0]):
        n_active = rule.active(rule.data, observations[i], indices, values)
        for action in range(weights.shape[1]):
            q[i, action] = 0.0
        for k in range(n_active):
            for action in range(weights.shape[1]):
                q[i, action] += weights[indices[k], action] * values[k]
