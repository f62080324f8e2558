"""Temporal-difference learning in a table, as in the boxes of S&B2, chapters 6 and 12, and tile coding (9.5.4).

Loops over a Gymnasium environment whose states and actions are numbered; every action is legal in every state. They
draw their random numbers in the order in which the agents of `rlsuite.agents` do: the same seed, the same episodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlsuite.core.aliases import Env
    from rlsuite.models.aliases import FloatArray, IndexArray


def generators(seed: int) -> tuple[np.random.Generator, int]:
    """Return the generator of an agent, and the seed of its environment: independent, though of one seed.

    Examples
    --------
    >>> rng, env_seed = generators(7)
    >>> env_seed == generators(7)[1], rng.random() == generators(7)[0].random()
    (True, True)
    """
    agent, env, _ = np.random.SeedSequence(seed).spawn(3)
    return np.random.default_rng(agent), int(env.generate_state(1)[0])


def epsilon_greedy(q: FloatArray, epsilon: float, rng: np.random.Generator) -> int:
    """Choose any action with probability epsilon, else the best; ties at random. S&B2 section 2.2.

    Parameters
    ----------
    q : ndarray (A,) float64
        Values of the actions.
    epsilon : float
        Probability of any action.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> epsilon_greedy(np.array([1.0, 3.0, 2.0]), 0.0, np.random.default_rng(0))
    1
    """
    if rng.random() < epsilon:
        return int(rng.random() * len(q))
    best = np.flatnonzero(q == q.max())
    return int(best[0] if len(best) == 1 else best[int(rng.random() * len(best))])


def _zeros(env: Any) -> FloatArray:
    """Return a table for all pairs of state and action."""
    return np.zeros((env.observation_space.n, env.action_space.n))


def q_learning(env: Env, *, gamma: float, learning_rate: float, epsilon: float, episodes: int, seed: int) -> FloatArray:
    """Learn the values of the best policy while another one explores. S&B2 (6.8).

    Parameters
    ----------
    env : gymnasium.Env
        An environment with numbered states and actions.
    gamma : float
        Discount per step.
    learning_rate : float
        alpha.
    epsilon : float
        Of `epsilon_greedy`.
    episodes : int
        How many to learn from.
    seed : int
        Source of all randomness.

    Returns
    -------
    ndarray (S, A) float64

    Examples
    --------
    >>> import gymnasium
    >>> q = q_learning(
    ...     gymnasium.make("CliffWalking-v1"), gamma=1.0, learning_rate=0.5, epsilon=0.1, episodes=300, seed=7
    ... )
    >>> q[36].max()  # thirteen steps
    np.float64(-13.0)
    """
    rng, env_seed = generators(seed)
    q = _zeros(env)
    for episode in range(episodes):
        s, _ = env.reset(seed=env_seed if episode == 0 else None)
        done = False
        while not done:
            a = epsilon_greedy(q[s], epsilon, rng)
            s_next, r, terminated, truncated, _ = env.step(a)
            target = r if terminated else r + gamma * q[s_next].max()  # truncation is not an end: bootstrap
            q[s, a] += learning_rate * (target - q[s, a])
            s, done = s_next, terminated or truncated
    return q


def sarsa_lambda(
    env: Env,
    *,
    gamma: float,
    lambda_: float,
    learning_rate: float,
    epsilon: float,
    episodes: int,
    seed: int,
) -> FloatArray:
    """Learn the values of the policy that explores, with accumulating traces. S&B2 section 12.7; (12.11) for a table.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with numbered states and actions.
    gamma : float
        Discount per step.
    lambda_ : float
        Decay of the traces, in [0, 1]; 0 is Sarsa, S&B2 (6.7).
    learning_rate : float
        alpha.
    epsilon : float
        Of `epsilon_greedy`.
    episodes : int
        How many to learn from.
    seed : int
        Source of all randomness.

    Returns
    -------
    ndarray (S, A) float64

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CliffWalking-v1")
    >>> q = sarsa_lambda(env, gamma=1.0, lambda_=0.8, learning_rate=0.2, epsilon=0.1, episodes=300, seed=7)
    >>> q[36].argmax()  # up, away from the cliff
    np.int64(0)
    """
    rng, env_seed = generators(seed)
    q = _zeros(env)
    for episode in range(episodes):
        s, _ = env.reset(seed=env_seed if episode == 0 else None)
        a = epsilon_greedy(q[s], epsilon, rng)
        trace = np.zeros_like(q)  # the eligibility of each pair, times the learning rate
        done = False
        while not done:
            s_next, r, terminated, truncated, _ = env.step(a)
            a_next = 0 if terminated else epsilon_greedy(q[s_next], epsilon, rng)
            target = r if terminated else r + gamma * q[s_next, a_next]
            trace[s, a] += learning_rate
            q += (target - q[s, a]) * trace
            trace *= gamma * lambda_
            s, a, done = s_next, a_next, terminated or truncated
    return q


def td_lambda(
    episodes: Iterable[Iterable[tuple[int, float, int, bool]]],
    n_states: int,
    *,
    gamma: float,
    lambda_: float,
    learning_rate: float,
) -> FloatArray:
    """Learn the values of the states from recorded episodes. S&B2 section 12.2, (12.5)-(12.7).

    Parameters
    ----------
    episodes : iterable of iterables of (state, reward, next_state, terminated)
        What happened.
    n_states : int
        S.
    gamma : float
        Discount per step.
    lambda_ : float
        Decay of the traces, in [0, 1]; 0 is TD(0), S&B2 (6.2).
    learning_rate : float
        alpha.

    Returns
    -------
    ndarray (S,) float64

    Examples
    --------
    A walk to the right: with lambda = 1 every state learns from the reward at the end.

    >>> walk = [(0, 0.0, 1, False), (1, 0.0, 2, False), (2, 1.0, 3, True)]
    >>> td_lambda([walk], 4, gamma=1.0, lambda_=1.0, learning_rate=0.5).tolist()
    [0.5, 0.5, 0.5, 0.0]
    """
    v = np.zeros(n_states)
    for episode in episodes:
        trace = np.zeros(n_states)
        for s, r, s_next, terminated in episode:
            target = r if terminated else r + gamma * v[s_next]
            trace[s] += learning_rate
            v += (target - v[s]) * trace
            trace *= gamma * lambda_
    return v


def active_tiles(
    observation: Sequence[float], low: Sequence[float], high: Sequence[float], n_tilings: int, bins: Sequence[int]
) -> IndexArray:
    """Return the tile of each tiling that contains an observation.

    Tiling t is displaced by t (1, 3, 5, ...) / n tiles, with the first odd numbers that have no factor in common with
    n. It has one tile more in every dimension in which it is displaced.

    Parameters
    ----------
    observation : sequence of d floats
        What is seen; beyond the bounds it lies in the outer tiles.
    low, high : sequence of d floats
        Where the grids begin and end.
    n_tilings : int
        n.
    bins : sequence of d ints
        Tiles in each dimension of a grid that is not displaced.

    Returns
    -------
    ndarray (n_tilings,) int64
        Numbers of the tiles; those of one tiling come after those of the tiling before.

    Examples
    --------
    >>> active_tiles([0.3, 0.1], low=[0, 0], high=[1, 1], n_tilings=2, bins=[2, 2]).tolist()
    [0, 7]
    """
    n, counts = n_tilings, np.array(bins)
    odd = np.array([k for k in range(1, 2 * n * len(counts), 2) if math.gcd(k, n) == 1][: len(counts)])
    # Borders of tiles lie at multiples of 1/n of a tile: all points between two of them have the same tiles.
    cell = np.floor((np.array(observation) - low) / (np.array(high) - low) * counts * n)
    cell = np.clip(cell, 0, counts * n - 1).astype(np.int64)
    tiles: list[int] = []
    first = 0  # number of the first tile of this tiling
    for t in range(n):
        displacement = t * odd % n
        extent = counts + (displacement > 0)
        tiles.append(first + int(np.ravel_multi_index(tuple((cell + displacement) // n), tuple(extent))))
        first += int(extent.prod())
    return np.array(tiles)
