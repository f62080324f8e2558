"""The best settings of runs/known_settings.toml, run again with other seeds: `python benchmarks/known_settings.py`.

It writes the table that `rlsuite agents q-learning --for CliffWalking-v1` reads, in half an hour of one core.
"""

import csv
import json
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import rlsuite
from rlsuite.cli.options import import_packages
from rlsuite.errors import ParameterError, RlsuiteWarning
from rlsuite.experiments import Experiment
from rlsuite.experiments.known import NUMBERS, TABLE, KnownSetting
from rlsuite.experiments.rows import VALUE, rows_of
from rlsuite.training.train import train

ROOT = Path(__file__).parents[1]
FRESH_SEEDS = range(1_000, 1_100)
"""Seeds with which the winners are run again. Those of the sweep chose them, and would promise too much."""
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


def measured(environment: str, agent: str, setting: dict[str, Any], steps: int) -> KnownSetting:
    """Run a setting with `FRESH_SEEDS`.

    Raises
    ------
    ParameterError
        If the optimum of the environment is unknown.
    """
    unmeasured = KnownSetting(environment, agent, setting, steps, len(FRESH_SEEDS), 0, 0, 0, 0, rlsuite.__version__)
    results = train(
        unmeasured.make(), environment, steps=steps, seeds=FRESH_SEEDS, evaluate_every=steps, record_every=steps
    )
    (row,) = rows_of({environment: [results]}, VALUE)
    if row.low is None or row.high is None or row.optimum is None:
        raise ParameterError(f"{environment}: the optimum is unknown, {row.optimum_unknown}")
    return unmeasured._replace(value=row.mean, low=row.low, high=row.high, optimum=row.optimum)


def write_known(path: str | PathLike[str], known: Sequence[KnownSetting]) -> None:
    """Write the table."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(KnownSetting._fields)
        for one in known:
            numbers = {name: f"{getattr(one, name):.10g}" for name in NUMBERS}
            writer.writerow(one._replace(setting=json.dumps(dict(one.setting)), **numbers))


if __name__ == "__main__":
    sys.exit(main())
