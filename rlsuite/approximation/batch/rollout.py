"""Whole episodes of a policy in any environment: returns and lengths.

A policy is a function ``act(observation) -> action``; the ``act`` of every agent is one. Each episode has its own seed,
drawn from the one that was given. So an episode does not depend on those before it, and episodes can be distributed
over workers.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.batch.action_masks import MaskedActions, takes_mask
from rlsuite.core.aliases import Env, Space
from rlsuite.core.checks import finite_reward, fraction, whole_amount, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import name_of
from rlsuite.environments.finding import find_env
from rlsuite.training.engines import overflow

Act = Callable[..., object]
"""``act(observation) -> action``, both as the environment has them."""

T = TypeVar("T")

LONGEST = 100_000
"""Default number of steps after which an episode is truncated: a policy may go round in circles for ever."""


class Rollout(NamedTuple):
    """The result of one episode."""

    total: float
    """The discounted return."""
    length: int
    """Steps."""
    terminated: bool
    """Whether it reached an end; if not, it was cut off."""


@says_what_to_write
def episode_of(env: Env, act: Act, seed: int | None = None, gamma: float = 1.0, max_steps: int = LONGEST) -> Rollout:
    """Play one episode.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; it is reset first, and left where the episode ends.
    act : callable
        ``act(observation) -> action``; one that has a parameter ``action_mask`` receives the legal actions.
    seed : int, optional
        Given to the environment's `reset`; without it, the environment's generator continues.
    gamma : float
        Discount per step, in [0, 1].
    max_steps : int
        Steps after which the episode is cut off.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.
    LearningError
        If the policy takes an action that a Discrete space does not have or a mask forbids, or the environment pays a
        reward that is not a finite number, or rewards whose sum overflows.

    Examples
    --------
    >>> import gymnasium
    >>> episode_of(gymnasium.make("CliffWalking-v1"), lambda state: 0, seed=7, max_steps=5)
    Rollout(total=-5.0, length=5, terminated=False)
    """
    discount_per_step, most = fraction("gamma", gamma), whole_amount("max_steps", max_steps)
    check_callable("act", act)
    observation, info = env.reset(seed=seed)
    masks = MaskedActions(env)
    legal = masks.after(info, 0)
    total, discount, name = 0.0, 1.0, name_of(env)
    for length in range(1, most + 1):
        action = chosen_of("act", act, observation, env.action_space, legal)
        answer = env.step(action)
        observation, reward, terminated, truncated, info = answer
        total += discount * finite_reward(reward, name, length)
        discount *= discount_per_step
        if not math.isfinite(total):
            raise overflow(f"{name}, step {length}:")
        if terminated or truncated:
            return Rollout(total, length, bool(terminated))
        legal = masks.after(info, length)
    return Rollout(total, most, terminated=False)


@says_what_to_write
def returns_of(
    env: str | Env,
    act: Act,
    episodes: int,
    seed: int | None = None,
    gamma: float = 1.0,
    max_steps: int = LONGEST,
) -> NDArray[np.float64]:
    """Play episodes, and return the returns (episodes,) of a policy.

    Parameters
    ----------
    env : str or gymnasium.Env
        An id, ``module:Id``, ``file.py:Class``, or an instance, which is left where the last episode ends.
    act : callable
        ``act(observation) -> action``: the bound method of an agent, or any function; one that has a parameter
        ``action_mask`` receives the legal actions, if some are illegal.
    episodes : int
        How many.
    seed : int, optional
        Where the seeds of the episodes come from. The first k of more episodes equal k episodes.
    gamma : float
        Discount per step, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values.
    EnvironmentNotFound
        If no environment matches `env`.
    LearningError
        If the policy takes an action that a Discrete space does not have or a mask forbids, or the environment pays a
        reward that is not a finite number, or rewards whose sum overflows.

    Examples
    --------
    >>> returns_of("CliffWalking-v1", lambda state: 0, episodes=3, seed=7, max_steps=5)
    array([-5., -5., -5.])
    """
    seeds = episode_seeds(episodes, seed)
    made = find_env(env)
    try:
        return np.array([episode_of(made, act, one, gamma, max_steps).total for one in seeds])
    finally:
        if isinstance(env, str):
            made.close()


def episode_seeds(episodes: int, seed: int | None) -> list[int]:
    """Return a seed for each episode; those of fewer episodes come first.

    Raises
    ------
    ParameterError
        If `episodes` or `seed` is not a whole number, or too small.

    Examples
    --------
    >>> episode_seeds(3, seed=7)[:2] == episode_seeds(2, seed=7)
    True
    """
    entropy = None if seed is None else whole_number("seed", seed, at_least=0)
    return np.random.SeedSequence(entropy).generate_state(whole_amount("episodes", episodes)).tolist()


def check_callable(name: str, policy: object) -> None:
    """Raise unless a policy is a function.

    Raises
    ------
    ParameterError
        If it is not a function.
    """
    if not callable(policy):
        hint = f"; of an agent, give the method: {name}=agent.act" if hasattr(policy, "act") else ""
        raise errors.ParameterError(f"{name}={policy!r} is not a function from observations to actions{hint}")


def chosen_of(
    name: str, policy: Callable[..., T], observation: object, space: Space, legal: NDArray[np.bool_] | None = None
) -> T:
    """Return the action of a policy, checked: errors of environments about wrong actions are often unclear.

    Raises
    ------
    LearningError
        If the space is Discrete, and the action is not in it or not among the legal actions (n_actions,).
    """
    masked = legal is not None and takes_mask(policy)
    action = policy(observation, action_mask=legal) if masked else policy(observation)
    if isinstance(space, gymnasium.spaces.Discrete) and not space.contains(action):
        last = int(space.start) + int(space.n) - 1
        raise errors.LearningError(
            f"{name}(observation) returned {action!r} for observation {observation!r}; the actions are the whole "
            f"numbers {int(space.start)}..{last}"
        )
    if legal is not None and isinstance(space, gymnasium.spaces.Discrete):
        taken, lowest = int(cast(int, action)), int(space.start)
        if not legal[taken - lowest]:
            allowed = ", ".join(map(str, np.flatnonzero(legal) + lowest))
            hint = "" if masked else f"; {name} is told which if it has a parameter action_mask"
            raise errors.LearningError(
                f"{name}(observation) returned {taken} for observation {observation!r}, where "
                f"info['action_mask'] allows {allowed}{hint}"
            )
    return action
