"""From a parsed file to a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from rlsuite.errors import FileError, ModelError
from rlsuite.models.aliases import IndexArray
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.grammar import Parsed
from rlsuite.models.cassandra.text import Text
from rlsuite.models.decimals import rescaled

if TYPE_CHECKING:
    from rlsuite.models.mdp import MDP

MAX_CELLS = 2**28
"""Most transitions that lines with wildcards may stand for: 2 GiB per number and transition."""


def read_mdp(path: str | os.PathLike[str], gamma: float | None) -> MDP:
    """Return the model of a file without observations.

    Parameters
    ----------
    path
        The file.
    gamma : float, optional
        Used in place of the discount of the file.

    Raises
    ------
    FileError
        If the file is missing, malformed (the line and the column are named), without a discount when `gamma` is not
        given, about a POMDP, or if its probabilities are none.
    """
    from rlsuite.models.mdp import MDP

    parsed = Parsed(Text.of(path)).parse()
    if parsed.observations_at >= 0:
        parsed.text.fail(
            parsed.observations_at, "a file with observations holds a POMDP; MDP.read needs one whose states are seen"
        )
    discount = parsed.discount if gamma is None else gamma
    if discount is None:
        raise FileError(f"{path} has no 'discount:': pass gamma=")
    actions, states, _ = parsed.declared.slots("T")
    indptr, cells = _transitions(path, parsed)
    by_state = _by_state(parsed.entries["T"])
    rewards = parsed.entries.get("R")
    reward = np.zeros(cells.size) if rewards is None else _by_state(rewards).values_at(cells)

    def name(row: int) -> str:
        state, action = divmod(row, actions.size)
        return f"'T: {_label(actions.labels, action)} : {_label(states.labels, state)}'"

    empty = indptr[1:] == indptr[:-1]
    if empty.any():
        raise FileError(f"{path}: {name(int(np.argmax(empty)))} leads nowhere: no probability is given for it")
    start = parsed.start
    try:
        return MDP.from_rows(
            indptr,
            cells % states.size,
            rescaled(path, by_state.values_at(cells), indptr, name),
            0.0 - reward if parsed.costs else reward,
            n_actions=actions.size,
            gamma=discount,
            start=None if start is None else rescaled(path, start, np.array([0, start.size]), lambda _: "the start"),
            state_labels=states.labels,
            action_labels=actions.labels,
        )
    except ModelError as cause:
        raise FileError(f"{path} holds no valid model: {cause}") from cause


def _transitions(path: str | os.PathLike[str], parsed: Parsed) -> tuple[IndexArray, IndexArray]:
    """Return where each row begins, and the cells (s, a, s') that are possible, ascending."""
    if "T" not in parsed.entries:
        raise FileError(f"{path} has no transitions: no 'T:' in it")
    table = _by_state(parsed.entries["T"])
    if table.cells_covered() > MAX_CELLS:
        raise FileError(
            f"{path}: the lines with wildcards, 'uniform' or 'reset' stand for {table.cells_covered()} transitions; "
            f"at most {MAX_CELLS} can be read"
        )
    cells = table.support()
    cells = cells[table.values_at(cells) > 0.0]
    states, actions, _ = table.dims
    indptr = np.zeros(states * actions + 1, dtype=np.int64)
    np.cumsum(np.bincount(cells // states, minlength=states * actions), out=indptr[1:])
    return indptr, cells


def _by_state(entries: Entries) -> Entries:
    """Return entries about (action, state, state) as entries about (state, action, state)."""
    slots, values = entries.table()
    actions, states, ahead = entries.dims
    turned = Entries((states, actions, ahead))
    turned.extend([slots[1], slots[0], slots[2]], values)
    return turned


def _label(labels: tuple[str, ...] | None, number: int) -> str:
    return str(number) if labels is None else labels[number]
