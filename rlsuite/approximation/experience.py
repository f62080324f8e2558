"""Experience of methods that learn between the steps of an environment: what a run has met, and how well it does.

Step by step, `Experience` adds up rewards and episodes, notes them at the times of a `Budget`, and has the present
policy evaluated there: exactly where the model is known and its states are observed, by episodes elsewhere.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeAlias, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite import errors
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import EPISODE, episodes_of
from rlsuite.approximation.workers import Workers
from rlsuite.core.aliases import Env
from rlsuite.core.checks import whole_amount, whole_number, worker_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import EnvironmentFacts, action_space_of, facts_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.forms import Wish, form_of
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.training.acting import takes_mask
from rlsuite.training.budget import Budget
from rlsuite.training.evaluation import Evaluate, Evaluation, evaluator
from rlsuite.training.optimum import NOT_ASKED, Optima, without_model
from rlsuite.training.results import UNKNOWN, Record, TimeUnit

Acts: TypeAlias = Any
"""What is evaluated: an object with ``act(observation)``, or such a function, which may take an `action_mask`; or with
``action_probabilities(seen, legal)``, its probabilities at many observations, as vectors; None for random actions."""


class _AsGiven:
    """Observations as the environment returns them."""

    @staticmethod
    def encode(observation: object) -> Any:
        return observation


def known_model(facts: EnvironmentFacts, gamma: float) -> MDP | POMDP | None:
    """The model of an environment that is stepped; None if only a comparison during the run would make sure of it."""
    encode = None if facts.vectors is None else encoding(facts.env.observation_space)
    form = form_of(facts, Wish(gamma, "stepwise", encode, masked=facts.masks_are_law))
    return form.model if form.model is not None and form.follower(facts) is None else None


@dataclass
class Books:
    """What one call of `learn` notes, of methods that learn between the steps."""

    unit: TimeUnit
    returns: list[float] = field(default_factory=list[float])
    lengths: list[int] = field(default_factory=list[int])
    sums: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """Times, and the reward until then."""
    values: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])
    """Times of evaluations, the value and the undiscounted return."""
    ends: float | None = None
    """Probability that the last policy evaluated reaches an end."""

    def record(
        self,
        seed: int,
        facts: EnvironmentFacts,
        model: MDP | POMDP | None,
        optima: Optima | None,
        seconds: float,
        compiling_seconds: float = 0.0,
    ) -> Record:
        """The record, with the optimum and the bounds of the model as far as they are known."""
        optimum = NOT_ASKED if optima is None else without_model(facts) if model is None else optima.of(model)
        value = total = UNKNOWN
        if model is not None and optima is not None and self.values:
            value, total = optima.bounds(model, facts.time_limit)
        sums = np.array(self.sums, dtype=np.float64).reshape(-1, 2)
        values = np.array(self.values, dtype=np.float64).reshape(-1, 3)
        return Record(
            seed=seed,
            loop="stepwise",
            unit=self.unit,
            episode_return=np.array(self.returns),
            episode_length=np.array(self.lengths, dtype=np.int64),
            time=sums[:, 0].astype(np.int64),
            cumulative_reward=sums[:, 1],
            evaluation_time=values[:, 0].astype(np.int64),
            evaluation=values[:, 1],
            evaluation_return=values[:, 2],
            end_probability=self.ends,
            optimal_value=optimum.value,
            value_bounds=value,
            return_bounds=total,
            optimum_unknown=optimum.unknown or "it learns between the steps, and notes no regret",
            seconds=seconds,
            compiling_seconds=compiling_seconds,
        )


class Experience:
    """What one run has met; `begin` again for each call of `learn`, which goes on where the last one stopped.

    Parameters
    ----------
    env : gymnasium.Env
        The environment, left as it is.
    gamma : float
        Discount of evaluations.
    seed : int
        Of the run.
    optima : Optima or None
        Where the optimal value comes from; None for none.
    """

    def __init__(self, env: Env, gamma: float, seed: int, optima: Optima | None) -> None:
        self.env, self.gamma, self.seed = env, gamma, seed
        self.facts = facts_of(env)
        actions = action_space_of(env)
        self.first_action, self.n_actions = int(actions.start), int(actions.n)
        self.model = known_model(self.facts, gamma)
        self.shown = self._shown()
        self.optima = optima
        self.steps = self.episodes = 0
        self.seconds = 0.0
        self._total = self._return = 0.0
        self._length = 0

    def follow(self, rewards: FloatArray, ends: BoolArray) -> None:
        """Count steps (n,) that belong to the run, but to no call of `learn` in this process."""
        last = np.flatnonzero(ends)
        since = int(last[-1]) + 1 if last.size else 0
        self.steps, self.episodes, self._total = rewards.size, last.size, sum(rewards.tolist())
        self._return, self._length = sum(rewards[since:].tolist()), rewards.size - since

    def begin(self, budget: Budget, policy: Callable[[], Acts]) -> None:
        """Begin a call of `learn`; `policy` gives what is to be evaluated."""
        self.books, self.unit = Books(budget.unit), budget.unit
        start = self.now
        self.end = start + budget.amount
        self._records = [start + time for time in budget.times(budget.record_every)]
        every = budget.evaluate_every
        self._evaluations = [start + time for time in budget.times(every)] if every else []
        self._policy = policy
        self._evaluate = self._evaluator() if every else None
        self.seconds = 0.0

    @property
    def now(self) -> int:
        """Steps or episodes so far, whichever the budget counts."""
        return self.steps if self.unit == "steps" else self.episodes

    @property
    def left(self) -> int | None:
        """Steps that may still be taken; None if episodes are counted."""
        return self.end - self.steps if self.unit == "steps" else None

    @property
    def over(self) -> bool:
        """Whether the call of `learn` has taken all its steps or episodes."""
        return self.now >= self.end

    @property
    def stops(self) -> list[int]:
        """Times of the evaluations to come, and the end."""
        return [time for time in self._evaluations if time > self.now] or [self.end]

    def add(self, rewards: FloatArray, ends: BoolArray) -> int:
        """Add steps with their rewards (n,), and whether each ended an episode (n,), until the call is over.

        Returns
        -------
        int
            How many were added.
        """
        counts_steps = self.unit == "steps"
        for number, (reward, ended) in enumerate(zip(rewards.tolist(), ends.tolist(), strict=True), start=1):
            self.steps += 1
            self._total += reward
            self._return += reward
            self._length += 1
            if ended:
                self.episodes += 1
                self.books.returns.append(self._return)
                self.books.lengths.append(self._length)
                self._return, self._length = 0.0, 0
            if counts_steps or ended:
                self._note()
                if self.over:
                    return number
        return len(rewards)

    def abandon_episode(self) -> None:
        """Forget the episode that has not ended."""
        self._return, self._length = 0.0, 0

    def _note(self) -> None:
        now = self.now
        if self._records and now == self._records[0]:
            del self._records[0]
            self.books.sums.append((now, self._total))
        if self._evaluations and now == self._evaluations[0]:
            del self._evaluations[0]
            found = self._value_of(now)
            self.books.values.append((now, found.value, found.total))

    def _value_of(self, now: int) -> Evaluation:
        policy = self._policy()
        assert self._evaluate is not None
        if not self.is_exact:
            return self._evaluate(self._as_probabilities(policy), now)
        table = self._table(policy)
        if not self._evaluations:
            self.books.ends = self._evaluate.ends(table)
        return self._evaluate(table, now)

    @property
    def is_exact(self) -> bool:
        """Whether policies are evaluated exactly: the model is known, and what is shown of each of its ids."""
        return self.shown is not None

    def _shown(self) -> FloatArray | None:
        """What is shown of each id of the model, as vectors (n_ids, d); None without a model of what is observed."""
        space = self.env.observation_space
        if self.model is None:
            return None
        if self.facts.vectors is not None:
            return self.facts.vectors.astype(np.float64)
        return np.arange(float(space.n))[:, None] if isinstance(space, gymnasium.spaces.Discrete) else None

    def states_of(self, seen: FloatArray) -> IndexArray:
        """The states (n,) of the model that are shown as vectors (n, d).

        Raises
        ------
        UnsuitableEnvironment
            If two states in which actions are taken are shown alike.
        ParameterError
            If a vector shows no state in which actions are taken.
        """
        found = [self._state_of.get(tuple(row), -1) for row in seen.tolist()]
        if -1 in found:
            row = seen[found.index(-1)].tolist()
            raise ParameterError(f"observation {row} is not one of a state of {self.facts.name} with legal actions")
        return np.array(found, dtype=np.int64)

    @cached_property
    def _state_of(self) -> dict[tuple[float, ...], int]:
        assert isinstance(self.model, MDP)
        assert self.shown is not None
        found: dict[tuple[float, ...], int] = {}
        for state in np.flatnonzero(self.model.legal.any(axis=1)).tolist():
            row = tuple(self.shown[state].tolist())
            if row in found:
                raise UnsuitableEnvironment(
                    f"{self.facts.name} shows states {found[row]} and {state} alike, as {list(row)}, so that its model "
                    "does not say what to do there; let it show the state, or learn with FittedQ from random actions"
                )
            found[row] = state
        return found

    def _evaluator(self) -> Evaluate:
        model, encode = (self.model, None) if self.is_exact else (None, cast(Any, _AsGiven))
        return evaluator(self.facts, model, self.gamma, self.seed, encode)

    def _table(self, policy: Acts) -> FloatArray:
        """The policy as probabilities (n_observations, n_actions)."""
        assert self.shown is not None
        n, n_actions = len(self.shown), self.n_actions
        legal = np.array(self.model.legal) if isinstance(self.model, MDP) else np.ones((n, n_actions), dtype=np.bool_)
        acting = np.flatnonzero(legal.any(axis=1))
        table = np.zeros((n, n_actions))
        if hasattr(policy, "action_probabilities"):
            table[acting] = policy.action_probabilities(self.shown[acting], legal[acting])
            return table
        space = cast(Any, self.env.observation_space)
        vectors = self.facts.vectors
        for row in acting.tolist():
            observation = row + int(space.start) if vectors is None else vectors[row].reshape(space.shape)
            table[row] = _probabilities_at(policy, observation, legal[row], self.first_action)
        return table

    def _as_probabilities(self, policy: Acts) -> Callable[[Any, Any], FloatArray]:
        n_actions = self.n_actions

        def probabilities(observation: Any, mask: Any) -> FloatArray:
            legal = np.ones(n_actions, dtype=np.bool_) if mask is None else np.asarray(mask) != 0
            return _probabilities_at(policy, observation, legal, self.first_action)

        return probabilities

    def record(self) -> Record:
        """The record of the present call of `learn`."""
        return self.books.record(self.seed, self.facts, self.model, self.optima, self.seconds)


def _probabilities_at(policy: Acts, observation: Any, legal: BoolArray, first_action: int) -> FloatArray:
    """Probabilities (n_actions,) of the actions at one observation."""
    if policy is None:
        return legal / legal.sum()
    act = getattr(policy, "act", policy)
    action = act(observation) if legal.all() or not takes_mask(act) else act(observation, action_mask=legal)
    found = np.zeros(legal.size)
    found[int(action) - first_action] = 1.0
    return found


class Iterative(Learner):
    """Base of learners that improve a policy in iterations, each of which plays: subclasses define `iterate`."""

    gamma: float

    def __post_init__(self) -> None:
        self.seed_: int
        self.record_: Record
        self._rng: np.random.Generator
        self._asked_for: str | Env | None = None
        self._experience: Experience | None = None
        self._ahead = 0  # steps of the iteration in progress that the run has noted
        self._finished: list[NDArray[np.void]] = []

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class can iterate; base classes cannot."""
        return cls.iterate is not Iterative.iterate

    def start(self, made: Env, seed: int) -> None:
        """Begin in another environment, or with another seed."""
        raise NotImplementedError

    def iterate(self, pool: Workers, run: Experience | None) -> None:
        """Play, and improve the policy, `noted` in the run if there is one."""
        raise NotImplementedError

    def evaluated(self) -> Acts:
        """What is evaluated during a run."""
        raise NotImplementedError

    @says_what_to_write
    def learn(
        self,
        env: str | Env,
        *,
        iterations: int | None = None,
        steps: int | None = None,
        episodes: int | None = None,
        seed: int | None = None,
        workers: int = 1,
        evaluate_every: int | None = None,
        record_every: int | None = None,
        regret: bool = False,
        progress: bool = False,
        optima: Optima | None = None,
    ) -> Self:
        """Improve the policy, and return self.

        Called again without a seed on the same environment, it goes on where it stopped: two parts give the
        bytes of the whole. With a seed, or on another environment, a new run begins with the policy found so far.

        Parameters
        ----------
        env : str or gymnasium.Env
            An id, ``module:Id``, ``file.py:Class``, or an instance, which is copied and left as it is.
        iterations : int
            How often it is improved; or
        steps, episodes : int
            how much may be played, by candidates or in rollouts. An iteration that is not over by then changes nothing
            yet.
        seed : int, optional
            Source of all randomness; drawn and kept in ``seed_`` if not given.
        workers : int
            Processes that play (joblib's; its ``parallel_config`` chooses others). The result is the
            same for any number of them.
        evaluate_every : int, optional
            Steps (or episodes) between two evaluations of the policy found so far; where there is none, of
            random actions.
        record_every : int, optional
            Steps (or episodes) between two records of the cumulative reward; by default there are about 200 records.
        regret : bool
            Solve the model, if there is one, and note the optimal value.
        progress : bool
            Show a progress bar.
        optima : Optima, optional
            A store of solved models to share between runs; implies `regret`.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        EnvironmentNotFound
            If no environment matches `env`.
        UnsuitableEnvironment
            If the policy cannot act in it, or it cannot be copied where that is needed.
        LearningError
            If the environment pays a reward that is not a finite number, or nothing can be learned; what was found
            until then is kept.
        """
        worker_number(workers)
        if iterations is None:
            budget = Budget.of(steps, episodes, evaluate_every, record_every)
        elif steps is episodes is evaluate_every is record_every is None:
            budget = whole_amount("iterations", iterations)
        else:
            raise errors.ParameterError("iterations= is a length of its own: give no steps=, episodes= or ..._every=")
        if seed is not None or env is not self._asked_for:
            sequence = np.random.SeedSequence(None if seed is None else whole_number("seed", seed, at_least=0))
            entropy = cast(int, sequence.entropy)
            self._made = find_env(env)
            self.start(self._made, entropy)
            self.seed_, self._rng = entropy, np.random.default_rng(sequence)
            self._asked_for, self._experience, self._ahead = env, None, 0
        with Workers(workers) as pool:
            if isinstance(budget, int):
                for _ in tqdm(range(budget), unit="iteration", disable=not progress):
                    self.iterate(pool, None)
                return self
            run = self._experience
            if run is None:
                run = Experience(self._made, self.gamma, self.seed_, optima or (Optima() if regret else None))
                self._experience = run
            began = time.perf_counter()
            run.begin(budget, self.evaluated)
            with tqdm(total=budget.amount, unit=budget.unit[:-1], disable=not progress) as bar:
                while not run.over:
                    before = run.now
                    self.iterate(pool, run)
                    bar.update(run.now - before)
        run.seconds = time.perf_counter() - began
        self.record_ = run.record()
        self._finished.append(episodes_of(self.record_))
        return self

    @contextmanager
    def noted(
        self, run: Experience | None, rewards: Sequence[FloatArray], ends: Sequence[BoolArray], state: Mapping[str, Any]
    ) -> Generator[bool]:
        """Note what an iteration has played, whose last step is noted with the policy that it leads to.

        Parameters
        ----------
        run
            Where; None for nowhere.
        rewards, ends
            Of all steps, in parts.
        state
            Of the generator, before the iteration.

        Yields
        ------
        bool
            Whether the policy may be improved; if not, the run is over, and the iteration will be repeated.
        """
        paid, ended = np.concatenate(rewards), np.concatenate(ends)
        last = paid.size - 1
        if run is not None:
            done = min(self._ahead, last) + run.add(paid[self._ahead : last], ended[self._ahead : last])
            if run.over:
                self._rng.bit_generator.state, self._ahead = state, done
                yield False
                return
        yield True
        self._ahead = 0
        if run is not None:
            run.add(paid[last:], ended[last:])

    @property
    def episodes_(self) -> NDArray[np.void]:
        """Return and length of all that was played in steps or episodes, fields "return" and "length"."""
        return np.concatenate([np.zeros(0, dtype=EPISODE), *self._finished])

    @property
    def steps_(self) -> int:
        """Steps of the present run so far."""
        return 0 if self._experience is None else self._experience.steps


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a seed for a separate generator."""
    return int(rng.integers(0, 2**31))
