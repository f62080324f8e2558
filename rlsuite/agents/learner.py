"""The base of whatever commands, files of experiments and `rlsuite.train` take as an agent."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, cast

from rlsuite.core.described import Described, Plain, describe_part
from rlsuite.core.shown import ShowsItself


class Learner(Described, ShowsItself):
    """Base of all agents: of `Agent`, which learns step by step, and of methods that learn in other ways.

    A subclass is a dataclass with a parameter `gamma` and the methods ``learn(env, *, steps=, episodes=, seed=,
    evaluate_every=, record_every=, progress=)``, `act` and `save`; `learn` leaves its `Record` in ``record_``.
    """

    described_as = "agent"

    counts: ClassVar[str] = "steps"
    """What a length in steps counts."""

    @classmethod
    def remark_on(cls, given: Mapping[str, object]) -> str:
        """Say how an attribute of the class becomes a parameter of its rule."""
        name = next((one for one in given if one in cls._own_names()), "")
        if not name or not hasattr(cls, "rule_parameters"):
            return ""
        value: object = getattr(cls, name, given[name])
        kind = type(value).__name__ if type(value) in (int, bool) else "float"
        declared = f"{name}: rlsuite.Parameter[{kind}] = {value!r}"
        return f". {cls.__name__}.{name} is not a parameter yet: write {declared} in the class"

    @classmethod
    def _own_names(cls) -> set[str]:
        """Attributes, with a value or an annotation, of the classes that are not rlsuite's."""
        own = [kind for kind in cls.__mro__ if not kind.__module__.startswith(("rlsuite.", "builtins"))]
        return {name for kind in own for name in (*vars(kind), *vars(kind).get("__annotations__", {}))}

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class can learn; base classes cannot."""
        return callable(getattr(cls, "learn", None))

    @classmethod
    def default_values(cls) -> dict[str, object]:
        """The parameters that have a default, with it."""
        found: dict[str, object] = {}
        for field in dataclasses.fields(cast(Any, cls)):
            make: Any = field.default_factory
            value: Any = field.default if make is dataclasses.MISSING else make()
            if field.init and value is not dataclasses.MISSING:
                found[field.name] = value
        return found

    @classmethod
    def defaults(cls) -> Plain:
        """The class as plain data, with the parameters that it has by default."""
        values = {key: value for key, value in cls.default_values().items() if value is not None}
        return {"name": cls.__name__, **{key: describe_part(key, value) for key, value in values.items()}}
