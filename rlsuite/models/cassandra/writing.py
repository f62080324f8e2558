"""From a model to text that reads back as the same model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rlsuite.files import replacing
from rlsuite.models.cassandra.grammar import FILLINGS, KEYWORDS
from rlsuite.models.rewriting import close, merge, refuse_illegal, refuse_noise

if TYPE_CHECKING:
    from rlsuite.models.mdp import MDP

LAYOUT = "the .mdp format"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_RESERVED = {*KEYWORDS, *FILLINGS, "reward", "cost", "include", "exclude"}


def write_mdp(mdp: MDP, path: str | os.PathLike[str]) -> None:
    """Write the model without terminations and with merged successors; see `rlsuite.models.rewriting`.

    Raises
    ------
    ModelError
        If an action is illegal or rewards are random: there is no form for either.
    FileError
        If the file cannot be written.
    """
    refuse_noise(mdp, LAYOUT)
    plain = merge(close(mdp).mdp)
    refuse_illegal(plain, LAYOUT)
    with replacing(path) as unfinished, unfinished.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lines(plain))


def decimal(value: float) -> str:
    """Return the shortest text that reads back as `value`, with the decimal point that pomdp-solve insists on."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def _lines(mdp: MDP) -> Iterator[str]:
    states, actions = _names(mdp.state_labels, mdp.n_states), _names(mdp.action_labels, mdp.n_actions)
    yield f"discount: {decimal(mdp.gamma)}"
    yield "values: reward"
    yield f"states: {mdp.n_states if states[0] == '0' else ' '.join(states)}"
    yield f"actions: {mdp.n_actions if actions[0] == '0' else ' '.join(actions)}"
    yield f"start: {' '.join(map(decimal, mdp.start.tolist()))}"
    pair = mdp.pairs()
    heads = [f"{action} : {state} : " for state in states for action in actions]
    for k, ahead, p in zip(pair.tolist(), mdp.next_state.tolist(), mdp.probability.tolist(), strict=True):
        yield f"T: {heads[k]}{states[ahead]} {decimal(p)}"
    # One line for a pair whose transitions all pay the same.
    reward = mdp.rows.reward
    first = reward[mdp.indptr[:-1]]
    alike = np.logical_and.reduceat(reward == first[pair], mdp.indptr[:-1])
    for k in np.flatnonzero(alike & (first != 0.0)).tolist():
        yield f"R: {heads[k]}* {decimal(float(first[k]))}"
    chosen = np.flatnonzero(~alike[pair] & (reward != 0.0))
    for k, ahead, r in zip(
        pair[chosen].tolist(), mdp.next_state[chosen].tolist(), reward[chosen].tolist(), strict=True
    ):
        yield f"R: {heads[k]}{states[ahead]} {decimal(r)}"


def _names(labels: Sequence[str] | None, size: int) -> list[str]:
    """Return the labels if all of them are names in the format, else numbers."""
    if labels is not None and all(_NAME.fullmatch(label) and label not in _RESERVED for label in labels):
        return list(labels)
    return [str(number) for number in range(size)]
