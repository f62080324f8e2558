"""From a model to the explicit files of PRISM or Storm."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.errors import ModelError
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.transformations import END, close, merge, refuse_noise

LAYOUT = "the .tra format"

Dialect: TypeAlias = Literal["prism", "storm"]
"""Whose explicit files: those of PRISM count their lines first, those of Storm say ``mdp`` and declare their labels."""


def write_explicit(mdp: MdpFields, path: str | os.PathLike[str], dialect: Dialect) -> None:
    """Write the transitions to `path` (``.tra``), and labels and rewards beside it (``.lab``, ``.rew``).

    The model is written without terminations and with merged successors; see `rlsuite.models.transformations`. States
    that stand for the end of an episode carry the label "end". An action that is illegal is not listed; then, and if
    the actions have labels, the lines name their actions.

    Raises
    ------
    ModelError
        If rewards are random, or the start is not uniform over some states: the format has neither. For Storm, if
        a reward is negative.
    FileError
        If a file cannot be written.
    """
    refuse_noise(mdp, LAYOUT)
    starts = mdp.start > 0.0
    if np.ptp(mdp.start[starts]) > 1e-12:
        raise ModelError(
            f"the start distribution is not uniform over a set of states, and {LAYOUT} can only mark such a set: "
            "choose it with replace(start=...)"
        )
    plain, absorbing = close(mdp)
    plain = merge(plain)
    # PRISM numbers the choices of a state without gaps.
    number = (np.cumsum(plain.legal, axis=1) - 1).reshape(-1)
    pair = plain.pairs()
    first = Path(path)
    begins = np.append(starts, np.zeros(plain.n_states - starts.size, dtype=np.bool_))
    if dialect == "storm":
        _refuse_negative(plain, pair)
        heads, labels, least = ["mdp"], _storm_labels(begins, absorbing), 1
    else:
        choices = np.count_nonzero(plain.legal)
        paid = np.count_nonzero(plain.rows.reward)
        heads = [f"{plain.n_states} {choices} {plain.n_transitions}", f"{plain.n_states} {choices} {paid}"]
        labels, least = _prism_labels(begins, absorbing), 0
    texts = {
        ".tra": "\n".join([heads[0], *_transitions(plain, pair, number)]) + "\n",
        ".lab": labels,
        ".rew": "\n".join([*heads[1:], *_rewards(plain, pair, number, least)]) + "\n",
    }
    with ExitStack() as files:
        # All files are written before the first one is moved into place.
        for suffix, text in texts.items():
            files.enter_context(replacing(first.with_suffix(suffix))).write_text(text, encoding="utf-8", newline="\n")


def _transitions(mdp: MdpFields, pair: IndexArray, number: IndexArray) -> list[str]:
    names = _action_names(mdp)
    of_action = [""] * mdp.n_actions if names is None else [f" {name}" for name in names]
    return [
        f"{s} {choice} {ahead} {p!r}{of_action[a]}"
        for s, choice, ahead, p, a in zip(
            (pair // mdp.n_actions).tolist(),
            number[pair].tolist(),
            mdp.next_state.tolist(),
            mdp.probability.tolist(),
            (pair % mdp.n_actions).tolist(),
            strict=True,
        )
    ]


def _action_names(mdp: MdpFields) -> list[str] | None:
    labels = mdp.action_labels or ()
    if not all(map(str.isdecimal, labels)) and all(label.split() == [label] for label in labels):
        return list(labels)
    return None if mdp.legal.all() else [str(a) for a in range(mdp.n_actions)]


def _prism_labels(starts: BoolArray, absorbing: BoolArray) -> str:
    lines = [f'0="init" 1="deadlock" 2="{END}"']
    for state in np.flatnonzero(starts | absorbing).tolist():
        lines.append(f"{state}:{' 0' if starts[state] else ''}{' 2' if absorbing[state] else ''}")
    return "\n".join(lines) + "\n"


def _storm_labels(starts: BoolArray, absorbing: BoolArray) -> str:
    lines = ["#DECLARATION", f"init {END}", "#END"]
    for state in np.flatnonzero(starts | absorbing).tolist():
        lines.append(f"{state}{' init' if starts[state] else ''}{f' {END}' if absorbing[state] else ''}")
    return "\n".join(lines) + "\n"


def _refuse_negative(mdp: MdpFields, pair: IndexArray) -> None:
    reward = mdp.rows.reward
    if (reward < 0.0).any():
        at = int(np.argmax(reward < 0.0))
        state, action = divmod(int(pair[at]), mdp.n_actions)
        raise ModelError(
            f"the reward of state {state} and action {action} is {reward[at]:g}, and Storm reads no negative rewards: "
            "write costs instead, with replace(reward=-mdp.reward), and let Storm minimise them"
        )


def _rewards(mdp: MdpFields, pair: IndexArray, number: IndexArray, least: int) -> list[str]:
    """Return a line for each reward that is not 0, and at least one: Storm refuses a file without any."""
    reward = mdp.rows.reward
    paid = np.flatnonzero(reward)
    if paid.size < least:
        paid = np.arange(least)
    return [
        f"{s} {choice} {ahead} {r!r}"
        for s, choice, ahead, r in zip(
            (pair[paid] // mdp.n_actions).tolist(),
            number[pair[paid]].tolist(),
            mdp.next_state[paid].tolist(),
            reward[paid].tolist(),
            strict=True,
        )
    ]
