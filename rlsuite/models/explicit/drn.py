"""Storm's explicit format ``.drn``: states, their choices and their transitions in one file, with rewards of choices.

A state is a line with its reward and its labels, a choice one with its name and its reward, and below it stands a line
for each successor. Storm's own parser ends the process at some damaged files; here every line is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.errors import FileError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.text import NUMBER
from rlsuite.models.explicit.columns import LARGEST, content_of
from rlsuite.models.explicit.writing import DEADLOCK, LABEL, labels_of_chain, without_ends
from rlsuite.models.mdp_fields import MdpFields

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LAYOUT = "the .drn format"
REWARD = "reward"
"""Name of the reward structure."""


_HEAD = re.compile(r"@(\w+):?\s*(.*)")
_STATE = re.compile(r"state\s+(\d+)\s*(?:\{(\d+)\}\s*)?(?:\[([^\]]*)\])?\s*([^\[\]{}!]*)")
_CHOICE = re.compile(r"action\s+(\S+)\s*(?:\[([^\]]*)\])?")
_MOVE = re.compile(r"(\d+)\s*:\s*(\S+)")


class Content(NamedTuple):
    """What a file says, one entry for each transition."""

    kind: str
    """In small letters"""
    n_states: int
    source: IndexArray
    choice: IndexArray
    names: list[str]
    next_state: IndexArray
    probability: FloatArray
    rewards: dict[str, FloatArray]
    """Of each structure the reward of the state and of the choice"""
    labels: dict[str, BoolArray]
    observation: IndexArray | None


def read_drn(path: str | os.PathLike[str]) -> Content:
    """Return the content of a file.

    Raises
    ------
    FileError
        If the file is missing or malformed; the line is named.
    """
    return _Reader(path).read()


class _Reader:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.number = 0
        self.head: dict[str, str] = {}
        self.labels: dict[str, list[int]] = {}
        self.seen: list[int] = []
        self.transitions: list[tuple[int, int, str, int, float]] = []
        self.paid: list[list[float]] = []
        """Of each transition, one reward for each structure"""

    def fail(self, reason: str) -> NoReturn:
        """Raise `FileError` for the present line."""
        raise FileError(f"{self.path}:{self.number}: {reason}")

    def read(self) -> Content:
        lines = enumerate(content_of(self.path).decode("utf-8", "replace").splitlines(), 1)
        self._read_head(lines)
        kind = self.head.get("type", "").lower()
        if self.head.get("value_type", "double") != "double" or self.head.get("parameters", ""):
            raise FileError(f"{self.path} has parameters or other numbers than double; only those can be read")
        structures = self.head.get("reward_models", "").split()
        count = self.head.get("nr_states", "")
        if not kind or not count.isdecimal() or not 0 < int(count) <= LARGEST:
            raise FileError(f"{self.path} is malformed: its head needs @type, @nr_states and @model")
        self._read_body(lines, int(count), len(structures))
        if not self.transitions:
            raise FileError(f"{self.path} is empty: it has no transitions")
        source, choice, names, ahead, probability = zip(*self.transitions, strict=True)
        paid = np.array(self.paid).reshape(len(source), len(structures))
        labels = {label: np.zeros(int(count), dtype=np.bool_) for label in ("init", *self.labels)}
        for label, states in self.labels.items():
            labels[label][states] = True
        return Content(
            kind,
            int(count),
            np.array(source, dtype=np.int64),
            np.array(choice, dtype=np.int64),
            list(names),
            np.array(ahead, dtype=np.int64),
            np.array(probability),
            dict(zip(structures, paid.T, strict=True)),
            labels,
            np.array(self.seen, dtype=np.int64) if self.seen else None,
        )

    def _read_head(self, lines: Iterator[tuple[int, str]]) -> None:
        key = ""
        for self.number, line in lines:
            text = line.partition("//")[0].strip()
            match = _HEAD.fullmatch(text)
            if match:
                key, self.head[match[1]] = match[1], match[2]
            elif text and (not key or self.head[key]):
                self.fail(f"{text[:40]!r} is not expected before @model")
            elif text:
                self.head[key] = text
            if key == "model":
                return
        raise FileError(f"{self.path} has no @model")

    def _read_body(self, lines: Iterator[tuple[int, str]], states: int, structures: int) -> None:
        state, choice, name = -1, -1, ""
        of_state = of_choice = [0.0] * structures
        for self.number, line in lines:
            text = line.partition("//")[0].strip()
            if not text:
                continue
            if match := _STATE.fullmatch(text):
                if int(match[1]) != state + 1 or state + 1 >= states:
                    self.fail(f"state {match[1]} is not expected; states are 0..{states - 1}, in this order")
                state, choice, of_state = state + 1, -1, self._rewards(match[3], structures)
                for label in match[4].split():
                    self.labels.setdefault(label.strip('"'), []).append(state)
                if match[2] is not None and len(match[2]) < 10 and len(self.seen) == state:
                    self.seen.append(int(match[2]))
                elif match[2] is not None or self.seen:
                    self.fail("either all states or none have an observation")
            elif (match := _CHOICE.fullmatch(text)) and state >= 0:
                choice, name, of_choice = choice + 1, match[1], self._rewards(match[2], structures)
            elif (match := _MOVE.fullmatch(text)) and choice >= 0:
                if len(match[1]) > 10 or int(match[1]) >= states:
                    self.fail(f"{match[1][:40]} is not a state; the states are 0..{states - 1}")
                self.transitions.append((state, choice, name, int(match[1]), self._value(match[2])))
                self.paid.append([one + other for one, other in zip(of_state, of_choice, strict=True)])
            else:
                self.fail(f"{text[:40]!r} is none of 'state ...', 'action ...' and 'successor : probability'")
        if state + 1 != states:
            raise FileError(f"{self.path} announces {states} states, but holds {state + 1}: it is truncated")

    def _rewards(self, text: str | None, structures: int) -> list[float]:
        if text is None or not text.strip():
            return [0.0] * structures
        found = [self._value(one.strip()) for one in text.split(",")]
        if len(found) != structures:
            self.fail(f"there are {len(found)} rewards, and {structures} reward structures")
        return found

    def _value(self, text: str) -> float:
        """Return a number, or a fraction."""
        above, slash, below = text.partition("/")
        if not all(map(NUMBER.fullmatch, (above, below or "1"))) or (slash and not float(below)):
            self.fail(f"{text[:40]!r} is not a number")
        value = float(above) / float(below) if slash else float(above)
        if not np.isfinite(value):
            self.fail(f"{text[:40]!r} is not a finite number")
        return value


# ---------------------------------------------------------------------------------------------------- writing


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
