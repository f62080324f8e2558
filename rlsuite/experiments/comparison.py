"""Agents beside each other: which is better, how sure that is, and how far each is from the optimum.

One number for an agent over several environments has an interval whose resamples are drawn within each environment.
Scores of different environments are comparable once they are shares of the way from the uniform policy to the optimum
(Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, 2021).
"""

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from os import PathLike
from typing import Final, Literal, NamedTuple, overload

import numpy as np

from rlsuite.core.checks import one_of
from rlsuite.core.shown import DataFrame, ShowsItself, frame_of
from rlsuite.errors import ParameterError, unknown
from rlsuite.experiments.paired import LEVEL, Pair, Verdict, corrected, pair_of, verdict
from rlsuite.experiments.rows import (
    SURE,
    Row,
    bounds_of,
    brackets,
    ends_of,
    mean_text,
    measures_of,
    rows_of,
    samples_of,
    short,
    sign_of,
    table,
)
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.training.results import UNKNOWN, Bounds, Results
from rlsuite.training.statistics import RESAMPLES, mean_interval

StatisticName = Literal["mean", "median", "iqm"]


class Aggregate(NamedTuple):
    """A number of all runs of an agent, with its 95 % interval."""

    value: float
    low: float
    """Lower end of the percentile interval of a stratified bootstrap."""
    high: float
    """Upper end."""


def interquartile_mean(scores: FloatArray) -> FloatArray:
    """Mean of the middle half of all runs, over the last axis: a quarter is cut at either end, rounded down.

    >>> float(interquartile_mean(np.array([-100.0, 1.0, 2.0, 3.0])))
    1.5
    """
    from scipy.stats import trim_mean  # loads half a second of SciPy, which tables do not need

    return np.asarray(trim_mean(scores, 0.25, axis=-1))


STATISTICS: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "mean": lambda scores: scores.mean(axis=-1),
    "median": lambda scores: np.median(scores, axis=-1),
    "iqm": interquartile_mean,
}
"""Name -> what it makes of the last axis, all runs of an agent."""


def aggregate(scores: Sequence[FloatArray], statistic: StatisticName = "iqm", confidence: float = 0.95) -> Aggregate:
    """Aggregate the runs of one agent, with an interval by the stratified bootstrap.

    Every resample draws as many seeds within each environment as there are. Resampling has a fixed seed, so the same
    scores give the same interval.

    Parameters
    ----------
    scores
        (n_seeds,) for each environment.
    statistic
        ``"mean"``, ``"median"`` or ``"iqm"``, the mean of the middle half, which no outlier moves and which needs fewer
        seeds than the median.
    confidence
        Probability that the interval covers the expectation, roughly.

    Examples
    --------
    >>> aggregate([np.array([0.9, 1.0, 0.8, 0.0]), np.array([0.7, 0.6, 0.5, 0.8])], "median").value
    0.75
    """
    compute = STATISTICS[one_of("statistic", statistic, tuple(STATISTICS))]
    rng = np.random.default_rng(RESAMPLES)
    drawn = [one[rng.integers(len(one), size=(RESAMPLES, len(one)))] for one in scores]
    tails = [0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]
    low, high = np.quantile(compute(np.concatenate(drawn, axis=1)), tails)
    return Aggregate(float(compute(np.concatenate(scores))), float(low), float(high))


def profile(scores: Sequence[FloatArray], levels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of the runs that reach each level, and both ends of its 95 % interval, pointwise: a performance profile.

    Parameters
    ----------
    scores
        (n_seeds,) for each environment, each of which counts alike.
    levels
        (n_levels,) float.

    Examples
    --------
    >>> profile([np.array([0.2, 0.6, 0.9])], np.array([0.0, 0.5, 1.0]))[0].round(2).tolist()
    [1.0, 0.67, 0.0]
    """
    rng = np.random.default_rng(RESAMPLES)
    shares, resampled = np.zeros(len(levels)), np.zeros((RESAMPLES, len(levels)))
    for one in scores:
        reached = (one[:, None] >= levels[None, :]).astype(np.float64)
        shares += reached.mean(axis=0)
        counts = rng.multinomial(len(one), np.full(len(one), 1.0 / len(one)), size=RESAMPLES)
        resampled += counts @ reached / len(one)
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    n = len(scores)
    return shares / n, low / n, high / n


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ShowsItself, Sequence[Row]):
    """Results of several agents in several environments, as `rlsuite.compare` returns them.

    It is a sequence of its rows, one for each environment and agent.

    Attributes
    ----------
    results : mapping of str to list of Results
        Label of the environment -> results of each agent.
    margin : float, str or None
        With ``seeds="enough"``: agents are equal if they differ by less than this, see `rlsuite.compare`.
    """

    results: Mapping[str, Sequence[Results]]
    margin: float | str | None = None

    def __post_init__(self) -> None:
        for environment, runs in self.results.items():
            labels = [run.agent for run in runs]
            twice = next((label for label in labels if labels.count(label) > 1), None)
            if twice is not None:
                raise ParameterError(
                    f"two results in {environment} are labelled {twice!r}: give each agent a label of its own, with "
                    "train(..., label=), or label in a TOML file"
                )

    @cached_property
    def rows(self) -> list[Row]:
        """The performance of each agent in each environment."""
        return rows_of(self.results)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two agents of an environment that learned with the same two seeds or more, with corrected p values."""
        found: list[Pair] = []
        n_pairs = sum(math.comb(len(runs), 2) for runs in self.results.values())
        for environment, runs in self.results.items():
            for (one, measure), (other, its) in combinations(zip(runs, measures_of(runs), strict=True), 2):
                seeds, samples = shared_samples(measure, one, other) if its == measure else ([], (NOTHING, NOTHING))
                if len(seeds) > 1:
                    bounds = _bounds_in(runs, measure)
                    found.append(pair_of(environment, (one.agent, other.agent), samples, bounds, n_pairs))
        return corrected(found)

    @property
    def agents(self) -> list[str]:
        """Labels of the agents."""
        return list(dict.fromkeys(row.agent for row in self.rows))

    @cached_property
    def scores(self) -> dict[str, list[FloatArray]]:
        """Agent -> in each environment (n_seeds,): 0 is the uniform policy, 1 the optimal one.

        Raises
        ------
        ParameterError
            If the values of the optimal and the uniform policy of an environment are unknown, or an agent is missing in
            one.
        """
        found: dict[str, list[FloatArray]] = {agent: [] for agent in self.agents}
        for environment, runs in self.results.items():
            scale = scale_of(environment, runs)
            for run, measure in zip(runs, measures_of(runs), strict=True):
                found[run.agent].append((samples_of(run, measure) - scale.uniform) / scale.way)
        for agent, own in found.items():
            if len(own) < len(self.results):
                raise ParameterError(f"{agent} has results in {len(own)} of {len(self.results)} environments only")
        return found

    def aggregate(self, statistic: StatisticName = "iqm") -> dict[str, Aggregate]:
        """One number per agent over all environments, of scores: 0 is the uniform policy, 1 the optimal one.

        Parameters
        ----------
        statistic : {"iqm", "mean", "median"}
            ``"iqm"`` is the mean of the middle half of all runs.

        Returns
        -------
        dict of str to Aggregate
            Value and 95 % interval of a stratified bootstrap with a fixed seed.

        Raises
        ------
        ParameterError
            As for `scores`.
        """
        return {agent: aggregate(own, statistic) for agent, own in self.scores.items()}

    def profile(self, levels: FloatArray | None = None) -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
        """Agent -> share of its runs with a score of at least each level, and both ends of the 95 % interval.

        Parameters
        ----------
        levels : ndarray, shape (n_levels,), optional
            By default 101 levels from 0 to 1.

        Raises
        ------
        ParameterError
            As for `scores`.
        """
        chosen = np.linspace(0.0, 1.0, 101) if levels is None else np.asarray(levels, dtype=np.float64)
        return {agent: profile(own, chosen) for agent, own in self.scores.items()}

    @cached_property
    def verdicts(self) -> dict[tuple[str, str, str], Verdict]:
        """(environment, agent, other agent) -> verdict of the test that may look after every seed.

        A false one has a probability of at most 5 % for all of them together. Empty without a margin.
        """
        if self.margin is None:
            return {}
        level = LEVEL / max(1, sum(math.comb(len(runs), 2) for runs in self.results.values()))
        return {
            (environment, *pair): one
            for environment, runs in self.results.items()
            for pair, one in verdicts_of(environment, runs, self.margin, level).items()
        }

    def sentences(self, environment: str | None = None) -> list[str]:
        """What the numbers say, in a sentence or two for each environment, or for one of them.

        Raises
        ------
        ParameterError
            If there is no such environment.
        """
        if environment is None:
            several = len(self.results) > 1
            return [f"{label}: {told}" if several else told for label in self.results for told in self.sentences(label)]
        if environment not in self.results:
            raise ParameterError(unknown("environment", environment, self.results))
        own = [pair for pair in self.pairs if pair.environment == environment]
        decided = {key[1:]: one for key, one in self.verdicts.items() if key[0] == environment}
        if decided:
            known = {frozenset((pair.first, pair.second)): pair for pair in own}
            scale = scale_of(environment, self.results[environment])
            within = scale.told(scale.in_units(self.margin or 0.0))
            return [_of_verdict(key, one, known.get(frozenset(key)), within) for key, one in decided.items()]
        measures = {row.measure for row in self.rows if row.environment == environment}
        by = measures.pop() if len(measures) == 1 else ""
        return _of_pairs(own, [run.agent for run in self.results[environment]], by)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        told = self.sentences()
        more = [] if len(told) <= 3 else [f"... and {len(told) - 3} more sentences: print(comparison)"]
        counts = sorted({row.seeds for row in self.rows})
        seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "no"
        size = f"{len(self.agents)} agents in {len(self.results)} environments, {seeds} seeds"
        return "\n".join([f"Comparison({size})", *(f"  {line}" for line in told[:3] + more)])

    def __str__(self) -> str:
        return "\n".join([table(self.rows), *self.sentences()])

    def columns(self) -> dict[str, list[str]]:
        """The rows as texts, by title, without columns in which nothing is known."""
        measures = dict.fromkeys(row.measure for row in self.rows)
        titles = [next(iter(measures)) if title == "mean" and len(measures) == 1 else title for title in HEADINGS]
        found = dict(zip(titles, map(list, zip(*map(_texts, self.rows), strict=True)), strict=bool(self.rows)))
        return {title: column for title, column in found.items() if any(column)} or {title: [] for title in titles}

    def to_markdown(self) -> str:
        """The rows as a Markdown table.

        Examples
        --------
        >>> import rlsuite as rl
        >>> results = rl.train(rl.Sarsa(gamma=0.9), "FrozenLake-v1", steps=100, seeds=2, evaluate_every=100)
        >>> print(rl.compare([results]).to_markdown().splitlines()[0])
        | environment | agent | seeds | value of the greedy policy | 95 % interval | optimum | regret | reach an end |
        """
        columns = self.columns()
        rows = zip(*columns.values(), strict=True)
        lines = [list(columns), ["---"] * 2 + ["---:"] * (len(columns) - 2), *rows]
        return "\n".join("| " + " | ".join(text.replace("|", r"\|") for text in line) + " |" for line in lines)

    def to_latex(self) -> str:
        r"""The rows as a LaTeX table; it needs ``\usepackage{booktabs}``."""
        columns = self.columns()
        rows = zip(*columns.values(), strict=True)
        lines = [" & ".join(map(_escaped, texts)) + r" \\" for texts in (list(columns), *rows)]
        aligned = "ll" + "r" * (len(columns) - 2)
        body = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        return "\n".join([*body, r"\end{tabular}"])

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the rows, with all their fields, as comma-separated values; unknown numbers are empty."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(Row._fields)
            writer.writerows(self.rows)

    def to_frame(self) -> DataFrame:
        """The rows as a pandas DataFrame, a column for each field of `Row`.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        return frame_of({name: [getattr(row, name) for row in self.rows] for name in Row._fields})


def verdicts_of(
    environment: str, runs: Sequence[Results], margin: float | str, level: float
) -> dict[tuple[str, str], Verdict]:
    """The verdict on each pair of agents of one environment, each false with a probability of at most `level`.

    Agents are equal only where as many seeds of each reach an end, and the interval of the difference agrees.

    Raises
    ------
    ParameterError
        As for `scale_of`, or if the margin is as large as all that policies can differ by.
    """
    scale = scale_of(environment, runs)
    measure, within, reach = measures_of(runs)[0], scale.in_units(margin), scale.high - scale.low
    if within >= reach:
        raise ParameterError(f"margin={margin}: no two policies in {environment} differ by more than {reach:.4g}")
    found: dict[tuple[str, str], Verdict] = {}
    for one, other in combinations(runs, 2):
        seeds, (first, second) = shared_samples(measure, one, other)
        differences = first - second
        arriving = [_arriving(run, seeds) for run in (one, other)]

        def may_be_equal(n: int, differences: FloatArray = differences, arriving: list[BoolArray] = arriving) -> bool:
            if arriving[0][:n].sum() != arriving[1][:n].sum():
                return False
            _, low, high = mean_interval(differences[:n], bounds=(-reach, reach))
            return bool(low <= within and high >= -within)

        # Values are exact but for rounding, and so may lie a little beyond their bounds.
        shares = np.clip(differences / reach, -1.0, 1.0)
        found[one.agent, other.agent] = verdict(shares, within / reach, level, seeds, may_be_equal)
    return found


def _arriving(run: Results, seeds: Sequence[int]) -> BoolArray:
    """Whether the last policy of each of these seeds surely reaches an end; True for all where that is not known."""
    ends = ends_of(run)
    if ends.end_probability is None:
        return np.ones(len(seeds), dtype=np.bool_)
    return (ends.end_probability >= SURE)[[ends.seeds.index(seed) for seed in seeds]]


def shared_samples(measure: str, one: Results, other: Results) -> tuple[list[int], tuple[FloatArray, FloatArray]]:
    """The seeds that two agents have in common, and the samples (n_seeds,) of both: the greater, the better."""
    seeds = [ends_of(run).seeds for run in (one, other)]
    numbers = [
        dict(zip(own, samples_of(run, measure), strict=True)) for own, run in zip(seeds, (one, other), strict=True)
    ]
    common = [seed for seed in seeds[0] if seed in numbers[1]]
    first, second = (sign_of(measure) * np.array([own[seed] for seed in common], dtype=np.float64) for own in numbers)
    return common, (first, second)


def _bounds_in(runs: Sequence[Results], measure: str) -> Bounds:
    """The bounds of all agents of one environment: what one knows holds for all, as they have the same measure."""
    known = [bounds for run in runs if (bounds := bounds_of(run, measure)) != UNKNOWN]
    return known[0] if known else UNKNOWN


class Scale(NamedTuple):
    """What differences in an environment are measured by: the values of three policies, in the unit of the return."""

    low: float
    """Of the worst one."""
    high: float
    """Of the optimal one."""
    uniform: float
    """Of the one that takes all legal actions alike."""

    @property
    def way(self) -> float:
        """How far it is from the uniform policy to the optimum."""
        return self.high - self.uniform

    def in_units(self, margin: float | str) -> float:
        """A margin, which may be a share of the way, in the unit of the return.

        >>> scale = Scale(-100.0, 0.0, -50.0)
        >>> scale.in_units("2%"), scale.in_units("0.5"), scale.in_units(0.5)
        (1.0, 0.5, 0.5)
        """
        number, share = margin_of(margin)
        return number * self.way / 100.0 if share else number

    def told(self, margin: float) -> str:
        """A margin in the unit of the return, in words."""
        return f"{margin:.3g}, {100.0 * margin / self.way:.3g} % of the way from the uniform policy to the optimum"


def margin_of(margin: object) -> tuple[float, bool]:
    """The number of a margin, and whether it is a percentage of the way from the uniform policy to the optimum.

    Raises
    ------
    ParameterError
        If it is neither a positive number nor a positive percentage.
    """
    text = str(margin).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if isinstance(margin, bool) or not 0.0 < number < math.inf:
        raise ParameterError(
            f"margin={margin!r}: give a number above 0 in the unit of the return, such as margin=0.5, or a share of "
            'the way from the uniform policy to the optimum, margin="2%"'
        )
    return number, text.endswith("%")


def scale_of(environment: str, runs: Sequence[Results]) -> Scale:
    """The values of the worst, the optimal and the uniform policy, by the measure that all agents have in common.

    Raises
    ------
    ParameterError
        If they are unknown, or there is nothing between the uniform and the optimal one.
    """
    measure, *others = dict.fromkeys(measures_of(runs))
    bounds = UNKNOWN if others else _bounds_in(runs, measure)
    if bounds.uniform is None or math.isinf(bounds.high - bounds.low):
        undiscounted = all(run.gamma == 1.0 for run in runs)
        needed = (
            "a discount, gamma=0.99, or a time limit, max_episode_steps=200, as without"
            if undiscounted
            else ("a table of the environment (tabulate=True may make one), evaluations, and one problem for all seeds")
        )
        raise ParameterError(
            f"{environment}: the values of the optimal and the uniform policy are unknown (what is measured: "
            f"{measure}), so scores and margins cannot be computed; they need {needed}"
        )
    if bounds.uniform >= bounds.high:
        raise ParameterError(f"{environment}: the uniform policy is optimal, there is nothing to learn or to compare")
    return Scale(bounds.low, bounds.high, bounds.uniform)


NOTHING: Final = np.zeros(0)

HEADINGS = ["environment", "agent", "seeds", "mean", "95 % interval", "optimum", "regret", "reach an end"]


def _texts(row: Row) -> list[str]:
    """A row of `HEADINGS`."""
    ends = "" if row.arriving is None else f"{row.arriving} of {row.seeds}"
    known = [mean_text(row.optimum), mean_text(row.regret, row.regret_low, row.regret_high), ends]
    return [row.environment, row.agent, str(row.seeds), short(row.mean), brackets(row.low, row.high), *known]


def _escaped(text: str) -> str:
    # a minus is longer than a hyphen
    return re.sub(r"(?<![\w-])-(?=[\d.])", "$-$", re.sub(r"[&%$#_{}]", r"\\\g<0>", text))


def _of_pairs(pairs: Sequence[Pair], agents: Sequence[str], measure: str) -> list[str]:
    """Sentences about the pairs of one environment, by a measure: the best agent against each other one."""
    if not pairs:
        return [
            f"{agents[0]} is alone: give another agent to compare it with"
            if len(agents) < 2
            else "agents are told apart by at least two seeds in common: learn with more seeds (30 are usual)"
        ]
    wins = {agent: sum(pair.first == agent for pair in pairs) for agent in agents}
    best = max(agents, key=lambda agent: wins[agent])
    own = [pair for pair in pairs if best in (pair.first, pair.second)]
    sure, open_ = ([pair for pair in own if pair.is_significant is told] for told in (True, False))
    told: list[str] = []
    if sure:
        listed = ", and than ".join(
            f"{pair.second} by {pair.difference:.3g} [{pair.low:.3g}, {pair.high:.3g}] (p = {pair.p_value:.1g})"
            for pair in sure
        )
        told.append(f"{best} is better than {listed}{measure and f': {measure}'}")
        if unsure := [pair.second for pair in sure if pair.low <= 0.0 <= pair.high]:
            told.append(
                f"the test compares ranks: by their means, {best} and {' and '.join(unsure)} cannot be told apart, "
                "as 0 lies in the interval"
            )
    same = [pair.second for pair in open_ if pair.difference == 0.0]
    if same:
        told.append(f"{best} and {' and '.join(same)} have the same mean")
    rest = [pair for pair in open_ if pair.difference != 0.0]
    if len(rest) > 2:
        listed = ", ".join(pair.second if pair.first == best else pair.first for pair in rest)
        more = sorted((pair.seeds_needed or 0) - pair.seeds for pair in rest)
        told.append(
            f"{best} cannot be told apart from {listed} (p at least {min(pair.p_value for pair in rest):.2g}); about "
            f"{max(1, more[0])} to {max(1, more[-1])} more seeds would be needed"
        )
        return told
    for pair in rest:
        more = (pair.seeds_needed or 0) - pair.seeds
        seeds = f"{more} more seeds would be needed" if more > 0 else "a few more seeds would be needed"
        told.append(f"{pair.first} and {pair.second} cannot be told apart (p = {pair.p_value:.2g}); about {seeds}")
    return told


def _of_verdict(names: tuple[str, str], found: Verdict, pair: Pair | None, within: str) -> str:
    one, other = names
    apart = "" if pair is None else f"{pair.difference:.3g} {brackets(pair.low, pair.high)}"
    after = f"after {found.seeds} seeds"
    if found.word == "undecided":
        return f"{one} and {other} cannot be told apart {after}{apart and f': they differ by {apart}'}"
    if found.word == "equal":
        return f"{one} and {other} are equal within {within}, {after}: they differ by {apart}"
    better, worse = (one, other) if found.word == "first" else (other, one)
    return f"{better} is better than {worse} by {apart}, {after}"
