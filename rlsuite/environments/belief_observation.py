"""A partially observable environment whose observation is the belief about its hidden state."""

from typing import Any, SupportsIndex, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models import MDP, POMDP


class BeliefObservation(gymnasium.Wrapper[NDArray[np.float64], Any, Any, Any], RecordConstructorArgs):
    """Replaces each observation by the belief: the distribution of the hidden state, given observations and actions.

    The belief is a sufficient statistic of the history (KLC98, section 3.3), so the wrapped environment is Markov: the
    belief MDP, whose states are the beliefs.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with a POMDP in ``env.unwrapped.model``, such as `TabularEnv` and all that are made from models.

    Attributes
    ----------
    observation_space : gymnasium.spaces.Box
        (S,) float64, from 0 to 1.
    belief : ndarray (S,) float64
        The belief now, read-only.

    Raises
    ------
    UnsuitableEnvironment
        If the environment has no POMDP, or makes an observation that is impossible by its model.

    Notes
    -----
    `step` leaves the observation itself in ``info["observation"]``, int. When an episode ends, the belief is about the
    state in which it ended. An action that turns out to be illegal changes no state, but tells that it was illegal.

    Examples
    --------
    >>> from rlsuite.environments.belief_observation import BeliefObservation
    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> env = BeliefObservation(machine.to_env())
    >>> env.reset(seed=1)[0].tolist()
    [1.0, 0.0]
    >>> belief, reward, terminated, truncated, info = env.step(0)
    >>> info["observation"], belief.round(3).tolist()
    (0, [0.953, 0.047])
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        model: object = getattr(env.unwrapped, "model", None)
        if isinstance(model, MDP):
            raise UnsuitableEnvironment(f"{env.unwrapped} is fully observable: use it without BeliefObservation")
        if not isinstance(model, POMDP):
            raise UnsuitableEnvironment(
                f"{env.unwrapped} has no POMDP (env.unwrapped.model); make one with POMDP.from_arrays(...).to_env()"
            )
        self.observation_space = spaces.Box(0.0, 1.0, (model.n_states,), np.float64)
        self._belief = model.start

    @property
    def belief(self) -> NDArray[np.float64]:
        """(S,) float64: the current belief, read-only."""
        return self._belief

    @property
    def model(self) -> POMDP:
        """The model of the environment."""
        return cast("POMDP", cast(Any, self.env.unwrapped).model)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begin an episode; the belief is the start distribution of the model."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._belief = self.model.start
        return self._belief.copy(), {**info, "observation": observation}

    def step(self, action: SupportsIndex) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Take an action, and update the belief by the observation.

        Raises
        ------
        UnsuitableEnvironment
            If the observation is impossible in the model.
        """
        seen, reward, terminated, truncated, info = self.env.step(action)
        model, a, observation = self.model, int(action), cast(Any, seen)
        if info.get("illegal_action"):
            joint = np.where(model.mdp.legal[:, a], 0.0, self._belief)
        else:
            try:
                joint = model.joint(self._belief, a, observation, terminated=bool(terminated))
            except ParameterError as cause:
                raise UnsuitableEnvironment(f"{self.env} observed {observation!r}: {cause}") from cause
        total = float(joint.sum())
        if total <= 0.0:
            raise UnsuitableEnvironment(
                f"{self.env} observed {observation} after action {a}, which has probability 0 in its model and the "
                "belief before: does a wrapper change actions or observations?"
            )
        self._belief = joint / total
        self._belief.setflags(write=False)
        return self._belief.copy(), float(reward), terminated, truncated, {**info, "observation": observation}
