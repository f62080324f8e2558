"""Learning curves of agents: mean and 95 % band over seeds.

Every function here takes the `Results` of one agent or of several agents in one environment, draws on `ax` if given
(else on the axes of a new figure, ``ax.figure``), and returns the Axes.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    CurveKeywords,
    count_along,
    dress_curves,
    finish,
    open_axes,
    takes_look,
    write_in_full,
)
from rlsuite.plotting.figure_list import figure_of_results, only_of
from rlsuite.plotting.intervals import Curve, draw_curves
from rlsuite.plotting.labels import in_title, is_agent
from rlsuite.plotting.style import MOST_NAMES, OPTIMUM, Look, Palette
from rlsuite.training.results import Bounds, Record, Results, mean_bounds

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
    shown = _spread(1, common)
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
    steps = _spread(first, last)
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


def _spread(first: int, last: int) -> NDArray[np.int64]:
    """At most `MOST_POINTS` whole numbers from `first` to `last`, both included."""
    return np.unique(np.linspace(first, last, min(MOST_POINTS, last - first + 1)).astype(np.int64))


UNITS: Final = {"steps": "environment steps", "episodes": "episodes"}
"""Labels of the units of time."""

RETURN: Final = "return per episode"

SMOOTHING: Final = 50
"""By default a return is averaged over the number of episodes divided by this."""


@figure_of_results
@takes_look
def cumulative_reward(
    results: "Given | Sequence[Given]", *, palette: Palette | None = None, **look: Unpack[CurveKeywords]
) -> "Axes":
    """Sum of all rewards so far.

    Parameters
    ----------
    results
        What `train` returned; of several agents in the same environment, a list of these. Or agents that have learned.
    palette
        Looks of all agents of the run; None: a palette of these agents alone.
    **look
        Axes, title, limits and band: the keywords of `CurveKeywords`.

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
    runs = _checked(results, "cumulative_reward")
    curves = [_over_time(run, "cumulative_reward") for run in runs]
    return _draw(runs, curves, "cumulative reward", UNITS[runs[0].unit], [], None, look, palette)


@figure_of_results
@takes_look
def regret(
    results: "Given | Sequence[Given]", *, palette: Palette | None = None, **look: Unpack[CurveKeywords]
) -> "Axes":
    """Sum of all optimality gaps ``V*(s) - Q*(s, a)`` so far, the loss against the optimal policy.

    Parameters
    ----------
    results, palette, **look
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
    runs = _checked(results, "regret")
    _require(runs, lambda record: record.regret.size > 0, "no regret: the optimum of {environment} is not known{why}")
    curves = [replace(_over_time(run, "regret"), bounds=Bounds(low=0.0)) for run in runs]
    note = "Regret: sum of V*(s) - Q*(s, a) over the steps so far."
    return _draw(runs, curves, "regret", UNITS[runs[0].unit], [note], None, look, palette, sign=-1.0)


@figure_of_results
@takes_look
def evaluation(
    results: "Given | Sequence[Given]", *, palette: Palette | None = None, **look: Unpack[CurveKeywords]
) -> "Axes":
    """Value of the greedy policy at the start, at each evaluation; the exact optimum as a dashed line.

    Parameters
    ----------
    results, palette, **look
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
    runs = _checked(results, "evaluation")
    _require(runs, lambda record: record.evaluation.size > 0, "no evaluations: train with evaluate_every=")
    curves = [_evaluated(run, "evaluation", mean_bounds(run.records, "value_bounds")) for run in runs]
    learns = [run for run in runs if not run.records[0].follows]
    optima = {run.agent: np.array(known) for run in learns if (known := _known_optima(run))}
    which = _policy_of(runs)
    note = f"Value: expected return of the {which} from the start, discounted as the agent does."
    unit = UNITS[runs[0].unit]
    return _draw(runs, curves, f"discounted value of the {which}", unit, [note], optima, look, palette)


@figure_of_results
@takes_look
def evaluation_return(
    results: "Given | Sequence[Given]", *, palette: Palette | None = None, **look: Unpack[CurveKeywords]
) -> "Axes":
    """Undiscounted return of the greedy policy, at each evaluation: the number that is usually published.

    Parameters
    ----------
    results, palette, **look
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
    runs = _checked(results, "evaluation_return")
    _require(runs, lambda record: record.evaluation_return.size > 0, "no evaluations: train with evaluate_every=")
    _require(
        runs,
        lambda record: bool(np.isfinite(record.evaluation_return).all()),
        "a greedy policy that may never reach an end; give the environment a time limit (max_episode_steps=)",
    )
    curves = [_evaluated(run, "evaluation_return", mean_bounds(run.records, "return_bounds")) for run in runs]
    which = _policy_of(runs)
    note = f"Return: expected sum of rewards of an episode of the {which}, not discounted."
    unit = UNITS[runs[0].unit]
    return _draw(runs, curves, f"undiscounted return of the {which}", unit, [note], None, look, palette)


def _policy_of(runs: Sequence[Results]) -> str:
    """Which policy was evaluated: of agents that learn the values of a policy, the one that they follow."""
    kinds = {"policy that it follows" if run.records[0].follows else "greedy policy" for run in runs}
    return kinds.pop() if len(kinds) == 1 else "policy"


@figure_of_results
@only_of(lambda run: any(record.value_error.size for record in run.records))
@takes_look
def value_error(
    results: "Given | Sequence[Given]", *, palette: Palette | None = None, **look: Unpack[CurveKeywords]
) -> "Axes":
    """Root mean squared error of learned state values, at each evaluation, against the exact values of the policy.

    Parameters
    ----------
    results, palette, **look
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
    runs = _checked(results, "value_error")
    _require(runs, lambda record: record.evaluation.size > 0, "no evaluations: train with evaluate_every=")
    _require(
        runs,
        lambda record: record.value_error.size > 0,
        "no errors of state values: agents such as TD and TDLambda learn them, and the environment needs a model{why}",
    )
    curves = [_evaluated(run, "value_error", Bounds(low=0.0)) for run in runs]
    note = "Error: root mean square over the states, against the exact values of the policy."
    quantity, unit = "RMS error of the state values", UNITS[runs[0].unit]
    return _draw(runs, curves, quantity, unit, [note], None, look, palette, sign=-1.0)


@figure_of_results
@takes_look
def episode_return(
    results: "Given | Sequence[Given]",
    *,
    against: Literal["episodes", "steps"] = "episodes",
    smooth: int | None = None,
    palette: Palette | None = None,
    **look: Unpack[CurveKeywords],
) -> "Axes":
    """Sum of rewards of each episode.

    Parameters
    ----------
    results, palette, **look
        As for `cumulative_reward`.
    against
        ``"episodes"``: the n-th episodes of all seeds are averaged, up to the last episode that all seeds of an agent
        finished. ``"steps"``: at every step, the latest finished episodes of all seeds are averaged, from the step at
        which every seed has finished one to the step at which the first seed finished its last.
    smooth
        Before seeds are averaged, each return is replaced by the mean of the latest `smooth` returns of its seed
        (fewer at the beginning); 1 for none. None: one fiftieth of the episodes.

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
    if against not in UNITS:
        raise errors.ParameterError(errors.unknown("axis to draw against", against, UNITS))
    if smooth is not None and smooth < 1:
        raise errors.ParameterError(f"smooth={smooth}, needed at least 1 episode (1: no smoothing)")
    _require(runs, lambda record: record.episode_return.size > 0, "no finished episode in seed {seed}: train longer")
    fewest = min(len(record.episode_return) for run in runs for record in run.records)
    window = max(1, fewest // SMOOTHING) if smooth is None else smooth
    curves = [(against_episodes if against == "episodes" else against_steps)(run, window) for run in runs]
    notes = [] if window == 1 else [f"Each return is the mean of the latest {window} episodes of its seed."]
    if against == "episodes":
        notes += cut_short(runs)
    return _draw(runs, curves, RETURN, UNITS[against], notes, None, look, palette)


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


def _over_time(run: Results, name: str) -> Curve:
    return Curve(run.agent, run.time.astype(np.float64), run.stacked(name))


def _evaluated(run: Results, name: str, bounds: Bounds) -> Curve:
    return Curve(run.agent, run.evaluation_time.astype(np.float64), run.stacked(name), bounds)


def _draw(
    runs: list[Results],
    curves: list[Curve],
    quantity: str,
    unit: str,
    notes: Sequence[str],
    optima: Mapping[str, NDArray[np.float64]] | None,
    look: CurveKeywords,
    palette: Palette | None,
    sign: float = 1.0,
) -> "Axes":
    """Draw curves; the best have names, those that end highest, or lowest with a negative `sign`."""
    looks = palette or Palette(run.agent for run in runs)
    axes = open_axes(look, CURVE_SIZE)
    alone = [curve.label for curve in curves if curve.n_seeds == 1]
    if alone:
        message = f"one seed for {', '.join(alone)}: no interval can be drawn (train with seeds=10)"
        warnings.warn(message, errors.RlsuiteWarning, stacklevel=errors.level_of_the_caller())
    lines, dashed = _lines_of(optima or {}, looks)
    ordered = sorted(curves, key=lambda curve: -sign * curve.samples[:, -1].mean())
    best = {curve.label for curve in ordered[: MOST_NAMES - len(lines)]}
    named, rest = ([curve for curve in curves if (curve.label in best) is told] for told in (True, False))
    said = [*draw_curves(axes, named, looks, look, references=lines, rest=rest), *notes, *dashed]
    dress_curves(axes, in_title(runs[0].environment), unit, quantity)
    count_along(axes)  # steps and episodes are whole numbers
    write_in_full(axes.yaxis)
    return finish(axes, look, said)


def _known_optima(run: Results) -> list[float]:
    """The optimal value of every seed's problem; empty unless all are known."""
    known = [record.optimal_value for record in run.records if record.optimal_value is not None]
    return known if len(known) == len(run.records) else []


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
