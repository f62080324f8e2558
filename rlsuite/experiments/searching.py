"""Search for the best parameters of an agent, by Optuna, and say what the winner is worth.

Three sets of seeds have nothing in common: with the first, settings are tried; with the second, the best of them are
run again, and one is chosen; with the third, the winner is measured. The mean that a search has seen promises too much,
as it belongs to the setting that was lucky with these seeds.
"""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from tqdm import tqdm

from rlsuite.core.aliases import Env
from rlsuite.core.checks import one_of, whole_amount
from rlsuite.core.described import Plain, describe
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.narrowing import is_mapping
from rlsuite.environments.finding import find_env
from rlsuite.errors import FileError, LearningError, MissingPackage, ParameterError
from rlsuite.experiments.comparing import label_envs, last_evaluation
from rlsuite.experiments.comparison import Comparison
from rlsuite.experiments.config import Settings
from rlsuite.experiments.folder import slug
from rlsuite.experiments.rows import Row, mean_text, measures_of, rows_of, samples_of, sign_of
from rlsuite.experiments.runs import cells_of, differences
from rlsuite.experiments.sweeping import MEASURES, MeasureName, settings, text_of, with_setting
from rlsuite.training.budget import LoopChoice
from rlsuite.training.results import Results
from rlsuite.training.train import own_options, train

if TYPE_CHECKING:
    from rlsuite.agents import Agent

Space: TypeAlias = Mapping[str, Sequence[object] | Mapping[str, object]]
"""Name of a parameter -> where to search: a list of values, ``{"log": [0.01, 1]}`` or ``{"linear": [0, 1]}``."""

FINALISTS: Final = 5
"""Settings that are run again with the seeds of the choice."""

CHOICE: Final = 4
"""Each finalist is run with so many times more seeds than a trial."""

FORMAT: Final = "rlsuite search 1"

WAIT: Final = 0.2
"""Seconds between two looks at the trials of other processes, when no more have to be begun."""

SURE_TO_BE_WORSE: Final = 0.1
"""A trial ends early if Wilcoxon's test of its seeds against those of the best trial has a p value below this."""


class Trial(NamedTuple):
    """A setting that was tried."""

    setting: Plain
    mean: float
    """Mean over the seeds; NaN if it could not be learned."""
    seeds: int
    """Number of seeds, fewer if it was stopped early because it was sure to be worse than the best."""


@dataclass(frozen=True, eq=False, repr=False)
class Search:
    """What a search for the best parameters has found, as `rlsuite.search` returns it.

    Attributes
    ----------
    best : Results
        The winner, run with seeds that neither found nor chose it; ``setting`` has its parameters.
    given : Results
        The agent as it was given, with the same seeds.
    trials : list of Trial
        All settings that were tried, in their order.
    searched : float
        Mean of the winner over the seeds of its trial.
    chosen : float
        Its mean over the seeds by which it was chosen among the finalists.
    measure : str
        What all means measure; see `rlsuite.compare`.
    """

    best: Results
    given: Results
    trials: Sequence[Trial]
    searched: float
    chosen: float
    measure: str

    @cached_property
    def rows(self) -> list[Row]:
        """The performance of the winner and of the agent as it was given."""
        return rows_of({self.best.environment: [self.best, self.given]}, self.measure)

    @property
    def comparison(self) -> Comparison:
        """The winner beside the agent as it was given."""
        return Comparison({self.best.environment: [self.best, self.given]})

    @property
    def optimism(self) -> float:
        """By how much the mean of the winner's trial was too good."""
        return sign_of(self.measure) * (self.searched - self.rows[0].mean)

    def __repr__(self) -> str:
        row = self.rows[0]
        seeds = max(trial.seeds for trial in self.trials)
        early = sum(trial.seeds < seeds for trial in self.trials)
        names = ", ".join(self.best.setting)
        fresh, its = (mean_text(one.mean, one.low, one.high) for one in self.rows)
        error = "good" if self.optimism > 0.0 else "bad"
        lines = [
            f"Search({len(self.trials)} trials of {names} in {row.environment}; {self.measure})",
            f"  best: {text_of(self.best.setting)}",
            f"  {fresh} with {row.seeds} fresh seeds; as given {its}",
            f"  {self.searched:.4g} with the {seeds} seeds of its trial: too {error} by {abs(self.optimism):.2g}",
            *([f"  {early} trials were stopped early"] if early else []),
        ]
        return "\n".join(lines)


@says_what_to_write
def search(
    agent: "Agent",
    env: str | Env,
    space: Space,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    trials: int = 100,
    seeds: int = 5,
    fresh_seeds: int = 30,
    loop: LoopChoice = "auto",
    tabulate: bool | None = None,
    evaluate_every: int | None = None,
    measure: MeasureName = "auto",
    journal: str | PathLike[str] | None = None,
    progress: bool = False,
    label: str | None = None,
) -> Search:
    """Search for good values of an agent's parameters with Optuna, and measure the winner with fresh seeds.

    Optuna's TPE sampler proposes settings, and its Wilcoxon pruner ends those early that are sure to be worse than the
    best. The best five are run with four times as many other seeds, and the winner once more with `fresh_seeds` others,
    beside the agent as it was given.

    Parameters
    ----------
    agent : Agent
        The other parameters are those of this agent; it does not learn itself.
    env : str or gymnasium.Env
        As for `rlsuite.train`.
    space : mapping of str to list or dict
        Name of a parameter -> where to search: a list of values, ``{"log": [0.01, 1.0]}`` or ``{"linear": [0, 1]}``, of
        whole numbers where the agent has one. Parameters of parts have dots: ``"exploration.epsilon"``.
    steps, episodes, loop, tabulate
        As for `rlsuite.train`.
    trials : int
        How many settings are tried.
    seeds : int
        Number of seeds of a trial.
    fresh_seeds : int
        Number of seeds that measure the winner.
    evaluate_every : int, optional
        As for `rlsuite.train`; by default once, at the end, if the greedy policy can be evaluated.
    measure : {"auto", "value", "return", "episode", "reward"}
        What settings are compared by, as for `rlsuite.sweep`.
    journal : str or path, optional
        A file that keeps the trials. The same search goes on with it after it was stopped or killed, and finds the
        same; several processes that use one file share the trials.
    progress : bool
        Show a progress bar over the trials.
    label : str, optional
        What the agent is called; by default its class.

    Returns
    -------
    Search
        ``print`` shows it.

    Raises
    ------
    ParameterError
        If the agent has no such parameter, a value is outside its range, or the journal belongs to another search.
    FileError
        If the journal cannot be written or read.
    LearningError
        If no setting could be learned.
    MissingPackage
        If Optuna is not installed.

    Examples
    --------
    >>> import rlsuite as rl
    >>> found = rl.search(rl.Sarsa(), "FrozenLake-v1", {"learning_rate": {"log": [0.01, 1.0]}}, steps=1_000, trials=8)
    >>> len(found.trials), len(found.best.records), list(found.best.setting)
    (8, 30, ['learning_rate'])
    """
    own_options(agent, loop, tabulate, None)  # says what is not an agent
    one_of("measure", measure, ("auto", *MEASURES))
    for name, number in (("trials", trials), ("seeds", seeds), ("fresh_seeds", fresh_seeds)):
        whole_amount(name, number)
    ranges = _ranges(agent, space)
    optuna = _optuna()
    (where,) = label_envs([env])
    kind = label or type(agent).__name__

    def learned(one: "Agent", chosen: Sequence[int], label: str, regret: bool = True) -> Results:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of settings that cannot learn: the winner is run again below
            return train(
                one,
                env,
                steps=steps,
                episodes=episodes,
                seeds=chosen,
                loop=loop,
                tabulate=tabulate,
                evaluate_every=evaluate_every or last_evaluation(one, env, steps or episodes),
                regret=regret,
                label=label,
            )

    def scores(setting: Mapping[str, Any], chosen: Sequence[int]) -> Sequence[float]:
        run = learned(with_setting(agent, setting), chosen, kind, regret=False)
        name = MEASURES.get(measure) or _measure_of(run, varies="gamma" in ranges)
        return list(sign_of(name) * samples_of(run, name))

    spec = {
        "format": FORMAT,
        "agent": describe(agent),
        "environment": where,
        "space": {name: {one.kind: list(one.values)} for name, one in ranges.items()},
        "length": [steps, episodes],
        "seeds": seeds,
        "measure": measure,
    }
    with _study(optuna, spec, journal) as (study, alone), tqdm(total=trials, unit="trial", disable=not progress) as bar:
        for done in _trials(optuna, study, alone, ranges, scores, trials, seeds):
            bar.update(done - bar.n)
        found = [_trial(one) for one in study.get_trials(states=_ended(optuna))]
    complete = sorted((one for one in found if one.seeds == seeds), key=lambda one: -one.mean)
    if not complete:
        raise LearningError(f"none of {len(found)} settings could be learned with all seeds; search elsewhere")
    again = range(seeds, seeds + CHOICE * seeds)
    finalists = list({text_of(one.setting): one for one in complete}.values())[:FINALISTS]
    choice = [(float(np.mean(scores(one.setting, again))), one) for one in finalists]
    chosen, winner = max(choice, key=lambda pair: pair[0])
    fresh = range(again.stop, again.stop + fresh_seeds)
    best = learned(with_setting(agent, winner.setting), fresh, f"{kind}({text_of(winner.setting)})")
    name = MEASURES.get(measure) or _measure_of(best, varies="gamma" in ranges)
    sign = sign_of(name)
    return Search(
        replace(best, environment=where, setting=winner.setting),
        replace(learned(agent, fresh, f"{kind} as given"), environment=where),
        [one._replace(mean=sign * one.mean) for one in found],
        sign * winner.mean,
        sign * chosen,
        name,
    )


def searches(
    experiment: Settings, folder: str | PathLike[str], *, progress: bool = False, **changes: Any
) -> list[Search]:
    """Search for each agent of an experiment that says where, in each environment; a folder keeps the trials.

    Parameters
    ----------
    experiment : Experiment
        Its ``search`` says how much is tried, and that of each agent where.
    folder : str or path
        It gets a journal for each agent and environment, so that the same search goes on where it was stopped.
    progress : bool
        Show a progress bar for each.
    **changes
        Take the place of what is in ``experiment.search``.

    Returns
    -------
    list of Search
        Environment by environment.

    Raises
    ------
    ParameterError, FileError, LearningError, MissingPackage
        As for `search`; also if no agent says where to search.
    """
    if not any(entry.search for entry in experiment.agents):
        raise ParameterError(
            f"{experiment.name}: no agent says where: write search = {{ learning_rate = {{ log = [0.01, 1.0] }} }} in "
            "the table of an agent"
        )
    cells = {(cell.environment.label, cell.agent.label): cell for cell in cells_of(experiment) if cell.agent.search}
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [
        search(
            cell.agent.agent,
            find_env(cell.env_id, **cell.keywords),
            cell.agent.search,
            steps=experiment.steps,
            episodes=experiment.episodes,
            loop=experiment.loop,
            evaluate_every=experiment.evaluate_every,
            journal=Path(folder, f"{slug(where)}-{slug(label)}.journal"),
            progress=progress,
            label=label,
            **{**experiment.search, **changes},
        )
        for (where, label), cell in cells.items()
    ]


class _Range(NamedTuple):
    """Where a parameter is searched."""

    kind: str
    """``"choices"``, ``"log"`` or ``"linear"``."""
    values: tuple[Any, ...]
    """The choices, or both ends."""
    whole: bool
    """Whether it is a whole number, if it has ends."""

    def distribution(self, optuna: Any) -> Any:
        """The same in Optuna's words."""
        if self.kind == "choices":
            return optuna.distributions.CategoricalDistribution(self.values)
        kind = optuna.distributions.IntDistribution if self.whole else optuna.distributions.FloatDistribution
        return kind(*self.values, log=self.kind == "log")


def _ranges(agent: Any, space: Space) -> dict[str, _Range]:
    """Check where to search: the agent has these parameters, and takes both ends of each."""
    if not is_mapping(cast("object", space)) or not space:
        raise ParameterError(
            f"search: a space is a table such as {{ learning_rate = {{ log = [0.01, 1.0] }} }}, got {space!r}"
        )
    found: dict[str, _Range] = {}
    for name, given in space.items():
        kind = str(next(iter(given))) if is_mapping(given) and set(given) in ({"log"}, {"linear"}) else "choices"
        ends: Any = {**cast("Any", given), "n": 2} if kind != "choices" else given
        values: tuple[Any, ...] = tuple(setting[name] for setting in settings({name: ends}, "search"))
        if not all(isinstance(value, bool | int | float | str) for value in values):
            raise ParameterError(
                f"search: {name} has values that are not numbers, strings or booleans; rlsuite.sweep takes them"
            )
        if kind != "choices" and values[0] >= values[1]:
            raise ParameterError(f"search: {kind} of {name} needs a lower and an upper end, got {ends[kind]!r}")
        whole = kind != "choices" and type(_value(agent, name)) is int
        found[name] = _Range(kind, tuple(round(value) for value in values) if whole else values, whole)
        for value in found[name].values:
            with_setting(agent, {name: value}, "search")
    return found


def _value(agent: Any, path: str) -> object:
    """The value of a parameter; None if there is no such parameter."""
    for name in path.split("."):
        agent = getattr(agent, name, None)
    return agent


def _measure_of(run: Results, *, varies: bool) -> str:
    """What a run is measured by; where the discount varies, not by something that depends on it."""
    runs = [run, replace(run, gamma=-1.0)] if varies else [run]
    return measures_of(runs)[0]


def _optuna() -> Any:
    try:
        return import_module("optuna")
    except ImportError as error:
        raise MissingPackage(
            "search needs Optuna, which is not installed: pip install 'rlsuite[optuna]', or sweep a grid of values"
        ) from error


@contextmanager
def _study(
    optuna: Any, spec: Mapping[str, Any], journal: str | PathLike[str] | None
) -> Generator[tuple[Any, Callable[[], bool]]]:
    """Yield the study of this search, kept in its journal, and the question whether no other process works on it."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings(), _presence(journal) as alone:
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield _opened(optuna, json.loads(json.dumps(spec)), journal), alone
    finally:
        optuna.logging.set_verbosity(before)


def _opened(optuna: Any, spec: Mapping[str, Any], journal: str | PathLike[str] | None) -> Any:
    """The study, if it is the one of this search."""
    storage = optuna.storages
    try:
        study = optuna.create_study(
            study_name="search",
            storage=None
            if journal is None
            else storage.JournalStorage(storage.journal.JournalFileBackend(str(journal))),
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.WilcoxonPruner(p_threshold=SURE_TO_BE_WORSE),
        )
        stored = study.user_attrs.get("spec", spec)
    except Exception as error:  # Optuna raises whatever JSON, files and its own checks do
        raise FileError(f"{journal} is not the journal of a search, or cannot be written: {error}") from error
    if different := differences(stored, spec):
        raise ParameterError(
            f"{journal} belongs to another search: {'; '.join(different[:3])}. Nothing was changed; choose another "
            "file, or delete this one"
        )
    study.set_user_attr("spec", spec)
    return study


@contextmanager
def _presence(journal: str | PathLike[str] | None) -> Generator[Callable[[], bool]]:
    """Let others see that this process works on a journal, and yield the question whether it is the only one.

    Windows has no such locks: there a process takes itself for the only one.
    """
    if journal is None or sys.platform == "win32":
        yield lambda: True
        return
    import fcntl

    file = Path(f"{fspath(journal)}.processes")
    try:
        file.touch()
    except OSError as error:
        raise FileError(f"cannot write {journal}: {error.strerror}") from error
    with file.open() as locked:
        fcntl.flock(locked, fcntl.LOCK_SH)

        def alone() -> bool:
            try:
                fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False
            finally:
                fcntl.flock(locked, fcntl.LOCK_SH)

        yield alone


def _trials(
    optuna: Any,
    study: Any,
    alone: Callable[[], bool],
    ranges: Mapping[str, _Range],
    scores: Callable[[Mapping[str, Any], Sequence[int]], Sequence[float]],
    trials: int,
    seeds: int,
) -> Generator[int]:
    """Try settings until there are enough trials of all processes; yield their number.

    Trials that a killed process has left are given up. What is proposed depends on the trials that there are, not on
    the process, so that a search that was killed goes on as if it had not been.
    """
    state = optuna.trial.TrialState
    where = {name: one.distribution(optuna) for name, one in ranges.items()}
    while True:
        running: list[Any] = study.get_trials(deepcopy=False, states=[state.RUNNING])
        if running and alone():
            for left in running:
                study.tell(left.number, state=state.FAIL)
            running = []
        done = len(study.get_trials(deepcopy=False, states=_ended(optuna)))
        yield done
        if done >= trials:
            return
        if done + len(running) >= trials:
            time.sleep(WAIT)
            continue
        study.sampler = optuna.samplers.TPESampler(seed=done + len(running))
        trial = study.ask(where)
        setting = _rounded(trial.params)
        values: list[float] = []
        for seed in range(seeds):
            try:
                values += scores(setting, [seed])
            except LearningError:
                values.append(math.nan)
            if not math.isfinite(values[-1]):
                break
            trial.report(values[-1], seed)
            if trial.should_prune():
                break
        trial.set_user_attr("seeds", len(values))
        if math.isfinite(values[-1]):  # also of a trial that ended early: TPE learns from its mean
            study.tell(trial, float(np.mean(values)))
        else:
            study.tell(trial, state=state.PRUNED)


def _ended(optuna: Any) -> list[Any]:
    return [optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED]


def _trial(ended: Any) -> Trial:
    if ended.value is None:
        return Trial(_rounded(ended.params), math.nan, 0)
    return Trial(_rounded(ended.params), ended.value, ended.user_attrs["seeds"])


def _rounded(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Four digits are enough, and can be typed."""
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in setting.items()}
