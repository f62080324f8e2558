"""The colours of numbers, and the bar beside the axes that shows them: of `value_map` and `value_surface`."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import INK, TICK_SIZE, ColourKeywords
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

# Inches.
BAR_GAP: Final = 0.12
BAR_WIDTH: Final = 0.16


def colour_scale(values: NDArray[np.float64], look: ColourKeywords) -> "ScalarMappable":
    """Return the colours of some numbers; those that are not finite are grey.

    Raises
    ------
    ParameterError
        If `vmin` is not below `vmax`, or there is no such `cmap`.
    """
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap, ListedColormap, Normalize

    given, known = look.get("cmap"), values[np.isfinite(values)]
    if given is None:
        table: Any = ListedColormap(colours.heat(np.linspace(0.0, 1.0, 256)) / 255.0)
    elif isinstance(given, Colormap) or given in matplotlib.colormaps:
        table = matplotlib.colormaps[given] if isinstance(given, str) else given
    else:
        raise ParameterError(f"cmap={given!r} is not one of matplotlib's colormaps, such as 'viridis' and 'Blues'")
    low, high = (float(end(known)) if known.size else 0.0 for end in (np.min, np.max))
    if low == high:  # the colour of the middle
        low, high = low - 0.5, high + 0.5
    low, high = (end if asked is None else asked for end, asked in zip((low, high), _limits(look), strict=True))
    if not low < high:
        raise ParameterError(f"vmin={low:g} is not below vmax={high:g}, and colours go from vmin to vmax")
    return ScalarMappable(Normalize(low, high), table.with_extremes(bad=colours.hexadecimal(colours.UNKNOWN)))


def _limits(look: ColourKeywords) -> tuple[float | None, float | None]:
    return look.get("vmin"), look.get("vmax")


def is_constant(values: NDArray[np.float64], look: ColourKeywords) -> bool:
    """Whether there is only one colour to show, which needs no bar."""
    known = values[np.isfinite(values)]
    return not known.size or (known.min() == known.max() and None in _limits(look))


def draw_bar(ax: "Axes", scale: "ScalarMappable") -> None:
    """Draw the scale beside the axes; an inset is as high as they are in every layout."""
    figure = ax.get_figure(root=False)
    assert figure is not None
    inch = figure.dpi / ax.get_window_extent().width
    _style_bar(figure.colorbar(scale, cax=ax.inset_axes((1.0 + BAR_GAP * inch, 0.0, BAR_WIDTH * inch, 1.0))))


def add_bar(panels: "list[Axes]", scale: "ScalarMappable") -> None:
    """Draw one scale beside several axes of a figure with constrained layout."""
    figure = panels[0].get_figure(root=False)
    assert figure is not None
    _style_bar(figure.colorbar(scale, ax=panels, aspect=30))


def _style_bar(bar: Any) -> None:
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK)
    bar.outline.set_visible(False)
