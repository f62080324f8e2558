"""The two loops: `CompiledEngine` runs in a compiled world, `EnvironmentEngine` steps any environment.

Both advance the same books by the same kernels' rules; see `rlsuite.training.kernels`.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.exploration import Legality, listed_actions
from rlsuite.training import kernels
from rlsuite.training.kernels import ACTION, ELAPSED, OBSERVATION, STEPS, Books, Rule
from rlsuite.training.sight import (
    NONE,
    Encoding,
    Receive,
    Sight,
    next_row,
    receive_id,
    receive_vector,
)
from rlsuite.training.world import Plug
from rlsuite.trust import time_limit, time_limits

CHUNK = 200_000  # steps between two looks at the clock and at Ctrl-C; bounds the memory for finished episodes


class Learner(NamedTuple):
    """Everything of an agent that a loop needs."""

    rule: Rule
    memory: Any
    sight: Sight | tuple[()]  # of an agent that is shown vectors; nothing for one that is shown ids
    legal: NDArray[np.bool_]  # (n_observations, n_actions), or that of the sight; the memory holds it too
    legality: Legality  # how it is looked up
    gap: NDArray[np.float64]  # (n_states, n_actions) or (0, 0)
    rng: np.random.Generator
    books: Books


class CompiledEngine:
    """Learn in the compiled form of the environment without calling the environment.

    The environment's own generator is drawn from, and the environment is put where the last step left the world, so
    that afterwards nobody can tell which loop was used.
    """

    loop: Final = "compiled"

    def __init__(self, env: gymnasium.Env[Any, Any], plug: Plug, learner: Learner):
        self.env = env
        self.learner = learner
        self.plug = plug
        self.time_limit = time_limit(env)
        base: Any = env.unwrapped
        self.env_rng = base.np_random
        self.state = plug.read()
        self.run: Callable[..., tuple[int, Any]] | None = None  # compiled when first needed: the progress bar says so

    def advance(self, steps: int, episodes: int) -> NDArray[np.float64]:
        """Learn for at most ``steps`` and ``episodes``; return the finished episodes (n, 3): return, regret, length."""
        steps = min(steps, CHUNK)
        finished = np.empty((min(steps, episodes), 3))
        rule, memory, sight, legal, legality, gap, rng, books = self.learner
        first = int(books.place[kernels.EPISODES])
        place = (self.plug.world, sight, rule, memory, legal, legality, gap, rng, self.env_rng, books, self.state)
        limits = (steps, episodes, self.time_limit)
        if self.run is None:
            self.run = kernels.run_in_world.for_types_of(*place, *limits, finished)
        code, self.state = self.run(*place, *limits, finished)
        self._settle()
        if code == kernels.BAD_ACTION:
            raise bad_action(self.env, self.learner)
        return finished[: int(books.place[kernels.EPISODES]) - first]

    def _settle(self) -> None:
        """Put the environment where the world stands."""
        self.plug.write(self.state)
        for layer in time_limits(self.env):
            layer._elapsed_steps = int(self.learner.books.place[ELAPSED])


class EnvironmentEngine:
    """Learn by calling `step` and `reset` of an environment.

    With ``mask_info``, the info of the first reset, the legal actions are taken from each ``info["action_mask"]``. With
    an ``encoding``, observations are shown as vectors.
    """

    loop: Final = "stepwise"

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        learner: Learner,
        mask_info: dict[str, Any] | None,
        encoding: Encoding | None,
    ):
        self.env = env
        self.learner = learner
        self.first_action = int(action_space_of(env).start)
        self.masked = mask_info is not None
        self.inbox = np.zeros(4)
        self.take = self._take_id if encoding is None else self._take_vector
        if encoding is None:
            self.first_observation = int(id_space_of(env).start)
            self.inbox[0] = learner.books.place[OBSERVATION]
        else:
            self.encode = encoding.encode
            self.arrived = cast(Sight, learner.sight).arrived
        if mask_info is not None:
            self.learner.legal[int(learner.books.place[OBSERVATION])] = mask_info["action_mask"]
        self.finished = np.empty((1, 3))
        receive: Receive = receive_id if encoding is None else receive_vector
        # to look up what is legal costs nothing beside a step of the environment: one compiled form will do
        memory = learner.memory
        if "legality" in memory._fields:
            memory = memory._replace(legality=listed_actions)
        # the generator borrows these arrays; `self` keeps them alive
        self.session = kernels.session(
            receive,
            learner.sight,
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
        take, action_offset = self.take, self.first_action
        finished: list[NDArray[np.float64]] = []
        remaining = min(steps, CHUNK)
        action = self.action
        try:
            while remaining and len(finished) < episodes:
                if action == NONE:
                    if place[OBSERVATION] == NONE:
                        self.inbox[0] = take(*self.env.reset())
                    action = self._checked(next_action())
                observation, reward, terminated, truncated, info = env_step(action + action_offset)
                post(inbox, 0, take(observation, info), reward, terminated, truncated)
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

    def _take_id(self, observation: Any, info: dict[str, Any]) -> int:
        """Count an id from 0, for the inbox; take over the legal actions there."""
        row = observation - self.first_observation
        if self.masked:
            self.learner.legal[row] = info["action_mask"]
        return row

    def _take_vector(self, observation: Any, info: dict[str, Any]) -> int:
        """Let the vector of an observation arrive; take over the legal actions there. The inbox has no use for it."""
        try:
            vector = self.encode(observation)
            if vector.shape != self.arrived.shape:
                raise ValueError(f"its shape is {vector.shape}")  # one number would spread over all
            self.arrived[:] = vector
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise errors.LearningError(
                f"{_where(self.env, self.learner)} the environment returned observation {observation!r}, which is not "
                f"in {self.env.observation_space}"
            ) from error
        if self.masked:
            self.learner.legal[next_row(int(self.learner.books.place[OBSERVATION]))] = info["action_mask"]
        return 0

    def _checked(self, action: int) -> int:
        """Turn the session's error codes into errors."""
        if action == kernels.BAD_OBSERVATION:
            sight = self.learner.sight
            if isinstance(sight, Sight):
                found = np.array2string(sight.arrived, threshold=20)
            else:
                found = f"{self.inbox[0] + self.first_observation:g}"
            raise errors.LearningError(
                f"{_where(self.env, self.learner)} the environment returned observation {found}, which is not in "
                f"{self.env.observation_space}"
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


Engine = CompiledEngine | EnvironmentEngine


def id_space_of(env: gymnasium.Env[Any, Any]) -> gymnasium.spaces.Discrete:
    """Return the Discrete observation space, or say what to do about another kind."""
    return _discrete(
        "tabular agents need a Discrete observation",
        env.observation_space,
        "gymnasium.wrappers.TransformObservation, with a function to an integer; or take an agent that sees vectors, "
        "such as SemiGradientSarsa",
    )


def action_space_of(env: gymnasium.Env[Any, Any]) -> gymnasium.spaces.Discrete:
    """Return the Discrete action space, or say what to do about another kind."""
    continuous = isinstance(env.action_space, gymnasium.spaces.Box)
    wrapper = "DiscreteActions" if continuous else "gymnasium.wrappers.TransformAction, with a function of an integer"
    return _discrete("agents of rlsuite need a Discrete action", env.action_space, wrapper)


def _discrete(need: str, space: Any, wrapper: str) -> gymnasium.spaces.Discrete:
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise errors.UnsuitableEnvironment(
            f"{need} space, got {space}. Wrap the environment so that it has one ({wrapper})"
        )
    return cast(gymnasium.spaces.Discrete, space)


def bad_action(env: gymnasium.Env[Any, Any], learner: Learner) -> errors.LearningError:
    """Describe an action that the agent's rule should not have chosen."""
    observation, action = (int(learner.books.place[i]) for i in (OBSERVATION, ACTION))
    if action == kernels.NO_ROOM:
        return errors.LearningError(
            f"{_where(env, learner)} the episode is longer than the agent remembers; give the agent a larger "
            "longest_episode=, or the environment a limit (max_episode_steps=)"
        )
    legal = np.flatnonzero(learner.legal[observation]).tolist()
    if isinstance(learner.sight, Sight):
        state = np.array2string(learner.sight.vectors[observation], threshold=20)
    else:
        state = str(observation)
    return errors.LearningError(
        f"{_where(env, learner)} the agent chose action {action} in state {state}, where {legal} are legal; "
        "a rule should choose through rlsuite.choose or rlsuite.greedy, which respect memory.legal"
    )


def _where(env: gymnasium.Env[Any, Any], learner: Learner) -> str:
    name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return f"{name}, step {int(learner.books.place[STEPS]) + 1}:"
