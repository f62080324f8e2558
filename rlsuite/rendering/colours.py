"""Colours that colour-blind readers can distinguish, and the table that turns a number into a colour.

Categories use the palette of Okabe and Ito (2008), made for all common kinds of colour blindness; numbers use
viridis, which is monotone in lightness and therefore survives a grey printer. The table is kept here as seventeen
anchors so that rendering needs no plotting library.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Colour: TypeAlias = tuple[int, int, int]
"""Red, green and blue, each 0 to 255."""

BLACK: Final[Colour] = (0, 0, 0)
ORANGE: Final[Colour] = (230, 159, 0)
SKY_BLUE: Final[Colour] = (86, 180, 233)
GREEN: Final[Colour] = (0, 158, 115)
YELLOW: Final[Colour] = (240, 228, 66)
BLUE: Final[Colour] = (0, 114, 178)
VERMILLION: Final[Colour] = (213, 94, 0)
PURPLE: Final[Colour] = (204, 121, 167)

PAPER: Final[Colour] = (255, 255, 255)
FLOOR: Final[Colour] = (247, 247, 244)
LINE: Final[Colour] = (205, 207, 210)
WALL: Final[Colour] = (58, 63, 71)
INK: Final[Colour] = (33, 37, 41)
UNKNOWN: Final[Colour] = (225, 226, 228)

VIRIDIS: Final = np.array(
    [
        (68, 1, 84), (72, 24, 106), (71, 45, 123), (66, 64, 134), (59, 82, 139), (51, 99, 141),
        (44, 114, 142), (38, 130, 142), (33, 145, 140), (31, 160, 136), (40, 174, 128), (63, 188, 115),
        (94, 201, 98), (132, 212, 75), (173, 220, 48), (216, 226, 25), (253, 231, 37),
    ],
    dtype=np.float64,
)  # fmt: skip
VIRIDIS.flags.writeable = False


def heat(fraction: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Colours of viridis, interpolated between its anchors.

    Parameters
    ----------
    fraction
        Any shape, 0 (dark violet) to 1 (yellow); NaN gives the grey of "no number here".

    Returns
    -------
    numpy.ndarray
        The shape of `fraction` plus a last axis of 3, uint8.

    Examples
    --------
    >>> heat(np.array([0.0, 1.0, np.nan])).tolist()
    [[68, 1, 84], [253, 231, 37], [225, 226, 228]]
    """
    known = ~np.isnan(fraction)
    anchors = np.linspace(0.0, 1.0, len(VIRIDIS))
    filled = np.where(known, fraction, 0.0)
    channels = [np.interp(filled, anchors, VIRIDIS[:, channel]) for channel in range(3)]
    colours = np.where(known[..., None], np.stack(channels, axis=-1), np.asarray(UNKNOWN, dtype=np.float64))
    return np.rint(colours).astype(np.uint8)


def tint(colour: Colour, strength: float) -> Colour:
    """Mix a colour with white paper; `strength` 1 keeps the colour, 0 gives paper.

    >>> tint(BLUE, 0.0), tint(BLUE, 1.0)
    ((255, 255, 255), (0, 114, 178))
    """
    red, green, blue = (round(255 + strength * (channel - 255)) for channel in colour)
    return red, green, blue


def hexadecimal(colour: Colour) -> str:
    """Write a colour as web pages and plotting libraries do.

    >>> hexadecimal(BLUE)
    '#0072b2'
    """
    return "#{:02x}{:02x}{:02x}".format(*colour)


def hexadecimals(colours: NDArray[np.uint8]) -> list[str]:
    """Write (n, 3) colours as web pages and plotting libraries do."""
    return [f"#{colour:06x}" for colour in (colours @ np.array([65536, 256, 1])).tolist()]


def inks_on(backgrounds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(..., 3) black or white, whichever has the larger contrast to (..., 3), by its luma (ITU-R BT.601).

    >>> inks_on(heat(np.array([0.0, 1.0]))).tolist() == [list(PAPER), list(INK)]
    True
    """
    light = backgrounds @ np.array([0.299, 0.587, 0.114]) > 110
    return np.where(light[..., np.newaxis], np.array(INK, dtype=np.uint8), np.array(PAPER, dtype=np.uint8))
