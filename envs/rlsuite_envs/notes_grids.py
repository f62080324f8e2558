"""The two grid goal problems of the lecture notes, Figs. 9.6 to 9.8 and 9.10.

::

    S3  S4  G
    S0  S1  S2        start S0, 100 on entering the goal G

The notes print neither the discount nor what happens in G. Their V* = 81 90 100 90 100 0 leaves one choice: gamma is
0.9, and G ends the episode.
"""

import numpy as np

from rlsuite.models import MDP
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, GridProblem
from rlsuite_envs.keywords import choice, number

STATES = ("S0", "S1", "S2", "S3", "S4", "G")
ACTIONS = ("L", "R", "U", "D")
GOAL = STATES.index("G")

# Row (from the top) and column of each state; displacement of each action.
CELLS = ((1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (0, 2))
STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))
TWO_RIGHT = (0, 2)


def _ahead(state: int, displacement: tuple[int, int]) -> int | None:
    """Return the state that lies there, None if that is outside the grid."""
    row, column = CELLS[state]
    there = (row + displacement[0], column + displacement[1])
    return CELLS.index(there) if there in CELLS else None


def _problem(
    successors: list[list[int | set[int] | None]],
    steps: tuple[tuple[int, int], ...],
    actions: tuple[str, ...],
    goal_reward: float,
    gamma: float,
) -> GridProblem:
    # An agent in G stays there, whatever `walls` is: G is the end.
    successors[GOAL] = [None] * len(actions)
    entering = np.zeros((len(STATES), len(actions), len(STATES)))
    entering[:, :, GOAL] = number("goal_reward", goal_reward)
    model = MDP.from_successors(successors, entering, gamma=gamma, start=0, state_labels=STATES, action_labels=actions)
    idle = [state == GOAL for state in range(len(STATES))]
    marks = {CELLS[0]: "S", CELLS[GOAL]: "G"}
    return GridProblem(model, GridLayout(2, 3, CELLS, marks=marks, arrows=steps, idle=idle))


def grid_goal(*, walls: str = "mask", goal_reward: float = 100.0, gamma: float = 0.9) -> GridProblem:
    """Build the deterministic grid goal problem; the keywords are those of `GridGoalEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = grid_goal()
    >>> model.kind, model.P[2][2], model.P[0][0]
    ('deterministic', [(1.0, 5, 100.0, True)], [])
    """
    choice("walls", walls, ["mask", "stay"])
    successors: list[list[int | set[int] | None]] = []
    for state in range(len(STATES)):
        at_wall = state if walls == "stay" else None
        reached = [_ahead(state, step) for step in STEPS]
        successors.append([at_wall if one is None else one for one in reached])
    return _problem(successors, STEPS, ACTIONS, goal_reward, gamma)


def nondeterministic_grid_goal(
    *, reading: str = "A", walls: str = "mask", goal_reward: float = 100.0, gamma: float = 0.9
) -> GridProblem:
    """Build the problem in which one may also move right by two squares, as `NondeterministicGridGoalEnv` reads it.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = nondeterministic_grid_goal()
    >>> model.kind, model.P[0][1]
    ('nondeterministic', [(0.5, 1, 0.0, False), (0.5, 2, 0.0, False)])
    """
    choice("reading", reading, ["A", "B", "D"])
    choice("walls", walls, ["mask", "stay"])
    steps = (*STEPS, TWO_RIGHT) if reading == "B" else STEPS
    actions = (*ACTIONS, "RR") if reading == "B" else ACTIONS
    right = ACTIONS.index("R")
    successors: list[list[int | set[int] | None]] = []
    for state in range(len(STATES)):
        at_wall = state if walls == "stay" else None
        row: list[int | set[int] | None] = []
        for action, step in enumerate(steps):
            one = _ahead(state, step)
            if action == right and one is not None and reading != "B":
                two = _ahead(state, TWO_RIGHT)
                beyond = one if reading == "A" else state
                row.append({one, beyond if two is None else two})
            else:
                row.append(at_wall if one is None else one)
        successors.append(row)
    return _problem(successors, steps, actions, goal_reward, gamma)


class GridGoalEnv(GridEnv):
    """The 2 x 3 grid of the lecture notes, Figs. 9.6-9.8: from S0 at the bottom left to G at the top right.

    Parameters
    ----------
    walls : {"mask", "stay"}
        Moves out of the grid do not exist (``info["action_mask"]`` tells which do), as in the notes, or leave the agent
        where it is.
    goal_reward : float
        Reward for entering G; every other reward is 0.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    States: S0 S1 S2 (bottom row), S3 S4 G (top row). Actions: 0 L, 1 R, 2 U, 3 D. Entering G ends the episode.

    V* = 81, 90, 100, 90, 100, 0.

    Examples
    --------
    >>> env = GridGoalEnv()
    >>> env.reset(seed=7)
    (0, {'prob': 1.0, 'action_mask': array([0, 1, 1, 0], dtype=int8)})
    """

    def __init__(
        self, *, walls: str = "mask", goal_reward: float = 100.0, gamma: float = 0.9, render_mode: str | None = None
    ) -> None:
        super().__init__(grid_goal(walls=walls, goal_reward=goal_reward, gamma=gamma), render_mode)


class NondeterministicGridGoalEnv(GridEnv):
    """The grid of the lecture notes where "we're also allowed to move right by two squares", Fig. 9.10.

    Parameters
    ----------
    reading : {"A", "B", "D"}
        How the figure is read. "A": Right leads one or two squares on, each with probability 1/2, and one square where
        two would leave the grid. "B": moving by two squares is a fifth action, RR, and all is deterministic. "D": as A,
        but a move that would leave the grid stays.
    walls, goal_reward, gamma, render_mode
        As in `GridGoalEnv`.

    Notes
    -----
    V* is 85.5, 90, 100, 95, 100, 0 under A; 90, 90, 100, 100, 100, 0 under B; and 81.82, 81.82, 100, 90.91, 90.91, 0
    under D. Only A and D are non-deterministic, and only under A can every move by one square still be made.

    Examples
    --------
    >>> env = NondeterministicGridGoalEnv()
    >>> env.reset(seed=7)[0], env.step(1)[4]["prob"]
    (0, 0.5)
    """

    def __init__(
        self,
        *,
        reading: str = "A",
        walls: str = "mask",
        goal_reward: float = 100.0,
        gamma: float = 0.9,
        render_mode: str | None = None,
    ) -> None:
        problem = nondeterministic_grid_goal(reading=reading, walls=walls, goal_reward=goal_reward, gamma=gamma)
        super().__init__(problem, render_mode)
