"""Loops that anybody would write: Q-learning in plain Python, and an environment stepped with random actions."""

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
