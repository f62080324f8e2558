"""From explicit files to a model: columns of numbers, labels, rewards.

A label is a set of states. PRISM numbers the labels in the first line, ``0="init" 1="deadlock" 2="goal"``, and lists
the numbers of each state that has any, ``7: 0 2``. Storm lists the labels between ``#DECLARATION`` and ``#END``, and
then names them, ``7 init goal``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from rlsuite.errors import FileError, ParameterError, unknown
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.explicit.columns import Columns, content_of, read_columns
from rlsuite.models.files import reading, rescaled
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.transformations import END
from rlsuite.models.validation import leads_on, pointers, start_distribution

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
    states : dict, optional
        The sets, where the file is of another kind and was read elsewhere.

    Raises
    ------
    FileError
        If the file is missing or malformed; the line is named.
    """

    def __init__(self, path: str | os.PathLike[str], n_states: int, states: dict[str, BoolArray] | None = None) -> None:
        self.path = path
        self.n_states = n_states
        self._states: dict[str, BoolArray] = {}
        if states is not None:
            self._states = states
            return
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

    def kept(self, *, with_start: bool = False) -> dict[str, BoolArray]:
        """Return the labels for the model: "init" only if asked for, as the start distribution says it.

        Those that every file of a model checker, or of ours, declares, are left out if they hold nowhere.
        """
        return {
            label: mask
            for label, mask in self._states.items()
            if (label != INIT or with_start) and (mask.any() or label not in (DEADLOCK, END))
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


class Choices(NamedTuple):
    """The transitions of a file, sorted by state and action."""

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
    for one in reward_files(file, rewards):
        reward += _rewards(one, choices)
    found = read_labels(file, labels, choices.n_states)
    if end is not None and found is None:
        raise FileError(f"end={end!r} is a label, but there is no label file {file.with_suffix('.lab')}: pass labels=")
    return assembled(model, file, choices, reward, found, gamma=gamma, end=end)


def assembled(
    model: type[M],
    file: Path,
    choices: Choices,
    reward: FloatArray,
    found: Labels | None,
    *,
    gamma: float,
    end: str | None,
    state_labels: Sequence[str] | None = None,
) -> M:
    """Return the model of some choices, as an object of a class.

    Parameters
    ----------
    model : type
        The class.
    file
        Named in errors.
    choices, reward, found
        The transitions, the reward of each, and the labels.
    gamma, end
        As in `MDP.read`.
    state_labels : sequence of str, optional
        Names of the states.

    Raises
    ------
    FileError
        If they are no valid model, or there is no label `end`.
    """
    pairs = choices.n_states * choices.n_actions
    kept = np.ones(choices.source.size, dtype=np.bool_)
    if end is not None and found is not None:
        kept = ~found.states(end)[choices.source]
    pair = (choices.source * choices.n_actions + choices.action)[kept]
    indptr = pointers(np.bincount(pair, minlength=pairs))
    can_start = leads_on(indptr, choices.n_actions)

    def name(row: int) -> str:
        state, action = divmod(row, choices.n_actions)
        label = action if choices.action_labels is None else repr(choices.action_labels[action])
        return f"the row of state {state} and action {label}"

    with reading(file):
        return model.from_rows(
            indptr,
            choices.next_state[kept],
            rescaled(file, choices.probability[kept], indptr, name),
            reward[kept],
            n_actions=choices.n_actions,
            gamma=gamma,
            start=start_distribution(None, can_start if found is None else found.states(INIT)),
            state_labels=state_labels,
            action_labels=choices.action_labels,
            labels={} if found is None else found.kept(),
        )


# ------------------------------------------------------------------------------------------------- transitions


def _choices(table: Columns) -> Choices:
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
    if announced is not None:
        pair = np.sort(source * (int(choice.max()) + 1) + choice)
        check_count(table, "choices", announced[1], 1 + int(np.count_nonzero(pair[1:] != pair[:-1])))
        check_count(table, "transitions", announced[2], source.size)
    return choices_of(states, source, choice, next_state, probability, table.names)[0]


def choices_of(
    states: int,
    source: IndexArray,
    choice: IndexArray,
    next_state: IndexArray,
    probability: FloatArray,
    names: list[str] | None,
) -> tuple[Choices, IndexArray]:
    """Return transitions sorted by state and action, and which of those given each is.

    Their order within a choice, and that of transitions in this order already, is kept.

    Parameters
    ----------
    states : int
        S.
    source, choice, next_state, probability : ndarray (N,)
        The transitions; choices are numbered within their state.
    names : list of str, optional
        The name of the choice of each transition.
    """
    action, action_labels = _actions(names, source, choice)
    actions = int(action.max()) + 1
    key = source * actions + action
    order = np.arange(key.size)
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        source, choice, action = source[order], choice[order], action[order]
        next_state, probability = next_state[order], probability[order]
    return Choices(states, actions, action_labels, source, choice, action, next_state, probability), order


def _check_header(words: tuple[str, ...]) -> str | None:
    """Return what is wrong with a header, which must be Storm's ``mdp`` or PRISM's three numbers."""
    if words == ("mdp",) or (len(words) == 3 and all(word.isdecimal() for word in words)):
        return None
    hint = "the first line is 'mdp' or the numbers of states, choices and transitions"
    if words[0] in ("dtmc", "ctmc") or (len(words) == 2 and all(word.isdecimal() for word in words)):
        hint += "; this is the header of a Markov chain, which has no choices: use rl.MarkovChain.read"
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


def check_count(table: Columns, what: str, announced: int, found: int) -> None:
    """Raise `FileError` unless there is as much of something as the header announces."""
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
    # Of the lines of a choice, one says enough.
    other = np.append(True, (by_choice[1:] != by_choice[:-1]) | (by_action[1:] != by_action[:-1]))
    by_choice, by_action = by_choice[other], by_action[other]
    ascending = bool((by_choice[1:] > by_choice[:-1]).all())
    both = by_choice.size if ascending else np.unique(np.stack([by_choice, by_action]), axis=1).shape[1]
    if np.unique(by_action).size == both and (ascending or np.unique(by_choice).size == both):
        return action, labels
    return choice, None


def read_labels(file: Path, given: str | os.PathLike[str] | None, states: int) -> Labels | None:
    """Return the labels of the states, if there is a file of them."""
    beside = file.with_suffix(".lab")
    if given is None and not beside.exists():
        return None
    return Labels(beside if given is None else given, states)


# ----------------------------------------------------------------------------------------------------- rewards


def reward_files(
    file: Path, given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
) -> list[str | os.PathLike[str]]:
    """Return the files of rewards: those given, or those beside the transitions."""
    if given is None:
        return [one for suffix in REWARD_SUFFIXES if (one := file.with_suffix(suffix)).exists()]
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _rewards(path: str | os.PathLike[str], choices: Choices) -> FloatArray:
    """Return the rewards of the transitions in a file: (N,) float64."""
    layout = "state choice successor reward' or 'state reward' or 'state choice reward"
    width = reward_width(path, 3, 4)
    table = read_columns(path, [width if width in (2, 3) else 4], layout, comments=True, header=_check_reward_header)
    if table.header:
        check_count(table, "rewards", int(table.header[2]), table.line.size)
    if table.numbers.shape[1] == 2:
        return state_rewards(table, choices.n_states)[choices.source]
    if table.numbers.shape[1] == 3:
        return _choice_rewards(table, choices)
    source, choice = table.indices(0, "state", choices.n_states), table.indices(1, "choice")
    next_state = table.indices(2, "state", choices.n_states)
    most = int(max(choices.choice.max(), choice.max(initial=0))) + 1
    known = (choices.source * most + choices.choice) * choices.n_states + choices.next_state
    listed = (source * most + choice) * choices.n_states + next_state
    key, first = once(table, listed, "transition")
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


def reward_width(path: str | os.PathLike[str], header: int, widest: int) -> int:
    """Return how many columns the lines of a reward file have.

    A header of transition rewards, which have most columns, has as many words as other lines have: the second line says
    which it is.
    """
    lines = (line.split() for line in content_of(path).split(b"\n"))
    used = [len(words) for words in lines if words and not words[0].startswith(b"#")]
    return widest if used[:2] == [header, widest] else used[0] if used else widest


def _choice_rewards(table: Columns, choices: Choices) -> FloatArray:
    """Return the reward of the choice of each transition.

    PRISM's header, the numbers of states, choices and lines, looks like a line for a state that does not exist.
    """
    if table.line.size and table.numbers[0, 0] == choices.n_states:
        check_count(table, "rewards", int(table.numbers[0, 2]), table.line.size - 1)
        table = table._replace(numbers=table.numbers[1:], line=table.line[1:])
    source, choice = table.indices(0, "state", choices.n_states), table.indices(1, "choice")
    most = int(max(choices.choice.max(), choice.max(initial=0))) + 1
    known, listed = choices.source * most + choices.choice, source * most + choice
    key, first = once(table, listed, "choice")
    absent = ~np.isin(listed, known)
    if absent.any():
        row = int(np.argmax(absent))
        table.fail(row, f"state {source[row]} has no choice {choice[row]}")
    if not key.size:
        return np.zeros(known.size)
    at = np.minimum(np.searchsorted(key, known), key.size - 1)
    return np.where(key[at] == known, table.numbers[first, 2][at], 0.0)


def state_rewards(table: Columns, size: int) -> FloatArray:
    """Return the reward of each state: (S,) float64.

    PRISM's header, the numbers of states and of lines, looks like a line for a state that does not exist.
    """
    if table.line.size and table.numbers[0, 0] == size:
        check_count(table, "rewards", int(table.numbers[0, 1]), table.line.size - 1)
        table = table._replace(numbers=table.numbers[1:], line=table.line[1:])
    state = table.indices(0, "state", size)
    once(table, state, "state")
    by_state = np.zeros(size)
    by_state[state] = table.numbers[:, 1]
    return by_state


def once(table: Columns, keys: IndexArray, what: str) -> tuple[IndexArray, IndexArray]:
    """Return the keys of the lines, ascending, and the line of each; no key may occur twice."""
    key, first = np.unique(keys, return_index=True)
    if key.size < keys.size:
        repeated = np.ones(keys.size, dtype=np.bool_)
        repeated[first] = False
        table.fail(int(np.argmax(repeated)), f"the reward of this {what} is given twice")
    return key, first
