r"""Label files: sets of states by name.

PRISM numbers the labels in the first line, ``0="init" 1="deadlock" 2="goal"``, and lists the numbers of each state that
has any, ``7: 0 2``. Storm lists the labels between ``#DECLARATION`` and ``#END``, and then names them, ``7 init goal``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from rlsuite.errors import FileError, unknown
from rlsuite.models.aliases import BoolArray
from rlsuite.models.explicit.columns import content_of

_NUMBERED = re.compile(r'(\d+)="([^"]*)"')


class Labels:
    """The sets of states that a file names.

    Parameters
    ----------
    path
        The file.
    n_states : int
        S.

    Raises
    ------
    FileError
        If the file is missing or malformed; the line is named.
    """

    def __init__(self, path: str | os.PathLike[str], n_states: int) -> None:
        self.path = path
        self.n_states = n_states
        self._states: dict[str, BoolArray] = {}
        lines = content_of(path).decode("utf-8", "replace").splitlines()
        used = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
        if not used:
            raise FileError(f"{path} is empty: its first line must declare the labels")
        if used[0][1] == ["#DECLARATION"]:
            self._read_storm(used)
        else:
            self._read_prism(used)

    def states(self, label: str) -> BoolArray:
        """Return the mask of the states with a label: (S,) bool.

        Raises
        ------
        FileError
            If there is no such label.
        """
        if label not in self._states:
            raise FileError(f"{self.path}: {unknown('label', label, self._states)}")
        return self._states[label]

    def _read_prism(self, used: list[tuple[int, list[str]]]) -> None:
        number, words = used[0]
        label_of: dict[str, str] = {}
        for word in words:
            found = _NUMBERED.fullmatch(word)
            if found is None:
                self._fail(number, f'{word!r} is not a label; the first line reads \'0="init" 1="deadlock" ...\'')
            label_of[found[1]] = found[2]
        self._declare(label_of.values())
        for number, words in used[1:]:
            state, colon, rest = " ".join(words).partition(":")
            if not colon:
                self._fail(number, f"expected 'state: labels', found {' '.join(words)!r}")
            for word in rest.split():
                if word not in label_of:
                    self._fail(number, f"{word!r} is not a label; the first line declares {', '.join(label_of)}")
                self._set(number, state.strip(), label_of[word])

    def _read_storm(self, used: list[tuple[int, list[str]]]) -> None:
        end = next((k for k, (_, words) in enumerate(used) if words == ["#END"]), None)
        if end is None:
            self._fail(used[0][0], "#DECLARATION without #END")
        self._declare(word for _, words in used[1:end] for word in words)
        for number, words in used[end + 1 :]:
            for label in words[1:]:
                if label not in self._states:
                    self._fail(number, unknown("label", label, self._states))
                self._set(number, words[0], label)

    def _declare(self, labels: Iterable[str]) -> None:
        self._states = {label: np.zeros(self.n_states, dtype=np.bool_) for label in labels}

    def _set(self, number: int, state: str, label: str) -> None:
        if not state.isdecimal() or int(state) >= self.n_states:
            self._fail(number, f"{state!r} is not a state; the states are 0..{self.n_states - 1}")
        self._states[label][int(state)] = True

    def _fail(self, number: int, reason: str) -> NoReturn:
        raise FileError(f"{self.path}:{number}: {reason}")
