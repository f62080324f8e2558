"""The two loops: `TableEngine` runs compiled on a model, `EnvironmentEngine` steps any environment.

Both advance the same books by the same kernels' rules; see `rlsuite.training.kernels`.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.exploration import Legality, listed_actions
from rlsuite.models import MDP, POMDP
from rlsuite.training import kernels
from rlsuite.training.kernels import ACTION, ELAPSED, NONE, OBSERVATION, STATE, STEPS, Books, Rule
from rlsuite.training.table import tabulate
from rlsuite.trust import time_limit, time_limits

CHUNK = 200_000  # steps between two looks at the clock and at Ctrl-C; bounds the memory for finished episodes


class Learner(NamedTuple):
    """Everything of an agent that a loop needs."""

    rule: Rule
    memory: Any
    legal: NDArray[np.bool_]  # (n_observations, n_actions), the array that the memory holds too
    legality: Legality  # how it is looked up
    gap: NDArray[np.float64]  # (n_states, n_actions) or (0, 0)
    rng: np.random.Generator
    books: Books


class TableEngine:
    """Learn on the environment's model without calling the environment.

    The environment's own generator is drawn from, and `settle` puts the environment where the last step left the model,
    so that afterwards nobody can tell which loop was used.
    """

    loop: Final = "compiled"

    def __init__(self, env: gymnasium.Env[Any, Any], model: MDP | POMDP, learner: Learner):
        self.env = env
        self.learner = learner
        self.table = tabulate(model)
        self.time_limit = time_limit(env)
        base: Any = env.unwrapped
        self.env_rng = base.np_random
        learner.books.place[STATE] = base.s
        self.run: Callable[..., int] | None = None  # compiled when first needed: the progress bar says so

    def advance(self, steps: int, episodes: int) -> NDArray[np.float64]:
        """Learn for at most ``steps`` and ``episodes``; return the finished episodes (n, 3): return, regret, length."""
        steps = min(steps, CHUNK)
        finished = np.empty((min(steps, episodes), 3))
        rule, memory, legal, legality, gap, rng, books = self.learner
        first = int(books.place[kernels.EPISODES])
        place = (self.table, rule, memory, legal, legality, gap, rng, self.env_rng, books)
        limits = (steps, episodes, self.time_limit)
        if self.run is None:
            self.run = kernels.run_on_table.for_types_of(*place, *limits, finished)
        code = self.run(*place, *limits, finished)
        self._settle()
        if code == kernels.BAD_ACTION:
            raise bad_action(self.env, self.learner)
        return finished[: int(books.place[kernels.EPISODES]) - first]

    def _settle(self) -> None:
        """Put the environment where the model stands."""
        place = self.learner.books.place
        base: Any = self.env.unwrapped
        base.s = int(place[STATE])
        for layer in time_limits(self.env):
            layer._elapsed_steps = int(place[ELAPSED])


class EnvironmentEngine:
    """Learn by calling `step` and `reset` of an environment.

    With ``mask_info``, the info of the first reset, the legal actions are taken from each ``info["action_mask"]``.
    """

    loop: Final = "stepwise"

    def __init__(self, env: gymnasium.Env[Any, Any], learner: Learner, mask_info: dict[str, Any] | None):
        observations, actions = check_spaces(env)
        self.env = env
        self.learner = learner
        self.first_observation = int(observations.start)
        self.first_action = int(actions.start)
        self.masked = mask_info is not None
        if mask_info is not None:
            self._mask(int(learner.books.place[OBSERVATION]), mask_info)
        self.inbox = np.zeros(4)
        self.inbox[0] = learner.books.place[OBSERVATION]
        self.finished = np.empty((1, 3))
        # to look up what is legal costs nothing beside a step of the environment: one compiled form will do
        memory = learner.memory
        if "legality" in memory._fields:
            memory = memory._replace(legality=listed_actions)
        # the generator borrows these arrays; `self` keeps them alive
        self.session = kernels.session(
            learner.rule,
            memory,
            learner.legal,
            listed_actions,
            learner.gap,
            learner.rng,
            learner.books,
            self.inbox,
            self.finished,
        )
        self.action = NONE

    def advance(self, steps: int, episodes: int) -> NDArray[np.float64]:
        """Learn for at most ``steps`` and ``episodes``; return the finished episodes (n, 3): return, regret, length."""
        place = self.learner.books.place
        env_step = self.env.step
        next_action = self.session.__next__
        post = struct.Struct("4d").pack_into
        inbox = self.inbox.data.cast("B")
        offset, action_offset, masked = self.first_observation, self.first_action, self.masked
        finished: list[NDArray[np.float64]] = []
        remaining = min(steps, CHUNK)
        action = self.action
        try:
            while remaining and len(finished) < episodes:
                if action == NONE:
                    if place[OBSERVATION] == NONE:
                        self._reset()
                    action = self._checked(next_action())
                observation, reward, terminated, truncated, info = env_step(action + action_offset)
                if masked:
                    self._mask(observation - offset, info)
                post(inbox, 0, observation - offset, reward, terminated, truncated)
                action = next_action()
                remaining -= 1
                if action < 0:
                    self._checked(action)
                    finished.append(self.finished.copy())
        except (struct.error, TypeError) as error:
            raise errors.LearningError(
                f"{_where(self.env, self.learner)} step returned what is not (observation, reward, terminated, "
                f"truncated, info) with numbers in the first four places: {error}"
            ) from error
        except KeyboardInterrupt:
            self._abandon_episode()
            raise
        self.action = action
        return np.concatenate(finished) if finished else np.empty((0, 3))

    def _reset(self) -> None:
        observation, info = self.env.reset()
        self.inbox[0] = observation - self.first_observation
        if self.masked:
            self._mask(observation - self.first_observation, info)

    def _mask(self, observation: int, info: dict[str, Any]) -> None:
        self.learner.legal[observation] = info["action_mask"]

    def _checked(self, action: int) -> int:
        """Turn the session's error codes into errors."""
        if action == kernels.BAD_OBSERVATION:
            raise errors.LearningError(
                f"{_where(self.env, self.learner)} the environment returned observation "
                f"{self.inbox[0] + self.first_observation:g}, which is not in {self.env.observation_space}"
            )
        if action == kernels.BAD_REWARD:
            raise errors.LearningError(
                f"{_where(self.env, self.learner)} the environment returned the reward {self.inbox[1]}; "
                "rewards must be finite numbers"
            )
        if action == kernels.BAD_ACTION:
            raise bad_action(self.env, self.learner)
        return action

    def _abandon_episode(self) -> None:
        """After Ctrl-C the environment may be a step ahead of the books: begin a new episode next time."""
        place = self.learner.books.place
        place[OBSERVATION] = place[ACTION] = NONE
        place[ELAPSED] = 0
        self.learner.books.sums[: kernels.ALL_REWARD] = 0.0
        self.action = NONE


Engine = TableEngine | EnvironmentEngine


def check_spaces(env: gymnasium.Env[Any, Any]) -> tuple[gymnasium.spaces.Discrete, gymnasium.spaces.Discrete]:
    """Return the Discrete observation and action space, or say what to do about another kind."""
    found: list[gymnasium.spaces.Discrete] = []
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise errors.UnsuitableEnvironment(
                f"tabular agents need a Discrete {what} space, got {space}. Wrap the environment so that it has one "
                f"(gymnasium.wrappers.Transform{what.capitalize()} with a function to or from an integer)"
            )
        found.append(space)
    return found[0], found[1]


def bad_action(env: gymnasium.Env[Any, Any], learner: Learner) -> errors.LearningError:
    """Describe an action that the agent's rule should not have chosen."""
    observation, action = (int(learner.books.place[i]) for i in (OBSERVATION, ACTION))
    if action == kernels.NO_ROOM:
        return errors.LearningError(
            f"{_where(env, learner)} the episode is longer than the agent remembers; give the agent a larger "
            "longest_episode=, or the environment a limit (max_episode_steps=)"
        )
    legal = np.flatnonzero(learner.legal[observation]).tolist()
    return errors.LearningError(
        f"{_where(env, learner)} the agent chose action {action} in state {observation}, where {legal} are legal; "
        "a rule should choose through rlsuite.choose or rlsuite.greedy, which respect memory.legal"
    )


def _where(env: gymnasium.Env[Any, Any], learner: Learner) -> str:
    name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return f"{name}, step {int(learner.books.place[STEPS]) + 1}:"
