"""A value function over two of the numbers that an agent observes."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import INK, LABEL_SIZE, TICK_SIZE, fresh_axes, wrap, write_caption
from rlsuite.plotting.plane import PLANE_SIZE, RESOLUTION, draw_trace, dress_plane, plane_of
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from rlsuite.plotting.plane import Where

LEVELS: Final = 8
"""About this many contour lines."""

BAR_GAP: Final = 0.03
BAR_WIDTH: Final = 0.035
"""As parts of the width of the axes."""


@says_what_to_write
def value_surface(
    where: "Where",
    value: Callable[[NDArray[np.float64]], ArrayLike],
    *,
    dimensions: Sequence[int] = (0, 1),
    limits: Mapping[int, tuple[float, float]] | None = None,
    at: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    trace: ArrayLike | None = None,
    resolution: int = RESOLUTION,
    ax: "Axes | None" = None,
) -> "Axes":
    """Value of every observation, over two of its numbers: colours, with lines of equal value.

    The surface is seen from above, so that no part hides another and values can be read off; it is that of the
    perspective drawings in the literature (S&B2 Figure 10.1).

    Parameters
    ----------
    where
        An environment with a Box of observations, or its id; or ``(low, high)``, two lists of d bounds.
    value
        From observations (n, d) float64 to n numbers: any value function, such as ``lambda x: agent.q(x).max(axis=1)``.
        NaN is drawn in grey.
    dimensions
        Which two numbers of an observation lie along x and y.
    limits
        Bounds of some dimensions, by number, in the place of those of the space; needed for a dimension without bounds.
    at
        (d,) observation at whose values the other dimensions are held; None: the middle of their bounds, or 0.
    labels
        Names of all d numbers of an observation.
    trace
        (n, d) observations that followed each other, such as those of an episode, drawn as a line.
    resolution
        Points along each axis.
    ax
        Axes to draw on; None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If `value` does not give one number for each observation, or an argument does not fit the observations.
    UnsuitableEnvironment
        If the observations are not a Box of at least two numbers.
    EnvironmentNotFound
        If an id leads to no environment.

    Examples
    --------
    >>> from rlsuite.plotting import value_surface
    >>> ax = value_surface("MountainCar-v0", lambda x: x[:, 0] ** 2, labels=["position", "velocity"])
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('MountainCar-v0', 'position')
    """
    plane = plane_of(where, dimensions, limits, at, resolution)
    values = plane.of_each_point(value, "value")
    known = values[np.isfinite(values)]
    if not known.size:
        raise ParameterError("nothing to draw: value(observations) is finite nowhere in this plane")

    axes = fresh_axes(PLANE_SIZE) if ax is None else ax
    image = _draw_colours(axes, values, plane.cells)
    said = ["Colour and lines: value."]
    if known.min() < known.max():
        _draw_lines(axes, plane.x, plane.y, values, image)
        _draw_bar(axes, image)
    else:
        said = [f"The value is {known[0]:.4g} everywhere."]
    if trace is not None:
        said.append(draw_trace(axes, plane, trace))
    axes.set_title(plane.title, loc="left", fontsize=LABEL_SIZE, color=INK, parse_math=False)
    said += dress_plane(axes, plane, labels)
    write_caption(axes, said)
    if ax is None:
        wrap(axes)
    return axes


def _draw_colours(axes: "Axes", values: NDArray[np.float64], cells: tuple[float, float, float, float]) -> "AxesImage":
    from matplotlib.colors import ListedColormap

    table = ListedColormap(colours.heat(np.linspace(0.0, 1.0, 256)) / 255.0)
    table = table.with_extremes(bad=colours.hexadecimal(colours.UNKNOWN))
    shown: Any = np.ma.masked_invalid(values)
    return axes.imshow(shown, origin="lower", extent=cells, aspect="auto", interpolation="nearest", cmap=table)


def _draw_lines(
    axes: "Axes", x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64], image: "AxesImage"
) -> None:
    """Lines of equal value with their numbers, in an ink that can be read on the colour below them."""
    from matplotlib.ticker import MaxNLocator

    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    levels = np.asarray(MaxNLocator(LEVELS, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high), dtype=np.float64)
    inside = levels[(levels > low) & (levels < high)]
    shades: Any = image.to_rgba(inside, bytes=True)
    inks = [colours.hexadecimal(colours.ink_on((int(r), int(g), int(b)))) for r, g, b, _ in shades]
    if inside.size:
        lines = axes.contour(x, y, np.ma.masked_invalid(values), levels=inside, colors=inks, linewidths=0.8)
        axes.clabel(lines, fontsize=TICK_SIZE - 1, fmt=_number)


def _number(level: float) -> str:
    return f"{level:.4g}".replace("-", "\N{MINUS SIGN}")


def _draw_bar(axes: "Axes", image: "AxesImage") -> None:
    figure = axes.get_figure(root=False)
    assert figure is not None
    # As an inset of the axes it is as high as they are in every layout.
    bar = figure.colorbar(image, cax=axes.inset_axes((1.0 + BAR_GAP, 0.0, BAR_WIDTH, 1.0)))
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK)
    cast("Any", bar).outline.set_visible(False)
