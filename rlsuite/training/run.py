"""One learning run: an agent's memory, an environment, their generators, and the record of the run."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from rlsuite import errors
from rlsuite.core.aliases import Env, Observation, Space
from rlsuite.core.checks import one_of
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.environments.compiled_env import CompiledDynamics
from rlsuite.environments.facts import NO_LIMIT, EnvironmentFacts, action_space_of, facts_of, replaced_methods
from rlsuite.environments.followers import attribute_record
from rlsuite.environments.forms import Wish, form_of
from rlsuite.environments.forms.stepwise import NOT_ASKED_FOR, Stepwise
from rlsuite.environments.observation_ids import ObservationIds
from rlsuite.environments.observation_view import Encoding, ObservationView, View
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.gymnasium_table import same_table
from rlsuite.training.acting import Policy, legal_in
from rlsuite.training.budget import LOOPS, PATIENCE, Budget, LoopChoice
from rlsuite.training.engines import CHUNK, CompiledEngine, Learner
from rlsuite.training.evaluation import OnModel, evaluator
from rlsuite.training.expected_rewards import ExpectedRewards, return_range, reward_limits
from rlsuite.training.kernels import (
    ALL_EPISODES,
    ALL_STEPS,
    OBSERVATION,
    Rule,
    new_run_state,
)
from rlsuite.training.legality import Legality, every_action, listed_actions
from rlsuite.training.optimum import NOT_ASKED, Optima, Optimum, Prediction, ValueErrors, value_errors, without_model
from rlsuite.training.results import UNKNOWN, Record, TimeUnit
from rlsuite.training.run_log import Keeping, RunLog
from rlsuite.training.signals import EndingSignals, Stopped
from rlsuite.training.step_buffer import first_answer
from rlsuite.training.stepping import EnvironmentEngine
from rlsuite.training.verification import VerifiedEngine

LONG = 10.0
"""Seconds of stepping after which it is said that a table might be faster."""


def _parts(facts: EnvironmentFacts) -> tuple[EnvironmentFacts, list[object], list[object]]:
    """An environment, what its attributes say; and its wrappers, their replaced methods, and the vectors it shows."""
    layers: list[object] = [facts.vectors]
    for layer in facts.wrappers:
        layers += [layer, *(vars(layer)[method] for method in replaced_methods(layer))]
    return facts, list(attribute_record(facts.base).items()), layers


class Watch:
    """Whether an environment has changed since its compiled form was made.

    The compiled loop runs on a table that was read, and checked, when the run began. Between two calls of `learn` a
    user may edit ``env.unwrapped.P``, assign another model, or set an attribute that `step` reads. So everything that
    could have been changed is recorded at the end of every call and compared at the start of the next: a fraction of a
    millisecond for a small table.

    Parameters
    ----------
    model : MDP, POMDP or None
        What was read from the environment's table, if it has one.
    """

    def __init__(self, model: MDP | POMDP | None):
        self.table = model if isinstance(model, MDP) else None
        self.recorded: tuple[EnvironmentFacts, list[object], list[object]] | None = None
        """What the environment was at the end of the last call of `learn`; None before the first."""

    def record(self, env: Env) -> None:
        """Record the environment at the end of a call of `learn`."""
        self.recorded = _parts(facts_of(env))

    def unchanged(self, facts: EnvironmentFacts) -> bool:
        """Whether nothing has been changed since the last record; True before the first one."""
        if self.recorded is None:
            return True
        former, attributes, layers = self.recorded
        _, now, present = _parts(facts)
        return (
            facts.model is former.model
            and facts.time_limit == former.time_limit
            and now == attributes
            and [*map(id, present)] == [*map(id, layers)]
            and _same(facts.dynamics, former.dynamics)
            and (
                isinstance(facts.model, MDP | POMDP)
                or self.table is None
                or same_table(facts.env, self.table.rows, self.table.start)
            )
        )


def _same(one: CompiledDynamics | None, other: CompiledDynamics | None) -> bool:
    """Whether two descriptions of compiled dynamics have the same functions and equal constants."""
    if one is None or other is None:
        return one is other
    functions = all(getattr(one, part) is getattr(other, part) for part in ("begin", "step", "observe"))
    old, new = one.constants, other.constants
    return functions and len(old) == len(new) and all(map(np.array_equal, old, new))


class Run:
    """An agent's experience in one environment; `learn` may be called again and continues where it stopped.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; it is reset with a seed derived from ``seed``.
    rule : Rule
        The agent's two functions.
    init_memory : callable
        ``init_memory(legal, legality) -> memory``: the agent's memory for a table of legal pairs (n_observations,
        n_actions), and the function that looks it up. For an agent that is shown vectors the table has two rows, of the
        present and the next observation.
    gamma : float
        The agent's discount.
    seed : int
        Source of the agent's and the environment's generators.
    loop : {"auto", "compiled", "stepwise"}
        Which loop to use.
    optima : Optima or None
        Where the optimal values come from that regret is measured against; None for no regret.
    encode : Encoding or None
        How observations become vectors, for an agent that is shown vectors; None for one that is shown ids.
    expected : ExpectedRewards or None
        The range of rewards that the agent expects; None for any.
    patience : float
        Seconds that may be spent on tabulating an environment that has no table.
    like : Run, optional
        Another run in the same environment, of a known class, with the same discount and loop, of an agent that is
        shown ids: what was found out about the environment holds here, too.
    """

    def __init__(
        self,
        env: Env,
        rule: Rule,
        init_memory: Callable[[BoolArray, Legality], Any],
        gamma: float,
        seed: int,
        loop: LoopChoice,
        optima: Optima | None,
        encode: Encoding | None = None,
        expected: ExpectedRewards | None = None,
        patience: float = 0.0,
        like: "Run | None" = None,
    ):
        one_of("loop", loop, LOOPS)
        n_actions = int(action_space_of(env).n)
        observations = ObservationIds(env.observation_space) if encode is None else None
        self.seed = seed
        agent_seed, env_seed, self.act_seed = np.random.SeedSequence(seed).spawn(3)
        self.env = env
        self.gamma = gamma
        self.encode = encode
        self.expected = expected
        observation, info = first_answer(env, int(env_seed.generate_state(1)[0]))

        # a table says which actions are legal for each id; otherwise the environment says it at every step
        self.facts = facts = facts_of(env) if like is None else like.facts
        masked = facts.has_action_mask(info) and (encode is not None or not facts.has_table)
        self.patience = patience
        self.form = form_of(facts, Wish(gamma, loop, encode, masked, patience)) if like is None else like.form
        model = self.form.model
        self.mask_info = info if masked else None
        self.first_info = info
        legal = np.ones((2 if observations is None else int(observations.n), n_actions), dtype=np.bool_)
        view: View = ()
        index = 0
        if observations is not None:
            index = _index(observation, observations, self.name)
            if isinstance(model, MDP):
                legal[:] = model.legal
        elif encode is not None:
            first = _vector(observation, encode, env.observation_space, self.name)
            view = ObservationView(np.stack([first, first]), first, legal)
        legality = listed_actions if masked or not legal.all() else every_action
        self.optima = optima
        self.optimum = self._optimum()
        self._check_rewards()
        gap = self.optimum.gap if encode is None else np.zeros((0, 0))
        agent_rng = np.random.default_rng(agent_seed)
        memory = init_memory(legal, legality)
        self.learner = Learner(rule, memory, view, legal, legality, gap, agent_rng, new_run_state())
        self.learner.run_state.position[OBSERVATION] = index
        if masked:
            legal[index] = legal_in(info, n_actions, f"{self.name}, reset:")
        self.log = RunLog("steps")
        self.watch = Watch(self.form.model)
        self.use(loop)

    def use(self, loop: LoopChoice, patience: float = PATIENCE) -> None:
        """Switch to a loop, at the beginning or in the middle of the run; with this many seconds for tabulating."""
        if loop == "compiled" and self.form.adapter is None:
            masked = self.mask_info is not None
            self.form = form_of(self.facts, Wish(self.gamma, loop, self.encode, masked, patience))
        self.loop: LoopChoice = loop
        self.engine = self._engine()

    def _engine(self) -> CompiledEngine | EnvironmentEngine | VerifiedEngine:
        """Make the engine for the form of the environment and the loop."""
        form, compiles = self.form, self.form.adapter is not None and self.loop != "stepwise"
        info = {} if self.learner.run_state.position[ALL_STEPS] else self.first_info
        follower = form.follower(self.facts) if compiles or form.model is not None else None
        if follower is not None:
            loop = "compiled" if compiles else "stepwise"
            return VerifiedEngine(self.facts, form, follower, self.learner, self.mask_info, self.encode, info, loop)
        if form.adapter is not None and compiles:
            return CompiledEngine(self.facts, form.adapter, self.learner)
        expected = self.expected if form.model is None else None
        return EnvironmentEngine(self.facts, self.learner, self.mask_info, self.encode, info, expected)

    def learn(
        self,
        budget: Budget,
        policy: Callable[[], Policy],
        progress: bool,
        keeping: Keeping | None = None,
        prediction: Callable[[], Prediction] | None = None,
    ) -> None:
        """Learn; `record` returns the results, even if an error or Ctrl-C ended it early.

        Parameters
        ----------
        budget : Budget
            How long, and how often to record and evaluate.
        policy : callable
            Gives the agent's present greedy policy for the evaluations: probabilities (n_observations, n_actions), or
            a function from a vector to probabilities (n_actions,).
        progress : bool
            Show a progress bar with episodes, mean return of the last 100, steps per second and the time left.
        keeping : Keeping or None
            How the run is kept meanwhile.
        prediction : callable or None
            Gives the state values that the agent has learned so far, if it evaluates a policy.
        """
        self.log = RunLog(budget.unit)
        self._look_again()
        if budget.unit == "episodes" and self.endless():
            raise errors.ParameterError(
                f"no episode of {self.name} can end: no transition terminates it and it has no time limit; use steps= "
                "instead of episodes="
            )
        signals = EndingSignals(also_default=keeping is not None)
        try:
            with signals:
                try:
                    before = int(self.learner.run_state.position[ALL_STEPS])
                    self._advance(budget, policy, progress, signals, keeping, prediction)
                    self._say_how_fast(int(self.learner.run_state.position[ALL_STEPS]) - before)
                except Stopped:
                    if keeping is not None and not keeping.stop.is_set():
                        keeping.save()
                    raise
        finally:
            # in the compiled loop an environment with a table changes in its state alone: the last record still holds
            known = isinstance(self.engine, CompiledEngine) and self.facts.comes_with_table
            if self.watch.recorded is None or not known:
                self.watch.record(self.env)

    def _say_how_fast(self, steps: int) -> None:
        """Say after many steps of an environment that might have had a table how fast they were."""
        seconds = self.log.seconds
        if seconds > LONG and self.loop == "auto" and self.form.reason == NOT_ASKED_FOR:
            message = f"{self.name} was stepped, {steps / seconds:,.0f} steps per second: {NOT_ASKED_FOR}"
            warnings.warn(message, errors.StepwiseWarning, stacklevel=errors.level_of_the_caller())

    def _advance(
        self,
        budget: Budget,
        policy: Callable[[], Policy],
        progress: bool,
        signals: EndingSignals,
        keeping: Keeping | None,
        prediction: Callable[[], Prediction] | None,
    ) -> None:
        """Learn from one time to the next, and record what is measured at each."""
        position = self.learner.run_state.position
        clock = ALL_STEPS if budget.unit == "steps" else ALL_EPISODES
        log = self.log
        start = int(position[clock])
        log.times, log.record_times, _ = schedule = budget.schedule(start)
        times = log.times
        evaluate = judge = None
        if budget.evaluate_every:
            evaluate = evaluator(self.facts, self.model_to_evaluate_on(), self.gamma, self.seed, self.encode)
        bar: Any = nullcontext()  # tqdm's types are incomplete; and even a disabled bar starts a thread
        if progress:
            bar = tqdm(
                total=budget.amount, unit=budget.unit[:-1], desc="compiling" if self.loop == "compiled" else self.name
            )
        with bar:
            if self.loop == "compiled":
                self.engine.prepare()
            self._tell(signals, int(times[-1]) if clock == ALL_STEPS else None)
            if keeping is not None:
                keeping.begin()
            while log.reached < times.size:
                ahead = schedule.ahead(log.reached)
                most = CHUNK if keeping is None else keeping.steps_at_once()
                began, steps = time.perf_counter(), int(position[ALL_STEPS])
                signals.in_step = True
                with CompilingTime(loading=True) as preparing:  # a run begins in Python, and compiles on the way
                    outcome = self.engine.advance(clock, times[log.reached : ahead], most)
                log.seconds += time.perf_counter() - began - preparing.seconds
                log.add(outcome)
                signals.in_step = keeping is not None  # what is kept has the evaluation that is due, too
                if outcome.error is not None:
                    raise outcome.error
                if outcome.difference:
                    self._step_from_here(outcome.difference, outcome.back)
                    self._tell(signals)
                    if evaluate is not None:  # what the table said is void
                        log.evaluations.clear()
                        evaluate, judge = evaluator(self.facts, None, self.gamma, self.seed, self.encode), None
                took = time.perf_counter() - began
                if self.expected is not None:
                    self.expected.report(self.name)
                if progress:
                    bar.set_description(self.name, refresh=False)
                    bar.set_postfix(log.summary(), refresh=False)
                    bar.update(int(position[clock]) - start - bar.n)
                if evaluate is not None and log.reached == ahead:
                    found, error = evaluate(policy(), int(position[clock])), math.nan
                    if prediction is not None:
                        judge, error = self.judged(judge, prediction())
                        log.follows = True
                    log.evaluations.append((int(position[clock]), found.value, found.total, error))
                signals.in_step = False
                if log.reached == times.size:
                    break
                signals.check()
                if keeping is not None:
                    keeping.record(int(position[ALL_STEPS]) - steps, took)
                    if keeping.stop.is_set():
                        keeping.save()
                        raise Stopped
            if isinstance(self.engine, VerifiedEngine) and (difference := self.engine.finish()):
                self._step_from_here(difference)
            if evaluate is not None:
                log.ends, log.exact = evaluate.ends(policy()), isinstance(evaluate, OnModel)
        if keeping is not None and keeping.at_ends:
            keeping.save()

    def _tell(self, signals: EndingSignals, end: int | None = None) -> None:
        """Tell the engine when to stop early, and when the run is over, in steps, if that is known."""
        if isinstance(self.engine, EnvironmentEngine | VerifiedEngine):
            self.engine.stop = signals.come
        if isinstance(self.engine, VerifiedEngine):
            self.engine.end = end

    def _step_from_here(self, difference: str, back: bool = False) -> None:
        """Continue stepwise, as the environment differs from its compiled form."""
        reason = f"{self.name}: {difference}"
        steps = int(self.learner.run_state.position[ALL_STEPS])
        again = f", again from step {steps:,}, up to which they agree" if back else ""
        if self.loop != "stepwise":
            warnings.warn(
                f"{reason}. Learning stepwise{again}.",
                errors.StepwiseWarning,
                stacklevel=errors.level_of_the_caller(),
            )
        self.form = Stepwise(self.facts, reason)
        self.optimum = self._optimum()
        self.learner = self.learner._replace(gap=np.zeros((0, 0)))
        self.watch = Watch(None)
        self.engine = self._engine()

    def record(self, compiling_seconds: float = 0.0) -> Record:
        """Return the record of the last call of `learn`, for which numba compiled so long."""
        log = self.log
        sums = np.concatenate([np.empty((0, 2)), *log.sums])
        reached = log.times[: len(sums)]
        if log.times is not log.record_times:  # some are the times of evaluations only
            due = np.isin(reached, log.record_times)
            reached, sums = reached[due], sums[due]
        record = self.record_of(
            self.seed, log.unit, np.concatenate(log.finished), reached, sums, log.seconds, compiling_seconds
        )
        return (
            self.with_evaluations(record, log.evaluations, log.follows, log.ends, log.exact)
            if log.evaluations
            else record
        )

    def judged(self, judge: ValueErrors | None, learned: Prediction) -> tuple[ValueErrors | None, float]:
        """How far learned state values are from the exact ones, and what measures it, made at the first time."""
        judge = judge or value_errors(self.form.judged, self.facts.time_limit, learned)
        return judge, math.nan if judge is None else judge.of(learned.value)

    def with_evaluations(
        self, record: Record, found: Sequence[tuple[float, ...]], follows: bool, ends: float | None, exact: bool
    ) -> Record:
        """Add evaluations to a record: their times, values, returns and errors; and their bounds, if they are exact."""
        evaluations = np.array(found)
        value = total = UNKNOWN
        if self.optima is not None and exact and self.form.judged is not None:
            value, total = self.optima.bounds(self.form.judged, self.facts.time_limit)
            if isinstance(self.form.judged, POMDP) and self.optimum.value is not None:  # that of its states is higher
                value = value._replace(high=self.optimum.value)
        return replace(
            record,
            evaluation_time=evaluations[:, 0].astype(np.int64),
            evaluation=evaluations[:, 1],
            evaluation_return=evaluations[:, 2],
            follows=follows,
            value_error=evaluations[:, 3] if np.isfinite(evaluations[:, 3]).all() else np.zeros(0),
            end_probability=ends,
            value_bounds=value,
            return_bounds=total,
        )

    def record_of(
        self,
        seed: int,
        unit: TimeUnit,
        finished: FloatArray,
        reached: IndexArray,
        sums: FloatArray,
        seconds: float,
        compiling_seconds: float = 0.0,
    ) -> Record:
        """Record a run that has recorded its finished episodes (n, 3), and reward and regret (m, 2) at times (m,)."""
        model = None if self.optima is None else self.form.judged
        with_regret = slice(None) if self.learner.gap.size else slice(0)
        return Record(
            seed=seed,
            loop=self.engine.loop,
            loop_reason="" if self.loop == "stepwise" else self.form.reason,
            unit=unit,
            episode_return=finished[:, 0],
            episode_length=finished[:, 2].astype(np.int64),
            episode_regret=finished[with_regret, 1],
            time=reached,
            cumulative_reward=sums[:, 0],
            regret=sums[with_regret, 1],
            optimal_value=self.optimum.value,
            return_range=UNKNOWN if model is None else return_range(model, self.facts.time_limit),
            optimum_unknown=self.optimum.unknown,
            seconds=seconds,
            compiling_seconds=compiling_seconds,
        )

    def _look_again(self) -> None:
        """Check whether the environment has been changed since the last call of `learn`."""
        if self.watch.recorded is None:
            return
        self.facts = facts_of(self.env)
        if self.form.adapter is not None and not self.watch.unchanged(self.facts):
            self._form_again()
        self.engine.resume(self.facts)

    def _form_again(self) -> None:
        """Read the environment's table again, which has changed, and check it against `step` again."""
        masked = self.mask_info is not None
        self.form = form_of(self.facts, Wish(self.gamma, self.loop, self.encode, masked, self.patience))
        self.watch = Watch(self.form.model)
        learner = self.learner
        if self.encode is None:
            learner.legal[:] = self.form.model.legal if isinstance(self.form.model, MDP) else True
            if not learner.legal.all():
                learner = learner._replace(legality=listed_actions)
                if "legality" in learner.memory._fields:
                    learner = learner._replace(memory=learner.memory._replace(legality=listed_actions))
        self.optimum = self._optimum()
        self._check_rewards()
        gap = self.optimum.gap if self.encode is None else np.zeros((0, 0))
        self.learner = learner._replace(gap=gap)
        self.use(self.loop)

    def _optimum(self) -> Optimum:
        """The optimum, or why it is unknown."""
        if self.optima is None:
            return NOT_ASKED
        if self.form.hidden is not None:
            return self.optima.of_hidden(self.form.hidden, self.facts.name)
        return without_model(self.facts) if self.form.judged is None else self.optima.of(self.form.judged)

    def model_to_evaluate_on(self) -> MDP | POMDP | None:
        """The model by which policies are evaluated exactly; None for episodes."""
        declared = self.form.model
        if declared is not None or (self.gamma == 1.0 and self.facts.time_limit == NO_LIMIT):
            return declared
        return self.form.judged

    def _check_rewards(self) -> None:
        """Warn if the model has rewards that the agent does not expect."""
        if self.expected is None:
            return
        limits = self.form.rewards if self.form.model is None else reward_limits(self.form.model)
        if limits is not None:
            self.expected.check(*limits, self.name)

    def endless(self) -> bool:
        """Whether no episode can ever end in the model."""
        mdp = self.form.mdp
        return mdp is not None and self.facts.time_limit == NO_LIMIT and not mdp.terminated.any()

    @property
    def name(self) -> str:
        """Id of the environment, or the name of its class."""
        return self.facts.name


def _index(observation: Observation, observations: ObservationIds, name: str) -> int:
    """Index of a first observation among the rows of a table."""
    try:
        return observations.id_of(observation)
    except ValueError as error:
        raise errors.LearningError(
            f"{name}: reset returned observation {observation!r}, which is not in {observations.space}"
        ) from error


def _vector(observation: object, encode: Encoding, space: Space, name: str) -> FloatArray:
    """The vector of a first observation."""
    if not space.contains(observation):
        raise errors.LearningError(f"{name}: reset returned observation {observation!r}, which is not in {space}")
    return np.array(encode.encode(observation), dtype=np.float64)
