"""``rlsuite envs`` and ``rlsuite agents``: lists of environments and agents, from the registry and the code."""

import argparse
import inspect
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Commands, Keywords, add_json_flag, import_packages
from rlsuite.cli.output import Facts, columns, print_json

if TYPE_CHECKING:
    from rlsuite.environments.facts import EnvironmentFacts


def add(commands: Commands) -> None:
    """Describe the commands."""
    envs = commands.add_parser(
        "envs",
        help="list the environments, or show one",
        description="List the environments with a table: those of packages made for rlsuite, and Gymnasium's toy_text. "
        "Agents learn in any other environment with Discrete actions, too.",
        allow_abbrev=False,
    )
    envs.add_argument("environment", nargs="?", metavar="ENV", help="show this one: keywords, sizes, time limit")
    add_json_flag(envs)
    envs.set_defaults(run=run_envs)
    agents = commands.add_parser(
        "agents",
        help="list the agents, or show one",
        description="List the agents with their parameters and defaults.",
        allow_abbrev=False,
    )
    agents.add_argument("agent_name", nargs="?", metavar="AGENT", help="show this one: its whole documentation")
    add_json_flag(agents)
    agents.set_defaults(run=run_agents)


def run_envs(chosen: argparse.Namespace) -> int:
    """List environments, or show one."""
    import_packages()
    if chosen.environment:
        return _show_env(chosen.environment, chosen.json)
    from rlsuite.environments.facts import facts_of
    from rlsuite.environments.finding import find_env

    envs = [facts_of(find_env(env_id)) for env_id in listed_ids()]
    found = [_listed(env) for env in envs if env.has_table or env.dynamics is not None]
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
    """List agents, or show one."""
    from rlsuite.core.described import describe
    from rlsuite.experiments.lookup import find_agent_class
    from rlsuite.registry import agent_classes

    if chosen.agent_name:
        kind = find_agent_class(chosen.agent_name)
        print_json(describe(kind())) if chosen.json else print(f"{kind.__name__}\n\n{inspect.getdoc(kind)}")
        return 0
    classes = dict(sorted(agent_classes().items()))
    if chosen.json:
        print_json([{"about": _first_line(kind), **describe(kind())} for kind in classes.values()])
        return 0
    for name, kind in classes.items():
        print(f"{name}: {_first_line(kind)}")
        print(columns([("", f"{field} = {value!r}") for field, value in _defaults(kind).items()], indent="  "))
    print("next: rlsuite agents AGENT, rlsuite train AGENT ENV")
    return 0


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


def _defaults(kind: type) -> Keywords:
    from rlsuite.core.described import parameters

    return parameters(kind())


def _first_line(kind: type[Any]) -> str:
    """The first line of a docstring that is not a heading."""
    lines = (line.strip() for line in (inspect.getdoc(kind) or "").splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "").removeprefix(f"{kind.__name__}: ")
