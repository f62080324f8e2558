"""Learning with many seeds of one agent at once."""

import copy
import dataclasses
import inspect
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gymnasium
from tqdm import tqdm

from rlsuite import errors
from rlsuite.core.aliases import Env, Info
from rlsuite.core.checks import seed_list, worker_number
from rlsuite.core.compilation import no_machine_code
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.core.keywords import says_what_to_write
from rlsuite.environments.facts import name_of
from rlsuite.environments.finding import find_env
from rlsuite.models.gymnasium_table import title_of
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.failures import FailedRun, always, ends_all, failure_table
from rlsuite.training.optimum import Optima
from rlsuite.training.processes import Seeds, with_seed
from rlsuite.training.replicas import Replicas
from rlsuite.training.results import Record, Results

if TYPE_CHECKING:
    from rlsuite.agents import Agent


@says_what_to_write
def train(
    agent: "Agent",
    env: str | Env,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    seeds: int | Sequence[int] = 10,
    workers: int = 1,
    loop: LoopChoice = "auto",
    tabulate: bool | None = None,
    evaluate_every: int | None = None,
    record_every: int | None = None,
    regret: bool = True,
    fail_fast: bool = False,
    progress: bool = False,
    label: str | None = None,
) -> Results:
    """Learn with many seeds; each record equals that of ``agent.learn(env, ..., seed=seed)`` on a new agent.

    On a table of Gymnasium's toy_text environments, of a `TabularEnv` or of ``rlsuite_envs``, everything but the
    steps themselves is done once for all seeds, so that a seed costs some 40 microseconds more than its steps and
    evaluations. With features, or in another environment, each seed begins from scratch, which takes some milliseconds.

    Parameters
    ----------
    agent : Agent or DQN
        Its parameters are used; it does not learn itself.
    env : str or gymnasium.Env
        As for `Agent.learn`; an instance is copied for each seed.
    steps, episodes : int
        How long each run is; one of the two.
    seeds : int or sequence of int
        Number of seeds (0, 1, ...), or the seeds.
    workers : int
        How many cores to use; the results do not depend on it. The compiled loop uses
        threads, the stepwise loop processes: this one, and others if there is enough work. The others get no more seeds
        if all together are not faster than this one alone. If the environment or the agent cannot be sent to a process,
        this process runs all seeds, and a warning says so.
    loop, tabulate, evaluate_every, record_every
        As for `Agent.learn`. A network has no compiled loop.
    regret : bool
        Solve the model, if there is one, and record regret and optimal value; networks record none.
    fail_fast : bool
        Raise the error of the first run that fails. By default all others are completed, and the failures are in
        ``failures`` of the results; an error is raised only if no run was completed.
    progress : bool
        Show a progress bar over the seeds.
    label : str, optional
        What the agent is called in figures and tables; by default its class. Agents in one figure need different ones.

    Returns
    -------
    Results
        One record per seed that was completed, in the order of the seeds; and the failures.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values, or the agent does not learn step by step from an environment.
    LearningError
        If all runs had to stop, or one with ``fail_fast``, as for `Agent.learn`; the message begins with the seed.

    Warns
    -----
    FailedRunsWarning
        If some runs had to stop.
    OneProcessWarning
        If seeds could not be learned in other processes.

    Examples
    --------
    >>> import rlsuite as rl
    >>> results = rl.train(rl.Sarsa(), "FrozenLake-v1", steps=1_000, seeds=3, workers=2)
    >>> [record.seed for record in results.records]
    [0, 1, 2]
    """
    budget = Budget.of(steps, episodes, evaluate_every, record_every, tabulate)
    budget.first_loop(loop)
    if isinstance(env, list | tuple):
        raise errors.ParameterError(
            f"env={env!r}: one environment at a time; call train once for each, or list them in an experiment file "
            "(rlsuite run FILE.toml)"
        )
    if not isinstance(env, str):
        find_env(env)  # which says what an environment is
    chosen = seed_list(seeds)
    worker_number(workers)
    optima = Optima() if regret else None
    options: dict[str, Any] = {
        "steps": steps,
        "episodes": episodes,
        "evaluate_every": evaluate_every,
        "record_every": record_every,
        **own_options(agent, loop, tabulate, optima),
    }
    run = _Run(agent, env, options)
    ends = always if fail_fast else ends_all
    where = env if isinstance(env, str) else title_of(env)
    bar = tqdm(total=len(chosen), unit="seed", disable=not progress, desc=where)
    with bar, CompilingTime() as compiling:
        first = replicas = None
        if len(chosen) > 1 and hasattr(agent, "first_run"):
            learner = dataclasses.replace(agent)
            with suppress(Exception):  # it will be raised again in the run of this seed
                first = learner.first_run(run.own_env(), chosen[0], loop, optima, budget)
            replicas = None if first is None else Replicas.of(first, learner, budget)
        runs: dict[int, Record | FailedRun] = {}
        if replicas is not None:
            runs = replicas.runs(chosen, workers, run, bar.update, ends)
            doubt = replicas.doubt
            if doubt is not None:  # the environment does something else than its table
                if isinstance(doubt, Record) and doubt.loop == "stepwise":
                    run.steps_because(doubt.loop_reason)
                bar.reset()
                runs = Seeds(run, chosen, workers, bar.update, ends).runs()
            elif isinstance(record := runs.get(0), Record):
                runs[0] = dataclasses.replace(record, compiling_seconds=compiling.seconds)
        elif no_machine_code() or (first is not None and first.engine.loop == "stepwise"):
            if first is not None and first.engine.loop == "stepwise":
                run.steps_because("" if loop == "stepwise" else first.form.reason)
            runs = Seeds(run, chosen, workers, bar.update, ends).runs()
        else:
            with ThreadPoolExecutor(workers) as pool:
                for number, one in enumerate(pool.map(run, chosen)):
                    runs[number] = one
                    bar.update()
                    if isinstance(one, FailedRun) and ends(one):
                        pool.shutdown(wait=False, cancel_futures=True)
                        break
    name = type(agent).__name__ if label is None else label
    ended = sorted(runs.items())
    records = [one for _, one in ended if isinstance(one, Record)]
    failed = {chosen[number]: one for number, one in ended if isinstance(one, FailedRun)}
    for seed, one in failed.items():
        if ends(one) or not records:
            raise with_seed(one.error, seed)
    failures = tuple(one.named(name, where, seed) for seed, one in failed.items())
    if failures:
        message = f"{failure_table(failures)}\nThe others were completed"
        warnings.warn(message, errors.FailedRunsWarning, stacklevel=errors.level_of_the_caller())
    return Results(name, where, records, failures, agent.gamma)


class _Run:
    """A run with one seed; it can be sent to another process, but for parts of an environment that cannot.

    Parameters
    ----------
    agent : Agent
        Its parameters are used.
    env : str or gymnasium.Env
        An instance is copied.
    options : dict
        Of its `learn`.
    """

    def __init__(self, agent: "Agent", env: str | Env, options: Info):
        self.agent, self.env, self.options = dataclasses.replace(agent), env, options
        self.loop_reason: str | None = None

    def __call__(self, seed: int) -> Record | FailedRun:
        """Learn; an error is returned."""
        learner = dataclasses.replace(self.agent)
        try:
            learner.learn(self.own_env(), seed=seed, **self.options)
        except Exception as error:  # any error of the environment
            steps: int | None = getattr(learner, "steps_", None)  # None if it keeps no count
            return FailedRun.of(error, None if steps is None else steps + 1)
        record = learner.record_
        return record if self.loop_reason is None else dataclasses.replace(record, loop_reason=self.loop_reason)

    def own_env(self) -> str | Env:
        """An environment that belongs to one run."""
        if isinstance(self.env, str):
            return self.env
        try:
            return copy.deepcopy(self.env)
        except Exception as error:  # whatever a class of another package raises
            raise errors.UnsuitableEnvironment(
                f"{name_of(self.env)} cannot be copied for each seed ({type(error).__name__}: {error}): give its id "
                "or 'file.py:Class', so that each run makes its own"
            ) from error

    def steps_because(self, reason: str) -> None:
        """Step the environment from now on, without looking for a compiled form, which was found not to exist."""
        self.options["loop"], self.loop_reason = "stepwise", reason

    def __getstate__(self) -> Info:
        """What the id means is sent, too: it may have been registered in the user's own script."""
        _, _, name = self.env.rpartition(":") if isinstance(self.env, str) else ("", "", "")
        return {**vars(self), "spec": gymnasium.registry.get(name)}

    def __setstate__(self, state: Info) -> None:
        spec = state.pop("spec")
        if spec is not None:
            if isinstance(spec.entry_point, str):  # its package may register the id, too, which is to come first
                import_module(spec.entry_point.partition(":")[0])
            gymnasium.registry[spec.id] = spec
        vars(self).update(state)


def _no_agent(found: object) -> str:
    """Sentence about what was given instead of an agent."""
    if isinstance(found, type) and hasattr(found, "learn"):
        return f"{found.__name__} is a class of agents: write {found.__name__}() to make one"
    if isinstance(found, list | tuple):
        return (
            "train takes one agent: rlsuite.compare(agents, env, steps=..., seeds=...) trains several, with the same "
            "seeds, and compares them"
        )
    return (
        f"{found!r} is not an agent that learns step by step from an environment; give one such as rlsuite.QLearning()"
    )


def own_options(agent: object, loop: LoopChoice, tabulate: bool | None, optima: Optima | None) -> dict[str, Any]:
    """Return what `learn` takes beside the options of every agent."""
    learn = getattr(agent, "learn", None)
    taken: Mapping[str, inspect.Parameter] = inspect.signature(learn).parameters if callable(learn) else {}
    options: Info = {"loop": loop, "tabulate": tabulate, "optima": optima}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return options
    if not {"env", "steps", "episodes", "seed"} <= taken.keys() or isinstance(agent, type):
        raise errors.ParameterError(_no_agent(agent))
    if loop == "compiled" and "loop" not in taken:
        raise errors.ParameterError(f"loop='compiled': {type(agent).__name__} has no compiled loop; leave it at 'auto'")
    if tabulate and "tabulate" not in taken:
        raise errors.ParameterError(f"tabulate=True: {type(agent).__name__} has no compiled loop; leave it out")
    return {name: value for name, value in options.items() if name in taken}
