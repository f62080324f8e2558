"""Actions as directions on a grid: from their names to displacements, and from displacements to glyphs and words.

A displacement is ``(d_row, d_column)`` with rows counted downwards, as on the page: up is ``(-1, 0)``.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Displacement: TypeAlias = tuple[int, int]

GLYPHS: Final[dict[Displacement, str]] = {
    (0, -1): "←", (0, 1): "→", (-1, 0): "↑", (1, 0): "↓",
    (-1, -1): "↖", (-1, 1): "↗", (1, -1): "↙", (1, 1): "↘", (0, 0): "·",
}  # fmt: skip

WORDS: Final[dict[Displacement, str]] = {
    (0, -1): "left", (0, 1): "right", (-1, 0): "up", (1, 0): "down",
    (-1, -1): "up-left", (-1, 1): "up-right", (1, -1): "down-left", (1, 1): "down-right", (0, 0): "stay",
}  # fmt: skip

_SHORT: Final[dict[str, Displacement]] = {
    "l": (0, -1), "r": (0, 1), "u": (-1, 0), "d": (1, 0),
    "w": (0, -1), "e": (0, 1), "n": (-1, 0), "s": (1, 0),
    "west": (0, -1), "east": (0, 1), "north": (-1, 0), "south": (1, 0),
    "nw": (-1, -1), "ne": (-1, 1), "sw": (1, -1), "se": (1, 1), "noop": (0, 0), "wait": (0, 0),
}  # fmt: skip

_NAMES: Final[dict[str, Displacement]] = (
    {word: move for move, word in WORDS.items()} | {glyph: move for move, glyph in GLYPHS.items()} | _SHORT
)


def from_labels(labels: Sequence[str]) -> NDArray[np.int64] | None:
    """Displacements of actions that are named after directions.

    Parameters
    ----------
    labels
        One name per action, in any case: ``left``, ``R``, ``north``, ``up-left``, ``stay``, ``→`` ...

    Returns
    -------
    numpy.ndarray or None
        (A, 2) int64 displacements ``(d_row, d_column)``; None when some name is not a direction.

    Examples
    --------
    >>> from_labels(["L", "R", "up"]).tolist()
    [[0, -1], [0, 1], [-1, 0]]
    >>> from_labels(["listen", "open"]) is None
    True
    """
    moves = [_NAMES.get(label.strip().lower().replace("_", "-").replace(" ", "-")) for label in labels]
    known = [move for move in moves if move is not None]
    if not known or len(known) < len(moves):
        return None
    return np.array(known, dtype=np.int64)


def unit(displacement: NDArray[np.int64]) -> Displacement:
    """Direction of a displacement, whatever its length in squares.

    >>> unit(np.array([0, 2]))
    (0, 1)
    """
    d_row, d_column = np.sign(displacement).tolist()
    return d_row, d_column
