"""Curves of several agents: a mean over seeds, its confidence band, and thin lines for few seeds."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.plotting.style import Look
from rlsuite.training.statistics import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONFIDENCE: Final = 0.95

FEW_SEEDS: Final = 10
"""With fewer seeds than this every seed gets a thin line of its own."""

FEW_POINTS: Final = 40
"""Curves with at most this many points show where they were measured."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity of one agent over time, for all seeds.

    Parameters
    ----------
    label
        Label of the agent.
    x
        (T,) where it was measured.
    samples
        (n_seeds, T) one row per seed.
    """

    label: str
    x: NDArray[np.float64]
    samples: NDArray[np.float64]

    @property
    def n_seeds(self) -> int:
        """Number of seeds."""
        return len(self.samples)


def draw_band(ax: "Axes", curve: Curve, look: Look, marker: str = "") -> None:
    """Draw the mean over seeds as a line, its 95 % interval as a band, and single seeds as thin lines if few.

    One seed alone has no interval and gets no band.

    Parameters
    ----------
    ax
        Where to draw.
    curve
        What to draw.
    look
        Colour and line style of the agent.
    marker
        matplotlib's name of the marker at every measured point; empty for none.
    """
    mean = curve.samples.mean(axis=0)
    if curve.n_seeds > 1:
        _, low, high = mean_interval(curve.samples, CONFIDENCE)
        if len(curve.x) > 1:
            ax.fill_between(curve.x, low, high, color=look.colour, alpha=0.20, linewidth=0)
        else:
            # A band over a single point would have no width.
            ax.vlines(curve.x, low, high, color=look.colour, alpha=0.5, linewidth=3.0)
        if curve.n_seeds < FEW_SEEDS:
            ax.plot(curve.x, curve.samples.T, color=look.colour, alpha=0.35, linewidth=0.7)
    ax.plot(
        curve.x,
        mean,
        label=curve.label,
        color=look.colour,
        linestyle=look.line,
        linewidth=1.8,
        marker=marker,
        markersize=3.5,
    )


def sentences(curves: Sequence[Curve]) -> list[str]:
    """Sentences for the caption about the lines and bands of these curves."""
    counts = {curve.label: curve.n_seeds for curve in curves}
    several = sorted(set(counts.values()))
    if several == [1]:
        return ["One seed: no interval."]
    if len(several) == 1:
        said = [f"Lines: mean over n = {several[0]} seeds."]
    else:
        said = ["Lines: mean over seeds (" + ", ".join(f"{label}: n = {n}" for label, n in counts.items()) + ")."]
    said.append(f"Bands: {CONFIDENCE:.0%} confidence interval of the mean (Student t over seeds).")
    if any(1 < n < FEW_SEEDS for n in several):
        said.append("Thin lines: single seeds.")
    return said
