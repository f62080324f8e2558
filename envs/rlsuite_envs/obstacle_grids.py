"""The grids with obstacles of the lecture notes, Figs. 9.3 and 9.4, to be stepped.

Every point that the text leaves open is a keyword; the defaults are the plainest reading of the printed words. The
dynamics are in `rlsuite_envs.obstacle_problems`.
"""

from collections.abc import Iterable

from rlsuite_envs.grid_env import GridEnv
from rlsuite_envs.obstacle_field import HEIGHT, WIDTH
from rlsuite_envs.obstacle_problems import obstacle_grid, slippery_obstacle_grid


class ObstacleGridEnv(GridEnv):
    """Reach the right-most column of an N x M grid with obstacles, deterministically (lecture notes, Fig. 9.3).

    Squares are the notes' (i, j), with i counted from the left. Actions: 0 Left, 1 Right, 2 Up, 3 Down. A move onto a
    black square leaves the agent where it is.

    Parameters
    ----------
    width, height : int
        The notes' N and M.
    obstacles : iterable of (i, j), optional
        The black squares; by default seven of our choice on the 8 x 5 grid, and none on grids of another size.
    start : {"anywhere", "left"} or (i, j)
        Uniformly on any square that is neither black nor in the right-most column ("from any initial state"), only on
        those of the left-most column, or on one square.
    border : {"stay", "mask"}
        A move out of the grid leaves the agent where it is, or does not exist.
    border_cost : float
        Cost of such a move: 0, or that of an obstacle if the border is to count as one.
    goal : {"end", "entry", "every"}
        Reaching the right-most column ends the episode; or it continues, and every entry into the column is rewarded;
        or every step that ends there is.
    goal_reward, obstacle_cost : float
        Reward for the right-most column; cost of hitting an obstacle.
    obstacle_states : bool
        Whether black squares are states, which cannot be entered.
    origin : int
        First index of i and j, in `obstacles`, `start` and the state labels.
    j_axis : {"up", "down"}
        Where j grows, as in Fig. 9.6 or as rows of a matrix.
    gamma : float
        Discount of the model; the notes leave it open.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    States are numbered along the rows from the top; their labels are ``(i,j)``. The horizon is the time limit of the
    registered id (``gymnasium.make(..., max_episode_steps=...)`` changes it).

    Examples
    --------
    >>> env = ObstacleGridEnv(start=(6, 0))
    >>> observation, info = env.reset(seed=7)
    >>> env.model.state_labels[observation], env.step(1)[1:3]
    ('(6,0)', (1000.0, True))
    """

    def __init__(
        self,
        *,
        width: int = WIDTH,
        height: int = HEIGHT,
        obstacles: Iterable[tuple[int, int]] | None = None,
        start: str | tuple[int, int] = "anywhere",
        border: str = "stay",
        border_cost: float = 0.0,
        goal: str = "end",
        goal_reward: float = 1000.0,
        obstacle_cost: float = 10.0,
        obstacle_states: bool = False,
        origin: int = 0,
        j_axis: str = "up",
        gamma: float = 0.9,
        render_mode: str | None = None,
    ) -> None:
        problem = obstacle_grid(
            width=width,
            height=height,
            obstacles=obstacles,
            start=start,
            border=border,
            border_cost=border_cost,
            goal=goal,
            goal_reward=goal_reward,
            obstacle_cost=obstacle_cost,
            obstacle_states=obstacle_states,
            origin=origin,
            j_axis=j_axis,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)


class SlipperyObstacleGridEnv(GridEnv):
    """Reach the right-most column with the actions Left and Right only; rows change by slipping (Figs. 9.3, 9.4).

    Actions: 0 Left, 1 Right. Each moves one square, or slips to one of the two squares diagonally ahead.

    Parameters
    ----------
    width, height, obstacles, start, obstacle_states, origin, j_axis
        As in `ObstacleGridEnv`.
    border_cost, goal, goal_reward, obstacle_cost, gamma
        As in `ObstacleGridEnv`; what would leave the grid stays.
    slip : float
        Probability of moving diagonally.
    slip_is : {"total", "each"}
        Whether `slip` is that of both diagonals together or of each.
    diagonal_out : {"stay", "slide", "renormalise"}
        A diagonal that leaves the grid stays where it is, moves straight instead, or has no probability, which goes to
        the other outcomes in proportion.
    corner_cutting : bool
        Whether a diagonal may pass between two squares of which one is black.
    right_reward, left_reward : float
        Reward of the actions themselves.
    rewards : {"exclusive", "additive"}
        The first of goal, obstacle, border cost (if there is one) and action that applies is paid, or all that apply.
    paid : {"always", "moved", "straight"}
        Steps that earn the reward of their action: all, those that were not stopped, or those that went straight.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    In front of a wall of black squares Left can be optimal: it makes room for slipping round the wall (Fig. 9.4).

    Examples
    --------
    >>> env = SlipperyObstacleGridEnv(start=(0, 0), slip=0)
    >>> observation, info = env.reset(seed=7)
    >>> env.step(0)[1], env.step(1)[1]
    (-1.0, 1.0)
    """

    def __init__(
        self,
        *,
        width: int = WIDTH,
        height: int = HEIGHT,
        obstacles: Iterable[tuple[int, int]] | None = None,
        start: str | tuple[int, int] = "anywhere",
        slip: float = 0.1,
        slip_is: str = "total",
        diagonal_out: str = "stay",
        corner_cutting: bool = True,
        border_cost: float = 0.0,
        goal: str = "end",
        goal_reward: float = 1000.0,
        obstacle_cost: float = 10.0,
        right_reward: float = 1.0,
        left_reward: float = -1.0,
        rewards: str = "exclusive",
        paid: str = "always",
        obstacle_states: bool = False,
        origin: int = 0,
        j_axis: str = "up",
        gamma: float = 0.9,
        render_mode: str | None = None,
    ) -> None:
        problem = slippery_obstacle_grid(
            width=width,
            height=height,
            obstacles=obstacles,
            start=start,
            slip=slip,
            slip_is=slip_is,
            diagonal_out=diagonal_out,
            corner_cutting=corner_cutting,
            border_cost=border_cost,
            goal=goal,
            goal_reward=goal_reward,
            obstacle_cost=obstacle_cost,
            right_reward=right_reward,
            left_reward=left_reward,
            rewards=rewards,
            paid=paid,
            obstacle_states=obstacle_states,
            origin=origin,
            j_axis=j_axis,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)
