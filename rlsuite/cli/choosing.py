"""``rlsuite choose FILE.toml``: which of the agents of an experiment learns best from the same transitions."""

import argparse
from typing import TYPE_CHECKING

from rlsuite.cli.options import (
    Commands,
    add_command,
    add_workers_flag,
    import_packages,
    whole_number,
    workers_of,
)
from rlsuite.cli.output import print_json
from rlsuite.errors import ParameterError

if TYPE_CHECKING:
    from rlsuite.approximation.selection import Choice
    from rlsuite.experiments import Experiment


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "choose", run)
    parser.add_argument("file", metavar="FILE.toml", help="the experiment; its steps or episodes are those of a batch")
    parser.add_argument("--folds", type=whole_number, default=5, metavar="K", help="parts of a batch (default 5)")
    parser.add_argument("--seeds", type=whole_number, metavar="N", help="number of seeds, instead of that in the file")
    parser.add_argument(
        "--report-episodes", type=whole_number, default=20, metavar="N", help="episodes of the report (default 20)"
    )
    add_workers_flag(parser, "processes")


def run(chosen: argparse.Namespace) -> int:
    """Choose among the batch methods of an experiment by cross-validation.

    Choose among the agents of an experiment's file that learn from a batch (FittedQ, LSPI, ...): by cross-validation
    on the batches of its seeds, with a paired t test of each against the best. The best learns once more from as many
    other seeds, and the return of its policy is reported.

    Examples
    --------
    rlsuite choose batch.toml --folds 3
    """
    import_packages()
    from rlsuite.approximation import choose_approximator
    from rlsuite.core.checks import seed_list
    from rlsuite.environments.finding import find_env
    from rlsuite.experiments import Experiment

    changes = {} if chosen.seeds is None else {"seeds": chosen.seeds}
    experiment = Experiment.read(chosen.file, **changes)
    _check(experiment)
    seeds = seed_list(experiment.seeds)
    found: dict[str, Choice] = {}
    for entry in experiment.environments:
        found[entry.label] = choose_approximator(
            {agent.label: agent.agent for agent in experiment.agents},
            find_env(entry.id, **entry.parameters, **entry.limit),
            steps=experiment.steps,
            episodes=experiment.episodes,
            training_seeds=seeds,
            report_seeds=range(max(seeds) + 1, max(seeds) + 1 + len(seeds)),
            cv=chosen.folds,
            report_episodes=chosen.report_episodes,
            workers=workers_of(chosen),
        )
    if chosen.json:
        print_json({"environments": [_facts(label, choice) for label, choice in found.items()]})
        return 0
    for label, choice in found.items():
        print(f"{label}: {choice}")
    return 0


def _check(experiment: "Experiment") -> None:
    from rlsuite.approximation.batch.batch_agent import BatchAgent

    for entry in experiment.agents:
        if not isinstance(entry.agent, BatchAgent):
            raise ParameterError(
                f"{experiment.file}: {entry.label} does not learn action values from a batch, as FittedQ and LSPI do; "
                "'rlsuite run' compares all agents"
            )
        if entry.environment:
            raise ParameterError(
                f"{experiment.file}: {entry.label} has keywords of the environment of its own, but all agents learn "
                "from the same transitions: write them as parameters of the environment"
            )


def _facts(label: str, choice: "Choice") -> dict[str, object]:
    return {
        "environment": label,
        "best": choice.best,
        "names": choice.names,
        "errors": choice.errors,
        "p_values": choice.p_values,
        "returns": choice.returns,
    }
