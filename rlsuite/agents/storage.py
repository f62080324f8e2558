"""Saving and loading agents: one .npz file of arrays and JSON text, never a pickle."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import is_dict
from rlsuite.core.declared import check_array, declarations
from rlsuite.core.described import UnknownClass, build, choices, describe
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz, reading_npz
from rlsuite.environments.observation_ids import ObservationIds, described, space_of
from rlsuite.errors import NewRunWarning
from rlsuite.training.learned import declared_arrays, learned_arrays
from rlsuite.training.results import Record

EPISODE = np.dtype([("return", np.float64), ("length", np.int64)])

FORMAT = "rlsuite agent 1"
HEADER = ("format", "agent", "seed", "first_observation", "first_action", "generator")
"""Entries of the JSON object ``header``."""
RUN = "run"
"""One more, of a file with a run."""
FITTED = {"features"}
"""Fields of a memory that do not change while it learns."""
SPACE = "observation_space"
"""One more entry of the header, of an agent whose observations are not those of a Discrete space."""


def save(agent: Any, path: str | PathLike[str], compress: bool = True, only_with_run: bool = False) -> bool:
    """Write an agent to a file: parameters, learned arrays, episodes, the state of its generator, and its run.

    Parameters
    ----------
    agent : Agent
        An agent that has learned.
    path
        The file.
    compress : bool
        Whether its arrays are compressed, which takes longer.
    only_with_run : bool
        Write nothing, and return False, if its run cannot be kept.

    Raises
    ------
    NotLearned
        If there is nothing to save yet.
    FileError
        If the file cannot be written.

    Warns
    -----
    NewRunWarning
        If its run cannot be kept.
    """
    arrays: dict[str, Any] = agent.kept_arrays()
    header = {
        "format": FORMAT,
        "agent": describe(agent),
        "seed": str(agent.seed_),
        "first_observation": agent.first_observation_,
        "first_action": agent.first_action_,
        "generator": agent.generator_.bit_generator.state,
    }
    if agent.observation_ids_ is not None:
        header[SPACE] = described(agent.observation_ids_.space)
    run = agent.kept_run()
    if run is not None:
        run = run if run.lost else run._replace(lost=_undeclared(agent.memory_))
        if run.lost and only_with_run:
            return False
        if run.lost:
            level = errors.level_of_the_caller()
            warnings.warn(f"what was learned is saved, but not the run: {run.lost}", NewRunWarning, stacklevel=level)
        header[RUN], of_run = run.packed()
        arrays |= of_run
        if not run.lost:
            arrays |= {f"run.{name}": _filled_rows(array) for name, array in _arrays_of_run(agent.memory_).items()}
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        write = np.savez_compressed if compress else np.savez
        write(file, header=np.array(json.dumps(header)), episodes=agent.episodes_, **arrays)
    return True


def _parts_of_run(memory: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The NamedTuples inside a memory whose arrays belong to a run, as the eligibility traces do, with their names."""
    for field, value in memory._asdict().items():
        if hasattr(value, "_fields") and field not in FITTED:
            if f"{prefix}{field}" != "learned":
                yield f"{prefix}{field}", value
            yield from _parts_of_run(value, f"{prefix}{field}.")


def _arrays_of_run(memory: Any) -> dict[str, NDArray[Any]]:
    return {f"{name}.{field}": value for name, part in _parts_of_run(memory) for field, value in _arrays(part).items()}


def _arrays(part: Any) -> dict[str, NDArray[Any]]:
    return {field: value for field, value in part._asdict().items() if isinstance(value, np.ndarray)}


def _filled_rows(array: NDArray[Any]) -> NDArray[Any]:
    """An array without the rows at its end that are 0: buffers are made for longer episodes."""
    if array.ndim == 0 or not array.size:
        return array
    filled = np.flatnonzero(np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1).any(axis=1))
    return array[: filled[-1] + 1 if filled.size else 0]


def _undeclared(memory: Any) -> str:
    """Why the arrays of a run could not be checked when they are read; empty if they could."""
    sizes = _sizes(memory)
    try:
        for name, part in _parts_of_run(memory):
            _check_part(name, part, sizes)
    except ValueError as error:
        return str(error)
    return ""


def _sizes(memory: Any) -> dict[str, int]:
    n_states, n_actions = memory.legal.shape
    return {
        "n_states": n_states,
        "n_actions": n_actions,
        "n_pairs": n_states * n_actions,
        "n_features": len(getattr(memory, "weights", ())),
    }


def _check_part(name: str, part: Any, sizes: dict[str, int]) -> None:
    """Raise ValueError unless the arrays of a NamedTuple are what it declares, and do not contradict each other."""
    arrays = _arrays(part)
    known = sizes | {field: array.shape[-1] for field, array in arrays.items() if array.ndim}
    declared = declarations(part) if arrays else {}
    for field, array in arrays.items():
        check_array(f"{name}.{field}", array, declared.get(field), known)
    if hasattr(part, "check"):
        part.check(sizes)


def fill_run(memory: Any, arrays: Npz) -> None:
    """Fill the arrays of a memory that belong to a run with those of a file; all are checked.

    Raises
    ------
    KeyError, ValueError
        If one is missing, or is not what its NamedTuple declares.
    """
    for name, wanted in _arrays_of_run(memory).items():
        stored = arrays.take(f"run.{name}", wanted.dtype, ndim=wanted.ndim)
        n = len(stored) if stored.ndim else 0
        if stored.shape[1:] != wanted.shape[1:] or (stored.ndim and n > len(wanted)):
            raise ValueError(f"run.{name} has shape {stored.shape}, not {wanted.shape}")
        if not stored.ndim:
            wanted[...] = stored
        elif n or wanted.any():
            wanted[:n], wanted[n:] = stored, 0
    sizes = _sizes(memory)
    for name, part in _parts_of_run(memory):
        _check_part(name, part, sizes)


def fill(memory: Any, legal: NDArray[np.bool_], arrays: Npz) -> None:
    """Fill a new memory with the arrays of a file; each is checked before it is unpacked, and before it is used.

    Raises
    ------
    KeyError, ValueError
        If an array is missing, or is not what the memory declares.
    """
    n_states, n_actions = legal.shape
    sizes = {"n_states": n_states, "n_actions": n_actions, "n_pairs": n_states * n_actions}
    declared, new = declared_arrays(memory), learned_arrays(memory)
    for name, wanted in new.items():
        stored = legal if name == "legal" else arrays.take(name, wanted.dtype, wanted.shape)
        check_array(name, stored, declared.get(name), sizes)
        wanted[...] = stored


def episodes_of(record: Record) -> NDArray[np.void]:
    """Return and length of the episodes of a record."""
    episodes = np.zeros(record.episode_return.size, dtype=EPISODE)
    episodes["return"] = record.episode_return
    episodes["length"] = record.episode_length
    return episodes


def take_episodes(arrays: Npz) -> NDArray[np.void]:
    """The episodes of a file.

    Raises
    ------
    KeyError, ValueError
        If there are none, or a return is not finite, or a length less than 0.
    """
    episodes = arrays.take("episodes", EPISODE, ndim=1)
    if not (np.isfinite(episodes["return"]).all() and (episodes["length"] >= 0).all()):
        raise ValueError("an episode has a return that is not finite, or a negative number of steps")
    return episodes


def ids_of_file(header: dict[str, Any], n_rows: int) -> ObservationIds | None:
    """The ids of the observations of the agent of a file; None if its space is Discrete.

    Raises
    ------
    ValueError
        If the space is not one, or does not have an observation for each row.
    """
    if SPACE not in header:
        return None
    space = space_of(header[SPACE])
    try:
        ids = ObservationIds(space)
    except errors.UnsuitableEnvironment as error:
        raise ValueError(str(error)) from error
    if ids.n != n_rows:
        raise ValueError(f"it has learned of {n_rows} observations, and {space} has {ids.n}")
    return ids


def whole(header: dict[str, Any], name: str) -> int:
    """A whole number of the header that fits into 64 bits.

    Raises
    ------
    ValueError
        If it is something else.
    """
    value = header[name]
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"{name}={value!r} is not a whole number of 64 bits")
    return value


def check_header(header: dict[str, Any]) -> None:
    """Raise ValueError unless the header of a file consists of the entries that `save` writes."""
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')!r}, not {FORMAT!r}")
    for name in (header.keys() - {RUN, SPACE}) ^ set(HEADER):
        raise ValueError(f"its header {'has an unknown entry' if name in header else 'has no'} {name!r}")
    if not isinstance(header["agent"], dict):
        raise ValueError("the entry 'agent' of its header is not a JSON object")


def defined_agents() -> dict[str, type[Any]]:
    """The agents that are imported: those with features, which need scikit-learn, only once they are used."""
    return choices("agent")[1]


def read_agent(path: str | PathLike[str], make: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Read an agent, which `make` makes from the plain data of its parameters; see `rlsuite.load`.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or of an agent that `make` does not know.
    """
    with reading_npz(path, "an agent") as arrays:
        header = arrays.take_json("header")
        whole_run = header.get("format") != FORMAT and is_dict(header.get("agent"))
        if not whole_run:
            check_header(header)
        try:
            agent = make(header["agent"])
        except UnknownClass as error:
            raise errors.FileError(f"{path}: {error}; import the module that defines it first") from error
        if whole_run != hasattr(cast("type[object]", type(agent)), "restore_file"):
            raise ValueError(f"its format is {header['format']!r}, which is not that of {type(agent).__name__}")
        if whole_run:  # methods that learn between steps keep what they have learned from
            agent.restore_file(header, arrays)
        else:
            agent.restore(header, arrays, take_episodes(arrays))
        arrays.finish()
    return agent


def load(path: str | PathLike[str]) -> Any:
    """Read an agent whose class is imported; `rlsuite.load` knows those of `rlsuite.approximation`, too.

    Raises
    ------
    FileError
        As `rlsuite.load`.
    """

    def make(plain: Mapping[str, Any]) -> Any:
        if "features" in plain:
            import_module("rlsuite.features")  # defines the feature maps
        return build("agent", defined_agents(), plain)

    return read_agent(path, make)
