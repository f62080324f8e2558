"""The cheese maze of McCallum (1993): corners and corridors that look alike.

::

    0 1 2 3 4
    5 # 6 # 7
    8 # C # 9

A mouse observes only the walls around its square; the squares 1 and 3, the squares 5, 6 and 7, and the dead
ends 8 and 9 cannot be distinguished by one observation.
"""

import numpy as np

from rlsuite.models import POMDP
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, HiddenGridProblem
from rlsuite_envs.keywords import choice, number

CELLS = ((0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 2), (1, 4), (2, 0), (2, 4), (2, 2))
CHEESE = 10
ACTIONS = ("north", "south", "east", "west")
MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))
OBSERVATIONS = ("corner-nw", "corridor-ew", "junction", "corner-ne", "corridor-ns", "dead-end", "cheese")
SEEN = (0, 1, 2, 1, 3, 4, 4, 4, 5, 5, 6)


def cheese_maze(*, goal_reward: float = 1.0, after_goal: str = "continue", gamma: float = 0.95) -> HiddenGridProblem:
    """Build the maze; the keywords are those of `CheeseMazeEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = cheese_maze()
    >>> belief = model.update_belief(model.start, ACTIONS.index("south"), OBSERVATIONS.index("dead-end"))
    >>> belief.nonzero()[0].tolist(), model.update_belief(belief, 0, 4).nonzero()[0].tolist()
    ([8, 9], [5, 7])
    """
    paid = number("goal_reward", goal_reward)
    choice("after_goal", after_goal, ["continue", "end"])
    n_states, n_actions = len(CELLS), len(ACTIONS)
    transition = np.zeros((n_states, n_actions, n_states))
    for state, (row, column) in enumerate(CELLS):
        for action, (down, right) in enumerate(MOVES):
            there = (row + down, column + right)
            transition[state, action, CELLS.index(there) if there in CELLS else state] = 1.0
    start = np.full(n_states, 1.0 / CHEESE)
    start[CHEESE] = 0.0
    transition[CHEESE] = start
    terminated = np.zeros(n_states, dtype=np.bool_)
    if after_goal == "end":
        transition[CHEESE] = 0.0
        terminated[CHEESE] = True
    reward = np.zeros((n_states, n_actions, n_states))
    reward[:, :, CHEESE] = paid
    model = POMDP.from_arrays(
        transition,
        reward,
        np.eye(len(OBSERVATIONS))[list(SEEN)],
        gamma=gamma,
        start=start,
        terminated=terminated,
        state_labels=[f"s{state}" for state in range(CHEESE)] + ["cheese"],
        action_labels=ACTIONS,
        observation_labels=OBSERVATIONS,
    )
    walls = np.ones((3, 5), dtype=np.bool_)
    walls[tuple(np.array(CELLS).T)] = False
    return HiddenGridProblem(model, GridLayout(3, 5, CELLS, walls=walls, marks={CELLS[CHEESE]: "G"}, arrows=MOVES))


class CheeseMazeEnv(GridEnv):
    """A mouse in a maze that sees the walls of its square only (McCallum 1993; Littman, Cassandra & Kaelbling 1995).

    Parameters
    ----------
    goal_reward : float
        Reward for entering the square with the cheese; every other reward is 0.
    after_goal : {"continue", "end"}
        After the cheese the mouse is put on another square, uniformly, whatever it does, and the game continues, as in
        the papers; or the episode ends.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`. What is drawn is where the mouse is, which it does not know itself.

    Notes
    -----
    States: the squares 0 to 9 as above, 10 the cheese; the first is uniform over 0 to 9. Actions: 0 north, 1 south,
    2 east, 3 west; walls stop. Observations, without noise: 0 corner north-west, 1 corridor east-west, 2 junction,
    3 corner north-east, 4 corridor north-south, 5 dead end, 6 cheese.

    V* at the start is 3.4862 for gamma 0.95.

    Examples
    --------
    >>> env = CheeseMazeEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(0)[:2]
    (7, (2, 0.0))
    >>> print(env.render(), end="")
     .  . [.] .  .
     .  #  .  #  .
     .  #  G  #  .
    up, reward 0 | observed: junction
    """

    def __init__(
        self,
        *,
        goal_reward: float = 1.0,
        after_goal: str = "continue",
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(cheese_maze(goal_reward=goal_reward, after_goal=after_goal, gamma=gamma), render_mode)
