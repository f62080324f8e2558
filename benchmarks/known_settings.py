"""The best settings of runs/known_settings.toml, run again with other seeds: `python benchmarks/known_settings.py`.

It writes the table that `rlsuite agents q-learning --for CliffWalking-v1` reads, in half an hour of one core.
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rlsuite.cli.options import import_packages
from rlsuite.errors import RlsuiteWarning
from rlsuite.experiments import Experiment
from rlsuite.experiments.known import TABLE, KnownSetting, measured, write_known
from rlsuite.experiments.rows import rows_of
from rlsuite.training.train import train

ROOT = Path(__file__).parents[1]
CLOSE = 1e-6
"""Values that differ by less than this share of the optimum are the same."""


def main() -> None:
    """Find the winners of all environments, and write the table."""
    environments = [entry.id for entry in experiment().environments]
    found: list[KnownSetting] = []
    with ProcessPoolExecutor(2) as pool:
        for some in pool.map(winners, environments):
            found += some
            print(*some, sep="\n", flush=True)
    write_known(ROOT / "rlsuite" / "experiments" / TABLE, found)


def experiment() -> Experiment:
    """The sweep."""
    return Experiment.read(ROOT / "runs" / "known_settings.toml")


def winners(environment: str) -> list[KnownSetting]:
    """The best setting of each agent in an environment, the best agent first."""
    import_packages()
    warnings.simplefilter("ignore", RlsuiteWarning)
    sweep = experiment()
    steps = int(sweep.steps or 0)
    found: list[KnownSetting] = []
    for kind in dict.fromkeys(type(entry.agent) for entry in sweep.agents):
        entries = [entry for entry in sweep.agents if type(entry.agent) is kind]
        runs = [
            train(entry.agent, environment, label=entry.label, **sweep.timing, seeds=sweep.seeds) for entry in entries
        ]
        rows = rows_of({environment: runs})
        size = abs(rows[0].optimum or 0.0)
        best = max(row.mean for row in rows)
        level = [index for index, row in enumerate(rows) if row.mean >= best - CLOSE * size]
        first = min(level, key=lambda index: rows[index].regret or 0.0)
        found.append(measured(environment, kind.__name__, dict(entries[first].setting), steps))
    return sorted(found, key=lambda one: -one.value)


if __name__ == "__main__":
    sys.exit(main())
