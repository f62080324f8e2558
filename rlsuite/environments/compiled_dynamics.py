"""An environment's own step as compiled functions, for learning in it at compiled speed.

A problem whose states are numbers, not ids, has no table. But its step is a few lines of arithmetic, and if it is
written as compiled functions, agents learn in it at compiled speed. The state is a tuple of floats:

``begin(constants, rng) -> state``
    draws the state in which an episode begins, exactly as the environment's `reset` does;
``step(constants, state, action, rng) -> (next state, reward, terminated)``
    is the environment's `step`; it draws what that draws, in the same order;
``observe(constants, state, out)``
    writes what an agent observes into the array ``out``, of the length of the observation space.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import Compiled
from rlsuite.errors import UnsuitableEnvironment

State = tuple[float, ...]


def _read(env: Any) -> State:
    return tuple(float(number) for number in env.state)


def _write(env: Any, state: State) -> None:
    env.state = state


@dataclass(frozen=True, kw_only=True)
class CompiledDynamics:
    """The step of an environment with a state of its own, compiled.

    Parameters
    ----------
    begin, step, observe : compiled functions
        See the module's text.
    constants : NamedTuple or tuple
        The numbers and arrays that the functions are given as their first argument.
    read : callable
        ``read(env) -> state``: where the unwrapped environment keeps its state; by default, in ``env.state``.
    write : callable
        ``write(env, state)``: puts the environment into a state.
    """

    begin: Compiled[..., Any]
    step: Compiled[..., Any]
    observe: Compiled[[Any, Any, NDArray[np.float64]], None]
    constants: Any = ()
    read: Callable[[Any], State] = _read
    write: Callable[[Any, State], None] = _write


def check_dynamics(dynamics: CompiledDynamics, name: str) -> None:
    """Make sure that the functions are compiled, and return the parts that the compiled loop uses.

    Raises
    ------
    UnsuitableEnvironment
        If one is not compiled, or returns something else than it should; `name` is that of the environment.
    """
    functions = {"begin": dynamics.begin, "step": dynamics.step, "observe": dynamics.observe}
    for part, function in functions.items():
        if not isinstance(cast(object, function), Compiled):
            raise UnsuitableEnvironment(
                f"{name}: {part} of its compiled dynamics is {function!r}, which is not compiled; decorate it "
                "with @rlsuite.compiled(in_place=True)"
            )
    rng = np.random.default_rng(0)
    begun: Any = dynamics.begin(dynamics.constants, rng)
    if not _is_state(begun):
        raise UnsuitableEnvironment(
            f"{name}: begin of its compiled dynamics returned {begun!r}; it has to return a state, a tuple of floats"
        )
    answer: Any = dynamics.step(dynamics.constants, begun, 0, rng)
    if not (isinstance(answer, tuple) and len(cast("tuple[Any, ...]", answer)) == 3):
        raise UnsuitableEnvironment(
            f"{name}: step of its compiled dynamics returned {answer!r}; it has to return (next state, "
            "reward, terminated)"
        )
    ahead = cast("tuple[Any, ...]", answer)[0]
    if not (_is_state(ahead) and len(ahead) == len(begun)):
        raise UnsuitableEnvironment(
            f"{name}: step of its compiled dynamics returned the next state {ahead!r} for the state {begun!r}; it has "
            f"to be a tuple of {len(begun)} floats"
        )


def _is_state(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, float) for one in cast("tuple[Any, ...]", value))
