"""Saving and loading agents: one .npz file of arrays and JSON text, never a pickle."""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.declared import Array, check_array, declarations
from rlsuite.core.described import UnknownClass, build, choices, describe
from rlsuite.core.files import replacing
from rlsuite.core.npz import Npz, reading_npz

EPISODE = np.dtype([("return", np.float64), ("length", np.int64)])

FORMAT = "rlsuite agent 1"
HEADER = ("format", "agent", "seed", "first_observation", "first_action", "generator")
"""Entries of the JSON object ``header``."""
ROOM = {"scores"}
"""Fields of a memory that are not needed between two steps."""


def save(agent: Any, path: str | PathLike[str]) -> None:
    """Write an agent to a file: parameters, learned arrays, episodes and the state of its generator.

    Raises
    ------
    NotLearned
        If there is nothing to save yet.
    FileError
        If the file cannot be written.
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
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), episodes=agent.episodes_, **arrays)


def learned_arrays(memory: Any) -> dict[str, Any]:
    """Return the arrays of a memory by name; those of its ``learned`` as "learned.NAME"."""
    fields: dict[str, Any] = memory._asdict()
    learned: Any = fields.get("learned", ())
    if learned:
        fields |= {f"learned.{name}": value for name, value in learned._asdict().items()}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray) and name not in ROOM}


def declared_arrays(memory: Any) -> dict[str, Array]:
    """What the classes of a memory, and of its ``learned``, declare about their arrays; names as `learned_arrays`."""
    inner = {f"learned.{name}": one for name, one in declarations(getattr(memory, "learned", ())).items()}
    return declarations(memory) | inner


def fill(memory: Any, legal: NDArray[np.bool_], arrays: Npz) -> None:
    """Fill a new memory with the arrays of a file; each is checked before it is unpacked, and before it is used.

    Raises
    ------
    KeyError, ValueError
        If an array is missing, or is not what the memory declares.
    """
    n_states, n_actions = legal.shape
    sizes = {"n_states": n_states, "n_actions": n_actions, "n_pairs": n_states * n_actions}
    declared = declared_arrays(memory)
    for name, wanted in learned_arrays(memory).items():
        stored = legal if name == "legal" else arrays.take(name, wanted.dtype, wanted.shape)
        check_array(name, stored, declared.get(name), sizes)
        wanted[...] = stored


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


def take_header(arrays: Npz) -> dict[str, Any]:
    """The header of a file.

    Raises
    ------
    ValueError
        If it does not consist of the entries that `save` writes.
    """
    header = arrays.take_json("header")
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')!r}, not {FORMAT!r}")
    for name in header.keys() ^ set(HEADER):
        raise ValueError(f"its header {'has an unknown entry' if name in header else 'has no'} {name!r}")
    if not isinstance(header["agent"], dict):
        raise ValueError("the entry 'agent' of its header is not a JSON object")
    return header


def defined_agents() -> dict[str, type[Any]]:
    """The agents that are imported: those with features, which need scikit-learn, only once they are used."""
    return {name: kind for name, kind in choices("agent")[1].items() if hasattr(kind, "step")}


def read_agent(path: str | PathLike[str], make: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Read an agent, which `make` makes from the plain data of its parameters; see `rlsuite.load`.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or of an agent that `make` does not know.
    """
    with reading_npz(path, "an agent") as arrays:
        header = take_header(arrays)
        try:
            agent = make(header["agent"])
        except UnknownClass as error:
            raise errors.FileError(f"{path}: {error}; import the module that defines it first") from error
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
