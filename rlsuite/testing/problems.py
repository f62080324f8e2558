"""Small decision problems for the checks of `rlsuite.testing.conformance`."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from rlsuite.core.aliases import Env, Info
from rlsuite.models import MDP

CUT = 17
"""Steps after which an episode of an endless problem is cut off."""


def corridor() -> MDP:
    """Return five cells in a row; a move into a wall is illegal, the last cell ends the episode."""
    successors = [[None, 1], [0, 2], [1, 3], [2, 4], [None, None]]
    return MDP.from_successors(successors, [[0, -1], [-1, -1], [-1, -1], [-1, 10], [0, 0]], gamma=0.9, start=0)


def gamble() -> MDP:
    """Return a game of chance: random successors, normal and Bernoulli rewards, ends that belong to transitions."""
    return MDP.from_rows(
        indptr=[0, 2, 5, 5, 7, 8, 10],  # three states, two actions; action 0 is illegal in state 1
        next_state=[0, 1, 0, 1, 2, 0, 2, 1, 0, 0],
        probability=[0.5, 0.5, 0.25, 0.25, 0.5, 0.75, 0.25, 1.0, 0.5, 0.5],
        reward=[1, 2, -1, 0, 0.5, 0.25, 0.75, 3, 0, 1],
        terminated=[0, 0, 0, 1, 0, 0, 1, 0, 1, 0],
        reward_std=[1.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        bernoulli=[0, 0, 0, 1, 0, 0],
        n_actions=2,
        gamma=0.9,
    )


def ring() -> MDP:
    """Return six states in a ring without an end: steps to either side, a reward at one place, and slips.

    One step to the right does not exist. That all problems have such an action halves what has to be compiled.
    """
    n = 6
    successors: list[list[Any]] = [[{(s + 1) % n: 0.9, s: 0.1}, {(s - 1) % n: 0.9, s: 0.1}] for s in range(n)]
    successors[4][0] = None
    return MDP.from_successors(successors, lambda s, a, ahead: float(ahead == 3), gamma=0.9, start=0)


def arms() -> MDP:
    """Return four arms with normal rewards, and one that cannot be pulled."""
    return MDP.from_successors([[0, 0, None, 0, 0]], [[0.0, 0.5, 9.0, 1.0, -1.0]], gamma=0.0, reward_std=[[1.0] * 5])


class NoReward(gymnasium.Env[np.int64, np.int64]):
    """Four states in a row without a table, whose fifth reward is not a number."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Discrete(4)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[np.int64, Info]:
        """Begin at the left."""
        super().reset(seed=seed)
        self.cell = 0
        return np.int64(0), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, Info]:
        """Move on, and return a reward."""
        self.steps += 1
        self.cell = (self.cell + 1) % 4
        return np.int64(self.cell), float("nan") if self.steps == 5 else 1.0, self.cell == 3, False, {}


def environments() -> dict[str, Env]:
    """Return new environments of all problems by name."""
    return {
        "corridor": corridor().to_env(),
        "gamble": gamble().to_env(),
        "ring": TimeLimit(ring().to_env(), CUT),
        "arms": TimeLimit(arms().to_env(), CUT),
    }
