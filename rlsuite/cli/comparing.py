"""``rlsuite compare``: several agents with the same seeds, or the results of an experiment, and a verdict."""

import argparse
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.flags import add_agent_flags, agent_of, own_parameters
from rlsuite.cli.options import (
    Commands,
    Keywords,
    add_command,
    add_json_flag,
    add_time_limit_flag,
    add_workers_flag,
    command,
    import_packages,
    in_flags,
    keywords,
    whole_number,
    workers_of,
)
from rlsuite.cli.output import FIGURE_SUFFIXES, check_writable, print_json, print_note
from rlsuite.errors import FailedRunsWarning, ParameterError, RlsuiteError

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env
    from rlsuite.experiments import Comparison

DEFAULT_STEPS, DEFAULT_SEEDS = 10_000, 30
TABLES = (".csv", ".md", ".tex")
ENOUGH = "enough"


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "compare", run, json=False)
    parser.add_argument(
        "agents",
        nargs="+",
        metavar="AGENT",
        help="q-learning, sarsa, file.py:Class ...; with parameters of its own as q-learning:learning_rate=0.5; behind "
        "them an environment, as for train, or several; or one folder that 'rlsuite run' has written",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="keyword of the environment, such as slip=0.2; or another environment, whose keywords follow it",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=whole_number, metavar="N", help=f"length of a run (default {DEFAULT_STEPS})")
    length.add_argument("--episodes", type=whole_number, metavar="N", help="length of a run in episodes")
    parser.add_argument(
        "--seeds",
        metavar="N",
        help=f"number of seeds (default {DEFAULT_SEEDS}), or 'enough': as many as a verdict on each pair needs",
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="SHARE",
        help="with --seeds enough: agents are equal if they differ by less than this share of the distance from the "
        "worst policy to the best (default 0.02)",
    )
    parser.add_argument("--most-seeds", type=whole_number, metavar="N", help="with --seeds enough (default 2,000)")
    add_time_limit_flag(parser)
    add_workers_flag(parser, "processes, which are started for much work and used while they make it faster")
    parser.add_argument("--loop", default="auto", metavar="LOOP", help="auto, compiled or stepwise (default auto)")
    parser.add_argument(
        "--tabulate", action="store_true", default=None, help="build a table by probing the environment, or fail"
    )
    add_agent_flags(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--save", metavar="FILE", help="write the table as .csv, .md or .tex")
    output.add_argument("--plot", metavar="FILE.png", help="draw the last values of all agents (.png, .svg, .pdf)")
    output.add_argument("--report", metavar="FILE.html", help="write a report: tables, and figures of all agents")
    add_json_flag(output)


def run(chosen: argparse.Namespace) -> int:
    """Train several agents with the same seeds, and tell which is better.

    Train several agents with the same seeds and compare what they have learned, or compare the results of an
    experiment.

    Examples
    --------
    rlsuite compare q-learning sarsa CliffWalking-v1 --seeds 30
    rlsuite compare sarsa q-learning:learning_rate=0.5 FrozenLake-v1 --env is_slippery=False --plot lake.png
    """
    import_packages()
    for flag, suffixes in (("save", TABLES), ("plot", FIGURE_SUFFIXES), ("report", (".html",))):
        if getattr(chosen, flag):
            check_writable(Path(getattr(chosen, flag)), f"--{flag}", suffixes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRunsWarning)  # the failures are listed at the end
        folder = len(chosen.agents) == 1 and Path(chosen.agents[0]).is_dir()
        comparison = _of_folder(chosen) if folder else _trained(chosen)
    _write(chosen, comparison)
    failures = [failure for runs in comparison.results.values() for one in runs for failure in one.failures]
    if chosen.json:
        print_json(
            {
                "rows": [row._asdict() for row in comparison],
                "pairs": [pair._asdict() for pair in comparison.pairs],
                "sentences": comparison.sentences(),
                "failures": [failure._asdict() for failure in failures],
            }
        )
    else:
        print(in_flags(str(comparison), chosen.parser))
    if failures:
        from rlsuite.training.failures import failure_table

        print_note(failure_table(failures))
    return 1 if failures else 0


def _of_folder(chosen: argparse.Namespace) -> "Comparison":
    from rlsuite.experiments import compare, load_results, status_of

    for flag in ("env", "steps", "episodes", "seeds", "margin", "most_seeds", "tabulate", "parameters"):
        if getattr(chosen, flag) not in (None, []):
            raise ParameterError(f"--{flag.replace('_', '-')}: {chosen.agents[0]} holds results already; leave it out")
    found = compare(load_results(chosen.agents[0]))
    status = status_of(chosen.agents[0])
    if status.done + len(status.failures) < status.total:
        print_note(f"{chosen.agents[0]} is unfinished, {status}: this compares what is done")
    return found


def _trained(chosen: argparse.Namespace) -> "Comparison":
    from rlsuite.experiments import compare

    file = next((one for one in chosen.agents if one.endswith(".toml")), None)
    if file is not None:
        folder = Path(file).with_suffix("")
        raise ParameterError(f"{file} is an experiment: 'rlsuite run {file}', and then 'rlsuite compare {folder}'")
    if chosen.steps is chosen.episodes is None:
        chosen.steps = DEFAULT_STEPS
    only_enough: Keywords = {"margin": chosen.margin, "most_seeds": chosen.most_seeds}
    given: Keywords = {name: value for name, value in only_enough.items() if value is not None}
    seeds: Any = DEFAULT_SEEDS if chosen.seeds is None else chosen.seeds
    if seeds != ENOUGH:
        if given:
            raise ParameterError(f"--{next(iter(given)).replace('_', '-')} applies only to --seeds {ENOUGH}")
        seeds = whole_number(seeds) if isinstance(seeds, str) and seeds.isdecimal() else seeds
        if isinstance(seeds, str):
            raise ParameterError(f"--seeds {seeds!r} must be a number of seeds, or '{ENOUGH}'")
    places = [word for word in chosen.agents if _is_environment(word)]
    agents = [word for word in chosen.agents if word not in places]
    if chosen.agents != agents + places:
        raise ParameterError(f"the agents come first: {command('compare', *agents, *places)}")
    if places and not agents:
        raise ParameterError(f"no agent is given: {command('compare', 'q-learning', 'sarsa', *places)}")
    if len(places) > 1 and chosen.env[:1] and "=" in chosen.env[0]:
        raise ParameterError(
            f"--env {chosen.env[0]} is a keyword of one environment, and {len(places)} are given: "
            f"{command('compare', *agents, places[0], '--env', chosen.env[0], '--env', places[1])}"
        )
    chosen.agents, chosen.env = agents, [*places, *chosen.env]
    envs = _envs(chosen)  # first: an environment among the agents is a common mistake
    return compare(
        _agents(chosen),
        envs,
        steps=chosen.steps,
        episodes=chosen.episodes,
        seeds=seeds,
        workers=workers_of(chosen),
        loop=chosen.loop,
        tabulate=chosen.tabulate,
        progress=sys.stderr.isatty(),
        **given,
    )


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


def _agents(chosen: argparse.Namespace) -> Keywords:
    """The agents by label, each with the parameters of the flags and its own."""
    found: Keywords = {}
    for word in chosen.agents:
        name, pairs = own_parameters(word)
        if word in found:
            raise ParameterError(
                f"{word} is given twice: leave one out, or give it parameters of its own after a colon (see the help)"
            )
        one = argparse.Namespace(**vars(chosen))
        one.agent_name, one.environment, one.parameters = name, "", [*chosen.parameters, *pairs]
        found[word] = agent_of(one)
    return found


def _envs(chosen: argparse.Namespace) -> "dict[str, str | Env]":
    """The environments by label; words with a = are keywords of the environment before them."""
    from rlsuite.environments.finding import find_env

    given: list[tuple[str, list[str]]] = []
    for word in chosen.env:
        if "=" not in word:
            given.append((word, []))
        elif given:
            given[-1][1].append(word)
        else:
            near = " ".join(["rlsuite compare", *chosen.agents, "CliffWalking-v1"])
            raise ParameterError(
                f"--env {word} is a keyword of an environment, and none is given: write it as in {near}"
            )
    if not given:
        near = " ".join(["rlsuite compare", *chosen.agents, "CliffWalking-v1"])
        raise ParameterError(f"no environment is given: write it behind the agents, as in {near}")
    limit: Keywords = {} if chosen.max_episode_steps is None else {"max_episode_steps": chosen.max_episode_steps}
    found: dict[str, str | Env] = {}
    for name, pairs in given:
        own = keywords("--env", pairs) | limit
        label = f"{name}({', '.join(pairs)})" if pairs else name
        if label in found:
            raise ParameterError(f"--env {label} is given twice: leave one out")
        found[label] = find_env(name, **own) if own else name
    return found


def _write(chosen: argparse.Namespace, comparison: "Comparison") -> None:
    """Write the files that were asked for."""
    if chosen.save:
        path = Path(chosen.save)
        if path.suffix == ".csv":
            comparison.to_csv(path)
        else:
            text = comparison.to_markdown() if path.suffix == ".md" else comparison.to_latex()
            path.write_text(text + "\n", encoding="utf-8")
        print_note(f"written: {path}" + (r", which needs \usepackage{booktabs}" if path.suffix == ".tex" else ""))
    if chosen.plot:
        from rlsuite.plotting import final_values
        from rlsuite.plotting.figure import write

        print_note(f"written: {write(chosen.plot, final_values, comparison)}")
    if chosen.report:
        from rlsuite.plotting.reporting import write_report

        folder = chosen.agents[0]
        print_note(f"written: {write_report(folder if Path(folder).is_dir() else comparison, chosen.report)}")
