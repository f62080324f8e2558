"""What is measured of each agent, over the seeds: its value, its distance from the optimum, its regret."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.experiments.paired import differing
from rlsuite.models.aliases import FloatArray
from rlsuite.training.results import UNKNOWN, Bounds, Record, Results, common_bounds
from rlsuite.training.statistics import interval_method, mean_interval

VALUE = "value of the greedy policy"
FOLLOWED = "value of the policy that it follows"
VALUE_ERROR = "RMS error of the state values"
"""Of an agent that evaluates a policy: the less, the better."""
UNDISCOUNTED = "undiscounted return of the greedy policy"
PER_EPISODE = "return per episode"
PER_STEP = "reward per step"
MEASURES = (VALUE_ERROR, FOLLOWED, VALUE, UNDISCOUNTED, PER_EPISODE, PER_STEP)
"""In the order in which `measures_of` prefers them."""

_REGRET, _END, _OPTIMUM = "regret", "end probability", "optimum"

ROUNDING = 1e-9
"""Share of the other end of an interval below which an end is that of rounding."""

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
                                              `rlsuite.training.optimum`
    value of the policy that it follows       of such agents where there is no model to measure the error by
    value of the greedy policy                the last evaluation, discounted by the same gamma for all
    undiscounted return of the greedy policy  the last evaluation, where agents discount differently
    return per episode                        undiscounted, mean of the last tenth of each seed's episodes
    reward per step                           mean over the run, where no episode ended
    ========================================  ======================================================================

    If they have none in common, each has its own first one.
    """
    able = [list(ends_of(run).samples) for run in runs]
    discounted = () if len({run.gamma for run in runs}) == 1 else (VALUE, FOLLOWED, VALUE_ERROR)
    common = [one for one in able[0] if one not in discounted and all(one in other for other in able)]
    return [common[0] if common else own[0] for own in able]


class Ends(NamedTuple):
    """What the runs of one agent have come to, a number for each seed: all that is compared."""

    seeds: list[int]
    samples: dict[str, FloatArray]
    """(n_seeds,) of each measure that all runs have, in the order of `measures_of`."""
    regret: FloatArray | None
    """(n_seeds,) of the whole runs; None if it was not recorded."""
    end_probability: FloatArray | None
    """(n_seeds,) of the last policies evaluated; None if it is not known."""
    optimal_value: FloatArray | None
    """(n_seeds,); None if it is not known."""
    optimum_unknown: str
    """Why it is not known, as a phrase."""
    bounds: dict[str, Bounds]
    """What no sample of a measure can be below or above: the values of the worst and of the best policy, and the least
    and the greatest return of an episode. And the value of the uniform policy, where it is known."""


_ENDS: "WeakKeyDictionary[Results, Ends]" = WeakKeyDictionary()


def ends_of(run: Results) -> Ends:
    """What runs have come to; each record is read once, and let go.

    Raises
    ------
    ParameterError
        If there is no run.
    """
    found = _ENDS.get(run)
    if found is None:
        found = _ENDS[run] = _read(run)
    return found


def _read(run: Results) -> Ends:
    seeds: list[int] = []
    columns: dict[str, list[float]] = {name: [] for name in (*MEASURES, _REGRET, _END, _OPTIMUM)}
    value_bounds: set[Bounds] = set()
    return_bounds: set[Bounds] = set()
    return_range: set[Bounds] = set()
    unknown = ""
    for record in run.records:
        seeds.append(record.seed)
        for name, number in _numbers_of(record).items():
            if number is not None:
                columns[name].append(float(number))
        value_bounds.add(record.value_bounds)
        return_bounds.add(record.return_bounds)
        return_range.add(record.return_range)
        if record.optimal_value is None:
            unknown = unknown or record.optimum_unknown
    if not seeds:
        raise ParameterError(f"{run.agent} in {run.environment} has no finished run: train it, or leave it out")
    whole = {name: np.array(column) for name, column in columns.items() if len(column) == len(seeds)}
    bounds = {
        VALUE: common_bounds(value_bounds),
        UNDISCOUNTED: common_bounds(return_bounds),
        PER_EPISODE: common_bounds(return_range),
    }
    return Ends(
        seeds,
        {name: whole[name] for name in MEASURES if name in whole},
        whole.get(_REGRET),
        whole.get(_END),
        whole.get(_OPTIMUM),
        unknown,
        {VALUE_ERROR: Bounds(low=0.0), **bounds},
    )


def _numbers_of(record: Record) -> dict[str, float | None]:
    """What one run has come to; None where it is not known."""
    value = record.evaluation[-1] if record.evaluation.size else None
    total = record.evaluation_return[-1] if record.evaluation_return.size and not record.follows else None
    episodes = record.episode_return
    return {
        VALUE_ERROR: record.value_error[-1] if record.value_error.size else None,
        FOLLOWED if record.follows else VALUE: value,
        UNDISCOUNTED: total if total is not None and math.isfinite(total) else None,
        PER_EPISODE: episodes[-math.ceil(episodes.size / 10) :].mean() if episodes.size else None,
        PER_STEP: record.cumulative_reward[-1] / record.time[-1] if record.time.size else None,
        _REGRET: record.regret[-1] if record.regret.size else None,
        _END: record.end_probability,
        _OPTIMUM: record.optimal_value,
    }


def samples_of(run: Results, measure: str) -> FloatArray:
    """One number per seed, shape (n_seeds,).

    Raises
    ------
    ParameterError
        If one is not finite.
    """
    ends = ends_of(run)
    samples = ends.samples[measure]
    finite = np.isfinite(samples)
    if not finite.all():
        first = int(np.argmin(finite))
        raise ParameterError(
            f"{run.agent} in {run.environment}, seed {ends.seeds[first]}: {measure} is {samples[first]}, which "
            "has no mean with others; learn with a smaller learning_rate, or leave this agent out"
        )
    return samples


def bounds_of(run: Results, measure: str) -> Bounds:
    """What no sample can be below or above: the values of the worst and of the best policy, where they are known."""
    return ends_of(run).bounds.get(measure, UNKNOWN)


def table(rows: Sequence[Row]) -> str:
    """Rows as text, one block per environment.

    >>> print(table([Row("lake", "Sarsa", "return per episode", 2, 0.5, 0.4, 0.6, None, None)]))
    lake: return per episode, mean over 2 seeds [95 % interval: Student t, cut at known bounds]
      Sarsa  0.5  [0.4, 0.6]
    """
    blocks: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        blocks.setdefault((row.environment, row.measure), []).append(row)
    return "\n".join(_block(*what, own) for what, own in blocks.items())


def _paired(environment: str, runs: list[Results], asked: str | None) -> list[Row]:
    """The rows of one environment, each compared with the best of those with the same seeds."""
    if not runs:
        return []
    measures = measures_of(runs) if asked is None else [asked] * len(runs)
    for run in runs:
        able = ends_of(run).samples
        if asked is not None and asked not in able:
            raise ParameterError(f"{run.agent} in {environment} has no {asked}, but {', '.join(able)}")
    rows = [_row(environment, run, measure) for run, measure in zip(runs, measures, strict=True)]
    kinds = [(measure, *ends_of(run).seeds) for run, measure in zip(runs, measures, strict=True)]
    for kind in dict.fromkeys(kinds):
        measure = str(kind[0])
        own = [index for index, other in enumerate(kinds) if other == kind]
        best = max(own, key=lambda index: sign_of(measure) * rows[index].mean)
        for index in set(own) - {best}:
            apart = differing(samples_of(runs[index], measure), samples_of(runs[best], measure))
            mean, low, high = _interval(apart, UNKNOWN)
            rows[index] = rows[index]._replace(
                versus=rows[best].agent, difference=mean, difference_low=low, difference_high=high
            )
    return rows


def sign_of(measure: str) -> float:
    """-1 if less is better, else 1."""
    return -1.0 if measure == VALUE_ERROR else 1.0


def _row(environment: str, results: Results, measure: str) -> Row:
    ends = ends_of(results)
    samples = samples_of(results, measure)
    interval = _interval(samples, bounds_of(results, measure))
    row = Row(environment, results.agent, measure, len(samples), *interval, None, None)
    if ends.regret is not None:
        regret, low, high = _interval(ends.regret, UNKNOWN)
        row = row._replace(regret=regret, regret_low=low, regret_high=high)
    if ends.end_probability is not None:
        row = row._replace(arriving=int(np.sum(ends.end_probability >= SURE)))
    optimum = None if ends.optimal_value is None else float(ends.optimal_value.mean())
    if measure == PER_EPISODE and results.gamma == 1.0:  # the optimum is a return, too
        row = row._replace(optimum=optimum)
    if measure != VALUE:
        return row
    share = row.mean / optimum if optimum is not None and optimum > 0.0 <= row.mean else None
    row = row._replace(optimum=optimum, share=share, optimum_unknown=ends.optimum_unknown)
    if UNDISCOUNTED in ends.samples:
        total, least, most = _interval(ends.samples[UNDISCOUNTED], bounds_of(results, UNDISCOUNTED))
        row = row._replace(undiscounted=total, undiscounted_low=least, undiscounted_high=most)
    return row


def _interval(samples: FloatArray, bounds: Bounds) -> tuple[float, float | None, float | None]:
    """Mean over the seeds and both ends of its interval; None with one seed."""
    if len(samples) == 1:
        return float(samples[0]), None, None
    mean, low, high = mean_interval(samples, bounds=bounds)
    return float(mean), float(low), float(high)


def _block(environment: str, measure: str, rows: Sequence[Row]) -> str:
    counts = sorted({row.seeds for row in rows})
    seeds = " or ".join(map(str, counts))
    method = " or ".join(dict.fromkeys(interval_method(count) for count in counts if count > 1))
    over = "one seed, no interval" if counts == [1] else f"mean over {seeds} seeds [95 % interval: {method}]"
    cells = [_cells(row) for row in rows]
    shown = [column for column in zip(*cells, strict=True) if any(column)]
    aligned = [
        [(str.rjust if index else str.ljust)(text, max(map(len, column))) for text in column]
        for index, column in enumerate(shown)
    ]
    lines = ["  ".join(parts).rstrip() for parts in zip(*aligned, strict=True)]
    what = f"discounted {measure}" if measure in (VALUE, FOLLOWED) else measure
    lines += [f"optimum unknown: {reason}" for reason in dict.fromkeys(row.optimum_unknown for row in rows) if reason]
    return "\n".join([f"{environment}: {what}, {over}", *(f"  {line}" for line in lines)])


def _cells(row: Row) -> tuple[str, ...]:
    optimum = "" if row.optimum is None else f"optimum {short(row.optimum)}"
    share = "" if row.share is None else f"{row.share:.1%} of it"
    undiscounted = ends = difference = ""
    if row.undiscounted is not None:
        undiscounted = f"undiscounted return {mean_text(row.undiscounted, row.undiscounted_low, row.undiscounted_high)}"
    if row.arriving is not None and row.arriving < row.seeds:
        ends = f"{row.arriving} of {row.seeds} reach an end"
    if row.difference is not None:
        around = brackets(row.difference_low, row.difference_high)
        difference = f"{row.difference:+.4g} {around} against the best".replace("  ", " ")
    return row.agent, short(row.mean), brackets(row.low, row.high), optimum, share, undiscounted, ends, difference


def brackets(low: float | None, high: float | None) -> str:
    """Both ends of an interval as text; empty without one.

    >>> brackets(-1.0, 2.5), brackets(None, None), brackets(-1e-14, 0.5)
    ('[-1, 2.5]', '', '[0, 0.5]')
    """
    if low is None or high is None:
        return ""
    rounding = ROUNDING * max(abs(low), abs(high))
    ends = (0.0 if abs(end) <= rounding else end for end in (low, high))
    return f"[{', '.join(map(short, ends))}]"


def mean_text(mean: float | None, low: float | None = None, high: float | None = None) -> str:
    """A mean and its interval as text; empty where nothing is known."""
    return "" if mean is None else f"{short(mean)} {brackets(low, high)}".rstrip()


def short(value: float) -> str:
    """A number in four digits, without an exponent up to a thousand millions.

    >>> short(-12.24785), short(20561.3), short(2e-7)
    ('-12.25', '20560', '2e-07')
    """
    return f"{float(f'{value:.4g}'):.9g}"
