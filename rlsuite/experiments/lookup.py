"""From a specification to an agent: ``Class``, ``module:Class`` or ``file.py:Class``, and a table of parameters."""

import dataclasses
import inspect
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from rlsuite.agents.learner import Learner
from rlsuite.core.described import match
from rlsuite.core.modules import module_of, parts_of
from rlsuite.core.named_estimators import ESTIMATORS, is_name, named_class
from rlsuite.core.narrowing import Table, is_table
from rlsuite.errors import FileError, ParameterError, RlsuiteError, unknown
from rlsuite.registry import build_agent, choices, defined_agents, learner_classes
from rlsuite.synonyms import ELSEWHERE, in_dashes, nearest


def find_agent_class(spec: str, folder: Path = Path()) -> type[Learner]:
    """Return the class of agents that ``spec`` stands for.

    Parameters
    ----------
    spec : str
        ``QLearning`` or ``q-learning``; ``module:Class``, which is imported; or ``file.py:Class``, which is run.
    folder : Path
        The folder that file names are relative to.

    Returns
    -------
    type
        A class derived from `Learner` that can learn: for an `Agent`, one with both functions of a rule.

    Raises
    ------
    ParameterError
        If there is no such class, or it is not an agent.
    FileError
        If there is no such file or module, or running it raises.

    Examples
    --------
    >>> find_agent_class("sample-average").__name__
    'SampleAverage'
    """
    source, name = parts_of(spec)
    if not source:
        return _known_class(spec)
    try:
        module = module_of(source, folder)
    except FileError as error:
        raise FileError(f"{spec!r}: {error}") from error.__cause__ or error
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Learner) and value.is_complete()
    }
    if name not in own:
        listed = {key: value for key, value in own.items() if value.__module__ == module.__name__}
        if not listed:
            raise ParameterError(f"{spec!r}: {source} defines no agent (a class derived from rlsuite.TabularAgent)")
        if not name:
            raise ParameterError(f"{spec!r} names no class: write '{source}:Class' (agents there: {', '.join(listed)})")
        raise ParameterError(f"{spec!r}: {unknown('agent', name, listed)}")
    kind = own[name]
    if learner_classes().get(kind.__name__) is not kind:
        raise ParameterError(f"{spec!r}: another agent has the name {kind.__name__} already; rename the class")
    return kind


def agent_from_table(table: Table, where: str, folder: Path = Path()) -> Any:
    """Make an agent from its table in a file; errors say where in the file the fault is.

    Parameters
    ----------
    table : mapping
        Class under ``name`` and parameters beside it, as `rlsuite.registry` describes it.
    where : str
        Path of the table in its file, such as ``agents[1]``.
    folder : Path
        The folder that file names are relative to.

    Raises
    ------
    ParameterError
        If a key is unknown or a value is out of range; the message begins with its path.
    """
    spec = table.get("name")
    if not isinstance(spec, str):
        raise ParameterError(f'{where}: write name = "{table.get("class", "QLearning")}", the name of an agent')
    try:
        kind = find_agent_class(spec, folder)
    except RlsuiteError as error:
        raise type(error)(f"{where}.name: {error}") from error
    try:
        placed = place_features(kind, table)
    except ParameterError as error:
        raise ParameterError(f"{where}.{error}") from error
    _check_keys(kind, placed, where)
    try:
        return build_agent({**placed, "name": kind.__name__}, partial(named_class, folder=folder))
    except (ParameterError, FileError) as error:
        raise type(error)(f"{where}: {error}") from error


def keys_of(kind: type) -> list[str]:
    """Return what the table of an agent may hold: the parameters of its class, and what `place_features` moves.

    >>> import rlsuite as rl
    >>> keys_of(rl.Sarsa)
    ['gamma', 'exploration', 'learning_rate', 'initial_value', 'values', 'features', 'fit_on']
    """
    own = [field.name for field in dataclasses.fields(kind) if field.init]
    moved = ("features", "fit_on") if {"policy", "values"} & set(own) else ()
    return [*own, *(key for key in moved if key not in own)]


def place_features(kind: type, table: Table) -> dict[str, Any]:
    """Return the parameters of an agent with ``features`` and ``fit_on`` where its class has them.

    What a search looks for has features, a `LinearPolicy`; `Linear` values know how many observations to fit them on.

    Raises
    ------
    ParameterError
        If there is ``fit_on``, but nothing that it is for.
    """
    fields = {field.name for field in dataclasses.fields(kind)}
    own = {key: table[key] for key in ("features", "fit_on") if key in table}
    others = {key: value for key, value in table.items() if key not in own}
    if own.keys() <= fields:
        return dict(table)
    if "features" in own and "policy" in fields - table.keys():
        return {**others, "policy": {"name": "LinearPolicy", **own}}
    if "features" in own and "values" in fields - table.keys():
        return {**others, "values": {"name": "Linear", **own}}
    if "fit_on" not in own:
        return dict(table)
    if {"policy", "values"} & table.keys():
        raise ParameterError("fit_on: its values, or its policy, have a table of their own; write fit_on there")
    raise ParameterError(f"fit_on: {kind.__name__} has no features that learn from the first observations of a run")


def _check_keys(kind: type, table: Table, where: str) -> None:
    allowed = [field.name for field in dataclasses.fields(kind) if field.init]
    for key, value in table.items():
        if key == "name":
            continue
        if key not in allowed:
            raise ParameterError(f"{where}.{key}: {unknown(f'key of {kind.__name__}', key, allowed)}")
        if is_table(value) and "name" in value and key not in ESTIMATORS and not is_name(str(value["name"])):
            what, classes = choices(key)
            name = match(str(value["name"]), classes)
            if name is None:
                raise ParameterError(f"{where}.{key}.name: {unknown(what, value['name'], classes)}")
            _check_keys(classes[name], value, f"{where}.{key}")


def _known_class(word: str) -> type[Learner]:
    classes = defined_agents()
    name = word if word in classes else match(word, classes)
    if name is None:
        classes = learner_classes()
        name = word if word in classes else match(word, classes)
    if name is None:
        raise ParameterError(_no_agent(word, classes))
    return classes[name]


def _no_agent(word: str, names: Iterable[str]) -> str:
    """Sentence about a word that is not the name of an agent; names are spelled as the word is."""
    other = match(word, ELSEWHERE)
    if other is not None:
        return f"{word!r} is not an agent of commands and TOML files: {ELSEWHERE[other]}"
    spelled = in_dashes if word == word.lower() else str
    near = [spelled(name) for name in nearest(word, names, 3)]
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return (
        f"unknown agent {word!r}; {hint}('rlsuite agents' lists all; write file.py:Class or module:Class for one of "
        "your own)"
    )
