"""The short corridor with switched actions (S&B2 Example 13.1): where the best policy is stochastic."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP
from rlsuite_envs.keywords import number

LOOKS_ALIKE: Final = np.ones((4, 1))
"""(4, 1) float64: the features of each state, which are all the same."""
LOOKS_ALIKE.flags.writeable = False


def short_corridor(*, step_cost: float = 1.0, gamma: float = 1.0) -> MDP:
    """Build the corridor; the keywords are those of `ShortCorridorEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> short_corridor().P[1][1], short_corridor().P[2][1]
    ([(1.0, 0, -1.0, False)], [(1.0, 3, -1.0, True)])
    """
    cost = number("step_cost", step_cost)
    goal = 3
    return MDP.from_successors(
        [[0, 1], [2, 0], [1, goal], [goal, goal]],
        lambda s, a, ahead: 0.0 if s == goal else -cost,
        gamma=gamma,
        start=0,
        terminated=[False, False, False, True],
        state_labels=("first", "switched", "last", "goal"),
        action_labels=("Left", "Right"),
    )


class ShortCorridorEnv(TabularEnv):
    """A corridor of three states that look alike; in the second, left and right are switched (S&B2 Example 13.1).

    Parameters
    ----------
    step_cost : float
        Cost of each step.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Attributes
    ----------
    features : ndarray (4, 1) float64
        The features of each state, the same for all: ``VectorObservation(env, env.unwrapped.features)`` hides the
        state from the agent.

    Notes
    -----
    Actions: 0 Left, which in the first state leads nowhere, and 1 Right; in the second state they are switched. An
    agent that observes the state needs three steps. One that does not, and goes right with probability p, needs 2 (2 -
    p) / (p (1 - p)): with the best p, 2 - sqrt(2) = 0.586, this is 11.66. A greedy policy that explores with
    probability 0.1 needs 82 steps going left, or 44 going right.

    Examples
    --------
    >>> env = ShortCorridorEnv()
    >>> env.reset(seed=7)[0], [env.step(action)[0] for action in (1, 0, 1)]
    (0, [1, 2, 3])
    """

    def __init__(self, *, step_cost: float = 1.0, gamma: float = 1.0, render_mode: str | None = None) -> None:
        super().__init__(short_corridor(step_cost=step_cost, gamma=gamma), render_mode=render_mode)

    @property
    def features(self) -> NDArray[np.float64]:
        """(4, 1) float64: the same for all states."""
        return LOOKS_ALIKE
