"""Flags from signatures: each parameter of an agent is one, under the same name in every command that takes agents.

A command whose parser has `add_agent_flags` holds what was typed of agents in ``chosen.parameters``, as texts
``name=VALUE`` and ``name.key=VALUE`` in their order; `agent_of` makes the agent. Its class is looked up when a flag is
read that the command itself does not have, or for its help.
"""

import argparse
import dataclasses
import inspect
import re
import types
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, get_args, get_origin

from rlsuite.cli.options import Keywords, keywords, literal
from rlsuite.errors import ParameterError, RlsuiteError, unknown
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.agents import Agent

TYPED = "parameters"
"""Where a command keeps what was typed of agents."""


class Parameter(NamedTuple):
    """A parameter of a class."""

    hint: Any
    about: str

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false, so that its flag needs no value."""
        return bool in parts(self.hint)


def documented(kind: Any) -> dict[str, str]:
    r"""The texts of the parameters in the docstrings, in NumPy style, of a class and its bases.

    >>> class Rule:
    ...     "A rule.\n\nParameters\n----------\nlow, high : float\n    The ends,\n    both.\n\nRaises"
    >>> documented(Rule)
    {'low': 'The ends, both.', 'high': 'The ends, both.'}
    """
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        doc = inspect.cleandoc(one.__doc__ or "")
        section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n(?=\S)|\Z)", doc, flags=re.DOTALL | re.MULTILINE)
        for entry in re.split(r"\n(?=\S)", section[1]) if section else ():
            head, _, text = entry.partition("\n")
            found |= dict.fromkeys(head.partition(" : ")[0].split(", "), " ".join(text.replace("``", "`").split()))
    return found


def parts(hint: Any) -> tuple[Any, ...]:
    """The members of a union; of another type, that type."""
    if get_origin(hint) is Annotated:
        return parts(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def parameters_of(kind: type) -> dict[str, Parameter]:
    """The parameters of an agent by name; those of its parts, such as ``features``, that stand beside them, too."""
    from rlsuite.experiments.lookup import keys_of

    hints = {field.name: field.type for field in dataclasses.fields(kind)}
    about = documented(kind)
    return {name: Parameter(hints.get(name, int), about.get(name, "")) for name in keys_of(kind)}


def explorations() -> dict[str, dict[str, Parameter]]:
    """The parameters of each exploration by its name."""
    from rlsuite.registry import choices

    found: dict[str, dict[str, Parameter]] = {}
    for name, kind in choices("exploration")[1].items():
        listed = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()  # a user's own may have no fields
        found[name] = {one.name: Parameter(one.type, documented(kind).get(one.name, "")) for one in listed}
    return found


def add_agent_flags(parser: argparse.ArgumentParser) -> None:
    """Let a command take parameters of agents."""
    group = parser.add_argument_group(
        "agent",
        "Every parameter of the agent is a flag, such as --gamma 0.9, --learning-rate VALUE, and --epsilon VALUE of "
        "its exploration; --help behind the name of an agent lists them. VALUE is a number, or a schedule such as "
        "linear:1.0:0.1:5000, exponential:1.0:0.999, inverse:1.0:visits; a unit (steps, episodes, visits) comes last. "
        "A class is a name, module:Class or file.py:Class, and its parameters follow it: --features tile-coding "
        "--features.n-tilings 4; features given several times see what the one before makes.",
    )
    how: Keywords = {"action": "append", "default": []}
    group.add_argument("--agent", dest=TYPED, **how, metavar="KEY=VALUE", help="the same, in another way")


def takes_agents(parser: argparse.ArgumentParser) -> bool:
    """Whether a command takes parameters of agents."""
    return any(action.dest == TYPED for action in parser._actions)


def add_parameters(parser: argparse.ArgumentParser, kinds: Sequence[type]) -> None:
    """Let a command take the parameters of some agents as flags of their own."""
    for kind in kinds:
        own = parameters_of(kind)
        others = explorations() if "exploration" in own else {}
        _add(parser, f"parameters of {in_dashes(kind.__name__)}", own)
        _add(
            parser, "parameters of its exploration", {key: one for part in others.values() for key, one in part.items()}
        )


def _add(parser: argparse.ArgumentParser, title: str, listed: Mapping[str, Parameter]) -> None:
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


def agent_class(chosen: argparse.Namespace) -> Any:
    """The class of the agent that is named.

    Raises
    ------
    ParameterError
        If there is no such agent.
    """
    from rlsuite.core.described import match
    from rlsuite.experiments.lookup import find_agent_class
    from rlsuite.registry import learner_classes

    try:
        return find_agent_class(chosen.agent_name)
    except ParameterError as error:
        if match(str(chosen.environment), learner_classes()) is None:
            raise
        raise ParameterError(
            f"the agent comes first: rlsuite {chosen.command} {chosen.environment} {chosen.agent_name}"
        ) from error


def agent_of(chosen: argparse.Namespace) -> "Agent":
    """The agent that the flags describe.

    Raises
    ------
    ParameterError
        If there is no such agent, or it does not take a parameter.
    """
    from rlsuite.experiments.lookup import place_features
    from rlsuite.registry import build_agent

    kind = agent_class(chosen)
    own = parameters_of(kind)
    texts: dict[str, list[str]] = {}
    for pair in chosen.parameters:
        path, equals, text = pair.partition("=")
        name, dot, key = path.partition(".")
        if not equals or not name.isidentifier():
            raise ParameterError(f"--agent {pair!r} is not of the form key=value")
        texts.setdefault(name, []).append(f".{key}={text}" if dot else text)
    others = explorations() if "exploration" in own else {}
    moved = {
        name: texts.pop(name)[-1]
        for name in [*texts]
        if name not in own and any(name in one for one in others.values())
    }
    plain = {name: _value(name, own, given) for name, given in texts.items()}
    if "values" in plain and ({"features", "fit_on"} & plain.keys()):
        raise ParameterError(
            "--values has its own features: write --values linear --values.features MAP --values.fit_on N, or leave "
            "--values out; a network has them, too"
        )
    if moved:
        plain["exploration"] = _exploration(plain.get("exploration"), moved, others)
    return build_agent({"name": kind.__name__, **place_features(kind, plain)})


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
