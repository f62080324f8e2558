"""What an environment shows of its state: the keyword ``observe`` of every environment that is made by name.

======================= ==============================================================================================
``"state"``             what it shows anyway: the number of the state, or the observation of a hidden one
``"cell"``              row and column of a grid; elsewhere the numbers of the state's label, where that is a tuple
``"belief"``            of a hidden state: its distribution, given actions and observations
``"belief-grid"``       the nearest belief of whole tenths, as an id for tables; ``"belief-grid:20"`` of twentieths
======================= ==============================================================================================
"""

from typing import cast

import numpy as np

from rlsuite.core.aliases import Env
from rlsuite.core.checks import whole_number
from rlsuite.environments.belief_grid import BeliefGridObservation
from rlsuite.environments.wrappers import BeliefObservation, VectorObservation
from rlsuite.errors import ParameterError, UnsuitableEnvironment, unknown

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
    word, colon, resolution = (
        observe.partition(":") if isinstance(cast("object", observe), str) else (repr(observe), "", "")
    )
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
