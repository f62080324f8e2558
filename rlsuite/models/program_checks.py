"""What Storm cannot be given: a division by a constant 0 ends the whole process, and 1e-99999999 takes it hours.

Such programs are refused before Storm sees them. What follows each ``/``, and the second argument of ``mod``, is
computed as far as it consists of numbers and constants. A divisor with variables is no danger: Storm computes it with
floating-point numbers, state by state.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

from rlsuite.core.narrowing import is_mapping, is_sequence
from rlsuite.errors import FileError

_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3}(?![0-9]))?|\.[0-9]+)|([A-Za-z_]\w*)|(.))")
_COMMENT = re.compile(r"//[^\n]*")
_HUGE = re.compile(r"[0-9]\.?[eE][-+]?[0-9]{4,}")
_DEFINED = re.compile(r"\b(?:const\s+(?:int\s+|double\s+|bool\s+)?|formula\s+)(\w+)\s*=\s*([^;]+);")
DEEPEST: Final = 50
"""Definitions within definitions, and brackets within brackets."""

Value: TypeAlias = Fraction | None
"""None if it is not a constant, or not known to be one."""


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {"min": min, "max": max, "floor": math.floor, "ceil": math.ceil}
_OPERATIONS: Final[Mapping[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
}


class _Token(NamedTuple):
    text: str
    at: int


def check_program(path: str | os.PathLike[str], text: str, given: Mapping[str, bool | int | float]) -> None:
    """Raise `FileError` if a program of PRISM divides by a constant 0, or has a huge exponent; the line is named.

    Parameters
    ----------
    path
        Named in the error.
    text : str
        The program.
    given : mapping
        The constants that it leaves open.
    """
    text = _COMMENT.sub("", text)
    _check_exponents(path, text)
    known: dict[str, Value | str] = {name: match for name, match in _DEFINED.findall(text)}
    known |= {name: Fraction(value) for name, value in given.items()}
    tokens = _tokens(text)
    for k, token in enumerate(tokens):
        begin = k + 1
        if token.text == "mod" and k + 1 < len(tokens) and tokens[k + 1].text == "(":
            begin = _after_comma(tokens, k + 2)
        elif token.text != "/":
            continue
        parser = _Parser(tokens, begin, known, 0)
        if (parser.factor() if token.text == "/" else parser.sum()) == 0:
            line = text.count("\n", 0, token.at) + 1
            divisor = text[tokens[begin].at : tokens[parser.k - 1].at + len(tokens[parser.k - 1].text)]
            raise FileError(f"{path}:{line}: it divides by {divisor.strip()!r}, which is 0")


def check_jani(path: str | os.PathLike[str], text: str, given: Mapping[str, bool | int | float]) -> None:
    """Raise `FileError` if a JANI model divides by a constant 0, or has a huge exponent, as `check_program`."""
    _check_exponents(path, text)
    try:
        model: object = json.loads(text)
    except (ValueError, RecursionError):
        return  # Storm says what is wrong
    known: dict[str, object] = {}
    listed = model.get("constants") if is_mapping(model) else None
    for one in listed if is_sequence(listed) else ():
        if is_mapping(one):
            known[str(one.get("name"))] = one.get("value")
    known |= given
    waiting = [model]
    while waiting:
        one = waiting.pop()
        if is_mapping(one):
            if one.get("op") in ("/", "%") and _jani(one.get("right"), known, 0) == 0:
                raise FileError(f"{path}: it divides by {json.dumps(one['right'])[:60]}, which is 0")
            waiting += one.values()
        elif is_sequence(one) and not isinstance(one, str):
            waiting += one


def _check_exponents(path: str | os.PathLike[str], text: str) -> None:
    """Storm reads decimals as fractions of whole numbers, which may have as many digits as the exponent says."""
    found = _HUGE.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise FileError(f"{path}:{line}: the exponent of {found[0][:40]!r} is too large; three digits are enough")


def _jani(expression: object, known: Mapping[str, object], depth: int) -> Value:
    if depth > DEEPEST:
        return None
    if isinstance(expression, int | float) and math.isfinite(expression):
        return Fraction(expression)
    if isinstance(expression, str) and expression in known:
        return _jani(known[expression], known, depth + 1)
    operation = _OPERATIONS.get(str(expression.get("op"))) if is_mapping(expression) else None
    if operation is None or not is_mapping(expression):
        return None
    one, other = (_jani(expression.get(side), known, depth + 1) for side in ("left", "right"))
    return _computed(operation, one, other)


def _computed(operation: Callable[..., Any], *values: Value) -> Value:
    """Return the value of an operation; None if an argument is unknown, or it divides by 0 itself."""
    if None in values:
        return None
    try:
        return Fraction(operation(*values))
    except (ZeroDivisionError, TypeError):
        return None


def _tokens(text: str) -> list[_Token]:
    return [_Token(match[0].strip(), match.end() - len(match[0].strip())) for match in _TOKEN.finditer(text)]


def _after_comma(tokens: Sequence[_Token], k: int) -> int:
    """Return where the second argument begins, of the call whose first one begins at `k`."""
    depth = 0
    for at in range(k, len(tokens)):
        text = tokens[at].text
        depth += (text in "([") - (text in ")]")
        if depth < 0 or text == ";":
            break
        if depth == 0 and text == ",":
            return at + 1
    return len(tokens)


class _Parser:
    """Computes an expression from the tokens of a program, as far as it is one of numbers and constants."""

    def __init__(self, tokens: Sequence[_Token], k: int, known: Mapping[str, Value | str], depth: int) -> None:
        self.tokens = tokens
        self.k = k
        self.known = known
        self.depth = depth

    def _next(self) -> str:
        return self.tokens[self.k].text if self.k < len(self.tokens) else ""

    def sum(self) -> Value:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Value:
        return self._chain(("*", "/"), self.factor)

    def _chain(self, operations: tuple[str, ...], operand: Callable[[], Value]) -> Value:
        value = operand()
        while (operation := self._next()) in operations:
            self.k += 1
            value = _computed(_OPERATIONS[operation], value, operand())
        return value

    def factor(self) -> Value:
        text = self._next()
        self.k += 1
        self.depth += 1
        if not text or self.depth > DEEPEST:
            return None
        if text == "-":
            value = self.factor()
            return None if value is None else -value
        if text == "(":
            return self._closed(self.sum())
        if text[0].isdigit() or text[0] == ".":
            return Fraction(text)
        if self._next() == "(" and text in _FUNCTIONS:
            self.k += 1
            arguments = [self.sum()]
            while self._next() == ",":
                self.k += 1
                arguments.append(self.sum())
            return self._closed(_computed(_FUNCTIONS[text], *arguments))
        found = self.known.get(text)
        if not isinstance(found, str):
            return found
        tokens = _tokens(found)
        inner = _Parser(tokens, 0, self.known, self.depth)
        value = inner.sum()
        return value if inner.k >= len(tokens) else None

    def _closed(self, value: Value) -> Value:
        """Return a value whose bracket is closed; None if something else follows."""
        closed = self._next() == ")"
        self.k += closed
        self.depth -= 1
        return value if closed else None
