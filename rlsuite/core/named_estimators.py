"""Estimators by name: ``module:Class`` or ``file.py:Class`` with parameters beside it, as plain data and back.

An estimator is known by its methods, as in scikit-learn; what it is made with, its `get_params` says. Its parameters
may be estimators themselves: ``{"name": "sklearn.ensemble:AdaBoostRegressor", "estimator": {"name": ...}}``.

A user who writes a name asks for its module. A file that is read does not: of a file only classes count that are
imported already, or are part of scikit-learn or of rlsuite.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

from rlsuite import errors
from rlsuite.core.checks import is_array, is_dict, is_list, is_tuple
from rlsuite.core.modules import WRITTEN, module_of, parts_of
from rlsuite.synonyms import nearest

ESTIMATORS: Final = ("regressor", "classifier", "features")
"""Parameters of agents that take an estimator."""

INNER: Final = (*ESTIMATORS, "estimator", "base_estimator", "final_estimator", "transformer")
"""Parameters of estimators whose value, if it is a name, is that of an estimator."""

TRUSTED: Final = ("sklearn", "rlsuite")
"""Packages whose modules a file may name without the user's having imported them."""

Find: TypeAlias = Callable[[str], type]
"""From the name of a class to the class; it raises for what it does not find."""


class UnknownClass(errors.ParameterError):
    """There is no class of this name; its module may not have been imported."""


def is_name(text: str) -> bool:
    """Whether a text names a class and where it is, as ``module:Class`` and ``file.py:Class`` do.

    >>> is_name("sklearn.tree:DecisionTreeRegressor"), is_name("clusters")
    (True, False)
    """
    return ":" in text or text.endswith(".py")


def named_class(spec: str, folder: Path = Path()) -> type:
    """Import the module that a user names, or run the file, and return the class.

    Raises
    ------
    ParameterError
        If there is no such class; with the nearest name of one that can be fitted.
    FileError
        If there is no such module or file, or running it raises.
    """
    place, name = parts_of(spec)
    return _class_in(module_of(place, folder), place, name)


def imported_class(spec: str) -> type:
    """Return a class whose module is imported, or is part of scikit-learn or of rlsuite.

    Raises
    ------
    UnknownClass
        If its module is not imported.
    ParameterError
        If the module has no such class.
    """
    place, name = parts_of(spec)
    module = sys.modules.get(place)
    if place.endswith(".py"):
        written = [one for one in list(sys.modules.values()) if getattr(one, WRITTEN, None) == place]
        here = str(Path(place).resolve())  # two folders may have files of one name
        module = next((one for one in written if one.__file__ == here), written[-1] if written else None)
    elif module is None and place.partition(".")[0] in TRUSTED:
        module = module_of(place)
    if module is None:
        raise UnknownClass(f"{spec!r}: {place} is not imported")
    return _class_in(module, place, name)


def _class_in(module: ModuleType, place: str, name: str) -> type:
    found: object = getattr(module, name, None) if name else None  # a package may load its names on first use
    if inspect.isclass(found):
        return found
    names = {key: getattr(module, key) for key in dir(module)}
    able = [key for key, one in names.items() if key[:1] != "_" and inspect.isclass(one) and _offered(one, module)]
    if not name:
        raise errors.ParameterError(f"{place} names no class: write '{place}:Class' (classes there: {_some(able)})")
    if found is not None:
        raise errors.ParameterError(f"{place}:{name} is not a class, but a {type(found).__name__}")
    near = nearest(name, able)
    hint = f"; did you mean '{place}:{near[0]}'?" if near else f" (classes there: {_some(able)})"
    raise errors.ParameterError(f"{place} has no class {name!r}{hint}")


def _offered(kind: type, module: ModuleType) -> bool:
    """Whether a class of a module is an estimator, or defined there."""
    return hasattr(kind, "fit") or kind.__module__ == module.__name__


def no_place(name: str) -> str:
    """Sentence about an estimator whose name does not say where it is."""
    every: list[tuple[str, type]] = _scikit_learn("utils.discovery").all_estimators()
    places = {key: name_of(kind) for key, kind in every}
    near = [places[one] for one in nearest(name, places, 2)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{name!r} does not say where the class is: write module:Class or file.py:Class{hint}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + ", ..." * (len(names) > 8) if names else "none"


def made(kind: type, name: str, given: Mapping[str, Any], find: Find) -> Any:
    """Make an estimator of a class.

    Parameters
    ----------
    kind : type
        The class, which has to have a method `fit` or, inside of an estimator, parameters.
    name : str
        Its name in messages.
    given : mapping
        Its parameters as plain data.
    find : callable
        How classes of the estimators among its parameters are found.

    Raises
    ------
    ParameterError
        If the class cannot fit, a parameter is unknown, or the class refuses them.
    """
    if not callable(getattr(kind, "fit", None)) and not callable(getattr(kind, "get_params", None)):
        raise errors.ParameterError(
            f"{name} has no fit: give a class of estimators, such as sklearn.tree:DecisionTreeRegressor"
        )
    allowed, takes_more = _parameters(kind)
    for key in given:
        if key not in allowed and not takes_more:
            raise errors.ParameterError(f"{name}: " + errors.unknown("parameter", key, allowed))
    try:
        return kind(**{key: _value(key, value, find) for key, value in given.items()})
    except errors.RlsuiteError:
        raise
    except Exception as error:  # whatever a class of another package raises
        raise errors.ParameterError(f"{name} cannot be made: {type(error).__name__}: {error}") from error


def _parameters(kind: type) -> tuple[list[str], bool]:
    """The names that a constructor takes, and whether it takes others, too."""
    listed = list(inspect.signature(kind).parameters.values())
    names = [one.name for one in listed if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return names, any(one.kind is one.VAR_KEYWORD for one in listed)


def _value(key: str, plain: object, find: Find) -> Any:
    """The value of a parameter of an estimator."""
    if isinstance(plain, str):
        return made(find(plain), plain, {}, find) if key in INNER and is_name(plain) else plain
    if is_dict(plain):
        name = plain.get("name")
        if isinstance(name, str) and is_name(name):
            return made(find(name), name, {one: plain[one] for one in plain if one != "name"}, find)
        return {one: _value(one, value, find) for one, value in plain.items()}
    if is_list(plain):
        items = [_value("", one, find) for one in plain]
        # scikit-learn writes (name, estimator)
        return tuple(items) if len(items) > 1 and isinstance(items[0], str) and _is_estimator(items[1]) else items
    return plain


def joined(parts: Sequence[Any]) -> Any:
    """Estimators one after the other: a Pipeline of scikit-learn."""
    return _scikit_learn("pipeline").make_pipeline(*parts)


def _scikit_learn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")  # it has no types
    except ModuleNotFoundError as error:
        raise errors.MissingPackage("scikit-learn is not installed: pip install scikit-learn") from error


def _is_estimator(value: object) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "get_params", None))


# ------------------------------------------------------------------------------------------------------ and back


def described(what: str, value: Any) -> Any:
    """Turn an estimator into plain data: its class, and the parameters that differ from those it has by default.

    Parameters
    ----------
    what : str
        What it is, for messages: "regressor".
    value : estimator
        What is described; not what it has learned.

    Raises
    ------
    ParameterError
        If its class cannot be imported by name, or a parameter is neither plain data nor such an object.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> described("regressor", DecisionTreeRegressor(max_depth=5))
    {'name': 'sklearn.tree:DecisionTreeRegressor', 'max_depth': 5}
    """
    kind: type[object] = value.__class__
    name = name_of(kind)
    if name is None or not _is_estimator(value) or name == "sklearn.frozen:FrozenEstimator":
        raise errors.ParameterError(
            f"{what}: {kind.__name__} has no plain description, which a file needs; give an estimator with get_params, "
            "such as one derived from sklearn.base.BaseEstimator, whose class stands at the top of a module"
        )
    usual = {one.name: one.default for one in inspect.signature(kind).parameters.values()}
    own = {
        key: _plain(f"{what}: {kind.__name__}.{key}", given)
        for key, given in value.get_params(deep=False).items()
        if not _same(given, usual.get(key, inspect.Parameter.empty))
    }
    return {"name": name, **own}


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, bool | int | float | str) and one == other)


def name_of(kind: type) -> str | None:
    """The name by which a class can be found again; None if there is none.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> name_of(DecisionTreeRegressor)
    'sklearn.tree:DecisionTreeRegressor'
    """
    for place in _places(kind.__module__):
        module = sys.modules.get(place)
        if getattr(module, kind.__name__, None) is kind:
            return f"{getattr(module, WRITTEN, place)}:{kind.__name__}"
    return None


def _places(module: str) -> Iterator[str]:
    """The modules in which users look for a class that a module defines: before the first private name, and itself."""
    parts = module.split(".")
    private = next((i for i, part in enumerate(parts) if i and part.startswith("_")), None)
    if private is not None:
        yield ".".join(parts[:private])
    yield module


def _plain(where: str, value: Any) -> Any:
    if is_dict(value):
        return {key: _plain(f"{where}.{key}", one) for key, one in value.items()}
    if is_list(value) or is_tuple(value):
        return [_plain(where, one) for one in value]
    if is_array(value):
        return value.tolist()
    if hasattr(value, "item"):  # a number of NumPy
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if _is_estimator(value):
        return described(where, value)
    raise errors.ParameterError(
        f"{where}: {type(value).__name__} has no plain description, which a file needs; give numbers, texts, lists, or "
        "estimators"
    )
