"""The state of a step when it draws: a step in the same state does the same again.

This is how a loop that draws until something fits, as ``while cell in walls: cell = rng.integers(9)``, is recognised.
`DrawSite` is the chain of calls that leads to a draw. What the step knows there are the local variables that it may
still read, which the byte code says, and what stands on the stacks of its frames, which cannot be seen. The byte code
says where that can only be constants, names and attributes. Otherwise it is known by the moment at which it was put
there (`Moments`): when a round of a for loop began, or a function was called. A draw in the middle of a computation, as
the second one of ``rng.integers(3) + rng.integers(3)``, is `NotComparable`; the first one is not.
"""

import contextlib
import dis
import io
import pickle
import sys
import types
from collections.abc import Callable, Container, Generator, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from rlsuite.environments.symbolic import UniformNumber, UnreadContainer, UnreadNumber, name_of_unread


class NotComparable(Exception):
    """Why a step cannot be compared with its state at an earlier draw."""


class Slot(NamedTuple):
    """A value on the stack of a frame, or a function that is called there."""

    kind: str
    """"constant", "global", "local", "cell", "attribute", "method", "iterator" or "computed"."""
    name: str = ""
    line: int = 0
    """Of the for loop of an iterator."""


Stack: TypeAlias = tuple[Slot, ...]

_CHANGES = ("cell", "attribute", "computed")
"""What may be another value than that which has its name."""
_CONSTANT, _COMPUTED = Slot("constant"), Slot("computed")
_METHODS_ARE_ATTRIBUTES = sys.version_info >= (3, 12)
_ENDS = ("RETURN_", "RERAISE", "RAISE_", "INTERPRETER_EXIT", "JUMP_FORWARD", "JUMP_BACKWARD")
_COMPUTES = ("BINARY_", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_", "TO_BOOL", "BUILD_", "CALL", "FORMAT_")
_FUNCTION = "MAKE_FUNCTION"
_ADDS = ("LIST_", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_")
_DOES_NOTHING = ("NOP", "RESUME", "PRECALL", "KW_NAMES", "EXTENDED_ARG", "MAKE_CELL", "COPY_FREE_VARS", "NOT_TAKEN")
_ONLY_POPS = (
    *_ENDS,
    *_ADDS,
    *_DOES_NOTHING,
    "POP_TOP",
    "POP_JUMP_",
    "POP_ITER",
    "STORE_",
    "DELETE_",
    "END_FOR",
    "JUMP_",
)
_READS_LOCALS = {"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"}


class _Analysis(NamedTuple):
    offsets: tuple[int, ...]
    stacks: Mapping[int, Stack]
    """What stands on the stack before each instruction."""
    live: Mapping[int, frozenset[str]] | None
    """The local variables that may be read after each instruction; None if all may be."""
    pops: Mapping[int, int]
    """How many slots each call takes."""
    rounds: frozenset[int]
    """The lines of for loops."""


_known: dict[int, tuple[CodeType, _Analysis]] = {}  # by identity, as the hash of code takes long


def _analysis(code: CodeType) -> _Analysis:
    if id(code) not in _known:
        _known[id(code)] = code, _analysed(code)
    return _known[id(code)][1]


def _analysed(code: CodeType) -> _Analysis:
    instructions = list(dis.get_instructions(code))
    index = {one.offset: i for i, one in enumerate(instructions)}
    lines: dict[int, int] = {}
    for begin, end, line in code.co_lines():
        lines |= dict.fromkeys(range(begin, end, 2), line or 0)
    stacks: dict[int, Stack] = {0: ()}
    follows: dict[int, list[int]] = {}
    waiting = [0]
    while waiting:
        i = waiting.pop()
        one = instructions[i]
        before = stacks[one.offset]
        after: list[tuple[int, Stack]] = []
        if one.opcode in dis.hasjrel:
            after.append((index[one.argval], _stack_after(one, before, True, lines)))
        if not one.opname.startswith(_ENDS):
            after.append((i + 1, _stack_after(one, before, False, lines)))
        follows[i] = [j for j, _ in after]
        for j, stack in after:
            offset = instructions[j].offset
            known = stacks.get(offset)
            if known is not None:
                if len(known) != len(stack):  # an instruction of a Python that is not known
                    return _Analysis((), {}, None, {}, frozenset())
                stack = tuple(a if a == b else _COMPUTED for a, b in zip(known, stack, strict=True))
            if stack != known:
                stacks[offset] = stack
                waiting.append(j)
    return _Analysis(
        tuple(index),
        stacks,
        _live(code, instructions, follows),
        {
            one.offset: 1 - dis.stack_effect(one.opcode, one.arg)
            for one in instructions
            if one.opname.startswith("CALL")
        },
        frozenset(lines[one.offset] for one in instructions if one.opname == "FOR_ITER"),
    )


def _stack_after(one: dis.Instruction, stack: Stack, jump: bool, lines: Mapping[int, int]) -> Stack:
    """What stands on the stack after an instruction, of whatever version of Python."""
    op: str = one.opname
    name: Any = one.argval
    effect = dis.stack_effect(one.opcode, one.arg, jump=jump)
    odd = one.arg is not None and one.arg % 2 == 1
    match op:
        case "LOAD_CONST" | "PUSH_NULL" | "LOAD_SMALL_INT" | "LOAD_CLOSURE":
            return (*stack, _CONSTANT)
        case "LOAD_GLOBAL":
            return (*stack, *([_CONSTANT] * (effect - 1)), Slot("global", name))
        case "LOAD_DEREF":
            return (*stack, Slot("cell", name))
        case "LOAD_METHOD":
            return (*stack[:-1], Slot("method", name), stack[-1])
        case "LOAD_ATTR":
            if odd and _METHODS_ARE_ATTRIBUTES:
                return (*stack[:-1], Slot("method", name), stack[-1])
            return (*stack[:-1], Slot("attribute", name))
        case "LOAD_SUPER_ATTR":
            return (*stack[:-3], Slot("method", name), stack[-1])[: len(stack) + effect]
        case "COPY":
            return (*stack, stack[-int(name)])
        case "SWAP":
            low = len(stack) - int(name)
            return (*stack[:low], stack[-1], *stack[low + 1 : -1], stack[low])
        case "FOR_ITER":
            iterating = (*stack[:-1], Slot("iterator", line=lines[one.offset]))
            return (*iterating, _COMPUTED)[: len(stack) + effect]
        case "GET_ITER":
            return (*stack[:-1], _COMPUTED)
        case _:
            pass
    if op.startswith("LOAD_FAST") and "CLEAR" not in op:
        loaded: Stack = tuple(Slot("local", each) for each in _names(name))
        return stack + loaded
    if "STORE_FAST" in op or op == "DELETE_FAST":
        names = _names(name)
        kept = [_COMPUTED if slot.kind == "local" and slot.name in names else slot for slot in stack]
        if op == "STORE_FAST_LOAD_FAST":
            return (*kept[:-1], Slot("local", names[1]))
        return tuple(kept[: len(kept) + effect])
    if op.startswith(_COMPUTES) or op == _FUNCTION:
        kept = stack[: len(stack) + effect - 1]
        if op.startswith("CALL"):  # which may have changed any attribute
            kept = tuple(_COMPUTED if slot.kind in _CHANGES else slot for slot in kept)
        return (*kept, _COMPUTED)
    if op.startswith(_ONLY_POPS) and effect <= 0:
        return stack[: len(stack) + effect]
    return (_COMPUTED,) * (len(stack) + effect)


def _names(argument: Any) -> tuple[str, ...]:
    return (argument,) if isinstance(argument, str) else argument


def _live(
    code: CodeType, instructions: list[dis.Instruction], follows: Mapping[int, list[int]]
) -> Mapping[int, frozenset[str]] | None:
    """The local variables that may be read after each instruction, before they are set."""
    if code.co_exceptiontable or _READS_LOCALS & {*code.co_names}:
        return None
    before: dict[int, frozenset[str]] = {}
    after: dict[int, frozenset[str]] = {}
    changed = True
    while changed:
        changed = False
        for i in sorted(follows, reverse=True):
            one = instructions[i]
            live = frozenset[str]().union(*(before.get(j, frozenset()) for j in follows[i]))
            after[one.offset] = live
            for op, name in reversed(_uses(one)):
                live = live - {name} if op == "STORE" else live | {name}
            if live != before.get(i):
                before[i] = live
                changed = True
    return after


def _uses(one: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does with local variables, in its order."""
    if "_FAST" not in one.opname:
        return []
    names = _names(one.argval)
    if one.opname == "STORE_FAST_LOAD_FAST":
        return [("STORE", names[0]), ("LOAD", names[1])]
    return [("STORE" if one.opname.startswith("STORE_FAST") else "LOAD", name) for name in names]


_OURS = {__name__, UniformNumber.__module__, "rlsuite.environments.scripted_generator"}
"""Modules whose functions keep nothing that a step knows."""


class Moments:
    """Tells when a round of a for loop began, or a function was called.

    A moment is what the step had drawn until then, and the number of such moments before. As a step does the same
    whenever it draws the same, equal moments are one, also in two runs of the step.
    """

    def __init__(self, drawn: Callable[[], object]) -> None:
        self._drawn = drawn
        self._latest: dict[tuple[int, int], tuple[int, object]] = {}
        self._n = 0

    def of(self, frame: FrameType, line: int = 0) -> object:
        """Return when a frame was entered, or when the round of its for loop in a line began."""
        moment = self._latest.get((id(frame), line))
        if moment is not None and moment[1] == self._drawn():
            raise NotComparable("it draws once in each round of a for loop, or of a function that is not Python code")
        return moment

    @contextlib.contextmanager
    def noted(self) -> Generator[None]:
        """Record the moments of what is called meanwhile."""
        self._latest.clear()
        self._n = 0
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _note(self, frame: FrameType, line: int) -> None:
        self._n += 1
        self._latest[id(frame), line] = (self._n, self._drawn())

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_globals.get("__name__") in _OURS:
            return None
        self._note(frame, 0)
        lines = _analysis(frame.f_code).rounds
        if not lines:
            return None

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line" and frame.f_lineno in lines:
                self._note(frame, frame.f_lineno)
            return trace

        return trace


class DrawSite(NamedTuple):
    """Where a step draws: the calls that lead there, innermost first."""

    frames: tuple[tuple[int, int], ...]
    """The identities of the code, and the instructions."""

    @classmethod
    def of(cls, frame: FrameType | None, below: Container[int]) -> Self:
        """Return the site of a frame, up to the frame of one of the functions that call the step."""
        frames: list[tuple[int, int]] = []
        while frame is not None and id(frame.f_code) not in below:
            frames.append((id(frame.f_code), frame.f_lasti))
            frame = frame.f_back
        return cls(tuple(frames))


def known_at(site: DrawSite, frame: FrameType, method: str, moments: Moments) -> list[object]:
    """Return all that a step knows where it calls a method of its generator, apart from what objects hold.

    Raises
    ------
    NotComparable
        If there may be more.
    """
    known: list[object] = []
    inner: FrameType | None = None
    here: FrameType | None = frame
    for _, last in site.frames:
        assert here is not None
        code = here.f_code
        found = _analysis(code)
        offset = max((offset for offset in found.offsets if offset <= last), default=-1)
        beneath = _beneath(found, offset, here, method if inner is None else inner.f_code)
        if inner is not None and (beneath is None or any(slot.kind in _CHANGES for slot in beneath)):
            known.append(moments.of(inner))  # whatever stands there has stood there since the call
            beneath = ()
        if beneath is None or any(slot.kind == "computed" for slot in beneath):
            raise NotComparable(f"`{code.co_name}` draws in the middle of a computation")
        values = here.f_locals
        live = {*values} if found.live is None else {*found.live.get(offset, values)}
        live |= {*code.co_cellvars, *code.co_freevars, *(slot.name for slot in beneath if slot.kind == "local")}
        known += [moments.of(here, slot.line) for slot in beneath if slot.kind == "iterator"]
        known.append((code, offset, {name: values[name] for name in sorted(live) if name in values}))
        known.append({name: here.f_globals[name] for name in code.co_names if name in here.f_globals})
        inner, here = here, here.f_back
    return known


def _beneath(found: _Analysis, offset: int, frame: FrameType, called: str | CodeType) -> Stack | None:
    """What stands on a stack while a function, or a method of the generator, is called; None if that is not known."""
    stack, pops = found.stacks.get(offset), found.pops.get(offset)
    if stack is None or pops is None:
        return None
    callee = next((slot for slot in stack[len(stack) - pops :] if slot.name), _COMPUTED)
    name = called.co_name if isinstance(called, CodeType) else called
    if callee.kind in ("attribute", "method"):
        direct = callee.name == name
    else:  # a built-in function that calls it may keep a state of its own
        values = frame.f_globals if callee.kind == "global" else frame.f_locals
        function: Any = getattr(values.get(callee.name), "__func__", values.get(callee.name))
        code = getattr(function, "__code__", None)
        direct = code is called if isinstance(called, CodeType) else code is not None and function.__name__ == name
    return stack[: len(stack) - pops] if direct else None


class Contents(pickle.Pickler):
    """Pickles the values that a step can read, to compare them: equal bytes mean equal values.

    `kept` are objects that are known by their identity, and kept alive for it; `named` those that have a name.
    """

    def __init__(self, named: Mapping[int, str], kept: dict[int, object]):
        self._file = io.BytesIO()
        super().__init__(self._file, pickle.HIGHEST_PROTOCOL)
        self._named = named
        self._kept = kept
        self._buffers: dict[int, tuple[int, object]] = {}

    @classmethod
    def of(cls, values: object, named: Mapping[int, str], kept: dict[int, object]) -> bytes:
        """Return the bytes of some values.

        Raises
        ------
        NotComparable
            If they cannot be compared.
        """
        contents = cls(named, kept)
        try:
            contents.dump(values)
        except Exception as error:  # whatever a class of another package raises
            raise NotComparable(str(error)) from error
        return contents._file.getvalue()

    def persistent_id(self, obj: Any) -> Any:
        """Name what is not copied."""
        if id(obj) in self._named:
            return self._named[id(obj)]
        if type(obj) is UniformNumber:
            raise NotComparable("it still uses a random number that was drawn before")
        if type(obj) in (UnreadNumber, UnreadContainer):
            return ("unread", name_of_unread(obj))
        if isinstance(obj, types.FunctionType):
            self._kept[id(obj.__code__)] = obj.__code__
            cells = tuple(cell.cell_contents for cell in obj.__closure__ or ())
            return ("function", id(obj.__code__), cells, obj.__defaults__, obj.__kwdefaults__, obj.__dict__)
        if isinstance(obj, type | types.ModuleType | CodeType) or (
            isinstance(obj, types.BuiltinFunctionType) and isinstance(obj.__self__, types.ModuleType | None)
        ):
            self._kept[id(obj)] = obj
            return ("object", id(obj))
        return _in_memory(obj, self._buffers) if type(obj) is np.ndarray else None


def _in_memory(array: Any, buffers: dict[int, tuple[int, object]]) -> object:
    """What an array holds, and in which memory: views of one array change together. None for an array of objects."""
    if array.dtype.hasobject:
        return None
    root: Any = array
    while type(root.base) is np.ndarray:
        root = root.base
    buffer, _ = buffers.setdefault(id(root), (len(buffers), root))
    start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return ("array", buffer, start, array.strides, array.shape, array.dtype.str, array.tobytes())
