"""Episodes of a candidate of a policy search, with every reward: what it played is counted as experience."""

import copy
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite.core.aliases import Env
from rlsuite.training.episodes import Act, returns_of


class Played(NamedTuple):
    """What one candidate has played."""

    score: float
    """Mean return."""
    rewards: NDArray[np.float64]  # (n_steps,)
    ends: NDArray[np.bool_]  # (n_steps,): whether an episode ended


class _Noting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Notes rewards, and where episodes end."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.rewards: list[float] = []
        self.starts: list[int] = []

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.starts.append(len(self.rewards))
        return self.env.reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        answer = self.env.step(action)
        self.rewards.append(float(cast(Any, answer[1])))
        return answer


def play(env: Env, act: Act, episodes: int, seed: int, gamma: float, max_steps: int) -> Played:
    """Play episodes of a policy in a copy of an environment."""
    noting = _Noting(copy.deepcopy(env))
    earned = returns_of(noting, act, episodes=episodes, seed=seed, gamma=gamma, max_steps=max_steps)
    ends = np.zeros(len(noting.rewards), dtype=np.bool_)
    ends[np.array([*noting.starts[1:], len(noting.rewards)]) - 1] = True
    return Played(float(earned.mean()), np.array(noting.rewards), ends)
