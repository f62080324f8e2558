"""From a model to a ``.pomdpx`` file with one variable of states, one of actions and one of observations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.writing import as_plain, decimal, with_end
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.transformations import END

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def write_pomdpx(
    mdp: MdpFields, rows: ObservationRows, labels: Sequence[str] | None, path: str | os.PathLike[str]
) -> None:
    """Write the process of the states and its observations, of which an extra one says that the episode ended.

    The model is written without terminations and with merged successors; see `rlsuite.models.transformations`.

    Raises
    ------
    ModelError
        If an action is illegal or rewards are random: the format has neither.
    FileError
        If the file cannot be written.
    """
    plain, absorbing = as_plain(mdp, "the .pomdpx format")
    if absorbing.any():
        rows = with_end(rows, mdp.n_states, absorbing)
        labels = labels and labels_of([*labels, END])
    with replacing(path) as unfinished, unfinished.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lines(plain, rows, labels))


def _lines(mdp: MdpFields, rows: ObservationRows, labels: Sequence[str] | None) -> Iterator[str]:
    states, of_states = _names(mdp.state_labels, mdp.n_states, "s")
    actions, of_actions = _names(mdp.action_labels, mdp.n_actions, "a")
    seen, of_observations = _names(labels, rows.n_observations, "o")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<pomdpx version="1.0" id="model">'
    yield f"<Discount>{decimal(mdp.gamma)}</Discount>"
    yield "<Variable>"
    yield f'<StateVar vnamePrev="state_0" vnameCurr="state_1">{of_states}</StateVar>'
    yield f'<ObsVar vname="observation">{of_observations}</ObsVar>'
    yield f'<ActionVar vname="action">{of_actions}</ActionVar>'
    yield '<RewardVar vname="reward"/>'
    yield "</Variable>"
    belief = " ".join(map(decimal, mdp.start.tolist()))
    start = f"<Entry><Instance>-</Instance><ProbTable>{belief}</ProbTable></Entry>"
    yield from _section("InitialStateBelief", "CondProb", "state_0", "null", [start])
    pair = mdp.pairs()
    heads = [f"{action} {state}" for state in states for action in actions]
    moves = _entries("ProbTable", heads, pair, states, mdp.next_state, mdp.probability)
    yield from _section("StateTransitionFunction", "CondProb", "state_1", "action state_0", moves)
    entered = [f"{action} {state}" for action in actions for state in states]
    row = np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))
    shown = _entries("ProbTable", entered, row, seen, rows.observation, rows.probability)
    yield from _section("ObsFunction", "CondProb", "observation", "action state_1", shown)
    reward = mdp.rows.reward
    paid = np.flatnonzero(reward)
    first = reward[mdp.indptr[:-1]]  # every action is legal, so every pair has a first transition
    if (reward == first[pair]).all():
        earned = [
            f"<Entry><Instance>{heads[k]}</Instance><ValueTable>{decimal(float(first[k]))}</ValueTable></Entry>"
            for k in np.flatnonzero(first).tolist()
        ]
        yield from _section("RewardFunction", "Func", "reward", "action state_0", earned)
    else:
        listed = _entries("ValueTable", heads, pair[paid], states, mdp.next_state[paid], reward[paid])
        yield from _section("RewardFunction", "Func", "reward", "action state_0 state_1", listed)
    yield "</pomdpx>"


def _section(section: str, tag: str, name: str, parents: str, entries: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield f"<{section}><{tag}><Var>{name}</Var><Parent>{parents}</Parent>"
    yield '<Parameter type="TBL">'
    yield from entries
    yield f"</Parameter></{tag}></{section}>"


def _entries(
    tag: str, heads: Sequence[str], row: IndexArray, names: Sequence[str], column: np.ndarray, value: FloatArray
) -> Iterator[str]:
    for k, other, x in zip(row.tolist(), column.tolist(), value.tolist(), strict=True):
        yield f"<Entry><Instance>{heads[k]} {names[other]}</Instance><{tag}>{decimal(x)}</{tag}></Entry>"


def _names(labels: Sequence[str] | None, size: int, letter: str) -> tuple[list[str], str]:
    """Return the labels if all of them are names in the format, else numbers with a letter; and how to declare them."""
    if labels is not None and all(map(_NAME.fullmatch, labels)):
        return list(labels), f"<ValueEnum>{' '.join(labels)}</ValueEnum>"
    return [f"{letter}{number}" for number in range(size)], f"<NumValues>{size}</NumValues>"
