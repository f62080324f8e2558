"""``rlsuite envs``, ``agents``, ``show`` and ``doctor``: what there is, what a file holds, and what is installed."""

import inspect
import os
import platform
import re
import sys
import textwrap
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rlsuite import __version__
from rlsuite.cli.flags import setting_flags
from rlsuite.cli.options import EnvFlags, command, import_packages
from rlsuite.cli.output import Facts, columns, number, print_json, table
from rlsuite.errors import FileError, ParameterError
from rlsuite.synonyms import in_dashes

if TYPE_CHECKING:
    from rlsuite.environments.facts import EnvironmentFacts

T = TypeVar("T")

FIRST_GROUPS = ("rlsuite.agents.control", "rlsuite.agents.model_based", "rlsuite.agents.bandits")
"""Packages of agents that are listed before all others."""

SOURCE = re.compile(r" \((?=[^)]*\d\d|S&B|lecture notes)(?:[^()]|\([^()]*\))*\)")
"""The source of an algorithm, at the end of its first line."""

WIDTH = 118
"""Characters of a line of names."""

OPTIONAL = ("pandas", "torch", "optuna", "stormpy")
"""Packages that `doctor` names besides those that rlsuite needs."""


def envs(environment: str | None = None, *, flags: EnvFlags, search: str | None = None, json: bool = False) -> int:
    """List the environments, or show one.

    List the environments with a table: those of packages made for rlsuite, and Gymnasium's toy_text. Agents also learn
    in any other environment with Discrete actions.

    Parameters
    ----------
    environment : ENV
        show this one: keywords, sizes, time limit
    search : WORDS
        list only those whose name or description has these words
    json
        print the result as JSON

    Examples
    --------
    rlsuite envs --search maze
    rlsuite envs CliffWalking-v1
    """
    import_packages()
    if environment:
        return _show_env(environment, flags, json)
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import find_env

    known = [facts_of(find_env(env_id)) for env_id in listed_ids()]
    listed = [_listed(env) for env in known if env.has_table or env.dynamics is not None]
    found = _matching(search, [(f"{one['id']} {one['about']}", one) for one in listed], "environment")
    if json:
        print_json(found)
        return 0
    rows = [[str(one["id"]), _sizes(one), *(str(one[key] or "-") for key in COLUMNS)] for one in found]
    print(columns([("id", "states", "actions", "steps", ""), *rows]))
    print("next: rlsuite envs ENV")
    return 0


COLUMNS = ("actions", "time_limit", "about")


def agents(
    agent_name: str | None = None, *, for_: str | None = None, search: str | None = None, json: bool = False
) -> int:
    """List the agents, or show one.

    List the agents by families, those that --search finds with a line about each; or show one with its parameters and
    defaults.

    Parameters
    ----------
    agent_name : AGENT
        show this one: its whole documentation
    for_ : ENV
        show the best known settings in this environment, of AGENT or of all agents of which any are known
    search : WORDS
        list only those whose name or description has these words
    json
        print the result as JSON

    Examples
    --------
    rlsuite agents q-learning
    rlsuite agents --search traces
    rlsuite agents --for CliffWalking-v1
    """
    from rlsuite.registry import learner_classes

    if for_:
        return _show_known(for_, agent_name, search, json)
    if agent_name:
        return _show_agent(agent_name, json)
    known = [kind for _, kind in sorted(learner_classes().items())]
    texts = [(f"{in_dashes(kind.__name__)} {kind.__name__} {_first_line(kind)}", kind) for kind in known]
    found = _matching(search, texts, "agent")
    if json:
        print_json([{"about": _first_line(kind), **kind.defaults()} for kind in found])
        return 0
    groups = {_group(kind): [one for one in found if _group(one) == _group(kind)] for kind in found}
    for group in sorted(groups, key=lambda name: ([*FIRST_GROUPS, name].index(name), name)):
        print(_first_line(sys.modules[group]) or group)
        names = [in_dashes(kind.__name__) for kind in groups[group]]
        if search:
            lines = (SOURCE.sub("", _first_line(kind)) for kind in groups[group])
            print(columns(zip(names, (textwrap.shorten(line, 90, placeholder=" ...") for line in lines), strict=True)))
        else:
            print(textwrap.fill(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ", **WHOLE_NAMES))
    print("next: rlsuite agents AGENT (its parameters), rlsuite agents --search WORDS, rlsuite train AGENT ENV")
    return 0


WHOLE_NAMES: dict[str, Any] = {"break_on_hyphens": False}


def show(file: str, *, json: bool = False) -> int:
    """Say what is in a file: an agent, a solution, a plan, a model.

    Say what is in a file that rlsuite has written, or in a model file: parameters, numbers, first rows.

    Parameters
    ----------
    file : FILE
        a .npz file that 'save' or 'write' wrote, or a model (.mdp, .pomdp, .prism, .jani, .drn)
    json
        print the result as JSON

    Examples
    --------
    rlsuite show cliff.npz
    rlsuite show tiger.pomdp
    """
    from rlsuite.plotting.cards import card_of_object

    card = card_of_object(_content(Path(file)))
    if json:
        plain = {
            name: value if isinstance(value, bool | int | float) else str(value) for name, value in card.facts.items()
        }
        print_json({"file": file, "title": card.title, **plain})
        return 0
    print(f"{file}: {card.title}")
    if card.facts:
        print(columns((name, _text(value)) for name, value in card.facts.items()))
    if card.table:
        total = len(next(iter(card.table.values()))) if card.n_rows is None else card.n_rows
        print(table([*card.table], ([*map(_text, row)] for row in zip(*card.table.values(), strict=True)), total, 8))
    for sentence in card.sentences:
        print(f"  {sentence}")
    return 0


def _content(path: Path) -> Any:
    from rlsuite.cli.load import open_model
    from rlsuite.registry import load

    if path.is_dir():
        raise ParameterError(f"{path} is a folder: 'rlsuite report {path} --status' counts its results")
    if not path.exists():
        raise FileError(f"{path} does not exist; 'rlsuite envs ENV' and 'rlsuite agents AGENT' show what has no file")
    try:
        return load(path) if path.suffix.lower() == ".npz" else open_model(str(path), {}).model
    except FileError as error:
        try:
            return open_model(str(path), {}).model
        except FileError:
            raise error from None


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


def doctor(*, json: bool = False) -> int:
    """Say what is installed, and what is compiled.

    Say what is installed, whether that is what rlsuite needs, whether loops are compiled or why not, and where machine
    code is kept. 'rlsuite check ENV' says how one environment can be run, and why it is stepped.

    Parameters
    ----------
    json
        print the result as JSON

    Examples
    --------
    rlsuite doctor
    """
    from rlsuite.core.compilation import has_machine_code, no_machine_code
    from rlsuite.core.threads import usable_cores

    has_machine_code()  # imports numba, which may be broken
    home = Path(__file__).parents[1]
    kept = os.environ.get("NUMBA_CACHE_DIR")
    functions = sum(1 for _ in (Path(kept) if kept else home).rglob("*.nbi"))
    needed = [one.name for one in _needed()]
    facts: Facts = {
        "rlsuite": f"{__version__} in {home}",
        "python": f"{platform.python_version()} in {sys.prefix}",
        "platform": platform.platform(),
        "cores": usable_cores(),
        **{name: _installed(name) or "not installed" for name in (*needed, *OPTIONAL)},
        "loops": no_machine_code() or "compiled",
        "machine code": f"{functions} functions in {kept or '__pycache__'}",
        "needed": "; ".join(unmet()) or "all installed",
    }
    print_json(facts) if json else print(columns([(name, str(value)) for name, value in facts.items()]))
    return 1 if unmet() else 0


def unmet() -> list[str]:
    """Sentences about packages whose release is not one that rlsuite needs, with the command that mends it."""
    found: list[str] = []
    for one in _needed():
        installed = _installed(one.name)
        if installed is None or not one.specifier.contains(installed, prereleases=True):
            what = f"{one.name} is not installed" if installed is None else f"{one.name} {installed} is installed"
            found.append(f"{what}, rlsuite needs {one.specifier}: pip install -U '{one.name}{one.specifier}'")
    return found


def _needed() -> list[Any]:
    """What the metadata of rlsuite demands on this machine; empty if it was not installed."""
    from packaging.requirements import Requirement

    try:
        entries = [Requirement(text) for text in requires("rlsuite") or ()]
    except PackageNotFoundError:
        return []
    return [one for one in entries if one.marker is None or one.marker.evaluate({"extra": ""})]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _show_agent(agent_name: str, as_json: bool) -> int:
    from rlsuite.experiments.lookup import find_agent_class

    kind = find_agent_class(agent_name)
    if as_json:
        print_json(kind.defaults())
        return 0
    defaults = [(name, repr(value)) for name, value in kind.default_values().items()]
    print(f"{kind.__name__}\n\n{inspect.getdoc(kind)}\n")
    print(columns([("parameter", "default"), *defaults], indent=""))
    own = agent_name if ":" in agent_name else in_dashes(kind.__name__)
    known = "" if ":" in agent_name else f", rlsuite agents {own} --for ENV (settings that are known to be good)"
    print(f"next: rlsuite train {own} ENV{known}")
    return 0


def _show_known(environment: str, agent_name: str | None, search: str | None, as_json: bool) -> int:
    """The best known settings in an environment."""
    from rlsuite.experiments.known import known_settings

    if search:
        raise ParameterError("--search finds agents in the list of all: leave out --search, or --for")
    known = known_settings(environment, agent_name)
    if as_json:
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
    """The package of rlsuite that an agent is in; of planners and of an agent of the user's, its module."""
    package, _, _ = kind.__module__.rpartition(".")
    return package if package.startswith("rlsuite.") and package != "rlsuite.agents" else kind.__module__


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


def _show_env(env_id: str, flags: EnvFlags, as_json: bool) -> int:
    from rlsuite.environments.facts import facts_of

    env = flags.made(env_id)
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
    tabular = isinstance(facts["observations"], int)
    learn = ("train", "q-learning", env_id) if tabular else ("train", "sarsa", env_id, "--features", "tile-coding")
    also = ([("solve", env_id)] if tabular else []) + [("check", env_id)]
    print(f"next: {', '.join(command(*words, env=flags.words) for words in (learn, *also))}")
    return 0


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


def _first_line(kind: Any) -> str:
    """The first line of the docstring of a class or a module that is not a heading."""
    lines = (line.strip() for line in (inspect.getdoc(kind) or "").splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "").removeprefix(f"{kind.__name__}: ")
    return first[:1].upper() + first[1:]
