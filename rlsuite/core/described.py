"""Objects as plain data and back: agents and their parts in TOML files, on the command line and in saved files.

A number stands for itself. An agent, an exploration or a schedule is a table with its class under ``name`` and its
parameters beside it: ``{"name": "Softmax", "base": {"name": "Linear", "start": 1.0, "end": 9.0, "over": 500}}``.
The classes are found by introspection, so a class of your own is known as soon as its module is imported.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, cast

from rlsuite import errors
from rlsuite.core.checks import is_array, is_list, is_tuple
from rlsuite.core.keywords import SaysWhatToWrite

Kind = TypeVar("Kind")

Plain: TypeAlias = Annotated[dict[str, Any], "plain data"]
"""Numbers, strings, lists and dicts by name: what a TOML or a JSON file can hold."""


class UnknownClass(errors.ParameterError):
    """There is no class of this name; its module may not have been imported."""


class Described(SaysWhatToWrite):
    """Base of the dataclasses that `describe` turns into plain data, and `build` back.

    A direct subclass is a family. Its `described_as` is the parameter under which agents hold a member of it, and the
    word for it in messages.
    """

    described_as: ClassVar[str]


def kinds(base: type[Kind]) -> dict[str, type[Kind]]:
    """All classes that derive from ``base``, however indirectly, by name.

    >>> from rlsuite.agents.exploration import Exploration, Softmax
    >>> kinds(Exploration)["Softmax"] is Softmax
    True
    """
    found: dict[str, type[Kind]] = {}
    for kind in base.__subclasses__():
        found |= {kind.__name__: kind, **kinds(kind)}
    return found


def parameters(described: Described) -> dict[str, Any]:
    """Constructor arguments of an agent, an exploration, a schedule or a feature map, as they were given."""
    fields = dataclasses.fields(cast(Any, described))
    return {field.name: getattr(described, field.name) for field in fields if field.init}


def describe(value: object) -> Any:
    """Turn an agent, or a part of one, into plain data, arrays into lists; plain data stays as it is.

    >>> from rlsuite.agents.exploration import EpsilonGreedy
    >>> describe(EpsilonGreedy(0.1))
    {'name': 'EpsilonGreedy', 'epsilon': 0.1}
    """
    if isinstance(value, Described):
        given = {key: describe(inner) for key, inner in parameters(value).items() if inner is not None}
        return {"name": type(value).__name__, **given}
    if is_list(value) or is_tuple(value):
        return [describe(inner) for inner in value]
    return value.tolist() if is_array(value) else value


def build(what: str, classes: Mapping[str, type], plain: Mapping[str, Any]) -> Any:
    """Make one of these classes from plain data.

    Parameters
    ----------
    what : str
        The word for it in messages: "agent".
    classes : mapping of str to type
        The classes that it may have, by name.
    plain : mapping
        The class under ``name``, parameters beside it.

    Raises
    ------
    ParameterError
        If a name (`UnknownClass`) or a parameter is unknown, with the nearest choice, or a value is outside its range.
    """
    given = dict(plain)
    name = given.pop("name", None)
    if name is None:
        raise errors.ParameterError(f"{what} has no name; give name = one of {', '.join(sorted(classes))}")
    if name not in classes:
        raise UnknownClass(errors.unknown(what, name, classes))
    kind = classes[name]
    allowed = [field.name for field in dataclasses.fields(kind) if field.init]
    for key in given:
        if key not in allowed:
            raise errors.ParameterError(f"{name}: " + errors.unknown("parameter", key, allowed))
    missing = [
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is field.default_factory is dataclasses.MISSING and field.name not in given
    ]
    if missing:
        raise errors.ParameterError(f"{name}: parameter {missing[0]!r} is missing")
    return kind(**{key: build_part(key, inner) for key, inner in given.items()})


def build_part(key: str, plain: object) -> Any:
    """Make the value of a parameter from plain data: an exploration, a schedule, a feature map, or what it is.

    Raises
    ------
    ParameterError
        As `build`.
    """
    if is_list(plain):
        return [build_part(key, inner) for inner in plain]
    if not isinstance(plain, Mapping):
        return plain
    return build(*choices(key), cast("Mapping[str, Any]", plain))


def choices(key: str) -> tuple[str, dict[str, type]]:
    """The name of the kind of a parameter's value, and the imported classes that it may have.

    >>> import rlsuite.agents.schedules
    >>> what, classes = choices("learning_rate")
    >>> what, "Linear" in classes
    ('schedule', True)
    """
    families = {family.described_as: family for family in Described.__subclasses__()}
    what = key if key in families else "schedule"
    return what, kinds(families[what])
