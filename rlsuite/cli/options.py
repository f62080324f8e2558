"""Flags that several commands share, and their conversion to values, agents and environments."""

import argparse
import ast
import dataclasses
import inspect
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rlsuite.errors import ParameterError, RlsuiteError, RlsuiteWarning, unknown
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.agents import Agent

Keywords: TypeAlias = dict[str, Any]
"""Keywords of a function or a class, whose parameters have types of their own."""


class Commands(Protocol):
    """What ``argparse`` returns for the commands of a program."""

    def add_parser(
        self, name: str, *, help: str, description: str | None = None, epilog: str | None = None, allow_abbrev: bool
    ) -> argparse.ArgumentParser:
        """Return the parser of a new command."""
        ...


class TakesFlags(Protocol):
    """A parser of ``argparse``, or a group of its arguments."""

    def add_argument(self, *flags: str, **how: Any) -> object:
        """Add a flag."""
        ...


SCHEDULE_HELP = "a number, or a schedule such as linear:1.0:0.1:5000, exponential:1.0:0.999, inverse:1.0:visits"
EXPLORATION_FLAGS = ("epsilon", "temperature", "base", "c", "beta")
CLASS_FLAGS = ("values", "features", "regressor", "classifier")
"""Flags that name a class; ``--values.KEY`` is a parameter of it."""
AGENT_FLAGS = ("gamma", "learning_rate", *EXPLORATION_FLAGS, *CLASS_FLAGS, "fit_on", "agent")

DEFAULT_GAMMA = 0.99
"""Discount of environments that do not have one."""


def add_agent_flags(parser: argparse.ArgumentParser) -> None:
    """Flags that are keywords of agents and of their exploration."""
    group = parser.add_argument_group("agent", f"VALUE is {SCHEDULE_HELP}; a unit (steps, episodes, visits) comes last")
    group.add_argument("--gamma", metavar="NUMBER", help="discount per step, in [0, 1]")
    group.add_argument("--learning-rate", metavar="VALUE", help="step size, in [0, 1]")
    group.add_argument("--epsilon", metavar="VALUE", help="explore at random with this probability")
    group.add_argument("--temperature", metavar="VALUE", help="explore by softmax of Q / temperature")
    group.add_argument("--base", metavar="VALUE", help="explore by softmax with base**Q")
    group.add_argument("--c", metavar="VALUE", help="explore by upper confidence bounds of this weight")
    group.add_argument("--beta", metavar="VALUE", help="explore by a bonus for actions rarely taken")
    group.add_argument(
        "--values",
        action="append",
        default=[],
        metavar="KIND",
        help="what values are learned in: table, linear, network, module:Class, file.py:Class. --values.KEY VALUE, "
        "after it, is a parameter of it: --values.initial 1, --values.features tile-coding",
    )
    group.add_argument(
        "--features",
        action="append",
        default=[],
        metavar="MAP",
        help="feature map in which values are linear: tile-coding, clusters, module:Class, file.py:Class; given "
        "several times, each sees what the one before makes. --features.KEY VALUE, after it, is a parameter of it; so "
        "is MAP:KEY=VALUE",
    )
    group.add_argument(
        "--fit-on",
        type=whole_number,
        metavar="N",
        help="observations on which features that learn from data fit themselves, before the first step (default "
        "1,000)",
    )
    for flag, example in (("regressor", "tree:DecisionTreeRegressor"), ("classifier", "naive_bayes:GaussianNB")):
        group.add_argument(
            f"--{flag}",
            action="append",
            default=[],
            metavar="MODULE:CLASS",
            help=f"{flag} of an agent that learns with one: sklearn.{example}, file.py:Class; --{flag}.KEY VALUE is a "
            "parameter of it",
        )
    group.add_argument(
        "--agent", action="append", default=[], metavar="KEY=VALUE", help="any other keyword of the agent"
    )


def add_env_flags(
    parser: argparse.ArgumentParser, metavar: str = "ENV", also: str = "", *, optional: bool = False
) -> None:
    """The environment, and keywords of its constructor; `also` says what may be given instead."""
    number: Any = "?" if optional else None
    parser.add_argument("environment", nargs=number, metavar=metavar, help=f"an id, module:Id, or file.py:Class{also}")
    parser.add_argument(
        "--env", action="append", default=[], metavar="KEY=VALUE", help="keyword of the environment, such as slip=0.2"
    )
    parser.add_argument(
        "--observe",
        action="append",
        dest="env",
        type=lambda word: f"observe={word}",
        metavar="WHAT",
        help="what is shown of the state: cell (row and column), belief, belief-grid, belief-grid:20 (twentieths)",
    )


def add_time_limit_flag(parser: argparse.ArgumentParser) -> None:
    """The time limit of the environment."""
    parser.add_argument(
        "--max-episode-steps", type=whole_number, metavar="N", help="truncate every episode after this many steps"
    )


def add_workers_flag(parser: TakesFlags, stepped: str) -> None:
    """The number of cores; `stepped` says what they are where the environment is stepped."""
    parser.add_argument(
        "--workers",
        type=whole_number,
        metavar="N",
        help=f"cores to use (default all): threads in the compiled loop; where the environment is stepped, {stepped}",
    )


def check_workers(chosen: argparse.Namespace) -> None:
    """Raise ParameterError if fewer than one core was typed."""
    if chosen.workers is not None and chosen.workers < 1:
        raise ParameterError(f"--workers {chosen.workers} is less than 1; leave it out to use all cores")


def workers_of(chosen: argparse.Namespace) -> int:
    """How many cores to use: the number typed, or all that this process may use."""
    check_workers(chosen)
    if chosen.workers is not None:
        return chosen.workers
    from rlsuite.core.threads import usable_cores

    return usable_cores()


def env_keywords_of(chosen: argparse.Namespace) -> Keywords:
    """Keywords of the environment, its time limit among them."""
    limit: int | None = chosen.max_episode_steps
    return keywords("--env", chosen.env) | ({} if limit is None else {"max_episode_steps": limit})


def command(*words: str, env: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """A command to copy, quoted for the shell, with the keywords of the environment.

    >>> command("solve", "rlsuite/Maze-v0", env=["map=small maze"], flags=["--show"])
    "rlsuite solve rlsuite/Maze-v0 --env 'map=small maze' --show"
    """
    return shlex.join(["rlsuite", *words, *(word for pair in env for word in ("--env", pair)), *flags])


def setting_flags(setting: Mapping[str, object]) -> list[str]:
    """The flags that give an agent a setting.

    >>> setting_flags({"learning_rate": 0.3, "exploration.epsilon": 0.1, "n": 4})
    ['--learning-rate', '0.3', '--epsilon', '0.1', '--agent', 'n=4']
    """
    found: list[str] = []
    for path, value in setting.items():
        name = path.removeprefix("exploration.")
        found += [f"--{name.replace('_', '-')}", str(value)] if name in AGENT_FLAGS else ["--agent", f"{name}={value}"]
    return found


EXAMPLES = "examples:"
"""The heading of the last part of a command's help."""


def add_examples(parser: argparse.ArgumentParser, *commands: str) -> None:
    """Commands to copy, at the end of the help; tests run them in the order of all helps, in one folder."""
    listed = "\n".join([EXAMPLES, *(f"  {command}" for command in commands)])
    parser.epilog = listed if parser.epilog is None else f"{parser.epilog}\n\n{listed}"


class HelpFormatter(argparse.HelpFormatter):
    """The help of argparse, in which each example has a line of its own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        filled = (
            one if one.startswith(EXAMPLES) else super(HelpFormatter, self)._fill_text(one, width, indent)
            for one in parts
        )
        return "\n\n".join(filled)


def add_json_flag(parser: TakesFlags) -> None:
    """The flag for output as JSON."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


_AS_IT_IS = r"\w\((?:[^()]|\([^()]*\))*\)|\((?:choices|parameters): [^)]*\)|`[^`]*`|--[\w.-]+(?:[ =][\w.]+=\S+)?"
"""Calls, lists of names, code, and what is written as flags already."""
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^]]*\]|\.\.\.|[^\s,;:()]*[^\s,;:().]"


def in_flags(message: str, parser: argparse.ArgumentParser) -> str:
    """A message of the library, with its keywords written as the flags of a command, wherever it has such flags.

    >>> parser = argparse.ArgumentParser()
    >>> for flag in ("--loop", "--tabulate", "--evaluate-every"):
    ...     _ = parser.add_argument(flag, action="store_true" if flag == "--tabulate" else "store")
    >>> in_flags("use loop='stepwise', or tabulate=True; evaluate_every=0 is less than 1, slip=2 is not", parser)
    'use --loop stepwise, or --tabulate; --evaluate-every 0 is less than 1, slip=2 is not'
    >>> in_flags("sarsa:loop=3 is a label", parser)
    'sarsa:loop=3 is a label'
    """
    flags: dict[str, argparse.Action] = {}
    for action in parser._actions:
        for option in action.option_strings:
            if option.startswith("--"):
                flags[option.removeprefix("--").replace("-", "_")] = action
    names = "|".join(sorted(flags, key=len, reverse=True))
    keyword = rf"(?<![\w.'\"/:-])(?P<name>{names})(?:(?P<equals>=)(?P<value>{_VALUE})?|(?![\w'\"=(/-]|\.\w))"

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None or not (found["equals"] or "_" in name):
            return found[0]
        flag = f"--{name.replace('_', '-')}"
        value = found["value"] or ""
        value = shlex.quote(value[1:-1]) if value[:1] in ("'", '"') else value
        if flags[name].nargs == 0:
            off = value == "False" and f"--no-{flag[2:]}" in flags[name].option_strings
            return f"--no-{flag[2:]}" if off else flag
        metavar = flags[name].metavar
        return f"{flag} {metavar if value == '...' and isinstance(metavar, str) else value}".rstrip()

    return re.sub(f"{_AS_IT_IS}|{keyword}", written, message)


def spelling_of(word: str) -> Callable[[str], str]:
    """The spelling of names in a message about a word: with dashes if it has some.

    >>> spelling_of("value-iteraton")("value_iteration")
    'value-iteration'
    """
    return in_dashes if "-" in word else str


def whole_number(text: str) -> int:
    """Type of flags that count something; 1e6 and 1_000_000 are the same."""
    value = literal(text)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return value


def literal(text: str) -> Any:
    """A value as Python would read it; what Python cannot read is a string.

    >>> literal("0.2"), literal("true"), literal("[1, 2]"), literal("stay")
    (0.2, True, [1, 2], 'stay')
    """
    spelled = {"true": "True", "false": "False", "none": "None"}.get(text, text)
    try:
        return ast.literal_eval(spelled)
    except (ValueError, SyntaxError):
        return text


def keywords(flag: str, pairs: Sequence[str]) -> Keywords:
    """Keywords of a constructor from ``KEY=VALUE`` texts.

    >>> keywords("--env", ["slip=0.2", "walls=stay"])
    {'slip': 0.2, 'walls': 'stay'}
    """
    found: Keywords = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.isidentifier():
            place = ": an environment itself is written without --env" if flag == "--env" and not equals else ""
            raise ParameterError(f"{flag} {pair!r} is not of the form key=value{place}")
        found[key] = literal(text)
    return found


def parameters(function: Callable[..., Any] | None) -> set[str]:
    """Keywords of a function; none if there is no such function."""
    if function is None:
        return set()
    listed = inspect.signature(function).parameters.values()
    return {parameter.name for parameter in listed if parameter.kind is parameter.KEYWORD_ONLY}


def schedule(flag: str, text: str) -> Any:
    """A number or a schedule, in the plain form that files have too.

    >>> schedule("--epsilon", "linear:1.0:0.1:500:episodes")
    {'name': 'Linear', 'start': 1.0, 'end': 0.1, 'over': 500, 'per': 'episodes'}
    >>> schedule("--learning-rate", "inverse:1.0:visits")
    {'name': 'Inverse', 'start': 1.0, 'per': 'visits'}
    """
    name, *values = text.split(":")
    if not values:
        return literal(text)
    import dataclasses

    from rlsuite.agents.schedules import UNITS, Schedule
    from rlsuite.core.described import kinds, match

    known = {key: kind for key, kind in kinds(Schedule).items() if len(dataclasses.fields(kind)) > 1}
    kind = match(name, known)
    if kind is None:
        raise ParameterError(f"{flag} {text!r}: {unknown('schedule', name, map(str.lower, known))}")
    given = {"per": values.pop()} if values and values[-1] in UNITS else {}
    fields = [field.name for field in dataclasses.fields(known[kind]) if field.name not in given]
    if len(values) > len(fields):
        form = ":".join([kind.lower(), *map(str.upper, (field.name for field in dataclasses.fields(known[kind])))])
        raise ParameterError(f"{flag} {text!r} has too many parts; its form is {form}")
    return {"name": kind, **dict(zip(fields, map(literal, values), strict=False)), **given}


def with_parameters_joined(words: Sequence[str]) -> list[str]:
    """The words of a command line, where a parameter of a class follows it as the same flag with ``.KEY=VALUE``.

    >>> with_parameters_joined(["--features", "clusters", "--features.n_clusters", "16"])
    ['--features', 'clusters', '--features', '.n_clusters=16']
    """
    joined: list[str] = []
    left = iter(words)
    for word in left:
        flag, dot, key = word.removeprefix("--").partition(".")
        if not word.startswith("--") or flag not in CLASS_FLAGS or not dot:
            joined.append(word)
            continue
        key, equals, value = key.partition("=")
        if not equals and (value := next(left, None)) is None:
            raise ParameterError(f"{word} has no value: write {word} VALUE")
        joined += [f"--{flag}", f".{key}={value}"]
    return joined


def named(flag: str, texts: Sequence[str]) -> Any:
    """An object of a class in plain form, or a list of estimators, which are applied one after the other.

    >>> named("--features", ["tile-coding:n_tilings=4:bins=[8,4]"])
    {'name': 'tile-coding', 'n_tilings': 4, 'bins': [8, 4]}
    >>> named("--regressor", ["sklearn.tree:DecisionTreeRegressor", ".max_depth=5"])
    {'name': 'sklearn.tree:DecisionTreeRegressor', 'max_depth': 5}
    >>> named("--features", ["scaling", "clusters", ".n_clusters=16"])
    [{'name': 'scaling'}, {'name': 'clusters', 'n_clusters': 16}]
    """
    found: list[Keywords] = []
    for text in texts:
        if not text.startswith("."):
            parts = text.split(":")
            names = [part for part in parts if "=" not in part]
            found.append({"name": ":".join(names), **keywords(flag, parts[len(names) :])})
            continue
        path, _, value = text[1:].partition("=")
        if not found:
            raise ParameterError(f"{flag}.{path} is a parameter of {flag}, which comes before it: {flag} NAME")
        table: Keywords = found[-1]
        *outer, key = path.replace("-", "_").split(".")
        for name in outer:  # a parameter of an estimator that is a parameter itself
            if not isinstance(table.get(name), dict):
                table[name] = {"name": table.get(name)}
            table = table[name]
        table[key] = literal(value)
    if len(found) > 1 and flag == "--values":
        raise ParameterError(f"--values is given {len(found)} times, but an agent learns its values in one of them")
    return found[0] if len(found) == 1 else found


def agent_of(chosen: argparse.Namespace) -> "Agent":
    """The agent that the flags describe.

    Raises
    ------
    ParameterError
        If there is no such agent, or it does not take a parameter.
    """
    from rlsuite.core.described import match
    from rlsuite.experiments.lookup import find_agent_class, place_features
    from rlsuite.registry import build_agent, learner_classes

    try:
        kind: Any = find_agent_class(chosen.agent_name)
    except ParameterError as error:
        if match(chosen.environment, learner_classes()) is None:
            raise
        raise ParameterError(
            f"the agent comes first: rlsuite {chosen.command} {chosen.environment} {chosen.agent_name}"
        ) from error
    plain: Keywords = {"name": kind.__name__}
    if chosen.gamma is not None:
        plain["gamma"] = literal(chosen.gamma)
    if chosen.learning_rate is not None:
        plain["learning_rate"] = schedule("--learning-rate", chosen.learning_rate)
    plain |= {flag: named(f"--{flag}", getattr(chosen, flag)) for flag in CLASS_FLAGS if getattr(chosen, flag) != []}
    fields = {field.name for field in dataclasses.fields(kind)}
    if "values" in plain and ("features" in plain or chosen.fit_on is not None):
        raise ParameterError(
            "--values has its own features: write --values linear --values.features MAP --values.fit_on N, or leave "
            "--values out; a network has them, too"
        )
    if chosen.fit_on is not None:
        plain["fit_on"] = chosen.fit_on
    plain = place_features(kind, plain)
    given = {flag: getattr(chosen, flag) for flag in EXPLORATION_FLAGS if getattr(chosen, flag) is not None}
    # Some agents have such a parameter of their own: the epsilon of EXP3, the c of UCB1.
    own = fields & given.keys()
    plain |= {flag: schedule(f"--{flag}", given.pop(flag)) for flag in sorted(own)}
    if given:
        plain["exploration"] = _exploration(given)
    return build_agent({**plain, **keywords("--agent", chosen.agent)})


def two_agents(first: str, second: str, environment: str) -> str:
    """Say how to compare two agents, if the words are two agents and an environment; else return an empty string."""
    from rlsuite.experiments.lookup import find_agent_class

    try:
        for name in (first, second):
            find_agent_class(name)
    except RlsuiteError:
        return ""
    return f"train takes one agent; compare takes two: {command('compare', first, second, environment)}"


def import_packages() -> None:
    """Import the installed packages of environments, so that their ids are known."""
    import warnings

    from rlsuite.environments.finding import packages

    for package in packages().values():
        try:
            import_module(package)
        except ImportError as error:
            warnings.warn(f"the environments of {package} are missing: {error}", RlsuiteWarning, stacklevel=2)


def _exploration(given: dict[str, str]) -> Keywords:
    """The exploration that has these parameters, and the fewest others, in plain form."""
    from rlsuite.agents.exploration import Exploration
    from rlsuite.core.described import kinds

    # a user's own exploration may have no parameters that could be given here
    known: Keywords = {name: kind for name, kind in kinds(Exploration).items() if dataclasses.is_dataclass(kind)}
    parameters = {name: [field.name for field in dataclasses.fields(kind)] for name, kind in known.items()}
    able = [name for name, names in parameters.items() if given.keys() <= set(names)]
    if not able:
        raise ParameterError(
            f"{', '.join(f'--{flag}' for flag in given)}: no exploration has all of these; leave some out"
        )
    name = min(able, key=lambda one: len(parameters[one]))
    return {"name": name, **{flag: schedule(f"--{flag}", text) for flag, text in given.items()}}
