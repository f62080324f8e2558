"""Beliefs as text: a column for each state if there are few, else the most probable states."""

from collections.abc import Sequence

from rlsuite.cli.output import number
from rlsuite.models.aliases import FloatArray

MOST_COLUMNS = 8
"""Up to this many states (or observations), each has a column of its own."""

MOST_PROBABLE = 3
"""Where there are more, this many states are named."""


def names(labels: Sequence[str] | None, how_many: int) -> list[str]:
    """Return labels, or numbers where there are none.

    >>> names(None, 3), names(("left", "right"), 2)
    (['0', '1', '2'], ['left', 'right'])
    """
    return [str(index) for index in range(how_many)] if labels is None else list(labels)


def heads(states: Sequence[str]) -> list[str]:
    """Return the titles of the columns that `cells` fills."""
    return list(states) if len(states) <= MOST_COLUMNS else ["most probable states"]


def cells(belief: FloatArray, states: Sequence[str]) -> list[str]:
    """Return a belief (S,) as one text for each column.

    >>> import numpy as np
    >>> cells(np.array([0.25, 0.75]), ["dry", "rain"])
    ['0.25', '0.75']
    >>> cells(np.array([0.5, 0.25, 0.125, 0.125, 0, 0, 0, 0, 0]), list("abcdefghi"))
    ['a 0.5, b 0.25, c 0.125 ...']
    """
    if len(states) <= MOST_COLUMNS:
        return [number(p) for p in belief.tolist()]
    order = (-belief).argsort(kind="stable").tolist()
    likely = [state for state in order[:MOST_PROBABLE] if belief[state] > 0.0]
    more = " ..." if belief[order[len(likely)]] > 0.0 else ""
    return [", ".join(f"{states[state]} {number(float(belief[state]))}" for state in likely) + more]
