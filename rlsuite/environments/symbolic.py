"""Random numbers and unread numbers, followed through an environment's own step: symbolic execution of one step.

A uniform number is a `UniformNumber`: as long as it is only compared, or computed with first, as in
``rng.random() < 0.8`` or ``np.argmax(np.cumsum(p) > u)``, each comparison says at which number the outcome may change,
exactly and however improbable the outcome is. Integers are drawn as they are.

An `UnreadNumber` stands for a counter, an `UnreadContainer` for a list, dict, array or object in which an environment
counts: one may add to them, and nothing else. As soon as one of them decides anything, it raises.
"""

import math
import operator
import sys
import types
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np

from rlsuite.environments.signal_errors import CannotBeFollowed, Signal, WasRead

_NUMBERS: tuple[Any, ...] = (int, float, np.integer, np.floating)
_ARRAY: Any = np.ndarray

GRID = 1 << 53
"""`Generator.random` returns the multiples of 1 / GRID in [0, 1)."""

LEAST_POWER = 0.5
"""Powers of less are so flat that neighbours of neighbours may be in the wrong order."""
NEIGHBOURS = 16
"""Floats beside a bound of which it is checked that they are on its right side, where a function may err by a unit."""

Number: TypeAlias = Any
"""Whatever an environment computes with: Python's and NumPy's numbers, arrays, and the two classes below."""


_OPERATOR: Any = operator  # some of its functions have no types


def _itself(x: Number) -> Number:
    return x


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

    def changes_at(self, k: int) -> None:
        """Record that the outcome may be another from the number k / GRID on."""
        if self.first < k < self.end:
            self.end = k


class UniformNumber:
    """A function of one uniform number that nowhere decreases, or nowhere increases, as it is computed in floats.

    That holds for the numbers that are still possible: what has been decided about a number restricts it.

    It is no float: C code would read the number of a subclass without a word.
    """

    __slots__ = ("base", "draw", "function")

    def __init__(self, draw: Draw, function: Callable[[Number], Number], base: Callable[[float], Number] | None = None):
        self.draw = draw
        self.function = function
        self.base = base
        """What the function is of, if it may err in its last digit, as powers do; None for the number that is drawn."""

    def _at(self, k: int) -> Number:
        u = k / GRID
        return self.function(u if self.base is None else self.base(u))

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - what isinstance asks for
        """The class of the number, so that `isinstance` answers as it will when the number is drawn."""
        now: object = self._at(self.draw.first)
        return type(now)

    def decide(self, question: Callable[[Number], Number]) -> Number:
        """Answer a question that changes its answer monotonically with the number, and record where it changes next."""
        first, end = self.draw.first, self.draw.end
        answer = question(self._at(first))
        high = end
        # the answer is another one at the last number of the range, or nowhere in it
        if question(self._at(end - 1)) != answer:
            low, high = first, end - 1
            hint = self.draw.hints.get(self.draw.questions, 0)
            if low < hint <= high and question(self._at(hint)) != answer == question(self._at(hint - 1)):
                low, high = hint - 1, hint
            while high - low > 1:  # bisection: `answer` at low, another one at high
                middle = (low + high) // 2
                if question(self._at(middle)) == answer:
                    low = middle
                else:
                    high = middle
            self.draw.changes_at(high)
            self.draw.hints[self.draw.questions] = high
        self.draw.questions += 1
        if self.base is not None:
            same = (first, +1, high - 1), (high - 1, -1, first)
            other = [(high, +1, end - 1)] if high < end else []
            if not (
                all(question(value) == answer for way in same for value in self._near(*way))
                and all(question(value) != answer for way in other for value in self._near(*way))
            ):
                _refuse("raised to a power whose rounding changes the order of two numbers")
        return answer

    def _near(self, k: int, direction: int, last: int) -> list[Number]:
        """The function of the floats next to the base at k, up to the base at another number."""
        assert self.base is not None
        x, bound = self.base(k / GRID), self.base(last / GRID)
        towards = math.inf if (bound > x) or (bound == x and direction > 0) else -math.inf
        values: list[Number] = []
        for _ in range(NEIGHBOURS):
            values.append(self.function(x))
            if x == bound:
                break
            x = math.nextafter(x, towards)
        return values

    def _equals(self, other: Number) -> bool:
        # of a monotone function, x == c is "x <= c and not x < c"
        return bool(self.decide(lambda x: x <= other)) and not self.decide(lambda x: x < other)

    def __lt__(self, other: Number) -> Number:
        return self._compare(operator.lt, other)

    def __le__(self, other: Number) -> Number:
        return self._compare(operator.le, other)

    def __gt__(self, other: Number) -> Number:
        return self._compare(operator.gt, other)

    def __ge__(self, other: Number) -> Number:
        return self._compare(operator.ge, other)

    def __eq__(self, other: object) -> Number:
        return self._compare(lambda _, c: self._equals(c), other)

    def __ne__(self, other: object) -> Number:
        return self._compare(lambda _, c: not self._equals(c), other)

    def _compare(self, compare: Callable[[Number, Number], Number], other: Number) -> Number:
        if type(other) in _STAND_INS:
            _refuse("compared with another random number or a counter")
        if isinstance(other, _ARRAY):
            answers = [self._compare(compare, c) for c in other.ravel().tolist()]
            return np.array(answers, dtype=np.bool_).reshape(other.shape)
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        if compare in _ORDERINGS:
            return bool(self.decide(lambda x: bool(compare(x, other))))
        return compare(None, other)

    def mapped(self, function: Callable[[Number], Number]) -> Self:
        """Return a function of itself that nowhere decreases, or nowhere increases."""
        before = self.function
        return type(self)(self.draw, lambda x: function(before(x)), self.base)

    def _arithmetic(self, operation: Callable[[Number, Number], Number], other: Number, swapped: bool) -> Number:
        if type(other) in _STAND_INS:
            _refuse("combined with another random number or a counter")
        if not isinstance(other, _NUMBERS) or not math.isfinite(other):
            _refuse(f"combined with a {type(other).__name__}")
        if swapped:
            return self.mapped(lambda x: operation(other, x))
        return self.mapped(lambda x: operation(x, other))

    def __add__(self, other: Number) -> Number:
        return self._arithmetic(operator.add, other, False)

    def __radd__(self, other: Number) -> Number:
        return self._arithmetic(operator.add, other, True)

    def __sub__(self, other: Number) -> Number:
        return self._arithmetic(operator.sub, other, False)

    def __rsub__(self, other: Number) -> Number:
        return self._arithmetic(operator.sub, other, True)

    def __mul__(self, other: Number) -> Number:
        return self._arithmetic(operator.mul, other, False)

    def __rmul__(self, other: Number) -> Number:
        return self._arithmetic(operator.mul, other, True)

    def __truediv__(self, other: Number) -> Number:
        return self._arithmetic(_OPERATOR.truediv, other, False)

    def __rtruediv__(self, other: Number) -> Number:
        return self._positive_or_negative()._arithmetic(_OPERATOR.truediv, other, True)

    def __floordiv__(self, other: Number) -> Number:
        return self._arithmetic(_OPERATOR.floordiv, other, False).decide(_itself)

    def __rfloordiv__(self, other: Number) -> Number:
        return self._positive_or_negative()._arithmetic(_OPERATOR.floordiv, other, True).decide(_itself)

    # Where the quotient does not change, the remainder rises with the number; so does a power of what is not negative.
    def __mod__(self, other: Number) -> Number:
        _few(self // other)
        return self._arithmetic(operator.mod, other, False)

    def __rmod__(self, other: Number) -> Number:
        _few(other // self)
        return self._arithmetic(operator.mod, other, True)

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __rdivmod__(self, other: Number) -> tuple[Number, Number]:
        return other // self, other % self

    def __pow__(self, other: Number) -> Number:
        if type(other) in _STAND_INS or not isinstance(other, _NUMBERS):
            _refuse("raised to a power that is not a number that is known")
        if 0.0 < abs(other) < LEAST_POWER or self.base is not None:
            _refuse("raised to a power that is not followed")
        if self._positive_or_negative() < 0.0 and not float(other).is_integer():
            _refuse("raised to a power that is not whole, while it may be negative")
        return type(self)(self.draw, lambda x: _OPERATOR.pow(x, other), self.function)

    def __abs__(self) -> Number:
        return self if self >= 0.0 else -self

    def _positive_or_negative(self) -> Self:
        """Itself, once it is decided whether it is positive, zero or negative."""
        _ = self == 0.0, self < 0.0
        return self

    def __neg__(self) -> Number:
        return self.mapped(operator.neg)

    def __pos__(self) -> Number:
        return self

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
        plain = _PLAIN_OPERATIONS.get(ufunc.__name__)
        if method != "__call__" or options or plain is None:
            _refuse(f"given to numpy.{ufunc.__name__}")
        if len(inputs) == 1:
            return _of_numpy(plain(inputs[0]))
        one, other = inputs
        if type(one) is UniformNumber:
            return _of_numpy(plain(one, other))
        if ufunc.__name__ in _MIRRORED:  # array < u is u > array, without asking the array
            return _PLAIN_OPERATIONS[_MIRRORED[ufunc.__name__]](other, one)
        return _of_numpy(plain(one, other)) if np.ndim(one) == 0 else _refuse(f"given to numpy.{ufunc.__name__}")

    def __array_function__(self, function: Callable[..., Number], types: object, args: Any, kwargs: Any) -> Number:
        if function is np.searchsorted and len(args) >= 2 and args[1] is self:
            side = args[2] if len(args) > 2 else kwargs.get("side", "left")
            below = operator.ge if side == "right" else operator.gt
            return sum(1 for c in np.asarray(args[0]).tolist() if below(self, c))
        if function is np.round and args == (self,) and not kwargs:
            return np.rint(self)
        _refuse(f"given to numpy.{function.__name__}")


_ORDERINGS = {operator.lt, operator.le, operator.gt, operator.ge}
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def _root(x: Number) -> Number:
    return _refuse("the root of a negative number") if x < 0.0 else x.mapped(np.sqrt)


def _square(x: Number) -> Number:
    return abs(x).mapped(np.square)


def _least(x: Number, y: Number) -> Number:
    return x if x < y else y


def _most(x: Number, y: Number) -> Number:
    return x if x > y else y


def _nearest(x: Number) -> Number:
    return x.decide(np.rint)


def _truncated(x: Number) -> Number:
    return x.decide(np.trunc)


_PLAIN_OPERATIONS: dict[str, Callable[..., Number]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _OPERATOR.truediv,
    "floor_divide": _OPERATOR.floordiv,
    "negative": operator.neg,
    "remainder": operator.mod,
    "absolute": abs,
    "sqrt": _root,
    "square": _square,
    "minimum": _least,
    "maximum": _most,
    "rint": _nearest,
    "trunc": _truncated,
    "floor": math.floor,
    "ceil": math.ceil,
}


def _of_numpy(result: Number) -> Number:
    """What a function of NumPy returns: a number of its own."""
    return result.mapped(np.float64) if type(result) is UniformNumber else result


def _few(quotient: Number) -> None:
    """Refuse a remainder whose quotient has more digits than a float."""
    if abs(quotient) >= GRID / 2:
        _refuse("divided by a number that is small beside it")


def _refuse(what: str) -> NoReturn:
    raise Signal(CannotBeFollowed(f"a number that its generator drew is {what}, and so its outcomes cannot be listed"))


class UnreadNumber:
    """A counter or a sum of the environment's, which may be added to, and read by nothing.

    It is no int, because C code would read the number of a subclass without a word.
    """

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: type | None = None):
        self.name = name
        self.kind = kind  # the class of the number, if that is known

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - what isinstance asks for
        """The class of the number, so that `isinstance` answers as it would; one that changes is part of the state."""
        return self.kind or self._read()

    def _with(self, other: Number) -> Self:
        if type(other) is UniformNumber:
            _refuse("added to a counter")
        kind = other.kind if type(other) is UnreadNumber else type(other)
        same = kind in (self.kind, int, bool) or (self.kind is float and kind is not None and issubclass(kind, float))
        return self if same else self._of_any_class(other)

    def _of_any_class(self, *_: object) -> Self:
        return type(self)(self.name)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __iadd__ = __isub__ = __imul__ = _with
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __and__ = __or__ = __xor__ = _of_any_class

    def __neg__(self) -> Self:
        return self

    __pos__ = __abs__ = __neg__

    def __round__(self, digits: int | None = None) -> Self:
        return self._of_any_class()

    def _read(self, *_: object) -> NoReturn:
        raise Signal(WasRead(self.name))

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _read
    __bool__ = __int__ = __index__ = __float__ = __hash__ = __str__ = __format__ = __len__ = __iter__ = _read
    __array__ = __reduce__ = __getattr__ = __getitem__ = __setitem__ = __contains__ = __call__ = _read

    def __repr__(self) -> str:
        raise Signal(WasRead(self.name))


class UnreadContainer:
    """A list, dict, array or object of the environment's in which it counts or keeps a log, and that nothing reads.

    What is looked up in it may again only be added to.
    """

    __slots__ = ("_kind", "_name")

    def __init__(self, name: str, kind: type):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_kind", kind)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - what isinstance asks for
        """The class of the container."""
        return object.__getattribute__(self, "_kind")

    def _look_up(self, *_: object) -> UnreadNumber:
        return UnreadNumber(object.__getattribute__(self, "_name"))

    def _take(self, *_: object, **__: object) -> None:
        """Take what is put in, and forget it."""

    def _add(self, other: object) -> Self:
        return self

    def _read(self, *_: object) -> NoReturn:
        raise Signal(WasRead(object.__getattribute__(self, "_name")))

    def __getattr__(self, name: str) -> Any:
        kind: type = object.__getattribute__(self, "_kind")
        if kind in _MODIFIERS:  # a list, a dict, ...
            if name in _MODIFIERS[kind]:
                return object.__getattribute__(self, _MODIFIERS[kind][name])
        elif _is_data(kind, name) and not name.startswith("__"):  # of an object; what a method does is unknown
            return self._look_up()
        self._read()

    def __setattr__(self, name: str, value: object) -> None:
        if not _is_data(object.__getattribute__(self, "_kind"), name):
            self._read()

    __getitem__ = _look_up
    __setitem__ = _take
    __iadd__ = __isub__ = _add
    __len__ = __iter__ = __contains__ = __bool__ = __eq__ = __ne__ = __lt__ = __add__ = __radd__ = __hash__ = _read
    __array__ = __array_ufunc__ = __array_function__ = __reduce__ = __str__ = __repr__ = __call__ = __delitem__ = _read


def _is_data(kind: type, name: str) -> bool:
    """Whether the objects of a class keep an attribute themselves, in a slot or in their `__dict__`."""
    return not hasattr(kind, name) or isinstance(getattr(kind, name), types.MemberDescriptorType)


# What puts something into a container, or looks up something that was put in.
_MODIFIERS: dict[type, dict[str, str]] = {
    list: {"append": "_take", "extend": "_take", "clear": "_take", "insert": "_take"},
    deque: {"append": "_take", "appendleft": "_take", "extend": "_take", "clear": "_take"},
    set: {"add": "_take", "update": "_take", "clear": "_take"},
    dict: {"get": "_look_up", "setdefault": "_look_up", "update": "_take", "clear": "_take"},
    defaultdict: {"get": "_look_up", "setdefault": "_look_up", "update": "_take", "clear": "_take"},
    Counter: {"get": "_look_up", "update": "_take", "clear": "_take"},
    np.ndarray: {"fill": "_take"},
    str: {},
    bytes: {},
}


def name_of_unread(one: UnreadNumber | UnreadContainer) -> str:
    """The name of the attribute that a stand-in stands for, which reads nothing of it."""
    return one.name if type(one) is UnreadNumber else object.__getattribute__(one, "_name")


_STAND_INS = (UniformNumber, UnreadNumber, UnreadContainer)


def _type_of(value: object) -> Any:
    return type(value)


CONTAINERS: tuple[Any, ...] = (list, dict, set, deque, defaultdict, Counter, np.ndarray)


def stand_in_for(name: str, attributes: Mapping[str, Any], before: object) -> UnreadNumber | UnreadContainer | None:
    """Return what stands for an attribute of which it is to be shown that nothing reads it; None if there is nothing.

    Its class was ``before`` when nothing had been stepped.
    """
    value = attributes[name]
    kind = _type_of(value)
    if isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_):
        return UnreadNumber(name, kind if kind is before else None)
    if kind in (str, bytes):
        return UnreadContainer(name, kind)
    plain_object = kind.__module__ not in ("builtins", "numpy") and not kind.__module__.startswith("gymnasium.")
    if kind in CONTAINERS or (plain_object and (hasattr(value, "__dict__") or hasattr(kind, "__slots__"))):
        del value
        # what somebody else holds, too, may be read under another name
        return UnreadContainer(name, kind) if sys.getrefcount(attributes[name]) <= ONE_OWNER else None
    return None


_alone = {"": object()}
ONE_OWNER = sys.getrefcount(_alone[""])
"""What `sys.getrefcount` says of an object to which one dict refers, and nothing else."""
