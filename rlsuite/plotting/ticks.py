"""Numbers along an axis: "0.5 M" at the tick instead of 0.5 there and a factor 1e6 in a corner."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axis import Axis

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
