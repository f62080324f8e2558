"""Experiments as TOML files: every key and its type are checked, and errors name it by its path."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

from rlsuite import errors
from rlsuite.core.checks import whole_number
from rlsuite.errors import FileError, ParameterError, RlsuiteError
from rlsuite.experiments.config import AgentEntry, EnvironmentEntry, Experiment
from rlsuite.experiments.lookup import agent_from_table

E = TypeVar("E", bound=Experiment)


def read(kind: type[E], file: Path, changes: Mapping[str, Any]) -> E:
    """Read the experiment in a TOML file, with some top-level keys changed; `Experiment.read` documents it."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileError(f"there is no file {file}") from error
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{file} is not valid TOML: {error}") from error
    try:
        return from_plain(kind, {"name": file.stem, **table, **changes}, file)
    except RlsuiteError as error:
        raise type(error)(f"{file}: {error}") from error


def from_plain(kind: type[E], table: Mapping[str, Any], file: Path | None) -> E:
    """Make an experiment from the tables of a TOML file; `Experiment.from_plain` documents it."""
    _check_keys(table, [one.name for one in fields(kind) if one.name != "file"], "")
    folder = Path() if file is None else file.parent
    name = _text(table, "name", "")
    environments = [_environment(entry, where) for entry, where in _tables(table, "environments")]
    agents = [_agent(entry, where, folder) for entry, where in _tables(table, "agents")]
    rest = {key: value for key, value in table.items() if key not in ("name", "environments", "agents")}
    return kind(name=name, environments=environments, agents=agents, file=file, **rest)


def _check_keys(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise ParameterError(f"{where}{key}: {errors.unknown('key', key, allowed)}")


def _text(table: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or not (value or default == ""):
        raise ParameterError(
            f"{where}{key} is missing" if value is None else f"{where}{key}={value!r} must be a string"
        )
    return value


def _inner_table(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise ParameterError(f"{where}{key}={value!r} must be a table, such as {{ keyword = value }}")
    return cast("Mapping[str, Any]", value)


def _tables(table: Mapping[str, Any], key: str) -> list[tuple[Mapping[str, Any], str]]:
    value = table.get(key, [])
    entries = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(entry, Mapping) for entry in entries) or isinstance(value, Mapping):
        raise ParameterError(f"{key}={value!r} must be an array of tables: write [[{key}]] above each table")
    return [(entry, f"{key}[{index}]") for index, entry in enumerate(entries)]


def _environment(table: Mapping[str, Any], where: str) -> EnvironmentEntry:
    _check_keys(table, [one.name for one in fields(EnvironmentEntry)], f"{where}.")
    limit = table.get("max_episode_steps")
    return EnvironmentEntry(
        id=_text(table, "id", f"{where}."),
        label=_text(table, "label", f"{where}.", ""),
        parameters=_inner_table(table, "parameters", f"{where}."),
        max_episode_steps=None if limit is None else whole_number(f"{where}.max_episode_steps", limit),
    )


def _agent(table: Mapping[str, Any], where: str, folder: Path) -> AgentEntry:
    label = _text(table, "label", f"{where}.", "")
    environment = _inner_table(table, "environment", f"{where}.")
    parameters = {key: value for key, value in table.items() if key not in ("label", "environment")}
    agent = agent_from_table(parameters, where, folder)
    source = table["name"] if ":" in table["name"] or table["name"].endswith(".py") else ""
    return AgentEntry(agent, label, environment, source)
