"""The obvious loops: Q-learning in plain Python, and an environment stepped with random actions."""

import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np


def q_learning_on_rows(env: gymnasium.Env[Any, Any], steps: int, gamma: float, rate: float, epsilon: float) -> Any:
    """Q-learning on a NumPy table, one row at a time; the first of equal actions is taken."""
    n_actions = int(env.action_space.n)
    q = np.zeros((env.observation_space.n, n_actions))
    rng = random.Random(7)
    state, _ = env.reset(seed=7)
    for _ in range(steps):
        action = rng.randrange(n_actions) if rng.random() < epsilon else int(q[state].argmax())
        next_state, reward, terminated, truncated, _ = env.step(action)
        target = reward if terminated else reward + gamma * q[next_state].max()
        q[state, action] += rate * (target - q[state, action])
        state = env.reset()[0] if terminated or truncated else next_state
    return q


def q_learning_on_lists(env: gymnasium.Env[Any, Any], steps: int, gamma: float, rate: float, epsilon: float) -> Any:
    """Q-learning on lists of floats, which plain Python handles faster than arrays of four."""
    n_actions = int(env.action_space.n)
    q = [[0.0] * n_actions for _ in range(env.observation_space.n)]
    rng = random.Random(7)
    state, _ = env.reset(seed=7)
    for _ in range(steps):
        row = q[state]
        action = rng.randrange(n_actions) if rng.random() < epsilon else row.index(max(row))
        next_state, reward, terminated, truncated, _ = env.step(action)
        target = reward if terminated else reward + gamma * max(q[next_state])
        row[action] += rate * (target - row[action])
        state = env.reset()[0] if terminated or truncated else next_state
    return q


def step_at_random(env: gymnasium.Env[Any, Any], steps: int, action: Callable[[], int]) -> None:
    """Bare steps: nothing is learned, nothing recorded; ended episodes are begun anew."""
    env.reset(seed=7)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(action())
        if terminated or truncated:
            env.reset()


def sarsa_lambda_on_tables(
    env: gymnasium.Env[Any, Any], steps: int, gamma: float, rate: float, lambda_: float, epsilon: float
) -> Any:
    """Sarsa(lambda) with replacing traces on two NumPy tables, Q and E, both changed as a whole at every step."""
    q = np.zeros((env.observation_space.n, env.action_space.n))
    e = np.zeros_like(q)
    rng = random.Random(7)

    def choose(state: int) -> int:
        return rng.randrange(q.shape[1]) if rng.random() < epsilon else int(q[state].argmax())

    state, _ = env.reset(seed=7)
    action = choose(state)
    for _ in range(steps):
        next_state, reward, terminated, truncated, _ = env.step(action)
        next_action = choose(next_state)
        target = reward if terminated else reward + gamma * q[next_state, next_action]
        error = target - q[state, action]
        e[state, action] = 1.0
        q += rate * error * e
        e *= gamma * lambda_
        state, action = next_state, next_action
        if terminated or truncated:
            e[:] = 0.0
            state, _ = env.reset()
            action = choose(state)
    return q


def sarsa_lambda_on_dict(
    env: gymnasium.Env[Any, Any], steps: int, gamma: float, rate: float, lambda_: float, epsilon: float
) -> Any:
    """Sarsa(lambda) on lists of floats, with a dictionary of the replacing traces that have not faded."""
    n_actions = int(env.action_space.n)
    q = [[0.0] * n_actions for _ in range(env.observation_space.n)]
    e: dict[tuple[int, int], float] = {}
    decay = gamma * lambda_
    rng = random.Random(7)

    def choose(state: int) -> int:
        return rng.randrange(n_actions) if rng.random() < epsilon else q[state].index(max(q[state]))

    state, _ = env.reset(seed=7)
    action = choose(state)
    for _ in range(steps):
        next_state, reward, terminated, truncated, _ = env.step(action)
        next_action = choose(next_state)
        target = reward if terminated else reward + gamma * q[next_state][next_action]
        change = rate * (target - q[state][action])
        e[state, action] = 1.0
        for (s, a), trace in e.items():
            q[s][a] += change * trace
        e = {pair: trace * decay for pair, trace in e.items() if trace > 1e-16}
        state, action = next_state, next_action
        if terminated or truncated:
            e.clear()
            state, _ = env.reset()
            action = choose(state)
    return q
