"""The lecture notes' protocol: k steps of learning, then an evaluation of the greedy policy, frozen.

The figure is the discounted value of the policy at the start. It is exact - one linear system - where the model is
known, and a mean over episodes on a copy of the environment where it is not.
"""

import copy
from collections.abc import Callable
from typing import Any, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.models import MDP, POMDP
from rlsuite.planning.policy_value import PolicyEvaluator
from rlsuite.training.engines import check_spaces
from rlsuite.trust import NO_LIMIT, time_limit

Evaluate = Callable[[NDArray[np.float64]], float]

EPISODES = 20
MAX_STEPS = 10_000  # of an episode of evaluation: a greedy policy may walk in circles for ever


def evaluator(env: gymnasium.Env[Any, Any], model: MDP | POMDP | None, gamma: float, seed: int) -> Evaluate:
    """Make a function from a policy (n_observations, n_actions) to its value at the start.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; left untouched.
    model : MDP, POMDP or None
        Its model, if known.
    gamma : float
        Discount. With gamma = 1 the value of an episode cut at the environment's time limit is computed.
    seed : int
        Seed of the episodes, where there have to be some.

    Raises
    ------
    ParameterError
        If gamma is 1, the model is known, and the environment has no time limit.
    UnsuitableEnvironment
        If episodes are needed and the environment cannot be copied.
    """
    if model is not None:
        limit = time_limit(env)
        if gamma == 1.0 and limit == NO_LIMIT:
            raise errors.ParameterError(
                "evaluate_every with gamma=1 needs an environment with a time limit "
                "(gymnasium.make(..., max_episode_steps=...)): a greedy policy may never reach an end"
            )
        return PolicyEvaluator(model, gamma, horizon=limit if gamma == 1.0 else None)
    try:
        own = copy.deepcopy(env)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.UnsuitableEnvironment(
            f"evaluate_every needs an environment with a table, or one that can be copied ({error})"
        ) from error
    return _Episodes(own, gamma, seed)


class _Episodes:
    """Evaluation by episodes: the mean discounted return of `EPISODES` of them, at most `MAX_STEPS` long."""

    def __init__(self, env: gymnasium.Env[Any, Any], gamma: float, seed: int):
        self.env = env
        self.gamma = gamma
        env_seed, choice_seed = np.random.SeedSequence(seed, spawn_key=(1_000,)).spawn(2)
        self.rng = np.random.default_rng(choice_seed)
        observations, actions = check_spaces(env)
        self.first_observation, self.first_action = int(observations.start), int(actions.start)
        env.reset(seed=int(env_seed.generate_state(1)[0]))

    def __call__(self, policy: NDArray[np.float64]) -> float:
        return float(np.mean([self._episode(policy) for _ in range(EPISODES)]))

    def _episode(self, policy: NDArray[np.float64]) -> float:
        observation = cast(int, self.env.reset()[0])
        total, discount = 0.0, 1.0
        for _ in range(MAX_STEPS):
            probabilities = np.cumsum(policy[observation - self.first_observation])
            u = self.rng.random() * float(probabilities[-1])
            action = int(np.searchsorted(probabilities, u, side="right"))
            answer = cast("tuple[int, float, bool, bool, object]", self.env.step(action + self.first_action))
            observation, reward, terminated, truncated, _ = answer
            total += discount * reward
            discount *= self.gamma
            if terminated or truncated:
                break
        return total
