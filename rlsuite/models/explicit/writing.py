"""From a model to the explicit files of PRISM or Storm."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.errors import ModelError
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.models.explicit.reading import DEADLOCK, INIT
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.transformations import END, close, merge, refuse_noise

LAYOUT = "the .tra format"
LABEL = re.compile("[A-Za-z_][A-Za-z0-9_]*")
"""A name in the languages of both model checkers."""

Dialect: TypeAlias = Literal["prism", "storm"]
"""Whose explicit files: those of PRISM count their lines first, those of Storm say ``mdp`` and declare their labels."""


def write_explicit(mdp: MdpFields, path: str | os.PathLike[str], dialect: Dialect) -> None:
    """Write the transitions to `path` (``.tra``), and labels and rewards beside it (``.lab``, ``.rew``).

    The model is written without terminations and with merged successors; see `rlsuite.models.transformations`. States
    that stand for the end of an episode carry the label "end", besides the labels of the model. An action that is
    illegal is not listed; then, and if the actions have labels, the lines name their actions.

    Raises
    ------
    ModelError
        If rewards are random, or the start is not uniform over some states: the format has neither. If a label is
        not a name in the format, or "init" or "end" and says something else. For Storm, if a reward is negative.
    FileError
        If a file cannot be written.
    """
    plain, sets = without_ends(mdp, LAYOUT)
    # PRISM numbers the choices of a state without gaps.
    number = (np.cumsum(plain.legal, axis=1) - 1).reshape(-1)
    pair = plain.pairs()
    first = Path(path)
    if dialect == "storm":
        _refuse_negative(plain, pair)
        heads, least = ["mdp"], 1
    else:
        choices = np.count_nonzero(plain.legal)
        paid = np.count_nonzero(plain.rows.reward)
        heads = [f"{plain.n_states} {choices} {plain.n_transitions}", f"{plain.n_states} {choices} {paid}"]
        least = 0
    texts = {
        ".tra": "\n".join([heads[0], *_transitions(plain, pair, number)]) + "\n",
        ".lab": "\n".join(label_lines(sets, dialect)) + "\n",
        ".rew": "\n".join([*heads[1:], *_rewards(plain, pair, number, least)]) + "\n",
    }
    with ExitStack() as files:
        # All files are written before the first one is moved into place.
        for suffix, text in texts.items():
            files.enter_context(replacing(first.with_suffix(suffix))).write_text(text, encoding="utf-8", newline="\n")


def _transitions(mdp: MdpFields, pair: IndexArray, number: IndexArray) -> list[str]:
    names = action_names(mdp)
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


def action_names(mdp: MdpFields) -> list[str] | None:
    """Return what to call the actions in a file; None if the numbers of the choices say it."""
    labels = mdp.action_labels or ()
    if not all(map(str.isdecimal, labels)) and all(label.split() == [label] for label in labels):
        return list(labels)
    return None if mdp.legal.all() else [str(a) for a in range(mdp.n_actions)]


def without_ends(mdp: MdpFields, layout: str) -> tuple[MdpFields, dict[str, BoolArray]]:
    """Return the model without terminations, and its labels with those of the states that begin and end an episode.

    Raises
    ------
    ModelError
        If rewards are random, the start is not uniform over some states, or a label is not a name in the format, or
        "init" or "end" and says something else.
    """
    refuse_noise(mdp, layout)
    begins = mdp.start > 0.0
    if np.ptp(mdp.start[begins]) > 1e-12:
        raise ModelError(
            f"the start distribution is not uniform over a set of states, and {layout} can only mark such a set: "
            "choose it with replace(start=...)"
        )
    closed, absorbing = close(mdp)
    starts = np.append(begins, np.zeros(closed.n_states - begins.size, dtype=np.bool_))
    _refuse_strange_labels(mdp.labels, layout)
    for label, what, meant in ((INIT, "the start distribution", starts), (END, "the ends of episodes", absorbing)):
        mask = closed.labels.get(label, meant)
        # A last state, which was added for the end of episodes, has no labels of the model.
        if meant.any() and (mask != meant)[: mdp.n_states].any():
            raise ModelError(
                f"the label {label!r} holds in other states than {what}, which {layout} marks by this name: rename it "
                "with replace(labels=...)"
            )
    sets = {INIT: starts, DEADLOCK: np.zeros_like(starts), END: absorbing, **closed.labels}
    return merge(closed), sets | {INIT: starts, END: absorbing | sets[END]}


def labels_of_chain(labels: Mapping[str, BoolArray], layout: str) -> Mapping[str, BoolArray]:
    """Return the labels of a Markov chain for a file.

    Raises
    ------
    ModelError
        If no label "init" says where runs begin, or a label is not a name in the format.
    """
    if INIT not in labels or not labels[INIT].any():
        raise ModelError(
            f"{layout} says where runs begin, and the chain does not: "
            "MarkovChain(chain.transition, chain.reward, labels={'init': [0]}) begins in state 0"
        )
    _refuse_strange_labels(labels, layout)
    return labels


def _refuse_strange_labels(labels: Mapping[str, BoolArray], layout: str) -> None:
    for label in labels:
        if not LABEL.fullmatch(label):
            raise ModelError(
                f"the label {label!r} cannot be written: letters, digits and _ make a label of {layout}; rename it "
                "with replace(labels=...)"
            )


def label_lines(sets: Mapping[str, BoolArray], dialect: Dialect) -> list[str]:
    """Return the lines of a label file."""
    if dialect == "prism":
        lines = [" ".join(f'{number}="{label}"' for number, label in enumerate(sets))]
        names, colon = [str(number) for number in range(len(sets))], ":"
    else:
        sets = {label: mask for label, mask in sets.items() if label != DEADLOCK or mask.any()}
        lines = ["#DECLARATION", " ".join(sets), "#END"]
        names, colon = [*sets], ""
    masks = np.array([*sets.values()])
    for state in np.flatnonzero(masks.any(axis=0)).tolist():
        lines.append(" ".join([f"{state}{colon}", *(names[k] for k in np.flatnonzero(masks[:, state]).tolist())]))
    return lines


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
