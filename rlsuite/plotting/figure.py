"""The common parts of all figures: their keywords, axes, fonts, ticks, a legend above, a caption below; and files.

A figure belongs to pyplot, as those of pandas and seaborn do: `plt.show` shows it, and notebooks show it by themselves.
Figures that `write` draws are an exception. matplotlib is imported when the first figure is drawn.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import io
import json
import os
import re
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypedDict, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.files import replacing
from rlsuite.core.keywords import shows_keywords
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

    from rlsuite.plotting.style import Palette

Given = ParamSpec("Given")


class AxesKeywords(TypedDict, total=False):
    """Where a figure is drawn, and matplotlib's settings of its axes: keywords that all figures share.

    Attributes
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. By default those of a new figure, the current one of `matplotlib.pyplot`.
    figsize : (float, float), optional
        Width and height of new axes in inches; the figure is larger by its title, legend and caption.
    title, xlabel, ylabel : str, optional
        Instead of those that the figure would have; "" for none.
    xlim, ylim : (float, float), optional
        Limits of the axes; None for an end that the figure chooses.
    xscale, yscale : {"linear", "log"}, optional
        Scales of the axes, as `matplotlib.axes.Axes.set_xscale` takes them.
    context : {"notebook", "paper", "slides"}, optional
        Where the figure is shown: by default in a notebook or on a page. For a column of a paper, or for slides, new
        axes are smaller beside their letters and lines, and a picture has more dots per inch.

    Examples
    --------
    >>> from rlsuite.plotting import value_map
    >>> ax = value_map("FrozenLake-v1", range(16), title="A lake", vmin=0, vmax=20)
    >>> ax.get_title(loc="left")
    'A lake'
    """

    ax: "Axes | None"
    figsize: tuple[float, float] | None
    title: str | None
    xlabel: str | None
    ylabel: str | None
    xlim: tuple[float | None, float | None] | None
    ylim: tuple[float | None, float | None] | None
    xscale: str | None
    yscale: str | None
    context: Literal["notebook", "paper", "slides"] | None


class ColourKeywords(AxesKeywords, total=False):
    """The `AxesKeywords`, and those of a colour scale.

    Attributes
    ----------
    vmin, vmax : float, optional
        Values with the first and the last colour; by default the smallest and the largest value.
    cmap : str or matplotlib.colors.Colormap, optional
        matplotlib's name of the colours, by default viridis.
    """

    vmin: float | None
    vmax: float | None
    cmap: "str | Colormap | None"


class CurveKeywords(AxesKeywords, total=False):
    """The `AxesKeywords`, how sure the bands of curves are, and their looks.

    Attributes
    ----------
    band : {"pointwise", "simultaneous"}, optional
        ``"pointwise"``, the default: at each time, the 95 % interval of the mean. ``"simultaneous"``: the whole curve
        of the true mean lies in the band with this confidence, see `rlsuite.training.statistics.simultaneous_band`.
    palette : Palette, optional
        Looks of all agents of the run; by default a palette of those drawn.
    """

    band: Literal["pointwise", "simultaneous"] | None
    palette: "Palette | None"


styled: Final = shows_keywords(dict.fromkeys({**ColourKeywords.__annotations__, **CurveKeywords.__annotations__}))
"""Decorator of a function of ``**look: Unpack[AxesKeywords]``, of `ColourKeywords` or of `CurveKeywords`."""


CURVE_SIZE: Final = (6.4, 3.2)
"""Width and height of the axes of curves in inches."""

DOTS: Final = 150
"""Dots per inch of pictures in files, at least."""

CONTEXTS: Final[Mapping[str, tuple[float, int | None]]] = {
    "notebook": (1.0, None),
    "paper": (0.55, 300),
    "slides": (0.65, 240),
}
"""Width of axes beside that in a notebook, and dots per inch, by where a figure is shown."""

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

LEGEND_ROW: Final = 13.5
"""Height of one row of the legend in points."""


_FOR_A_FILE: Final = ContextVar("_FOR_A_FILE", default=False)


def open_axes(look: AxesKeywords, size: tuple[float, float]) -> "Axes":
    """Return the axes to draw on: those given, or new ones of `size` inches, which `finish` surrounds with a figure.

    Raises
    ------
    ParameterError
        If what was given is not one Axes.
    """
    from matplotlib.axes import Axes

    given: Any = look.get("ax")
    if isinstance(given, Axes):
        return given
    if given is not None:
        which = " one of them, as ax=axes[0]" if hasattr(given, "__len__") else " axes, as ax=figure.add_subplot()"
        raise errors.ParameterError(f"ax is of type {type(given).__name__}, not matplotlib's Axes: give{which}")
    return open_figure(look, size).add_axes((0.0, 0.0, 1.0, 1.0))


def open_figure(look: AxesKeywords, size: tuple[float, float], layout: Literal["compressed"] | None = None) -> "Figure":
    """Return a new figure of `size` inches, if `look` says nothing else; pyplot's if not only its file is wanted.

    Raises
    ------
    ParameterError
        If there is no such context.
    """
    from matplotlib.figure import Figure

    context = look.get("context") or "notebook"
    if context not in CONTEXTS:
        raise errors.ParameterError(errors.unknown("context", str(context), CONTEXTS))
    share, dots = CONTEXTS[context]
    shown = look.get("figsize") or (share * size[0], share * size[1])
    if _FOR_A_FILE.get():
        return Figure(figsize=shown, dpi=dots or DOTS, layout=layout)
    from matplotlib import pyplot

    return pyplot.figure(figsize=shown, dpi=dots, layout=layout)


def finish(ax: "Axes", look: AxesKeywords, sentences: list[str]) -> "Axes":
    """Apply the keywords, write the caption, and return the axes."""
    named = {name: look.get(name) for name in ("xlabel", "ylabel", "xscale", "yscale", "xlim", "ylim")}
    ax.set(**{name: value for name, value in named.items() if value is not None})
    if (title := look.get("title")) is not None:
        ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
    write_caption(ax, sentences)
    if look.get("ax") is None:
        _wrap(ax)
    return ax


def _wrap(ax: "Axes") -> None:
    """Grow the figure around its only axes until all that is written around them fits, and a title to come.

    The axes keep their size in inches, so their ticks stay as they are and once is enough: matplotlib's own layouts,
    which resize the axes, settle only after several drawings, and equal figures would give different files.
    """
    figure = ax.get_figure(root=True)
    inside, whole = ax.get_window_extent().frozen(), ax.get_tightbbox()
    assert figure is not None
    assert whole is not None
    margin, title = PADDING * figure.dpi / 72.0, 1.5 * TITLE_SIZE * figure.dpi / 72.0
    top = max(whole.y1, inside.y1 + title)
    width, height = whole.width + 2 * margin, top - whole.y0 + 2 * margin
    left, bottom = inside.x0 - whole.x0 + margin, inside.y0 - whole.y0 + margin
    figure.set_size_inches(width / figure.dpi, height / figure.dpi)
    ax.set_position((left / width, bottom / height, inside.width / width, inside.height / height))


_TITLES: "WeakKeyDictionary[Axes, Transform]" = WeakKeyDictionary()
"""Where the titles of some axes stand."""


def write_title(ax: "Axes", text: str, above: float = 6.0) -> None:
    """Write a title on the left, some points above the axes; one that is set later stands there and replaces it."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=False)
    assert figure is not None
    known = ax in _TITLES
    _TITLES[ax] = ax.transAxes + ScaledTranslation(0.0, above / 72.0, figure.dpi_scale_trans)
    left = ax.set_title(text, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)

    def keep(title: "Artist") -> None:
        if title.get_transform() is not _TITLES[ax]:
            title.set_transform(_TITLES[ax])
        if title is ax.title and ax.title.get_text():
            left.set_text("")

    for title in () if known else (left, ax.title):
        title.add_callback(keep)
        keep(title)


def label_axes(ax: "Axes", title: str, x_label: str, y_label: str, *, legend: bool = True) -> None:
    """Title, labels, light grid lines and a legend above the axes, once all lines are drawn; numbers in full."""
    from matplotlib.ticker import ScalarFormatter

    handles, labels = ax.get_legend_handles_labels() if legend else ([], [])
    write_title(ax, title, above=legend_above(ax, dict(zip(labels, handles, strict=True))))
    ax.set_xlabel(x_label, fontsize=LABEL_SIZE, color=INK)
    ax.set_ylabel(y_label, fontsize=LABEL_SIZE, color=INK)
    ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=CAPTION_INK)
    ax.grid(color=GRID_INK, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(CAPTION_INK)
    ax.margins(x=0.01)
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):  # neither names nor logarithms
            write_in_full(axis)


def write_text(ax: "Axes", x: float, y: float, text: str, size: float, **look: Any) -> None:
    """Write in the middle of a point, by default; dollar signs do not begin a formula."""
    given: Any = {"ha": "center", "va": "center", "color": INK, "parse_math": False, **look}
    ax.text(x, y, text, fontsize=size, **given)


def count_along(ax: "Axes") -> None:
    """Ticks of an x axis that counts something: at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))


def write_caption(ax: "Axes", sentences: list[str]) -> None:
    """Write sentences below the axes, wrapped to about their width, instead of those that are there."""
    if not sentences:
        return
    for former in [text for text in ax.texts if text.get_gid() == CAPTION_ID]:
        former.remove()
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


def legend_above(ax: "Axes", handles: Mapping[str, Any], handlelength: float = 4.0) -> float:
    """Draw a legend above the axes, where it can cover nothing; return how many points above them a title stands."""
    if not handles:
        return 6.0
    # A letter of 9 points is about 5 wide, a handle with its gaps 9 more for each unit of its length.
    wide = 5 * max(map(len, handles)) + 9 * handlelength + 25
    columns = max(1, min(len(handles), int(_width(ax) / wide)))
    legend = ax.legend(
        list(handles.values()),
        list(handles),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        borderpad=0.0,
        ncols=columns,
        frameon=False,
        fontsize=TICK_SIZE,
        labelcolor=INK,
        handlelength=handlelength,
        columnspacing=1.8,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar sign in a label does not begin a formula
    return 7.5 + LEGEND_ROW * -(-len(handles) // columns)


def _width(ax: "Axes") -> float:
    """Width of the axes in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return 72.0 * ax.get_window_extent().width / figure.dpi


UNITS: Final = ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k"), (0.0, 1.0, ""))
"""From which size on numbers are written in which unit, and its letter."""

MOST_DECIMALS: Final = 7


def evenly(n: int, most: int) -> "NDArray[np.int64]":
    """At most so many of the numbers 0 to n - 1, evenly spread, the first and the last among them.

    >>> evenly(9, 3).tolist(), evenly(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def write_in_full(axis: "Axis") -> None:
    """Write each tick of an axis in full, in one unit for all of them."""

    def text(tick: float, position: float) -> str:
        low, high = sorted(axis.get_view_interval())
        ticks: list[float] = [one for one in axis.get_majorticklocs().tolist() if low <= one <= high]
        return tick_text(tick, ticks or [tick]).replace("-", "\N{MINUS SIGN}")

    axis.set_major_formatter(text)


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


def check_format(suffix: str) -> None:
    """Raise `ParameterError` unless figures are written to files of this suffix."""
    if suffix.lower() not in _WITHOUT_DATE:
        raise errors.ParameterError(errors.unknown("figure format", suffix, _WITHOUT_DATE))


def save(figure: "Axes | Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file, atomically; equal figures give equal bytes.

    Parameters
    ----------
    figure
        A figure, or axes of it.
    path
        File to write; its suffix is the format: ``.png``, ``.svg`` or ``.pdf``. Pictures have 150 dots per inch, or
        more if the figure has.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is not one of these, or there is no figure.
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
    from matplotlib.figure import Figure

    if isinstance(path, Axes) or not isinstance(cast("object", figure), Axes | Figure):
        raise errors.ParameterError(
            f"save takes a figure or axes, and then the file: write save(value_map(...), {figure!r})"
            if isinstance(figure, str)
            else f"save takes what a figure function returned, not a {type(figure).__name__}"
        )
    target = Path(path)
    check_format(target.suffix)
    whole = figure.get_figure(root=True) if isinstance(figure, Axes) else figure
    assert whole is not None
    smaller: Any = {"pil_kwargs": {"optimize": True}} if target.suffix.lower() == ".png" else {}
    with replacing(target) as unfinished, matplotlib.rc_context({"svg.hashsalt": "rlsuite"}):
        metadata = _WITHOUT_DATE[target.suffix.lower()]
        dots = max(whole.dpi, DOTS)
        whole.savefig(unfinished, metadata=metadata, dpi=dots, bbox_inches="tight", pad_inches=0.1, **smaller)
    return target


def write(
    path: str | os.PathLike[str], draw: "Callable[Given, Axes]", *args: Given.args, **keywords: Given.kwargs
) -> Path:
    """Draw a figure of which only the file is wanted: pyplot never knows it, so none stays open.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rlsuite.plotting import value_map
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder) / "value.png", value_map, "FrozenLake-v1", range(16)).name
    'value.png'
    """
    with for_a_file():
        return save(draw(*args, **keywords), path)


@contextmanager
def for_a_file() -> Generator[None]:
    """Figures that are opened inside are not pyplot's."""
    before = _FOR_A_FILE.set(True)
    try:
        yield
    finally:
        _FOR_A_FILE.reset(before)


def in_script(data: object) -> str:
    r"""JSON as it stands in a script of a page, which no text inside ends: the browser looks for these ends first.

    Examples
    --------
    >>> print(in_script(["</script>", "<!--"]))
    ["<\/script>","\u003c!--"]
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")


def svg_of(ax: "Axes", salt: str) -> str:
    """The figure as an element of a page; ids that it refers to are its own."""
    import matplotlib

    whole = ax.get_figure(root=True)
    assert whole is not None
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        whole.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.1)
    text = buffer.getvalue()
    page = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    # Half of the bytes say nothing: indentation, a list of fonts at each text, less than hundredths of a point.
    page = re.sub(r"font-family: 'DejaVu Sans', [^;]*sans-serif", "font-family: 'DejaVu Sans', sans-serif", page)
    page = re.sub(r"\n\s+", "\n", page)
    return re.sub(r' (?:d|x|y)="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), page)
