"""Light and dark on a grid, after Platt, Tedrake, Kaelbling & Lozano-Perez (2010).

The agent sees its own position, with an error that grows with the distance to a column of light. The goal lies in the
dark: it pays to go the other way first, to localise.
"""

from collections.abc import Sequence

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, HiddenGridProblem
from rlsuite_envs.keywords import number, sequence, square, whole

ACTIONS = ("north", "east", "south", "west", "stop")
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
STOP = 4


def light_dark(
    *,
    rows: int = 5,
    columns: int = 9,
    light: int = 7,
    target: Sequence[int] = (2, 1),
    noise: float = 0.5,
    sharpest: float = 0.3,
    move_cost: float = 1.0,
    target_reward: float = 20.0,
    miss_cost: float = 20.0,
    gamma: float = 0.95,
) -> HiddenGridProblem:
    """Build the problem; the keywords are those of `LightDarkEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = light_dark()
    >>> model
    POMDP(n_states=46, n_actions=5, n_observations=45, n_transitions=225, gamma=0.95)
    >>> model.observation[0, [4 * 9 + 7, 4 * 9 + 0]].max(axis=1).round(2).tolist()  # in the light, and far from it
    [0.99, 0.05]
    """
    rows, columns = whole("rows", rows, 1), whole("columns", columns, 2)
    light = whole("light", light, 0)
    if light >= columns:
        raise ParameterError(f"light={light} is not one of the columns 0..{columns - 1}")
    goal_row, goal_column = square("target", sequence("target", target))
    if not (0 <= goal_row < rows and 0 <= goal_column < columns):
        raise ParameterError(f"target={target!r} is not a square of the grid of {rows} x {columns}")
    number("noise", noise, 0)
    number("sharpest", sharpest, 1e-3)
    number("move_cost", move_cost)
    number("target_reward", target_reward)
    number("miss_cost", miss_cost)
    over = rows * columns
    row, column = np.divmod(np.arange(over), columns)
    successor = np.full((over, len(ACTIONS)), over)
    for action, (down, right) in enumerate(MOVES):
        there_row, there_column = np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1)
        successor[:, action] = there_row * columns + there_column
    reward = np.full(successor.shape, -float(move_cost))
    reward[:, STOP] = -miss_cost
    reward[goal_row * columns + goal_column, STOP] = target_reward
    # The end has no actions.
    indptr = np.minimum(np.arange((over + 1) * len(ACTIONS) + 1), successor.size)
    start = np.append(np.full(over, 1.0 / over), 0.0)
    hidden = MDP.from_rows(
        indptr,
        successor.reshape(-1),
        np.ones(successor.size),
        reward.reshape(-1),
        n_actions=len(ACTIONS),
        gamma=gamma,
        start=start,
        state_labels=[f"r{one}c{other}" for one in range(rows) for other in range(columns)] + ["stopped"],
        action_labels=ACTIONS,
    )
    width = sharpest + noise * np.abs(column - light)
    squared = (row[:, np.newaxis] - row) ** 2 + (column[:, np.newaxis] - column) ** 2
    seen = np.exp(-0.5 * squared / width[:, np.newaxis] ** 2)
    seen[seen < 1e-12] = 0.0
    seen /= seen.sum(axis=1, keepdims=True)
    table = np.concatenate([seen, np.full((1, over), 1.0 / over)])
    model = POMDP(
        hidden,
        np.broadcast_to(table, (len(ACTIONS), *table.shape)),
        tuple(f"at-r{one}c{other}" for one in range(rows) for other in range(columns)),
    )
    cells = [*zip(row.tolist(), column.tolist(), strict=True), (-1, -1)]
    marks = {(line, light): "*" for line in range(rows)} | {(goal_row, goal_column): "G"}
    return HiddenGridProblem(model, GridLayout(rows, columns, cells, marks=marks))


class LightDarkEnv(GridEnv):
    """Go to the light to find out where you are, then to the target in the dark, and stop (Platt et al. 2010).

    Parameters
    ----------
    rows, columns : int
        Size of the grid in squares.
    light : int
        Column of the light.
    target : pair of int
        (row, column) of the square to stop on.
    noise : float
        What every column of distance from the light adds to the standard deviation of the observed position, in
        squares.
    sharpest : float
        Standard deviation in the light.
    move_cost : float
        Cost of a move; walls stop.
    target_reward, miss_cost : float
        Reward for stopping on the target, cost of stopping anywhere else; both end the episode.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`. What is drawn is where the agent is, which it does not know itself.

    Notes
    -----
    States: row * columns + column, then the end; the first is uniform over the squares. Actions: 0 north, 1 east,
    2 south, 3 west, 4 stop. Observations: the squares, each with a probability proportional to the density of the
    normal distribution round the true one, exp(-d^2 / (2 sigma^2)), with d in squares.

    Examples
    --------
    >>> env = LightDarkEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(1)[:2]
    (45, (35, -1.0))
    >>> print(env.render(), end="")
     .  .  .  .  .  .  .  *  .
     .  .  .  .  .  .  .  *  .
     .  G  .  .  .  .  .  *  .
     .  . [.] .  .  .  .  *  .
     .  .  .  .  .  .  .  *  .
    east, reward -1 | observed: at-r3c8
    """

    def __init__(
        self,
        *,
        rows: int = 5,
        columns: int = 9,
        light: int = 7,
        target: Sequence[int] = (2, 1),
        noise: float = 0.5,
        sharpest: float = 0.3,
        move_cost: float = 1.0,
        target_reward: float = 20.0,
        miss_cost: float = 20.0,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        problem = light_dark(
            rows=rows,
            columns=columns,
            light=light,
            target=target,
            noise=noise,
            sharpest=sharpest,
            move_cost=move_cost,
            target_reward=target_reward,
            miss_cost=miss_cost,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)
