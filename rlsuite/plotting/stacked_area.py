"""Probabilities of states over time as stacked areas, which always add up to one."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.plotting.figure import INK
from rlsuite.plotting.style import Palette
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STATES: Final = 6
"""States with an area of their own; the others of a larger model share one."""

OTHERS: Final = colours.hexadecimal(colours.LINE)
"""Colour of the area that they share."""

STRENGTH: Final = 0.6
"""Opacity of an area, so that lines on it can be seen."""


def draw_areas(
    ax: "Axes",
    times: NDArray[np.int64],
    probability: NDArray[np.float64],
    labels: list[str],
    lines: NDArray[np.float64] | None = None,
) -> list[str]:
    """Draw an area for each state that is often likely, the first state below all others.

    Parameters
    ----------
    ax
        Where to draw.
    times
        (T,) successive whole numbers; each probability takes the width of one, centred there.
    probability
        (T, K) float64, rows that sum to 1.
    labels
        K names of the states.
    lines
        (T, K) float64, other probabilities of the same states, whose upper borders are drawn as lines; None: none.

    Returns
    -------
    list of str
        K colours of the states, `OTHERS` for those that share an area.
    """
    n_states = len(labels)
    likely = np.arange(n_states)
    if n_states > MOST_STATES:
        likely = np.sort(np.argsort(-probability.sum(axis=0), kind="stable")[: MOST_STATES - 1])
    looks = Palette(labels[state] for state in likely.tolist())
    found = [OTHERS] * n_states
    edges = np.append(times, times[-1] + 1) - 0.5
    floor, border = np.zeros(times.size), np.zeros(times.size)
    for position, state in enumerate(likely.tolist()):
        found[state] = looks[labels[state]].colour
        top = floor + probability[:, state]
        ax.stairs(top, edges, baseline=floor, fill=True, facecolor=(found[state], STRENGTH), label=labels[state])
        floor = top
        if lines is not None and position < n_states - 1:  # the upper border of the last state is always 1
            border = border + lines[:, state]
            ax.stairs(border, edges, baseline=None, color=INK, linewidth=0.7, label="_border", zorder=2.5)
    if likely.size < n_states:
        rest = f"{n_states - likely.size} other states"
        ax.stairs(np.ones(times.size), edges, baseline=floor, fill=True, facecolor=(OTHERS, STRENGTH), label=rest)
    return found
