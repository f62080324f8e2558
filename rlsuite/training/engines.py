"""The loop in a compiled environment. The one that steps any environment is `rlsuite.training.stepping`.

Both update the same records by the same kernels; see `rlsuite.training.kernels`.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.forms.dynamics import dynamics_step
from rlsuite.environments.forms.form import Adapter
from rlsuite.environments.observation_view import (
    NONE,
    ObservationView,
    View,
)
from rlsuite.environments.wrappers import record_episodes
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.training import kernels
from rlsuite.training.first_steps import InterpretedRun, look_for_mistakes
from rlsuite.training.kernels import (
    ACTION,
    ALL_EPISODES,
    ALL_REWARD,
    ALL_STEPS,
    ELAPSED,
    OBSERVATION,
    RETURN,
    Rule,
    RunState,
)
from rlsuite.training.learned import Lookout
from rlsuite.training.legality import Legality
from rlsuite.training.rule_answers import named_answers
from rlsuite.training.seen import NOTHING_SEEN, Seen
from rlsuite.training.step_buffer import where

CHUNK = 200_000
"""Most steps of one call of `advance`: Ctrl-C takes effect between calls; it bounds the memory of finished episodes."""


class Learner(NamedTuple):
    """The parts of an agent that a loop uses."""

    rule: Rule
    memory: Any
    view: View  # for an agent that observes vectors; () for one that observes ids
    legal: BoolArray  # (n_observations, n_actions), or ``view.legal``; the memory has the same array
    legality: Legality  # looks up whether an action is legal
    gap: FloatArray  # (n_states, n_actions), or (0, 0) if unknown
    rng: np.random.Generator
    run_state: RunState


def kernel_arguments(
    learner: Learner, adapter: Adapter, env_rng: np.random.Generator, time_limit: int, seen: Seen = NOTHING_SEEN
) -> tuple[Any, ...]:
    """The arguments of `run_compiled` up to the state of the environment."""
    rule, memory, view, legal, legality, gap, rng, run_state = learner
    functions = adapter.functions if adapter.recording is None else adapter.recording(legal)
    return functions, view, rule, memory, legal, legality, gap, rng, env_rng, run_state, time_limit, seen


class Advance(NamedTuple):
    """What one call of `advance` has recorded."""

    finished: FloatArray  # (n, 3), of the finished episodes: return, regret, length
    recorded: FloatArray  # (m, 2), at the first m times: reward and regret in all
    error: errors.LearningError | None = None  # which ended it
    verified: bool = False  # the table and the environment agree up to here
    difference: str = ""  # how they differ, as a sentence; the run has to continue stepwise
    back: bool = False  # it has gone back to where they agreed; what was recorded since then is void


class CompiledEngine:
    """Learn in the compiled form of the environment without calling the environment.

    The environment's own generator is drawn from, and the environment is set to the state after the last step, as if it
    had been stepped.
    """

    loop: Final = "compiled"

    def __init__(self, facts: EnvironmentFacts, adapter: Adapter, learner: Learner):
        self.facts = facts
        self.env = facts.env
        self.learner = learner
        self.adapter = adapter
        self.env_rng = adapter.generator()
        self.state = adapter.read()
        self.seen = NOTHING_SEEN
        self.code = kernels.FINE  # what the kernel returned last
        self.run: Callable[..., tuple[int, int, Any]] | None = None  # compiled under the progress bar
        self.at_first = InterpretedRun(kernels.run_compiled, self._arguments())
        self.lookout = Lookout(learner.memory)

    def prepare(self) -> None:
        """Compile the loop, or load it from numba's cache, so that the time of `advance` is that of learning only."""
        if self.run is None:
            nothing = np.zeros(0, dtype=np.int64), np.empty((0, 2)), np.empty((0, 3))
            arguments: tuple[Any, ...] = (*self._arguments(), 0, ALL_STEPS, *nothing)
            look_for_mistakes(kernels.run_compiled, arguments)
            with self.at_first.loading(), named_answers(arguments):
                self.run = kernels.run_compiled.for_types_of(*arguments)

    def _arguments(self) -> tuple[Any, ...]:
        """The first arguments of the kernel: where it is to continue."""
        time_limit = self.facts.time_limit
        return *kernel_arguments(self.learner, self.adapter, self.env_rng, time_limit, self.seen), self.state

    def advance(self, clock: int, times: IndexArray, most: int = CHUNK) -> Advance:
        """Learn until the clock shows the last time, or for at most this many steps."""
        position, totals = self.learner.run_state
        recorded = np.empty((times.size, 2))
        finished = np.empty((min(most, int(times[-1] - position[clock])), 3))
        first = int(position[ALL_EPISODES])
        outcome = None
        if self.run is None:
            outcome = self.at_first(position, self._arguments(), most, clock, times, recorded, finished)
        if outcome is None:
            self.prepare()
            assert self.run is not None
            outcome = self.run(*self._arguments(), most, clock, times, recorded, finished)
        self.code, n_recorded, self.state = outcome
        finished = finished[: int(position[ALL_EPISODES]) - first]
        self._settle(finished)
        error = None
        if self.code == kernels.BAD_ACTION:
            error = bad_action(self.env, self.learner)
        elif self.code == kernels.OVERFLOW and self.adapter.functions.step is dynamics_step:
            error = errors.LearningError(
                f"{where(self.env, self.learner.run_state)} the sum of all rewards is {totals[ALL_REWARD]}: "
                "the environment returned a reward that is not finite, in this step or an earlier one, or rewards so "
                "large that their sum overflows; rewards must be finite numbers"
            )
        elif self.code == kernels.OVERFLOW:
            error = overflow(where(self.env, self.learner.run_state))
        else:
            error = self.lookout.error(self.env, self.learner.run_state, position[clock] == times[-1])
        return Advance(finished, recorded[:n_recorded], error)

    def resume(self, facts: EnvironmentFacts) -> None:
        """Continue from the environment's current state, with its current generator."""
        self.facts = facts
        self.env_rng = self.adapter.generator()
        if self.learner.run_state.position[OBSERVATION] != NONE:
            self.state = self.adapter.read()

    def _settle(self, finished: FloatArray) -> None:
        """Set the environment to the state that the compiled environment has reached, and tell what has finished."""
        self.adapter.write(self.state)
        position, totals = self.learner.run_state
        for layer in self.facts.time_limits:
            layer._elapsed_steps = int(position[ELAPSED])
        for layer in self.facts.recorders:
            record_episodes(layer, finished)
            if position[OBSERVATION] != NONE:  # otherwise the last one stands there until the environment is reset
                layer.episode_returns, layer.episode_lengths = float(totals[RETURN]), int(position[ELAPSED])


def overflow(where: str) -> errors.LearningError:
    """Describe a sum of rewards, each of which is finite, that has overflowed."""
    return errors.LearningError(
        f"{where} each reward is finite, but their sum has overflowed: it is beyond {np.finfo(np.float64).max:.2g}. "
        "Divide the rewards by a constant (gymnasium.wrappers.TransformReward)"
    )


def bad_action(env: Env, learner: Learner) -> errors.LearningError:
    """Describe an action that the agent's rule should not have chosen."""
    observation, action = (int(learner.run_state.position[i]) for i in (OBSERVATION, ACTION))
    if action == kernels.EPISODE_TOO_LONG:
        return errors.LearningError(
            f"{where(env, learner.run_state)} the episode is longer than the agent can store; give the agent a larger "
            "longest_episode=, or the environment a time limit (max_episode_steps=)"
        )
    legal = np.flatnonzero(learner.legal[observation]).tolist()
    if isinstance(learner.view, ObservationView):
        state = np.array2string(learner.view.vectors[observation], threshold=20)
    else:
        state = str(observation)
    return errors.LearningError(
        f"{where(env, learner.run_state)} the agent chose action {action} in state {state}, where the legal actions "
        f"are {legal}; a rule should choose with rlsuite.choose or rlsuite.greedy, which respect memory.legal"
    )
