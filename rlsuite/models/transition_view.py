"""The transitions of a model in Gymnasium's ``P`` convention, made when asked for."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from rlsuite.models.aliases import Rows

Transition: TypeAlias = tuple[float, int, float, bool]
"""(probability, next_state, mean reward, terminated)"""


class ActionView(Mapping[int, list[Transition]]):
    """``P[s]``: the transitions of each action of one state."""

    __slots__ = ("_n_actions", "_rows", "_state")

    def __init__(self, rows: Rows, n_actions: int, state: int) -> None:
        self._rows = rows
        self._n_actions = n_actions
        self._state = state

    def __getitem__(self, action: int) -> list[Transition]:
        if not 0 <= action < self._n_actions:
            raise KeyError(action)
        rows = self._rows
        pair = self._state * self._n_actions + action
        row = slice(int(rows.indptr[pair]), int(rows.indptr[pair + 1]))
        return list(
            zip(
                rows.probability[row].tolist(),
                rows.next_state[row].tolist(),
                rows.reward[row].tolist(),
                rows.terminated[row].tolist(),
                strict=True,
            )
        )

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._n_actions))

    def __len__(self) -> int:
        return self._n_actions

    def __repr__(self) -> str:
        return repr(dict(self))


class TransitionView(Mapping[int, ActionView]):
    """A read-only ``P[s][a] -> [(probability, next_state, reward, terminated), ...]`` over the rows of a model.

    Nothing is copied: a list is made when its pair is asked for, of plain Python numbers equal to those of the
    arrays. The list of an illegal action is empty.
    """

    __slots__ = ("_n_actions", "_rows")

    def __init__(self, rows: Rows, n_actions: int) -> None:
        self._rows = rows
        self._n_actions = n_actions

    def __getitem__(self, state: int) -> ActionView:
        if not 0 <= state < len(self):
            raise KeyError(state)
        return ActionView(self._rows, self._n_actions, int(state))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return (self._rows.indptr.size - 1) // self._n_actions

    def __repr__(self) -> str:
        return f"<transitions of {len(self)} states and {self._n_actions} actions>"
