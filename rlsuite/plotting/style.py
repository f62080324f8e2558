"""One colour and line style per agent, in every figure of a run."""

import zlib
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final, NamedTuple

from rlsuite import errors
from rlsuite.rendering import colours

LineStyle = str | tuple[float, tuple[float, ...]]

# Black is for the optimum, and yellow cannot be read on white: six of the eight colours of Okabe and Ito remain. Six
# darker ones, most of them Paul Tol's, are told apart from these by all common kinds of colour blindness, and in grey
# from the one of the same line style.
_COLOURS: Final = (
    *map(
        colours.hexadecimal,
        (colours.PURPLE, colours.SKY_BLUE, colours.GREEN, colours.VERMILLION, colours.BLUE, colours.ORANGE),
    ),
    *("#882255", "#117733", "#332288", "#5c4000", "#999933", "#8a2be2"),
)

# Lengths of strokes and gaps in points; the plain dashed line is for the optimum.
_LINES: Final[tuple[LineStyle, ...]] = (
    (0.0, (8.0, 1.5, 1.5, 1.5)),
    (0.0, (1.5, 1.0)),
    (0.0, (4.0, 1.0, 1.0, 1.0)),
    (0.0, (7.0, 1.5)),
    "solid",
    (0.0, (8.0, 1.5, 1.5, 1.5, 1.5, 1.5)),
)


class Look(NamedTuple):
    """Colour and line style of one agent."""

    colour: str
    line: LineStyle


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

    Every label prefers a slot given by a checksum of its letters, so an agent looks the same in every figure, process
    and order, as long as no other label of the palette prefers that slot too. Labels that prefer the same slot are
    given slots in alphabetical order, which may move one of them: to be certain, build *one* palette from all agents of
    a run and pass it to every figure.

    Twelve colours, which differ for all common kinds of colour blindness, come with six line styles, so that figures
    can also be read in grey; a 13th agent gets the first colour again with another line style, a 73rd repeats a look.

    Parameters
    ----------
    labels
        Labels of all agents, in any order.

    Examples
    --------
    >>> Palette(["Sarsa", "QLearning"])["QLearning"] == Palette(["QLearning"])["QLearning"]
    True
    >>> Palette(["QLearning"])["QLearning"]
    Look(colour='#0072b2', line='solid')
    """

    def __init__(self, labels: Iterable[str]) -> None:
        slots: dict[int, str] = {}
        ordered = sorted(set(labels))
        # Labels that prefer a slot get it before any label that has to move.
        settled = {label for label in ordered if slots.setdefault(_preferred(label), label) == label}
        for label in ordered:
            if label not in settled:
                slots[next(slot for slot in _slots(label) if slot not in slots)] = label
        self._looks = {label: _look(slot) for slot, label in slots.items()}

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


SALT: Final = "76579"
"""With it the agents that are most often compared, under the names of their classes, prefer different slots."""


def _preferred(label: str) -> int:
    return zlib.crc32(f"{SALT}{label}".encode()) % len(_COLOURS)


def _slots(label: str) -> Iterator[int]:
    """All slots in the order in which a label tries them: once round the colours, then the next line styles."""
    n_colours = len(_COLOURS)
    for cycle in count():
        for shift in range(n_colours):
            yield cycle * n_colours + (_preferred(label) + shift) % n_colours


def _look(slot: int) -> Look:
    cycle, colour = divmod(slot, len(_COLOURS))
    return Look(_COLOURS[colour], _LINES[(colour + cycle) % len(_LINES)])
