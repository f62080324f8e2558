"""The names that a package gives to its users, from the lines on which type checkers find them.

Such a line is ``from module import Name as Name``: by the rules of typed packages, this form passes a name on. It is
the only place at which the name stands; ``__all__``, ``dir()`` and the loading on first use follow from it.
"""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from rlsuite.synonyms import attribute_error


class Lazy(NamedTuple):
    """What a module needs in order to load its names on first use (PEP 562)."""

    getattr: Callable[[str], Any]
    dir: Callable[[], list[str]]
    all: list[str]


def modules_of_names(package: str) -> dict[str, str]:
    """Return the public names of a package that is being imported, and the module that each comes from.

    >>> modules_of_names("rlsuite")["MDP"]
    'rlsuite.models'
    """
    loader: Any = sys.modules[package].__loader__
    source: str = loader.get_source(package)
    # a line that is too long stands in parentheses
    lines = re.findall(r"^ *from ([\w.]+) import (?:\(\s*)?(\w+) as \2(?:,\s*\))?$", source, flags=re.MULTILINE)
    return dict(sorted((name, module) for module, name in lines))


def loaded_on_first_use(package: str, elsewhere: Mapping[str, str] = {}) -> Lazy:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose lines stand under ``if TYPE_CHECKING``.

    Parameters
    ----------
    package : str
        Its name.
    elsewhere : mapping, optional
        Names that it does not have, and a sentence on each for the error.
    """
    module_of = modules_of_names(package)
    names = list(module_of)
    namespace = vars(sys.modules[package])

    def load(name: str) -> Any:
        if name not in module_of:
            raise attribute_error(f"module {package!r}", name, names, elsewhere)
        from rlsuite.core.interrupts import uninterrupted

        with uninterrupted():
            if module_of[name] == package:
                return import_module(f"{package}.{name}")
            namespace[name] = getattr(import_module(module_of[name]), name)
        return namespace[name]

    def listed() -> list[str]:
        return sorted({*(name for name in namespace if name.startswith("__")), *names})

    return Lazy(load, listed, names)
