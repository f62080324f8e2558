"""Pictures of problems that are not on a grid: the arms of a bandit, two doors, the states of a chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError, unknown
from rlsuite.rendering.canvas import fitted, inside, paint_on, paper, write_caption
from rlsuite.rendering.colours import FLOOR, INK, LINE, ORANGE
from rlsuite.rendering.drawing import status
from rlsuite.rendering.scene import Polygons, Scene, Texts, painted, rounded

LARGEST_BOX: Final = 96
"""Side in pixels of the boxes of a short row."""

PICTURE_WIDTH: Final = 768
"""Pixels that a row may fill before its boxes shrink, to `SMALLEST_BOX`; then the row is broken."""

SMALLEST_BOX: Final = 40

BOXES_ON_A_PAGE: Final = 10 * (PICTURE_WIDTH // SMALLEST_BOX)
"""Ten full rows."""

MARGIN: Final = 8

MOST_KEPT: Final = 16
"""Pictures that are kept."""


@dataclass(frozen=True, eq=False, init=False)
class BoxesDrawing:
    """A row of labelled boxes, one of them highlighted.

    Parameters
    ----------
    labels
        One text per box.
    follow
        What decides the highlighted box: the ``"state"``, or the last ``"action"``. A drawing that follows actions
        never looks at the state, which therefore stays hidden, as it must in a POMDP.
    boxes
        Box of each state (or action); None for "no box". Default: the i-th state (action) has the i-th box.
    action_labels
        Names of the actions, for the line below the boxes. Default: the label of the box of an action when actions
        are followed, else "action 0" and so on.

    Of more than `BOXES_ON_A_PAGE` boxes, only the page that holds the highlighted one is drawn.

    Raises
    ------
    ParameterError
        If there are no labels, `follow` is misspelt, or `boxes` names a box that does not exist.

    Examples
    --------
    A bandit highlights the arm pulled last; the tiger's listener sees two doors and what was heard, never the tiger:

    >>> print(BoxesDrawing(["arm 0", "arm 1"], follow="action").ansi(0, 1, 0.5), end="")
     arm 0  [arm 1]
    arm 1, reward 0.5
    >>> labels = ["listen", "open left", "open right"]
    >>> doors = BoxesDrawing(["left", "right"], follow="action", boxes=[None, 0, 1], action_labels=labels)
    >>> print(doors.ansi(0, 0, -1.0, "heard: tiger left"), end="")
     left   right
    listen, reward -1 | heard: tiger left
    """

    labels: tuple[str, ...]
    follow: Literal["state", "action"]
    boxes: tuple[int | None, ...]
    action_labels: tuple[str, ...]

    def __init__(
        self,
        labels: Sequence[str],
        follow: Literal["state", "action"] = "state",
        boxes: Sequence[int | None] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> None:
        if not labels:
            raise ParameterError("a row of boxes needs at least one label")
        if follow not in ("state", "action"):
            raise ParameterError(unknown("follow", follow, ["state", "action"]))
        places = tuple(range(len(labels))) if boxes is None else tuple(boxes)
        for index, box in enumerate(places):
            if box is not None and not 0 <= box < len(labels):
                raise ParameterError(f"boxes[{index}] = {box} must be 0 to {len(labels) - 1}, or None for no box")
        if action_labels is None:
            action_labels = labels if follow == "action" and boxes is None else ()
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "follow", follow)
        object.__setattr__(self, "boxes", places)
        object.__setattr__(self, "action_labels", tuple(action_labels))

    def ansi(self, state: int, action: int | None = None, reward: float | None = None, caption: str = "") -> str:
        """Draw the boxes in characters, brackets round the highlighted one.

        Parameters
        ----------
        state
            Looked at only when states are followed.
        action, reward
            What was done last and what that brought; None after a reset.
        caption
            Added to the last line: the last observation, for instance.

        Returns
        -------
        str
            The labels, then a line with action and reward.
        """
        chosen = self._highlighted(state, action)
        page = self._page(chosen)
        boxes = [f"[{self.labels[box]}]" if box == chosen else f" {self.labels[box]} " for box in page]
        rows = [
            " ".join(boxes[first : first + self._columns]).rstrip() for first in range(0, len(boxes), self._columns)
        ]
        return "\n".join([*rows, status(self._action_word(action), reward, caption)]) + "\n"

    def rgb(
        self, state: int, action: int | None = None, reward: float | None = None, caption: str = ""
    ) -> NDArray[np.uint8]:
        """Draw the boxes in pixels, the highlighted one in orange.

        Parameters
        ----------
        state, action, reward, caption
            As for `ansi`.

        Returns
        -------
        numpy.ndarray
            (height, width, 3) uint8, of the same size for every state.
        """
        chosen = self._highlighted(state, action)
        if (sheet := self._sheets.get(chosen)) is None:
            page, side = self._page(chosen), self._side
            width, n_rows = (
                self._columns * side + 2 * MARGIN,
                -(-min(len(self.labels), BOXES_ON_A_PAGE) // self._columns),
            )
            sheet = paper(width, n_rows * side + 2 * MARGIN)
            paint_on(inside(sheet, width), self._scene(page, chosen), side, (MARGIN, MARGIN))
            if len(self._sheets) < MOST_KEPT:
                self._sheets[chosen] = sheet
        return write_caption(sheet.copy(), status(self._action_word(action), reward, caption))

    @cached_property
    def _sheets(self) -> dict[int | None, NDArray[np.uint8]]:
        """Pictures that have been drawn, by the chosen box."""
        return {}

    def _highlighted(self, state: int, action: int | None) -> int | None:
        index = state if self.follow == "state" else action
        return None if index is None else self.boxes[index]

    def _action_word(self, action: int | None) -> str:
        if action is None:
            return ""
        return self.action_labels[action] if self.action_labels else f"action {action}"

    @property
    def _columns(self) -> int:
        return min(len(self.labels), PICTURE_WIDTH // SMALLEST_BOX)

    def _page(self, chosen: int | None) -> range:
        """Boxes of the page that holds the chosen one."""
        first = (chosen or 0) // BOXES_ON_A_PAGE * BOXES_ON_A_PAGE
        return range(first, min(first + BOXES_ON_A_PAGE, len(self.labels)))

    @property
    def _side(self) -> int:
        return min(LARGEST_BOX, PICTURE_WIDTH // self._columns)

    def _scene(self, page: range, chosen: int | None) -> Scene:
        middles = np.array([divmod(place, self._columns)[::-1] for place in range(len(page))], dtype=np.float64)
        is_chosen = np.array([box == chosen for box in page])
        scene: list[Polygons | Texts] = []
        for which, edge, outer, inner in ((~is_chosen, 1.5, LINE, FLOOR), (is_chosen, 3.0, INK, ORANGE)):
            for to, colour in ((0.45, outer), (0.45 - edge / self._side, inner)):
                corners = middles[which, np.newaxis] + rounded(-to, -to, to, to, to - 0.33)
                scene.append(Polygons("boxes", corners, painted(colour, len(corners))))
        side = self._side
        shown = [fitted(self.labels[box], 0.74 * side, round(0.22 * side), 8) for box in page]
        size = min(size for _, size in shown) / side
        return [*scene, Texts("labels", middles, [text for text, _ in shown], painted(INK, len(page)), size)]
