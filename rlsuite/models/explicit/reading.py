"""From explicit files to a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.decimals import rescaled
from rlsuite.models.explicit.columns import Columns, read_columns
from rlsuite.models.explicit.labels import Labels
from rlsuite.models.from_rows import FromRows
from rlsuite.models.validation import leads_on, start_distribution

M = TypeVar("M", bound=FromRows)

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
            start=start_distribution(None, can_start if found is None else found.states("init")),
            action_labels=choices.action_labels,
        )
    except ModelError as cause:
        raise FileError(f"{file} holds no valid model: {cause}") from cause


# ------------------------------------------------------------------------------------------------- transitions


def _choices(table: Columns) -> _Choices:
    announced = _sizes(table)
    if not table.line.size:
        raise FileError(f"{table.path} is empty: there are no transitions in it")
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
