"""A generator whose draws follow a script, so that a step can be run once for each outcome of what it draws.

It replaces an environment's generator. At the first draw that is not in the script it ends the step. A uniform number
is a `UniformNumber`: as long as it is only compared, or computed with first, as in ``rng.random() < 0.8`` or
``np.argmax(np.cumsum(p) > u)``, each comparison says at which number the outcome may change, exactly and however
improbable the outcome is. Integers are drawn as they are.
"""

import math
import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic  # the module's are out of use where an environment is asked
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np

from rlsuite.environments.child_process import CannotBeFollowed, Signal

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
            flat = other.ravel().tolist()
            if compare not in _ORDERINGS or not self.monotone:
                return np.array([self._compare(compare, c) for c in flat], dtype=np.bool_).reshape(other.shape)
            answers = compare(self.function(self.draw.first / GRID), other)
            while True:  # only those whose answer is another one at the end are asked
                last = compare(self.function((self.draw.end - 1) / GRID), other)
                others = np.flatnonzero(last != answers)
                if not others.size:
                    return answers
                self._compare(compare, flat[others[others.size // 2]])
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


MAX_OUTCOMES = 10_000
"""Most outcomes of one draw, and of one step."""
MOST_SHUFFLED = 7
"""Things of which the orders are fewer than `MAX_OUTCOMES`."""

_INTEGERS = {np.dtype(kind) for kind in (np.int64, np.uint64, np.int32, np.uint32)}
"""Types of integers that are drawn alike."""
_NUMPY: Any = np


class Unscripted(CannotBeFollowed):
    """A step draws what is not in its script."""


class _Plain(np.random.Generator):
    """Draws as any other generator."""


class ScriptedGenerator(_Plain):
    """A generator whose draws follow a script: the k of uniform numbers k / GRID, and the indices of integers.

    An index is taken modulo the number of integers. After the deadline, a time of `time.monotonic`, nothing more is
    drawn.

    Attributes
    ----------
    draws : list of Draw
        Those of the script that were made.
    asked : Request or None
        The draw at which the script ended.
    loops : bool
        Whether a step has drawn so often that its draws are compared.
    """

    def __init__(self, deadline: float = math.inf) -> None:
        super().__init__(np.random.PCG64(0))
        self.deadline = deadline
        self.script: Sequence[int] = ()
        self.draws: list[Draw] = []
        self.asked: Request | None = None
        self.loops = False
        self._hints: dict[tuple[int, int], dict[int, int]] = {}

    def follow(self, script: Sequence[int]) -> None:
        """Begin a script."""
        self.script, self.draws, self.asked = script, [], None
        if len(self._hints) > MAX_OUTCOMES:
            self._hints.clear()

    @contextmanager
    def drawing(self) -> Generator[None]:
        """Let it draw as any other generator for a while."""
        itself: Any = self
        itself.__class__ = _Plain
        try:
            yield
        finally:
            itself.__class__ = ScriptedGenerator

    def _drawn(self, asked: Request) -> Draw:
        if monotonic() > self.deadline:
            raise Signal(CannotBeFollowed("there was not enough time to find all outcomes of its steps"))
        place = len(self.draws)
        if place >= len(self.script):
            self.asked = asked
            raise Signal(Unscripted())
        first = self.script[place] % asked.n
        self.draws.append(Draw(asked, first, self._hints.setdefault((place, first), {})))
        return self.draws[-1]

    def _uniform(self, kind: Callable[[float], Number] = float) -> Number:
        return UniformNumber(self._drawn(Request(GRID)), kind)

    def _integer(self, low: Number, high: Number, masked: bool = False) -> np.int64:
        first, n = operator.index(low), operator.index(high) - operator.index(low)
        if n <= 0:
            raise ValueError("low >= high")
        if n > MAX_OUTCOMES:
            raise Signal(CannotBeFollowed(f"its generator draws one of {n:,} integers, more than {MAX_OUTCOMES:,}"))
        if n == 1:  # nothing is drawn
            return np.int64(first)
        return np.int64(first + self._drawn(Request(n, first, masked)).first)

    def random(  # pyright: ignore[reportIncompatibleMethodOverride] - it has overloads
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> Any:
        """Draw uniform numbers in [0, 1)."""
        if out is not None or np.dtype(dtype) != np.float64:
            raise Signal(CannotBeFollowed("its generator draws single precision, or into an array"))
        return self._uniform() if size is None else _array(size, lambda: self._uniform(np.float64))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw uniform numbers in [low, high)."""
        if np.ndim(low) or np.ndim(high):
            raise Signal(CannotBeFollowed("its generator draws uniform numbers between bounds in arrays"))

        def draw() -> Number:
            return self._uniform(float if size is None else np.float64) * (float(high) - float(low)) + float(low)

        return draw() if size is None else _array(size, draw)

    def integers(  # pyright: ignore[reportIncompatibleMethodOverride] - it has overloads
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = False
    ) -> Any:
        """Draw integers in [low, high)."""
        kind = np.dtype(dtype)
        if np.ndim(low) or np.ndim(high or 0) or kind not in _INTEGERS:
            raise Signal(
                CannotBeFollowed("its generator draws integers of less than 32 bits, or between bounds in arrays")
            )
        bounds = (0, low) if high is None else (low, high)
        first, end = bounds[0], bounds[1] + bool(endpoint)
        if size is None:
            return kind.type(self._integer(first, end))
        return _array(size, lambda: self._integer(first, end)).astype(kind)

    def choice(
        self, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0, shuffle: Any = True
    ) -> Any:
        """Draw one of several, or several of them."""
        if axis != 0:
            raise Signal(CannotBeFollowed("its generator chooses along an axis"))
        items = None if np.ndim(a) == 0 else np.asarray(a)
        n = int(a) if items is None else len(items)
        many = 1 if size is None else math.prod(_shape(size))
        if not replace and many > n:
            raise ValueError("a sample without replacement is larger than what it is drawn from")
        probability = None if p is None else np.array(p, dtype=np.float64)
        if probability is not None and (
            len(probability) != n or (probability < 0.0).any() or abs(probability.sum() - 1.0) > 1e-8
        ):
            raise ValueError(f"probabilities must be non-negative, sum to 1, and be {n} in number")
        if not replace and many > 1:
            found = self._different(n, many, shuffle) if probability is None else self._different_by(probability, many)
            chosen: Any = np.array(found, dtype=np.int64).reshape(_shape(size))
        elif probability is not None:
            chosen = self._indices(probability, size)
        elif size is None:
            chosen = self._integer(0, n)
        else:
            chosen = _array(size, lambda: self._integer(0, n)).astype(np.int64)
        return chosen if items is None else items[chosen]

    def shuffle(self, x: Any, axis: Any = 0) -> None:
        """Bring a list, or the rows of an array, into another order."""
        if axis != 0:
            raise Signal(CannotBeFollowed("its generator shuffles along an axis"))
        order = self._order(len(x))
        if isinstance(x, np.ndarray):
            x[...] = x[order]
        else:
            before = [x[i] for i in range(len(x))]
            for i, j in enumerate(order):
                x[i] = before[j]

    def permutation(self, x: Any, axis: Any = 0) -> Any:
        """Return the numbers below `x`, or the rows of an array, in another order."""
        if axis != 0:
            raise Signal(CannotBeFollowed("its generator permutes along an axis"))
        items: Any = _NUMPY.arange(x) if np.ndim(x) == 0 else _NUMPY.asarray(x)
        return items[self._order(len(items))]

    def _order(self, n: int) -> list[int]:
        """Shuffle 0, ..., n - 1 (Fisher and Yates), as `Generator.shuffle` does."""
        if n > MOST_SHUFFLED:
            raise Signal(CannotBeFollowed(f"its generator shuffles {n} things, more than {MOST_SHUFFLED}"))
        order = [*range(n)]
        for i in reversed(range(1, n)):
            j = int(self._integer(0, i + 1, masked=True))
            order[i], order[j] = order[j], order[i]
        return order

    def _different(self, n: int, many: int, shuffle: bool) -> list[int]:
        """Draw different numbers below n (Bentley and Floyd, A sample of brilliance), as `Generator.choice` does."""
        if n > MAX_OUTCOMES:
            raise Signal(
                CannotBeFollowed(f"its generator draws from {n:,} without replacement, more than {MAX_OUTCOMES:,}")
            )
        found: list[int] = []
        for last in range(n - many, n):
            one = int(self._integer(0, last + 1))
            found.append(last if one in found else one)
        for i in reversed(range(1, many)) if shuffle else ():
            j = int(self._integer(0, i + 1))
            found[i], found[j] = found[j], found[i]
        return found

    def _different_by(self, probability: Any, many: int) -> list[int]:
        """Draw different numbers with given probabilities: again those that are left, until there are enough."""
        if np.count_nonzero(probability) < many:
            raise ValueError("fewer non-zero probabilities than what is drawn without replacement")
        found: list[int] = []
        while len(found) < many:
            probability[found] = 0.0
            found += dict.fromkeys(self._indices(probability, many - len(found)).tolist())
        return found

    def _indices(self, probability: Any, size: Any) -> Any:
        """Draw numbers with given probabilities."""
        bounds = np.cumsum(probability)
        bounds /= bounds[-1]

        def draw() -> np.int64:
            u = self._uniform()
            return np.int64(sum(1 for bound in bounds.tolist() if u >= bound))

        return draw() if size is None else _array(size, draw).astype(np.int64)


def _shape(size: Any) -> tuple[Any, ...]:
    return (size,) if np.ndim(size) == 0 else tuple(size)


def _array(size: Any, draw: Callable[[], Number]) -> Any:
    shape = _shape(size)
    n = math.prod(shape)
    if n > MAX_OUTCOMES:
        raise Signal(CannotBeFollowed(f"its generator draws {n:,} numbers at once, more than {MAX_OUTCOMES:,}"))
    numbers = np.empty(n, dtype=object)
    for i in range(n):
        numbers[i] = draw()
    return numbers.reshape(shape)


def _unknown(name: str) -> Callable[..., NoReturn]:
    def method(self: ScriptedGenerator, *_: object, **__: object) -> NoReturn:
        raise Signal(CannotBeFollowed(f"its generator draws by {name}(), whose outcomes cannot be listed"))

    return method


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in vars(ScriptedGenerator):
        _method = _unknown(_name)
        setattr(ScriptedGenerator, _name, property(_method) if _name == "bit_generator" else _method)
