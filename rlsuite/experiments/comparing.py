"""Train several agents with the same seeds, and compare them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rlsuite.core.aliases import Env
from rlsuite.core.checks import seed_list, whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.narrowing import is_mapping
from rlsuite.environments.facts import NO_LIMIT, facts_of
from rlsuite.environments.finding import find_env, opened
from rlsuite.errors import ParameterError
from rlsuite.experiments.comparison import Comparison, margin_of, verdicts_of
from rlsuite.experiments.paired import LEVEL, Verdict
from rlsuite.models.gymnasium_table import title_of
from rlsuite.training.budget import LoopChoice
from rlsuite.training.results import Results
from rlsuite.training.train import own_options, train

if TYPE_CHECKING:
    from rlsuite.agents import Agent

FIRST_SEEDS: Final = 10
"""Seeds with which ``seeds="enough"`` begins; then come a quarter of what there is."""


@says_what_to_write
def compare(
    agents: "Agent | Sequence[Agent] | Mapping[str, Agent] | Sequence[Results] | Mapping[str, Sequence[Results]]",
    envs: str | Env | Sequence[str | Env] | Mapping[str, str | Env] | None = None,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    seeds: int | Sequence[int] | Literal["enough"] = 30,
    margin: float | str = "2%",
    most_seeds: int = 2_000,
    workers: int = 1,
    loop: LoopChoice = "auto",
    tabulate: bool | None = None,
    evaluate_every: int | None = None,
    record_every: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Train agents in environments, all with the same seeds, and compare what they have learned.

    What is compared is the value of the last greedy policy, which is exact where the environment has a table; where
    agents discount differently, its undiscounted return; else the return per episode, or the reward per step.

    Parameters
    ----------
    agents : Agent, sequence of Agent, or mapping of str to Agent
        By label; the default label is the class, with the parameters in which agents of one class differ. Instead,
        results that there are already: a sequence of what `rlsuite.train` returned, or label of the environment -> one
        `Results` per agent, as `Experiment.run` and `load_results` return them.
    envs : str, gymnasium.Env, sequence or mapping of them
        As for `rlsuite.train`, by label.
    steps, episodes : int
        How long each run is; one of the two.
    seeds : int, sequence of int, or "enough"
        Number of seeds, or the seeds. ``"enough"``: as many as a verdict on each pair needs, "better", "equal" within
        the margin, or "undecided" after `most_seeds`. The test is valid although it looks after every seed: all
        verdicts are right with a probability of at least 95 %. The exact values of the best, the worst and the uniform
        policy have to be known.
    margin : float or str
        With ``"enough"``: agents are equal if they differ by less than this, a number in the unit of the return or,
        as ``"2%"``, a share of the way from the uniform policy to the optimum. They are never called equal where the
        interval of their difference lies beyond it, or not as many seeds of each reach an end.
    most_seeds : int
        With ``"enough"``, how many seeds at most.
    workers, loop, tabulate, record_every, progress
        As for `rlsuite.train`.
    evaluate_every : int, optional
        As for `rlsuite.train`; by default once, at the end, if the greedy policy can be evaluated.

    Returns
    -------
    Comparison
        Rows, pairs with tests, aggregates, and a sentence; ``print`` shows them.

    Raises
    ------
    ParameterError
        If an argument is outside its allowed values, two agents share a label, or with ``"enough"`` the values of the
        best, the worst and the uniform policy are not known.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agents = [rl.Sarsa(gamma=1.0), rl.QLearning(gamma=1.0)]
    >>> comparison = rl.compare(agents, "CliffWalking-v1", episodes=300, seeds=8)
    >>> [(row.agent, round(row.mean), row.optimum) for row in comparison]
    [('Sarsa', -24, -13.0), ('QLearning', -51, -13.0)]
    """
    there = _by_environment(agents)
    if there is not None:
        if envs is not None or steps is not None or episodes is not None:
            raise ParameterError("these are results already: leave out envs, steps and episodes")
        return Comparison({str(key): _results(key, runs) for key, runs in there.items()})
    if envs is None:
        raise ParameterError("envs is missing: compare(agents, 'CliffWalking-v1', steps=..., seeds=...)")
    learners = _labelled("agents", cast("Any", agents), _label_agents)
    places = _labelled("envs", cast("Any", envs), label_envs)
    whole_amount("most_seeds", most_seeds)
    enough = isinstance(seeds, str) and seeds == "enough"  # an array is not equal to a text
    if enough and len(learners) < 2:
        raise ParameterError('seeds="enough" tells agents apart: give at least two, or a number of seeds')
    margin_of(margin)  # says what is wrong, before anything is learned
    for agent in learners.values():
        own_options(agent, loop, tabulate, None)  # says what is not an agent, before anything is learned
    found: dict[str, list[Results]] = {}
    for where, env in places.items():

        def learned(label: str, chosen: Sequence[int], env: str | Env = env) -> Results:
            agent = learners[label]
            return train(
                agent,
                env,
                steps=steps,
                episodes=episodes,
                seeds=chosen,
                workers=workers,
                loop=loop,
                tabulate=tabulate,
                evaluate_every=evaluate_every or last_evaluation(agent, env, steps or episodes),
                record_every=record_every,
                progress=progress,
                label=label,
            )

        if enough:
            level = LEVEL / (math.comb(len(learners), 2) * len(places))
            found[where] = _enough(where, list(learners), learned, margin, most_seeds, level)
        else:
            chosen = seed_list(cast("Sequence[int]", seeds))
            found[where] = [learned(label, chosen) for label in learners]
    return Comparison(found, margin if enough else None)


def last_evaluation(agent: "Agent", env: str | Env, amount: int | None) -> int | None:
    """Time of a single evaluation, at the end of a run, if the greedy policy can be evaluated; else None.

    Without a discount it can where there is a time limit: only then an environment is made to look at it, and closed.
    """
    if agent.gamma < 1.0:
        return amount
    with opened(env) as made:
        return None if facts_of(made).time_limit == NO_LIMIT else amount


def _enough(
    environment: str,
    labels: Sequence[str],
    learned: Callable[[str, Sequence[int]], Results],
    margin: float | str,
    most_seeds: int,
    level: float,
) -> list[Results]:
    """Train more and more seeds until there is a verdict on every pair of agents, or there are `most_seeds`.

    Agents of whose pairs all are decided get no more seeds. The seeds after the last verdict are left out again, so
    that the result does not depend on how many are learned at once.
    """
    runs: dict[str, Results] = {}
    found: dict[tuple[str, str], Verdict] = {}
    going_on, done = list(labels), 0
    while going_on and done < most_seeds:
        chosen = range(done, min(most_seeds, done + max(FIRST_SEEDS, done // 4)))
        for label in going_on:
            more, before = learned(label, chosen), runs.get(label)
            runs[label] = more if before is None else _joined(before, more)
        done = chosen.stop
        found = verdicts_of(environment, list(runs.values()), margin, level)
        open_ = {name for pair, one in found.items() if one.word == "undecided" for name in pair}
        going_on = [label for label in labels if label in open_]
    last = {label: max(one.last_seed for pair, one in found.items() if label in pair) for label in labels}
    return [
        replace(run, records=[record for record in run.records if record.seed <= last[label]])
        for label, run in runs.items()
    ]


def _joined(before: Results, more: Results) -> Results:
    return replace(before, records=[*before.records, *more.records], failures=before.failures + more.failures)


def _labelled(what: str, given: Any, label: Callable[[list[Any]], list[str]]) -> dict[str, Any]:
    """What was given by label: a mapping as it is, a list or one of them with labels that are made from them."""
    if isinstance(given, Mapping):
        found = {str(key): value for key, value in cast("Mapping[object, object]", given).items()}
    else:
        entries = list(cast("list[Any]", given)) if isinstance(given, list | tuple) else [given]
        labels = label(entries)
        twice = next((one for one in labels if labels.count(one) > 1), None)
        if twice is not None:
            raise ParameterError(
                f"{what} has {twice} twice; leave one out, or name them: {what}={{'a name': ..., ...}}"
            )
        found = dict(zip(labels, entries, strict=True))
    if not found:
        raise ParameterError(f"{what} is empty; give at least one")
    return found


def label_envs(envs: Sequence[str | Env]) -> list[str]:
    """Ids as they are, and the titles of instances."""
    return [env if isinstance(env, str) else title_of(find_env(env)) for env in envs]


def _label_agents(agents: Sequence[object]) -> list[str]:
    """Names of the classes, with the parameters in which agents of one class differ.

    >>> import rlsuite as rl
    >>> _label_agents([rl.Sarsa(learning_rate=0.1), rl.Sarsa(learning_rate=0.5), rl.QLearning()])
    ['Sarsa(learning_rate=0.1)', 'Sarsa(learning_rate=0.5)', 'QLearning']
    """
    labels: list[str] = []
    for agent in agents:
        if isinstance(agent, type):
            raise ParameterError(f"{agent.__name__} is a class of agents: write {agent.__name__}() to make one")
        alike = [one for one in agents if type(one) is type(agent)]
        names = [field.name for field in fields(cast("Any", agent)) if field.init] if is_dataclass(agent) else []
        own = [name for name in names if any(repr(getattr(one, name)) != repr(getattr(agent, name)) for one in alike)]
        inside = ", ".join(f"{name}={getattr(agent, name)!r}" for name in own)
        labels.append(type(agent).__name__ + (f"({inside})" if inside else ""))
    return labels


def _by_environment(given: Any) -> dict[Any, Any] | None:
    """Results by the label of their environment; None if agents were given instead."""
    if is_mapping(given):
        return dict(given) if all(not hasattr(one, "learn") for one in given.values()) else None
    several = list(cast("Iterable[Any]", given)) if isinstance(given, list | tuple) else []
    runs = [given] if isinstance(given, Results) else several
    if not any(isinstance(run, Results) for run in runs):
        return None
    found: dict[Any, list[Any]] = {}
    for run in runs:
        found.setdefault(run.environment if isinstance(run, Results) else "", []).append(run)
    return found


def _results(environment: object, runs: object) -> list[Results]:
    """Check the results of one environment."""
    found = list(cast("Iterable[object]", runs)) if isinstance(runs, Iterable) else [runs]
    if not found:
        raise ParameterError(f"agents[{environment!r}] holds no results: leave it out, or train an agent there")
    for one in found:
        if not isinstance(one, Results):
            raise ParameterError(
                f"agents[{environment!r}] holds {one!r}: give a list of results of rlsuite.train for each environment, "
                "or agents and envs to train"
            )
    return cast("list[Results]", found)
