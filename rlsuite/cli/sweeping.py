"""``rlsuite sweep AGENT ENV``: the same agent with many values of its parameters."""

import argparse
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rlsuite.cli.flags import add_agent_flags, agent_of
from rlsuite.cli.options import (
    Commands,
    add_command,
    add_env_flags,
    add_json_flag,
    add_time_limit_flag,
    add_workers_flag,
    env_of,
    import_packages,
    literal,
    whole_number,
    workers_of,
)
from rlsuite.cli.output import FIGURE_SUFFIXES, check_writable, print_json, print_note
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.experiments import Sweep

DEFAULT_STEPS, DEFAULT_SEEDS = 10_000, 10
NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
LIST, RANGE = re.compile(rf"{NUMBER}(?:,{NUMBER})+"), re.compile(rf"{NUMBER}:{NUMBER}:{NUMBER}")


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "sweep", run, json=False)
    parser.add_argument("agent_name", metavar="AGENT", help="q-learning, sarsa, ..., file.py:Class, or module:Class")
    add_env_flags(parser)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=whole_number, metavar="N", help=f"length of a run (default {DEFAULT_STEPS})")
    length.add_argument("--episodes", type=whole_number, metavar="N", help="length of a run in episodes")
    parser.add_argument("--seeds", type=whole_number, metavar="N", default=DEFAULT_SEEDS, help="number of seeds (10)")
    parser.add_argument(
        "--measure",
        default="auto",
        metavar="NAME",
        help="value of the last greedy policy, its return, episode (the last returns), or reward (of the whole run)",
    )
    add_time_limit_flag(parser)
    add_workers_flag(parser, "processes, which are started for much work and used while they make it faster")
    parser.add_argument("--loop", default="auto", metavar="LOOP", help="auto, compiled or stepwise (default auto)")
    parser.add_argument(
        "--tabulate", action="store_true", default=None, help="build a table by probing the environment, or fail"
    )
    add_agent_flags(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--save", metavar="FILE.csv", help="write a line for each setting")
    output.add_argument(
        "--plot", metavar="FILE.png", help="draw the means against a parameter, or as a map of two (.png, .svg)"
    )
    add_json_flag(output)


def run(chosen: argparse.Namespace) -> int:
    """Train an agent with many values of its parameters.

    Train an agent with many values of its parameters, all with the same seeds, and tell which are best. A list, or
    FIRST:LAST:STEP, at any flag of the agent is swept; one value is that of all. sweep = { ... } in a TOML file does
    the same on disk.

    Examples
    --------
    rlsuite sweep q-learning CliffWalking-v1 --learning-rate 0.05,0.1,0.5 --epsilon 0.1:0.5:0.1 --plot study.png
    """
    from rlsuite.experiments import sweep

    if chosen.steps is chosen.episodes is None:
        chosen.steps = DEFAULT_STEPS
    import_packages()
    for flag, suffixes in (("save", (".csv",)), ("plot", FIGURE_SUFFIXES)):
        if getattr(chosen, flag):
            check_writable(Path(getattr(chosen, flag)), f"--{flag}", suffixes)
    grid = several(chosen, values_of)
    if not grid:
        raise ParameterError(
            "nothing is swept: give a flag of the agent several values, such as --learning-rate 0.05,0.1,0.5 or "
            "--learning-rate 0.1:0.5:0.1"
        )
    agent = agent_of(chosen)
    found = sweep(
        agent,
        env_of(chosen),
        {path_of(agent, name): values for name, values in grid.items()},
        steps=chosen.steps,
        episodes=chosen.episodes,
        seeds=chosen.seeds,
        workers=workers_of(chosen),
        loop=chosen.loop,
        tabulate=chosen.tabulate,
        measure=chosen.measure,
        progress=sys.stderr.isatty(),
    )
    if chosen.save:
        found.to_csv(chosen.save)
    if chosen.plot:
        _draw(found, Path(chosen.plot))
    if chosen.json:
        rows = [{**run.setting, **row._asdict()} for run, row in zip(found.results, found.rows, strict=True)]
        print_json({"parameters": found.parameters, "rows": rows, "best": found.best.setting})
        return 0
    print(found)
    print_note("The best was chosen by these seeds: run it with others to know what it is worth.")
    return 0


def _draw(found: "Sweep", path: Path) -> None:
    """A line for one parameter, a map for two, and of more a map for each setting of the others."""
    from rlsuite.experiments.folder import slug
    from rlsuite.experiments.grid import text_of
    from rlsuite.plotting import parameter_map, parameter_study
    from rlsuite.plotting.figure import write
    from rlsuite.plotting.parameters import slices

    maps = slices(found)
    if not maps:
        write(path, parameter_study, found)
    for at in maps:
        own = path.with_stem(f"{path.stem}-{slug(text_of(at))}") if at else path
        print_note(f"figure: {write(own, parameter_map, found, at=at)}")


def several(chosen: argparse.Namespace, read: Callable[[str], Any]) -> dict[str, Any]:
    """Name of a parameter -> what `read` makes of its text, if that is several values; the first of them is kept."""
    from rlsuite.core.described import NAMED

    found: dict[str, Any] = {}
    for at, pair in enumerate(chosen.parameters):
        name, _, text = pair.partition("=")
        if name.partition(".")[0] in NAMED or not (values := read(text)):
            continue
        found[name] = values
        listed = next(iter(cast("dict[str, Any]", values).values())) if isinstance(values, dict) else values
        chosen.parameters[at] = f"{name}={listed[0]}"
    return found


def values_of(text: str) -> list[Any]:
    """The numbers of a list or of a range, both ends included; empty if the text is neither.

    >>> values_of("0.1,0.5"), values_of("0:1:0.25"), values_of("0.1")
    ([0.1, 0.5], [0.0, 0.25, 0.5, 0.75, 1.0], [])
    """
    if LIST.fullmatch(text):
        return [literal(part) for part in text.split(",")]
    if not RANGE.fullmatch(text):
        return []
    first, last, step = (float(part) for part in text.split(":"))
    n = (last - first) / step if step else -1.0
    if n < 0.0 or n > 10_000:
        raise ParameterError(f"{text!r} is not a range FIRST:LAST:STEP with a step from the first to the last")
    values = [float(f"{first + index * step:.12g}") for index in range(math.floor(n + 1e-9) + 1)]
    return [int(value) for value in values] if "." not in text and "e" not in text.lower() else values


def path_of(agent: Any, name: str) -> str:
    """The name of a parameter as the grid has it: those of the exploration belong to it, if the agent has none."""
    moved = not hasattr(agent, name) and hasattr(getattr(agent, "exploration", None), name)
    return f"exploration.{name}" if moved else name
