"""An environment defined by compiled dynamics: `CompiledEnv`."""

from typing import Any, ClassVar, SupportsIndex, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlsuite.environments.compiled_dynamics import CompiledDynamics, State, check_dynamics
from rlsuite.errors import ParameterError


class CompiledEnv(gymnasium.Env[NDArray[np.floating[Any]], Any]):
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

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride] - Gymnasium says dict
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
        self.observation_space = cast(Any, observation_space)
        self.action_space = action_space
        self._first_action = int(action_space.start)
        self._shape, self._dtype = observation_space.shape, cast("np.dtype[Any]", observation_space.dtype)
        self.render_mode = render_mode
        self.state: State = ()
        self._checked = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.floating[Any]], dict[str, Any]]:
        """Begin an episode.

        Raises
        ------
        UnsuitableEnvironment
            The first time, if the dynamics are not compiled, or return something else than they should.
        """
        if not self._checked:
            check_dynamics(self.dynamics, type(self).__name__)
            self._checked = True
        super().reset(seed=seed)
        self.state = self.dynamics.begin(self.dynamics.constants, self.np_random)
        return self._observation(), {}

    def step(self, action: SupportsIndex) -> tuple[NDArray[np.floating[Any]], float, bool, bool, dict[str, Any]]:
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

    def _observation(self) -> NDArray[np.floating[Any]]:
        seen = np.zeros(self._shape)
        self.dynamics.observe(self.dynamics.constants, self.state, seen)
        return seen.astype(self._dtype)
