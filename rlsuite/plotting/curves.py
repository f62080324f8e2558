"""Learning curves of agents: mean and 95 % band over seeds.

Every function here takes the `Results` of one agent or of several agents in one environment, draws on `ax` if given
(else on the axes of a new figure, ``ax.figure``), and returns the Axes.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import one_of
from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    CurveKeywords,
    count_along,
    evenly,
    finish,
    label_axes,
    open_axes,
    styled,
)
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.intervals import Curve, draw_curves, label_ends
from rlsuite.plotting.labels import in_title, is_agent
from rlsuite.plotting.style import MOST_NAMES, OPTIMUM, Look, Palette
from rlsuite.training.results import UNKNOWN, Bounds, Record, Results, mean_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.agents import Agent

    Given = Results | Agent


# ------------------------------------------------------------------------------- returns of many seeds on a common axis

# Seeds finish their episodes at different times, and different numbers of them; means over seeds need an axis on which
# every seed has values.

MOST_POINTS: Final = 1000
"""A longer curve is drawn at this many of its points, evenly spread: a figure has no more pixels to show."""


def smoothed(returns: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Mean of each return and the `window` - 1 returns before it, or as many as there are.

    Parameters
    ----------
    returns
        (E,) float64.
    window
        Number of episodes, at least 1.

    Returns
    -------
    numpy.ndarray
        (E,) float64.

    Examples
    --------
    >>> smoothed(np.array([4.0, 8.0, 3.0, 1.0]), 2).tolist()
    [4.0, 6.0, 5.5, 2.0]
    """
    if window == 1:
        return returns
    sums = np.concatenate([[0.0], np.cumsum(returns)])
    last = np.arange(1, len(sums))
    first = np.maximum(last - window, 0)
    return (sums[last] - sums[first]) / (last - first)


def against_episodes(run: Results, window: int) -> Curve:
    """Smoothed returns of the n-th episodes of all seeds, up to the last that every seed finished."""
    common = min(len(record.episode_return) for record in run.records)
    samples = np.stack([smoothed(record.episode_return[:common], window) for record in run.records])
    shown = 1 + evenly(common, MOST_POINTS)
    return Curve(run.agent, shown.astype(np.float64), samples[:, shown - 1], mean_bounds(run.records, "return_range"))


def against_steps(run: Results, window: int) -> Curve:
    """Smoothed return of each seed's latest finished episode, while every seed has one and none has stopped.

    Raises
    ------
    ParameterError
        If there is no such step: one seed stopped before another finished its first episode.
    """
    ends = [np.cumsum(record.episode_length) for record in run.records]
    first, last = max(int(end[0]) for end in ends), min(int(end[-1]) for end in ends)
    if first > last:
        raise ParameterError(
            f"the seeds of {run.agent} have no common time at which all have finished an episode: train longer"
        )
    steps = first + evenly(last - first + 1, MOST_POINTS)
    samples = [
        smoothed(record.episode_return, window)[np.searchsorted(end, steps, side="right") - 1]
        for record, end in zip(run.records, ends, strict=True)
    ]
    return Curve(run.agent, steps.astype(np.float64), np.stack(samples), mean_bounds(run.records, "return_range"))


def cut_short(runs: list[Results]) -> list[str]:
    """The sentence for the caption where seeds finished different numbers of episodes."""
    counts = {run.agent: [len(record.episode_return) for record in run.records] for run in runs}
    fewest = {agent: min(finished) for agent, finished in counts.items() if min(finished) < max(finished)}
    if not fewest:
        return []
    listed = ", ".join(f"{agent}: {number}" for agent, number in fewest.items())
    return [f"Cut to the episodes that every seed finished ({listed})."]


UNITS: Final = {"steps": "environment steps", "episodes": "episodes"}
"""Labels of the units of time."""

RETURN: Final = "return per episode"

SMOOTHING: Final = 10
"""By default a return is averaged over the number of episodes divided by this."""

WIDEST: Final = 100
"""By default it is averaged over so many episodes at most."""


@figure_of("results")
@styled
def cumulative_reward(results: "Given | Sequence[Given]", **look: Unpack[CurveKeywords]) -> "Axes":
    """Sum of all rewards so far, beside that of an optimal policy; agents with the same seeds are compared in pairs.

    The dashed line is what the best policy earns, where that is known: of bandits, whose episodes are one step, the
    time times the best mean reward; of agents that do not discount, the number of episodes times the best return.

    If several agents have the same seeds, the band of each is that of the mean difference to the best agent, seed by
    seed, drawn around its own line: where it leaves out the line of the best agent, the two differ.

    Parameters
    ----------
    results
        What `train` returned; of several agents in the same environment, a list of these. Or agents that have learned.
    **look
        Axes, title, limits, band and palette: the keywords of `CurveKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are no results or no seeds, two results share a label, or their environments or units differ.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs, curves = _measured(results, "cumulative_reward")
    optima = _optima(runs, runs[0].unit)
    return _draw(runs, curves, "cumulative reward", [], look, optima=optima, grows=True)


@figure_of("results")
@styled
def regret(results: "Given | Sequence[Given]", **look: Unpack[CurveKeywords]) -> "Axes":
    """Sum of all optimality gaps ``V*(s) - Q*(s, a)`` so far, the loss against the optimal policy.

    Parameters
    ----------
    results, **look
        As for `cumulative_reward`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        As for `cumulative_reward`; also if the optimum of a run is unknown.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs, curves = _measured(results, "regret")
    _require(runs, lambda record: record.regret.size > 0, "no regret: the optimum of {environment} is not known{why}")
    note = "Regret: sum of V*(s) - Q*(s, a) over the steps so far."
    return _draw(runs, curves, "regret", [note], look, sign=-1.0)


@figure_of("results")
@styled
def evaluation(results: "Given | Sequence[Given]", **look: Unpack[CurveKeywords]) -> "Axes":
    """Value of the greedy policy at the start, at each evaluation; the exact optimum as a dashed line.

    Parameters
    ----------
    results, **look
        As for `cumulative_reward`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        As for `cumulative_reward`; also if a run was not evaluated.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs, curves = _measured(results, "evaluation")
    which = _policy_of(runs)
    note = f"Value: {_told(runs)} return of the {which} from the start, discounted as the agent does."
    optima = _optima(runs)
    return _draw(runs, curves, f"discounted value of the {which}", [note], look, optima=optima)


@figure_of("results")
@styled
def evaluation_return(results: "Given | Sequence[Given]", **look: Unpack[CurveKeywords]) -> "Axes":
    """Undiscounted return of the greedy policy, at each evaluation, the number that is usually published; the optimum.

    Parameters
    ----------
    results, **look
        As for `cumulative_reward`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        As for `cumulative_reward`; also if a run was not evaluated, or a policy may never reach an end.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs, curves = _measured(results, "evaluation_return")
    which = _policy_of(runs)
    _require(
        runs,
        lambda record: bool(np.isfinite(record.evaluation_return).all()),
        "a greedy policy that may never reach an end; give the environment a time limit (max_episode_steps=)",
    )
    note = f"Return: {_told(runs)} sum of rewards of an episode of the {which}, not discounted."
    optima = _optima(runs, "episodes")
    return _draw(runs, curves, f"undiscounted return of the {which}", [note], look, optima=optima)


def _policy_of(runs: Sequence[Results]) -> str:
    """Which policy was evaluated: of agents that learn the values of a policy, the one that they follow."""
    kinds = {"policy that it follows" if run.records[0].follows else "greedy policy" for run in runs}
    return kinds.pop() if len(kinds) == 1 else "policy"


def _told(runs: Sequence[Results]) -> str:
    """What evaluations are: where the model of an environment is not known, those of some episodes."""
    if all(record.value_bounds != UNKNOWN for run in runs for record in run.records):
        return "expected"
    return "mean over a few episodes, not the expected,"


@figure_of("results", has=lambda run: any(record.value_error.size for record in run.records))
@styled
def value_error(results: "Given | Sequence[Given]", **look: Unpack[CurveKeywords]) -> "Axes":
    """Root mean squared error of learned state values, at each evaluation, against the exact values of the policy.

    Parameters
    ----------
    results, **look
        As for `cumulative_reward`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        As for `cumulative_reward`; also if a run was not evaluated, its agent does not learn the values of a policy, or
        the environment has no model.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs, curves = _measured(results, "value_error")
    _require(
        runs,
        lambda record: record.value_error.size > 0,
        "no errors of state values: agents such as TD and TDLambda learn them, and the environment needs a model{why}",
    )
    note = "Error: root mean square over the states, against the exact values of the policy."
    quantity = "RMS error of the state values"
    return _draw(runs, curves, quantity, [note], look, sign=-1.0)


@figure_of("results")
@styled
def episode_return(
    results: "Given | Sequence[Given]",
    *,
    against: Literal["episodes", "steps"] = "episodes",
    smooth: int | None = None,
    **look: Unpack[CurveKeywords],
) -> "Axes":
    """Sum of rewards of each episode.

    Parameters
    ----------
    results, **look
        As for `cumulative_reward`.
    against
        ``"episodes"``: the n-th episodes of all seeds are averaged, up to the last episode that all seeds of an agent
        finished. ``"steps"``: at every step, the latest finished episodes of all seeds are averaged, from the step at
        which every seed has finished one to the step at which the first seed finished its last.
    smooth
        Before seeds are averaged, each return is replaced by the mean of the latest `smooth` returns of its seed
        (fewer at the beginning); 1 for none. None: a tenth of the episodes, 100 at most.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        As for `cumulative_reward`; also if `smooth` is below 1, `against` is unknown, or a seed finished no episode.

    Warns
    -----
    RlsuiteWarning
        If an agent has one seed only.
    """
    runs = _checked(results, "episode_return")
    one_of("axis to draw against", against, UNITS)
    if smooth is not None and smooth < 1:
        raise errors.ParameterError(f"smooth={smooth}, needed at least 1 episode (1: no smoothing)")
    _require(runs, lambda record: record.episode_return.size > 0, "no finished episode in seed {seed}: train longer")
    fewest = min(len(record.episode_return) for run in runs for record in run.records)
    window = max(1, min(fewest // SMOOTHING, WIDEST)) if smooth is None else smooth
    curves = [(against_episodes if against == "episodes" else against_steps)(run, window) for run in runs]
    notes = [] if window == 1 else [f"Each return is the mean of the latest {window} episodes of its seed."]
    if against == "episodes":
        notes += cut_short(runs)
    return _draw(runs, curves, RETURN, notes, look, unit=against)


def _checked(results: "Given | Sequence[Given]", figure: str) -> list[Results]:
    compared: object = getattr(results, "results", None)  # of a comparison
    if is_mapping(compared) and compared:
        some = next(iter(compared))
        raise ParameterError(f"{figure} draws results in one environment: write {figure}(comparison.results[{some!r}])")
    if isinstance(results, Mapping):
        some = next(iter(results), "label")
        raise ParameterError(f"these are results of several environments: choose one, as results[{some!r}]")
    given: Any = [results] if isinstance(results, Results) or not isinstance(results, Iterable) else list(results)
    runs = [_results_of(one, figure) for one in given]
    if not runs:
        raise errors.ParameterError("no results to draw: pass what rl.train(...) returned, or a list of these")
    for run in runs:
        if not run.records:
            raise errors.ParameterError(
                f"the results of {run.agent} in {run.environment} hold no seeds; train with at least one"
            )
    for what, names in (("environments", [run.environment for run in runs]), ("units", [run.unit for run in runs])):
        if len(set(names)) > 1:
            listed = ", ".join(sorted(set(names)))
            raise errors.ParameterError(f"these results have different {what} ({listed}): draw one figure for each")
    labels = [run.agent for run in runs]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise errors.ParameterError(
            f"two results are labelled {twice!r}: give each agent its own label, with train(..., label=) or with "
            "label in a TOML file"
        )
    return runs


def _results_of(given: Any, figure: str) -> Results:
    """The results themselves; of an agent, those of its last run."""
    if isinstance(given, Results):
        return given
    if not is_agent(given):
        kind = type(given).__name__
        raise ParameterError(f"{figure} draws what rl.train(...) returned, or agents that learned, not of type {kind}")
    return Results(type(given).__name__, "", [given.record_])


def _require(runs: list[Results], holds: Callable[[Record], bool], complaint: str) -> None:
    for run in runs:
        for record in run.records:
            if not holds(record):
                why = f" ({record.optimum_unknown})" if record.optimum_unknown else ""
                message = complaint.format(environment=run.environment, seed=record.seed, why=why)
                raise errors.ParameterError(f"the results of {run.agent} hold {message}")


SUMS: Final = ("cumulative_reward", "regret")
"""Curves of what has come together since the beginning."""

BOUNDS: Final[Mapping[str, Literal["value_bounds", "return_bounds"]]] = {
    "evaluation": "value_bounds",
    "evaluation_return": "return_bounds",
}
"""Bounds of what is evaluated, by curve."""


def _measured(results: "Given | Sequence[Given]", name: str) -> tuple[list[Results], list[Curve]]:
    """The results, and one quantity of each agent at the times at which it was measured; sums begin with 0."""
    runs, summed = _checked(results, name), name in SUMS
    if not summed:
        _require(runs, lambda record: record.evaluation.size > 0, "no evaluations: train with evaluate_every=")
    curves: list[Curve] = []
    for run in runs:
        time, samples = np.asarray(run.time if summed else run.evaluation_time, np.float64), run.stacked(name)
        if summed and time[0] > 0.0:
            time, samples = np.insert(time, 0, 0.0), np.insert(samples, 0, 0.0, axis=1)
        never_negative = Bounds(0.0) if name in ("regret", "value_error") else UNKNOWN
        bounds = mean_bounds(run.records, BOUNDS[name]) if name in BOUNDS else never_negative
        curves.append(Curve(run.agent, time, samples, bounds))
    return runs, curves


def _draw(
    runs: list[Results],
    curves: list[Curve],
    quantity: str,
    notes: Sequence[str],
    look: CurveKeywords,
    *,
    unit: str = "",
    optima: Mapping[str, NDArray[np.float64]] | None = None,
    sign: float = 1.0,
    grows: bool = False,
) -> "Axes":
    """Draw curves; the best have names, those that end highest, or lowest with a negative `sign`.

    Of what `grows`, optima are rates, and seeds are compared in pairs.
    """
    axes = open_axes(look, CURVE_SIZE)
    alone = [curve.label for curve in curves if curve.n_seeds == 1]
    if alone:
        message = f"one seed for {', '.join(alone)}: no interval can be drawn (train with seeds=10)"
        warnings.warn(message, errors.RlsuiteWarning, stacklevel=errors.level_of_the_caller())
    ordered = sorted(curves, key=lambda curve: -sign * curve.samples[:, -1].mean())
    best = {curve.label for curve in ordered[: MOST_NAMES - bool(optima)]}
    named, rest = ([curve for curve in curves if (curve.label in best) is told] for told in (True, False))
    looks = look.get("palette") or Palette(curve.label for curve in named)
    lines, dashed = _lines_of({label: known for label, known in (optima or {}).items() if label in best}, looks)
    seeds = {tuple(record.seed for record in run.records) for run in runs}
    pairs = grows and len(seeds) == 1 < min(len(named), *map(len, seeds))
    to = ordered[0] if pairs else None
    said = [*draw_curves(axes, named, look, references=lines, rest=rest, to=to, grows=grows), *notes, *dashed]
    at_ends = grows and look.get("ax") is None  # beside axes of somebody else there may be no room
    label_axes(axes, in_title(runs[0].environment), UNITS[unit or runs[0].unit], quantity, legend=not at_ends)
    count_along(axes)  # steps and episodes are whole numbers
    if at_ends:
        label_ends(axes)
    return finish(axes, look, said)


def _optima(runs: Sequence[Results], unit: str = "") -> dict[str, NDArray[np.float64]]:
    """The optimum of every seed's problem (n_seeds,), of the agents that learn to act and of which all are known.

    With a unit of time, what the best policy earns in it without discount.
    """
    learns = [run for run in runs if not run.records[0].follows and (not unit or _pays(run, unit))]
    found = {run.agent: [record.optimal_value for record in run.records] for run in learns}
    return {agent: np.array(known) for agent, known in found.items() if None not in known}


def _pays(run: Results, unit: str) -> bool:
    """Whether the optimal value is what is earned in a unit of time: each episode is one step, or nothing discounts.

    Of episodes without discount it is so if they have no time limit: then the range of their returns is not finite.
    """
    if all(record.episode_length.size and record.episode_length.max() == 1 for record in run.records):
        return True
    ranges = [record.return_range[:2] for record in run.records]
    return unit == "episodes" and run.gamma == 1.0 and bool(np.isinf(ranges).any())


def _lines_of(
    optima: Mapping[str, NDArray[np.float64]], looks: Palette
) -> tuple[dict[str, tuple[float, Look]], list[str]]:
    """Return exact optima (agent's label to (n_seeds,) values) as level lines, and a sentence for the caption."""
    if not optima:
        return {}, []
    means = {label: float(values.mean()) for label, values in optima.items()}
    first, *others = means.values()
    if np.allclose(others, first, rtol=1e-9):
        lines = {"optimum": (first, OPTIMUM)}
    else:
        # Agents with different discounts have different optima.
        lines = {f"optimum ({label})": (mean, Look(looks[label].colour, OPTIMUM.line)) for label, mean in means.items()}
    varies = any(np.ptp(values) > 1e-9 * np.abs(values).max() for values in optima.values())
    return lines, [f"Dashed: exact optimum{', mean over the problems of the seeds' if varies else ''}."]
