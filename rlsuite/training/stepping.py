"""The loop that steps any environment.

The one in a compiled environment is `rlsuite.training.engines`. Both update the same records by the same kernels; see
`rlsuite.training.kernels`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Info, Observation
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts, action_space_of
from rlsuite.environments.observation_view import (
    NONE,
    Encoding,
    ObservationView,
    Receive,
    receive_id,
    receive_vector,
)
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.training import kernels
from rlsuite.training.engines import CHUNK, Advance, Learner, bad_action, overflow
from rlsuite.training.expected_rewards import ExpectedRewards
from rlsuite.training.first_steps import InterpretedSession
from rlsuite.training.kernels import (
    ALL_EPISODES,
    ALL_REGRET,
    ALL_REWARD,
    ALL_STEPS,
    ELAPSED,
    OBSERVATION,
)
from rlsuite.training.learned import Lookout
from rlsuite.training.legality import listed_actions
from rlsuite.training.step_buffer import StepBuffer, first_answer, five_of, where

CHECKED_STEPS = 10
"""The first steps, which go through Gymnasium's wrappers, because these check the environment's answers."""


class Witness(Protocol):
    """Receives what an environment answers."""

    def after_reset(self, observation: Observation, info: Info, /) -> None:
        """Take the answer of `reset`."""
        ...

    def after_step(self, action: int, answer: tuple[Any, ...], /) -> None:
        """Take the answer of `step` to an action, counted from 0."""
        ...


class EnvironmentEngine:
    """Learn by calling `step` and `reset` of an environment.

    With ``mask_info``, the info of the first reset, the legal actions are taken from each ``info["action_mask"]``. With
    an ``encoding``, observations are shown as vectors. With ``expected``, each reward is compared with a range. As soon
    as ``stop`` lists something, `advance` returns after a complete step. A ``witness`` receives each answer before the
    rule learns from it.
    """

    loop: Final = "stepwise"

    def __init__(
        self,
        facts: EnvironmentFacts,
        learner: Learner,
        mask_info: Info | None,
        encoding: Encoding | None,
        info: Info,
        expected: ExpectedRewards | None,
    ):
        self.facts = facts
        self.env = env = facts.env
        self.expected = expected
        self.learner = learner
        self.first_action = int(action_space_of(env).start)
        masked = mask_info is not None
        self.buffer = StepBuffer(env, learner.run_state, learner.view, learner.legal, masked, encoding)
        self.finished = np.empty((1, 3))
        self.checked = False
        receive: Receive = receive_id if encoding is None else receive_vector
        # looking up legal actions costs little beside a step of the environment: one compiled version is enough
        memory = learner.memory
        if "legality" in memory._fields:
            memory = memory._replace(legality=listed_actions)
        # numba's generator does not keep these arrays alive; `at_first` does
        arguments = (
            receive,
            self.buffer.view,
            learner.rule,
            memory,
            learner.legal,
            listed_actions,
            learner.gap,
            learner.rng,
            learner.run_state,
            self.buffer.numbers,
            self.finished,
        )
        self.at_first = InterpretedSession(kernels.session, arguments, learner.run_state, self.buffer.numbers)
        self.session: Iterator[int] | None = None
        if masked:  # masks come into the memory from outside
            self.prepare()
        self.action = NONE
        self.info = info  # of the latest answer
        self.stop: Sequence[int] = ()
        self.witness: Witness | None = None
        self.lookout = Lookout(learner.memory)

    def prepare(self) -> None:
        """Open the session in machine code."""
        if self.session is None:
            self.session = self.at_first.machine_code()

    def advance(self, clock: int, times: IndexArray, most: int = CHUNK) -> Advance:
        """Learn until the clock shows the first time, or for at most this many steps."""
        position, totals = self.learner.run_state
        left = int(times[0] - position[clock])
        steps, episodes = (left, NO_LIMIT) if clock == ALL_STEPS else (NO_LIMIT, left)
        env_step, limit = self.env.step, NO_LIMIT
        witness = self.witness
        if witness is not None:
            env_step = self._witnessed(witness)
        elif not self.checked:
            most = min(most, CHECKED_STEPS)
        elif self.facts.only_transparent():  # these wrappers cost a tenth of a step, and only count it
            env_step, limit = self.facts.base.step, self.facts.time_limit
        self.checked = True
        at_first = self.at_first.steps(left) if self.session is None else 0
        if at_first:
            most = min(most, at_first)
        else:
            self.prepare()
        remaining = most = min(steps, most)
        next_action = self.at_first.next_action if self.session is None else self.session.__next__
        receive_step = self.buffer.receive_step
        if self.expected is not None:
            receive_step = self.expected.watch(self.buffer)
        action_offset = self.first_action
        finished: list[FloatArray] = []
        stop = self.stop
        action, elapsed, info = self.action, int(position[ELAPSED]), self.info
        try:
            while remaining and len(finished) < episodes and not stop:
                if action == NONE:
                    if position[OBSERVATION] == NONE:
                        observation, info = first_answer(self.env)
                        if witness is not None:
                            witness.after_reset(observation, info)
                        self.buffer.receive_step(observation, 0.0, False, False, info)
                    action = self._checked(next_action())
                answer = env_step(action + action_offset)
                try:
                    observation, reward, terminated, truncated, info = answer
                except (TypeError, ValueError):
                    five_of(answer, where(self.env, self.learner.run_state))
                    raise
                elapsed += 1
                receive_step(observation, reward, terminated, truncated or elapsed >= limit, info)
                action = next_action()
                remaining -= 1
                if action < 0:
                    self._checked(action)
                    finished.append(self.finished.copy())
                    elapsed = 0
        except (KeyboardInterrupt, SystemExit):
            # the environment may be ahead of the records: begin a new episode next time
            kernels.abandon_episode(self.learner.run_state)
            self.action = NONE
            raise
        except Exception as error:  # any error of the environment; it is raised again
            self._refused(action, info, error)
            raise
        finally:
            if self.session is None:
                self.at_first.record(most - remaining, len(finished) if clock == ALL_EPISODES else most - remaining)
            if limit != NO_LIMIT:
                for layer in self.facts.time_limits:
                    layer._elapsed_steps = elapsed
        self.action, self.info = action, info
        if not math.isfinite(totals[ALL_REWARD]):
            raise overflow(where(self.env, self.learner.run_state))
        recorded = totals[None, [ALL_REWARD, ALL_REGRET]] if position[clock] == times[0] else np.empty((0, 2))
        error = self.lookout.error(self.env, self.learner.run_state, position[clock] == times[-1])
        if error is not None:
            self.action = NONE
        return Advance(np.concatenate([np.empty((0, 3)), *finished]), recorded, error)

    def _witnessed(self, witness: Witness) -> Callable[[int], tuple[Any, ...]]:
        """Return the environment's step, with a witness."""
        env_step, first = self.env.step, self.first_action

        def step(action: int) -> tuple[Any, ...]:
            answer = env_step(action)
            witness.after_step(action - first, answer)
            return answer

        return step

    def resume(self, facts: EnvironmentFacts) -> None:
        """Continue; no copy of the environment is kept that could be out of date."""
        self.facts = facts

    def _refused(self, action: int, info: Info, error: Exception) -> None:
        """Raise LearningError if the environment refused an action that its mask forbids, and that its table allows."""
        mask: Any = info.get("action_mask")
        if self.buffer.masked or mask is None or action < 0 or np.all(np.asarray(mask).ravel()[action : action + 1]):
            return
        raise errors.LearningError(
            f"{where(self.env, self.learner.run_state)} step refused action {action + self.first_action}, which "
            f"info['action_mask']={mask!r} forbids ({error}). The mask was not followed, because the environment has a "
            "table with outcomes for that action: write P[s][a] = [] where an action is illegal, or declare "
            'metadata = {"action_mask": "law"} in its class'
        ) from error

    def _checked(self, action: int) -> int:
        """Turn the session's error codes into errors."""
        if action == kernels.BAD_OBSERVATION:
            view = self.buffer.view
            if isinstance(view, ObservationView):
                found = np.array2string(view.arrived, threshold=20)
            else:
                space: Any = self.env.observation_space  # Discrete: other observations were checked on arrival
                found = f"{self.buffer.numbers[0] + int(space.start):g}"
            raise errors.LearningError(
                f"{where(self.env, self.learner.run_state)} the environment returned observation {found}, which is not "
                f"in {self.env.observation_space}"
            )
        if action == kernels.BAD_REWARD:
            raise errors.LearningError(
                f"{where(self.env, self.learner.run_state)} the environment returned the reward "
                f"{self.buffer.numbers[1]}; rewards must be finite numbers"
            )
        if action == kernels.BAD_ACTION:
            raise bad_action(self.env, self.learner)
        return action
