"""One learning run of a network: an environment, a replay memory, and the record of the run."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite import errors
from rlsuite.agents.exploration import choices
from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import EPISODES, STEPS, Rate
from rlsuite.approximation.deep.q_learner import QLearner
from rlsuite.approximation.deep.replay import PrioritisedReplay, Replay, Window
from rlsuite.approximation.experience import Books, known_model
from rlsuite.core.aliases import Env
from rlsuite.core.checks import finite_reward
from rlsuite.environments.facts import facts_of, name_of
from rlsuite.models.aliases import AnyArray
from rlsuite.training.budget import Budget
from rlsuite.training.episodes import returns_of
from rlsuite.training.evaluation import Evaluation
from rlsuite.training.optimum import Optima
from rlsuite.training.results import Record
from rlsuite.training.step_buffer import five_of, mask_of

EVALUATION_EPISODES = 20
LONGEST_EVALUATION = 10_000  # steps of an episode: one of a greedy policy may never end


class Pace(NamedTuple):
    """How a run learns from its transitions."""

    gamma: float
    learning_rate: Rate
    replay_size: int
    priority: float
    importance: Rate
    n_steps: int
    batch_size: int
    learning_starts: int
    train_every: int
    lessons: int
    target_rate: float
    target_every: int


class RunningEnv:
    """One of the environments of a run, and its present episode."""

    def __init__(self, env: Env, window: Window):
        self.env, self.window = env, window
        self.present: AnyArray | None = None
        """the present observation as it is stored, (1, *shape); None before an episode"""
        self.legal: NDArray[np.bool_]
        """the actions (n_actions,) that exist there"""
        self.total, self.length = 0.0, 0


class DeepRun:
    """Experience in some environments; `learn` may be called again and goes on where it stopped, mid-episode.

    The environments take turns: each makes a step with the action values that the network gave in the beginning of the
    round, and the lessons that are due follow at its end.

    Parameters
    ----------
    envs : sequence of gymnasium.Env
        The environment, as often as it is stepped side by side.
    learner : QLearner
        What learns.
    memory : Memory
        Room for the action values of one observation, and how an action is chosen by them.
    pace : Pace
        How the learner is taught.
    seed : int
        For the record.
    seeds : sequence of three SeedSequence
        For the choice of actions, for the environments, and for the choice of transitions to learn from.
    """

    def __init__(
        self,
        envs: Sequence[Env],
        learner: QLearner,
        memory: Memory,
        pace: Pace,
        seed: int,
        seeds: tuple[np.random.SeedSequence, np.random.SeedSequence, np.random.SeedSequence],
    ):
        self.learner, self.memory, self.pace, self.seed = learner, memory, pace, seed
        choice_seed, env_seed, replay_seed = seeds
        self.choice_rng, self.replay_rng = np.random.default_rng(choice_seed), np.random.default_rng(replay_seed)
        self.next_choice = choices(memory, 0, self.choice_rng).__next__  # uses arrays that `self` owns
        self.first_action = int(cast(Any, envs[0].action_space).start)
        of_transitions = (pace.replay_size, learner.inputs.shape, learner.inputs.dtype, learner.n_actions)
        self.replay = PrioritisedReplay(*of_transitions, pace.priority) if pace.priority else Replay(*of_transitions)
        self.all_reward, self.steps = 0.0, 0
        self.lessons, self.lessons_due = 0, 0
        self.log, self.seconds = Books("steps"), 0.0
        self.best: list[Any] | None = None
        """the weights that did best in an evaluation of this run"""
        self.best_value = -math.inf
        self.running = [RunningEnv(env, Window(pace.n_steps, pace.gamma)) for env in envs]
        self.turn = 0
        """the one that makes the next step"""
        self.q: NDArray[np.float64]
        """action values (n_places, n_actions) in the beginning of the round"""
        for one, state in zip(self.running, env_seed.generate_state(len(envs)), strict=True):
            self._begin_episode(one, int(state))

    def learn(self, budget: Budget, progress: bool) -> None:
        """Learn; `record` returns the results, also when an error or Ctrl-C ended it early."""
        clock, which = self.memory.clock, STEPS if budget.unit == "steps" else EPISODES
        self.log, self.seconds = Books(budget.unit), 0.0
        checkpoints = budget.times(budget.record_every)
        evaluations = budget.times(budget.evaluate_every) if budget.evaluate_every else []
        evaluate = self._evaluator() if budget.evaluate_every else None
        start = int(clock[which])
        bar: Any  # tqdm's stubs are incomplete
        try:
            with tqdm(total=budget.amount, unit=budget.unit[:-1], disable=not progress, desc=self.name) as bar:
                for moment in sorted({*checkpoints, *evaluations}):
                    began = time.perf_counter()
                    while clock[which] < start + moment:
                        self._step()
                    self.seconds += time.perf_counter() - began
                    bar.set_postfix(self._summary(), refresh=False)
                    bar.update(int(clock[which]) - start - bar.n)
                    if moment in checkpoints:
                        self.log.sums.append((int(clock[which]), self.all_reward))
                    if evaluate is not None and moment in evaluations:
                        self._record_evaluation(int(clock[which]), *evaluate())
        except BaseException:  # the last step may not be recorded: the next call begins new episodes
            self.turn = self.lessons_due = 0
            for one in self.running:
                one.present = None
                one.window.clear()
            raise

    def record(self, compiling_seconds: float, optima: Optima | None) -> Record:
        """Return the record of the last call of `learn`, with the optimum and the time for compiling."""
        facts = facts_of(self.running[0].env)
        model = None if optima is None else known_model(facts, self.pace.gamma)
        return self.log.record(self.seed, facts, model, optima, self.seconds, compiling_seconds)

    def _summary(self) -> dict[str, str]:
        """The figures on the progress bar."""
        latest = self.log.returns[-100:]
        return {"episodes": str(len(self.log.returns)), "mean return": f"{np.mean(latest):.4g}" if latest else "-"}

    @property
    def name(self) -> str:
        """Id of the environment, or the name of its class."""
        return name_of(self.running[0].env)

    def _begin_episode(self, one: RunningEnv, seed: int | None = None) -> None:
        observation, info = one.env.reset(seed=seed)
        one.present = self._stored(observation)
        if seed is not None:
            facts_of(one.env).has_action_mask(info)  # or warns that they are elsewhere
        one.legal = legal_actions(self._where, info, self.learner.n_actions)
        one.total, one.length = 0.0, 0

    def _look(self) -> None:
        """Begin the episodes that are due, and compute the values of the actions in all environments."""
        for one in self.running:
            if one.present is None:
                self._begin_episode(one)
        present = [cast(AnyArray, one.present) for one in self.running]
        self.q = self.learner.q(present[0] if len(present) == 1 else np.concatenate(present))

    def _step(self) -> None:
        if self.turn == 0:
            self._look()
        one, memory = self.running[self.turn], self.memory
        present = cast(AnyArray, one.present)
        memory.q[0], memory.legal[0] = self.q[self.turn], one.legal
        action = self.next_choice()
        if action < 0:
            raise errors.LearningError(
                f"{self._where} info['action_mask'] allows no action, but the episode has not ended"
            )
        observation, paid, terminated, truncated, info = five_of(one.env.step(action + self.first_action), self._where)
        reward, arrived = reward_of_float32(paid, self.name, self.steps + 1), self._stored(observation)
        one.legal = legal_actions(self._where, info, self.learner.n_actions)
        ends = terminated or truncated
        for step in one.window.add(present[0], action, reward, terminated, ends):
            self.replay.add(step.observation, step.action, step.reward, arrived[0], step.discount, one.legal)
        self.steps += 1
        self.all_reward += reward
        one.total += reward
        one.length += 1
        memory.visits[0, action] += 1
        memory.clock[STEPS] += 1
        one.present = arrived
        if ends:
            memory.clock[EPISODES] += 1
            self.log.returns.append(one.total)
            self.log.lengths.append(one.length)
            one.present = None
        self.turn = (self.turn + 1) % len(self.running)
        if self.steps >= self.pace.learning_starts and self.steps % self.pace.train_every == 0 and len(self.replay):
            self.lessons_due += self.pace.lessons
        if self.turn == 0:
            for _ in range(self.lessons_due):
                self._teach()
            self.lessons_due = 0

    def _teach(self) -> None:
        pace, replay = self.pace, self.replay
        batch = replay.sample(pace.batch_size, self.replay_rng)
        replay.learned(
            self.learner.improve(batch, self._now(pace.learning_rate), replay.weights(self._now(pace.importance)))
        )
        self.lessons += 1
        if self.lessons % pace.target_every == 0:
            self.learner.follow(pace.target_rate)

    def _now(self, rate: Rate) -> float:
        """Value of a schedule now."""
        return rate.formula(rate.start, rate.end, rate.speed, int(self.memory.clock[rate.unit]))

    def _record_evaluation(self, time: int, value: float, total: float) -> None:
        self.log.values.append((time, value, total))
        if value >= self.best_value:  # if equal, the later one: it has learned from more transitions
            self.best, self.best_value = self.learner.copy(), value

    def _stored(self, observation: object) -> AnyArray:
        try:
            return self.learner.inputs.stored([observation])
        except errors.ParameterError as error:
            raise errors.LearningError(f"{self._where} {error}") from error

    def _evaluator(self) -> Callable[[], Evaluation]:
        """Make a function that plays a few episodes of the greedy policy on a copy of the environment."""
        try:
            own = _Masks(copy.deepcopy(self.running[0].env), f"{self.name}, evaluation:")
        except (TypeError, ValueError, RuntimeError) as error:
            raise errors.UnsuitableEnvironment(
                f"evaluate_every needs a copy of {self.name}, which cannot be copied ({error}); omit evaluate_every"
            ) from error
        learner = self.learner

        def act(observation: object) -> int:
            return learner.best(learner.inputs.stored([observation]), own.legal) + self.first_action

        seed = int(np.random.SeedSequence(self.seed, spawn_key=(1_000,)).generate_state(1)[0])

        def evaluate() -> Evaluation:
            own.earned = 0.0
            value = returns_of(own, act, EVALUATION_EPISODES, seed, self.pace.gamma, LONGEST_EVALUATION).mean()
            return Evaluation(float(value), own.earned / EVALUATION_EPISODES)

        return evaluate

    @property
    def _where(self) -> str:
        return f"{self.name}, step {self.steps + 1}:"


class _Masks(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Stores which actions are legal now, and adds up the rewards."""

    def __init__(self, env: Env, where: str):
        super().__init__(env)
        self.where, self.name = where, name_of(env)
        self.earned = 0.0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        self.legal = legal_actions(self.where, info, int(cast(Any, self.action_space).n))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.legal = legal_actions(self.where, info, int(cast(Any, self.action_space).n))
        self.earned += finite_reward(reward, self.name)
        return observation, reward, terminated, truncated, info


def legal_actions(where: str, info: dict[str, Any], n_actions: int) -> NDArray[np.bool_]:
    """Which actions exist, (n_actions,): what ``info["action_mask"]`` says, or all.

    Raises
    ------
    LearningError
        If the mask is not one 0 or 1 for each action.
    """
    return mask_of(info.get("action_mask", np.ones(n_actions)), n_actions, where)


def reward_of_float32(paid: Any, name: str, step: int) -> float:
    """Return the reward as a float.

    Raises
    ------
    LearningError
        If it is not a finite number, or beyond the range of float32.
    """
    reward = finite_reward(paid, name, step)
    largest = float(np.finfo(np.float32).max)
    if abs(reward) > largest:
        raise errors.LearningError(
            f"{name}, step {step}: the environment returned the reward {paid!r}, but a network computes in float32, up "
            f"to {largest:.2g}. Divide the rewards by a constant (gymnasium.wrappers.TransformReward)"
        )
    return reward
