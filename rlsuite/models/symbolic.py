"""Models in the languages of the model checkers PRISM and Storm: ``.prism``, ``.jani`` and ``.drn``.

Storm parses and builds programs, through its Python package stormpy (extra ``storm``); what it has built is copied into
arrays. The states, the order of the choices and every number are Storm's. PRISM's language says how a program changes
variables, so that a file of a page may have a billion states: Storm stops where there are more than were asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from rlsuite.core.checks import whole_amount
from rlsuite.core.narrowing import is_mapping, is_sequence
from rlsuite.errors import FileError, MissingPackage, ParameterError, unknown
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.explicit.columns import content_of
from rlsuite.models.explicit.drn import read_drn
from rlsuite.models.explicit.reading import DEADLOCK, INIT, Labels, assembled, choices_of
from rlsuite.models.mdp_fields import MdpFields
from rlsuite.models.observation_model import ObservationRows
from rlsuite.models.program_checks import check_jani, check_program

if TYPE_CHECKING:
    from scipy.sparse import csr_array

M = TypeVar("M", bound=MdpFields)

SUFFIXES: Final = (".prism", ".pm", ".nm", ".jani", ".drn")
"""Files that Storm reads; PRISM's own programs are also called ``.pm`` (Markov chains) and ``.nm`` (MDPs)."""

MOST_STATES: Final = 1_000_000

Kind: TypeAlias = Literal["dtmc", "mdp", "pomdp"]
Constants: TypeAlias = str | Mapping[str, float | bool]
"""Values of the constants that a file leaves open: ``"N=4,p=0.5"``, or ``{"N": 4, "p": 0.5}``."""

READERS: Final[Mapping[str, str]] = {"dtmc": "MarkovChain.read", "mdp": "MDP.read", "pomdp": "POMDP.read"}
NO_LABEL: Final = "__NOLABEL__"
"""What Storm writes for a choice without a name."""
UNNAMED: Final = "unnamed"
"""Name of the choices that have none, where others have one."""

UNEXPLORED: Final = "unexplored"
"""Storm's label of the states at which it stopped."""

OUT_OF_BOUNDS: Final = "out_of_bounds"
"""Storm's label of the states after a variable has left its range."""
OUT_OF_BOUNDS_BIT: Final = "_OutOfBoundsBit"
"""The variable that Storm adds for it."""

_COMMENT = re.compile(r"//[^\n]*")
_TYPES = {"probabilistic": "dtmc", "nondeterministic": "mdp", "stochastic": "ctmc"}
_OTHERS = ("ctmc", "ma", "pta", "popta", "smg", "tsg", "csg", "imdp", "idtmc", "ipomdp", "sts", "stpg", "rddl")
_TYPE_IN_PRISM = re.compile(rf"(?m)^[ \t]*({'|'.join([*READERS, *_TYPES, *_OTHERS])})[ \t\r]*$")
_TYPE_IN_JANI = re.compile(r'"type"\s*:\s*"(lts|dtmc|ctmc|mdp|ctmdp|ma|ta|pta|sta|ha|pha|sha|pomdp)"')
_TYPE_IN_DRN = re.compile(r"(?mi)^\s*@type:\s*([a-z]+)")
_AT = re.compile(r"[Pp]arsing error at (\d+):(\d+):\s*")
_NAMED_EXCEPTION = re.compile(r"^[A-Za-z]+Exception: ")
_DEFINITION = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\S+)\s*")
_USUAL = {"int": "2", "bool": "true"}
_WHOLE = re.compile(r"[-+]?[0-9]+")


class Built(NamedTuple):
    """What Storm has built."""

    n_states: int
    state_names: tuple[str, ...] | None
    """The variables of each state, as "x=0 y=1", where a program has any"""
    source: IndexArray
    """(N,) int64: the state that each transition leaves; ascending"""
    choice: IndexArray
    """(N,) int64: the number of the choice among those of its state"""
    names: list[str] | None
    """The name of the choice of each transition, if choices have names"""
    next_state: IndexArray
    """(N,) int64"""
    probability: FloatArray
    """(N,) float64"""
    reward: FloatArray
    """(N,) float64: of all reward structures that were asked for"""
    labels: dict[str, BoolArray]
    """Label -> (S,) bool"""
    observation: IndexArray | None
    """(S,) int64 of a POMDP: what is seen in each state"""


def kind_in(path: str | os.PathLike[str]) -> str:
    """Return the type of model that a file declares, in small letters; empty if it cannot be seen.

    Raises
    ------
    FileError
        If the file is missing or cannot be read.
    """
    text = _text_of(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".drn":
        found = _TYPE_IN_DRN.search(text)
    elif suffix == ".jani":
        found = _TYPE_IN_JANI.search(text)
    else:
        found = _TYPE_IN_PRISM.search(_COMMENT.sub("", text))
    kind = "" if found is None else found[1].lower()
    return _TYPES.get(kind, kind)


def _text_of(path: str | os.PathLike[str]) -> str:
    return content_of(path).decode("utf-8", "replace")


def build(
    path: str | os.PathLike[str],
    kind: Kind,
    *,
    constants: Constants | None = None,
    reward: str | Sequence[str] | None = None,
    max_states: int | None = MOST_STATES,
) -> Built:
    """Return the model in a file.

    Parameters
    ----------
    path
        The file.
    kind : {"dtmc", "mdp", "pomdp"}
        What the file must hold.
    constants : str or mapping, optional
        Values of the constants that the file leaves open: ``"N=4,p=0.5"`` or ``{"N": 4, "p": 0.5}``.
    reward : str or sequence of str, optional
        The reward structures to add up; by default the only one of the file, if there is one.
    max_states : int, optional
        Largest number of states; None for no limit.

    Raises
    ------
    FileError
        If the file is missing, malformed (with the line and the column if Storm knows them), about another kind of
        model, or has too many states.
    ParameterError
        If a constant is unknown, defined in the file, or has no value; or a reward structure is unknown, or several
        are there and none is chosen.
    MissingPackage
        If stormpy is not installed.
    """
    limit = None if max_states is None else whole_amount("max_states", max_states)
    _refuse_other(path, kind, kind_in(path))
    file = Path(path)
    if file.suffix.lower() == ".drn":
        return _listed(file, kind, constants, reward, limit)
    storm: Any = _stormpy()
    refuse = check_jani if file.suffix.lower() == ".jani" else check_program
    refuse(path, _text_of(path), _values(constants))
    with _errors_of_storm(storm, path):
        program = _instantiated(storm, file, _program(storm, file), constants)
        options = storm.BuilderOptions()
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        options.set_add_out_of_bounds_state()  # otherwise values outside of the range of a variable are made others
        exploration = storm.developer.ExplicitModelBuilderOptions[float]()
        if limit is not None:
            # Storm stops as soon as there are so many, though it might find no others.
            exploration.exploration_state_limit = limit + 1
        description = storm.developer.SymbolicModelDescription(program)
        builder = storm.developer.make_explicit_model_builder[float](
            description, options, exploration_options=exploration
        )
        model = builder.build()
        _refuse_other(path, kind, str(model.model_type).rpartition(".")[2].lower())
        if limit is not None and _is_cut(model, limit):
            raise _too_large(path, limit)
        found = _copied(path, model, reward)
    outside = found.labels.pop(OUT_OF_BOUNDS, None)
    if outside is not None and outside.any():
        last = int(found.source[np.argmax(outside[found.next_state])])
        name = last if found.state_names is None else repr(found.state_names[last])
        raise FileError(f"{path}: a variable leaves its range in a step from the state {name}")
    return found


def _too_large(path: str | os.PathLike[str], limit: int) -> FileError:
    return FileError(
        f"{path} has more than {limit:,} states: choose smaller constants, or a larger max_states={10 * limit}"
    )


def _listed(
    file: Path, kind: Kind, constants: Constants | None, reward: str | Sequence[str] | None, limit: int | None
) -> Built:
    """Return the model in a file of Storm's explicit format."""
    if constants is not None:
        raise ParameterError(f"constants={constants!r}: {file} lists its states, and has no constants")
    found = read_drn(file)
    _refuse_other(file, kind, found.kind)
    if limit is not None and found.n_states > limit:
        raise _too_large(file, limit)
    if kind == "pomdp" and found.observation is None:
        raise FileError(f"{file} holds a POMDP without observations: a state reads 'state 0 {{0}}'")
    paid = np.zeros(found.source.size)
    for name in _chosen(file, reward, sorted(found.rewards)):
        paid += found.rewards[name]
    names = [UNNAMED if name == NO_LABEL else name for name in found.names]
    moves = (found.next_state, found.probability, paid, found.labels, found.observation)
    return Built(found.n_states, None, found.source, found.choice, names if kind != "dtmc" else None, *moves)


def _is_cut(model: Any, limit: int) -> bool:
    """Whether there are more states than asked for; Storm then leaves some unexplored."""
    labels = model.labeling
    cut = labels.contains_label(UNEXPLORED) and len(list(labels.get_states(UNEXPLORED))) > 0
    return cut or model.nr_states > limit


def _stormpy() -> Any:
    try:
        return import_module("stormpy")
    except ImportError as error:
        raise MissingPackage(
            "programs of PRISM and JANI models (.prism, .jani) are read by stormpy, which is not installed: "
            'pip install "rlsuite[storm]"'
        ) from error


def _refuse_other(path: str | os.PathLike[str], kind: Kind, found: str) -> None:
    if found in ("", kind):
        return
    if found in READERS:
        raise FileError(f"{path} holds a model of the type {found}, not {kind}: read it with rl.{READERS[found]}")
    raise FileError(
        f"{path} holds a model of the type {found}; models in discrete time can be read: {', '.join(READERS)}"
    )


@contextmanager
def _errors_of_storm(storm: Any, path: str | os.PathLike[str]) -> Generator[None]:
    """Turn Storm's errors into ours, and keep it from printing them as well."""
    before = storm.developer.get_log_level()
    storm.developer.set_log_level(storm.developer.LogLevel.OFF)
    try:
        yield
    except (FileError, ParameterError):
        raise
    except Exception as cause:  # Storm's are RuntimeError, ValueError, IndexError and classes of its own
        reason = _NAMED_EXCEPTION.sub("", str(cause).strip())
        found = _AT.search(reason)
        where = f":{found[1]}:{found[2]}" if found else ""
        reason = " ".join((reason[found.end() :] if found else reason).split())
        raise FileError(f"{path}{where}: Storm cannot read it: {reason or type(cause).__name__}") from cause
    finally:
        storm.developer.set_log_level(before)


def _program(storm: Any, file: Path) -> Any:
    if file.suffix.lower() == ".jani":
        return storm.parse_jani_model(str(file))[0]
    return storm.parse_prism_program(str(file))


def mdp_of(model: type[M], path: str | os.PathLike[str], built: Built, *, gamma: float, end: str | None) -> M:
    """Return an MDP, or the hidden process of a POMDP, as an object of a class.

    Raises
    ------
    FileError
        If there is no label `end`, or the model is not valid.
    """
    choices, order = choices_of(
        built.n_states, built.source, built.choice, built.next_state, built.probability, built.names
    )
    labels = Labels(path, built.n_states, built.labels)
    reward = built.reward[order]
    names = built.state_names
    return assembled(model, Path(path), choices, reward, labels, gamma=gamma, end=end, state_labels=names)


def observations_of(path: str | os.PathLike[str], built: Built, n_actions: int) -> ObservationRows:
    """Return what is seen in each state of a POMDP, whatever the action.

    Raises
    ------
    FileError
        If the first observation is random: nothing is observed before the first action here.
    """
    assert built.observation is not None
    first = np.unique(built.observation[built.labels[INIT]])
    if first.size > 1:
        raise FileError(
            f"{path}: its initial states show {first.size} different observations, and nothing is observed before the "
            "first action here: begin in one state, from which a first action leads to them"
        )
    rows = n_actions * built.n_states
    shown = np.tile(built.observation, n_actions).astype(np.int32)
    return ObservationRows(np.arange(rows + 1), shown, np.ones(rows), int(built.observation.max()) + 1)


def labels_kept(built: Built) -> dict[str, BoolArray]:
    """Return the labels of a Markov chain, with that of its first states."""
    return {label: mask for label, mask in built.labels.items() if label != DEADLOCK or mask.any()}


def chain_of(built: Built) -> tuple[csr_array[np.float64], FloatArray]:
    """Return the transition matrix of a Markov chain, and the mean reward of leaving each state."""
    from scipy.sparse import csr_array

    indptr = np.searchsorted(built.source, np.arange(built.n_states + 1))
    size = (built.n_states, built.n_states)
    matrix = cast("csr_array[np.float64]", csr_array((built.probability, built.next_state, indptr), shape=size))
    reward: FloatArray = np.bincount(built.source, built.probability * built.reward, built.n_states).astype(np.float64)
    return matrix, reward


# -------------------------------------------------------------------------------------------------- constants


def _instantiated(storm: Any, file: Path, program: Any, constants: Constants | None) -> Any:
    given = _values(constants)
    known = {str(one.name): bool(one.defined) for one in program.constants}
    for name in given:
        if name not in known:
            choices = [other for other, defined in known.items() if not defined]
            if not choices:
                raise ParameterError(f"constants: {file} has no constant {name!r}, and none without a value")
            raise ParameterError(f"constants: {file}: {unknown('constant', name, choices)}")
        if known[name]:
            raise ParameterError(f"constants: {file} defines {name} itself; change it there")
    missing = [name for name, defined in known.items() if not defined and name not in given]
    if missing:
        usual = {str(one.name): _USUAL.get(str(one.type), "0.5") for one in program.constants}
        example = ",".join(f"{name}={given.get(name, usual[name])}" for name, defined in known.items() if not defined)
        s = "s" if len(missing) > 1 else ""
        raise ParameterError(
            f"{file} leaves the constant{s} {', '.join(missing)} open: give values, such as constants={example!r}"
        )
    return storm.instantiate_constants(program, given)[0] if given else program


def _values(constants: Constants | None) -> dict[str, bool | int | float]:
    """Return the values by name."""
    found: dict[str, bool | int | float] = {}
    if constants is None:
        return found
    if is_mapping(constants):
        for name, of_name in constants.items():
            # NumPy's numbers are none of Python's, and turn into them.
            value = cast("object", getattr(of_name, "item", lambda of_name=of_name: of_name)())
            if not isinstance(name, str) or not isinstance(value, bool | int | float):
                raise ParameterError(f"constants: {name!r}: {value!r} is not the name of a constant and its value")
            found[name] = value
        return found
    if not isinstance(constants, str):
        raise ParameterError(f"constants={constants!r} is neither text such as 'N=4,p=0.5' nor a mapping")
    for part in constants.split(",") if constants.strip() else []:
        match = _DEFINITION.fullmatch(part)
        if match is None:
            raise ParameterError(f"constants={constants!r}: {part.strip()!r} is not NAME=VALUE, as in 'N=4,p=0.5'")
        if match[1] in found:
            raise ParameterError(f"constants={constants!r} gives {match[1]} twice")
        found[match[1]] = _value(match[1], match[2])
    return found


def _value(name: str, text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    try:
        above, slash, below = text.partition("/")
        value = int(text) if _WHOLE.fullmatch(text) else float(above) / float(below) if slash else float(text)
    except (ValueError, ZeroDivisionError) as cause:
        raise ParameterError(f"constants: {name}={text} is not a number, true or false") from cause
    if not np.isfinite(value):
        raise ParameterError(f"constants: {name}={text} is not a finite number")
    return value


# ---------------------------------------------------------------------------------------------------- copying


def _copied(path: str | os.PathLike[str], model: Any, reward: str | Sequence[str] | None) -> Built:
    matrix, states = model.transition_matrix, int(model.nr_states)
    if matrix.nr_entries == 0:
        raise FileError(f"{path} is empty: it has no transitions")
    entries = [(entry.column, entry.value) for entry in matrix.row_iter(0, matrix.nr_rows - 1)]
    next_state: IndexArray = np.array([column for column, _ in entries], dtype=np.int64)
    probability: FloatArray = np.array([value for _, value in entries], dtype=np.float64)
    lengths = np.array([len(matrix.get_row(row)) for row in range(matrix.nr_rows)], dtype=np.int64)
    first = np.arange(states + 1)
    if hasattr(model, "nondeterministic_choice_indices"):
        first = np.array(model.nondeterministic_choice_indices, dtype=np.int64)
    of_row = np.repeat(np.arange(states), np.diff(first))
    row = np.repeat(np.arange(lengths.size), lengths)
    source = of_row[row]
    return Built(
        states,
        _state_names(model, states),
        source,
        row - first[source],
        _choice_names(model, row),
        next_state,
        probability,
        _reward(path, model, reward, source, row, next_state, lengths),
        _labels(model, states),
        np.array(model.observations, dtype=np.int64) if hasattr(model, "observations") else None,
    )


def _state_names(model: Any, states: int) -> tuple[str, ...] | None:
    if not model.has_state_valuations():
        return None
    valuations = model.state_valuations
    columns: list[list[str]] = []
    for variable in sorted(valuations.get_all_variables(), key=lambda one: one.index):
        name = str(variable.name)
        if name == OUT_OF_BOUNDS_BIT:
            continue
        if variable.has_boolean_type():
            true = {*valuations.get_boolean_values(variable)}
            columns.append([name if state in true else f"!{name}" for state in range(states)])
        else:
            columns.append([f"{name}={value}" for value in valuations.get_values_states(variable)])
    names = list(map(" ".join, zip(*columns, strict=True)))
    for state in model.labeling.get_states(OUT_OF_BOUNDS) if model.labeling.contains_label(OUT_OF_BOUNDS) else ():
        names[state] += f" {OUT_OF_BOUNDS}"
    return tuple(names) if len({*names}) == states else None


def _choice_names(model: Any, row: IndexArray) -> list[str] | None:
    if not model.has_choice_labeling():
        return None
    labeling = model.choice_labeling
    names = [UNNAMED] * int(model.nr_choices)
    for label in sorted(labeling.get_labels()):
        for choice in labeling.get_choices(label):
            names[choice] = label
    return [names[one] for one in row.tolist()] if {*names} != {UNNAMED} else None


def _labels(model: Any, states: int) -> dict[str, BoolArray]:
    labels: dict[str, BoolArray] = {}
    for label in sorted(model.labeling.get_labels() - {UNEXPLORED}):
        labels[label] = np.zeros(states, dtype=np.bool_)
        labels[label][list(model.labeling.get_states(label))] = True
    return labels


def _reward(
    path: str | os.PathLike[str],
    model: Any,
    wanted: str | Sequence[str] | None,
    source: IndexArray,
    row: IndexArray,
    next_state: IndexArray,
    lengths: IndexArray,
) -> FloatArray:
    structures: dict[str, Any] = dict(model.reward_models)
    paid = np.zeros(source.size)
    for name in _chosen(path, wanted, sorted(structures)):
        one = structures[name]
        if one.has_state_rewards:
            paid += np.array(one.state_rewards, dtype=np.float64)[source]
        if one.has_state_action_rewards:
            paid += np.array(one.state_action_rewards, dtype=np.float64)[row]
        if one.has_transition_rewards:
            matrix, width = one.transition_rewards, int(next_state.max(initial=0)) + 1
            counts = [len(matrix.get_row(k)) for k in range(matrix.nr_rows)]
            listed = [(entry.column, entry.value) for k in range(matrix.nr_rows) for entry in matrix.get_row(k)]
            key = np.repeat(np.arange(lengths.size), counts) * width + np.array([c for c, _ in listed], dtype=np.int64)
            at = np.searchsorted(key, row * width + next_state)
            found = np.append(key, -1)[at] == row * width + next_state
            paid[found] += np.array([value for _, value in listed])[at[found]]
    return paid


def _chosen(path: str | os.PathLike[str], wanted: str | Sequence[str] | None, known: list[str]) -> list[str]:
    if wanted is None:
        if len(known) > 1:
            listed = ", ".join(map(repr, known))
            raise ParameterError(
                f"{path} has {len(known)} reward structures, {listed}: choose with reward={known[0]!r}; a list adds "
                "some up, and reward=[] takes none"
            )
        return known
    if not isinstance(wanted, str) and not is_sequence(wanted):
        raise ParameterError(f"reward={wanted!r} is not the name of a reward structure, or a sequence of names")
    names = [wanted] if isinstance(wanted, str) else [*wanted]
    for name in names:
        if name not in known:
            what = unknown("reward structure", name, known) if known else f"no reward structure {name!r}, nor any other"
            raise ParameterError(f"{path}: {what}")
    if len({*names}) < len(names):
        raise ParameterError(f"reward={wanted!r} names a reward structure twice")
    return names
