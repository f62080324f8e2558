"""How the agents of an experiment compare with each other and with the optimum."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.keywords import says_what_to_write
from rlsuite.training.results import Results
from rlsuite.training.statistics import mean_interval

VALUE = "value of the greedy policy"


class Row(NamedTuple):
    """One agent in one environment."""

    environment: str
    agent: str
    measure: str
    """What the numbers measure; see `compare`."""
    seeds: int
    mean: float
    """Mean over the seeds."""
    low: float | None
    """Lower end of the 95 % interval over the seeds; None with one seed."""
    high: float | None
    """Upper end."""
    optimum: float | None
    """Value of the optimal policy, mean over the seeds; None if it is unknown or not comparable."""
    share: float | None
    """``mean / optimum``; None unless the optimum is known and positive, and the mean is not negative."""
    undiscounted: float | None = None
    """Undiscounted return of the greedy policy at the last evaluation, mean over the seeds; None if it is not known."""
    optimum_unknown: str = ""
    """Why the optimum is unknown, as a phrase; empty if it is known, or not comparable."""


@says_what_to_write
def compare(results: Mapping[str, Iterable[Results]]) -> list[Row]:
    """One row per environment and agent: its final performance, with an interval over the seeds.

    The measure is the first of the following that all runs have:

    =============================  ==========================================================================
    ``value of the greedy policy`` the last evaluation, discounted; comparable with the optimum
    ``return per episode``         undiscounted, mean of the last tenth of each seed's episodes
    ``reward per step``            mean over the run, where no episode ended
    =============================  ==========================================================================

    Parameters
    ----------
    results : mapping
        Label of the environment -> one `Results` per agent, as `Experiment.run` and `load_results` return it.

    Returns
    -------
    list of Row

    Examples
    --------
    >>> import rlsuite as rl
    >>> results = rl.train(rl.Sarsa(gamma=0.9), "FrozenLake-v1", steps=1_000, seeds=5, evaluate_every=1_000)
    >>> row = compare({"lake": [results]})[0]
    >>> row.agent, row.measure, row.seeds, round(row.optimum, 4)
    ('Sarsa', 'value of the greedy policy', 5, 0.0689)
    """
    return [_row(environment, one) for environment, runs in results.items() for one in runs]


def table(rows: Sequence[Row]) -> str:
    """The rows of `compare` as text, one block per environment.

    >>> print(table([Row("lake", "Sarsa", "return per episode", 2, 0.5, 0.4, 0.6, None, None)]))
    lake: return per episode, mean over 2 seeds [95 % interval]
      Sarsa  0.5  [0.4, 0.6]
    """
    blocks: list[str] = []
    for environment in dict.fromkeys(row.environment for row in rows):
        own = [row for row in rows if row.environment == environment]
        for measure in dict.fromkeys(row.measure for row in own):
            blocks.append(_block(environment, measure, [row for row in own if row.measure == measure]))
    return "\n".join(blocks)


def _row(environment: str, results: Results) -> Row:
    measure, samples = _samples(results)
    n_seeds = len(samples)
    low = high = None
    if n_seeds > 1:
        interval = mean_interval(samples)
        low, high = float(interval.low), float(interval.high)
    mean = float(samples.mean())
    optimum = _optimum(results) if measure == VALUE else None
    share = mean / optimum if optimum is not None and optimum > 0.0 <= mean else None
    undiscounted = _undiscounted(results) if measure == VALUE else None
    unknown = ""
    if measure == VALUE and optimum is None:
        unknown = next((one.optimum_unknown for one in results.records if one.optimal_value is None), "")
    return Row(environment, results.agent, measure, n_seeds, mean, low, high, optimum, share, undiscounted, unknown)


def _samples(results: Results) -> tuple[str, NDArray[np.float64]]:
    """What is measured, and one number per seed."""
    records = results.records
    if all(record.evaluation.size for record in records):
        return VALUE, np.array([record.evaluation[-1] for record in records])
    if all(record.episode_return.size for record in records):
        tails = [record.episode_return[-math.ceil(record.episode_return.size / 10) :] for record in records]
        return "return per episode", np.array([tail.mean() for tail in tails])
    steps = [record.time[-1] for record in records]
    return "reward per step", np.array([record.cumulative_reward[-1] for record in records]) / np.array(steps)


def _undiscounted(results: Results) -> float | None:
    known = [record.evaluation_return[-1] for record in results.records if record.evaluation_return.size]
    mean = float(np.mean(known)) if len(known) == len(results.records) else math.nan
    return None if math.isnan(mean) else mean


def _optimum(results: Results) -> float | None:
    known = [record.optimal_value for record in results.records if record.optimal_value is not None]
    return float(np.mean(known)) if len(known) == len(results.records) else None


def _block(environment: str, measure: str, rows: Sequence[Row]) -> str:
    counts = sorted({row.seeds for row in rows})
    seeds = " or ".join(map(str, counts))
    over = "one seed, no interval" if counts == [1] else f"mean over {seeds} seeds [95 % interval]"
    cells = [_cells(row) for row in rows]
    shown = [column for column in zip(*cells, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in shown]
    aligned = [
        [text.ljust(width) if index == 0 else text.rjust(width) for text, width in ((text, width) for text in column)]
        for index, (column, width) in enumerate(zip(shown, widths, strict=True))
    ]
    lines = ["  ".join(parts).rstrip() for parts in zip(*aligned, strict=True)]
    what = f"discounted {measure}" if measure == VALUE else measure
    reasons = dict.fromkeys(row.optimum_unknown for row in rows if row.optimum_unknown)
    lines += [f"optimum unknown: {reason}" for reason in reasons]
    return "\n".join([f"{environment}: {what}, {over}", *(f"  {line}" for line in lines)])


def _cells(row: Row) -> tuple[str, ...]:
    interval = "" if row.low is None or row.high is None else f"[{row.low:.4g}, {row.high:.4g}]"
    optimum = "" if row.optimum is None else f"optimum {row.optimum:.4g}"
    share = "" if row.share is None else f"{row.share:.1%} of it"
    undiscounted = "" if row.undiscounted is None else f"undiscounted return {row.undiscounted:.4g}"
    return row.agent, f"{row.mean:.4g}", interval, optimum, share, undiscounted
