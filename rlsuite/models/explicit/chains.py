"""Explicit files of Markov chains: as those of MDPs, without the number of the choice.

PRISM counts states and transitions in the first line of the ``.tra`` file, Storm says ``dtmc``. A line names a state, a
successor and the probability. In reward files, two columns are a state and what leaving it pays (``.srew``), three a
transition and its reward (``.trew``). The label "init" marks the states in which runs begin.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.errors import FileError, ModelError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.explicit.columns import Columns, read_columns
from rlsuite.models.explicit.reading import (
    check_count,
    once,
    read_labels,
    reward_files,
    reward_width,
    state_rewards,
)
from rlsuite.models.explicit.writing import LAYOUT, Dialect, label_lines, labels_of_chain
from rlsuite.models.files import rescaled
from rlsuite.models.validation import pointers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LINES = "state successor probability', and with a choice it is an MDP: use 'rl.MDP.read"


class ChainArrays(NamedTuple):
    """What explicit files say of a Markov chain."""

    transition: csr_array[np.float64]
    """Pr[s' | s]: sparse (S, S)"""
    reward: FloatArray
    """(S,) float64: the mean reward of leaving each state"""
    labels: dict[str, BoolArray]
    """Label -> (S,) bool"""


class _Moves(NamedTuple):
    """The lines of a transition file, sorted by state."""

    n_states: int
    source: IndexArray
    next_state: IndexArray
    probability: FloatArray


def read_chain(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None,
    rewards: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
) -> ChainArrays:
    """Return the chain in explicit files; the parameters are those of `MarkovChain.read`.

    Raises
    ------
    FileError
        If a file is missing, malformed (the line is named), or about another kind of model.
    """
    from scipy.sparse import csr_array

    file = Path(path)
    moves = _moves(read_columns(file, [3], LINES, header=_check_header))
    size = moves.n_states
    indptr = pointers(np.bincount(moves.source, minlength=size))
    stuck = np.diff(indptr) == 0
    if stuck.any():
        state = int(np.argmax(stuck))
        raise FileError(
            f"{file}: state {state} has no transitions; if it is never left, add the line '{state} {state} 1'"
        )
    probability = rescaled(file, moves.probability, indptr, lambda row: f"the row of state {row}")
    moves = moves._replace(probability=probability)
    reward = np.zeros(size)
    for one in reward_files(file, rewards):
        reward += _rewards(one, moves)
    found = read_labels(file, labels, size)
    matrix = cast("csr_array[np.float64]", csr_array((probability, moves.next_state, indptr), shape=(size, size)))
    return ChainArrays(matrix, reward, {} if found is None else found.kept(with_start=True))


def _check_header(words: tuple[str, ...]) -> str | None:
    """Return what is wrong with a header, which must be Storm's ``dtmc`` or PRISM's two numbers."""
    if words == ("dtmc",) or (len(words) == 2 and all(word.isdecimal() for word in words)):
        return None
    hint = "the first line is 'dtmc' or the numbers of states and transitions"
    if words == ("mdp",) or len(words) in (4, 5):
        hint += "; a file with choices holds an MDP: read it with rl.MDP.read"
    if words == ("ctmc",):
        hint += "; chains in continuous time are not read"
    return f"{' '.join(words)!r} is not a header of a Markov chain: {hint}"


def _moves(table: Columns) -> _Moves:
    if not table.line.size:
        raise FileError(f"{table.path} is empty: it has no transitions")
    announced = [int(word) for word in table.header if word.isdecimal()]
    size = announced[0] if announced else None
    source, next_state = table.indices(0, "state", size), table.indices(1, "state", size)
    states = int(max(source.max(), next_state.max())) + 1 if size is None else size
    probability = table.numbers[:, 2]
    wrong = ~((probability >= 0.0) & (probability <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        table.fail(row, f"the probability is {probability[row]:g}, not in [0, 1]")
    if announced:
        check_count(table, "transitions", announced[1], source.size)
    order = np.argsort(source, kind="stable")
    return _Moves(states, source[order], next_state[order], probability[order])


def _rewards(path: str | os.PathLike[str], moves: _Moves) -> FloatArray:
    """Return what leaving each state pays by one file: (S,) float64."""
    width = reward_width(path, 2, 3)
    layout = "state successor reward' or 'state reward"
    table = read_columns(path, [2 if width == 2 else 3], layout, comments=True, header=_check_reward_header)
    size = moves.n_states
    if table.numbers.shape[1] == 2:
        return state_rewards(table, size)
    if table.header:
        check_count(table, "rewards", int(table.header[1]), table.line.size)
    source, next_state = table.indices(0, "state", size), table.indices(1, "state", size)
    listed = source * size + next_state
    key, first = once(table, listed, "transition")
    known = moves.source * size + moves.next_state
    absent = ~np.isin(listed, known)
    if absent.any():
        row = int(np.argmax(absent))
        table.fail(row, f"state {source[row]} does not lead to state {next_state[row]}")
    if not key.size:
        return np.zeros(size)
    at = np.minimum(np.searchsorted(key, known), key.size - 1)
    paid = np.where(key[at] == known, table.numbers[first, 2][at], 0.0)
    return np.bincount(moves.source, moves.probability * paid, size).astype(np.float64)


def _check_reward_header(words: tuple[str, ...]) -> str | None:
    if len(words) == 2 and all(word.isdecimal() for word in words):
        return None
    return f"{' '.join(words)!r} is neither a reward nor the numbers of states and rewards"


# ---------------------------------------------------------------------------------------------------- writing


def write_chain(
    transition: csr_array[np.float64],
    reward: FloatArray,
    labels: Mapping[str, BoolArray],
    path: str | os.PathLike[str],
    dialect: Dialect,
) -> None:
    """Write the transitions to `path` (``.tra``), labels and rewards of states beside it (``.lab``, ``.srew``).

    Raises
    ------
    ModelError
        If no label "init" says where runs begin, or a label is not a name in the format. For Storm, if a reward is
        negative.
    FileError
        If a file cannot be written.
    """
    labels = labels_of_chain(labels, LAYOUT)
    if dialect == "storm" and (reward < 0.0).any():
        state = int(np.argmax(reward < 0.0))
        raise ModelError(f"the reward of state {state} is {reward[state]:g}, and Storm reads no negative rewards")
    states = reward.size
    paid = np.flatnonzero(reward).tolist() or [0]
    heads = [f"{states} {transition.nnz}", f"{states} {len(paid)}"] if dialect == "prism" else ["dtmc"]
    source = np.repeat(np.arange(states), np.diff(transition.indptr)).tolist()
    lines = [
        f"{s} {ahead} {p!r}"
        for s, ahead, p in zip(source, transition.indices.tolist(), transition.data.tolist(), strict=True)
    ]
    texts = {
        ".tra": [heads[0], *lines],
        ".lab": label_lines(labels, dialect),
        ".srew": [*heads[1:], *(f"{s} {float(reward[s])!r}" for s in paid)],
    }
    first = Path(path)
    with ExitStack() as files:
        # All files are written before the first one is moved into place.
        for suffix, listed in texts.items():
            file = files.enter_context(replacing(first.with_suffix(suffix)))
            file.write_text("\n".join(listed) + "\n", encoding="utf-8", newline="\n")
