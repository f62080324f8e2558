"""Whole episodes of a policy in any environment: returns and lengths.

A policy is whatever `rlsuite.training.acting` can ask for an action. Each episode has its own seed, drawn from the one
that was given. So an episode does not depend on those before it, unless the policy itself draws, and episodes can be
distributed over workers.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.aliases import Env
from rlsuite.core.checks import finite_reward, fraction, whole_amount, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import name_of
from rlsuite.environments.finding import opened
from rlsuite.training.acting import Act, Asked, MaskedActions, acting, chosen_of
from rlsuite.training.engines import overflow
from rlsuite.training.step_buffer import first_answer, five_of

LONGEST = 100_000
"""Default number of steps after which an episode is truncated: a policy may go round in circles for ever."""


class Rollout(NamedTuple):
    """The result of one episode."""

    value: float
    """The discounted return."""
    total: float
    """The undiscounted return."""
    length: int
    """Steps."""
    terminated: bool
    """Whether it reached an end; if not, it was cut off."""
    cut: bool
    """Whether it was cut off after the most steps that were allowed here, not by the environment."""


@says_what_to_write
def episode_of(env: Env, act: object, seed: int | None = None, gamma: float = 1.0, max_steps: int = LONGEST) -> Rollout:
    """Play one episode.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; it is reset first, and left where the episode ends.
    act : policy
        ``act(observation) -> action``, and whatever else `rlsuite.evaluate` takes. A function that has a parameter
        ``action_mask`` receives the legal actions.
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
    Rollout(value=-5.0, total=-5.0, length=5, terminated=False, cut=True)
    """
    discount_per_step, most = fraction("gamma", gamma), whole_amount("max_steps", max_steps)
    rng = np.random.default_rng(None if seed is None else whole_number("seed", seed, at_least=0))
    return played(env, acting("act", act, env, rng), seed, discount_per_step, most, name="act")


def played(
    env: Env, act: Act, seed: int | None, gamma: float, max_steps: int, *, name: str, where: str = ""
) -> Rollout:
    """Play one episode of what `acting` has returned; `name` is the policy's, `where` begins a message."""
    observation, info = first_answer(env, seed)
    if isinstance(act, Asked):
        act.begin()
    masks = MaskedActions(env)
    legal = masks.after(info, 0)
    value, total, discount, where = 0.0, 0.0, 1.0, where or name_of(env)
    for length in range(1, max_steps + 1):
        action = chosen_of(name, act, observation, env.action_space, legal)
        observation, reward, terminated, truncated, info = five_of(env.step(action), f"{where}, step {length}:")
        paid = finite_reward(reward, where, length)
        value += discount * paid
        total += paid
        discount *= gamma
        if not math.isfinite(total):
            raise overflow(f"{where}, step {length}:")
        if terminated or truncated:
            return Rollout(value, total, length, bool(terminated), cut=False)
        legal = masks.after(info, length)
    return Rollout(value, total, max_steps, terminated=False, cut=True)


@says_what_to_write
def returns_of(
    env: str | Env,
    act: object,
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
    act : policy
        ``act(observation) -> action``, and whatever else `rlsuite.evaluate` takes. A function that has a parameter
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
    fraction("gamma", gamma)
    whole_amount("max_steps", max_steps)
    with opened(env) as made:
        asked = acting("act", act, made, np.random.default_rng(seed))
        return np.array([played(made, asked, one, gamma, max_steps, name="act").value for one in seeds])


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
