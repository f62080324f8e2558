"""Mistakes in compiled functions, in one sentence each: where, what, and the mend.

Numba says in a hundred lines why it cannot compile a function; and machine code says nothing of an index that lies
outside of an array: it reads or changes other memory. Python, which runs the first steps of a run, knows it.
"""

import dis
import linecache
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple

from rlsuite.core.checks import is_tuple
from rlsuite.synonyms import nearest

LONGEST: Final = 200
"""Characters of numba's own words that are repeated."""

WRITTEN: Final = "A compiled function is written in the part of Python and NumPy that numba knows"
IN_PLACE: Final = (
    "It is marked in_place=True: it makes no new arrays, and uses no methods of arrays such as .max(); write the loop, "
    "or leave in_place out"
)
OPERATORS: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "eq": "==",
    "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "getitem": "[]", "setitem": "[] =",
}  # fmt: skip

_PACKAGE = Path(__file__).resolve().parents[1]


class Place(NamedTuple):
    """A line that numba names."""

    file: str
    line: int


def in_words(asked: FunctionType, error: Exception, functions: "list[tuple[FunctionType, bool]]") -> str:
    """Say where a function cannot be compiled, why not, and what to write.

    Parameters
    ----------
    asked : function
        What was to be compiled.
    error : Exception
        What numba raised.
    functions : list of (function, bool)
        All functions that are marked as compiled, and whether they are marked ``in_place=True``.
    """
    message = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    place = _place(message) or _assignment(message, functions)
    names: dict[str, Any] = {}
    what, in_place = f"{asked.__qualname__}()", any(one is asked and marked for one, marked in functions)
    if place is not None:
        around = [(f, marked) for f, marked in functions if _holds(f, place)]
        name = ""
        if around:
            name, in_place = f" in {around[-1][0].__qualname__}()", around[-1][1]
            names = around[-1][0].__globals__
        code = linecache.getline(place.file, place.line).strip()
        what = f"line {place.line} of {Path(place.file).name}{name}{f', `{code}`,' if code else ''}"
    reason, mend = _reason(message, names)
    if place is not None and (found := re.search(r"Unknown attribute '(\w+)'", message)):
        code = linecache.getline(place.file, place.line)
        if re.search(rf"\.parameters\.{found[1]}\b", code):
            reason = f"{found[1]} is not a parameter of the agent"
            mend = f"Declare it in the class: {found[1]}: rlsuite.Parameter[float] = 0.5"
    return f"{what} cannot be compiled: {reason}. {IN_PLACE if in_place and mend == WRITTEN else mend}"


def outside(error: Exception) -> str:
    """Say where an index lies outside of an array, or a variable has no value; empty if neither is what is wrong.

    The line is the last one outside of rlsuite; if there is none, such a function has given the index to rlsuite.
    """
    unbound, said = isinstance(error, UnboundLocalError), str(error)
    if not unbound and not (isinstance(error, IndexError) and ("out of bounds" in said or "out of range" in said)):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    began = next((i for i, one in enumerate(frames) if _is_ours(one.filename)), len(frames))
    others = [one for one in frames[began:] if not (_is_ours(one.filename) or "numpy" in Path(one.filename).parts)]
    frame = others[-1] if others else frames[-1]
    given = "" if others else "; a function of yours has given an index, or a number of entries, that is too large"
    where = f"line {frame.lineno} of {Path(frame.filename).name} in {frame.name}(), `{frame.line}`"
    else_done = "go on with any value" if unbound else "read or change other memory"
    return f"{where}: {said}{given}. Machine code does not look, and would {else_done}"


def _place(message: str) -> Place | None:
    """The line that numba complains of: one outside of numba and rlsuite, if there is one."""
    found = re.findall(r'File "([^"\n]+)", line (\d+)|(?:at|Raised from) ([^\n(]+?) \((\d+)\)', message)
    places = [Place(first or second, int(line or other)) for first, line, second, other in found]
    others = [place for place in places if not _is_ours(place.file)]
    return next(iter(others or places), None)


def _assignment(message: str, functions: "list[tuple[FunctionType, bool]]") -> Place | None:
    """The line that gives a field of a NamedTuple a new value, for which numba names none."""
    found = re.search(r"No definition for lowering .*\.(\w+) = ", message)
    for function, _ in reversed(functions) if found else ():
        for instruction in dis.get_instructions(function.__code__):
            assigns = instruction.opname == "STORE_ATTR" and found is not None and instruction.argval == found[1]
            if assigns and not _is_ours(function.__code__.co_filename):
                line = instruction.positions.lineno if instruction.positions is not None else None
                return Place(function.__code__.co_filename, line or function.__code__.co_firstlineno)
    return None


def _is_ours(file: str) -> bool:
    path = Path(file)
    return "numba" in path.parts[:-1] or path.resolve().is_relative_to(_PACKAGE)


def _holds(function: FunctionType, place: Place) -> bool:
    """Whether a line belongs to a function."""
    code = function.__code__
    lines = [line for *_, line in code.co_lines() if line is not None]
    same = Path(code.co_filename).name == Path(place.file).name
    return same and code.co_firstlineno <= place.line <= max(lines, default=0)


def _reason(message: str, names: dict[str, Any]) -> tuple[str, str]:
    """What is wrong, and what to write, given the names that the function knows."""
    if found := re.search(r"Untyped global name '(\w+)':.*\n?.*?<class '([\w.]+)'>", message):
        name, kind = found[1], found[2].rpartition(".")[2]
        if kind == "function":
            return f"{name} is a plain Python function", f"Write @rl.compiled above def {name}(...)"
        return f"it uses {name}, of the type {kind}", (
            "A compiled function may use the numbers, strings, tuples and arrays of its module, and compiled "
            "functions; what changes while learning is kept in the memory"
        )
    if found := re.search(r"Unknown attribute '(\w+)' of type ([\w.]+)", message):
        return _attribute(found[1], found[2], names)
    if found := re.search(r"No definition for lowering (\w+)\(.*\)\.(\w+) = ", message):
        return f"{found[2]} of a {found[1]} cannot be given a new value, as a {found[1]} is a NamedTuple", (
            "Change the entries of one of its arrays instead"
        )
    if found := re.search(r"Cannot unify (.+) and (.+) for '([$\w.]+)'", message):
        name = "a value" if found[3].startswith("$") else found[3].partition(".")[0]
        return f"{name} is {_short(found[1])} in one place and {_short(found[2])} in another", (
            "A variable of a compiled function has one type"
        )
    if found := re.search(r"Cannot bind 'args=.*due to \"TypeError: (.*)\"", message):
        return f"a function is called with other arguments than it has ({found[1]})", "Compare the call with its def"
    if found := re.search(r"wrong tuple length for (\w+): ', 'expected (\d+), got (\d+)'", message):
        return f"{found[1]} has {found[3]} parts, and {found[2]} names are given", (
            f"Read the fields by their names, as in {found[1]}.reward of a transition, or give a name to each part"
        )
    if "Invalid use of array(" in message and "with parameters" in message:
        return "an array is called like a function", "An entry is read with brackets, as in memory.q[state, action]"
    if "_ol_array_allocate" in message:
        return "it makes a new array", IN_PLACE
    if found := re.search(r"No implementation of function Function\(<[a-z-]+ (?:function )?'?([\w.]+)", message):
        return _implementation(found[1], message), WRITTEN
    lines = [line.strip(" -\t") for line in message.splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in", "File ", "During", "Resolution"))]
    return _short(said[0].partition(" Raised from ")[0]).rstrip(".") if said else "numba gives no reason", WRITTEN


def _attribute(name: str, kind: str, names: dict[str, Any]) -> tuple[str, str]:
    if kind.startswith("NumPyRandomGenerator"):
        return (
            f"numba's random generator has no {name}",
            "It has rng.random(), rng.integers(low, high) and rng.normal()",
        )
    if kind == "array":
        return f"an array has no {name} that numba knows", WRITTEN
    if kind == "Module":
        return f"numba has no {name} of this module", "Random numbers come from rng, as in rng.random()"
    if kind in ("Tuple", "UniTuple"):
        return f"a tuple has no {name}", "Its parts are read by their places, as in state[0]"
    fields = _fields_of(kind, names)
    alike = nearest(name, fields)
    mend = f"Did you mean {alike[0]}? It has {', '.join(fields)}" if alike else f"It has {', '.join(fields)}"
    return f"a {kind} has no {name}", mend if fields else WRITTEN


def _implementation(name: str, message: str) -> str:
    """That there is nothing for these types, with the types if they are few."""
    if name.startswith("NumPyRandomGeneratorType_"):
        return f"rng.{name.partition('_')[2]} takes other arguments, as in rng.integers(0, n)"
    bare = name.removeprefix("_operator.")
    plain = OPERATORS.get(bare) or (f"{OPERATORS[bare[1:]]}=" if bare[:1] == "i" and bare[1:] in OPERATORS else bare)
    types = re.search(rf">>> {re.escape(bare)}\((.*)\)", message)
    shown = _short(types[1]) if types else ""
    if not shown or len(shown) > LONGEST // 2:
        return f"numba has no {plain} for these types"
    return f"numba has no {plain} for the types {shown}"


def _fields_of(name: str, names: dict[str, Any]) -> tuple[str, ...]:
    """The fields of the NamedTuple of a name; empty if there is none, or if there are different ones."""
    known = getattr(names.get(name), "_fields", ())
    if known:
        return known
    kinds = {kind._fields for kind in _named_tuples(tuple) if kind.__name__ == name}
    return kinds.pop() if len(kinds) == 1 else ()


def _named_tuples(kind: type) -> Iterator[Any]:
    for below in kind.__subclasses__():
        fields: object = getattr(below, "_fields", None)
        if is_tuple(fields):
            yield below


def _short(said: str) -> str:
    """Numba's words, with short names of types."""
    said = re.sub(r"Literal\[(\w+)\]\([^)]*\)", r"\1", said).replace("unicode_type", "str")
    said = re.sub(r"\b([A-Z]\w*)\(.*\)", r"\1", said)
    said = re.sub(r"\bnone\b", "None", said)
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
