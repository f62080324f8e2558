"""Figures as files, the same bytes for the same figure."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlsuite import errors
from rlsuite.core.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
