"""Flags that several commands share, and their conversion to values, agents and environments."""

import argparse
import ast
import inspect
import re
import shlex
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rlsuite.errors import ParameterError, RlsuiteError, RlsuiteWarning
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

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


DEFAULT_GAMMA = 0.99
"""Discount of environments that do not have one."""


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


def env_of(chosen: argparse.Namespace) -> "Env":
    """The environment that was typed, with its keywords."""
    from rlsuite.environments.finding import find_env

    return find_env(chosen.environment, **env_keywords_of(chosen))


def command(*words: str, env: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """A command to copy, quoted for the shell, with the keywords of the environment.

    >>> command("solve", "rlsuite/Maze-v0", env=["map=small maze"], flags=["--show"])
    "rlsuite solve rlsuite/Maze-v0 --env 'map=small maze' --show"
    """
    return shlex.join(["rlsuite", *words, *(word for pair in env for word in ("--env", pair)), *flags])


EXAMPLES = "examples:"
"""The heading of the last part of a command's help."""


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], *, json: bool = True
) -> argparse.ArgumentParser:
    """A command, whose help is the docstring of the function that runs it.

    Its first sentence is listed, the next paragraph describes it, others follow the flags. The examples at its end are
    commands to copy; tests run them in the order of all helps, in one folder.
    """
    text, _, examples = inspect.cleandoc(run.__doc__ or "").partition("\n\nExamples\n--------\n")
    first, _, others = text.partition("\n\n")
    description, _, epilog = others.partition("\n\n")
    listed = "\n  ".join([EXAMPLES, *examples.splitlines()])
    parser = commands.add_parser(
        name,
        help=first[:1].lower() + first[1:].rstrip("."),
        description=description or first,
        epilog=f"{epilog}\n\n{listed}" if epilog else listed,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    if json:
        add_json_flag(parser)
    return parser


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
