"""An environment with continuous actions, reduced to a finite choice of them."""

from numbers import Integral
from typing import Any, SupportsFloat, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import ParameterError, UnsuitableEnvironment


class DiscreteActions(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Offers some of the actions of a continuous action space, counted from 0.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with a Box action space.
    actions : int or array_like (n, ...)
        The actions on offer, each of the shape of the space (or a plain number, if an action is one number); or how
        many, at least 2: then they are spaced evenly from the lower to the upper bound of a space of one number.

    Attributes
    ----------
    actions : ndarray (n, ...), of the dtype of the space, read-only
        What the environment is given for each action.
    action_space : gymnasium.spaces.Discrete
        n actions.

    Raises
    ------
    UnsuitableEnvironment
        If the action space is not a Box, or actions are to be spaced in one that is unbounded or not of one number.
    ParameterError
        If there are fewer than 2 actions, or one of them is not in the space.

    Notes
    -----
    With an environment in this wrapper, agents learn stepwise.

    Examples
    --------
    >>> import gymnasium
    >>> env = DiscreteActions(gymnasium.make("MountainCarContinuous-v0"), 3)
    >>> env.action_space, env.actions.ravel().tolist()
    (Discrete(3), [-1.0, 0.0, 1.0])
    >>> gentle = DiscreteActions(gymnasium.make("MountainCarContinuous-v0"), [-0.5, 0.5])
    >>> observation, info = gentle.reset(seed=7)
    >>> round(float(gentle.step(1)[1]), 3)  # pushing costs a tenth of its square
    -0.025
    """

    def __init__(self, env: gymnasium.Env[Any, Any], actions: int | ArrayLike = 3) -> None:
        RecordConstructorArgs.__init__(self, actions=actions)
        super().__init__(env)
        space: Any = env.action_space
        if not isinstance(env.action_space, spaces.Box):
            raise UnsuitableEnvironment(f"the action space is {space}, not a Box: its actions are discrete already")
        self.actions = _spaced(space, int(actions)) if isinstance(actions, Integral) else _listed(space, actions)
        self.actions.flags.writeable = False
        self.action_space = spaces.Discrete(len(self.actions))

    def step(self, action: SupportsIndex) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Pass the action with that index to the environment.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if not self.action_space.contains(action):
            raise ParameterError(f"action {action!r} is not in {self.action_space}")
        return self.env.step(self.actions[action])


def _spaced(space: Any, n: int) -> NDArray[Any]:
    """Actions from the lower to the upper bound (n, ...)."""
    if n < 2:
        raise ParameterError(f"actions={n} is too small; at least 2 actions are needed")
    if space.low.size != 1 or not space.is_bounded():
        raise UnsuitableEnvironment(
            f"actions can be spaced evenly only in a bounded space of one number, not in {space}: list them, "
            "actions=[...]"
        )
    share = np.linspace(0.0, 1.0, n).reshape(-1, *(1,) * len(space.shape))
    return np.asarray(space.low * (1.0 - share) + space.high * share, dtype=space.dtype)


def _listed(space: Any, actions: ArrayLike) -> NDArray[Any]:
    """The actions of a list (n, ...)."""
    try:
        listed = np.array(actions, dtype=space.dtype)
        if listed.ndim == 1 and space.low.size == 1:
            listed = listed.reshape(-1, *space.shape)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"actions={actions!r} are not arrays of numbers: {error}") from error
    if listed.shape[1:] != space.shape or len(listed) < 2:
        raise ParameterError(
            f"actions={actions!r} have the shape {listed.shape}; at least two are needed, each of shape {space.shape}"
        )
    for number, action in enumerate(listed):
        if not np.all((action >= space.low) & (action <= space.high)):
            raise ParameterError(f"actions[{number}]={action.tolist()} is not in {space}")
    return listed
