"""Two grids of Sutton & Barto: the cliff (Example 6.6) and the windy grid (Examples 6.5, 6.9 and 6.10)."""

from collections.abc import Sequence

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, GridProblem
from rlsuite_envs.keywords import choice, number, sequence, square, whole
from rlsuite_envs.moves import FOUR, KINGS, KINGS_AND_STAY, Board, displacements
from rlsuite_envs.ways import Ways

WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)
MOVES = {"four": FOUR, "kings": KINGS, "kings+stay": KINGS_AND_STAY}


def cliff_walk(
    *,
    width: int = 12,
    height: int = 4,
    step_cost: float = 1.0,
    cliff_cost: float = 100.0,
    fall: str = "start",
    gamma: float = 1.0,
) -> GridProblem:
    """Build the cliff; the keywords are those of `CliffWalkEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = cliff_walk()
    >>> model.n_states, model.P[36][1]
    (38, [(1.0, 36, -100.0, False)])
    """
    whole("width", width, 3)
    whole("height", height, 2)
    number("step_cost", step_cost)
    number("cliff_cost", cliff_cost)
    choice("fall", fall, ["start", "end"])
    bottom = height - 1
    cliff = np.zeros((height, width), dtype=np.bool_)
    cliff[bottom, 1:-1] = True
    # The agent is never in the cliff, so its squares are not states.
    board = Board.of(~cliff)
    start, goal = board.state[bottom, 0], board.state[bottom, -1]
    falls = np.zeros((len(board.cells), len(FOUR)), dtype=np.bool_)
    reached = np.empty(falls.shape, dtype=np.int64)
    arrows = displacements(FOUR)
    for action, arrow in enumerate(arrows):
        found, inside = board.look(arrow)
        falls[:, action] = inside & (found < 0)
        reached[:, action] = np.where(falls[:, action], start, np.where(inside, found, np.arange(found.size)))
    reward = np.where(falls, -cliff_cost, -step_cost)
    ways = Ways(reached[:, :, None], 1.0, reward[:, :, None], terminated=(falls & (fall == "end"))[:, :, None])
    ends = np.arange(len(board.cells)) == goal
    ways.end(ends)
    model = ways.to_model(gamma=gamma, start=np.eye(len(ends))[start], action_labels=FOUR)
    marks = {(bottom, column): "X" for column in range(1, width - 1)}
    marks |= {(bottom, 0): "S", (bottom, width - 1): "G"}
    return GridProblem(model, GridLayout(height, width, board.cells, marks=marks, arrows=arrows, idle=ends))


def windy_grid(
    *,
    wind: Sequence[int] = WIND,
    height: int = 7,
    start: tuple[int, int] = (3, 0),
    goal: tuple[int, int] = (3, 7),
    moves: str = "four",
    gust: float = 0.0,
    step_cost: float = 1.0,
    gamma: float = 1.0,
) -> GridProblem:
    """Build the windy grid; the keywords are those of `WindyGridEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = windy_grid()
    >>> here, ahead = layout.states[3, 3], model.P[layout.states[3, 3]][1][0][1]
    >>> layout.cells[ahead].tolist()
    [2, 4]
    """
    whole("height", height, 1)
    strength = np.array([whole(f"wind[{i}]", one, 0) for i, one in enumerate(sequence("wind", wind, least=1))])
    width = len(strength)
    choice("moves", moves, MOVES)
    number("gust", gust, 0.0, 0.5)
    number("step_cost", step_cost)
    for name, given in (("start", start), ("goal", goal)):
        row, column = square(name, given)
        if not (0 <= row < height and 0 <= column < width):
            raise ParameterError(f"{name}={given} lies outside the {height} x {width} grid (row, column from 0)")
    if tuple(start) == tuple(goal):
        raise ParameterError(f"start and goal are both {tuple(goal)}; they must differ")
    arrows = displacements(MOVES[moves])
    cells = np.indices((height, width)).reshape(2, -1).T
    row, column = cells[:, None, None, 0], cells[:, None, None, 1]
    # The wind varies only where there is some; the wind of the square that is left shifts a move upwards.
    varies = (strength > 0)[column]
    probability = np.where(varies, [1.0 - 2 * gust, gust, gust], [1.0, 0.0, 0.0])
    blown = strength[column] + np.array([0, 1, -1])
    to_row = np.clip(row + arrows[:, 0, None] - blown, 0, height - 1)
    to_column = np.clip(column + arrows[:, 1, None], 0, width - 1)
    ways = Ways(to_row * width + to_column, probability, -step_cost)
    ends = (cells == goal).all(axis=1)
    ways.end(ends)
    begins = (cells == start).all(axis=1)
    model = ways.to_model(gamma=gamma, start=begins.astype(np.float64), action_labels=MOVES[moves])
    marks = {(start[0], start[1]): "S", (goal[0], goal[1]): "G"}
    return GridProblem(model, GridLayout(height, width, cells, marks=marks, arrows=arrows, idle=ends))


class CliffWalkEnv(GridEnv):
    """Walk along a cliff from the bottom left to the bottom right (S&B2 Example 6.6).

    Parameters
    ----------
    width, height : int
        Size of the grid in squares.
    step_cost : float
        Cost of every step that does not fall.
    cliff_cost : float
        Cost of a step into the cliff, the bottom row between start and goal.
    fall : {"start", "end"}
        A fall leads back to the start and the episode continues, as in the book, or it ends the episode.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, 1 Right, 2 Up, 3 Down; moves out of the grid stay. States are numbered along the rows from the top
    and leave out the cliff: the start is 36 and the goal 37. The optimum is -13.

    Examples
    --------
    >>> env = CliffWalkEnv()
    >>> env.reset(seed=7)[0], env.step(1)[:3]
    (36, (36, -100.0, False))
    """

    def __init__(
        self,
        *,
        width: int = 12,
        height: int = 4,
        step_cost: float = 1.0,
        cliff_cost: float = 100.0,
        fall: str = "start",
        gamma: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        problem = cliff_walk(
            width=width, height=height, step_cost=step_cost, cliff_cost=cliff_cost, fall=fall, gamma=gamma
        )
        super().__init__(problem, render_mode)


class WindyGridEnv(GridEnv):
    """Cross a grid in which a wind blows upwards (S&B2 Example 6.5).

    Parameters
    ----------
    wind : sequence of int
        For each column, the squares by which a move from it is shifted up.
    height : int
        Number of rows.
    start, goal : (int, int)
        Row and column, counted from the top left.
    moves : {"four", "kings", "kings+stay"}
        Left, right, up and down; with the four diagonals (Exercise 6.9); and with staying put.
    gust : float
        Probability that the wind is one stronger than its mean, and likewise one weaker, wherever there is wind: 1/3
        in Exercise 6.10.
    step_cost : float
        Cost of every step.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, 1 Right, 2 Up, 3 Down, 4 Up-left, 5 Up-right, 6 Down-left, 7 Down-right, 8 Stay, if `moves` has
    them. States are numbered along the rows from the top. The shortest path has 15 steps, or 7 with diagonals.

    Examples
    --------
    >>> env = WindyGridEnv(moves="kings", gust=1 / 3)
    >>> env.reset(seed=7)[0], env.action_space
    (30, Discrete(8))
    """

    def __init__(
        self,
        *,
        wind: Sequence[int] = WIND,
        height: int = 7,
        start: tuple[int, int] = (3, 0),
        goal: tuple[int, int] = (3, 7),
        moves: str = "four",
        gust: float = 0.0,
        step_cost: float = 1.0,
        gamma: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        problem = windy_grid(
            wind=wind, height=height, start=start, goal=goal, moves=moves, gust=gust, step_cost=step_cost, gamma=gamma
        )
        super().__init__(problem, render_mode)
