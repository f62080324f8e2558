r"""From explicit files to a model: columns of numbers, labels, rewards.

Columns are read a million lines a second. The bytes of the file are looked at as an array: where words and lines begin
gives the number of words of every line, and NumPy's own text parser gives the numbers. Lines are looked at one by one
only to name the one at fault.

A label is a set of states. PRISM numbers the labels in the first line, ``0="init" 1="deadlock" 2="goal"``, and lists
the numbers of each state that has any, ``7: 0 2``. Storm lists the labels between ``#DECLARATION`` and ``#END``, and
then names them, ``7 init goal``.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from rlsuite.errors import FileError, ModelError, ParameterError, unknown
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.files import rescaled
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.transformations import END
from rlsuite.models.validation import leads_on, start_distribution

_COMMENT = re.compile(rb"(?m)^[ \t]*#[^\n]*")
# Possessive, so that nothing is tried twice: a word of a million digits must not take a million steps per digit.
_NUMBER = re.compile(rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?")
LARGEST = 2**31 - 2
"""Largest index: states are numbered in 32 bits."""


class Columns(NamedTuple):
    """The lines of a file, without its first line if that was a header."""

    path: Path
    header: tuple[str, ...]
    numbers: FloatArray
    """(n, columns) float64"""
    names: list[str] | None
    """The word behind the numbers of each line, if every line has one"""
    line: IndexArray
    """(n,) the number of each line, counted from 1"""

    def fail(self, row: int, reason: str) -> NoReturn:
        """Raise `FileError` for the line of a row."""
        raise FileError(f"{self.path}:{self.line[row]}: {reason}")

    def indices(self, column: int, what: str, size: int | None = None) -> IndexArray:
        """Return a column as indices below `size`: (n,) int64."""
        values = self.numbers[:, column]
        limit = LARGEST if size is None else size - 1
        wrong = ~((values >= 0.0) & (values <= limit) & (np.floor(values) == values))
        if wrong.any():
            row = int(np.argmax(wrong))
            allowed = f"the {what}s are 0..{limit}" if size is not None else "a whole number of at least 0 is needed"
            self.fail(row, f"{values[row]:.10g} is not a {what}: {allowed}")
        return values.astype(np.int64)


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, or raise `FileError`."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as cause:
        raise FileError(f"there is no file {path}") from cause
    except OSError as cause:
        raise FileError(f"{path} cannot be read: {cause.strerror or cause}") from cause


def read_columns(
    path: str | os.PathLike[str],
    widths: Sequence[int],
    layout: str,
    *,
    named: bool = False,
    comments: bool = False,
    header: Callable[[tuple[str, ...]], str | None] | None = None,
) -> Columns:
    """Read a file whose lines have the same number of columns.

    A first line of another form - a word, or another number of numbers - is read as the header.

    Parameters
    ----------
    path
        The file.
    widths : sequence of int
        How many columns there may be.
    layout : str
        What a line should look like, for the errors.
    named : bool
        Whether a name may follow the numbers.
    comments : bool
        Whether lines that begin with ``#`` are skipped.
    header : callable, optional
        Says what is wrong with the words of the header, if anything.

    Raises
    ------
    FileError
        If the file is missing, or a line is of another form; the line is named.
    """
    file = Path(path)
    data = content_of(file)
    if comments and b"#" in data:
        data = _COMMENT.sub(b"", data)
    begins, ends, first, count, line = _layout(data)
    found: tuple[str, ...] = ()
    if line.size:
        words = tuple(data[begins[k] : ends[k]].decode("utf-8", "replace") for k in range(int(count[0])))
        if not (len(words) in widths or (named and len(words) - 1 in widths)) or not _is_number(words[0].encode()):
            found = words
            wrong = header(words) if header else None
            if wrong:
                raise FileError(f"{file}:{line[0]}: {wrong}")
            first, count, line = first[1:], count[1:], line[1:]
    columns = Columns(file, found, np.zeros((line.size, widths[0])), None, line)
    if not line.size:
        return columns
    width = next((one for one in widths if count[0] == one or (named and count[0] == one + 1)), widths[0])
    with_name = (count == width + 1) & named
    odd = (count != width) & ~with_name
    if odd.any():
        row = int(np.argmax(odd))
        columns.fail(row, f"the line has {count[row]} words; it must read '{layout}'")
    names = None
    if with_name.any():
        begin, end = begins[(first + width)[with_name]], ends[(first + width)[with_name]]
        if with_name.all():
            names = [data[b:e].decode("utf-8", "replace") for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        data = _blanked(data, begin, end)
    body = data[int(begins[first[0]]) :]
    numbers = _numbers(body)
    if numbers.size != line.size * width or not np.isfinite(numbers).all():
        words = body.split()
        at = next(k for k, word in enumerate(words) if not _is_number(word))
        columns.fail(at // width, f"{words[at].decode('utf-8', 'replace')!r} is not a finite number")
    return columns._replace(numbers=numbers.reshape(-1, width), names=names)


def _is_number(word: bytes) -> bool:
    return _NUMBER.fullmatch(word) is not None and np.isfinite(float(word))


def _layout(data: bytes) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray, IndexArray]:
    """Return where words begin and end, and of each line that has any: its first word, their count, its number."""
    solid = np.zeros(len(data) + 2, dtype=np.int8)
    characters = np.frombuffer(data, dtype=np.uint8)
    # White space as `bytes.split` sees it: control characters are parts of words, which are then not numbers.
    solid[1:-1] = (characters > ord(" ")) | ((characters - np.uint8(ord("\t")) > 4) & (characters != ord(" ")))
    change = np.diff(solid)
    begins, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    before = np.searchsorted(begins, np.flatnonzero(characters == ord("\n")))
    first = np.concatenate([[0], before])
    count = np.diff(np.append(first, begins.size))
    line = np.flatnonzero(count)
    return begins, ends, first[line], count[line], line + 1


def _blanked(data: bytes, begin: IndexArray, end: IndexArray) -> bytes:
    """Return `data` with spaces in place of the given ranges, which do not overlap."""
    inside = np.zeros(len(data) + 1, dtype=np.int8)
    inside[begin] = 1
    inside[end] = -1
    characters = np.frombuffer(data, dtype=np.uint8)
    return np.where(np.cumsum(inside[:-1], dtype=np.int8) > 0, np.uint8(ord(" ")), characters).tobytes()


def _numbers(data: bytes) -> FloatArray:
    """Return the numbers in `data` up to the first word that is not a number: (n,) float64."""
    with warnings.catch_warnings():
        # Before NumPy 2.3 it only warns about what it cannot read, and of "0x1" or ".5x" returns the beginning.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(data.decode("ascii", "replace"), dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.zeros(0)


INIT, DEADLOCK = "init", "deadlock"
"""Labels with a meaning of their own: where runs begin; where a program is stuck, and its states repeat for ever."""

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

    def kept(self) -> dict[str, BoolArray]:
        """Return the labels for the model: not "init", which the start distribution says.

        Nor those that every file of a model checker, or of ours, declares, if they hold nowhere.
        """
        return {
            label: mask
            for label, mask in self._states.items()
            if label != INIT and (mask.any() or label not in (DEADLOCK, END))
        }

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


M = TypeVar("M", bound=MdpFields)

REWARD_SUFFIXES = (".rew", ".srew", ".trew", ".rews", ".rewt")
"""Files beside the transitions that are read as rewards: all that exist, added up."""


class _Choices(NamedTuple):
    """The lines of a transition file, sorted by state and action."""

    n_states: int
    n_actions: int
    action_labels: tuple[str, ...] | None
    source: IndexArray
    choice: IndexArray
    action: IndexArray
    next_state: IndexArray
    probability: FloatArray


def read_explicit(
    model: type[M],
    path: str | os.PathLike[str],
    *,
    gamma: float | None,
    labels: str | os.PathLike[str] | None,
    rewards: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    end: str | None,
) -> M:
    """Return the model in explicit files, as an object of a class; the other parameters are those of `MDP.read`.

    Raises
    ------
    FileError
        If a file is missing, malformed (the line is named), or about another kind of model.
    ParameterError
        If `gamma` is not given: the files hold none.
    """
    file = Path(path)
    if gamma is None:
        raise ParameterError(f"{file} holds no discount: pass gamma=")
    layout = "state choice successor probability [action]"
    choices = _choices(read_columns(file, [4], layout, named=True, header=_check_header))
    reward = np.zeros(choices.source.size)
    for one in _reward_files(file, rewards):
        reward += _rewards(one, choices)
    found = _labels(file, labels, choices.n_states)
    if end is not None and found is None:
        raise FileError(f"end={end!r} is a label, but there is no label file {file.with_suffix('.lab')}: pass labels=")

    pairs = choices.n_states * choices.n_actions
    kept = np.ones(choices.source.size, dtype=np.bool_)
    if end is not None and found is not None:
        kept = ~found.states(end)[choices.source]
    pair = (choices.source * choices.n_actions + choices.action)[kept]
    indptr = np.zeros(pairs + 1, dtype=np.int64)
    np.cumsum(np.bincount(pair, minlength=pairs), out=indptr[1:])
    can_start = leads_on(indptr, choices.n_actions)

    def name(row: int) -> str:
        state, action = divmod(row, choices.n_actions)
        label = action if choices.action_labels is None else repr(choices.action_labels[action])
        return f"the row of state {state} and action {label}"

    try:
        return model.from_rows(
            indptr,
            choices.next_state[kept],
            rescaled(file, choices.probability[kept], indptr, name),
            reward[kept],
            n_actions=choices.n_actions,
            gamma=gamma,
            start=start_distribution(None, can_start if found is None else found.states(INIT)),
            action_labels=choices.action_labels,
            labels={} if found is None else found.kept(),
        )
    except ModelError as cause:
        raise FileError(f"{file} holds no valid model: {cause}") from cause


# ------------------------------------------------------------------------------------------------- transitions


def _choices(table: Columns) -> _Choices:
    announced = _sizes(table)
    if not table.line.size:
        raise FileError(f"{table.path} is empty: it has no transitions")
    size = None if announced is None else announced[0]
    source = table.indices(0, "state", size)
    choice = table.indices(1, "choice")
    next_state = table.indices(2, "state", size)
    states = int(max(source.max(), next_state.max())) + 1 if size is None else size
    probability = table.numbers[:, 3]
    wrong = ~((probability >= 0.0) & (probability <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        table.fail(row, f"the probability is {probability[row]:g}, not in [0, 1]")
    action, action_labels = _actions(table.names, source, choice)
    actions = int(action.max()) + 1
    if announced is not None:
        pair = np.sort(source * (int(choice.max()) + 1) + choice)
        _check_count(table, "choices", announced[1], 1 + int(np.count_nonzero(pair[1:] != pair[:-1])))
        _check_count(table, "transitions", announced[2], source.size)
    key = source * actions + action
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        source, choice, action = source[order], choice[order], action[order]
        next_state, probability = next_state[order], probability[order]
    return _Choices(states, actions, action_labels, source, choice, action, next_state, probability)


def _check_header(words: tuple[str, ...]) -> str | None:
    """Return what is wrong with a header, which must be Storm's ``mdp`` or PRISM's three numbers."""
    if words == ("mdp",) or (len(words) == 3 and all(word.isdecimal() for word in words)):
        return None
    hint = "the first line is 'mdp' or the numbers of states, choices and transitions"
    if words[0] in ("dtmc", "ctmc") or (len(words) == 2 and all(word.isdecimal() for word in words)):
        hint += "; this is the header of a Markov chain, which has no choices"
    return f"{' '.join(words)!r} is not a header of an MDP: {hint}"


def _check_reward_header(words: tuple[str, ...]) -> str | None:
    if len(words) == 3 and all(word.isdecimal() for word in words):
        return None
    return f"{' '.join(words)!r} is neither a reward nor the numbers of states, choices and rewards"


def _sizes(table: Columns) -> tuple[int, int, int] | None:
    """Return the numbers of states, choices and transitions that PRISM's header announces; None for Storm's."""
    if len(table.header) < 3:
        return None
    states, choices, transitions = (int(word) for word in table.header)
    return states, choices, transitions


def _check_count(table: Columns, what: str, announced: int, found: int) -> None:
    if announced != found:
        raise FileError(
            f"{table.path} announces {announced} {what}, but holds {found}: it is truncated, or its header is wrong"
        )


def _actions(
    names: list[str] | None, source: IndexArray, choice: IndexArray
) -> tuple[IndexArray, tuple[str, ...] | None]:
    """Return the action of each line, and their labels.

    Names that tell the choices of every state apart are the actions: by value if they are numbers, else in the order in
    which they appear. Otherwise choice k of a state is action k.
    """
    if names is None:
        return choice, None
    codes: dict[str, int] = {}
    action = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)
    labels: tuple[str, ...] | None = tuple(codes)
    if all(name.isdecimal() and len(name) <= 6 for name in codes):
        action = np.array([int(name) for name in codes], dtype=np.int64)[action]
        labels = None
    by_choice = source * (int(choice.max()) + 1) + choice
    by_action = source * (int(action.max()) + 1) + action
    both = np.unique(np.stack([by_choice, by_action]), axis=1).shape[1]
    if np.unique(by_choice).size == np.unique(by_action).size == both:
        return action, labels
    return choice, None


def _labels(file: Path, given: str | os.PathLike[str] | None, states: int) -> Labels | None:
    beside = file.with_suffix(".lab")
    if given is None and not beside.exists():
        return None
    return Labels(beside if given is None else given, states)


# ----------------------------------------------------------------------------------------------------- rewards


def _reward_files(
    file: Path, given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
) -> list[str | os.PathLike[str]]:
    if given is None:
        return [one for suffix in REWARD_SUFFIXES if (one := file.with_suffix(suffix)).exists()]
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _rewards(path: str | os.PathLike[str], choices: _Choices) -> FloatArray:
    """Return the rewards of the transitions in a file: (N,) float64."""
    table = read_columns(
        path, [4, 2], "state choice successor reward' or 'state reward", comments=True, header=_check_reward_header
    )
    if table.header:
        _check_count(table, "rewards", int(table.header[2]), table.line.size)
    if table.numbers.shape[1] == 2:
        return _state_rewards(table, choices)
    source, choice = table.indices(0, "state", choices.n_states), table.indices(1, "choice")
    next_state = table.indices(2, "state", choices.n_states)
    most = int(max(choices.choice.max(), choice.max(initial=0))) + 1
    known = (choices.source * most + choices.choice) * choices.n_states + choices.next_state
    listed = (source * most + choice) * choices.n_states + next_state
    key, first = _once(table, listed, "transition")
    if not key.size:
        return np.zeros(known.size)
    at = np.minimum(np.searchsorted(key, known), key.size - 1)
    paid = key[at] == known
    exists = np.zeros(key.size, dtype=np.bool_)
    exists[at[paid]] = True
    if not exists.all():
        row = int(first[~exists].min())
        table.fail(row, f"choice {choice[row]} of state {source[row]} does not lead to state {next_state[row]}")
    return np.where(paid, table.numbers[first, 3][at], 0.0)


def _state_rewards(table: Columns, choices: _Choices) -> FloatArray:
    """Return the reward of the state that each transition leaves.

    PRISM's header, the numbers of states and of lines, looks like a line for a state that does not exist.
    """
    size = choices.n_states
    if table.line.size and table.numbers[0, 0] == size:
        _check_count(table, "rewards", int(table.numbers[0, 1]), table.line.size - 1)
        table = table._replace(numbers=table.numbers[1:], line=table.line[1:])
    state = table.indices(0, "state", size)
    _once(table, state, "state")
    by_state = np.zeros(size)
    by_state[state] = table.numbers[:, 1]
    return by_state[choices.source]


def _once(table: Columns, keys: IndexArray, what: str) -> tuple[IndexArray, IndexArray]:
    """Return the keys of the lines, ascending, and the line of each; no key may occur twice."""
    key, first = np.unique(keys, return_index=True)
    if key.size < keys.size:
        repeated = np.ones(keys.size, dtype=np.bool_)
        repeated[first] = False
        table.fail(int(np.argmax(repeated)), f"the reward of this {what} is given twice")
    return key, first
