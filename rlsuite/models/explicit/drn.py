"""Storm's explicit format ``.drn``: states, their choices and their transitions in one file, with rewards of choices.

Only written here; Storm reads it, see `rlsuite.models.symbolic`. A state is a line with its reward and its labels, a
choice one with its name and its reward, and below it a line for each successor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.explicit.writing import DEADLOCK, LABEL, labels_of_chain, without_ends
from rlsuite.models.mdp_fields import MdpFields

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LAYOUT = "the .drn format"
REWARD = "reward"
"""Name of the reward structure."""


def write_mdp_drn(mdp: MdpFields, path: str | os.PathLike[str]) -> None:
    """Write a model without terminations and with merged successors, with the mean reward of each choice.

    Labels are those of `write_explicit`, but for those that hold nowhere, which the format cannot declare.

    Raises
    ------
    ModelError
        If rewards are random, or the start is not uniform over some states. If a label is not a name in the format,
        or "init" or "end" and says something else.
    FileError
        If the file cannot be written.
    """
    plain, sets = without_ends(mdp, LAYOUT)
    labels = plain.action_labels or ()
    named = bool(labels) and all(map(LABEL.fullmatch, labels))
    names = list(labels) if named else [str(action) for action in range(plain.n_actions)]
    paid = plain.expected_reward()

    def choices(state: int) -> Iterator[str]:
        for action in np.flatnonzero(plain.legal[state]).tolist():
            yield f"\taction {names[action]} [{float(paid[state, action])!r}]"
            pair = state * plain.n_actions + action
            row = slice(int(plain.indptr[pair]), int(plain.indptr[pair + 1]))
            for ahead, p in zip(plain.next_state[row].tolist(), plain.probability[row].tolist(), strict=True):
                yield f"\t\t{ahead} : {p!r}"

    lines = [*_head("MDP", plain.n_states, int(np.count_nonzero(plain.legal)))]
    for state in range(plain.n_states):
        lines += [_state(state, 0.0, sets), *choices(state)]
    _write(path, lines)


def write_chain_drn(
    transition: csr_array[np.float64], reward: FloatArray, labels: Mapping[str, BoolArray], path: str | os.PathLike[str]
) -> None:
    """Write a Markov chain, with the reward of each state.

    Raises
    ------
    ModelError
        If no label "init" says where runs begin, or a label is not a name in the format.
    FileError
        If the file cannot be written.
    """
    sets = labels_of_chain(labels, LAYOUT)
    lines = [*_head("DTMC", reward.size, reward.size)]
    for state, paid in enumerate(reward.tolist()):
        row = slice(int(transition.indptr[state]), int(transition.indptr[state + 1]))
        lines += [_state(state, paid, sets), "\taction 0 [0]"]
        moves = zip(transition.indices[row].tolist(), transition.data[row].tolist(), strict=True)
        lines += [f"\t\t{ahead} : {p!r}" for ahead, p in moves]
    _write(path, lines)


def _head(kind: str, states: int, choices: int) -> Iterator[str]:
    yield from (f"@type: {kind}", "@value_type: double", "@parameters", "", "@reward_models", f"{REWARD} ")
    yield from ("@nr_states", str(states), "@nr_choices", str(choices), "@model")


def _state(state: int, paid: float, sets: Mapping[str, BoolArray]) -> str:
    labels = "".join(f" {label}" for label, mask in sets.items() if mask[state] and label != DEADLOCK)
    return f"state {state} [{paid!r}]{labels}"


def _write(path: str | os.PathLike[str], lines: list[str]) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
