"""Compiled dynamics: an environment's own step as compiled functions; and `CompiledEnv`, which they define.

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
from typing import TYPE_CHECKING, Any, ClassVar, Final, SupportsIndex, TypeAlias, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite.core.aliases import BareEnv, Info, UntypedSpace
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import is_tuple
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models.functions import check_function

if TYPE_CHECKING:  # an environment can be made without numba
    from typing_extensions import TypeIs

    from rlsuite.core.compilation import Compiled

State = tuple[float, ...]
Constants = tuple[ArrayLike, ...]
AT_FIRST: Final = 20
"""Steps of the walk in Python before the first `reset`."""

Vector: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


def _read(env: BareEnv) -> State:
    return tuple(map(float, env.state))


def _write(env: BareEnv, state: State) -> None:
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

    begin: "Compiled[..., State]"
    step: "Compiled[..., tuple[State, float, bool]]"
    observe: "Compiled[..., None]"
    constants: Constants = ()
    read: Callable[[BareEnv], State] = _read
    write: Callable[[BareEnv, State], None] = _write


def check_dynamics(dynamics: CompiledDynamics, name: str) -> None:
    """Make sure that the functions are compiled, and return the parts that the compiled loop uses.

    Raises
    ------
    UnsuitableEnvironment
        If one is not compiled, or returns something else than it should; `name` is that of the environment.
    ParameterError
        If one has other parameters.
    """
    from rlsuite.core.compilation import Compiled

    needed = {"begin": ("rng",), "step": ("state", "action", "rng"), "observe": ("state", "out")}
    for part, parameters in needed.items():
        function: Any = getattr(dynamics, part)
        if not isinstance(cast("object", function), Compiled):
            raise UnsuitableEnvironment(
                f"{name}: {part} of its compiled dynamics is {function!r}, which is not compiled; decorate it "
                "with @rlsuite.compiled(in_place=True)"
            )
        check_function(part, function, "constants", *parameters)
    rng = np.random.default_rng(0)
    begun: object = dynamics.begin(dynamics.constants, rng)
    if not _is_state(begun):
        raise UnsuitableEnvironment(
            f"{name}: begin of its compiled dynamics returned {begun!r}; it has to return a state, a tuple of floats"
        )
    answer: object = dynamics.step(dynamics.constants, begun, 0, rng)
    if not (is_tuple(answer) and len(answer) == 3):
        raise UnsuitableEnvironment(
            f"{name}: step of its compiled dynamics returned {answer!r}; it has to return (next state, "
            "reward, terminated)"
        )
    ahead = answer[0]
    if not (_is_state(ahead) and len(ahead) == len(begun)):
        raise UnsuitableEnvironment(
            f"{name}: step of its compiled dynamics returned the next state {ahead!r} for the state {begun!r}; it has "
            f"to be a tuple of {len(begun)} floats"
        )


def check_indices(dynamics: CompiledDynamics, name: str, n_actions: int, width: int, steps: int) -> None:
    """Walk at random in Python, which knows of indices outside of arrays: machine code does not look.

    Parameters
    ----------
    dynamics : CompiledDynamics
        The functions.
    name : str
        The name of the environment.
    n_actions, width : int
        Number of actions, and length of an observation.
    steps : int
        Length of the walk; it ends earlier where the functions fail in another way, on which machine code decides.

    Raises
    ------
    UnsuitableEnvironment
        If an index lies outside, with the line.
    """
    from rlsuite.core.compilation import interpreted
    from rlsuite.core.refusals import outside

    parts: Any = (dynamics.begin, dynamics.step, dynamics.observe, dynamics.constants)
    begin, step, observe, constants = map(interpreted, parts)
    rng, out, state, over = np.random.default_rng(0), np.zeros(width), None, True
    try:
        with np.errstate(all="ignore"):
            for action in rng.integers(n_actions, size=steps).tolist():
                if over:
                    state = begin(constants, rng)
                    observe(constants, state, out)
                state, _, over = step(constants, state, action, rng)
                observe(constants, state, out)
    except Exception as error:  # of whatever kind: machine code, which comes next, has other rules, or says it better
        if said := outside(error):
            raise UnsuitableEnvironment(f"{name}: {said}") from error


def _is_state(value: object) -> "TypeIs[State]":
    return is_tuple(value) and all(isinstance(one, float) for one in value)


class CompiledEnv(gymnasium.Env[Vector, SupportsIndex]):
    """A Gymnasium environment whose `reset` and `step` are compiled functions.

    It steps like any other environment, and agents that see vectors learn in it at compiled speed, with the same bytes.

    Parameters
    ----------
    dynamics : CompiledDynamics
        What happens.
    observation_space : gymnasium.spaces.Box
        Of one dimension; observations have its dtype.
    action_space : gymnasium.spaces.Discrete
        The actions; the dynamics count them from 0.
    render_mode : str, optional
        One of ``metadata["render_modes"]``, of which there are none here.

    Attributes
    ----------
    state : tuple of float
        The state, as the dynamics know it. May be assigned.

    Raises
    ------
    ParameterError
        If an argument is of another kind, or an action is not in the space.

    Examples
    --------
    A walk on the line, from 0 to where it leaves [-1, 1]:

    >>> import rlsuite as rl
    >>> from gymnasium.spaces import Box, Discrete
    >>> @rl.compiled(in_place=True)
    ... def begin(constants, rng):
    ...     return (0.0,)
    >>> @rl.compiled(in_place=True)
    ... def step(constants, state, action, rng):
    ...     x = state[0] + (0.5 if action == 1 else -0.5)
    ...     return (x,), -1.0, abs(x) >= 1.0
    >>> @rl.compiled(in_place=True)
    ... def observe(constants, state, out):
    ...     out[0] = state[0]
    >>> walk = rl.CompiledDynamics(begin=begin, step=step, observe=observe)
    >>> env = rl.CompiledEnv(walk, Box(-2.0, 2.0, (1,)), Discrete(2))
    >>> env.reset(seed=1)[0].tolist(), env.step(1)[0].tolist(), env.step(1)[2]
    ([0.0], [0.5], True)
    """

    metadata: ClassVar[Info] = {  # pyright: ignore[reportIncompatibleVariableOverride] - Gymnasium says dict
        "render_modes": [],
    }

    def __init__(
        self,
        dynamics: CompiledDynamics,
        observation_space: gymnasium.spaces.Box,
        action_space: gymnasium.spaces.Discrete,
        *,
        render_mode: str | None = None,
    ) -> None:
        given: tuple[tuple[str, object, type], ...] = (
            ("dynamics", dynamics, CompiledDynamics),
            ("observation_space", observation_space, gymnasium.spaces.Box),
            ("action_space", action_space, gymnasium.spaces.Discrete),
        )
        for name, value, kind in given:
            if not isinstance(value, kind):  # pyright: ignore[reportUnnecessaryIsInstance] - unchecked at run time
                raise ParameterError(f"{name}={value!r} must be a {kind.__name__}")
        if len(observation_space.shape) != 1:
            raise ParameterError(f"observation_space={observation_space} must have one dimension")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            allowed = ", ".join(map(repr, [*self.metadata["render_modes"], None]))
            raise ParameterError(f"render_mode={render_mode!r} is not supported; allowed: {allowed}")
        self.dynamics = dynamics
        self.observation_space: UntypedSpace = observation_space
        self.action_space = action_space
        self._n_actions = int(action_space.n)
        self._first_action = int(action_space.start)
        self._shape, self._dtype = observation_space.shape, cast("np.dtype[Any]", observation_space.dtype)
        self.render_mode = render_mode
        self.state: State = ()
        self._checked = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Vector, Info]:
        """Begin an episode.

        Raises
        ------
        UnsuitableEnvironment
            The first time, if the dynamics are not compiled, return something else than they should, or index an array
            outside of it.
        """
        if not self._checked:
            name = type(self).__name__
            check_indices(self.dynamics, name, self._n_actions, self._shape[0], AT_FIRST)
            check_dynamics(self.dynamics, name)
            self._checked = True
        super().reset(seed=seed)
        self.state = self.dynamics.begin(self.dynamics.constants, self.np_random)
        return self._observation(), {}

    def step(self, action: SupportsIndex) -> tuple[Vector, float, bool, bool, Info]:
        """Take an action.

        Raises
        ------
        ParameterError
            If the action is not in the space, or the environment has not been reset.
        """
        if not self.state:
            raise ParameterError("step was called before reset: call reset first")
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is not in {self.action_space}")
        number = int(action) - self._first_action
        self.state, reward, terminated = self.dynamics.step(self.dynamics.constants, self.state, number, self.np_random)
        return self._observation(), float(reward), bool(terminated), False, {}

    def _observation(self) -> Vector:
        seen = np.zeros(self._shape)
        self.dynamics.observe(self.dynamics.constants, self.state, seen)
        return seen.astype(self._dtype)
