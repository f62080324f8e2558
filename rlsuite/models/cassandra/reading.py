"""From a file to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rlsuite.core.narrowing import is_sequence
from rlsuite.errors import FileError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.entries import Entries
from rlsuite.models.cassandra.grammar import Parsed
from rlsuite.models.cassandra.names import ANY, Names
from rlsuite.models.cassandra.text import Text
from rlsuite.models.cassandra.writing import file_names
from rlsuite.models.files import ROUNDING, reading, rescaled
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.validation import pointers

MAX_CELLS = 2**25
"""Most probabilities that lines with wildcards may stand for, and most rows: more take gigabytes and minutes."""
MAX_LOOKUPS = 2**27
"""Most pairs of a transition and an observation whose rewards are looked up one by one."""
BLOCK = 2**20
"""How many of these are looked up at a time."""

_MEANING = {"T": "transitions", "O": "observations"}


class Distributions(NamedTuple):
    """Rows of probabilities over the last slot of a table."""

    indptr: IndexArray
    """(rows + 1,) int64"""
    column: IndexArray
    """(N,) int64, ascending within a row"""
    probability: FloatArray
    """(N,) float64, all positive"""

    @property
    def row(self) -> IndexArray:
        """(N,) int64: the row of each entry."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))


def transitions(parsed: Parsed, rounding: float) -> Distributions:
    """Return Pr(s' | s, a) as rows over (s, a).

    Raises
    ------
    FileError
        If a row is missing or does not sum to 1, or the rows stand for too much.
    """
    actions, states, _ = parsed.declared.slots("T")
    return _distributions(parsed, "T", (1, 0, 2), (states, actions), rounding)


def observations(parsed: Parsed, rounding: float) -> Distributions:
    """Return Pr(z | a, s') as rows over (a, s'); errors as in `transitions`."""
    actions, states, _ = parsed.declared.slots("O")
    return _distributions(parsed, "O", (0, 1, 2), (actions, states), rounding)


def rewards(parsed: Parsed, moves: Distributions, seen: Distributions | None) -> FloatArray:
    """Return the mean reward of each transition: (N,) float64.

    With observations, r(s, a, s') = sum_z Pr(z | a, s') R(s, a, s', z).

    Raises
    ------
    FileError
        If the rewards depend on the observation, and there are too many transitions to look all of them up.
    """
    entries = parsed.entries.get("R")
    if entries is None:
        return np.zeros(moves.column.size)
    paid = entries.values_at(_cells(parsed, moves)) if seen is None else _folded(entries, parsed, moves, seen)
    return 0.0 - paid if parsed.costs else paid


def _distributions(
    parsed: Parsed, keyword: str, order: tuple[int, int, int], rows: tuple[Names, Names], rounding: float
) -> Distributions:
    text, what = parsed.text, _MEANING[keyword]
    if keyword not in parsed.entries:
        text.without_colon(keyword)
        raise FileError(f"{text.path} has no {what}: no '{keyword}:' in it")
    # Messages name a row as the file does, the action first; the rows of T are sorted by state.
    action_first = order[0] == 0
    count = rows[0].size * rows[1].size
    if count > MAX_CELLS:
        raise FileError(
            f"{text.path}: {rows[0].size} {rows[0].kind}s and {rows[1].size} {rows[1].kind}s need {count} rows of "
            f"{what}; at most {MAX_CELLS} can be read"
        )
    given = parsed.entries[keyword]
    covered = given.cells_covered()
    if covered - given.size > MAX_CELLS:  # cells listed one by one are limited by the size of the file
        raise FileError(
            f"{text.path}{text.position(given.widest())}: this and the other lines of {keyword} with wildcards, "
            f"'uniform' or 'reset' stand for {covered} {what}; at most {MAX_CELLS} can be read"
        )
    table = given.part(order)
    cells = table.support()
    values = table.values_at(cells)
    possible = values > 0.0
    if not possible.all():
        cells, values = cells[possible], values[possible]
    row, column = np.divmod(cells, table.dims[2])
    indptr = pointers(np.bincount(row, minlength=count))

    def slots(number: int) -> tuple[int, int]:
        one, other = divmod(number, rows[1].size)
        return (one, other) if action_first else (other, one)

    def name(number: int) -> str:
        action, state = slots(number)
        return f"'{keyword}: {parsed.declared.actions.name(action)} : {parsed.declared.states.name(state)}'"

    def position(number: int) -> str:
        at = given.offset_of(slots(number))
        return text.position(at if at >= 0 else text.end)

    empty = indptr[1:] == indptr[:-1]
    if empty.any():
        number = int(np.argmax(empty))
        raise FileError(f"{text.path}{position(number)}: no probability above 0 is given for {name(number)}")
    return Distributions(indptr, column, rescaled(text.path, values, indptr, name, position=position, worst=rounding))


def _cells(parsed: Parsed, moves: Distributions) -> IndexArray:
    """Return the cell (a, s, s') of each transition."""
    actions, states, _ = parsed.declared.slots("T")
    state, action = np.divmod(moves.row, actions.size)
    return (action * states.size + state) * states.size + moves.column


def _folded(entries: Entries, parsed: Parsed, moves: Distributions, seen: Distributions) -> FloatArray:
    """Return what is paid for each transition on average over the observations."""
    cells = _cells(parsed, moves)
    slots, _ = entries.table()
    particular = slots[3] != ANY
    paid = entries.part((0, 1, 2), ~particular).values_at(cells)
    if not particular.any():
        return paid
    # Only transitions that a line with an observation covers need one look-up for each of their observations.
    chosen = np.flatnonzero(entries.part((0, 1, 2), particular).cover(cells))
    states = parsed.declared.states.size
    row = cells[chosen] // (states * states) * states + moves.column[chosen]
    lengths = np.diff(seen.indptr)[row]
    total = int(lengths.sum())
    if total > MAX_LOOKUPS:
        raise FileError(
            f"{parsed.text.path}: rewards that depend on the observation need {total} look-ups; "
            f"at most {MAX_LOOKUPS} are allowed"
        )
    ends = np.cumsum(lengths)
    first = 0
    while first < chosen.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + BLOCK)))
        of = np.repeat(np.arange(first, last), lengths[first:last])
        within = np.arange(of.size) - (ends - lengths - (ends - lengths)[first])[of]
        entry = seen.indptr[row[of]] + within
        each = entries.values_at(cells[chosen[of]] * entries.dims[3] + seen.column[entry])
        mean = np.bincount(of - first, weights=seen.probability[entry] * each, minlength=last - first)
        paid[chosen[first:last]] = mean
        first = last
    return paid


M = TypeVar("M", bound=MdpFields)
P = TypeVar("P")

LOOSE = 1.0000001e-3
"""How far the rows of a ``.pomdp`` file may be off, with a warning: people write .333 for a third."""


def read_mdp(model: type[M], path: str | os.PathLike[str], gamma: float | None) -> M:
    """Return the model of a file without observations.

    Parameters
    ----------
    model : type
        The class of the model.
    path
        The file.
    gamma : float, optional
        Used instead of the discount of the file.

    Raises
    ------
    FileError
        If the file is missing, malformed (the line and the column are named), without a discount when `gamma` is not
        given, about a POMDP, or if its probabilities are invalid.
    """
    parsed = Parsed(Text.of(path)).parse()
    if parsed.observations_at >= 0:
        parsed.text.fail(
            parsed.observations_at,
            "a file with observations holds a POMDP: name it .pomdp and use POMDP.read",
        )
    gamma = _discount(parsed, gamma)
    moves = transitions(parsed, ROUNDING)
    return _hidden(model, parsed, gamma, moves, rewards(parsed, moves, None), ROUNDING)


def read_pomdp(
    model: Callable[[M, ObservationRows, Sequence[str] | None], P],
    hidden: type[M],
    path: str | os.PathLike[str],
    gamma: float | None,
) -> P:
    """Return the model of a file with observations; parameters and errors as in `read_mdp`.

    Parameters
    ----------
    model : callable
        Makes the model of the process of the states, the observations and their names.
    hidden : type
        The class of the process of the states.
    path, gamma
        As in `read_mdp`.

    Warns
    -----
    RoundingWarning
        If rows are off by more than 1e-5, which the rounding of a few decimals does not explain. Beyond 1e-3 that is
        an error.
    """
    parsed = Parsed(Text.of(path), LOOSE).parse()
    names = parsed.declared.observations
    if names is None:
        parsed.text.without_colon("observations")
        parsed.text.fail(
            parsed.text.end,
            "the file ends without 'observations:'; if states are observed, name it .mdp and use MDP.read",
        )
    gamma = _discount(parsed, gamma)
    moves = transitions(parsed, LOOSE)
    seen = observations(parsed, LOOSE)
    mdp = _hidden(hidden, parsed, gamma, moves, rewards(parsed, moves, seen), LOOSE)
    rows = ObservationRows(seen.indptr, seen.column.astype(np.int32), seen.probability, names.size)
    with reading(path):
        return model(mdp, rows, original_labels(parsed, names))


def original_labels(parsed: Parsed, names: Names) -> Sequence[str] | None:
    """Return the names of a file, or the labels that they were made of, if a comment has them."""
    found = parsed.text.labels.get(f"{names.kind}s")
    if is_sequence(found) and all(isinstance(one, str) for one in found):
        labels = [str(one) for one in found]
        if file_names(labels, 0) == [*(names.labels or ())]:
            return labels
    return names.labels


def _discount(parsed: Parsed, gamma: float | None) -> float:
    found = parsed.discount if gamma is None else gamma
    if found is None:
        raise FileError(f"{parsed.text.path} has no 'discount:': pass gamma=")
    return found


def _hidden(
    model: type[M], parsed: Parsed, gamma: float, moves: Distributions, reward: FloatArray, rounding: float
) -> M:
    """Return the process of the states."""
    actions, states, _ = parsed.declared
    path, start = parsed.text.path, parsed.start
    if start is not None:
        start = rescaled(path, start, np.array([0, start.size]), lambda _: "the start distribution", worst=rounding)
    with reading(path):
        found = model.from_rows(
            moves.indptr,
            moves.column,
            moves.probability,
            reward,
            n_actions=actions.size,
            gamma=gamma,
            start=start,
            state_labels=original_labels(parsed, states),
            action_labels=original_labels(parsed, actions),
        )
    return found.replace(costs=True) if parsed.costs else found
