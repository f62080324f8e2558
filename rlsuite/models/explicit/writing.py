"""From a model to PRISM's explicit files."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.files import replacing
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.models.rewriting import END, close, merge, refuse_noise

if TYPE_CHECKING:
    from rlsuite.models.mdp import MDP

LAYOUT = "the .tra format"


def write_explicit(mdp: MDP, path: str | os.PathLike[str]) -> None:
    """Write the transitions to `path` (``.tra``), and labels and rewards beside it (``.lab``, ``.rew``).

    The model is written without terminations and with merged successors; see `rlsuite.models.rewriting`. States that
    stand for the end of an episode carry the label "end". An action that is illegal is not listed; then, and if the
    actions have labels, the lines name their actions.

    Raises
    ------
    ModelError
        If rewards are random, or the start is not uniform over some states: there is no form for either.
    FileError
        If a file cannot be written.
    """
    refuse_noise(mdp, LAYOUT)
    starts = mdp.start > 0.0
    if np.ptp(mdp.start[starts]) > 1e-12:
        raise ModelError(
            f"the start is not uniform over some states, and {LAYOUT} can only mark states to start in: "
            "choose them with replace(start=...)"
        )
    plain, absorbing = close(mdp)
    plain = merge(plain)
    # PRISM numbers the choices of a state without gaps.
    number = (np.cumsum(plain.legal, axis=1) - 1).reshape(-1)
    pair = plain.pairs()
    first = Path(path)
    texts = {
        ".tra": _transitions(plain, pair, number),
        ".lab": _labels(np.append(starts, np.zeros(plain.n_states - starts.size, dtype=np.bool_)), absorbing),
        ".rew": _rewards(plain, pair, number),
    }
    with ExitStack() as files:
        # All are written before the first one moves into place.
        for suffix, text in texts.items():
            files.enter_context(replacing(first.with_suffix(suffix))).write_text(text, encoding="utf-8", newline="\n")


def _transitions(mdp: MDP, pair: IndexArray, number: IndexArray) -> str:
    names = _action_names(mdp)
    of_action = [""] * mdp.n_actions if names is None else [f" {name}" for name in names]
    lines = [f"{mdp.n_states} {np.count_nonzero(mdp.legal)} {mdp.n_transitions}"]
    lines += [
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
    return "\n".join(lines) + "\n"


def _action_names(mdp: MDP) -> list[str] | None:
    labels = mdp.action_labels or ()
    if not all(map(str.isdecimal, labels)) and all(label.split() == [label] for label in labels):
        return list(labels)
    return None if mdp.legal.all() else [str(a) for a in range(mdp.n_actions)]


def _labels(starts: BoolArray, absorbing: BoolArray) -> str:
    lines = [f'0="init" 1="deadlock" 2="{END}"']
    for state in np.flatnonzero(starts | absorbing).tolist():
        lines.append(f"{state}:{' 0' if starts[state] else ''}{' 2' if absorbing[state] else ''}")
    return "\n".join(lines) + "\n"


def _rewards(mdp: MDP, pair: IndexArray, number: IndexArray) -> str:
    reward = mdp.rows.reward
    paid = np.flatnonzero(reward)
    lines = [f"{mdp.n_states} {np.count_nonzero(mdp.legal)} {paid.size}"]
    lines += [
        f"{s} {choice} {ahead} {r!r}"
        for s, choice, ahead, r in zip(
            (pair[paid] // mdp.n_actions).tolist(),
            number[pair[paid]].tolist(),
            mdp.next_state[paid].tolist(),
            reward[paid].tolist(),
            strict=True,
        )
    ]
    return "\n".join(lines) + "\n"
