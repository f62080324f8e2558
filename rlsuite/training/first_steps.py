"""The first steps of a run, in Python: a short run is over before numba would have been imported.

The loops of `rlsuite.training.kernels` keep all that they know in arrays and generators. So a run can change over from
Python to machine code between any two steps, with the same bytes (`rlsuite.core.interpretation`). It does so when the
rest of the run would take longer in Python than machine code takes to load.

Should Python fail where machine code does not, as in a division by zero, the steps since the last snapshot are taken
back, and taken again by machine code.
"""

import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rlsuite.core.checks import is_tuple
from rlsuite.core.compilation import Compiled, has_machine_code, interpreted, no_machine_code
from rlsuite.core.interpretation import interpretable
from rlsuite.core.refusals import outside
from rlsuite.environments.observation_view import NONE
from rlsuite.errors import CompilationError, LearningError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.training.kernels import ACTION, ALL_STEPS, RunState
from rlsuite.training.rule_answers import checked_answers, named_answers

Part = TypeVar("Part")

IMPORTING, LOADING = 0.35, 0.3
"""Rough figures: seconds that numba costs at import and at the end of the process, and the first machine code."""

AT_FIRST = 250
"""Steps until the first look at the clock, and until the second, which is the first that decides anything."""

SECONDS_AT_ONCE = 0.05
"""Seconds of the steps between two looks at the clock; Ctrl-C loses what was learned since the last one."""

LOOKED_AT = 50
"""Steps that are taken in Python, and taken back, before machine code runs a rule of the user's."""

_PACKAGE = str(Path(__file__).resolve().parents[1])

_seconds: dict[tuple[object, ...], float] = {}
"""How long this process has interpreted each combination of functions: many short runs are a long one."""

_loading: dict[tuple[object, ...], float] = {}
"""How long it took to load the machine code of each combination, or to compile it, in this process."""


_all_in_python: list[None] = []
"""Not empty within `all_in_python`."""


@contextmanager
def all_in_python() -> Generator[None]:
    """Let all runs that begin meanwhile stay in Python, which knows of indices that lie outside; a context manager."""
    _all_in_python.append(None)
    try:
        yield
    finally:
        _all_in_python.pop()


class Pace:
    """Decides how long a run continues in Python.

    Parameters
    ----------
    functions : tuple
        The compiled functions of the run; the loop is the first.
    """

    def __init__(self, functions: tuple[object, ...]):
        self._functions = functions
        self._looks = 0
        self._left = 0  # when it was asked last
        self._per_step, self._per_unit = 0.0, 0.0  # seconds, as the latest steps took them
        self._stopped = False
        self._stays = bool(_all_in_python)

    def stay_interpreted(self) -> None:
        """Stay in Python, if that is possible, however long it takes."""
        self._stays = True

    def stop(self) -> None:
        """Continue in machine code from now on."""
        self._stopped = True

    def steps(self, left: int) -> int:
        """Return how many steps to take in Python before asking again; 0 for machine code.

        Parameters
        ----------
        left : int
            Units of time (steps or episodes) until the end, as far as it is known.
        """
        if self._stays and not self._stopped:
            return AT_FIRST
        price, begins, self._left = self.price(), left >= self._left, left
        # of many calls, nobody knows which is the last
        long = left * self._per_unit > price or (begins and _seconds.get(self._functions, 0.0) > price)
        if self._stopped or (long and has_machine_code()):
            return 0
        return max(1, int(SECONDS_AT_ONCE / self._per_step)) if self._per_step else AT_FIRST

    def price(self) -> float:
        """Return the seconds that machine code will probably cost."""
        if self._functions in _loading:
            return 0.0
        if not _loading:
            return LOADING + (0.0 if "numba" in sys.modules else IMPORTING)
        first, *others = _loading.values()  # the first has started numba; and what had to be compiled is no rule
        return min(others, default=first / 10)

    @contextmanager
    def loading(self) -> Generator[None]:
        """Record how long it takes to load machine code; a context manager."""
        began = time.perf_counter()
        yield
        _loading.setdefault(self._functions, time.perf_counter() - began)

    def record(self, steps: int, units: int, seconds: float) -> None:
        """Record how long some steps took in Python."""
        if self._looks and seconds:  # the very first steps take longer: Python and the processor warm up
            self._per_step, self._per_unit = seconds / max(steps, 1), seconds / max(units, 1)
        self._looks += 1
        _seconds[self._functions] = _seconds.get(self._functions, 0.0) + seconds


class InterpretedRun:
    """Runs the kernel of the compiled loop in Python for a while.

    Parameters
    ----------
    kernel : Compiled
        `rlsuite.training.kernels.run_compiled`.
    arguments : tuple
        Arguments for it, up to the state of the environment.
    """

    def __init__(self, kernel: Compiled[..., tuple[int, int, Any]], arguments: tuple[Any, ...]):
        self._form = interpreted(kernel)
        self._pace = Pace(_functions_in((kernel, arguments)))
        self.loading = self._pace.loading
        if not (_all_in_python or no_machine_code() or (interpretable(kernel) and interpretable(arguments))):
            self._pace.stop()

    def __call__(
        self,
        position: IndexArray,
        arguments: tuple[Any, ...],
        most: int,
        clock: int,
        times: IndexArray,
        recorded: FloatArray,
        finished: FloatArray,
    ) -> tuple[int, int, Any] | None:
        """Return what the kernel returns after at most this many steps; None if machine code is to continue."""
        steps = min(most, self._pace.steps(int(times[-1] - position[clock])))
        if not steps:
            return None
        before, state, began = position.copy(), arguments[-1], time.perf_counter()
        snapshot = Snapshot(arguments)
        try:
            with np.errstate(all="ignore", over="raise"):
                form, known = self._form, checked_answers(interpreted(arguments))
                code, n_recorded, after = form(*known, steps, clock, times, recorded, finished)
        except Exception as error:  # of whatever kind: machine code decides, unless it would not notice
            snapshot.restore()
            _unnoticed(error)
            self._pace.stop()
            return None
        except BaseException:  # Ctrl-C in a step
            snapshot.restore()
            raise
        done = position - before
        self._pace.record(int(done[ALL_STEPS]), int(done[clock]), time.perf_counter() - began)
        return code, n_recorded, _of_the_type_of(state, after)


class InterpretedSession:
    """Serves the actions of the stepwise loop in Python for a while.

    Parameters
    ----------
    kernel : Compiled
        `rlsuite.training.kernels.session`.
    arguments : tuple
        Its arguments.
    run_state : RunState
        The one of them that says where the run is.
    buffer : ndarray of float64
        The one of them into which the caller puts the environment's answers.
    """

    def __init__(
        self, kernel: Compiled[..., Iterator[int]], arguments: tuple[Any, ...], run_state: RunState, buffer: FloatArray
    ):
        self._kernel, self._arguments, self._run_state, self._buffer = kernel, arguments, run_state, buffer
        self._pace = Pace(_functions_in((kernel, arguments)))
        if not (_all_in_python or no_machine_code() or (interpretable(kernel) and interpretable(arguments))):
            self._pace.stop()
        self._interpreted = interpreted(kernel)(*checked_answers(interpreted(arguments)))
        self._machine_code: Iterator[int] | None = None
        self._seconds = 0.0
        self._waiting = False  # for the answer to an action that has been served
        self._snapshot: Snapshot | None = None
        self._waiting_then = False  # when the snapshot was taken
        self._answers: list[FloatArray] = []  # since the snapshot

    def stay_interpreted(self) -> None:
        """Stay in Python: this session will be a short one."""
        self._pace.stay_interpreted()

    def steps(self, left: int) -> int:
        """Return how many steps to take before asking again; 0 for machine code. ``left`` as for `Pace`."""
        return self._pace.steps(left)

    def record(self, steps: int, units: int) -> None:
        """Record how many steps, and how many units of time, have passed since the last time."""
        self._pace.record(steps, units, self._seconds)
        self._seconds = 0.0
        self._snapshot = None  # until the next step, a user may change what was learned

    def next_action(self) -> int:
        """Return what the session yields next."""
        if self._machine_code is not None:
            return next(self._machine_code)
        if self._snapshot is None:
            self._snapshot, self._waiting_then = Snapshot(self._arguments), self._waiting
            self._answers = []
        self._answers.append(self._buffer.copy())
        began = time.perf_counter()
        try:
            with np.errstate(all="ignore", over="raise"):
                action = next(self._interpreted)
        except Exception as error:  # of whatever kind: machine code decides, unless it would not notice
            _unnoticed(error)
            action = self._taken_again(self._snapshot)
        self._waiting = action >= 0
        self._seconds += time.perf_counter() - began
        return int(action)

    def machine_code(self) -> Iterator[int]:
        """Open the session that continues in machine code."""
        if self._machine_code is None:
            with self._pace.loading(), named_answers(self._arguments):
                self._machine_code = self._kernel(*self._arguments)
            if self._waiting and self._run_state.position[ACTION] != NONE:
                next(self._machine_code)  # the action that has been served already
        return self._machine_code

    def _taken_again(self, snapshot: "Snapshot") -> int:
        """Take the steps since the snapshot by machine code; return what the last one yields."""
        self._pace.stop()
        snapshot.restore()
        self._waiting = self._waiting_then
        session = self.machine_code()
        action = NONE
        for answer in self._answers:
            self._buffer[:] = answer
            action = next(session)
        return action


class Snapshot:
    """The arrays and the generators in the arguments of a kernel, as they are now."""

    def __init__(self, arguments: object):
        self._arrays = [(array, array.copy()) for array in _parts_of(arguments, np.ndarray) if array.flags.writeable]
        generators = [one.bit_generator for one in _parts_of(arguments, np.random.Generator)]
        self._generators = [(generator, generator.state) for generator in generators]

    def restore(self) -> None:
        """Make everything what it was."""
        for array, before in self._arrays:
            array[...] = before
        for generator, before in self._generators:
            generator.state = before


def look_for_mistakes(kernel: Compiled[..., tuple[int, int, Any]], arguments: tuple[Any, ...]) -> None:
    """Take a few steps in Python and take them back, before machine code runs a function that is not one of rlsuite's.

    Machine code does not notice an index outside of an array. A function that prints is left alone: it would print
    twice.

    Parameters
    ----------
    kernel : Compiled
        `rlsuite.training.kernels.run_compiled`.
    arguments : tuple
        All its arguments; those behind the state of the environment are replaced.

    Raises
    ------
    LearningError, CompilationError
        If there is such an index, or if the rule returns no action.
    """
    sources = [function.function.__code__ for function in _functions_in(arguments)]
    if all(code.co_filename.startswith(_PACKAGE) for code in sources):
        return
    if any({"print", "objmode"} & {*code.co_names} for code in sources):
        return
    *known, _, _, _, _, _ = arguments
    times, recorded, finished = np.array([np.iinfo(np.int64).max]), np.empty((1, 2)), np.empty((LOOKED_AT, 3))
    snapshot = Snapshot(known := tuple(known))
    try:
        with np.errstate(all="ignore"):
            form, before = interpreted(kernel), checked_answers(interpreted(known))
            form(*before, LOOKED_AT, ALL_STEPS, times, recorded, finished)
    except Exception as error:  # of whatever kind: machine code decides, unless it would not notice
        _unnoticed(error)
    finally:
        snapshot.restore()


def _unnoticed(error: Exception) -> None:
    """Raise what machine code would not notice, or not so clearly: an index outside of an array, an answer of a rule.

    Raises
    ------
    LearningError, CompilationError
        Then.
    """
    if isinstance(error, CompilationError):
        raise error
    if said := outside(error):
        raise LearningError(said) from error


def _functions_in(arguments: object) -> tuple[Compiled[..., Any], ...]:
    """The compiled functions among the arguments of a kernel: what its machine code depends on."""
    kind: Any = Compiled
    return tuple(_parts_of(arguments, kind))


def _parts_of(value: object, kind: type[Part]) -> Iterator[Part]:
    """The parts of one class that tuples are made of."""
    if isinstance(value, kind):
        yield value
    elif is_tuple(value):
        for part in value:
            yield from _parts_of(part, kind)


def _of_the_type_of(known: Any, state: Any) -> Any:
    """Make the numbers of a state Python's, of the types that they had: machine code returns no others."""
    if is_tuple(known):
        parts = [_of_the_type_of(*pair) for pair in zip(known, state, strict=True)]
        return type(known)(*parts) if hasattr(known, "_fields") else tuple(parts)
    return type(known)(state)
