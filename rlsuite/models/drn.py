"""Storm's explicit format ``.drn``: states, their choices and their transitions in one file, with rewards of choices.

A state is a line with its reward and its labels, a choice one with its name and its reward, and below it stands a line
for each successor. The label "init" marks the states in which runs begin. Storm writes the values of the variables of a
state as a comment; here they are its name. Storm's own parser ends the process at some damaged files; here every line
is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeVar, cast

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.core.narrowing import is_sequence
from rlsuite.errors import FileError, ModelError, ParameterError, unknown
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.text import NUMBER
from rlsuite.models.files import reading, rescaled
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.transformations import END, close, merge, refuse_noise
from rlsuite.models.validation import pointers, start_distribution

if TYPE_CHECKING:
    from scipy.sparse import csr_array

M = TypeVar("M", bound=MdpFields)

LAYOUT = "the .drn format"
REWARD = "reward"
"""Name of the reward structure that is written."""
INIT, DEADLOCK = "init", "deadlock"
"""Labels with a meaning of their own: where runs begin; where a program is stuck, and its states repeat for ever."""
NO_LABEL, UNNAMED = "__NOLABEL__", "unnamed"
"""What Storm writes for a choice without a name, and what such choices are called here where others have one."""
OUT_OF_BOUNDS_BIT = "!_OutOfBoundsBit"
"""What Storm writes of each state while no variable has left its range."""
MOST_STATES: Final = 2**31 - 2
READERS: Final[Mapping[str, str]] = {"dtmc": "MarkovChain.read", "mdp": "MDP.read", "pomdp": "POMDP.read"}

_HEAD = re.compile(r"@(\w+):?\s*(.*)")
_STATE = re.compile(r"state\s+(\d+)\s*(?:\{(\d+)\}\s*)?(?:\[([^\]]*)\])?\s*([^\[\]{}!]*)")
_CHOICE = re.compile(r"action\s+(\S+)\s*(?:\[([^\]]*)\])?")
_MOVE = re.compile(r"(\d+)\s*:\s*(\S+)")
_VALUES = re.compile(r"//\[(.*)\]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class Explicit(NamedTuple):
    """What a file says, one entry for each transition."""

    path: Path
    n_states: int
    state_names: tuple[str, ...] | None
    """The variables of each state, as "x=0 y=1", where the file has them"""
    source: IndexArray
    """(N,) int64: the state that each transition leaves; ascending"""
    choice: IndexArray
    """(N,) int64: the number of the choice among those of its state"""
    names: list[str]
    """The name of the choice of each transition"""
    next_state: IndexArray
    """(N,) int64"""
    probability: FloatArray
    """(N,) float64"""
    reward: FloatArray
    """(N,) float64: of the state and of the choice, of all reward structures that were asked for"""
    labels: dict[str, BoolArray]
    """Label -> (S,) bool"""
    observation: IndexArray | None
    """(S,) int64 of a POMDP: what is seen in each state"""

    def with_label(self, label: str) -> BoolArray:
        """Return the states that have a label (S,), or raise `FileError`."""
        if label not in self.labels:
            raise FileError(f"{self.path}: {unknown('label', label, self.labels)}")
        return self.labels[label]


def read_drn(path: str | os.PathLike[str], kind: str, reward: str | Sequence[str] | None) -> Explicit:
    """Return the content of a file.

    Parameters
    ----------
    path
        The file.
    kind : {"dtmc", "mdp", "pomdp"}
        What it must hold.
    reward : str or sequence of str, optional
        The reward structures to add up; by default the only one of the file, if there is one.

    Raises
    ------
    FileError
        If the file is missing or malformed (the line is named), or holds another kind of model.
    ParameterError
        If a reward structure is unknown, or several are there and none is chosen.
    """
    return _Reader(Path(path)).read(kind, reward)


def refuse_other(path: str | os.PathLike[str], kind: str, found: str) -> None:
    """Raise `FileError` if a file holds another kind of model than is asked for; an empty one is not known."""
    if found in READERS and found != kind:
        raise FileError(f"{path} holds a model of the type {found}, not {kind}: read it with rl.{READERS[found]}")
    if found not in ("", kind):
        raise FileError(
            f"{path} holds a model of the type {found}; models in discrete time can be read: {', '.join(READERS)}"
        )


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.head: dict[str, str] = {}
        self.labels: dict[str, list[int]] = {}
        self.seen: list[int] = []
        self.values: list[list[str]] = []
        self.transitions: list[tuple[int, int, str, int, float]] = []
        self.paid: list[list[float]] = []
        """Of each transition, one reward for each structure"""

    def fail(self, reason: str) -> NoReturn:
        """Raise `FileError` for the present line."""
        raise FileError(f"{self.path}:{self.number}: {reason}")

    def read(self, kind: str, reward: str | Sequence[str] | None) -> Explicit:
        with reading(self.path):
            lines = enumerate(self.path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        self._read_head(lines)
        found, count = self.head.get("type", "").lower(), self.head.get("nr_states", "")
        if self.head.get("value_type", "double") != "double" or self.head.get("parameters", ""):
            raise FileError(f"{self.path} has parameters or other numbers than double; only those can be read")
        if not found or not count.isdecimal() or not 0 < int(count) <= MOST_STATES:
            raise FileError(f"{self.path} is malformed: its head needs @type, @nr_states and @model")
        refuse_other(self.path, kind, found)
        structures, states = self.head.get("reward_models", "").split(), int(count)
        self._read_body(lines, states, len(structures))
        if not self.transitions:
            raise FileError(f"{self.path} is empty: it has no transitions")
        if kind == "pomdp" and not self.seen:
            raise FileError(f"{self.path} holds a POMDP without observations: a state reads 'state 0 {{0}}'")
        source, choice, names, ahead, probability = zip(*self.transitions, strict=True)
        chosen = [structures.index(name) for name in self._chosen(reward, structures)]
        labels = {label: np.zeros(states, dtype=np.bool_) for label in (INIT, *self.labels)}
        for label, members in self.labels.items():
            labels[label][members] = True
        return Explicit(
            self.path,
            states,
            self._names(states),
            np.array(source, dtype=np.int64),
            np.array(choice, dtype=np.int64),
            list(names),
            np.array(ahead, dtype=np.int64),
            np.array(probability),
            np.array(self.paid).reshape(len(source), -1)[:, chosen].sum(axis=1),
            {label: mask for label, mask in labels.items() if mask.any() or label not in (DEADLOCK, END)},
            np.array(self.seen, dtype=np.int64) if self.seen else None,
        )

    def _names(self, states: int) -> tuple[str, ...] | None:
        """Return the variables of each state; Storm leaves out the name of what is true."""
        if len(self.values) != states or len({len(one) for one in self.values}) > 1:
            return None
        columns: list[list[str]] = []
        for column in zip(*self.values, strict=True):
            false = next((one for one in column if one.startswith("!")), "!true")
            inside = false == OUT_OF_BOUNDS_BIT
            columns.append(
                [one or false[1:] for one in column] if not inside else ["" if one else "outside" for one in column]
            )
        names = tuple(" ".join(filter(None, one)) for one in zip(*columns, strict=True))
        return names if len({*names}) == states else None

    def _chosen(self, wanted: str | Sequence[str] | None, known: list[str]) -> list[str]:
        """Return the reward structures that are asked for."""
        if wanted is None:
            if len(known) > 1:
                raise ParameterError(
                    f"{self.path} has {len(known)} reward structures, {', '.join(map(repr, known))}: choose with "
                    f"reward={known[0]!r}; a list adds some up, and reward=[] takes none"
                )
            return known
        if not isinstance(wanted, str) and not is_sequence(wanted):
            raise ParameterError(f"reward={wanted!r} is not the name of a reward structure, or a sequence of names")
        names = [wanted] if isinstance(wanted, str) else [*wanted]
        for name in names:
            if name not in known or names.count(name) > 1:
                wrong = "it is named twice" if name in known else unknown("reward structure", name, known)
                raise ParameterError(f"{self.path}: reward={wanted!r}: {wrong}")
        return names

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
                if values := _VALUES.fullmatch(line.strip()):
                    self.values.append([one.strip() for one in values[1].split("&")])
            elif match := _STATE.fullmatch(text):
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
                choice, of_choice = choice + 1, self._rewards(match[2], structures)
                name = UNNAMED if match[1] == NO_LABEL else match[1]
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


# ----------------------------------------------------------------------------------------------------- models


def mdp_of(model: type[M], found: Explicit, *, gamma: float, end: str | None) -> M:
    """Return an MDP, or the hidden process of a POMDP, as an object of a class.

    Raises
    ------
    FileError
        If there is no label `end`, or the model is not valid.
    """
    action, action_labels = _actions(found)
    actions = int(action.max()) + 1
    pair = found.source * actions + action
    order = np.argsort(pair, kind="stable")
    if end is not None:
        order = order[~found.with_label(end)[found.source[order]]]
    indptr = pointers(np.bincount(pair[order], minlength=found.n_states * actions))

    def name(row: int) -> str:
        state, action = divmod(row, actions)
        return f"the row of state {state} and action {repr(action_labels[action]) if action_labels else action}"

    with reading(found.path):
        return model.from_rows(
            indptr,
            found.next_state[order],
            rescaled(found.path, found.probability[order], indptr, name),
            found.reward[order],
            n_actions=actions,
            gamma=gamma,
            start=start_distribution(None, found.with_label(INIT)),
            state_labels=found.state_names,
            action_labels=action_labels,
            labels={label: mask for label, mask in found.labels.items() if label != INIT},
        )


def _actions(found: Explicit) -> tuple[IndexArray, tuple[str, ...] | None]:
    """Return the action of each transition, and their labels.

    Names that tell the choices of every state apart are the actions: by value if they are numbers, else in the order in
    which they appear. Otherwise choice k of a state is action k.
    """
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(name, len(codes)) for name in found.names], dtype=np.int64)
    choices = np.unique(np.stack([found.source, found.choice, code]), axis=1)
    if np.unique(choices[[0, 2]], axis=1).shape[1] < choices.shape[1] or [*codes] == [UNNAMED]:
        return found.choice, None
    if all(name.isdecimal() and len(name) <= 6 for name in codes):
        return np.array([int(name) for name in codes], dtype=np.int64)[code], None
    return code, tuple(codes)


def observations_of(found: Explicit, n_actions: int) -> ObservationRows:
    """Return what is seen in each state of a POMDP, whatever the action.

    Raises
    ------
    FileError
        If the first observation is random: nothing is observed before the first action here.
    """
    assert found.observation is not None
    first = np.unique(found.observation[found.labels[INIT]])
    if first.size > 1:
        raise FileError(
            f"{found.path}: its initial states show {first.size} different observations, and nothing is observed "
            "before the first action here: begin in one state, from which a first action leads to them"
        )
    rows = n_actions * found.n_states
    shown = np.tile(found.observation, n_actions).astype(np.int32)
    return ObservationRows(np.arange(rows + 1), shown, np.ones(rows), int(found.observation.max()) + 1)


def chain_of(found: Explicit) -> tuple[csr_array[np.float64], FloatArray]:
    """Return the transition matrix of a Markov chain, and the mean reward of leaving each state."""
    from scipy.sparse import csr_array

    states = found.n_states
    indptr = np.searchsorted(found.source, np.arange(states + 1))
    stuck = np.diff(indptr) == 0
    if stuck.any():
        raise FileError(f"{found.path}: state {int(np.argmax(stuck))} has no transitions")
    probability = rescaled(found.path, found.probability, indptr, lambda row: f"the row of state {row}")
    matrix = cast("csr_array[np.float64]", csr_array((probability, found.next_state, indptr), shape=(states, states)))
    return matrix, np.bincount(found.source, probability * found.reward, states).astype(np.float64)


# ---------------------------------------------------------------------------------------------------- writing


def write_mdp_drn(mdp: MdpFields, path: str | os.PathLike[str]) -> None:
    """Write a model without terminations and with merged successors, with the mean reward of each choice.

    States that stand for the end of an episode carry the label "end", besides the labels of the model.

    Raises
    ------
    ModelError
        If rewards are random, or the start is not uniform over some states. If a label is not a name in the format,
        or "init" or "end" and says something else.
    FileError
        If the file cannot be written.
    """
    refuse_noise(mdp, LAYOUT)
    begins = mdp.start > 0.0
    if np.ptp(mdp.start[begins]) > 1e-12:
        raise ModelError(
            f"the start distribution is not uniform over a set of states, and {LAYOUT} can only mark such a set: "
            "choose it with replace(start=...)"
        )
    closed, absorbing = close(mdp)
    starts = np.append(begins, np.zeros(closed.n_states - begins.size, dtype=np.bool_))
    for label, what, meant in ((INIT, "the start distribution", starts), (END, "the ends of episodes", absorbing)):
        mask = closed.labels.get(label, meant)
        # A last state, which was added for the end of episodes, has no labels of the model.
        if meant.any() and (mask != meant)[: mdp.n_states].any():
            raise ModelError(
                f"the label {label!r} holds in other states than {what}, which {LAYOUT} marks by this name: rename it "
                "with replace(labels=...)"
            )
    sets = {INIT: starts, END: absorbing, **closed.labels} | {INIT: starts}
    sets[END] = absorbing | sets[END]
    plain = merge(closed)
    labels = plain.action_labels or ()
    named = bool(labels) and all(map(_NAME.fullmatch, labels))
    names = list(labels) if named else [str(action) for action in range(plain.n_actions)]
    paid = plain.expected_reward()

    def choices(state: int) -> Iterator[str]:
        for action in np.flatnonzero(plain.legal[state]).tolist():
            yield f"\taction {names[action]} [{float(paid[state, action])!r}]"
            pair = state * plain.n_actions + action
            yield from _moves(plain.next_state, plain.probability, plain.indptr, pair)

    lines = _head("MDP", plain.n_states, int(np.count_nonzero(plain.legal)))
    for state in range(plain.n_states):
        lines += [_state(state, 0.0, sets), *choices(state)]
    _write(path, lines, sets)


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
    if INIT not in labels or not labels[INIT].any():
        raise ModelError(
            f"{LAYOUT} says where runs begin, and the chain does not: "
            "MarkovChain(chain.transition, chain.reward, labels={'init': [0]}) begins in state 0"
        )
    lines = _head("DTMC", reward.size, reward.size)
    for state, paid in enumerate(reward.tolist()):
        lines += [_state(state, paid, labels), "\taction 0 [0]"]
        lines += _moves(transition.indices, transition.data, transition.indptr, state)
    _write(path, lines, labels)


def _head(kind: str, states: int, choices: int) -> list[str]:
    lines = [f"@type: {kind}", "@value_type: double", "@parameters", "", "@reward_models", f"{REWARD} "]
    return [*lines, "@nr_states", str(states), "@nr_choices", str(choices), "@model"]


def _state(state: int, paid: float, sets: Mapping[str, BoolArray]) -> str:
    labels = "".join(f" {label}" for label, mask in sets.items() if mask[state])
    return f"state {state} [{paid!r}]{labels}"


def _moves(next_state: AnyArray, probability: FloatArray, indptr: AnyArray, row: int) -> Iterator[str]:
    entries = slice(int(indptr[row]), int(indptr[row + 1]))
    moves = zip(next_state[entries].tolist(), probability[entries].tolist(), strict=True)
    return (f"\t\t{ahead} : {p!r}" for ahead, p in moves)


def _write(path: str | os.PathLike[str], lines: list[str], sets: Mapping[str, BoolArray]) -> None:
    for label in sets:
        if not _NAME.fullmatch(label):
            raise ModelError(
                f"the label {label!r} cannot be written: letters, digits and _ make a label of {LAYOUT}; rename it "
                "with replace(labels=...)"
            )
    with replacing(path) as unfinished:
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
