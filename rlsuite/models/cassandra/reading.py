"""From a file to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from rlsuite.errors import FileError, ModelError
from rlsuite.models.aliases import FloatArray
from rlsuite.models.cassandra import tables
from rlsuite.models.cassandra.grammar import Parsed
from rlsuite.models.cassandra.tables import Distributions
from rlsuite.models.cassandra.text import Text
from rlsuite.models.decimals import ROUNDING, rescaled
from rlsuite.models.from_rows import FromRows
from rlsuite.models.observations import ObservationRows

M = TypeVar("M", bound=FromRows)
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
        Used in place of the discount of the file.

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
    moves = tables.transitions(parsed, ROUNDING)
    return _hidden(model, parsed, gamma, moves, tables.rewards(parsed, moves, None), ROUNDING)


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
    moves = tables.transitions(parsed, LOOSE)
    seen = tables.observations(parsed, LOOSE)
    mdp = _hidden(hidden, parsed, gamma, moves, tables.rewards(parsed, moves, seen), LOOSE)
    rows = ObservationRows(seen.indptr, seen.column.astype(np.int32), seen.probability, names.size)
    try:
        return model(mdp, rows, names.labels)
    except ModelError as cause:
        raise FileError(f"{path} holds no valid model: {cause}") from cause


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
    try:
        return model.from_rows(
            moves.indptr,
            moves.column,
            moves.probability,
            reward,
            n_actions=actions.size,
            gamma=gamma,
            start=start,
            state_labels=states.labels,
            action_labels=actions.labels,
        )
    except ModelError as cause:
        raise FileError(f"{path} holds no valid model: {cause}") from cause
