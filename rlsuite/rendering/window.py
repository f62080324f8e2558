"""A window, or the output of a notebook's cell, in which pictures follow each other: ``render_mode="human"``."""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import RlsuiteWarning, level_of_the_caller


class View(Protocol):
    """Where pictures are shown."""

    def show(self, picture: NDArray[np.uint8], seconds: float) -> None:
        """Show a picture for a time, (height, width, 3) uint8."""
        ...

    def close(self) -> None:
        """Take it off the screen."""
        ...


class Window:
    """Shows one picture after another; it opens with the first one, and copies of it are closed.

    In a notebook the output of the cell is the window. Elsewhere matplotlib opens it. When somebody closes it, what
    comes afterwards is not shown.

    Parameters
    ----------
    title
        Title of the window.
    fps
        Pictures per second.

    Warns
    -----
    RlsuiteWarning
        By the first `show`, if there is no display; nothing is shown then.
    """

    def __init__(self, title: str, fps: float) -> None:
        self.title = title
        self.fps = fps
        self._view: View | None = None

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture, (height, width, 3) uint8, and wait until it is the time of the next one."""
        if self._view is None:
            self._view = _cell() or _OnScreen(self.title, picture)
        self._view.show(picture, 1.0 / self.fps)

    def close(self) -> None:
        """Close it; the next picture opens another one."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_view": None}


class _OnScreen:
    """A window of matplotlib's, by whichever toolkit it finds; nothing, with a warning, where there is no display."""

    def __init__(self, title: str, picture: NDArray[np.uint8]) -> None:
        pyplot: Any = import_module("matplotlib.pyplot")
        size = picture.shape[1] / 100, picture.shape[0] / 100
        self._title, self._image = title, None
        figure, lacking = None, "matplotlib finds none, or no toolkit for it (tkinter, Qt, ...)"
        with pyplot.rc_context({"toolbar": "None"}):
            try:
                figure = pyplot.figure(title, figsize=size, dpi=100, clear=True)
            except Exception as error:  # each toolkit has its own for a display that is missing
                lacking = str(error)
        if figure is None or figure.canvas.required_interactive_framework is None:  # it writes files
            pyplot.close(title)
            said = (
                f"render_mode='human' shows nothing, as it needs a display ({lacking}): make the environment with "
                'render_mode="rgb_array" and write a gif with rlsuite.rendering.write_gif, or print what '
                'render_mode="ansi" renders'
            )
            warnings.warn(said, RlsuiteWarning, stacklevel=level_of_the_caller())
            return
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        self._image = axes.imshow(picture)
        figure.show()

    def show(self, picture: NDArray[np.uint8], seconds: float) -> None:
        from matplotlib import pyplot

        if self._image is None or not pyplot.fignum_exists(self._title):  # somebody has closed it
            return
        self._image.set_data(picture)
        canvas = self._image.figure.canvas
        canvas.draw_idle()
        canvas.start_event_loop(seconds)

    def close(self) -> None:
        from matplotlib import pyplot

        pyplot.close(self._title)


class _InCell:
    """The output of a cell of a notebook, of which each picture takes the place of the one before."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, picture: NDArray[np.uint8], seconds: float) -> None:
        from time import sleep

        from PIL import Image

        image = Image.fromarray(picture)
        if self._handle is None:
            self._handle = self._display(image, display_id=True)
        else:
            self._handle.update(image)
        sleep(seconds)

    def close(self) -> None:
        """Leave the last picture where it is."""


def _cell() -> _InCell | None:
    """The output of the present cell, if this is a notebook."""
    ipython: Any = sys.modules.get("IPython")  # where it is not imported, there is no notebook
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    return _InCell(import_module("IPython.display").display)
