"""What a rule has learned: its arrays by name, whether they are still finite, and putting back what is not.

A table whose values overflow, and weights that grow without end, hold infinity at first and soon NaN. No rule makes
such a number finite again. So it is enough to look from time to time: where a run ends or is evaluated, and after as
many steps as there are numbers, so that looking takes a small part of the time of the steps.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.aliases import Env, Own
from rlsuite.core.declared import Array, declarations
from rlsuite.environments.facts import name_of
from rlsuite.models.aliases import AnyArray
from rlsuite.training.kernels import ALL_STEPS, RunState, abandon_episode

TEMPORARY = {"scores", "stale"}
"""Fields of a memory that are not needed between two steps."""

ENORMOUS = 1e12
"""Weights beyond this diverge, whatever the rewards are."""

INFINITE = "what it has learned is no longer finite"
REMEDY = (
    "Rewards and values overflow beyond 1.8e308: divide the rewards by a constant; a rule whose values grow from step "
    "to step needs a smaller learning_rate"
)
REMEDY_OF_WEIGHTS = (
    "A smaller learning_rate often helps (with n features active at a time, 1 / n is the largest that makes sense; "
    "unscaled features, such as powers of numbers greater than 1, need a smaller one still); "
    "off-policy with bootstrapping, only gradient-TD methods are sure to converge"
)
SMALL = 10_000
"""Numbers that are copied, or looked at, in no time."""


def learned_arrays(memory: Any) -> dict[str, Any]:
    """Return the arrays of a memory by name; those of its ``learned`` as "learned.NAME"."""
    fields: dict[str, Any] = memory._asdict()
    learned: Any = fields.get("learned", ())
    if learned:
        fields |= {f"learned.{name}": value for name, value in learned._asdict().items()}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray) and name not in TEMPORARY}


def declared_arrays(memory: Any) -> dict[str, Array]:
    """What the classes of a memory, and of its ``learned``, declare about their arrays; names as `learned_arrays`."""
    inner = {f"learned.{name}": one for name, one in declarations(getattr(memory, "learned", ())).items()}
    return declarations(memory) | inner


def is_finite(array: NDArray[np.float64]) -> bool:
    """Whether all numbers are finite."""
    if array.size <= SMALL and math.isfinite(np.vdot(array, array)):  # of more numbers it uses threads
        return True
    return bool(np.isfinite(array).all())


class Lookout:
    """Looks whether what a rule learns is still finite.

    Parameters
    ----------
    memory : NamedTuple
        The rule's memory. Numbers that are infinite now, or may become so by their declaration, are not looked at.
    """

    def __init__(self, memory: Any):
        numbers = {name: array for name, array in learned_arrays(memory).items() if array.dtype.kind == "f"}
        self._memory, self._numbers = memory, {name: array for name, array in numbers.items() if is_finite(array)}
        self._size = sum(array.size for array in numbers.values())
        self._next = 0

    def lost(self) -> str:
        """Return the name of an array that is no longer finite; empty if there is none."""
        for name, array in self._numbers.items():
            if not is_finite(array):
                declared = declared_arrays(self._memory).get(name)
                if declared is None or declared.finite or np.isnan(array).any():
                    return name
        return ""

    def error(self, env: Env, run_state: RunState, at_end: bool) -> errors.LearningError | None:
        """Look, at the end or if it is time; where numbers are lost the episode is abandoned, and an error returned."""
        steps = int(run_state.position[ALL_STEPS])
        if not at_end and steps < self._next:
            return None
        self._next = steps + self._size
        lost = self.lost()
        if not lost:
            return None
        abandon_episode(run_state)  # traces and the like are lost, too
        return errors.LearningError(f"{name_of(env)}, step {steps}: {lost}_ is no longer finite")


class Before:
    """What an agent had learned before a call of `learn`, to be put back if it diverges.

    Parameters
    ----------
    memory : NamedTuple
        The agent's memory.
    run_state : RunState
        Counts the steps of its run.
    new_memory : callable, optional
        Makes an empty one, where nothing has been learned yet: no copy is needed then.
    """

    def __init__(self, memory: Own, run_state: RunState, new_memory: Callable[[], Own] | None = None):
        self.run_state, self._memory, self._new_memory = run_state, memory, new_memory
        self._lookout = Lookout(memory)
        self._arrays = _to_put_back(memory)
        self._size = sum(array.size for array in self._arrays)
        self._copies = [array.copy() for array in self._arrays] if new_memory is None else []
        self._step = self._call = self._steps()

    def _steps(self) -> int:
        return int(self.run_state.position[ALL_STEPS])

    def begin_call(self) -> None:
        """Begin another call of `learn`: what there is now is copied, unless few steps of a large table ago it was."""
        self._call = self._steps()
        if self._size > SMALL and self._call - self._step < self._size:
            return
        self._step, self._new_memory = self._call, None
        if not self._copies:
            self._copies = [np.empty_like(array) for array in self._arrays]
        for array, copy in zip(self._arrays, self._copies, strict=True):
            np.copyto(copy, array)

    def check(self, name: str, error: errors.LearningError | None = None) -> None:
        """Check what has been learned since, in a run that may have ended in an error; `name` is the agent's class.

        Raises
        ------
        LearningError
            If a number has become infinite or NaN.

        Warns
        -----
        DivergenceWarning
            If a weight is larger than anything that a return could ask for.
        """
        finite, weights = not self._lookout.lost(), learned_arrays(self._memory).get("weights")
        largest = 0.0 if weights is None else float(np.abs(weights).max(initial=0.0))
        if finite and largest <= ENORMOUS:
            return
        good = self._copies if self._new_memory is None else _to_put_back(self._new_memory())
        for array, before in zip(self._arrays, good, strict=True):
            np.copyto(array, before)
        what = f"its largest weight has become {largest:.3g}" if finite else INFINITE
        since = "before this call" if self._step == self._call else f"by step {self._step} of this run"
        remedy = REMEDY if weights is None else REMEDY_OF_WEIGHTS
        why = f"{what}. What it had learned {since} is restored. {remedy}"
        if error is not None:
            raise errors.LearningError(f"{name} has diverged: {why} ({error})") from error
        if not finite:
            raise errors.LearningError(f"{name} has diverged: {why}")
        level = errors.level_of_the_caller()
        warnings.warn(f"{name} diverges: {why}", errors.DivergenceWarning, stacklevel=level)


def _to_put_back(memory: Own) -> list[AnyArray]:
    """A table and its counts; or weights, and what else the rule learns."""
    arrays = learned_arrays(memory)
    if "weights" in arrays:
        return [array for name, array in arrays.items() if name == "weights" or name.startswith("learned.")]
    return [array for name, array in arrays.items() if name != "legal"]
