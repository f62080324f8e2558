"""``rlsuite envs`` and ``rlsuite agents``: lists of environments and agents, from the registry and the code."""

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rlsuite.cli.flags import setting_flags
from rlsuite.cli.options import Commands, add_command, command, import_packages
from rlsuite.cli.output import Facts, columns, print_json
from rlsuite.errors import ParameterError
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.environments.facts import EnvironmentFacts

T = TypeVar("T")

FIRST_GROUPS = ("rlsuite.agents.control", "rlsuite.agents.model_based", "rlsuite.agents.bandits")
"""Packages of agents that are listed before all others."""

SOURCE = re.compile(r" \((?=[^)]*\d\d|S&B|lecture notes)(?:[^()]|\([^()]*\))*\)")
"""The source of an algorithm, at the end of its first line."""


def add(commands: Commands) -> None:
    """Describe the commands."""
    envs = add_command(commands, "envs", run_envs)
    envs.add_argument("environment", nargs="?", metavar="ENV", help="show this one: keywords, sizes, time limit")
    _add_search_flag(envs)
    agents = add_command(commands, "agents", run_agents)
    agents.add_argument("agent_name", nargs="?", metavar="AGENT", help="show this one: its whole documentation")
    agents.add_argument(
        "--for",
        dest="environment",
        metavar="ENV",
        help="show the best known settings in this environment, of AGENT or of all agents of which any are known",
    )
    _add_search_flag(agents)


def _add_search_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--search", metavar="WORDS", help="list only those whose name or description has these words")


def run_envs(chosen: argparse.Namespace) -> int:
    """List the environments, or show one.

    List the environments with a table: those of packages made for rlsuite, and Gymnasium's toy_text. Agents also learn
    in any other environment with Discrete actions.

    Examples
    --------
    rlsuite envs --search maze
    rlsuite envs CliffWalking-v1
    """
    import_packages()
    if chosen.environment:
        return _show_env(chosen.environment, chosen.json)
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import find_env

    envs = [facts_of(find_env(env_id)) for env_id in listed_ids()]
    listed = [_listed(env) for env in envs if env.has_table or env.dynamics is not None]
    found = _matching(chosen.search, [(f"{one['id']} {one['about']}", one) for one in listed], "environment")
    if chosen.json:
        print_json(found)
        return 0
    header = ("id", "states", "actions", "steps", "")
    rows = [
        (str(one["id"]), _sizes(one), str(one["actions"]), str(one["time_limit"] or "-"), str(one["about"]))
        for one in found
    ]
    print(columns([header, *rows]))
    print("next: rlsuite envs ENV")
    return 0


def run_agents(chosen: argparse.Namespace) -> int:
    """List the agents, or show one.

    List the agents, a line each, or show one with its parameters and defaults.

    Examples
    --------
    rlsuite agents q-learning
    rlsuite agents --for CliffWalking-v1
    """
    from rlsuite.experiments.lookup import find_agent_class
    from rlsuite.registry import learner_classes

    if chosen.environment:
        return _show_known(chosen)
    if chosen.agent_name:
        kind = find_agent_class(chosen.agent_name)
        if chosen.json:
            print_json(kind.defaults())
            return 0
        defaults = [(name, repr(value)) for name, value in kind.default_values().items()]
        print(f"{kind.__name__}\n\n{inspect.getdoc(kind)}\n")
        print(columns([("parameter", "default"), *defaults], indent=""))
        name = in_dashes(kind.__name__)
        own = ":" in chosen.agent_name
        known = "" if own else f", rlsuite agents {name} --for ENV (settings that are known to be good)"
        print(f"next: rlsuite train {chosen.agent_name if own else name} ENV{known}")
        return 0
    classes = [kind for _, kind in sorted(learner_classes().items())]
    texts = [(f"{in_dashes(kind.__name__)} {kind.__name__} {_first_line(kind)}", kind) for kind in classes]
    classes = _matching(chosen.search, texts, "agent")
    if chosen.json:
        print_json([{"about": _first_line(kind), **kind.defaults()} for kind in classes])
        return 0
    width = max(len(kind.__name__) for kind in classes)
    groups = {_group(kind): [one for one in classes if _group(one) == _group(kind)] for kind in classes}
    for group in sorted(groups, key=lambda name: ([*FIRST_GROUPS, name].index(name), name)):
        print(_first_line(sys.modules[group]) or group)
        print(columns([(kind.__name__.ljust(width), _in_a_line(kind, 118 - width)) for kind in groups[group]]))
    print("next: rlsuite agents AGENT (its parameters), rlsuite train AGENT ENV")
    return 0


def _show_known(chosen: argparse.Namespace) -> int:
    """The best known settings in an environment."""
    from rlsuite.experiments.known import known_settings

    if chosen.search:
        raise ParameterError("--search finds agents in the list of all: leave out --search, or --for")
    known = known_settings(chosen.environment, chosen.agent_name)
    if chosen.json:
        print_json([{**one._asdict(), "share": one.share} for one in known])
        return 0
    first = known[0]
    print(
        f"{first.environment}: value of the greedy policy after {first.steps:,} steps, gamma {first.make().gamma:g}, "
        f"mean over {first.seeds} seeds [95 % interval]; optimum {first.optimum:.4g}"
    )
    rows = [
        (
            one.agent,
            f"{one.value:.4g}",
            f"[{one.low:.4g}, {one.high:.4g}]",
            "" if one.share is None else f"{one.share:.1%} of it",
            ", ".join(f"{name} {value}" for name, value in one.setting.items()),
        )
        for one in known
    ]
    print(columns(rows))
    print("The best of a sweep (runs/known_settings.toml of the repository); these seeds took no part in it.")
    flags = [*setting_flags(first.setting), "--steps", str(first.steps), "--seeds", "10"]
    print(f"next: {command('train', in_dashes(first.agent), first.environment, flags=flags)}")
    return 0


def _group(kind: type) -> str:
    """The package of rlsuite that an agent is in; of an agent of the user's, its module."""
    package, _, _ = kind.__module__.rpartition(".")
    return package if package.startswith("rlsuite.") else kind.__module__


def _matching(search: str | None, texts: Iterable[tuple[str, T]], what: str) -> list[T]:
    """Those whose text has all the words that are searched for; raises if there is none."""
    words = (search or "").casefold().split()
    found = [one for text, one in texts if all(word in text.casefold() for word in words)]
    if not found:
        raise ParameterError(
            f"--search {search!r}: no {what} has these words in its name or description; use fewer or shorter words, "
            f"or 'rlsuite {what}s' for all"
        )
    return found


def listed_ids() -> list[str]:
    """Ids of the environments that are listed, in the order of their registration."""
    from gymnasium.envs.registration import registry

    from rlsuite.environments.facts import announced
    from rlsuite.environments.finding import packages

    namespaces = set(packages())
    own = [env_id for env_id, spec in registry.items() if spec.namespace in namespaces]
    compiled = set(announced())
    newest = {
        spec.name: max(other.version or 0 for other in registry.values() if other.name == spec.name)
        for spec in registry.values()
    }
    known = [
        env_id
        for env_id, spec in registry.items()
        if isinstance(spec.entry_point, str)
        and (spec.entry_point.startswith("gymnasium.envs.toy_text") or spec.entry_point.replace(":", ".") in compiled)
        and spec.version == newest[spec.name]
    ]
    return own + known


def _show_env(env_id: str, as_json: bool) -> int:
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import find_env

    env = find_env(env_id)
    facts = _listed(facts_of(env))
    env_class = type(env.unwrapped)
    keywords = {
        name: parameter.default
        for name, parameter in inspect.signature(env_class).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    if as_json:
        print_json({**facts, "keywords": {name: repr(value) for name, value in keywords.items()}})
        return 0
    print(f"{facts['id']}\n\n{inspect.getdoc(env_class) or '(not documented)'}\n")
    limit = f"{facts['time_limit']} steps" if facts["time_limit"] else "none"
    print(columns([("keyword", "default"), *((name, repr(value)) for name, value in keywords.items())], indent=""))
    print()
    sizes = [("states", _sizes(facts)), ("actions", str(facts["actions"])), ("time limit", limit)]
    print(columns(sizes, indent=""))
    if isinstance(facts["observations"], int):
        print(f"next: rlsuite train q-learning {env_id}, rlsuite solve {env_id}, rlsuite check {env_id}")
    else:
        print(f"next: {_with_features(env_id)}, rlsuite check {env_id}")
    return 0


def _with_features(env_id: str) -> str:
    """The command that learns where observations are vectors."""
    return f"rlsuite train sarsa {env_id} --features tile-coding"


def _listed(facts: "EnvironmentFacts") -> Facts:
    """The facts about an environment that a list shows."""
    from rlsuite.environments.facts import NO_LIMIT
    from rlsuite.models import POMDP

    return {
        "id": facts.name,
        "observations": _size(facts.env.observation_space),
        "actions": _size(facts.env.action_space),
        "hidden_states": facts.model.n_states if isinstance(facts.model, POMDP) else None,
        "time_limit": None if facts.time_limit == NO_LIMIT else facts.time_limit,
        "about": _first_line(facts.base.__class__),
    }


def _sizes(facts: Facts) -> str:
    hidden = facts["hidden_states"]
    return str(facts["observations"]) if hidden is None else f"{hidden} hidden"


def _size(space: Any) -> int | str:
    """Number of elements of a Discrete space, how many numbers a Box has, a description of other spaces."""
    if hasattr(space, "n"):
        return int(space.n)
    return f"{int(space.low.size)} numbers" if hasattr(space, "low") else str(space)


def _in_a_line(kind: Any, width: int) -> str:
    """The first line of a docstring, without its source."""
    return textwrap.shorten(SOURCE.sub("", _first_line(kind)), width, placeholder=" ...")


def _first_line(kind: Any) -> str:
    """The first line of the docstring of a class or a module that is not a heading."""
    lines = (line.strip() for line in (inspect.getdoc(kind) or "").splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "").removeprefix(f"{kind.__name__}: ")
    return first[:1].upper() + first[1:]
