"""The front of two rewards: what can be had of both at once."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Final, Unpack

from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, dress_curves, finish, open_axes, takes_look
from rlsuite.plotting.style import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.planning import ParetoFront

MARGIN: Final = 0.08
"""Share of the height below the lowest corner."""


@takes_look
def pareto_front(front: "ParetoFront", **look: Unpack[AxesKeywords]) -> "Axes":
    """What policies are worth in two rewards at once: the corners of the front, and their mixtures between them.

    Parameters
    ----------
    front
        What `rlsuite.planning.pareto` returned.
    **look
        Axes, title, labels and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import rlsuite as rl
    >>> mdp = rl.MDP.from_successors([[0, 0, 0]], [[10, 4, 0]], gamma=0.9)
    >>> front = rl.planning.pareto(mdp, ("reward", [[-5, -1, 0]]), names=("earned", "worn"))
    >>> ax = rl.plotting.pareto_front(front)
    >>> ax.get_xlabel(), ax.get_lines()[0].get_xdata().round(6).tolist()
    ('earned', [0.0, 40.0, 100.0])
    """
    x, y = front.points.T + 0.0
    ax = open_axes(look, CURVE_SIZE)
    colour = Palette(["front"])["front"].colour
    ax.plot(x, y, color=colour, marker="o", markersize=6, linewidth=1.8)
    low = float(y.min()) - MARGIN * max(float(y.max() - y.min()), abs(float(y.max())) * 1e-3, 1e-12)
    ax.fill_between(x, y, low, color=colour, alpha=0.12, linewidth=0)
    ax.set_ylim(bottom=low)
    dress_curves(ax, "What can be had of both", *front.names)
    said = [
        f"Points: {len(x)} deterministic policies. Lines: mixtures of two.",
        f"No policy lies beyond by more than {front.error_bound:.2g}.",
    ]
    return finish(ax, look, said)
