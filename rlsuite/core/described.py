"""Objects as plain data and back: agents and their parts in TOML files, on the command line and in saved files.

A number stands for itself. An agent, an exploration or a schedule is a table with its class under ``name`` and its
parameters beside it: ``{"name": "Softmax", "base": {"name": "Linear", "start": 1.0, "end": 9.0, "over": 500}}``.
The classes are found by introspection, so a class of your own is known as soon as its module is imported. Estimators of
other packages are found by `rlsuite.core.named_estimators`; a list of estimators stands for one after the other.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, cast

from rlsuite import errors
from rlsuite.core import named_estimators
from rlsuite.core.checks import is_array, is_list, is_tuple
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.core.named_estimators import ESTIMATORS, Find, UnknownClass, imported_class, is_name
from rlsuite.synonyms import plain as without_spelling

NAMED = (*ESTIMATORS, "values", "exploration")
"""Parameters of agents where the name of a class alone stands for one made without parameters."""

Kind = TypeVar("Kind")

Plain: TypeAlias = Annotated[dict[str, Any], "plain data"]
"""Numbers, strings, lists and dicts by name: what a TOML or a JSON file can hold."""


class Described(SaysWhatToWrite):
    """Base of the dataclasses that `describe` turns into plain data, and `build` back.

    A direct subclass is a family. Its `described_as` is the parameter under which agents hold a member of it, and the
    word for it in messages.
    """

    described_as: ClassVar[str]

    @classmethod
    def is_complete(cls) -> bool:
        """Whether files may name the class; base classes cannot be named."""
        return True


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
    return describe_part("it", value)


def describe_part(what: str, value: object) -> Any:
    """Turn the value of a parameter into plain data, as `describe` does; its name says whether it is an estimator."""
    if isinstance(value, Described):
        given = {key: describe_part(key, inner) for key, inner in parameters(value).items() if inner is not None}
        return {"name": _name_of(type(value)), **given}
    if is_list(value) or is_tuple(value):
        return [describe_part(what, inner) for inner in value]
    if what in ESTIMATORS and not isinstance(value, type) and hasattr(value, "fit"):
        return named_estimators.described(what, value)
    return value.tolist() if is_array(value) else value


def _name_of(kind: type[Described]) -> str:
    """The name of a class; with its place, if it is an estimator of the user's."""
    own = kind.described_as in ESTIMATORS and not kind.__module__.startswith("rlsuite.")
    return (named_estimators.name_of(kind) if own else None) or kind.__name__


def build(what: str, classes: Mapping[str, type], plain: Mapping[str, Any], find: Find = imported_class) -> Any:
    """Make one of these classes from plain data.

    Parameters
    ----------
    what : str
        The word for it in messages: "agent".
    classes : mapping of str to type
        The classes that it may have, by name.
    plain : mapping
        The class under ``name``, parameters beside it.
    find : callable
        How estimators of other packages are found by name: `named_class` imports what a user has written.

    Raises
    ------
    ParameterError
        If a name (`UnknownClass`) or a parameter is unknown, with the nearest choice, or a value is outside its range.
    """
    given = dict(plain)
    name = given.pop("name", None)
    if name is None:
        raise errors.ParameterError(f"{what} has no name; give name = one of {', '.join(sorted(classes))}")
    name = name if name in classes else match(str(name), classes)
    if name is None:
        own = "; one of your own, or of another package, is module:Class or file.py:Class" if what in ESTIMATORS else ""
        raise UnknownClass(errors.unknown(what, plain["name"], classes) + own)
    return _made(classes[name], name, given, find)


def match(word: str, names: Iterable[str]) -> str | None:
    """The class name that matches a name in lower case, with dashes or underscores.

    >>> match("q-learning", ["QLearning", "Sarsa"])
    'QLearning'
    """
    return next((name for name in names if without_spelling(name) == without_spelling(word)), None)


def _made(kind: type, name: str, given: Mapping[str, Any], find: Find) -> Any:
    """Make an object of a class whose parameters are fields."""
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
    inside = getattr(kind, "described_as", "")  # within a chain of maps a list is the list of its parts
    return kind(**{key: build_part(key, inner, find, chains=key != inside) for key, inner in given.items()})


def build_part(key: str, plain: object, find: Find = imported_class, *, chains: bool = True) -> Any:
    """Make the value of a parameter from plain data: an exploration, a schedule, an estimator, or what it is.

    Parameters
    ----------
    key : str
        The parameter.
    plain : object
        A table with a name, the name alone, a list of these, or the value itself.
    find : callable
        As for `build`; also of the user's own classes of other kinds.
    chains : bool
        Whether a list of estimators stands for one that applies them one after the other.

    Raises
    ------
    ParameterError
        As `build`.
    """
    if is_list(plain) or is_tuple(plain):
        parts = [build_part(key, inner, find) for inner in plain]
        return (
            _chain(key, parts) if chains and key in ESTIMATORS and any(hasattr(one, "fit") for one in parts) else parts
        )
    if key in NAMED and isinstance(plain, str):
        plain = {"name": plain}
    if not isinstance(plain, Mapping):
        return plain
    table = cast("Mapping[str, Any]", plain)
    name = str(table.get("name"))
    what, classes = choices(key)
    if not is_name(name) and (key not in ESTIMATORS or key == what):
        return build(what, classes, table, find)
    given = {one: table[one] for one in table if one != "name"}
    try:
        return (_estimator if key in ESTIMATORS else _own)(key, name, given, find)
    except UnknownClass:
        raise
    except errors.RlsuiteError as error:
        raise type(error)(f"{key}: {error}") from error


def _estimator(key: str, name: str, given: Mapping[str, Any], find: Find) -> Any:
    if not is_name(name):
        if key == "features":  # a map, whose module is not imported yet
            raise UnknownClass(errors.unknown(key, name, ()))
        raise errors.ParameterError(named_estimators.no_place(name))
    kind = find(name)
    family = _families().get(key)
    if family is not None and issubclass(kind, family) and dataclasses.is_dataclass(kind):
        return _made(kind, name, given, find)
    return named_estimators.made(kind, name, given, find)


def _own(key: str, name: str, given: Mapping[str, Any], find: Find) -> Any:
    """An object of a class of the user's that is no estimator."""
    kind, (what, classes) = find(name), choices(key)
    if kind not in classes.values():
        raise errors.ParameterError(
            f"{name} does not derive from {_families()[what].__name__}, as {', '.join(sorted(classes))} do"
        )
    return _made(kind, name, given, find)


def _chain(key: str, parts: list[Any]) -> Any:
    """One estimator for several in a row: a chain of maps, if all are maps; else a pipeline of scikit-learn."""
    family = _families().get(key)
    if family is not None and all(isinstance(one, family) for one in parts):
        return parts[0] if len(parts) == 1 else cast(Any, kinds(family)["Chain"])(parts)
    return named_estimators.joined(parts)


def _families() -> dict[str, type[Described]]:
    return {family.described_as: family for family in Described.__subclasses__()}


def choices(key: str) -> tuple[str, dict[str, type]]:
    """The name of the kind of a parameter's value, and the imported classes that it may have.

    >>> import rlsuite.agents.schedules
    >>> what, classes = choices("learning_rate")
    >>> what, "Linear" in classes
    ('schedule', True)
    """
    families = _families()
    what = key if key in families else "schedule"
    return what, {name: kind for name, kind in kinds(families[what]).items() if kind.is_complete()}
