"""Parameters of an agent that its rule sees: a field of the class, and a number in the memory.

An agent of your own declares them as `rlsuite.Parameter`, and needs nothing else for a number of its own: it is a
keyword of the constructor, it is in files and on the command line, and the rule finds it in ``memory.parameters``.
"""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, cast, get_args

from rlsuite import errors
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import Compiled
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step

Number = TypeVar("Number", float, int, bool)


class _SeenByTheRule:
    """Marks a field whose number the rule finds in ``memory.parameters``."""


Parameter: TypeAlias = Annotated[Number, _SeenByTheRule()]
"""A number of an agent that its rule finds in ``memory.parameters``: ``share: rlsuite.Parameter[float] = 0.1``."""


def _flag(name: str, value: object) -> bool:
    if value is not True and value is not False:
        raise ParameterError(f"{name}={value!r} is not True or False")
    return value


def _whole(name: str, value: object) -> int:
    return whole_number(name, value, at_least=-(2**63))


CHECKS: Final[Mapping[type, Callable[[str, object], float]]] = {float: finite_number, int: _whole, bool: _flag}


def declare(kind: type[Any]) -> dict[str, type]:
    """Find the parameters that the body of a class declares, and make it a dataclass if there are some.

    Returns
    -------
    dict of str to type
        Those of its bases first; each with its type, which is a key of `CHECKS`.

    Raises
    ------
    ParameterError
        If one is of another type.
    """
    known: dict[str, type] = dict(getattr(kind, "rule_parameters", {}))
    own = {name: _type_of(kind, name, hint) for name, hint in vars(kind).get("__annotations__", {}).items()}
    found = {name: one for name, one in own.items() if one is not None}
    if not found:
        return known
    dataclasses.dataclass(eq=False, kw_only=True)(kind)
    known |= found
    with_fields: Any = NamedTuple  # whose fields differ: type checkers want to know them
    kind.Parameters = made = with_fields("Parameters", [*known.items()])
    # numba keeps machine code for named tuples that can be found by their names
    made.__module__, made.__qualname__ = kind.__module__, f"{kind.__qualname__}.Parameters"
    return known


def check(agent: Any) -> None:
    """Check the parameters that the rule of an agent sees, and store them as numbers of their types.

    Raises
    ------
    ParameterError
        If one is not a number of its type.
    """
    own = cast("type[object]", type(agent))
    if not hasattr(own, "step"):
        raise _not_compiled(own, "step")
    for name, kind in agent.rule_parameters.items():
        setattr(agent, name, CHECKS[kind](name, getattr(agent, name)))


def no_memory(kind: type) -> ParameterError:
    """The error of a class that makes no memory."""
    return ParameterError(
        f"{kind.__name__}.init_memory is missing: derive {kind.__name__} from rlsuite.TabularAgent, which makes a "
        "table, or write init_memory(self, legal, legality), which returns a NamedTuple of arrays and numbers"
    )


def _not_compiled(kind: type, name: str) -> ParameterError:
    has = "is not a compiled function" if hasattr(kind, name) else "is missing"
    of_table = "" if hasattr(kind, name) or name == "step" else "derive from rlsuite.TabularAgent, which has one, or "
    return ParameterError(
        f"{kind.__name__}.{name} {has}: {of_table}write a function outside of the class, with @rlsuite.compiled above "
        f"it, and {name} = that function in the class"
    )


def not_initialised(kind: type) -> ParameterError:
    """The error of a class whose constructor does not call that of its base."""
    return ParameterError(
        f"{kind.__name__}.__init__ has to call super().__init__(...); a number of your own needs no __init__: write "
        "share: rlsuite.Parameter[float] = 0.5 in the class, and the rule reads memory.parameters.share"
    )


def in_memory(agent: Any) -> tuple[Any, ...]:
    """The parameters that the rule of an agent sees, as a NamedTuple; an empty tuple if there are none."""
    names = agent.rule_parameters
    return agent.Parameters(*(getattr(agent, name) for name in names)) if names else ()


def _type_of(kind: type, name: str, hint: Any) -> type | None:
    """The type of a field that the rule sees; None if it does not."""
    if isinstance(hint, str):
        try:
            hint = eval(hint, dict(vars(sys.modules[kind.__module__])))
        except (NameError, AttributeError, TypeError):  # what is imported for type checkers only
            return None
    first, *annotations = get_args(hint) or (hint,)
    if not any(isinstance(annotation, _SeenByTheRule) for annotation in annotations):
        return None
    if first not in CHECKS:
        allowed = ", ".join(f"Parameter[{one.__name__}]" for one in CHECKS)
        raise ParameterError(
            f"{kind.__name__}.{name}: a rule sees numbers only; allowed are {allowed}. Write {name}: "
            "rlsuite.Parameter[float] = ..."
        )
    return first


def step_of(kind: Any) -> Step:
    """The `step` of a class, checked."""
    for name in ("begin", "step"):
        if not isinstance(getattr(kind, name, None), Compiled):
            raise _not_compiled(kind, name)
    begins = list(inspect.signature(kind.begin).parameters)
    if len(begins) != 3:
        raise errors.ParameterError(
            f"{kind.__name__}.begin has the parameters ({', '.join(begins)}), but should have (memory, state, rng)"
        )
    names = list(inspect.signature(kind.step).parameters)
    if len(names) != 3:
        raise errors.ParameterError(
            f"{kind.__name__}.step has the parameters ({', '.join(names)}), but should have (memory, t, rng): t is an "
            "rlsuite.Transition with the fields state, action, reward, next_state, terminated and truncated"
        )
    return kind.step
