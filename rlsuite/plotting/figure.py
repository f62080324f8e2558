"""The common parts of all figures: new axes, font sizes, a legend above the axes, a caption below.

Axes are made without pyplot, so no figure is kept in memory and no window opens; matplotlib itself is
imported when the first figure is drawn.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import textwrap
from typing import TYPE_CHECKING, Final

from rlsuite.plotting.ticks import write_in_full
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_SIZE: Final = (6.4, 3.2)
"""Width and height of the axes of curves in inches."""

PADDING: Final = 7.0
"""White margin of a figure in points."""

# Sizes of letters in points.
TITLE_SIZE: Final = 12
LABEL_SIZE: Final = 10.5
TICK_SIZE: Final = 9
CAPTION_SIZE: Final = 8

INK: Final = colours.hexadecimal(colours.INK)
CAPTION_INK: Final = "#5b6068"
GRID_INK: Final = "#e3e5e8"

AXIS_HEIGHT: Final = 38.0
"""Room in points for ticks, their labels and the label of the x axis."""

CAPTION_ID: Final = "caption"
"""The id of a caption, also in an svg file."""

LEGEND_ROW: Final = 15.0
"""Height of one row of the legend in points."""


def fresh_axes(size: tuple[float, float]) -> "Axes":
    """Axes of `size` inches that fill a new figure, which belongs to the caller; see `wrap`."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=150).add_axes((0.0, 0.0, 1.0, 1.0))


def wrap(ax: "Axes") -> None:
    """Grow the figure around its only axes until all that is written around them fits.

    The axes keep their size in inches, so their ticks stay as they are and once is enough: matplotlib's own layouts,
    which resize the axes, settle only after several drawings, and equal figures would give different files.
    """
    figure = ax.get_figure(root=True)
    inside, whole = ax.get_window_extent().frozen(), ax.get_tightbbox()
    assert figure is not None
    assert whole is not None
    margin = PADDING * figure.dpi / 72.0
    width, height = whole.width + 2 * margin, whole.height + 2 * margin
    left, bottom = inside.x0 - whole.x0 + margin, inside.y0 - whole.y0 + margin
    figure.set_size_inches(width / figure.dpi, height / figure.dpi)
    ax.set_position((left / width, bottom / height, inside.width / width, inside.height / height))


def dress_curves(ax: "Axes", title: str, x_label: str, y_label: str) -> None:
    """Title, labels, light grid lines and a legend above the axes, once all lines are drawn."""
    rows = _legend(ax)
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=6 + LEGEND_ROW * rows, parse_math=False)
    ax.set_xlabel(x_label, fontsize=LABEL_SIZE, color=INK)
    ax.set_ylabel(y_label, fontsize=LABEL_SIZE, color=INK)
    ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=CAPTION_INK)
    ax.grid(color=GRID_INK, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(CAPTION_INK)
    ax.margins(x=0.01)


def count_along(ax: "Axes") -> None:
    """Ticks of an x axis that counts something: at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    write_in_full(ax.xaxis)


def write_caption(ax: "Axes", sentences: list[str]) -> None:
    """Write sentences below the axes, wrapped to about their width."""
    # A letter of 8 points is about 4.2 wide.
    letters = max(60, int(_width(ax) / 4.2))
    caption = ax.annotate(
        textwrap.fill(" ".join(sentences), letters),
        xy=(0.5, 0.0),
        xycoords="axes fraction",
        xytext=(0.0, -AXIS_HEIGHT if ax.get_xlabel() else -CAPTION_SIZE),
        textcoords="offset points",
        horizontalalignment="center",
        verticalalignment="top",
        fontsize=CAPTION_SIZE,
        color=CAPTION_INK,
        annotation_clip=False,
        parse_math=False,
    )
    caption.set_gid(CAPTION_ID)


def _legend(ax: "Axes") -> int:
    """Draw the legend above the axes, where it can cover no curve; its number of rows."""
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return 0
    # A letter of 9 points is about 5 wide, a line with its gaps about 50.
    columns = max(1, min(len(labels), int(_width(ax) / (5 * max(map(len, labels)) + 50))))
    legend = ax.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        borderpad=0.0,
        ncols=columns,
        frameon=False,
        fontsize=TICK_SIZE,
        labelcolor=INK,
        handlelength=2.8,
        columnspacing=1.8,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar sign in a label does not begin a formula
    return -(-len(labels) // columns)


def _width(ax: "Axes") -> float:
    """Width of the axes in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return 72.0 * ax.get_window_extent().width / figure.dpi
