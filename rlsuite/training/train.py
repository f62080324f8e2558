"""Learning with many seeds of one agent at once."""

import copy
import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from rlsuite import errors
from rlsuite.core.aliases import Env, Info
from rlsuite.core.checks import seed_list, whole_number
from rlsuite.core.compiling_clock import CompilingTime
from rlsuite.core.keywords import says_what_to_write
from rlsuite.training.optimum import Optima
from rlsuite.training.results import Record, Results
from rlsuite.training.run import Budget, LoopChoice

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
    evaluate_every: int | None = None,
    checkpoint_every: int | None = None,
    regret: bool = True,
    progress: bool = False,
    label: str | None = None,
) -> Results:
    """Learn with many seeds; each record is that of ``agent.learn(env, ..., seed=seed)`` on a new agent.

    On a table of Gymnasium's toy_text environments, of a `TabularEnv` or of ``rlsuite_envs``, everything but the
    steps themselves is done once for all seeds, so that a seed costs some 40 microseconds beside its steps. With
    ``evaluate_every``, features, or another environment, each seed begins anew, which takes some milliseconds.

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
        Threads. The compiled loop runs in parallel on them; the results do not depend on their number.
    loop, evaluate_every, checkpoint_every
        As for `Agent.learn`. A network has no compiled loop.
    regret : bool
        Solve the model, if there is one, and note regret and optimal value; networks note none.
    progress : bool
        Show a progress bar over the seeds.
    label : str, optional
        What the agent is called in figures and tables; by default its class. Agents in one figure need different ones.

    Returns
    -------
    Results
        One record per seed, in the order of the seeds.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values, or the agent does not learn step by step from an environment.

    Examples
    --------
    >>> import rlsuite as rl
    >>> results = rl.train(rl.Sarsa(), "FrozenLake-v1", steps=1_000, seeds=3, workers=2)
    >>> [record.seed for record in results.records]
    [0, 1, 2]
    """
    budget = Budget.of(steps, episodes, evaluate_every, checkpoint_every)
    if isinstance(env, list | tuple):
        raise errors.ParameterError(
            f"env={env!r}: one environment at a time; call train once for each, or list them in an experiment file "
            "(rlsuite run FILE.toml)"
        )
    chosen = seed_list(seeds)
    whole_number("workers", workers, at_least=1)
    optima = Optima() if regret else None
    own_options = _own_options(agent, loop, optima)

    def run(seed: int) -> Record:
        learner = dataclasses.replace(agent)
        own = env if isinstance(env, str) else copy.deepcopy(env)
        learner.learn(
            own,
            steps=steps,
            episodes=episodes,
            seed=seed,
            evaluate_every=evaluate_every,
            checkpoint_every=checkpoint_every,
            **own_options,
        )
        return learner.record_

    where = env if isinstance(env, str) else env.spec.id if env.spec else type(env.unwrapped).__name__
    bar = tqdm(total=len(chosen), unit="seed", disable=not progress, desc=where)
    with bar, CompilingTime() as compiling:
        replicas = None
        if len(chosen) > 1 and evaluate_every is None and loop != "stepwise" and hasattr(agent, "replicas"):
            own = env if isinstance(env, str) else copy.deepcopy(env)
            replicas = dataclasses.replace(agent).replicas(own, chosen[0], loop, optima, budget)
        if replicas is not None:
            records = replicas.records(chosen, workers, run, bar.update)
            records[0] = dataclasses.replace(records[0], compiling_seconds=compiling.seconds)
        else:
            records: list[Record] = []
            with ThreadPoolExecutor(workers) as pool:
                for record in pool.map(run, chosen):
                    records.append(record)
                    bar.update()
    return Results(type(agent).__name__ if label is None else label, where, records)


def _own_options(agent: object, loop: LoopChoice, optima: Optima | None) -> dict[str, Any]:
    """Return what `learn` takes beside the options of every agent."""
    learn = getattr(agent, "learn", None)
    taken: Mapping[str, inspect.Parameter] = inspect.signature(learn).parameters if callable(learn) else {}
    options: Info = {"loop": loop, "optima": optima}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return options
    if not {"env", "steps", "episodes", "seed"} <= taken.keys() or isinstance(agent, type):
        raise errors.ParameterError(
            f"{agent!r} is not an agent that learns step by step from an environment; give one such as "
            "rlsuite.QLearning()"
        )
    if loop == "compiled" and "loop" not in taken:
        raise errors.ParameterError(f"loop='compiled': {type(agent).__name__} has no compiled loop; leave it at 'auto'")
    return {name: value for name, value in options.items() if name in taken}
