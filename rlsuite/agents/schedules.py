"""Numbers that change while an agent learns: step sizes, exploration rates, temperatures.

A schedule is a description (`Linear`, `Exponential`, `Inverse`, `Polynomial`, or a plain number). An agent's memory
holds its compiled form, a `Rate`; `rate_now` evaluates it inside a learning rule. Time has one of three units:

========== =================================================================================
steps      environment steps that the agent has learned from so far
episodes   episodes that have ended so far
visits     how often the state (exploration) or the state-action pair (step size) was taken
========== =================================================================================
"""

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.arithmetic import power
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.described import Described

Unit = Literal["steps", "episodes", "visits"]
UNITS: tuple[Unit, ...] = ("steps", "episodes", "visits")
STEPS, EPISODES, VISITS = range(3)

Formula = Compiled[[float, float, float, int], float]


class Rate(NamedTuple):
    """A schedule in compiled form: ``formula(start, end, speed, t)`` with ``t`` counted in ``unit``."""

    formula: Formula
    start: float
    end: float
    speed: float
    unit: int


@compiled(in_place=True)
def rate_now(rate: Rate, clock: NDArray[np.int64], visits: int) -> float:
    """Value of a schedule now; ``clock`` holds [steps, episodes] so far, ``visits`` those of the state or pair."""
    t = visits if rate.unit == VISITS else clock[rate.unit]
    return rate.formula(rate.start, rate.end, rate.speed, t)


@compiled(in_place=True)
def _constant(start: float, end: float, speed: float, t: int) -> float:
    return start


@compiled(in_place=True)
def _linear(start: float, end: float, speed: float, t: int) -> float:
    return end if t * speed >= 1.0 else start + (end - start) * (t * speed)


@compiled(in_place=True)
def _exponential(start: float, end: float, speed: float, t: int) -> float:
    return end + (start - end) * power(speed, t)


@compiled(in_place=True)
def _inverse(start: float, end: float, speed: float, t: int) -> float:
    return end + (start - end) / (1.0 + t * speed)


@compiled(in_place=True)
def _polynomial(start: float, end: float, speed: float, t: int) -> float:
    return start / math.pow(1.0 + t, speed)


UNUSED = Rate(_constant, 0.0, 0.0, 0.0, STEPS)
"""For rules that do not use a parameter."""


@dataclass(frozen=True)
class Schedule(Described):
    """A number that changes with time; the base of `Linear`, `Exponential`, `Inverse` and `Polynomial`."""

    described_as = "schedule"

    formula: ClassVar[Formula]

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        raise NotImplementedError

    def at(self, t: int) -> float:
        """Value after ``t`` units of time.

        >>> Linear(1.0, 0.0, over=10).at(5)
        0.5
        """
        rate = self.rate
        return float(rate.formula(rate.start, rate.end, rate.speed, t))

    @property
    def extremes(self) -> dict[str, float]:
        """Names and values of the parameters that bound the schedule."""
        return {"start": self.rate.start, "end": self.rate.end}


@dataclass(frozen=True)
class Constant(Schedule):
    """The same value at all times; what a plain number stands for."""

    value: float

    formula = _constant

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        return Rate(self.formula, float(self.value), float(self.value), 0.0, STEPS)

    @property
    def extremes(self) -> dict[str, float]:
        """Names and values of the parameters that bound the schedule."""
        return {"": float(self.value)}


@dataclass(frozen=True)
class Linear(Schedule):
    """A straight line from ``start`` to ``end`` in ``over`` units of time; ``end`` from then on.

    Parameters
    ----------
    start, end : float
        First and last value.
    over : int
        Units of time between them, at least 1.
    per : {"steps", "episodes", "visits"}
        The unit of time.

    Raises
    ------
    ParameterError
        If a number is not finite, ``over`` is smaller than 1, or the unit is unknown.

    Examples
    --------
    >>> [Linear(1.0, 0.2, over=4).at(t) for t in (0, 2, 4, 9)]
    [1.0, 0.6, 0.2, 0.2]
    """

    start: float
    end: float
    over: int
    per: Unit = "steps"

    formula = _linear

    def __post_init__(self) -> None:
        _check(self)
        if self.over < 1:
            raise errors.ParameterError(f"Linear: over={self.over!r} must be at least 1")

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        return Rate(self.formula, float(self.start), float(self.end), 1.0 / self.over, UNITS.index(self.per))


@dataclass(frozen=True)
class Exponential(Schedule):
    """Geometric decay from ``start`` towards ``end``: ``end + (start - end) * decay**t``.

    Parameters
    ----------
    start : float
        First value.
    decay : float
        Factor per unit of time, in (0, 1].
    end : float
        Value that is approached.
    per : {"steps", "episodes", "visits"}
        The unit of time.

    Raises
    ------
    ParameterError
        If a number is not finite, ``decay`` lies outside (0, 1], or the unit is unknown.

    Examples
    --------
    >>> [Exponential(0.8, decay=0.5).at(t) for t in (0, 1, 2)]
    [0.8, 0.4, 0.2]
    """

    start: float
    decay: float
    end: float = 0.0
    per: Unit = "steps"

    formula = _exponential

    def __post_init__(self) -> None:
        _check(self)
        if not 0.0 < self.decay <= 1.0:
            raise errors.ParameterError(f"Exponential: decay={self.decay!r} lies outside (0, 1]")

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        return Rate(self.formula, float(self.start), float(self.end), float(self.decay), UNITS.index(self.per))


@dataclass(frozen=True)
class Inverse(Schedule):
    """Decay like 1/t: ``end + (start - end) / (1 + t / scale)``.

    ``Inverse(1.0, per="visits")`` as a step size is the lecture notes' 1 / (1 + visits), with the visits *before* the
    present one: the first sample replaces the initial value, and the estimate is the mean of all samples.

    Parameters
    ----------
    start : float
        First value.
    scale : float
        Time after which the distance to ``end`` has halved, greater than 0.
    end : float
        Value that is approached.
    per : {"steps", "episodes", "visits"}
        The unit of time.

    Raises
    ------
    ParameterError
        If a number is not finite, ``scale`` is not positive, or the unit is unknown.

    Examples
    --------
    >>> [Inverse(1.0, per="visits").at(t) for t in (0, 1, 3)]
    [1.0, 0.5, 0.25]
    """

    start: float
    scale: float = 1.0
    end: float = 0.0
    per: Unit = "steps"

    formula = _inverse

    def __post_init__(self) -> None:
        _check(self)
        if not self.scale > 0.0:
            raise errors.ParameterError(f"Inverse: scale={self.scale!r} must be greater than 0")

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        return Rate(self.formula, float(self.start), float(self.end), 1.0 / self.scale, UNITS.index(self.per))


@dataclass(frozen=True)
class Polynomial(Schedule):
    """Decay like a power of time: ``start / (1 + t) ** power``, towards 0.

    As a step size ``Polynomial(1.0, power=0.77, per="visits")`` lets Q-learning converge at a polynomial rate, where
    the power 1 can take exponentially long in 1 / (1 - gamma) (Even-Dar & Mansour 2003).

    Parameters
    ----------
    start : float
        First value.
    power : float
        In (0, 1]; convergence of a step size asks for more than 1/2.
    per : {"steps", "episodes", "visits"}
        The unit of time.

    Raises
    ------
    ParameterError
        If a number is not finite, ``power`` lies outside (0, 1], or the unit is unknown.

    Examples
    --------
    >>> [Polynomial(1.0, power=0.5).at(t) for t in (0, 3, 99)]
    [1.0, 0.5, 0.1]
    """

    start: float
    power: float = 0.77
    per: Unit = "steps"

    formula = _polynomial

    def __post_init__(self) -> None:
        _check(self)
        if not 0.0 < self.power <= 1.0:
            raise errors.ParameterError(f"Polynomial: power={self.power!r} lies outside (0, 1]")

    @property
    def rate(self) -> Rate:
        """The compiled form, as an agent's memory stores it."""
        return Rate(self.formula, float(self.start), 0.0, float(self.power), UNITS.index(self.per))

    @property
    def extremes(self) -> dict[str, float]:
        """Name and value of the parameter that bounds the schedule, with 0 as the other bound."""
        return {"start": float(self.start)}


def as_schedule(name: str, value: object, low: float, high: float) -> Schedule:
    """Accept a number or a schedule as the parameter ``name`` and check that it stays in [low, high]."""
    schedule = _accept(name, value)
    for bound, number in schedule.extremes.items():
        if not low <= number <= high or math.isinf(number):
            allowed = f"[{low:g}, {high:g}{']' if high < math.inf else ')'}"
            raise errors.ParameterError(f"{_label(name, bound)}{number!r} lies outside {allowed}")
    return schedule


def as_positive_schedule(name: str, value: object) -> Schedule:
    """Accept a number or a schedule as the parameter ``name`` and check that it stays above 0."""
    schedule = _accept(name, value)
    for bound, number in schedule.extremes.items():
        if not 0.0 < number < math.inf:
            raise errors.ParameterError(f"{_label(name, bound)}{number!r} must be greater than 0, and finite")
    return schedule


def _accept(name: str, value: object) -> Schedule:
    if isinstance(value, bool) or not isinstance(value, Real | Schedule):
        of_values = getattr(value, "described_as", "") == "values"  # whose `Linear` is another
        raise errors.ParameterError(
            f"{name}={value!r} must be a number or a schedule (Linear, Exponential, Inverse, Polynomial)"
            + "; the schedule is rlsuite.Linear(start, end, over), this Linear is for values=" * of_values
        )
    return value if isinstance(value, Schedule) else Constant(float(value))


def _label(name: str, bound: str) -> str:
    return f"{name}: {bound}=" if bound else f"{name}="


def _check(schedule: Schedule) -> None:
    """Check the fields of a schedule: finite numbers and a known unit."""
    kind = type(schedule).__name__
    for field in fields(schedule):
        value = getattr(schedule, field.name)
        if field.name == "per":
            if value not in UNITS:
                raise errors.ParameterError(f"{kind}, per: " + errors.unknown("unit of time", value, UNITS))
        elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise errors.ParameterError(f"{kind}: {field.name}={value!r} must be a finite number")
