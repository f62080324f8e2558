"""Figures of a comparison: the last values of all agents side by side, and the share of runs that reach each score."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Unpack

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import CAPTION_INK, CURVE_SIZE, AxesKeywords, finish, label_axes, open_axes, styled
from rlsuite.plotting.labels import in_title
from rlsuite.plotting.style import MOST_NAMES, OPTIMUM, REST, Palette, drawn, others, unnamed
from rlsuite.training.statistics import interval_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.experiments.comparison import Comparison

OVER_ALL = "interquartile mean of the scores in all environments"
SCORES = "Score: 0 is the value of the uniform policy, 1 that of the optimal one."
BOOTSTRAP = "95 % interval by a stratified bootstrap over seeds."


@styled
def final_values(comparison: "Comparison", *, palette: Palette | None = None, **look: Unpack[AxesKeywords]) -> "Axes":
    """The last value of each agent with its interval; over several environments, the interquartile mean of the scores.

    Parameters
    ----------
    comparison : Comparison
        What `rlsuite.compare` returned.
    palette
        Looks of all agents; None: a palette of these agents alone.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are several environments, and scores of one are unknown.
    """
    _check(comparison, "final_values")
    looks = palette or Palette(comparison.agents)
    agents = comparison.agents
    axes = open_axes(look, (CURVE_SIZE[0], 0.7 + 0.45 * len(agents)))
    numbers = [row.seeds for row in comparison]
    seeds = " or ".join(map(str, sorted(set(numbers))))
    if len(comparison.results) == 1:
        quantity = comparison[0].measure
        points = {row.agent: (row.mean, row.low, row.high) for row in comparison}
        said = [f"Mean over {seeds} seeds, 95 % interval: {interval_method(min(numbers))}."]
        known = {row.optimum for row in comparison if row.optimum is not None}
        for optimum in known:
            axes.axvline(optimum, label="optimum", **drawn(OPTIMUM))
    else:
        quantity = OVER_ALL
        points = {agent: tuple(one) for agent, one in comparison.aggregate("iqm").items()}
        said = [SCORES, BOOTSTRAP]
    for place, agent in enumerate(agents):
        mean, low, high = points[agent]
        if low is not None and high is not None:
            axes.hlines(place, low, high, color=looks[agent].colour, linewidth=3.0, alpha=0.6)
        axes.plot([mean], [place], marker="o", markersize=6.0, linestyle="none", color=looks[agent].colour)
    label_axes(axes, _title(comparison), quantity, "")
    axes.set_yticks(range(len(agents)), agents)
    axes.tick_params(axis="y", colors=CAPTION_INK)
    axes.set_ylim(len(agents) - 0.5, -0.5)
    axes.margins(x=0.05)
    return finish(axes, look, said)


@styled
def performance_profile(
    comparison: "Comparison", *, palette: Palette | None = None, **look: Unpack[AxesKeywords]
) -> "Axes":
    """Share of each agent's runs, over all environments, that reach at least a score.

    A line above another one is better at every score; where lines cross, one agent is more often good, the other less
    often bad (Agarwal et al. 2021, section 4.2).

    Parameters
    ----------
    comparison, palette, **look
        As for `final_values`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If the values of the optimal and the uniform policy of an environment are unknown.
    """
    _check(comparison, "performance_profile")
    looks = palette or Palette(comparison.agents)
    levels = np.linspace(0.0, 1.0, 201)
    profiles = comparison.profile(levels)
    axes = open_axes(look, CURVE_SIZE)
    scores = {agent: np.concatenate(own).mean() for agent, own in comparison.scores.items()}
    named = sorted(scores, key=lambda agent: -scores[agent])[:MOST_NAMES]
    for agent, (share, low, high) in profiles.items():
        if agent not in named:
            axes.step(levels, share, where="post", color=REST, linewidth=0.8, zorder=1, label=unnamed(agent))
            continue
        colour = looks[agent].colour
        axes.fill_between(levels, low, high, step="post", color=colour, alpha=0.20, linewidth=0, label=unnamed(agent))
        axes.step(levels, share, where="post", label=agent, **drawn(looks[agent], 1.8))
    label_axes(axes, _title(comparison), "score", "share of the runs with at least this score")
    axes.set_ylim(-0.02, 1.02)
    return finish(axes, look, [SCORES, BOOTSTRAP, *others(len(named), len(profiles))])


def _title(comparison: "Comparison") -> str:
    several = len(comparison.results)
    return in_title(comparison[0].environment) if several == 1 else f"{several} environments"


def _check(comparison: object, figure: str) -> None:
    if not hasattr(comparison, "profile") or not hasattr(comparison, "agents"):
        raise ParameterError(
            f"{figure} draws what rl.compare(...) returned, not {type(comparison).__name__}; "
            "rl.compare({'a label': [results, ...]}) makes it of results of rl.train"
        )
