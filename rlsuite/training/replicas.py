"""Many seeds of one agent on one table: what they share is looked up once, and each run is one call of the kernel.

A run by itself takes milliseconds before its first step: it makes an environment, reads its table, solves it and lays
out a memory. Here all of that is done once. A thread has one memory, which is made what it was at first before each
run, and two generators, which are set to the states that NumPy would give them for the seed. So a run costs some 30
microseconds beside its steps, the memory that is needed does not grow with the number of seeds but for the records, and
every record is that of a run by itself, byte for byte.

A table that is not known to be right is verified as in a run by itself (`rlsuite.training.verification`): some seeds,
which grow apart, are learned with by themselves, and must give the records that they have here.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, Self

import numpy as np

from rlsuite.core.compilation import no_machine_code
from rlsuite.core.seeding import pcg64_states, seed_words
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.environments.forms.form import Adapter
from rlsuite.models.aliases import AnyArray, BoolArray
from rlsuite.training import kernels
from rlsuite.training.acting import Policy
from rlsuite.training.budget import Budget
from rlsuite.training.engines import CHUNK, CompiledEngine, kernel_arguments
from rlsuite.training.evaluation import OnModel, evaluator
from rlsuite.training.failures import FailedRun
from rlsuite.training.first_steps import look_for_mistakes
from rlsuite.training.learned import Lookout
from rlsuite.training.legality import Legality
from rlsuite.training.optimum import Prediction
from rlsuite.training.results import Record, TimeUnit
from rlsuite.training.rule_answers import named_answers
from rlsuite.training.run import Run

BLOCK = 64
"""Seeds whose generators are prepared together."""


class Learning(Protocol):
    """What is asked of an agent."""

    def init_memory(self, legal: BoolArray, legality: Legality) -> Any:
        """Make an empty memory."""
        ...

    def measured(self, memory: Any) -> tuple[Callable[[], Policy], Callable[[], Prediction] | None]:
        """What gives the policy that is evaluated, and what the values learned so far, if these are measured."""
        ...


class Replicas:
    """Runs of one agent that differ in their seeds alone.

    Parameters
    ----------
    run : Run
        One such run, which has not begun to learn; its environment belongs to it.
    adapter : Adapter
        The compiled form of its environment.
    agent : Learning
        The agent.
    budget : Budget
        How long each run is.
    """

    def __init__(self, run: Run, adapter: Adapter, agent: Learning, budget: Budget):
        self.run = run
        self.adapter = adapter
        self.agent = agent
        self.budget = budget
        self.doubt: Record | FailedRun | None = None
        """A run by itself that differs from the one here; then none of these may be used."""

    @classmethod
    def of(cls, run: Run, agent: Learning, budget: Budget) -> Self | None:
        """Prepare the runs; None if the reset is not known to the last bit, or no run would end.

        Nor if they are evaluated, and the class of the environment is not known, or its model is not; nor without
        machine code, as threads would wait for each other.
        """
        adapter = run.form.adapter
        if run.engine.loop != "compiled" or no_machine_code():
            return None
        if budget.evaluate_every is not None:
            exact = isinstance(run.engine, CompiledEngine) and run.model_to_evaluate_on() is not None
            if not exact or (run.gamma == 1.0 and run.facts.time_limit == NO_LIMIT):
                return None
        if adapter is None or adapter.recording is not None or run.learner.view or not run.facts.only_transparent():
            return None
        if budget.unit == "episodes" and run.endless():
            return None
        # a reset that nobody knows is not called for this: it is compared in the seeds that are learned with twice
        seeds = (1, 2) if isinstance(run.engine, CompiledEngine) else ()
        for seed, state in zip(seeds, pcg64_states(seeds), strict=True):
            run.env.reset(seed=seed)
            expected = np.random.Generator(np.random.PCG64(0))
            expected.bit_generator.state = state
            adapter.functions.begin(adapter.functions.data, (), expected)
            if adapter.generator().bit_generator.state != expected.bit_generator.state:
                return None
        return cls(run, adapter, agent, budget)

    def runs(
        self,
        seeds: Sequence[int],
        workers: int,
        alone: Callable[[int], Record | FailedRun],
        done: Callable[[int], object],
        ends: Callable[[FailedRun], bool],
    ) -> dict[int, Record | FailedRun]:
        """Run all seeds.

        Parameters
        ----------
        seeds : sequence of int
        workers : int
            Threads.
        alone : callable
            Runs one seed by itself; asked where a run ends in an error, which it then returns.
        done : callable
            Receives how many runs have been finished since the last time.
        ends : callable
            Whether a failure ends it all; then the runs after it are missing.
        """
        self.run.engine.prepare()  # compiled here, and found by the threads
        twice = set[int]() if isinstance(self.run.engine, CompiledEngine) else _growing_apart(len(seeds))
        waiting = deque((first, seeds[first : first + BLOCK]) for first in range(0, len(seeds), BLOCK))
        runs: dict[int, Record | FailedRun] = {}
        stop = threading.Event()

        def work() -> None:
            replica = Replica(self, stop)
            while waiting and not stop.is_set():
                try:
                    first, block = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                for number, record in enumerate(replica.records(block), first):
                    if stop.is_set():
                        return
                    runs[number] = one = alone(seeds[number]) if record is None or number in twice else record
                    if record is not None and number in twice and not _same(record, one):
                        self.doubt = one
                        stop.set()
                        return
                    if isinstance(one, FailedRun) and ends(one):
                        stop.set()
                        return
                done(len(block))

        with ThreadPoolExecutor(workers) as pool:
            try:
                for task in [pool.submit(work) for _ in range(min(workers, len(waiting)))]:
                    task.result()
            finally:
                stop.set()  # after an error or Ctrl-C the other threads end, too
        return runs


def _growing_apart(n: int) -> set[int]:
    """The numbers of the seeds, of n, that are learned with twice: each after half as many as there were until then."""
    numbers, number = {n - 1}, 0
    while number < n:
        numbers.add(number)
        number += 1 + number // 2
    return numbers


def _same(record: Record, other: Record | FailedRun) -> bool:
    """Whether a run by itself went as the one here."""
    if not isinstance(other, Record) or other.loop != record.loop:
        return False
    pairs = [(value, vars(other)[name]) for name, value in vars(record).items()]
    return all(one.tobytes() == two.tobytes() for one, two in pairs if isinstance(one, np.ndarray))


class Replica:
    """The memory and the generators of one thread.

    Parameters
    ----------
    replicas : Replicas
        The runs.
    stop : Event
        Set by another thread: no run is completed.
    longest : float
        Seconds after which a run is given up, and none of the others is begun.
    """

    def __init__(self, replicas: Replicas, stop: threading.Event, longest: float = math.inf):
        self.run, self.stop, self.longest, budget = replicas.run, stop, longest, replicas.budget
        self.too_long = False
        """Whether a run was given up."""
        learner = replicas.run.learner
        self.memory = memory = replicas.agent.init_memory(learner.legal, learner.legality)
        self.run_state = kernels.new_run_state()
        self.agent_bits: Any = np.random.PCG64(0)  # its state is typed as a private class
        self.env_bits: Any = np.random.PCG64(0)
        rng, env_rng = np.random.Generator(self.agent_bits), np.random.Generator(self.env_bits)
        learner = learner._replace(memory=memory, rng=rng, run_state=self.run_state)
        self.initial = [
            (array, array.copy())
            for array in (*_arrays(memory), *self.run_state)
            if array is not learner.legal and array.flags.writeable
        ]
        self.lookout = Lookout(memory)
        self.unit: TimeUnit = budget.unit
        self.schedule = budget.schedule()
        self.evaluate = self.judge = None
        if budget.evaluate_every is not None:
            self.evaluate = evaluator(self.run.facts, self.run.model_to_evaluate_on(), self.run.gamma, 0, None)
        self.policy, self.prediction = replicas.agent.measured(memory)
        self.clock = kernels.ALL_STEPS if budget.unit == "steps" else kernels.ALL_EPISODES
        self.recorded, self.finished = np.empty((self.schedule.times.size, 2)), np.empty((min(CHUNK, budget.amount), 3))
        self.arguments: tuple[Any, ...] = kernel_arguments(
            learner, replicas.adapter, env_rng, self.run.facts.time_limit
        )
        arguments: tuple[Any, ...] = (*self.arguments, 0, *self._limits(self.schedule.times))
        look_for_mistakes(kernels.run_compiled, arguments)
        with named_answers(arguments):
            self.kernel: Callable[..., tuple[int, int, Any]] = kernels.run_compiled.for_types_of(*arguments)

    def _limits(self, due: AnyArray) -> tuple[Any, ...]:
        """The last arguments of the kernel."""
        return CHUNK, self.clock, due, self.recorded, self.finished

    def records(self, seeds: Sequence[int]) -> Iterator[Record | None]:
        """Run some seeds; None stands for a run that was ended by an error, stopped, or given up."""
        reset_seeds = seed_words(seeds, 1, child=1)[:, 0].tolist()
        for seed, agent_state, env_state in zip(
            seeds, pcg64_states(seeds, child=0), pcg64_states(reset_seeds), strict=True
        ):
            self.agent_bits.state, self.env_bits.state = agent_state, env_state
            for array, initial in self.initial:
                np.copyto(array, initial)
            yield None if self.too_long else self._record(seed)

    def _record(self, seed: int) -> Record | None:
        """Run one seed from the states that have been set."""
        finished: list[AnyArray] = []
        sums: list[AnyArray] = []
        evaluations: list[tuple[int, float, float, float]] = []
        state, seconds = 0, 0.0
        times, recorded = self.schedule[:2]
        n_episodes = reached = 0
        while reached < times.size:
            ahead = self.schedule.ahead(reached)
            began = time.perf_counter()
            code, n_recorded, state = self.kernel(*self.arguments, state, *self._limits(times[reached:ahead]))
            seconds += time.perf_counter() - began
            self.too_long = self.too_long or seconds > self.longest
            if code != kernels.FINE or self.stop.is_set() or self.too_long:
                return None
            before, n_episodes = n_episodes, int(self.run_state.position[kernels.ALL_EPISODES])
            finished.append(self.finished[: n_episodes - before].copy())
            sums.append(self.recorded[:n_recorded].copy())
            reached += n_recorded
            if self.evaluate is not None and reached == ahead:
                now = int(self.run_state.position[self.clock])
                found, error = self.evaluate(self.policy(), now), math.nan
                if self.prediction is not None:
                    self.judge, error = self.run.judged(self.judge, self.prediction())
                evaluations.append((now, found.value, found.total, error))
        if self.lookout.lost():
            return None
        measured = np.concatenate(sums)
        if times is not recorded:  # some are the times of evaluations only
            measured = measured[np.isin(times, recorded)]
        record = self.run.record_of(seed, self.unit, np.concatenate(finished), recorded, measured, seconds)
        if self.evaluate is None:
            return record
        ends, exact = self.evaluate.ends(self.policy()), isinstance(self.evaluate, OnModel)
        return self.run.with_evaluations(record, evaluations, self.prediction is not None, ends, exact)


def _arrays(memory: Any) -> Iterator[AnyArray]:
    """The arrays of a memory that a rule may find changed; see `EpisodeBuffer.written_first`."""
    written_first = getattr(memory, "written_first", ())
    fields: dict[str, Any] = memory._asdict()
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            if name not in written_first:
                yield value
        elif hasattr(value, "_asdict"):
            yield from _arrays(value)
