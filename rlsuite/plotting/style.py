"""One colour per agent in every figure of a run, and line styles that tell near colours apart."""

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from rlsuite import errors

LineStyle = str | tuple[float, tuple[float, ...]]

# Black is for the optimum, and yellow cannot be read on white: six of the eight colours of Okabe and Ito remain. Six
# darker ones, most of them Paul Tol's, are told apart from these by all common kinds of colour blindness.
_COLOURS: Final = (
    *("#cc79a7", "#882255", "#56b4e9", "#0072b2", "#009e73", "#117733"),
    *("#d55e00", "#e69f00", "#5c4000", "#999933", "#332288", "#8a2be2"),
)

_HUES: Final = dict(zip(_COLOURS, "rrbbggoooovv", strict=True))
"""What each colour has in common with those near it: red, blue, green, orange, violet."""

# Lengths of strokes and gaps in widths of the line; the plain dashed line is for the optimum.
_LINES: Final[tuple[LineStyle, ...]] = (
    "solid",
    (0.0, (5.0, 1.5)),
    (0.0, (1.2, 1.2)),
    (0.0, (5.0, 1.2, 1.2, 1.2)),
    (0.0, (2.5, 1.0)),
    (0.0, (5.0, 1.2, 1.2, 1.2, 1.2, 1.2)),
)


class Look(NamedTuple):
    """Colour and line style of one agent."""

    colour: str
    line: LineStyle


def drawn(look: Look, linewidth: float = 1.4) -> dict[str, Any]:
    """Keywords with which matplotlib draws a line in this look.

    >>> drawn(OPTIMUM)["color"]
    '#000000'
    """
    return {"color": look.colour, "linestyle": look.line, "linewidth": linewidth}


OPTIMUM: Final = Look("#000000", (0.0, (4.0, 2.5)))
"""The look of exact optima."""

MOST_NAMES: Final = 12
"""A legend has at most so many names, those of the best and of the optimum; the other lines are grey."""

REST: Final = "#c4c8cd"
"""The colour of lines without a name."""


def others(named: int, lines: int) -> list[str]:
    """The sentence for the caption about lines without a name.

    >>> others(11, 40), others(3, 3)
    (['The 11 best have names, 29 others are grey.'], [])
    """
    return [f"The {named} best have names, {lines - named} others are grey."] if named < lines else []


def unnamed(label: str) -> str:
    """The label of what is drawn of an agent beside its line; legends leave it out, as matplotlib's rule is.

    >>> unnamed("Sarsa")
    '_Sarsa'
    """
    return f"_{label}"


class Palette:
    """The look of every agent of a run, the same in all of its figures.

    A colour belongs to a name, however it is spelled: ``QLearning`` and ``q-learning`` prefer the same one, given by a
    checksum of their letters, in every figure and process. Where another label of the palette prefers a near hue, one
    of the two gets another colour: to be certain, build *one* palette from all agents of a run and pass it to every
    figure. Line styles are given in the order of the labels, so the first six differ, also in grey.

    Two of up to twelve labels have neither the same colour nor a near hue in the same line style. A 13th label gets a
    colour again with another line style, a 73rd repeats a look.

    Parameters
    ----------
    labels
        Labels of all agents, in the order of their line styles.

    Examples
    --------
    >>> Palette(["Sarsa", "QLearning"])["QLearning"].colour == Palette(["q-learning"])["q-learning"].colour
    True
    >>> Palette(["QLearning"])["QLearning"]
    Look(colour='#0072b2', line='solid')
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._looks: dict[str, Look] = {}
        taken: Counter[tuple[LineStyle, str]] = Counter()
        colours_of = _colours_of(given := dict.fromkeys(labels))
        for place, label in enumerate(given):
            colour, first = colours_of[label], place % len(_LINES)
            hue = _HUES[colour]
            line = min(_LINES[first:] + _LINES[:first], key=lambda one: (taken[one, colour], taken[one, hue]))
            taken.update([(line, colour), (line, hue)])
            self._looks[label] = Look(colour, line)

    def __getitem__(self, label: str) -> Look:
        """Look of the agent with this label.

        Raises
        ------
        ParameterError
            If the palette was built without it.
        """
        if label not in self._looks:
            raise errors.ParameterError(errors.unknown("agent of this palette", label, self._looks))
        return self._looks[label]


SALT: Final = "506723"
"""With it the agents that are most often compared prefer different hues."""


def _preferred(label: str) -> int:
    letters = "".join(filter(str.isalnum, label.casefold()))
    return zlib.crc32(f"{SALT}{letters}".encode()) % len(_COLOURS)


def _colours_of(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, whatever their order: the one it prefers, or else the next of a hue with room."""
    taken: Counter[str] = Counter()
    chosen: dict[str, str] = {}
    for label in sorted(labels):
        first = _preferred(label)
        colour = min(_COLOURS[first:] + _COLOURS[:first], key=lambda one: (taken[one], taken[_HUES[one]]))
        taken.update([colour, _HUES[colour]])
        chosen[label] = colour
    return chosen
