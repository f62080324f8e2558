"""How long hidden states last: the durations of a hidden semi-Markov model beside the segments that it finds."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from rlsuite.inference.hsmm import Segments
from rlsuite.inference.sequences import Observations
from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, count_along, dress_curves, finish, open_axes, takes_look
from rlsuite.plotting.labels import counted, names
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HSMM

LIKELY: Final = 1e-3
"""Probability of a longer duration, at which a curve may end."""


@takes_look
def state_durations(hsmm: "HSMM", z: Observations, **look: Unpack[AxesKeywords]) -> "Axes":
    """The distribution of the duration of each state, as a line, over the lengths of the segments of the best path.

    Parameters
    ----------
    hsmm
        The model.
    z
        Observations, as everywhere in `rlsuite.inference`; several sequences as a list.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ModelError
        If an observation is not one of this model, or a sequence is impossible.

    Examples
    --------
    >>> from rlsuite.inference import HSMM
    >>> from rlsuite.plotting import state_durations
    >>> light = HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0.5, 0.5], [1, 0, 0]], ["red", "green"])
    >>> ax = state_durations(light, [0, 0, 1, 0, 0, 1, 0])
    >>> [(line.get_label(), line.get_ydata().tolist()) for line in ax.get_lines()]
    [('red', [0.0, 0.5, 0.5]), ('green', [1.0, 0.0, 0.0])]
    """
    found = hsmm.segments(z)
    parts = [found] if isinstance(found, Segments) else found
    # The last segment of a sequence is cut off, so its length is not known.
    state = np.concatenate([part.state[:-1] for part in parts])
    length = np.concatenate([part.length[:-1] for part in parts])
    table, survival = hsmm.durations.table, hsmm.durations.survival
    shown = max(int((survival > LIKELY).sum(axis=1).max()), int(length.max(initial=1)))
    labels = names(hsmm.state_labels, hsmm.n_states, "state")
    looks = Palette(labels)
    axes = open_axes(look, CURVE_SIZE)
    edges = np.arange(shown + 1) + 0.5
    for k, label in enumerate(labels):
        own = np.bincount(length[state == k], minlength=shown + 1)[1 : shown + 1]
        colour = looks[label].colour
        if own.any():
            axes.stairs(own / own.sum(), edges, fill=True, facecolor=(colour, 0.35), label=f"_{label}")
        known = table[k, :shown]
        axes.plot(np.arange(known.size) + 1, known, color=colour, marker=".", linewidth=1.6, label=label)
    dress_curves(axes, "How long each state lasts", "duration in time steps", "probability")
    count_along(axes)
    axes.set_xlim(0.5, shown + 0.5)
    axes.set_ylim(bottom=0.0)
    said = ["Lines: distributions of the model.", f"Areas: shares of {counted(int(state.size), 'decoded segment')}."]
    return finish(axes, look, said)
