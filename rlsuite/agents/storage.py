"""Saving and loading agents: one .npz file of arrays and JSON text, never a pickle."""

import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.agents.description import build_agent, describe
from rlsuite.files import replacing

FORMAT = "rlsuite agent 1"
ROOM = {"scores"}
"""Fields of a memory that are not needed between two steps."""


def save(agent: Agent, path: str | PathLike[str]) -> None:
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


def load(path: str | PathLike[str]) -> Agent:
    """Read an agent that was written by its ``save``.

    Learning goes on with what it knows; its next run begins with a new episode.

    Raises
    ------
    FileError
        If the file is missing, damaged, written by something else, or of an agent whose class is not imported.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     rl.Sarsa().learn("FrozenLake-v1", steps=100, seed=1).save(f"{folder}/sarsa.npz")
    ...     rl.load(f"{folder}/sarsa.npz").q_.shape
    (16, 4)
    """
    arrays = _read(Path(path))
    try:
        header: dict[str, Any] = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise errors.FileError(f"{path} holds {header['format']!r}, not {FORMAT!r}")
        agent = build_agent(header["agent"])
        episodes = arrays.pop("episodes")
        agent.restore(header, arrays, episodes)
    except errors.ParameterError as error:
        raise errors.FileError(f"{path}: {error}; import the module that defines the agent first") from error
    except (KeyError, ValueError, TypeError) as error:
        raise errors.FileError(f"{path} is not an agent written by rlsuite ({error!r})") from error
    return agent


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(file)
    except FileNotFoundError as error:
        raise errors.FileError(f"there is no file {path}") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise errors.FileError(f"{path} is not an agent file, or a damaged one ({error})") from error
