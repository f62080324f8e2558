"""Rows of marks, states and numbers below a plot of probabilities over time, along the same time axis.

The probabilities take the part of the axes from 0 to 1, the rows lie below 0; so everything is in one Axes, which can
be placed among others.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.plotting.figure import CAPTION_INK, GRID_INK, INK, fresh_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches.
WIDTH: Final = 7.2
UPPER: Final = 2.3
"""Height of the part from 0 to 1."""
ROW: Final = 0.19
"""Height of a row."""

PAD: Final = 0.5
"""Gap above the first row and between groups, in rows."""

TALL: Final = 3.0
"""Height of a row of numbers, in rows."""

LABEL_DISTANCE: Final = 32.0
"""Points between the axis and the label of the probabilities."""


def axes_with_rows(rows: float) -> "Axes":
    """New axes that are high enough for a number of rows."""
    return fresh_axes((WIDTH, UPPER + ROW * rows))


class Rows:
    """The rows below the probabilities of some axes, drawn from top to bottom.

    Parameters
    ----------
    ax
        Where to draw.
    """

    def __init__(self, ax: "Axes") -> None:
        self.ax = ax
        self._bottom = 0.0
        self._ticks: list[tuple[float, str]] = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]

    def gap(self) -> None:
        """Leave some room before the next group of rows."""
        self._take(PAD)

    def marks(self, name: str, times: NDArray[np.float64]) -> None:
        """Draw a row with a mark at some times."""
        middle = self._take(1.0)
        self._ticks.append((middle, name))
        self.ax.axhline(middle, color=GRID_INK, linewidth=0.8, zorder=0.5, label="_row")
        # Small marks for a long sequence, or they would hide each other.
        size = min(5.0, max(1.2, 300.0 / max(1.0, float(np.ptp(self.ax.dataLim.intervalx)))))
        heights = np.full(times.size, middle)
        self.ax.plot(times, heights, "o", color=INK, markersize=size, linestyle="none", label=f"_{name}")

    def states(self, name: str, states: NDArray[np.int64], colours: Sequence[str], first: float) -> None:
        """Draw a row of cells in the colours of states, the first centred at the time `first`."""
        middle = self._take(1.0)
        self._ticks.append((middle, name))
        cuts = np.flatnonzero(np.diff(states, prepend=states[0] - 1, append=states[-1] - 1))
        cells = [(first - 0.5 + begin, end - begin) for begin, end in pairwise(cuts.tolist())]
        height = 0.7 * ROW / UPPER
        faces = [colours[state] for state in states[cuts[:-1]].tolist()]
        self.ax.broken_barh(cells, (middle - 0.5 * height, height), facecolors=faces, linewidth=0.0, label=f"_{name}")

    def numbers(self, name: str, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Draw a tall row with numbers in it, NaN for none, from the smallest to the largest."""
        middle = self._take(TALL)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        half = 0.38 * TALL * ROW / UPPER
        heights = middle + half * (2.0 * (values - low) / ((high - low) or 1.0) - 1.0)
        ends = (f"{end:.3g}".replace("-", "\N{MINUS SIGN}") for end in (high, low))
        self._ticks += [(middle, name), *zip((middle + half, middle - half), ends, strict=True)]
        self.ax.plot(times, heights, ".", color=INK, markersize=2.5, linestyle="none", label=f"_{name}")

    def dress(self) -> None:
        """Ticks for the probabilities and for every row, once all are drawn."""
        from matplotlib.transforms import ScaledTranslation

        axes, bottom = self.ax, self._bottom - (0.5 * PAD * ROW / UPPER if self._bottom else 0.0)
        axes.set_ylim(bottom, 1.02)
        axes.set_yticks([y for y, _ in self._ticks], [text for _, text in self._ticks], parse_math=False)
        axes.spines["left"].set_bounds(0.0, 1.0)
        axes.grid(False, axis="y")
        # Close to the ticks of the probabilities, however long the names of the rows are.
        figure = axes.get_figure(root=True)
        assert figure is not None
        beside = ScaledTranslation(-LABEL_DISTANCE / 72.0, 0.0, figure.dpi_scale_trans)
        axes.yaxis.set_label_coords(0.0, 0.5, transform=axes.get_yaxis_transform() + beside)
        axes.axhline(0.0, color=CAPTION_INK, linewidth=0.8, label="_zero", zorder=1.0)

    def _take(self, rows: float) -> float:
        """The vertical centre of the next rows."""
        top = self._bottom or -PAD * ROW / UPPER
        self._bottom = top - rows * ROW / UPPER
        return 0.5 * (top + self._bottom)
