"""Commands from functions: flags, their conversion and their help, from signatures, fields and docstrings.

A command is a function. What it takes by position is a word, a parameter after the star is a flag; a parameter whose
type is a dataclass is a group of flags, and the command gets an object of it. Docstrings in NumPy's style have the
help: ``steps : N`` and a text; N stands for the value. Each parameter of an agent is a flag, too, under the same name
in every command that takes agents: the class is looked up when a flag is read that the command itself does not have.
"""

import argparse
import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Union, get_args, get_origin

from rlsuite.cli.options import Keywords, keywords, literal, number_or_none, whole_number
from rlsuite.cli.output import check_writable
from rlsuite.errors import ParameterError, RlsuiteError, unknown
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.agents import Agent

EXAMPLES = "examples:"
"""The heading of the last part of a command's help."""

SHORT = {"output": ["-o"]}
"""Flags that have a short form, too."""


TYPED = "agent"
"""Where a command keeps what was typed of agents, as texts ``name=VALUE`` and ``name.key=VALUE`` in their order."""


CONVERSIONS: dict[object, Callable[[str], object]] = {int: whole_number, float: float}
"""What makes a value of the text of a word or a flag, by its type; texts stay."""


class Typed(NamedTuple):
    """What was typed; a command gets it if it has a parameter of this type."""

    words: list[str]
    parser: argparse.ArgumentParser

    def allow(self, flags: str, because: str) -> None:
        """Raise ParameterError if a flag was typed that is not among these, which stand in one text."""
        for word in self.words:
            flag = word.partition("=")[0]
            if flag.startswith("--") and flag.removeprefix("--") not in flags.split():
                raise ParameterError(f"{flag}{because}")


class Commands(Protocol):
    """What ``argparse`` returns for the commands of a program."""

    def add_parser(self, name: str, **how: Any) -> argparse.ArgumentParser:
        """Return the parser of a new command."""
        ...


class Parameter(NamedTuple):
    """A parameter of a command, of a group of flags, or of an agent."""

    hint: Any
    shown: str = ""
    """What stands for its value in a help, or its type."""
    about: str = ""
    default: Any = None
    is_word: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false, so that its flag needs no value."""
        return bool in parts(self.hint)


def documented(kind: Any) -> dict[str, tuple[str, str]]:
    r"""What a docstring in NumPy's style says of each parameter, behind the colon and below; of a class and its bases.

    >>> class Rule:
    ...     "A rule.\n\nParameters\n----------\nlow, high : float\n    The ends,\n    both.\n\nRaises"
    >>> documented(Rule)
    {'low': ('float', 'The ends, both.'), 'high': ('float', 'The ends, both.')}
    """
    found: dict[str, tuple[str, str]] = {}
    for one in reversed(kind.__mro__ if isinstance(kind, type) else (kind,)):
        doc = inspect.cleandoc(one.__doc__ or "")
        section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n(?=\S)|\Z)", doc, flags=re.DOTALL | re.MULTILINE)
        for entry in re.split(r"\n(?=\S)", section[1]) if section else ():
            head, _, text = entry.partition("\n")
            names, _, shown = head.partition(" : ")
            found |= dict.fromkeys(names.split(", "), (shown, " ".join(text.replace("``", "`").split())))
    return found


def parts(hint: Any) -> tuple[Any, ...]:
    """The members of a union; of another type, that type."""
    if get_origin(hint) is Annotated:
        return parts(get_args(hint)[0])
    inner = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else None
    return (hint,) if inner is None else tuple(part for one in inner for part in parts(one))


def suffixes_of(hint: Any) -> tuple[str, ...]:
    """The suffixes of a file that is written, which stand in its type: ``Annotated[str, (".png", ".svg")]``."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    return next((found for one in get_args(hint) if (found := suffixes_of(one))), ())


def signature_of(function: Any) -> dict[str, Parameter]:
    """The parameters of a function, or of a group of flags."""
    said = documented(function)
    return {
        name: Parameter(one.annotation, *said.get(name, ("", "")), one.default, one.kind is not one.KEYWORD_ONLY)
        for name, one in inspect.signature(function).parameters.items()
    }


def add_command(commands: Commands, name: str, function: Callable[..., int]) -> argparse.ArgumentParser:
    """A command, with the flags of a function's parameters; its help is the docstring.

    Its first sentence is listed, the next paragraph describes it, others follow the flags. The examples at its end are
    commands to copy; tests run them in the order of all helps, in one folder.
    """
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n--------\n")
    first, _, others = text.partition("\n\nParameters\n")[0].partition("\n\n")
    description, _, epilog = others.partition("\n\n")
    listed = "\n  ".join([EXAMPLES, *examples.splitlines()])
    parser = commands.add_parser(
        name,
        help=first[:1].lower() + first[1:].rstrip("."),
        description=description or first,
        epilog=f"{epilog}\n\n{listed}" if epilog else listed,
        allow_abbrev=False,
    )
    parser.set_defaults(run=function)
    _add_all(parser, parser, function)
    return parser


def _add_all(parser: argparse.ArgumentParser, group: Any, function: Any) -> None:
    """The words and flags of a function, or of a group of flags."""
    for name, one in signature_of(function).items():
        if dataclasses.is_dataclass(one.hint):
            title, _, about = (inspect.getdoc(one.hint) or "").partition("\n\nParameters\n")[0].partition("\n\n")
            inner = parser.add_argument_group(title.rstrip("."), about.replace("\n", " ") or None)
            _add_all(parser, inner, one.hint)
        elif one.hint is not Typed:
            _add(parser if one.is_word else group, name, one)


def _add(parser: Any, name: str, one: Parameter) -> None:
    """A word or a flag of a command."""
    kinds = [part for part in parts(one.hint) if part is not type(None)]
    kind: Any = get_origin(kinds[0]) or kinds[0]
    inner = get_args(kinds[0])
    how: Keywords = {"help": one.about.replace("%", "%%") or None, "metavar": one.shown or None}
    required = one.default is inspect.Parameter.empty
    if kind is bool:
        how = {"help": how["help"], "default": one.default}
        how["action"] = "store_true" if one.default is False else argparse.BooleanOptionalAction
    elif kind is tuple and inner[-1] is ...:
        how |= {"nargs": "+"}
    elif kind is tuple:
        how |= {"nargs": len(inner), "metavar": tuple(one.shown.split()), "type": number_or_none}
    else:
        how["type"] = CONVERSIONS.get(kind, str)
        if kind is Sequence:
            how |= {"nargs": "+" if required else "*"} if one.is_word else {"action": "append", "default": []}
        elif one.is_word:
            how |= {"nargs": None if required else "?"}
        if kind is not Sequence and not required:
            how["default"] = one.default
    flag = f"--{in_dashes(name).rstrip('-')}"
    parser.add_argument(
        *([name] if one.is_word else [*SHORT.get(name, ()), flag]), **how, **({} if one.is_word else {"dest": name})
    )


def call(chosen: argparse.Namespace, typed: Typed) -> int:
    """Run the command that was chosen, after a look at the files that it is going to write.

    Raises
    ------
    ParameterError, FileError
        If a file cannot be written; and what the command raises.
    """

    def value(name: str, one: Parameter) -> Any:
        if one.hint is Typed:
            return typed
        if dataclasses.is_dataclass(one.hint):
            return one.hint(**{key: value(key, part) for key, part in signature_of(one.hint).items()})  # pyright: ignore
        given = getattr(chosen, name)
        if given and (suffixes := suffixes_of(one.hint)):
            check_writable(Path(given), f"--{in_dashes(name)}", suffixes)
        return given

    return chosen.run(**{name: value(name, one) for name, one in signature_of(chosen.run).items()})


def parameters_of(kind: type) -> dict[str, Parameter]:
    """The parameters of an agent by name; those of its parts, such as ``features``, that stand beside them, too."""
    from rlsuite.experiments.lookup import keys_of

    hints = {field.name: field.type for field in dataclasses.fields(kind)}
    said = documented(kind)
    return {name: Parameter(hints.get(name, int), *said.get(name, ("", ""))) for name in keys_of(kind)}


def explorations() -> dict[str, dict[str, Parameter]]:
    """The parameters of each exploration by its name."""
    from rlsuite.registry import choices

    found: dict[str, dict[str, Parameter]] = {}
    for name, kind in choices("exploration")[1].items():
        listed = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()  # a user's own may have no fields
        found[name] = {one.name: Parameter(one.type, *documented(kind).get(one.name, ("", ""))) for one in listed}
    return found


@dataclass(frozen=True, kw_only=True)
class AgentFlags:
    """Agent.

    Every parameter of the agent is a flag, such as --gamma 0.9, --learning-rate VALUE, and --epsilon VALUE of its
    exploration; --help behind the name of an agent lists them. VALUE is a number, or a schedule such as
    linear:1.0:0.1:5000, exponential:1.0:0.999, inverse:1.0:visits; a unit (steps, episodes, visits) comes last. A class
    is a name, module:Class or file.py:Class, and its parameters follow it: --features tile-coding --features.n-tilings
    4; features given several times see what the one before makes.

    Parameters
    ----------
    agent : KEY=VALUE
        the same, in another way
    """

    agent: Sequence[str] = ()

    def made(self, name: str) -> "Agent":
        """The agent of a name that the flags describe.

        Raises
        ------
        ParameterError
            If there is no such agent, or it does not take a parameter.
        """
        from rlsuite.experiments.lookup import find_agent_class, place_features
        from rlsuite.registry import build_agent

        kind = find_agent_class(name)
        own = parameters_of(kind)
        texts: dict[str, list[str]] = {}
        for pair in self.agent:
            path, equals, text = pair.partition("=")
            key, dot, inner = path.partition(".")
            if not equals or not key.isidentifier():
                raise ParameterError(f"--agent {pair!r} is not of the form key=value")
            texts.setdefault(key, []).append(f".{inner}={text}" if dot else text)
        others = explorations() if "exploration" in own else {}
        moved = {
            key: texts.pop(key)[-1] for key in [*texts] if key not in own and any(key in one for one in others.values())
        }
        plain = {key: _value(key, own, given) for key, given in texts.items()}
        if "values" in plain and ({"features", "fit_on"} & plain.keys()):
            raise ParameterError(
                "--values has its own features: write --values linear --values.features MAP --values.fit_on N, or "
                "leave --values out; a network has them, too"
            )
        if moved:
            plain["exploration"] = _exploration(plain.get("exploration"), moved, others)
        return build_agent({"name": kind.__name__, **place_features(kind, plain)})


def takes_agents(parser: argparse.ArgumentParser) -> bool:
    """Whether a command takes parameters of agents."""
    return any(action.dest == TYPED and action.metavar == "KEY=VALUE" for action in parser._actions)


def add_parameters(parser: argparse.ArgumentParser, kinds: Sequence[type]) -> None:
    """Let a command take the parameters of some agents as flags of their own."""
    for kind in kinds:
        own = parameters_of(kind)
        others = explorations() if "exploration" in own else {}
        _add_to_agent(parser, f"parameters of {in_dashes(kind.__name__)}", own)
        of_exploration = {key: one for part in others.values() for key, one in part.items()}
        _add_to_agent(parser, "parameters of its exploration", of_exploration)


def _add_to_agent(parser: argparse.ArgumentParser, title: str, listed: Mapping[str, Parameter]) -> None:
    group = parser.add_argument_group(title)
    for name, one in listed.items():
        flag = in_dashes(name).rstrip("-")
        about = one.about.partition(". ")[0].rstrip(".").replace("%", "%%")
        how: Keywords = {"dest": TYPED, "action": "append", "default": []}
        if f"--{flag}" in parser._option_string_actions:
            continue
        if one.is_flag:
            how["action"] = "append_const"
            group.add_argument(f"--{flag}", **how, const=f"{name}=True", help=about)
            group.add_argument(f"--no-{flag}", **how, const=f"{name}=False", help="the opposite")
            continue
        metavar = name.upper() if _is_class(name, one.hint) else "VALUE"
        group.add_argument(f"--{flag}", **how, type=f"{name}={{}}".format, metavar=metavar, help=about)


def _is_class(name: str, hint: Any) -> bool:
    """Whether a parameter is an object of a class, which is named."""
    from rlsuite.agents.schedules import Schedule
    from rlsuite.core.described import NAMED, Described

    known = [part for part in parts(hint) if isinstance(part, type) and issubclass(part, Described)]
    return name in NAMED or any(not issubclass(part, Schedule) for part in known)


def kinds_in(words: Sequence[str], *, several: bool) -> list[type]:
    """The classes of the agents, or of saved ones, that the words of a command name: the first word, or several."""
    named = [*takewhile(lambda word: not word.startswith("-"), words)]
    named = (named if several else named[:1]) or [word for word in words if not word.startswith("-")]
    if not named:
        return []
    from rlsuite.experiments.lookup import find_agent_class
    from rlsuite.registry import load

    found: list[Any] = []
    for word in named:
        try:
            if not re.search(r"-v\d+$", word):  # an environment
                found.append(type(load(word)) if word.endswith(".npz") else find_agent_class(own_parameters(word)[0]))
        except RlsuiteError:
            continue
        if found and not several:
            break
    return found


def own_parameters(word: str) -> tuple[str, list[str]]:
    """The name of an agent and the parameters that follow it after a colon.

    >>> own_parameters("sarsa:learning_rate=linear:1:0:9,epsilon=0.1"), own_parameters("mine.py:Agent")
    (('sarsa', ['learning_rate=linear:1:0:9', 'epsilon=0.1']), ('mine.py:Agent', []))
    """
    found = re.fullmatch(r"(.+?):(\w[\w.]*=.*)", word)
    return (found[1], found[2].split(",")) if found else (word, [])


def setting_flags(setting: Mapping[str, object]) -> list[str]:
    """The flags that give an agent a setting.

    >>> setting_flags({"learning_rate": 0.3, "exploration.epsilon": 0.1, "lambda_": 0.9})
    ['--learning-rate', '0.3', '--epsilon', '0.1', '--lambda', '0.9']
    """
    pairs = ((in_dashes(path.removeprefix("exploration.")).rstrip("-"), value) for path, value in setting.items())
    return [word for flag, value in pairs for word in (f"--{flag}", str(value))]


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
    """The words of a command line, where a parameter of a class, ``--flag.key VALUE``, becomes one of the agent.

    >>> with_parameters_joined(["--features", "clusters", "--features.n-clusters", "16"])
    ['--features', 'clusters', '--agent', 'features.n_clusters=16']
    """
    joined: list[str] = []
    left = iter(words)
    for word in left:
        path, equals, value = word.removeprefix("--").partition("=")
        if not re.fullmatch(r"--[a-z][\w-]*\.\w[\w.-]*", f"--{path}") or not word.startswith("--"):
            joined.append(word)
            continue
        if not equals and (value := next(left, None)) is None:
            raise ParameterError(f"{word} has no value: write {word} VALUE")
        joined += ["--agent", f"{path.replace('-', '_')}={value}"]
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


def _value(name: str, known: Mapping[str, Parameter], texts: Sequence[str]) -> Any:
    """What the texts of a parameter mean, in plain form; the last counts, unless they name classes."""
    from rlsuite.agents.schedules import Schedule

    hint = known[name].hint if name in known else None
    if _is_class(name, hint):
        return named(f"--{in_dashes(name)}", texts)
    if Schedule in parts(hint):
        return schedule(f"--{in_dashes(name)}", texts[-1])
    value = literal(texts[-1])
    return int(value) if isinstance(value, float) and int in parts(hint) and value.is_integer() else value


def _exploration(typed: Any, given: dict[str, str], known: Mapping[str, dict[str, Parameter]]) -> Keywords:
    """The exploration that is typed, or else that with the fewest parameters besides the given ones, in plain form."""
    able = [name for name, one in known.items() if given.keys() <= one.keys()]
    if not able and typed is None:
        raise ParameterError(
            f"{', '.join(f'--{flag}' for flag in given)}: no exploration has all of these; leave some out"
        )
    table = typed or {"name": min(able, key=lambda one: len(known[one]))}
    return table | {flag: schedule(f"--{flag}", text) for flag, text in given.items()}
