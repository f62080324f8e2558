"""What is measured of each agent, over the seeds: its value, its distance from the optimum, its regret."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.training.results import UNKNOWN, Bounds, Results, mean_bounds
from rlsuite.training.statistics import interval_method, mean_interval

VALUE = "value of the greedy policy"
FOLLOWED = "value of the policy that it follows"
VALUE_ERROR = "RMS error of the state values"
"""Of an agent that evaluates a policy: the less, the better."""
UNDISCOUNTED = "undiscounted return of the greedy policy"
PER_EPISODE = "return per episode"
PER_STEP = "reward per step"

SURE = 1.0 - 1e-9
"""An event with at least this probability is taken as certain."""


class Row(NamedTuple):
    """One agent in one environment."""

    environment: str
    agent: str
    measure: str
    """What the numbers measure; see `rlsuite.compare`."""
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
    undiscounted_low: float | None = None
    """Lower end of its 95 % interval; None with one seed."""
    undiscounted_high: float | None = None
    """Upper end."""
    arriving: int | None = None
    """Number of seeds whose last greedy policy surely reaches an end; None if it is not known, or there is no end."""
    optimum_unknown: str = ""
    """Why the optimum is unknown, as a phrase; empty if it is known, or not comparable."""
    versus: str = ""
    """The best agent, of those with the same measure and seeds; empty for itself, or without any."""
    difference: float | None = None
    """Mean over the seeds of this agent's number less that agent's with the same seed."""
    difference_low: float | None = None
    """Lower end of its 95 % interval; None with one seed."""
    difference_high: float | None = None
    """Upper end."""
    regret: float | None = None
    """Regret of the whole run, mean over the seeds; None if it was not recorded."""
    regret_low: float | None = None
    """Lower end of its 95 % interval; None with one seed."""
    regret_high: float | None = None
    """Upper end."""


def rows_of(results: Mapping[str, Sequence[Results]], measure: str | None = None) -> list[Row]:
    """One row per environment and agent: its final performance, with an interval over the seeds.

    Raises
    ------
    ParameterError
        If there is a measure that results lack.
    """
    return [row for environment, runs in results.items() for row in _paired(environment, list(runs), measure)]


def measures_of(runs: Sequence[Results]) -> list[str]:
    """What each agent of one environment is measured by: the first of the following that all of them have.

    ========================================  ======================================================================
    RMS error of the state values             of agents that learn the values of a policy; see
                                              `rlsuite.training.value_error`
    value of the policy that it follows       of such agents where there is no model to measure the error by
    value of the greedy policy                the last evaluation, discounted by the same gamma for all
    undiscounted return of the greedy policy  the last evaluation, where agents discount differently
    return per episode                        undiscounted, mean of the last tenth of each seed's episodes
    reward per step                           mean over the run, where no episode ended
    ========================================  ======================================================================

    If they have none in common, each has its own first one.
    """
    able = [_measures_of(run) for run in runs]
    discounted = () if len({run.gamma for run in runs}) == 1 else (VALUE, FOLLOWED, VALUE_ERROR)
    common = [one for one in able[0] if one not in discounted and all(one in other for other in able)]
    return [common[0] if common else own[0] for own in able]


def _measures_of(run: Results) -> list[str]:
    """What a run can be measured by, in the order of `measures_of`."""
    records = run.records
    value = FOLLOWED if records[0].follows else VALUE
    has = {
        VALUE_ERROR: all(record.value_error.size for record in records),
        value: all(record.evaluation.size for record in records),
        UNDISCOUNTED: value == VALUE
        and all(record.evaluation_return.size and np.isfinite(record.evaluation_return[-1]) for record in records),
        PER_EPISODE: all(record.episode_return.size for record in records),
    }
    return [*(measure for measure, is_there in has.items() if is_there), PER_STEP]


def samples_of(run: Results, measure: str) -> NDArray[np.float64]:
    """One number per seed, shape (n_seeds,).

    Raises
    ------
    ParameterError
        If one is not finite.
    """
    samples = _samples_of(run, measure)
    finite = np.isfinite(samples)
    if not finite.all():
        first = int(np.argmin(finite))
        raise ParameterError(
            f"{run.agent} in {run.environment}, seed {run.records[first].seed}: {measure} is {samples[first]}, which "
            "has no mean with others; learn with a smaller learning_rate, or leave this agent out"
        )
    return samples


def _samples_of(run: Results, measure: str) -> NDArray[np.float64]:
    records = run.records
    if measure == VALUE_ERROR:
        return np.array([record.value_error[-1] for record in records])
    if measure in (VALUE, FOLLOWED):
        return np.array([record.evaluation[-1] for record in records])
    if measure == UNDISCOUNTED:
        return np.array([record.evaluation_return[-1] for record in records])
    if measure == PER_EPISODE:
        tails = [record.episode_return[-math.ceil(record.episode_return.size / 10) :] for record in records]
        return np.array([tail.mean() for tail in tails])
    steps = [record.time[-1] for record in records]
    return np.array([record.cumulative_reward[-1] for record in records]) / np.array(steps)


def bounds_of(run: Results, measure: str) -> Bounds:
    """What no sample can be below or above: the values of the worst and of the best policy, where they are known."""
    if measure == VALUE:
        return mean_bounds(run.records, "value_bounds")
    if measure == VALUE_ERROR:
        return Bounds(low=0.0)
    return mean_bounds(run.records, "return_bounds") if measure == UNDISCOUNTED else UNKNOWN


def table(rows: Sequence[Row]) -> str:
    """Rows as text, one block per environment.

    >>> print(table([Row("lake", "Sarsa", "return per episode", 2, 0.5, 0.4, 0.6, None, None)]))
    lake: return per episode, mean over 2 seeds [95 % interval: Student t, cut at known bounds]
      Sarsa  0.5  [0.4, 0.6]
    """
    blocks: list[str] = []
    for environment in dict.fromkeys(row.environment for row in rows):
        own = [row for row in rows if row.environment == environment]
        for measure in dict.fromkeys(row.measure for row in own):
            blocks.append(_block(environment, measure, [row for row in own if row.measure == measure]))
    return "\n".join(blocks)


def _paired(environment: str, runs: list[Results], asked: str | None) -> list[Row]:
    """The rows of one environment, each compared with the best of those with the same seeds."""
    if not runs:
        return []
    measures = measures_of(runs) if asked is None else [asked] * len(runs)
    for run in runs:
        if asked is not None and asked not in _measures_of(run):
            raise ParameterError(f"{run.agent} in {environment} has no {asked}, but {', '.join(_measures_of(run))}")
    rows = [_row(environment, run, measure) for run, measure in zip(runs, measures, strict=True)]
    kinds = [(measure, *(record.seed for record in run.records)) for run, measure in zip(runs, measures, strict=True)]
    for kind in dict.fromkeys(kinds):
        measure = str(kind[0])
        own = [index for index, other in enumerate(kinds) if other == kind]
        best = max(own, key=lambda index: sign_of(measure) * rows[index].mean)
        for index in set(own) - {best}:
            mean, low, high = _interval(samples_of(runs[index], measure) - samples_of(runs[best], measure), UNKNOWN)
            rows[index] = rows[index]._replace(
                versus=rows[best].agent, difference=mean, difference_low=low, difference_high=high
            )
    return rows


def sign_of(measure: str) -> float:
    """-1 if less is better, else 1."""
    return -1.0 if measure == VALUE_ERROR else 1.0


def _row(environment: str, results: Results, measure: str) -> Row:
    records = results.records
    samples = samples_of(results, measure)
    interval = _interval(samples, bounds_of(results, measure))
    row = Row(environment, results.agent, measure, len(samples), *interval, None, None)
    if all(record.regret.size for record in records):
        regret, low, high = _interval(np.array([record.regret[-1] for record in records]), UNKNOWN)
        row = row._replace(regret=regret, regret_low=low, regret_high=high)
    if all(record.end_probability is not None for record in records):
        row = row._replace(arriving=sum((record.end_probability or 0.0) >= SURE for record in records))
    if measure == PER_EPISODE and results.gamma == 1.0:  # the optimum is a return, too
        row = row._replace(optimum=_optimum(results))
    if measure != VALUE:
        return row
    optimum = _optimum(results)
    share = row.mean / optimum if optimum is not None and optimum > 0.0 <= row.mean else None
    row = row._replace(optimum=optimum, share=share)
    if optimum is None:
        unknown = next((one.optimum_unknown for one in records if one.optimal_value is None), "")
        row = row._replace(optimum_unknown=unknown)
    totals = np.array([record.evaluation_return[-1] for record in records if record.evaluation_return.size])
    if len(totals) == len(records) and np.isfinite(totals).all():
        total, least, most = _interval(totals, mean_bounds(records, "return_bounds"))
        row = row._replace(undiscounted=total, undiscounted_low=least, undiscounted_high=most)
    return row


def _interval(samples: NDArray[np.float64], bounds: Bounds) -> tuple[float, float | None, float | None]:
    """Mean over the seeds and both ends of its interval; None with one seed."""
    if len(samples) == 1:
        return float(samples[0]), None, None
    mean, low, high = mean_interval(samples, bounds=bounds)
    return float(mean), float(low), float(high)


def _optimum(results: Results) -> float | None:
    known = [record.optimal_value for record in results.records if record.optimal_value is not None]
    return float(np.mean(known)) if len(known) == len(results.records) else None


def _block(environment: str, measure: str, rows: Sequence[Row]) -> str:
    counts = sorted({row.seeds for row in rows})
    seeds = " or ".join(map(str, counts))
    method = " or ".join(dict.fromkeys(interval_method(count) for count in counts if count > 1))
    over = "one seed, no interval" if counts == [1] else f"mean over {seeds} seeds [95 % interval: {method}]"
    cells = [_cells(row) for row in rows]
    shown = [column for column in zip(*cells, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in shown]
    aligned = [
        [text.ljust(width) if index == 0 else text.rjust(width) for text, width in ((text, width) for text in column)]
        for index, (column, width) in enumerate(zip(shown, widths, strict=True))
    ]
    lines = ["  ".join(parts).rstrip() for parts in zip(*aligned, strict=True)]
    what = f"discounted {measure}" if measure in (VALUE, FOLLOWED) else measure
    reasons = dict.fromkeys(row.optimum_unknown for row in rows if row.optimum_unknown)
    lines += [f"optimum unknown: {reason}" for reason in reasons]
    return "\n".join([f"{environment}: {what}, {over}", *(f"  {line}" for line in lines)])


def _cells(row: Row) -> tuple[str, ...]:
    interval = brackets(row.low, row.high)
    optimum = "" if row.optimum is None else f"optimum {row.optimum:.4g}"
    share = "" if row.share is None else f"{row.share:.1%} of it"
    undiscounted = ends = difference = ""
    if row.undiscounted is not None:
        around = brackets(row.undiscounted_low, row.undiscounted_high)
        undiscounted = f"undiscounted return {row.undiscounted:.4g} {around}".rstrip()
    if row.arriving is not None and row.arriving < row.seeds:
        ends = f"{row.arriving} of {row.seeds} reach an end"
    if row.difference is not None:
        around = brackets(row.difference_low, row.difference_high)
        difference = f"{row.difference:+.4g} {around} against the best".replace("  ", " ")
    return row.agent, f"{row.mean:.4g}", interval, optimum, share, undiscounted, ends, difference


def brackets(low: float | None, high: float | None) -> str:
    """Both ends of an interval as text; empty without one.

    >>> brackets(-1.0, 2.5), brackets(None, None)
    ('[-1, 2.5]', '')
    """
    return "" if low is None or high is None else f"[{low:.4g}, {high:.4g}]"
