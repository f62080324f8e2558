"""Any grid that can be drawn in characters: `grid_world` turns a map into a model, `GridWorldEnv` steps it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import FileError, ModelError, ParameterError, unknown
from rlsuite.models import MDP
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, GridProblem
from rlsuite_envs.keywords import choice, number, square
from rlsuite_envs.legend import LEGEND, REWARDS, Squares, checked_legend, checked_rewards, explain
from rlsuite_envs.maps import DESCRIPTIVE, GridMap, MapSource, read_map
from rlsuite_envs.moves import FOUR, Board, displacements
from rlsuite_envs.reach import reached
from rlsuite_envs.ways import Ways

# Where a slip leads from Left, Right, Up and Down: to the sides, or to any of the others.
SLIPS = {
    "sides": np.array([[2, 3], [2, 3], [0, 1], [0, 1]]),
    "others": np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]),
}


MOST_SQUARES = 2**31 - 1
"""States are numbered in 32 bits."""


class Rules(NamedTuple):
    """The keywords of a grid world that a map may set, with their defaults."""

    legend: Mapping[str, str] = LEGEND
    rewards: Mapping[str, float] = REWARDS
    start: str = "marked"
    slip: float = 0.0
    slip_to: str = "sides"
    step_cost: float = 0.0
    bump_cost: float = 0.0
    gamma: float = 0.9

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the rules with some of them changed; legend and rewards are added to.

        Raises
        ------
        ParameterError
            If a value lies outside its allowed values.
        """
        for name in changes:
            choice("keyword", name, self._fields)
        new = {name: value for name, value in changes.items() if value is not None}
        if "legend" in new:
            new["legend"] = {**self.legend, **checked_legend(new["legend"])}
        if "rewards" in new:
            new["rewards"] = {**self.rewards, **checked_rewards(new["rewards"])}
        if "start" in new:
            choice("start", new["start"], ["marked", "anywhere"])
        if "slip_to" in new:
            choice("slip_to", new["slip_to"], SLIPS)
        for name in ("slip", "gamma"):
            if name in new:
                new[name] = number(name, new[name], 0, 1)
        for name in ("step_cost", "bump_cost"):
            if name in new:
                new[name] = number(name, new[name])
        return self._replace(**new)


def grid_world(
    map: MapSource | None = None,
    *,
    size: int | tuple[int, int] | None = None,
    legend: Mapping[str, str] | None = None,
    rewards: Mapping[str, float] | None = None,
    start: str | None = None,
    slip: float | None = None,
    slip_to: str | None = None,
    step_cost: float | None = None,
    bump_cost: float | None = None,
    gamma: float | None = None,
) -> GridProblem:
    """Build the model and the layout of a map; the keywords are those of `GridWorldEnv`.

    Returns
    -------
    GridProblem
        Model and layout. States are the squares that are not walls, along the rows from the top; goals and pits lead
        to themselves, terminated, with reward 0.

    Raises
    ------
    FileError
        If the map or its file does not exist, or its header is wrong.
    ModelError
        If the map is malformed: rows of different lengths, unknown symbols, no start, a goal that no start can
        reach, a teleport that leads nowhere.
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = grid_world(["S.G"], step_cost=0.1)
    >>> model.P[1][1], layout.cells.tolist()
    ([(1.0, 2, 0.9, True)], [[0, 0], [0, 1], [0, 2]])
    """
    if map is not None and size is not None:
        raise ParameterError("map and size are both given; give one of them")
    grid = _open_map(size) if size is not None else read_map("FourRooms" if map is None else map)
    rules = _rules_of(grid).changed(
        {
            "legend": legend,
            "rewards": rewards,
            "start": start,
            "slip": slip,
            "slip_to": slip_to,
            "step_cost": step_cost,
            "bump_cost": bump_cost,
            "gamma": gamma,
        }
    )
    squares = explain(grid, rules.legend, rules.rewards)
    board = Board.of(~squares.wall)
    model = _model(grid, squares, board, rules)
    n_rows, n_columns = board.state.shape
    layout = GridLayout(
        n_rows,
        n_columns,
        board.cells,
        walls=squares.wall,
        marks=squares.marks,
        arrows=displacements(FOUR),
        idle=squares.end[~squares.wall],
    )
    return GridProblem(model, layout)


def _open_map(size: int | tuple[int, int]) -> GridMap:
    rows, columns = (size, size) if isinstance(size, int) else square("size", size)
    if rows < 1 or columns < 1 or rows * columns < 2:
        raise ParameterError(f"size={size!r} leaves no room for a start and a goal; at least two squares are needed")
    if rows * columns > MOST_SQUARES:
        raise ParameterError(
            f"size={size!r} is a grid of {rows * columns:,} squares; at most {MOST_SQUARES:,} are allowed"
        )
    symbols = np.full((rows, columns), ".")
    symbols[0, 0], symbols[-1, -1] = "S", "G"
    return GridMap(f"grid of {rows} x {columns}", symbols, {})


def _rules_of(grid: GridMap) -> Rules:
    """Return the defaults, changed by the header of the map."""
    settings = {name: value for name, value in grid.settings.items() if name not in DESCRIPTIVE}
    for name in settings:
        if name not in Rules._fields:
            raise FileError(f"{grid.name}: {unknown('key in the header', name, (*DESCRIPTIVE, *Rules._fields))}")
    try:
        return Rules().changed(settings)
    except ParameterError as cause:
        raise FileError(f"{grid.name}: in the header, {cause}") from cause


def _model(grid: GridMap, squares: Squares, board: Board, rules: Rules) -> MDP:
    start = _start(grid, squares, rules)
    _check_goal(grid, squares, start)
    ways = _ways(squares, board, rules)
    ends = squares.end[~squares.wall]
    ways.end(ends)
    for teleport in squares.teleports:
        landing = board.state[teleport.landing]
        ways.make_certain(
            board.state[teleport.squares], landing, teleport.reward - rules.step_cost, bool(ends[landing])
        )
    return ways.to_model(gamma=rules.gamma, start=start, action_labels=FOUR)


def _ways(squares: Squares, board: Board, rules: Rules) -> Ways:
    """Return where moves and slips lead, as if there were neither ends nor teleports."""
    ahead = np.empty((len(board.cells), len(FOUR)), dtype=np.int32)
    reward = np.empty(ahead.shape)
    entering = squares.reward[~squares.wall]
    for action, displacement in enumerate(displacements(FOUR)):
        found, _ = board.look(displacement)
        blocked = found < 0
        ahead[:, action] = np.where(blocked, np.arange(found.size), found)
        reward[:, action] = np.where(blocked, -rules.bump_cost, entering[found])
    reward -= rules.step_cost
    directions = np.arange(len(FOUR))[:, None]
    probabilities = [1.0]
    if rules.slip > 0.0:
        slips = SLIPS[rules.slip_to]
        directions = np.concatenate([directions, slips], axis=1)
        probabilities = [1.0 - rules.slip] + [rules.slip / slips.shape[1]] * slips.shape[1]
    return Ways(np.take(ahead, directions, axis=1), probabilities, np.take(reward, directions, axis=1))


def _start(grid: GridMap, squares: Squares, rules: Rules) -> NDArray[np.float64]:
    wanted = squares.start if rules.start == "marked" else ~squares.end
    chosen = wanted[~squares.wall]
    if not chosen.any():
        hint = (
            "mark a square with 'S', or pass start='anywhere'"
            if rules.start == "marked"
            else "every square is a wall, a goal or a pit"
        )
        raise ModelError(f"{grid.name} has no start: {hint}")
    return chosen / np.count_nonzero(chosen)


def _check_goal(grid: GridMap, squares: Squares, start: NDArray[np.float64]) -> None:
    """Raise if there are goals and none of them can be reached."""
    starts = np.zeros(squares.wall.shape, dtype=np.bool_)
    starts[~squares.wall] = start > 0.0
    if squares.goal.any() and not (reached(squares, starts) & squares.goal).any():
        row, column = np.argwhere(starts)[0].tolist()
        raise ModelError(f"{grid.name}: no goal can be reached from the start at row {row}, column {column}")


class GridWorldEnv(GridEnv):
    """Any map: walls, starts, goals, pits, teleports, slippery floors.

    Parameters
    ----------
    map : str, Path or sequence of str, optional
        Name of a shipped map (`rlsuite_envs.maps.shipped_maps`), path of a text file, or the rows as strings, one
        character per square; by default ``"FourRooms"``. A map may bring its own values for the keywords below, which
        are used where a keyword is None.
    size : int or (int, int), optional
        Instead of a map: an open grid of that many rows and columns, start at the top left, goal at the bottom right.
    legend : mapping, optional
        Meaning of further symbols, added to ``# wall``, ``. free``, ``S start``, ``G goal``, ``X pit``:
        ``{"A": "teleport a"}`` moves an agent that acts on A, whatever the action, to the one square a.
    rewards : mapping, optional
        Reward for entering a square with this symbol (for a teleport: for being teleported), added to
        ``{"G": 1, "X": -1}``.
    start : {"marked", "anywhere"}, optional
        Start on a square marked as start, or on any square that is not an end; uniformly. Default "marked".
    slip : float, optional
        Probability of going elsewhere than intended, in [0, 1]. Default 0.
    slip_to : {"sides", "others"}, optional
        A slip goes to one of the two sides, or to one of the three other directions, with equal probabilities.
        Default "sides".
    step_cost : float, optional
        Subtracted from the reward of every step. Default 0.
    bump_cost : float, optional
        Subtracted in addition when a wall or the border stops a move, which then leaves the agent where it is.
        Default 0.
    gamma : float, optional
        Discount of the model. Default 0.9.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, 1 Right, 2 Up, 3 Down. Episodes end on goals and pits.

    Examples
    --------
    >>> env = GridWorldEnv(map=["S.X", "#.G"], slip=0.1, render_mode="ansi")
    >>> env.reset(seed=7)
    (0, {'prob': 1.0})
    >>> print(env.render(), end="")
    [S] .  X
     #  .  G
    start
    """

    def __init__(
        self,
        map: MapSource | None = None,
        *,
        size: int | tuple[int, int] | None = None,
        legend: Mapping[str, str] | None = None,
        rewards: Mapping[str, float] | None = None,
        start: str | None = None,
        slip: float | None = None,
        slip_to: str | None = None,
        step_cost: float | None = None,
        bump_cost: float | None = None,
        gamma: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        problem = grid_world(
            map,
            size=size,
            legend=legend,
            rewards=rewards,
            start=start,
            slip=slip,
            slip_to=slip_to,
            step_cost=step_cost,
            bump_cost=bump_cost,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)
