"""``rlsuite search``: Optuna looks for the best parameters of an agent."""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.flags import add_agent_flags, agent_of, setting_flags
from rlsuite.cli.options import (
    Commands,
    add_command,
    add_env_flags,
    add_json_flag,
    add_time_limit_flag,
    command,
    env_of,
    import_packages,
    literal,
    whole_number,
)
from rlsuite.cli.output import print_json, print_note
from rlsuite.cli.sweeping import LIST, NUMBER, path_of, several
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.experiments import Search

DEFAULT_STEPS = 10_000
ENDS = re.compile(rf"({NUMBER}):({NUMBER})")


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "search", run, json=False)
    parser.add_argument("agent_name", metavar="AGENT", help="q-learning, sarsa, ..., or an experiment, FILE.toml")
    add_env_flags(parser, optional=True)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=whole_number, metavar="N", help=f"length of a run (default {DEFAULT_STEPS})")
    length.add_argument("--episodes", type=whole_number, metavar="N", help="length of a run in episodes")
    parser.add_argument("--trials", type=whole_number, metavar="N", help="number of settings to try (default 100)")
    parser.add_argument("--seeds", type=whole_number, metavar="N", help="number of seeds of each trial (default 5)")
    parser.add_argument(
        "--fresh-seeds", type=whole_number, metavar="N", help="number of seeds that measure the winner (default 30)"
    )
    parser.add_argument(
        "--measure",
        metavar="NAME",
        help="value of the last greedy policy, its return, episode (the last returns), or reward (of the whole run)",
    )
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="keep the trials: the same command goes on after a stop, and several processes share the trials",
    )
    add_time_limit_flag(parser)
    add_agent_flags(parser)
    add_json_flag(parser.add_argument_group("output"))


def run(chosen: argparse.Namespace) -> int:
    """Search for the best parameters of an agent.

    Search for the best parameters of an agent with Optuna, and measure the winner with other seeds. LOW:HIGH, or a
    list, at any flag of the agent is searched, on a logarithmic scale if HIGH is at least ten times LOW. An experiment
    does the same: rlsuite search FILE.toml, with search = { trials = 100 } in it, and a search of each agent.

    Examples
    --------
    rlsuite search q-learning FrozenLake-v1 --learning-rate 0.01:1 --epsilon 0.01:0.5 --trials 10
    """
    import_packages()
    found = _of_file(chosen) if chosen.agent_name.endswith(".toml") else [_of_flags(chosen)]
    if chosen.json:
        print_json([_plain(one) for one in found])
        return 0
    for one in found:
        print(one, *one.comparison.sentences(), sep="\n  ")
    if not chosen.agent_name.endswith(".toml"):
        length = ["--episodes", str(chosen.episodes)] if chosen.episodes else ["--steps", str(chosen.steps)]
        flags = [*setting_flags(found[0].best.setting), *length]
        print_note(f"next: {command('train', chosen.agent_name, chosen.environment, env=chosen.env, flags=flags)}")
    return 0


def _of_flags(chosen: argparse.Namespace) -> "Search":
    from rlsuite.experiments import search

    if not chosen.environment:
        raise ParameterError(f"no environment is given: rlsuite search {chosen.agent_name} ENV, or an experiment.toml")
    if chosen.steps is chosen.episodes is None:
        chosen.steps = DEFAULT_STEPS
    space = several(chosen, _range)
    if not space:
        raise ParameterError(
            "nothing is searched: give a flag of the agent a range, such as --learning-rate 0.01:1, or a list of values"
        )
    agent = agent_of(chosen)
    return search(
        agent,
        env_of(chosen),
        {path_of(agent, name): given for name, given in space.items()},
        steps=chosen.steps,
        episodes=chosen.episodes,
        journal=chosen.journal,
        progress=sys.stderr.isatty(),
        **_given(chosen),
    )


def _of_file(chosen: argparse.Namespace) -> "list[Search]":
    from rlsuite.experiments import Experiment
    from rlsuite.experiments.searching import searches

    if chosen.environment or chosen.journal:
        raise ParameterError(f"{chosen.agent_name} names its environments and keeps its trials: give the file alone")
    changes = {name: getattr(chosen, name) for name in ("steps", "episodes") if getattr(chosen, name) is not None}
    experiment = Experiment.read(chosen.agent_name, **changes)
    folder = Path(chosen.agent_name).with_suffix("")
    return searches(experiment, folder, progress=sys.stderr.isatty(), **_given(chosen))


def _given(chosen: argparse.Namespace) -> dict[str, Any]:
    """The flags that say how much is tried, without those that are not given."""
    names = ("trials", "seeds", "fresh_seeds", "measure")
    return {name: getattr(chosen, name) for name in names if getattr(chosen, name) is not None}


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


def _plain(found: "Search") -> dict[str, Any]:
    return {
        "setting": found.best.setting,
        "measure": found.measure,
        "rows": [row._asdict() for row in found.rows],
        "searched": found.searched,
        "chosen": found.chosen,
        "optimism": found.optimism,
        "trials": [trial._asdict() for trial in found.trials],
    }
