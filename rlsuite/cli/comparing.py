"""``rlsuite compare``, ``sweep`` and ``choose``: which agent, or which of its parameters, learns best."""

import math
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from rlsuite.cli.flags import AgentFlags, Typed, own_parameters, setting_flags
from rlsuite.cli.options import (
    EnvFlags,
    Keywords,
    Length,
    Loops,
    Work,
    command,
    import_packages,
    in_flags,
    literal,
)
from rlsuite.cli.output import FigureFile, PageFile, print_failures, print_json, print_note
from rlsuite.errors import FailedRunsWarning, ParameterError, RlsuiteError

if TYPE_CHECKING:
    from rlsuite.approximation.selection import Choice
    from rlsuite.core.aliases import Env
    from rlsuite.experiments import Comparison, Experiment, Search, Sweep

SEEDS, SWEPT_SEEDS = 30, 10
"""Seeds of a comparison, and of each setting of a sweep."""

ENOUGH = "enough"
NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
LIST, RANGE = re.compile(rf"{NUMBER}(?:,{NUMBER})+"), re.compile(rf"{NUMBER}:{NUMBER}:{NUMBER}")
ENDS = re.compile(rf"({NUMBER}):({NUMBER})")


def compare(
    agents: Sequence[str],
    *,
    flags: EnvFlags,
    length: Length,
    seeds: str | None = None,
    margin: str | None = None,
    most_seeds: int | None = None,
    loops: Loops,
    of_agents: AgentFlags,
    save: Annotated[str, (".csv", ".md", ".tex")] | None = None,
    plot: FigureFile | None = None,
    report: PageFile | None = None,
    json: bool = False,
    typed: Typed,
) -> int:
    """Train several agents with the same seeds, and tell which is better.

    Train several agents with the same seeds and compare what they have learned, or compare the results of an
    experiment. Behind --env may stand another environment, too, whose keywords follow it.

    Parameters
    ----------
    agents : AGENT
        q-learning, sarsa, file.py:Class ...; with parameters of its own as q-learning:learning_rate=0.5; behind them an
        environment, as for train, or several; or one folder that 'rlsuite run' has written
    seeds : N
        number of seeds (default 30), or 'enough': as many as a verdict on each pair needs
    margin : MARGIN
        with --seeds enough: agents are equal if they differ by less than this, 0.5 in the unit of the return or 2% of
        the way from the uniform policy to the optimum (default 2%)
    most_seeds : N
        with --seeds enough (default 2,000)
    save : FILE
        write the table as .csv, .md or .tex
    plot : FILE.png
        draw the last values of all agents (.png, .svg, .pdf)
    report : FILE.html
        write a report: tables, and figures of all agents
    json
        print the result as JSON

    Examples
    --------
    rlsuite compare q-learning sarsa CliffWalking-v1 --seeds 30
    rlsuite compare sarsa q-learning:learning_rate=0.5 FrozenLake-v1 --env is_slippery=False --plot lake.png
    """
    import_packages()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRunsWarning)  # the failures are listed at the end
        if len(agents) == 1 and Path(agents[0]).is_dir():
            found = _of_folder(agents[0], typed)
        else:
            found = _trained(agents, flags, length, _seeds(seeds, margin, most_seeds), loops, of_agents)
    _write(found, agents[0], save, plot, report)
    failures = [failure for runs in found.results.values() for one in runs for failure in one.failures]
    if json:
        plain = {"rows": found, "pairs": found.pairs, "failures": failures}
        listed = {name: [one._asdict() for one in rows] for name, rows in plain.items()}
        print_json(listed | {"sentences": found.sentences()})
    else:
        print(in_flags(str(found), typed.parser))
    return print_failures(failures)


def _of_folder(folder: str, typed: Typed) -> "Comparison":
    from rlsuite.experiments import compare, load_results, status_of

    typed.allow("save plot report json", f": {folder} holds results already; leave it out")
    found = compare(load_results(folder))
    status = status_of(folder)
    if status.done + len(status.failures) < status.total:
        print_note(f"{folder} is unfinished, {status}: only finished runs are compared")
    return found


def _seeds(seeds: str | None, margin: str | None, most_seeds: int | None) -> Keywords:
    """Keywords of a comparison: how many seeds, and what ends it."""
    only_enough: Keywords = {"margin": literal(margin) if margin else None, "most_seeds": most_seeds}
    given = {name: value for name, value in only_enough.items() if value is not None}
    if seeds == ENOUGH:
        return {"seeds": seeds, **given}
    if given:
        raise ParameterError(f"--{next(iter(given)).replace('_', '-')} applies only to --seeds {ENOUGH}")
    if seeds is not None and not seeds.isdecimal():
        raise ParameterError(f"--seeds {seeds!r} must be a number of seeds, or '{ENOUGH}'")
    return {"seeds": SEEDS if seeds is None else int(seeds)}


def _trained(
    words: Sequence[str], flags: EnvFlags, length: Length, seeds: Keywords, loops: Loops, of_agents: AgentFlags
) -> "Comparison":
    from rlsuite.experiments import compare

    file = next((one for one in words if one.endswith(".toml")), None)
    if file is not None:
        folder = Path(file).with_suffix("")
        raise ParameterError(f"{file} is an experiment: 'rlsuite run {file}', and then 'rlsuite compare {folder}'")
    places = [word for word in words if _is_environment(word)]
    agents = [word for word in words if word not in places]
    if words != agents + places:
        raise ParameterError(f"the agents come first: {command('compare', *agents, *places)}")
    if places and not agents:
        raise ParameterError(f"no agent is given: {command('compare', 'q-learning', 'sarsa', *places)}")
    if len(places) > 1 and flags.env[:1] and "=" in flags.env[0]:
        raise ParameterError(
            f"--env {flags.env[0]} is a keyword of one environment, and {len(places)} are given: "
            f"{command('compare', *agents, places[0], '--env', flags.env[0], '--env', places[1])}"
        )
    envs = _envs([*places, *flags.env], flags, command("compare", *agents, "CliffWalking-v1"))
    progress = sys.stderr.isatty()
    made = _agents(agents, of_agents)
    return compare(made, envs, **length.keywords, workers=loops.cores, progress=progress, **seeds, **loops.keywords)


def _is_environment(word: str) -> bool:
    """Whether a word names an environment: the id of one, or a class in a file that is not an agent."""
    from rlsuite.experiments.lookup import find_agent_class

    if re.search(r"-v\d+$", word):
        return True
    if ".py:" not in word or "=" in word:
        return False
    try:
        find_agent_class(word)
    except RlsuiteError:
        return True
    return False


def _agents(words: Sequence[str], flags: AgentFlags) -> Keywords:
    """The agents by label, each with the parameters of the flags and its own."""
    found: Keywords = {}
    for word in words:
        name, pairs = own_parameters(word)
        if word in found:
            raise ParameterError(
                f"{word} is given twice: leave one out, or give it parameters of its own after a colon (see the help)"
            )
        found[word] = AgentFlags(agent=[*flags.agent, *pairs]).made(name)
    return found


def _envs(words: Sequence[str], flags: EnvFlags, example: str) -> "dict[str, str | Env]":
    """The environments by label; words with a = are keywords of the environment before them."""
    given: list[tuple[str, list[str]]] = []
    for word in words:
        if "=" not in word:
            given.append((word, []))
        elif given:
            given[-1][1].append(word)
        else:
            raise ParameterError(
                f"--env {word} is a keyword of an environment, and none is given: write it as in {example}"
            )
    if not given:
        raise ParameterError(f"no environment is given: write it behind the agents, as in {example}")
    found: dict[str, str | Env] = {}
    for name, pairs in given:
        own = replace(flags, env=pairs)
        label = f"{name}({', '.join(pairs)})" if pairs else name
        if label in found:
            raise ParameterError(f"--env {label} is given twice: leave one out")
        found[label] = own.made(name) if own.keywords else name
    return found


def _write(found: "Comparison", folder: str, save: str | None, plot: str | None, report: str | None) -> None:
    """Write the files that were asked for."""
    if save:
        path = Path(save)
        if path.suffix == ".csv":
            found.to_csv(path)
        else:
            text = found.to_markdown() if path.suffix == ".md" else found.to_latex()
            path.write_text(text + "\n", encoding="utf-8")
        print_note(f"written: {path}" + (r", which needs \usepackage{booktabs}" if path.suffix == ".tex" else ""))
    if plot:
        from rlsuite.plotting import final_values
        from rlsuite.plotting.figure import write

        print_note(f"written: {write(plot, final_values, found)}")
    if report:
        from rlsuite.plotting.reporting import write_report

        print_note(f"written: {write_report(folder if Path(folder).is_dir() else found, report)}")


def sweep(
    agent_name: str,
    environment: str | None = None,
    *,
    flags: EnvFlags,
    length: Length,
    seeds: int | None = None,
    measure: str | None = None,
    loops: Loops,
    of_agent: AgentFlags,
    search: bool = False,
    trials: int | None = None,
    fresh_seeds: int | None = None,
    journal: str | None = None,
    save: Annotated[str, (".csv",)] | None = None,
    plot: FigureFile | None = None,
    json: bool = False,
) -> int:
    """Train an agent with many values of its parameters, or search for the best.

    Train an agent with many values of its parameters, all with the same seeds, and tell which are best. A list, or
    FIRST:LAST:STEP, at any flag of the agent is swept; one value is that of all. sweep = { ... } in a TOML file does
    the same on disk.

    With --search, Optuna looks for the best values between LOW:HIGH, or in a list, on a logarithmic scale if HIGH is at
    least ten times LOW, and the winner is measured with other seeds. An experiment does the same: rlsuite sweep
    FILE.toml --search, with search = { trials = 100 } in it, and a search of each agent.

    Parameters
    ----------
    agent_name : AGENT
        q-learning, sarsa, ..., file.py:Class, or module:Class; with --search also an experiment, FILE.toml
    environment : ENV
        an id, module:Id, or file.py:Class
    seeds : N
        number of seeds of each setting (default 10; 5 with --search)
    measure : NAME
        value of the last greedy policy, its return, episode (the last returns), or reward (of the whole run)
    search
        look for the best values, instead of trying all
    trials : N
        with --search: number of settings to try (default 100)
    fresh_seeds : N
        with --search: number of seeds that measure the winner (default 30)
    journal : FILE
        with --search: keep the trials: the same command resumes after a stop, and several processes share the trials
    save : FILE.csv
        write a line for each setting
    plot : FILE.png
        draw the means against a parameter, or as a map of two (.png, .svg)
    json
        print the result as JSON

    Examples
    --------
    rlsuite sweep q-learning CliffWalking-v1 --learning-rate 0.05,0.1,0.5 --epsilon 0.1:0.5:0.1 --plot study.png
    rlsuite sweep q-learning FrozenLake-v1 --learning-rate 0.01:1 --epsilon 0.01:0.5 --search --trials 10
    """
    import_packages()
    asked: Keywords = {"seeds": seeds, "measure": measure, "trials": trials, "fresh_seeds": fresh_seeds}
    given = {name: value for name, value in asked.items() if value is not None}
    if agent_name.endswith(".toml") and search:
        if environment or journal:
            raise ParameterError(f"{agent_name} names its environments and keeps its trials: give the file alone")
        found = _searches(agent_name, length, given)
        return _print_searches(found, json)
    if environment is None:
        raise ParameterError(f"no environment is given: rlsuite sweep {agent_name} ENV")
    texts, values = several(of_agent.agent, _range if search else values_of)
    if not values:
        raise ParameterError(
            f"nothing is {'searched' if search else 'swept'}: give a flag of the agent several values, such as "
            f"--learning-rate 0.05,0.1,0.5 or --learning-rate {'0.01:1' if search else '0.1:0.5:0.1'}"
        )
    from rlsuite import experiments

    agent, env = AgentFlags(agent=texts).made(agent_name), flags.made(environment)
    grid = {path_of(agent, name): one for name, one in values.items()}
    progress = sys.stderr.isatty()
    if search:
        if save or plot:
            raise ParameterError("--save, --plot: a search prints what it has found; rlsuite sweep writes them")
        best = experiments.search(agent, env, grid, **length.keywords, journal=journal, progress=progress, **given)
        _print_searches([best], json)
        words = [*setting_flags(best.best.setting), *length.flags()]
        print_note(f"next: {command('train', agent_name, environment, env=flags.words, flags=words)}")
        return 0
    for name in ("trials", "fresh_seeds"):
        if name in given:
            raise ParameterError(f"--{name.replace('_', '-')} applies only to --search")
    how: Keywords = {"seeds": SWEPT_SEEDS, **given, **loops.keywords}
    swept = experiments.sweep(agent, env, grid, **length.keywords, workers=loops.cores, progress=progress, **how)
    if save:
        swept.to_csv(save)
        print_note(f"written: {save}")
    if plot:
        _draw(swept, Path(plot))
    if json:
        rows = [{**run.setting, **row._asdict()} for run, row in zip(swept.results, swept.rows, strict=True)]
        print_json({"parameters": swept.parameters, "rows": rows, "best": swept.best.setting})
        return 0
    print(swept)
    print_note("The best was chosen by these seeds: run it with others to know what it is worth.")
    return 0


def _searches(file: str, length: Length, given: Keywords) -> "list[Search]":
    """The searches of an experiment in a file."""
    from rlsuite.experiments import Experiment
    from rlsuite.experiments.searching import searches

    changes = {name: value for name, value in (("steps", length.steps), ("episodes", length.episodes)) if value}
    experiment = Experiment.read(file, **changes)
    return searches(experiment, Path(file).with_suffix(""), progress=sys.stderr.isatty(), **given)


def _print_searches(found: "list[Search]", as_json: bool) -> int:
    if as_json:
        names = ("measure", "searched", "chosen", "optimism")
        print_json(
            [
                {
                    "setting": one.best.setting,
                    **{name: getattr(one, name) for name in names},
                    "rows": [row._asdict() for row in one.rows],
                    "trials": [trial._asdict() for trial in one.trials],
                }
                for one in found
            ]
        )
        return 0
    for one in found:
        print(one, *one.comparison.sentences(), sep="\n  ")
    return 0


def _draw(found: "Sweep", path: Path) -> None:
    """A line for one parameter, a map for two, and of more a map for each setting of the others."""
    from rlsuite.experiments.folder import slug
    from rlsuite.experiments.sweeping import text_of
    from rlsuite.plotting import parameter_map, parameter_study
    from rlsuite.plotting.figure import write
    from rlsuite.plotting.parameters import slices

    maps = slices(found)
    if not maps:
        print_note(f"written: {write(path, parameter_study, found)}")
    for at in maps:
        own = path.with_stem(f"{path.stem}-{slug(text_of(at))}") if at else path
        print_note(f"written: {write(own, parameter_map, found, at=at)}")


def several(texts: Sequence[str], read: Callable[[str], Any]) -> tuple[list[str], dict[str, Any]]:
    """The texts of an agent with one value each, and what `read` makes of those that have several, by name."""
    from rlsuite.core.described import NAMED

    found: dict[str, Any] = {}
    single: list[str] = []
    for pair in texts:
        name, _, text = pair.partition("=")
        values = None if name.partition(".")[0] in NAMED else read(text)
        if values:
            found[name] = values
            listed = next(iter(cast("dict[str, Any]", values).values())) if isinstance(values, dict) else values
            pair = f"{name}={listed[0]}"
        single.append(pair)
    return single, found


def _range(text: str) -> Any:
    """Where to search, of the text of a flag; None if it is one value.

    >>> _range("0.01:1"), _range("1:4"), _range("1,2"), _range("0.1")
    ({'log': [0.01, 1.0]}, {'linear': [1.0, 4.0]}, [1, 2], None)
    """
    if LIST.fullmatch(text):
        return [literal(part) for part in text.split(",")]
    ends = ENDS.fullmatch(text)
    if ends is None:
        return None
    low, high = map(float, ends.groups())
    if not low < high:
        raise ParameterError(f"{text!r} is not a range LOW:HIGH: {low:g} is not less than {high:g}")
    return {"log" if 0.0 < 10.0 * low <= high else "linear": [low, high]}


def values_of(text: str) -> list[Any]:
    """The numbers of a list or of a range, both ends included; empty if the text is neither.

    >>> values_of("0.1,0.5"), values_of("0:1:0.25"), values_of("0.1")
    ([0.1, 0.5], [0.0, 0.25, 0.5, 0.75, 1.0], [])
    """
    if LIST.fullmatch(text):
        return [literal(part) for part in text.split(",")]
    if not RANGE.fullmatch(text):
        return []
    first, last, step = (float(part) for part in text.split(":"))
    n = (last - first) / step if step else -1.0
    if n < 0.0 or n > 10_000:
        raise ParameterError(f"{text!r} is not a range FIRST:LAST:STEP with a step from the first to the last")
    values = [float(f"{first + index * step:.12g}") for index in range(math.floor(n + 1e-9) + 1)]
    return [int(value) for value in values] if "." not in text and "e" not in text.lower() else values


def path_of(agent: Any, name: str) -> str:
    """The name of a parameter as the grid has it: those of the exploration belong to it, if the agent has none."""
    moved = not hasattr(agent, name) and hasattr(getattr(agent, "exploration", None), name)
    return f"exploration.{name}" if moved else name


def choose(
    file: str,
    *,
    folds: int = 5,
    seeds: int | None = None,
    report_episodes: int = 20,
    work: Work,
    json: bool = False,
) -> int:
    """Choose among the batch methods of an experiment by cross-validation.

    Choose among the agents of an experiment's file that learn from a batch (FittedQ, LSPI, ...): by cross-validation
    on the batches of its seeds, with a paired t test of each against the best. The best learns once more from as many
    other seeds, and the return of its policy is reported.

    Parameters
    ----------
    file : FILE.toml
        the experiment; its steps or episodes are those of a batch
    folds : K
        parts of a batch (default 5)
    seeds : N
        number of seeds, instead of that in the file
    report_episodes : N
        episodes of the report (default 20)
    json
        print the result as JSON

    Examples
    --------
    rlsuite choose batch.toml --folds 3
    """
    import_packages()
    from rlsuite.approximation import choose_approximator
    from rlsuite.core.checks import seed_list
    from rlsuite.environments.finding import find_env
    from rlsuite.experiments import Experiment

    experiment = Experiment.read(file, **({} if seeds is None else {"seeds": seeds}))
    _check(experiment)
    trained = seed_list(experiment.seeds)
    found: dict[str, Choice] = {}
    for entry in experiment.environments:
        found[entry.label] = choose_approximator(
            {agent.label: agent.agent for agent in experiment.agents},
            find_env(entry.id, **entry.parameters, **entry.limit),
            steps=experiment.steps,
            episodes=experiment.episodes,
            training_seeds=trained,
            report_seeds=range(max(trained) + 1, max(trained) + 1 + len(trained)),
            cv=folds,
            report_episodes=report_episodes,
            workers=work.cores,
        )
    if json:
        names = ("best", "names", "errors", "p_values", "returns")
        listed = [
            {"environment": label, **{name: getattr(choice, name) for name in names}} for label, choice in found.items()
        ]
        print_json({"environments": listed})
        return 0
    for label, choice in found.items():
        print(f"{label}: {choice}")
    return 0


def _check(experiment: "Experiment") -> None:
    from rlsuite.approximation.batch.batch_learner import BatchAgent

    for entry in experiment.agents:
        if not isinstance(entry.agent, BatchAgent):
            raise ParameterError(
                f"{experiment.file}: {entry.label} does not learn action values from a batch, as FittedQ and LSPI do; "
                "'rlsuite run' compares all agents"
            )
        if entry.environment:
            raise ParameterError(
                f"{experiment.file}: {entry.label} sets keywords of the environment, but all agents learn from the "
                "same transitions: write them as parameters of the environment"
            )
