"""The common parts of all figures: new axes, font sizes, ticks, a legend above the axes, a caption below; and files.

Axes are made without pyplot, so no figure is kept in memory and no window opens; matplotlib itself is
imported when the first figure is drawn.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import os
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlsuite import errors
from rlsuite.core.files import replacing
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


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


UNITS: Final = ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k"), (0.0, 1.0, ""))
"""From which size on numbers are written in which unit, and its letter."""

MOST_DECIMALS: Final = 7


def write_in_full(axis: "Axis") -> None:
    """Write each tick of an axis in full, in one unit for all of them."""
    from matplotlib.ticker import FuncFormatter

    def text(tick: float, position: int | None = None) -> str:
        low, high = sorted(axis.get_view_interval())
        ticks: list[float] = [one for one in axis.get_majorticklocs().tolist() if low <= one <= high]
        return tick_text(tick, ticks or [tick]).replace("-", "\N{MINUS SIGN}")

    axis.set_major_formatter(FuncFormatter(text))


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """Return the text at a tick.

    Parameters
    ----------
    tick
        Where on the axis.
    ticks
        All ticks; they decide on the unit (thousands, millions, billions) and the number of decimals.

    Examples
    --------
    >>> [tick_text(tick, (0, 500_000, 1_000_000)) for tick in (0, 500_000, 1_000_000)]
    ['0', '0.5 M', '1.0 M']
    >>> [tick_text(tick, (-10_000, -5_000)) for tick in (-10_000, -5_000)]
    ['-10 k', '-5 k']
    >>> [tick_text(tick, (0.0, 0.1, 0.2, 0.30000000000000004)) for tick in (0.0, 0.30000000000000004)]
    ['0.0', '0.3']
    """
    largest = max(map(abs, ticks))
    unit, letter = next((unit, letter) for size, unit, letter in UNITS if largest >= size)
    if tick == 0.0 and letter:
        return "0"
    parts = [one / unit for one in ticks]
    apart = min((abs(b - a) for a, b in pairwise(parts)), default=abs(parts[0])) or 1.0
    for decimals in range(MOST_DECIMALS + 1):
        if all(abs(round(part, decimals) - part) < 1e-3 * apart for part in parts):
            return f"{tick / unit:.{decimals}f}{letter}"
    return f"{tick / unit:.4g}{letter}"


# With a date, two files of the same figure would differ. The keys are matplotlib's, one set per format.
_WITHOUT_DATE: Final[dict[str, dict[str, None]]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def save(figure: "Axes | Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file, atomically; equal figures give equal bytes.

    Parameters
    ----------
    figure
        A figure, or axes of it.
    path
        File to write; its suffix is the format: ``.png``, ``.svg`` or ``.pdf``. Figures of rlsuite have 150 dots
        per inch.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is not one of these.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rlsuite.rendering import GridLayout
    >>> from rlsuite.plotting import value_map
    >>> ax = value_map(GridLayout.row_major(1, 2), [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     save(ax, Path(folder) / "value.png").name
    'value.png'
    """
    import matplotlib
    from matplotlib.axes import Axes

    target = Path(path)
    if target.suffix.lower() not in _WITHOUT_DATE:
        raise errors.ParameterError(errors.unknown("figure format", target.suffix, _WITHOUT_DATE))
    whole = figure.get_figure(root=True) if isinstance(figure, Axes) else figure
    assert whole is not None
    with replacing(target) as unfinished, matplotlib.rc_context({"svg.hashsalt": "rlsuite"}):
        metadata = _WITHOUT_DATE[target.suffix.lower()]
        whole.savefig(unfinished, metadata=metadata, dpi="figure", bbox_inches="tight", pad_inches=0.1)
    return target
