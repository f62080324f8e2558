"""``rlsuite evaluate FILE.npz ENV``: what the policy of a saved agent is worth."""

import argparse

from rlsuite.cli.options import (
    Commands,
    add_command,
    add_env_flags,
    add_time_limit_flag,
    env_keywords_of,
    import_packages,
    whole_number,
)
from rlsuite.cli.output import print_json
from rlsuite.errors import ParameterError


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "evaluate", run)
    parser.add_argument("file", metavar="FILE.npz", help="what --save, or the save method of an agent, has written")
    add_env_flags(parser)
    add_time_limit_flag(parser)
    parser.add_argument("--episodes", type=whole_number, default=100, metavar="N", help="how many (default 100)")
    parser.add_argument("--seed", type=whole_number, metavar="N", help="of the episodes; drawn if not given")
    parser.add_argument("--gamma", type=float, metavar="NUMBER", help="discount per step (default: the agent's)")
    parser.add_argument("--tabulate", action="store_true", help="build a table by probing the environment")


def run(chosen: argparse.Namespace) -> int:
    """Say what a saved agent is worth.

    Play episodes with the frozen policy of a saved agent, and evaluate it exactly where the environment has a model.

    Examples
    --------
    rlsuite evaluate cliff.npz CliffWalking-v1
    """
    import_packages()
    from rlsuite.registry import load
    from rlsuite.training.judging import evaluate

    if not chosen.file.endswith(".npz"):
        raise ParameterError(
            f"{chosen.file!r} is not the file of an agent: rlsuite train AGENT {chosen.environment} --save agent.npz "
            "writes one"
        )
    agent = load(chosen.file)
    report = evaluate(
        agent,
        chosen.environment,
        episodes=chosen.episodes,
        seed=chosen.seed,
        gamma=chosen.gamma,
        tabulate=chosen.tabulate,
        **env_keywords_of(chosen),
    )
    if chosen.json:
        print_json({"file": chosen.file, **report.facts()})
    else:
        print(report)
    return 0
