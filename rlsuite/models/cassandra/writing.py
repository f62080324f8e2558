"""From a model to text that reads back as the same model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.models.aliases import BoolArray
from rlsuite.models.cassandra.grammar import FILLINGS, KEYWORDS
from rlsuite.models.cassandra.text import LABELS
from rlsuite.models.functions import labels_of
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.transformations import END, close, merge, refuse_illegal, refuse_noise
from rlsuite.models.validation import pointers

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED = {*KEYWORDS, *FILLINGS, "reward", "cost", "include", "exclude"}


def write_mdp(mdp: MdpFields, path: str | os.PathLike[str]) -> None:
    """Write the model without terminations and with merged successors; see `rlsuite.models.transformations`.

    Raises
    ------
    ModelError
        If an action is illegal or rewards are random: the format has neither.
    FileError
        If the file cannot be written.
    """
    plain, _ = as_plain(mdp, "the .mdp format")
    _write(path, [*label_lines(plain, None), *model_lines(plain, None, ())])


def write_pomdp(
    mdp: MdpFields, rows: ObservationRows, labels: Sequence[str] | None, path: str | os.PathLike[str]
) -> None:
    """Write the hidden process, as `write_mdp` does, and its observations; an extra one says that the episode ended.

    Errors are those of `write_mdp`.
    """
    plain, absorbing = as_plain(mdp, "the .pomdp format")
    if absorbing.any():
        rows = with_end(rows, mdp.n_states, absorbing)
        labels = labels and labels_of([*labels, END])
    names = file_names(labels, rows.n_observations)
    _write(path, [*label_lines(plain, labels), *model_lines(plain, names, observation_lines(plain, rows, names))])


def decimal(value: float) -> str:
    """Return the shortest text that reads back as `value`, with the decimal point that pomdp-solve insists on."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def as_plain(mdp: MdpFields, layout: str) -> tuple[MdpFields, BoolArray]:
    """Return the model as the format can express it, and the states (S,) bool that stand for the end of an episode."""
    refuse_noise(mdp, layout)
    closed = close(mdp)
    merged = merge(closed.mdp)
    refuse_illegal(merged, layout)
    return merged, closed.absorbing


def with_end(rows: ObservationRows, states: int, absorbing: BoolArray) -> ObservationRows:
    """Return the observations with one more, which is made in the absorbing states, the extra one included."""
    actions = (rows.indptr.size - 1) // states
    lengths = np.ones((actions, absorbing.size), dtype=np.int64)
    lengths[:, :states] = np.diff(rows.indptr).reshape(actions, states)
    lengths[:, absorbing] = 1
    indptr = pointers(lengths)
    kept = np.repeat(~np.tile(absorbing[:states], actions), np.diff(rows.indptr))
    ends = np.repeat(np.tile(absorbing, actions), lengths.reshape(-1))
    observation = np.full(ends.size, rows.n_observations, dtype=np.int32)
    probability = np.ones(ends.size)
    observation[~ends] = rows.observation[kept]
    probability[~ends] = rows.probability[kept]
    return ObservationRows(indptr, observation, probability, rows.n_observations + 1)


def _write(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    with replacing(path) as unfinished, unfinished.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def model_lines(
    mdp: MdpFields, observations: Sequence[str] | None, of_observations: Iterable[str], apart: bool = False
) -> Iterator[str]:
    """Yield the lines of a model; `apart` lists each reward and each action by itself."""
    states, actions = file_names(mdp.state_labels, mdp.n_states), file_names(mdp.action_labels, mdp.n_actions)
    yield f"discount: {decimal(mdp.gamma)}"
    yield f"values: {'cost' if mdp.costs else 'reward'}"
    yield f"states: {_declared(states)}"
    yield f"actions: {_declared(actions)}"
    if observations is not None:
        yield f"observations: {_declared(observations)}"
    yield f"start: {' '.join(map(decimal, mdp.start.tolist()))}"
    pair = mdp.pairs()
    heads = [f"{action} : {state} : " for state in states for action in actions]
    for k, ahead, p in zip(pair.tolist(), mdp.next_state.tolist(), mdp.probability.tolist(), strict=True):
        yield f"T: {heads[k]}{states[ahead]} {decimal(p)}"
    yield from of_observations
    # One line for a pair whose transitions all have the same reward, but if they are to be written apart.
    seen = "" if observations is None else " : *"
    reward = 0.0 - mdp.rows.reward if mdp.costs else mdp.rows.reward
    begins = mdp.indptr[:-1]
    legal = begins < mdp.indptr[1:]
    first, alike = np.zeros(legal.size), np.full(legal.size, not apart)
    first[legal] = reward[begins[legal]]
    alike[legal] &= np.logical_and.reduceat(reward == first[pair], begins[legal].astype(np.intp))
    for k in np.flatnonzero(alike & (first != 0.0)).tolist():
        yield f"R: {heads[k]}*{seen} {decimal(float(first[k]))}"
    chosen = np.flatnonzero(~alike[pair] & (reward != 0.0))
    for k, ahead, r in zip(
        pair[chosen].tolist(), mdp.next_state[chosen].tolist(), reward[chosen].tolist(), strict=True
    ):
        yield f"R: {heads[k]}{states[ahead]}{seen} {decimal(r)}"


def observation_lines(
    mdp: MdpFields, rows: ObservationRows, names: Sequence[str], apart: bool = False
) -> Iterator[str]:
    """Write the observations; once for all actions if they are the same after each, but if they are written apart."""
    states, actions = file_names(mdp.state_labels, mdp.n_states), file_names(mdp.action_labels, mdp.n_actions)
    lengths = np.diff(rows.indptr).reshape(len(actions), len(states))
    entries = rows.observation.size // len(actions)
    alike = (not apart and (lengths == lengths[0]).all()) and all(
        (column.reshape(len(actions), entries) == column[:entries]).all()
        for column in (rows.observation, rows.probability)
    )
    row = np.repeat(np.arange(lengths.size), lengths.reshape(-1))
    if alike:
        actions, row = ["*"], row[:entries]
    heads = [f"{action} : {state} : " for action in actions for state in states]
    for k, z, p in zip(row.tolist(), rows.observation.tolist(), rows.probability.tolist(), strict=False):
        yield f"O: {heads[k]}{names[z]} {decimal(p)}"


def _declared(names: Sequence[str]) -> str:
    return str(len(names)) if names[0] == "0" else " ".join(names)


def file_names(labels: Sequence[str] | None, size: int) -> list[str]:
    """Return the labels as names in the format, in which "open left" is ``open-left``; numbers without labels."""
    if labels is None:
        return [str(number) for number in range(size)]
    names: list[str] = []
    taken = {*labels, *_RESERVED}
    for label in labels:
        name = label
        if not _NAME.fullmatch(label) or label in _RESERVED:
            word = _FOREIGN.sub("-", label if label[:1].isascii() and label[:1].isalpha() else f"x{label}")
            name = next(one for one in chain([word], (f"{word}-{k}" for k in count(2))) if one not in taken)
            taken.add(name)
        names.append(name)
    return names


def label_lines(mdp: MdpFields, observations: Sequence[str] | None) -> Iterator[str]:
    """Yield the comment that keeps the labels that are no names in the format, if there are any."""
    of_kind = {"states": mdp.state_labels, "actions": mdp.action_labels, "observations": observations}
    changed = {kind: list(labels) for kind, labels in of_kind.items() if labels and file_names(labels, 0) != [*labels]}
    if changed:
        yield f"{LABELS}{json.dumps(changed)}"
