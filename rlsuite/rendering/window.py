"""A window, or the output of a notebook's cell, in which pictures follow each other: ``render_mode="human"``."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError

INSTEAD = (
    'make the environment with render_mode="rgb_array" and write a gif with rlsuite.rendering.write_gif, or print what '
    'render_mode="ansi" renders'
)


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

    Raises
    ------
    ParameterError
        By `show`, if there is no display.
    """

    def __init__(self, title: str, fps: float) -> None:
        self.title = title
        self.fps = fps
        self._view: View | None = None

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture, (height, width, 3) uint8, and wait until it is the time of the next one."""
        if self._view is None:
            self._view = _cell() or _OnScreen.opened(self.title, picture)
        self._view.show(picture, 1.0 / self.fps)

    def close(self) -> None:
        """Close it; the next picture opens another one."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def __getstate__(self) -> dict[str, Any]:
        return {"title": self.title, "fps": self.fps, "_view": None}


class _OnScreen:
    """A window of matplotlib's, by whichever toolkit it finds."""

    def __init__(self, figure: Any, image: Any) -> None:
        self._figure, self._image = figure, image

    @classmethod
    def opened(cls, title: str, picture: NDArray[np.uint8]) -> Self:
        pyplot: Any = import_module("matplotlib.pyplot")
        height, width, _ = picture.shape
        with pyplot.rc_context({"toolbar": "None"}):
            try:
                figure = pyplot.figure(title, figsize=(width / 100, height / 100), dpi=100, clear=True)
            except Exception as error:  # each toolkit has its own for a display that is missing
                raise ParameterError(f"render_mode='human' opens no window ({error}): {INSTEAD}") from error
        if figure.canvas.required_interactive_framework is None:  # it writes files
            pyplot.close(figure)
            raise ParameterError(
                "render_mode='human' needs a display, and matplotlib finds none, or no toolkit for it (tkinter, Qt, "
                f"...): {INSTEAD}"
            )
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        image = axes.imshow(picture)
        figure.show()
        return cls(figure, image)

    def show(self, picture: NDArray[np.uint8], seconds: float) -> None:
        from matplotlib import pyplot

        if not pyplot.fignum_exists(self._figure.number):  # somebody has closed it
            return
        self._image.set_data(picture)
        self._figure.canvas.draw_idle()
        self._figure.canvas.start_event_loop(seconds)

    def close(self) -> None:
        from matplotlib import pyplot

        pyplot.close(self._figure)


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
