"""What a rule has to answer with, an action, and how to say that it does not.

A rule without `return`, or one that returns a fraction, is refused where its answer is used, in the midst of a loop:
the author of the rule needs to know which of the two functions it was.
"""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, Final, cast

import numpy as np

from rlsuite.core.checks import is_tuple
from rlsuite.core.compilation import Compiled
from rlsuite.errors import CompilationError
from rlsuite.training.kernels import Rule

WHOLE: Final = re.compile(r"u?int\d+|bool|Literal\[(int|bool)\]\(.*\)")
"""Numba's names of the types that an action can have."""

_PACKAGE: Final = Path(__file__).resolve().parents[1]


def checked_answers(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a loop in Python, with a rule that checks its answers, if it is not one of rlsuite's."""
    return tuple(
        Rule(*(_checked(name, function) for name, function in zip(Rule._fields, part, strict=True)))
        if isinstance(part, Rule)
        else part
        for part in arguments
    )


@contextmanager
def named_answers(arguments: tuple[Any, ...]) -> Generator[None]:
    """Say of a loop that cannot be compiled which function of the rule returns no action; a context manager.

    Raises
    ------
    CompilationError
        If one of them does not; otherwise the error that was raised.
    """
    try:
        yield
    except CompilationError as error:
        for part in arguments:
            for name, function in zip(Rule._fields, part, strict=True) if isinstance(part, Rule) else ():
                wrong = [one for one in function.returned() if not WHOLE.fullmatch(one)]
                if wrong:
                    raise _no_action(name, function.function, _in_words(wrong[-1])) from None
        for part in _functions_in(arguments):
            source = part.function if isinstance(part, Compiled) else part
            where = f"{source.__qualname__}(), line {source.__code__.co_firstlineno} of {_file_of(source).name},"
            if isinstance(part, FunctionType):
                raise CompilationError(f"{where} is a plain function: write @rlsuite.compiled above it") from None
            ours = _file_of(source).is_relative_to(_PACKAGE)
            if not ours and "None" in str(error) and "none" in part.returned():
                raise CompilationError(f"{where} returns None, and its result is needed: end it with return") from None
        raise


def _functions_in(value: object) -> Iterator[Any]:
    """The functions that tuples are made of, compiled or not."""
    kinds: Any = (Compiled, FunctionType)
    if isinstance(value, kinds):
        yield value
    elif is_tuple(value):
        for part in value:
            yield from _functions_in(part)


def _file_of(source: Any) -> Path:
    return Path(source.__code__.co_filename).resolve()


def _checked(name: str, function: Any) -> Any:
    """A function of a rule that raises CompilationError if it returns no action."""
    if not isinstance(function, FunctionType) or _file_of(function).is_relative_to(_PACKAGE):
        return function

    def checked(*arguments: Any) -> Any:
        action: object = function(*arguments)
        if not isinstance(action, int | np.integer | np.bool_):
            found = "None" if action is None else type(action).__name__
            raise _no_action(name, function, found)
        return cast("int", action)

    return checked


def _in_words(numba_type: str) -> str:
    """What a function returns, from numba's name of its type."""
    if numba_type == "none":
        return "None"
    if numba_type.startswith("OptionalType"):
        return "None on some of its ways"
    return re.sub(r"\(.*", "", numba_type.replace("unicode_type", "str").replace("Literal[str]", "str"))


def _no_action(name: str, function: Any, found: str) -> CompilationError:
    code = function.__code__
    what = "the first action of an episode" if name == "begin" else "the next action"
    ends = "round it with int(...)" if found.startswith("float") else "return the number of the action"
    if "None" in found:
        ends = "end every way through it with return"
    return CompilationError(
        f"{function.__qualname__}(), line {code.co_firstlineno} of {Path(code.co_filename).name}, returns {found}; "
        f"{name} has to return {what}, a whole number: {ends}, for example return rl.choose(memory, "
        f"{'state' if name == 'begin' else 't.next_state'}, rng)"
    )
