"""Uniform numbers, followed through an environment's own step.

A uniform number is a `UniformNumber`: as long as it is only compared, or computed with first, as in
``rng.random() < 0.8`` or ``np.argmax(np.cumsum(p) > u)``, each comparison says at which number the outcome may change,
exactly and however improbable the outcome is. Integers are drawn as they are.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np

from rlsuite.environments.signal_errors import CannotBeFollowed, Signal

_NUMBERS: tuple[Any, ...] = (int, float, np.integer, np.floating)
_ARRAY: Any = np.ndarray

GRID = 1 << 53
"""`Generator.random` returns the multiples of 1 / GRID in [0, 1)."""
PARTS = 1_000
"""Of a function that may rise and fall, parts at whose ends it is looked at."""

Number: TypeAlias = Any
"""Whatever an environment computes with: Python's and NumPy's numbers, arrays, and the class below."""


class Request(NamedTuple):
    """What a step draws: one of `n` integers from `low` on, or one of the GRID uniform numbers."""

    n: int
    low: int = 0
    masked: bool = False
    """Whether it is drawn as `shuffle` does: as many bits as `n` has, until they are less."""


class Draw:
    """One draw: the index of an integer, or the uniform number first / GRID.

    The outcome is the same for all uniform numbers k / GRID with k from `first` to below `end`.
    """

    __slots__ = ("asked", "end", "first", "hints", "questions")

    def __init__(self, asked: Request, first: int, hints: dict[int, int] | None = None):
        self.asked = asked
        self.first = first
        self.end = GRID
        self.questions = 0
        self.hints: dict[int, int] = {} if hints is None else hints
        """Where the answers of the questions that are asked of it changed in an earlier run; it is tried first."""


class UniformNumber:
    """A function of one uniform number, as it is computed in floats.

    It is no float: C code would read the number of a subclass without a word.
    """

    __slots__ = ("draw", "function", "monotone")

    def __init__(self, draw: Draw, function: Callable[[Number], Number], monotone: bool = True):
        self.draw = draw
        self.function = function
        self.monotone = monotone
        """Whether it is known to decrease nowhere, or to increase nowhere."""

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - what isinstance asks for
        """The class of the number, so that `isinstance` answers as it will when the number is drawn."""
        now: object = self.function(self.draw.first / GRID)
        return type(now)

    def decide(self, question: Callable[[Number], Number]) -> Number:
        """Answer a question, and record where the answer changes next."""
        first, end = self.draw.first, self.draw.end
        parts = 1 if self.monotone else PARTS

        def other(k: int) -> bool:
            return bool(question(self.function(k / GRID)) != answer)

        answer = question(self.function(first / GRID))
        hint = self.draw.hints.get(self.draw.questions, 0)
        if first < hint < end and other(hint) and not other(hint - 1):
            self.draw.end = hint
        else:
            low = first
            for high in (first + (end - 1 - first) * part // parts for part in range(1, parts + 1)):
                if other(high):
                    while high - low > 1:  # bisection
                        middle = (low + high) // 2
                        low, high = (low, middle) if other(middle) else (middle, high)
                    self.draw.end = self.draw.hints[self.draw.questions] = high
                    break
                low = high
        self.draw.questions += 1
        return answer

    def _equals(self, other: Number) -> bool:
        # of a monotone function, x == c is "x <= c and not x < c"
        return bool(self.decide(lambda x: x <= other)) and not self.decide(lambda x: x < other)

    def __eq__(self, other: object) -> Number:
        return self._compare(lambda _, c: self._equals(c), other)

    def __ne__(self, other: object) -> Number:
        return self._compare(lambda _, c: not self._equals(c), other)

    def _compare(self, compare: Callable[[Number, Number], Number], other: Number) -> Number:
        if type(other) is UniformNumber:
            _refuse("compared with another random number")
        if isinstance(other, _ARRAY):
            answers = [self._compare(compare, c) for c in other.ravel().tolist()]
            return np.array(answers, dtype=np.bool_).reshape(other.shape)
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        if compare in _ORDERINGS:
            return bool(self.decide(lambda x: bool(compare(x, other))))
        return compare(None, other)

    def mapped(self, function: Callable[[Number], Number], monotone: bool = True) -> Self:
        """Return a function of itself; whether it is monotone, where that is known."""
        before = self.function
        return type(self)(self.draw, lambda x: function(before(x)), self.monotone and monotone)

    def _arithmetic(self, operation: Callable[..., Number], other: Number, swapped: bool) -> Number:
        if type(other) is UniformNumber:
            _refuse("combined with another random number")
        if not isinstance(other, _NUMBERS) or not math.isfinite(other):
            _refuse(f"combined with a {type(other).__name__}")
        monotone = operation.__name__ in _MONOTONE
        if swapped and "div" in operation.__name__:
            ends = self.function(self.draw.first / GRID), self.function((self.draw.end - 1) / GRID)
            monotone = min(ends) > 0 or max(ends) < 0
        result = self.mapped((lambda x: operation(other, x)) if swapped else (lambda x: operation(x, other)), monotone)
        return result.decide(lambda x: x) if "floor" in operation.__name__ else result

    def __neg__(self) -> Number:
        return self.mapped(operator.neg)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return self.mapped(abs, monotone=False)

    # Rounded, it is one of a few numbers, and the step is run once for each of them.
    def __int__(self) -> int:
        return self.decide(int)

    def __trunc__(self) -> int:
        return self.decide(math.trunc)

    def __floor__(self) -> int:
        return self.decide(math.floor)

    def __ceil__(self) -> int:
        return self.decide(math.ceil)

    def __round__(self, digits: int | None = None) -> Number:
        return self.decide(lambda x: round(x, digits))

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __bool__(self) -> bool:
        return not self._equals(0)

    def __hash__(self) -> int:
        _refuse("used as a key")

    def __str__(self) -> str:
        _refuse("written as text")

    def __format__(self, how: str) -> str:
        _refuse("written as text")

    def __float__(self) -> NoReturn:
        _refuse("turned into a plain float")

    def __index__(self) -> NoReturn:
        _refuse("used as an index")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"asked for its .{name}")

    def __reduce__(self) -> NoReturn:
        _refuse("kept in an attribute")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Number, **options: object) -> Number:
        function: Any = ufunc
        if method == "__call__" and not options:
            if len(inputs) == 1:
                return self.mapped(function, ufunc.__name__ in _MONOTONE)
            swapped = type(inputs[0]) is not UniformNumber
            other = inputs[0] if swapped else inputs[1]
            if ufunc.__name__ in _COMPARISONS:
                mirrored = _MIRRORED.get(ufunc.__name__, ufunc.__name__) if swapped else ufunc.__name__
                return _COMPARISONS[mirrored](self, other)
            if np.ndim(other) == 0:
                return self._arithmetic(function, other, swapped)
        _refuse(f"given to numpy.{ufunc.__name__}")

    def __array_function__(self, function: Callable[..., Number], types: object, args: Any, kwargs: Any) -> Number:
        if function is np.searchsorted and len(args) >= 2 and args[1] is self:
            side = args[2] if len(args) > 2 else kwargs.get("side", "left")
            below: Any = operator.ge if side == "right" else operator.gt
            return sum(1 for c in np.asarray(args[0]).tolist() if below(self, c))
        if function is np.round and args == (self,) and not kwargs:
            return np.rint(self)
        _refuse(f"given to numpy.{function.__name__}")


_ORDERINGS = {operator.lt, operator.le, operator.gt, operator.ge}
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_COMPARISONS: dict[str, Callable[[Any, Any], Number]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
_MONOTONE = {
    *("add", "sub", "subtract", "mul", "multiply", "truediv", "divide", "floordiv", "floor_divide", "negative"),
    *("sqrt", "exp", "floor", "ceil", "rint", "trunc", "minimum", "maximum"),
}
"""Operations with a number that keep a function monotone; a quotient if the function is above the line."""


def _ordering(compare: Callable[[Number, Number], Number]) -> Callable[[UniformNumber, Number], Number]:
    return lambda self, other: self._compare(compare, other)  # pyright: ignore[reportPrivateUsage]


def _operation(operation: Callable[..., Number], swapped: bool) -> Callable[[UniformNumber, Number], Number]:
    return lambda self, other: self._arithmetic(operation, other, swapped)  # pyright: ignore[reportPrivateUsage]


for _name in ("lt", "le", "gt", "ge"):
    setattr(UniformNumber, f"__{_name}__", _ordering(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(UniformNumber, f"__{_name}__", _operation(getattr(operator, _name), False))
    setattr(UniformNumber, f"__r{_name}__", _operation(getattr(operator, _name), True))


def _refuse(what: str) -> NoReturn:
    raise Signal(CannotBeFollowed(f"a number that its generator drew is {what}, and so its outcomes cannot be listed"))
