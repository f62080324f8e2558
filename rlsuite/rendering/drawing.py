"""The interface of the drawings of an environment."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Drawing(Protocol):
    """Two pictures of the same moment: one in characters, one in pixels.

    A drawing knows nothing of dynamics and keeps no memory: all it sees is the state now, the action and the reward
    that led here (None after a reset), and a caption in which the environment says what a state number cannot, for
    instance the last observation of a POMDP. All frames of one drawing have the same size.
    """

    def ansi(self, state: int, action: int | None = None, reward: float | None = None, caption: str = "") -> str:
        """Text of one or more lines, ended by a line feed."""
        ...

    def rgb(
        self, state: int, action: int | None = None, reward: float | None = None, caption: str = ""
    ) -> NDArray[np.uint8]:
        """(height, width, 3) uint8 pixels."""
        ...


def status(action: str, reward: float | None, caption: str) -> str:
    """The line below a picture: the action, its reward, and further remarks.

    Parameters
    ----------
    action
        Name of the last action, empty after a reset.
    reward
        Its reward, None after a reset.
    caption
        Whatever the environment adds.

    Examples
    --------
    >>> status("right", 100.0, ""), status("listen", -1.0, "heard: tiger left"), status("", None, "")
    ('right, reward 100', 'listen, reward -1 | heard: tiger left', 'start')
    """
    moved = ", ".join(part for part in (action, "" if reward is None else f"reward {reward:.4g}") if part)
    return " | ".join(part for part in (moved or "start", caption) if part)
