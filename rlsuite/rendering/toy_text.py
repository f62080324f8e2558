"""Drawings of Gymnasium's grids, FrozenLake, CliffWalking and Taxi, from their maps: no other package is needed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.rendering.canvas import write_caption
from rlsuite.rendering.colours import BLUE, GREEN, INK, PURPLE, VERMILLION, WALL, YELLOW, Colour, tint
from rlsuite.rendering.drawing import Drawing, status
from rlsuite.rendering.grid import GridDrawing
from rlsuite.rendering.layout import GridLayout, Square
from rlsuite.rendering.overlay import Overlay
from rlsuite.rendering.painting import GridPainting, framed
from rlsuite.rendering.scene import disc, rounded, shapes

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

TAXI_ACTIONS: Final = ("south", "north", "east", "west", "pickup", "dropoff")

PLACES: Final[dict[str, Colour]] = {"R": VERMILLION, "G": GREEN, "Y": YELLOW, "B": BLUE}
"""The places where passengers wait, and their colours."""

IN_TAXI: Final = 4
"""The place of a passenger who rides."""


def drawing_of(env: "Env") -> Drawing | None:
    """Return what draws one of Gymnasium's grids, of which Gymnasium's own pictures need pygame.

    Parameters
    ----------
    env : gymnasium.Env
        FrozenLake (any map), CliffWalking or Taxi, wrapped or not.

    Returns
    -------
    Drawing or None
        Its ``rgb(env.unwrapped.s, action, reward)`` are the pixels of the present state; None for all other
        environments, and for classes derived from these that render themselves in another way.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("Taxi-v4")
    >>> state, info = env.reset(seed=7)
    >>> drawing = drawing_of(env)
    >>> drawing.rgb(state).shape
    (524, 496, 3)
    >>> drawing_of(gymnasium.make("Blackjack-v1")) is None
    True
    """
    from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
    from gymnasium.envs.toy_text.taxi import TaxiEnv

    inner: Any = env.unwrapped
    own: Any = inner.__class__
    kinds: tuple[Any, ...] = (CliffWalkingEnv, FrozenLakeEnv, TaxiEnv)
    base: Any = next((kind for kind in kinds if issubclass(own, kind)), None)
    if base is None or own.render is not base.render:
        return None
    if base is TaxiEnv:
        return TaxiDrawing(np.char.decode(inner.desc, "ascii"), tuple(inner.locs), inner.decode)
    return GridDrawing(GridLayout.from_env(env))


@dataclass(frozen=True, eq=False)
class TaxiDrawing:
    """Draws the taxi: a disc with a beak, in which a rider sits; who waits stands in a corner of a place.

    Parameters
    ----------
    letters
        (7, 11) map: a frame, squares in every second column, and between two squares ``|`` for a wall or ``:``.
    places
        Squares where passengers wait, in the order of Gymnasium's numbers.
    decode
        From a state to the row and the column of the taxi, where the passenger is, and the destination.
    """

    letters: NDArray[np.str_]
    places: tuple[Square, ...]
    decode: Callable[[int], tuple[int, int, int, int]]

    def ansi(self, state: int, action: int | None = None, reward: float | None = None, caption: str = "") -> str:
        """Draw the map in characters; the taxi is T, or the letter of its place in lower case.

        Parameters
        ----------
        state, action, reward, caption
            As for `GridDrawing.ansi`.

        Returns
        -------
        str
            The map, then one line that also says where the passenger is, and wants to go.
        """
        row, column, _, _ = self.decode(state)
        lines = np.char.replace(self.letters, ":", " ").copy()
        letter = lines[row + 1, 2 * column + 1]
        lines[row + 1, 2 * column + 1] = "T" if letter == " " else letter.lower()
        text = ["".join(line) for line in lines.tolist()]
        return "\n".join([*text, self._status(state, action, reward, caption)]) + "\n"

    def rgb(
        self, state: int, action: int | None = None, reward: float | None = None, caption: str = ""
    ) -> NDArray[np.uint8]:
        """Draw the map in pixels.

        Parameters
        ----------
        state, action, reward, caption
            As for `GridDrawing.rgb`.

        Returns
        -------
        numpy.ndarray
            (height, width, 3) uint8, of the same size for every state.
        """
        painting = self._painting
        row, column, passenger, destination = self.decode(state)
        sheet = painting.with_agent(state, None if action is None or action >= IN_TAXI else action)
        painting.draw(sheet, self.places[destination], shapes("target", *framed(0.46, painting.side, PURPLE)))
        place, aside = ((row, column), 0.0) if passenger == IN_TAXI else (self.places[passenger], 0.28)
        rider = [(disc(radius) + np.array((aside, -aside)), shade) for radius, shade in ((0.13, INK), (0.105, PURPLE))]
        painting.draw(sheet, place, shapes("passenger", *rider))
        return write_caption(sheet, self._status(state, action, reward, caption))

    def _status(self, state: int, action: int | None, reward: float | None, caption: str) -> str:
        _, _, passenger, destination = self.decode(state)
        names = [str(self.letters[row + 1, 2 * column + 1]) for row, column in self.places]
        where = "in the taxi" if passenger == IN_TAXI else f"at {names[passenger]}"
        said = f"passenger {where}, {'arrived' if passenger == destination else f'to {names[destination]}'}"
        return status("" if action is None else TAXI_ACTIONS[action], reward, f"{said}; {caption}" if caption else said)

    @cached_property
    def _painting(self) -> GridPainting:
        n_rows, n_columns = self.letters[1:-1, 1::2].shape
        cells: list[Square] = []
        n_states = n_rows * n_columns * (IN_TAXI + 1) * len(self.places)
        for state in range(n_states):
            row, column, _, _ = self.decode(state)
            cells.append((row, column))
        marks = {place: str(self.letters[place[0] + 1, 2 * place[1] + 1]) for place in self.places}
        arrows = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        layout = GridLayout(n_rows, n_columns, cells, marks=marks, arrows=arrows)
        colours = {place: tint(PLACES[mark], 0.45) for place, mark in marks.items()}
        walls = [(column + 1, row, 0, 1) for row, column in np.argwhere(self.letters[1:-1, 2:-1:2] == "|").tolist()]
        walls += [(0, 0, n_columns, 0), (0, n_rows, n_columns, 0), (0, 0, 0, n_rows), (n_columns, 0, 0, n_rows)]
        boxes = [(rounded(x - 0.53, y - 0.53, x + w - 0.47, y + h - 0.47), WALL) for x, y, w, h in walls]
        return GridPainting(layout, Overlay(layout), colours, shapes("walls", *boxes))
