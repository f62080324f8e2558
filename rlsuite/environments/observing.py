"""What an environment shows of its state: the keyword ``observe`` of every environment that is made by name.

======================= ==============================================================================================
``"state"``             what it shows anyway: the number of the state, or the observation of a hidden one
``"cell"``              row and column of a grid; elsewhere the numbers of the state's label, where that is a tuple
``"belief"``            of a hidden state: its distribution, given actions and observations
``"belief-grid"``       the nearest belief of whole tenths, as an id for tables; ``"belief-grid:20"`` of twentieths
======================= ==============================================================================================
"""

import math
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from rlsuite.core.aliases import Env, Observation
from rlsuite.core.checks import whole_number
from rlsuite.environments.observation_ids import MAX_IDS
from rlsuite.environments.wrappers import BeliefObservation, VectorObservation
from rlsuite.errors import ParameterError, UnsuitableEnvironment, unknown
from rlsuite.models.aliases import FloatArray

CHOICES = ("state", "cell", "belief", "belief-grid")


def observing(env: Env, observe: str) -> Env:
    """Return an environment that shows what is asked for.

    Parameters
    ----------
    env : gymnasium.Env
        An environment that shows ids.
    observe : str
        One of the words of this module.

    Raises
    ------
    ParameterError
        If `observe` is none of these.
    UnsuitableEnvironment
        If the environment cannot show it: it is no grid and its labels are not tuples of numbers, or nothing is hidden.

    Examples
    --------
    >>> import gymnasium
    >>> observing(gymnasium.make("CliffWalking-v1"), "cell").reset(seed=7)[0]
    array([3., 0.])
    """
    word, colon, resolution = str(observe).partition(":")
    if word not in CHOICES or (colon and word != "belief-grid"):
        raise ParameterError(unknown("observe", observe, (*CHOICES, "belief-grid:20")))
    if word == "state":
        return env
    if word == "cell":
        return VectorObservation(env, "cell")
    if word == "belief":
        return BeliefObservation(env)
    if colon and not resolution.isdecimal():
        raise ParameterError(f"observe={observe!r}: after the colon stands a whole number, as in 'belief-grid:20'")
    return BeliefGridObservation(
        BeliefObservation(env), whole_number("the resolution of observe", int(resolution or 10))
    )


def has_cells(env: Env) -> bool:
    """Whether ``observe="cell"`` would show at least two numbers that differ from state to state.

    >>> import gymnasium
    >>> has_cells(gymnasium.make("CliffWalking-v1")), has_cells(gymnasium.make("Taxi-v4"))
    (True, False)
    """
    try:
        cells = VectorObservation(env, "cell").vectors
    except UnsuitableEnvironment:
        return False
    placed = cells[(cells != -1.0).any(axis=1)]
    return len(placed) > 0 and int((np.ptp(placed, axis=0) > 0.0).sum()) > 1


class BeliefGridObservation(gymnasium.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """Replaces each belief by the number of the nearest point of a grid (Lovejoy 1991).

    The points are the beliefs whose probabilities are multiples of 1 / resolution. A belief goes to the point that its
    largest remainders round up to; of equal ones, those of the first states.

    Parameters
    ----------
    env : BeliefObservation
        An environment that shows beliefs.
    resolution : int
        Steps from 0 to 1.

    Attributes
    ----------
    observation_space : gymnasium.spaces.Discrete
        One id for each point.

    Raises
    ------
    ParameterError
        If the grid has more points than a table has room for.

    Examples
    --------
    >>> import gymnasium, rlsuite_envs
    >>> env = gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid")
    >>> env.observation_space, env.reset(seed=7)[0], env.step(0)[0]
    (Discrete(11), 5, 2)
    """

    def __init__(self, env: BeliefObservation, resolution: int = 10) -> None:
        RecordConstructorArgs.__init__(self, resolution=resolution)
        super().__init__(env)
        self.resolution = whole_number("resolution", resolution)
        self._n_states = int(cast(spaces.Box, env.observation_space).shape[0])
        points = _points(self._n_states, self.resolution)
        if points > MAX_IDS:
            fits = max((k for k in range(1, self.resolution) if _points(self._n_states, k) <= MAX_IDS), default=0)
            hint = f"'belief-grid:{fits}' fits" if fits else "learn with features and observe='belief'"
            raise ParameterError(
                f"a grid of {self._n_states} states and resolution {self.resolution} has {points:.3g} beliefs, and a "
                f"table has room for {MAX_IDS:,}: {hint}"
            )
        self.observation_space = spaces.Discrete(points)

    def observation(self, observation: Observation) -> int:
        """Return the number of the nearest point of the grid."""
        bars = np.cumsum(self.rounded(cast("FloatArray", observation)))[:-1] + np.arange(self._n_states - 1)
        return sum(math.comb(bar, i) for i, bar in enumerate(bars.tolist(), 1))

    def rounded(self, belief: FloatArray) -> Any:
        """Return the nearest point of a belief (S,), in steps: (S,) int64, of sum `resolution`."""
        scaled = self.resolution * belief
        steps = np.floor(scaled + 1e-9).astype(np.int64)
        missing = self.resolution - int(steps.sum())
        steps[np.argsort(steps - scaled, kind="stable")[:missing]] += 1
        return steps


def _points(n_states: int, resolution: int) -> int:
    return math.comb(resolution + n_states - 1, n_states - 1)
