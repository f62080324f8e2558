"""Learning cells of one agent in one environment, in whatever thread, process or machine.

What the cells share is prepared once: the environment, and what was found out about it, for all agents; the memory and
the compiled loop for all seeds of an agent (`rlsuite.training.replicas`). That is done where the table, or the
dynamics, of the environment are known to be right. In any other environment each cell begins from scratch, so that what
it finds out does not depend on the cells before it.
"""

import copy
import dataclasses
import functools
import json
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium

from rlsuite.agents import Agent
from rlsuite.core.modules import check_content
from rlsuite.core.narrowing import Table
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import closed, find_env
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.experiments.checkpoints import CellCheckpoint, learn_cell
from rlsuite.experiments.limits import Limits
from rlsuite.experiments.runs import Case
from rlsuite.experiments.writing import versions
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.failures import FailedRun
from rlsuite.training.optimum import Optima
from rlsuite.training.processes import unpickled
from rlsuite.training.replicas import Replica, Replicas
from rlsuite.training.results import Record
from rlsuite.training.run import Run
from rlsuite.training.signals import Stopped
from rlsuite.training.train import own_options

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

MANY = 200
"""Cells from which on it pays to load the compiled loop, also for runs that would be over before it is loaded."""

LONG = 2.0
"""Seconds of a run from which on it is one by itself, which is saved from time to time."""

MOST_KEPT = 8
"""Environments, and agents in them, that a thread has ready."""


class Outcomes(NamedTuple):
    """What has become of some cells."""

    runs: list[tuple[int, Record | FailedRun]]
    """By seed; fewer than were asked for, if the run was stopped."""
    seconds: float
    learning: float
    """Seconds of these in compiled loops, in which other threads can go on."""
    versions: Mapping[str, str]
    warned: list[tuple[type[Warning], str]]
    agents: Mapping[int, bytes]
    """Files of the agents by seed, if they are kept."""
    unreadable: str = ""
    """Why what was sent could not be read, if so."""


class Bench(threading.local):
    """What a thread has ready for an experiment."""

    def __init__(self) -> None:
        self.experiment = ""
        self.environments: OrderedDict[str, tuple[Env, bool]] = OrderedDict()
        self.firsts: OrderedDict[tuple[str, float], Run] = OrderedDict()
        self.replicas: OrderedDict[str, Replica] = OrderedDict()

    def clear(self, experiment: str) -> None:
        """Clear away what belongs to another experiment."""
        if self.experiment != experiment:
            self.experiment = experiment
            for kept in (self.environments, self.firsts, self.replicas):
                kept.clear()


_bench = Bench()
_optima: dict[str, Optima] = {}
running: dict[int, Agent] = {}
"""The agents that learn in threads of this process."""


class Work:
    """One agent in one environment; it can be sent to another process.

    Parameters
    ----------
    case : Case
        The agent and the environment.
    timing, loop, regret
        Of the experiment.
    folder : Path
        Of the experiment, for checkpoints where it exists.
    experiment : str
        What tells this run of the experiment apart from others.
    many : bool
        Whether to prepare once what the cells share.
    keep : {"records", "agents"}
        Whether agents are kept.
    made_with : mapping
        The versions in this process.
    limits : Limits
        Of each cell; with some, each begins from scratch.
    """

    def __init__(
        self,
        case: Case,
        timing: Table,
        loop: LoopChoice,
        regret: bool,
        folder: Path,
        experiment: str,
        many: bool,
        keep: str,
        made_with: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self.agent = dataclasses.replace(case.agent.agent)
        self.env_id, self.keywords, self.files = case.env_id, case.keywords, case.files
        self.pair, self.spec = case.pair, case.spec
        self.timing, self.regret, self.folder = timing, regret, folder
        self.loop: LoopChoice = loop
        self.experiment, self.keep, self.made_with, self.limits = experiment, keep, made_with, limits
        self.many = many and keep == "records" and limits == Limits()
        self.own_loop = type(self.agent).learn is not Agent.learn

    def __call__(self, seeds: Sequence[int], stop: threading.Event) -> Outcomes:
        """Learn with some seeds; an error is an outcome, too."""
        began = time.perf_counter()
        runs: list[tuple[int, Record | FailedRun]] = []
        agents: dict[int, bytes] = {}
        _bench.clear(self.experiment)
        try:
            for seed, record in zip(seeds, self._together(_bench, seeds, stop), strict=True):
                runs.append((seed, self._alone(_bench, seed, stop, agents) if record is None else record))
                if stop.is_set():
                    break
        except Stopped:  # by `stop`; the run has been saved
            pass
        learning = sum(one.seconds for _, one in runs if isinstance(one, Record) and one.loop == "compiled")
        return Outcomes(runs, time.perf_counter() - began, learning, self.made_with, [], agents)

    def _together(self, bench: Bench, seeds: Sequence[int], stop: threading.Event) -> Iterator[Record | None]:
        """The records of runs that need not be learned one by one; None of the others."""
        replica = self._replica(bench, seeds[0], stop) if self.many else None
        if replica is None:
            for _ in seeds:
                yield None
        else:
            for record in replica.records(seeds):
                if record is None and stop.is_set():
                    raise Stopped
                yield record

    def _replica(self, bench: Bench, seed: int, stop: threading.Event) -> Replica | None:
        """What learns with many seeds; None if each run begins from scratch."""
        if self.own_loop or self.loop == "stepwise":
            return None
        key = json.dumps([self.pair, self.spec])
        if (replica := bench.replicas.get(key)) is not None:
            return replica
        try:
            env, known = self._environment(bench)
            if not known:
                return None
            agent, budget, of = dataclasses.replace(self.agent), Budget.of(**self.timing), (self._key, self.agent.gamma)
            first = agent.first_run(env, seed, self.loop, self._optima(), budget, bench.firsts.get(of))
            replicas = None if first is None else Replicas.of(first, agent, budget)
            if first is None or replicas is None:
                return None
            _keep(bench.firsts, of, first)
            replica = Replica(replicas, stop, LONG)
        except Exception:  # whatever it is, a run by itself says it, with its seed
            return None
        _keep(bench.replicas, key, replica)
        return replica

    def _alone(self, bench: Bench, seed: int, stop: threading.Event, agents: dict[int, bytes]) -> Record | FailedRun:
        agent = dataclasses.replace(self.agent)
        running[threading.get_ident()] = agent

        try:
            env, known = self._environment(bench)
            own = env if known else self._copy(env)
            with nullcontext() if known else closed(own):
                record = self._learn(agent, own, seed, stop)
                if self.keep == "agents":
                    agents[seed] = file_of(agent)
        except Exception as error:  # any error of the environment or the agent
            steps: int | None = getattr(agent, "steps_", None)
            return FailedRun.of(error, None if steps is None else steps + 1)
        finally:
            del running[threading.get_ident()]
        return record

    def _learn(self, agent: Agent, env: "Env", seed: int, stop: threading.Event) -> Record:
        optima = self._optima()
        if self.own_loop:
            options = {**self.timing, **own_options(agent, self.loop, None, optima)}
            agent.learn(env, **options, seed=seed)
            return agent.record_
        checkpoint = CellCheckpoint(self.folder, self.pair, seed, self.spec, self.made_with)
        return learn_cell(
            agent, env, Budget.of(**self.timing), seed, self.loop, optima, checkpoint, stop, self.limits.begin()
        )

    @property
    def _key(self) -> str:
        return json.dumps([self.env_id, self.keywords], sort_keys=True)

    def _environment(self, bench: Bench) -> tuple["Env", bool]:
        """The environment, and whether all runs can share it."""
        found = bench.environments.get(self._key)
        if found is None:
            env = self._made()
            facts = facts_of(env)
            found = env, is_known_kind(facts) and facts.only_transparent()
        _keep(bench.environments, self._key, found)
        return found

    def _copy(self, env: "Env") -> "Env":
        """An environment for one run; copying is cheaper than building a model again."""
        try:
            return copy.deepcopy(env)
        except (TypeError, ValueError, RuntimeError):  # a window, a file or a thread cannot be copied
            return self._made()

    def _made(self) -> "Env":
        for path, held in self.files.items():
            check_content(Path(path), held)
        return find_env(self.env_id, **self.keywords)

    def _optima(self) -> Optima | None:
        if not self.regret:
            return None
        if self.experiment not in _optima:
            _optima.clear()
        return _optima.setdefault(self.experiment, Optima())

    def __getstate__(self) -> dict[str, Any]:
        """What the id means is sent, too: it may have been registered in the user's own script."""
        _, _, name = self.env_id.rpartition(":")
        return {**vars(self), "registered": gymnasium.registry.get(name)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        registered = state.pop("registered")
        if registered is not None:
            if isinstance(registered.entry_point, str):  # its package may register the id, too, and is to come first
                import_module(registered.entry_point.partition(":")[0])
            gymnasium.registry[registered.id] = registered
        vars(self).update(state, made_with=_own_versions())


def file_of(agent: Agent) -> bytes:
    """The file of an agent that has learned, without the state of its run."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "agent.npz"
        copy.copy(agent).save(file)
        return file.read_bytes()


@functools.cache
def _own_versions() -> Mapping[str, str]:
    return versions()


def _keep(kept: "OrderedDict[Any, Any]", key: object, value: object) -> None:
    """Keep what was used last."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)


_received: dict[bytes, Work] = {}
"""What was sent to this process."""

MOST_RECEIVED = 1_000


def serve(payload: bytes, seeds: Sequence[int]) -> Outcomes:
    """Learn in another process."""
    work = _received.get(payload)
    if work is None:
        if len(_received) >= MOST_RECEIVED:
            _received.clear()
        try:
            work = unpickled(payload)
        except Exception as error:  # whatever the parts of an environment raise
            return Outcomes([], 0.0, 0.0, {}, [], {}, f"{type(error).__name__}: {error}")
        _received[payload] = work
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outcomes = work(seeds, threading.Event())
    return outcomes._replace(warned=list(dict.fromkeys((one.category, str(one.message)) for one in said)))
