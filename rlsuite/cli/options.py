"""Flags that several commands share, and their conversion to values, agents and environments."""

import argparse
import ast
import inspect
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from rlsuite.errors import ParameterError, RlsuiteWarning
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

Keywords: TypeAlias = dict[str, Any]
"""Keywords of a function or a class, whose parameters have types of their own."""


@dataclass(frozen=True)
class EnvFlags:
    """Environment.

    Parameters
    ----------
    env : KEY=VALUE
        keyword of the environment, such as slip=0.2
    observe : WHAT
        what is shown of the state: cell (row and column), belief, belief-grid, belief-grid:20 (twentieths)
    max_episode_steps : N
        truncate every episode after this many steps
    """

    _: KW_ONLY
    env: Sequence[str] = ()
    observe: str | None = None
    max_episode_steps: int | None = None

    @property
    def words(self) -> list[str]:
        """The same keywords as texts."""
        return [*self.env, *([f"observe={self.observe}"] if self.observe else [])]

    @property
    def keywords(self) -> Keywords:
        """Keywords of the environment, its time limit among them."""
        limit = self.max_episode_steps
        return keywords("--env", self.words) | ({} if limit is None else {"max_episode_steps": limit})

    def made(self, name: str) -> "Env":
        """The environment of a name, with these keywords."""
        from rlsuite.environments.finding import find_env

        return find_env(name, **self.keywords)


@dataclass(frozen=True)
class Length:
    """Length.

    Parameters
    ----------
    steps : N
        length of a run (default 10,000); 10k, 1e4 and 10_000 are the same
    episodes : N
        length of a run in episodes
    """

    _: KW_ONLY
    steps: int | None = None
    episodes: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None and self.episodes is not None:
            raise ParameterError("--steps and --episodes both say how long a run is: leave one of them out")

    @property
    def keywords(self) -> dict[str, int | None]:
        """Keywords of what learns."""
        steps = DEFAULT_STEPS if self.steps is self.episodes is None else self.steps
        return {"steps": steps, "episodes": self.episodes}

    def amount(self) -> int:
        """How many steps, or episodes."""
        return self.steps or self.episodes or DEFAULT_STEPS

    def flags(self, times: int = 1) -> list[str]:
        """The flags for a run that is so many times as long."""
        return ["--episodes" if self.episodes else "--steps", str(times * self.amount())]


@dataclass(frozen=True)
class Work:
    """Work.

    Parameters
    ----------
    workers : N
        cores to use (default all): threads in the compiled loop, else processes, where they make it faster
    """

    _: KW_ONLY
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"--workers {self.workers} is less than 1; leave it out to use all cores")

    @property
    def cores(self) -> int:
        """How many cores to use: the number typed, or all that this process may use."""
        from rlsuite.core.threads import usable_cores

        return usable_cores() if self.workers is None else self.workers


@dataclass(frozen=True)
class Loops(Work):
    """Work.

    Parameters
    ----------
    loop : LOOP
        auto, compiled or stepwise (default auto); it does not change the results
    tabulate
        build a table by probing the environment, or fail / never build one (default: only with --loop compiled)
    """

    _: KW_ONLY
    loop: str = "auto"
    tabulate: bool | None = None

    @property
    def keywords(self) -> Keywords:
        """Keywords of what learns."""
        return {"loop": self.loop, "tabulate": self.tabulate}


@dataclass(frozen=True)
class Look:
    """Look of the figure.

    Parameters
    ----------
    title : TEXT
        title of the figure
    xlim : LOW HIGH
        limits of the x axis; none for an end that fits
    ylim : LOW HIGH
        limits of the y axis; none for an end that fits
    context : WHERE
        notebook, paper or slides: where the figure is shown
    """

    _: KW_ONLY
    title: str | None = None
    xlim: tuple[float | None, float | None] | None = None
    ylim: tuple[float | None, float | None] | None = None
    context: str | None = None

    @property
    def keywords(self) -> Keywords:
        """Keywords of a figure."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def of(self, plot: str | None) -> Keywords:
        """Keywords of the figure that is drawn; raises ParameterError if there are some, and there is none."""
        if self.keywords and not plot:
            raise ParameterError(
                f"--{next(iter(self.keywords))} applies only to the figure of --plot: add --plot FILE.png"
            )
        return self.keywords


DEFAULT_STEPS = 10_000
DEFAULT_GAMMA = 0.99
"""Discount of environments that do not have one."""


def command(*words: str, env: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """A command to copy, quoted for the shell, with the keywords of the environment.

    >>> command("solve", "rlsuite/Maze-v0", env=["map=small maze"], flags=["--show"])
    "rlsuite solve rlsuite/Maze-v0 --env 'map=small maze' --show"
    """
    return shlex.join(["rlsuite", *words, *(word for pair in env for word in ("--env", pair)), *flags])


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
    """Type of flags that count something.

    >>> whole_number("1e6"), whole_number("1_000"), whole_number("20k"), whole_number("1.5M")
    (1000000, 1000, 20000, 1500000)
    """
    unit = {"k": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    value = literal(text if unit == 1 else text[:-1])
    value = value * unit if isinstance(value, int | float) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return value


def number_or_none(text: str) -> float | None:
    """Type of an end of a range; none is one that fits."""
    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number: give two, or none for an end that fits") from None


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


def import_packages() -> None:
    """Import the installed packages of environments, so that their ids are known."""
    import warnings

    from rlsuite.environments.finding import packages

    for package in packages().values():
        try:
            import_module(package)
        except ImportError as error:
            warnings.warn(f"the environments of {package} are missing: {error}", RlsuiteWarning, stacklevel=2)
