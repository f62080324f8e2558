"""The space shuttle of Chrisman (1992): supplies for two stations, and a docking manoeuvre with poor vision.

::

    LRV station  <- docked | just outside | ... space ... | just outside | docked ->  MRV station

The station visited less recently (LRV) waits for the next delivery; with it the names change sides, so that the other
one is now visited more recently (MRV).
"""

import numpy as np

from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import POMDP
from rlsuite.rendering import BoxesDrawing, Drawing
from rlsuite_envs.keywords import number

STATES = (
    "docked-LRV",
    "at-MRV-facing",
    "space-facing-MRV",
    "at-LRV-back",
    "at-MRV-back",
    "space-facing-LRV",
    "at-LRV-facing",
    "docked-MRV",
)
ACTIONS = ("turn-around", "go-forward", "backup")
OBSERVATIONS = ("see-LRV", "see-MRV", "docked-in-MRV", "see-nothing", "docked-in-LRV")
TURN, FORWARD, BACKUP = range(3)

TURNED = (1, 4, 5, 6, 1, 2, 3, 1)
AHEAD = (4, 1, 1, 2, 5, 6, 6, 4)

BEHIND: tuple[dict[int, float], ...] = (
    {7: 1.0},
    {1: 0.4, 2: 0.3, 4: 0.3},
    {2: 0.1, 3: 0.8, 6: 0.1},
    {0: 0.7, 3: 0.3},
    {4: 0.3, 7: 0.7},
    {1: 0.1, 4: 0.8, 5: 0.1},
    {3: 0.3, 5: 0.3, 6: 0.4},
    {7: 1.0},
)
"""Where the thrusters lead backwards, and how probably."""

SIGHT: tuple[dict[int, float], ...] = ({4: 1.0}, {1: 1.0}, {}, {3: 1.0}, {3: 1.0}, {}, {0: 1.0}, {2: 1.0})
"""Certain observations; in space the observation depends on the quality of vision."""


def shuttle(*, sight: float = 0.7, delivery_reward: float = 10.0, bump_cost: float = 3.0, gamma: float = 0.95) -> POMDP:
    """Build the problem; the keywords are those of `ShuttleEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> problem = shuttle()
    >>> problem.predict(problem.start, FORWARD).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    seen = number("sight", sight, 0, 1)
    delivered = number("delivery_reward", delivery_reward)
    bumped = number("bump_cost", bump_cost)
    n_states, n_actions = len(STATES), len(ACTIONS)
    transition = np.zeros((n_states, n_actions, n_states))
    observation = np.zeros((n_states, len(OBSERVATIONS)))
    for state in range(n_states):
        transition[state, TURN, TURNED[state]] = 1.0
        transition[state, FORWARD, AHEAD[state]] = 1.0
        for ahead, probability in BEHIND[state].items():
            transition[state, BACKUP, ahead] = probability
        for symbol, probability in SIGHT[state].items():
            observation[state, symbol] = probability
    observation[2, [1, 3]] = observation[5, [0, 3]] = seen, 1.0 - seen
    reward = np.zeros(transition.shape)
    reward[1, FORWARD, 1] = reward[6, FORWARD, 6] = -bumped
    reward[3, BACKUP, 0] = delivered
    return POMDP.from_arrays(
        transition,
        reward,
        observation,
        gamma=gamma,
        start=7,
        state_labels=STATES,
        action_labels=ACTIONS,
        observation_labels=OBSERVATIONS,
    )


class ShuttleEnv(TabularEnv):
    """Bring supplies to the station that was visited less recently, docking backwards (Chrisman 1992).

    Parameters
    ----------
    sight : float
        Probability of seeing the station ahead from space, in [0, 1].
    delivery_reward : float
        Reward for docking, backwards, at the station visited less recently.
    bump_cost : float
        Cost of flying forwards into a station.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`; what is drawn is what the pilot does and sees.

    Notes
    -----
    States: 0 docked in the LRV station, 1 just outside the MRV station and facing it, 2 in space facing the MRV
    station, 3 and 4 just outside the LRV and the MRV station with the back to it, 5 in space facing the LRV station,
    6 just outside the LRV station facing it, 7 docked in the MRV station, where an episode starts. Actions: 0 turn
    around, 1 go forward, 2 back up, which often fails outside a station. Observations: 0 see the LRV station, 1 see
    the MRV station, 2 docked in the MRV station, 3 see nothing, 4 docked in the LRV station.

    V* at the start is 32.8897 for gamma 0.95.

    Examples
    --------
    >>> env = ShuttleEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(1)[:2]
    (5, (3, 0.0))
    >>> print(env.render(), end="")
     turn-around  [go-forward]  backup
    go-forward, reward 0 | observed: see-nothing
    """

    def __init__(
        self,
        *,
        sight: float = 0.7,
        delivery_reward: float = 10.0,
        bump_cost: float = 3.0,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        model = shuttle(sight=sight, delivery_reward=delivery_reward, bump_cost=bump_cost, gamma=gamma)
        super().__init__(model, render_mode=render_mode)

    def default_drawing(self) -> Drawing:
        """Return a drawing of what the pilot can do, the last action in colour."""
        return BoxesDrawing(ACTIONS, follow="action")
