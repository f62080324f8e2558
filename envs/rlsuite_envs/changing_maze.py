"""Mazes that change while an agent learns: doors close, doors open, and the states stay the same."""

from typing import Final

import numpy as np

from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, GridProblem
from rlsuite_envs.gridworld import grid_world
from rlsuite_envs.maps import MapSource, read_map

CLOSES: Final = "o"
OPENS: Final = "c"


def changing_maze(map: MapSource = "BlockingMaze", *, changed: bool = False, gamma: float | None = None) -> GridProblem:
    """Build the model and the layout of a maze before or after its change; the keywords are those of `ChangingMazeEnv`.

    Raises
    ------
    FileError, ModelError, ParameterError
        As `rlsuite_envs.gridworld.grid_world`, also if no goal can be reached with the doors as they are.

    Examples
    --------
    >>> changing_maze(["S..G", "#oc#"], changed=True).model.P[1][3]  # down from the second square: the door is closed
    [(1.0, 1, 0.0, False)]
    """
    closed_now, open_now = (CLOSES, OPENS) if changed else (OPENS, CLOSES)
    drawn = grid_world(map, legend={closed_now: "wall", open_now: "free"}, gamma=gamma).layout
    # Every door is a state, open or closed, so that all states have the same numbers before and after the change.
    model, layout = grid_world(map, legend={closed_now: "free", open_now: "free"}, gamma=gamma)
    closed = np.zeros(model.n_states, dtype=np.bool_)
    closed[layout.states[read_map(map).symbols == closed_now]] = True
    here = np.repeat(np.arange(model.n_states * model.n_actions) // model.n_actions, np.diff(model.indptr))
    next_state = np.where(closed[model.next_state] & ~closed[here], here, model.next_state)
    cells = np.where(closed[:, None], -1, layout.cells)  # a closed door is drawn as a wall
    idle = layout.idle | closed
    return GridProblem(
        model.replace(next_state=next_state.astype(np.int32)),
        GridLayout(
            layout.n_rows,
            layout.n_columns,
            cells,
            walls=drawn.walls,
            marks=drawn.marks,
            arrows=layout.arrows,
            idle=idle,
        ),
    )


class ChangingMazeEnv(GridEnv):
    """A maze with doors, before or after some of them have closed and others have opened (S&B2 Examples 8.2, 8.3).

    Learning on one maze and then on the other shows how soon an agent notices. Both have the same states: a closed door
    is a state too, which cannot be entered.

    Parameters
    ----------
    map : str, Path or sequence of str
        ``"BlockingMaze"``, ``"ShortcutMaze"``, or any map for `rlsuite_envs.gridworld.GridWorldEnv`; squares ``o`` are
        doors that are open at first and close, squares ``c`` are closed at first and open.
    changed : bool
        The maze after the change.
    gamma : float, optional
        Discount of the model; by default that of the map.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`.

    Notes
    -----
    Actions: 0 Left, 1 Right, 2 Up, 3 Down. The reward is 1 at the goal and 0 elsewhere.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.DynaQPlus(n=10, kappa=1e-3, gamma=0.95)
    >>> agent = agent.learn(ChangingMazeEnv(), steps=1_000, seed=1)
    >>> agent = agent.learn(ChangingMazeEnv(changed=True), steps=2_000, seed=2)
    >>> bool(agent.record_.cumulative_reward[-1] > 0)
    True
    """

    def __init__(
        self,
        map: MapSource = "BlockingMaze",
        *,
        changed: bool = False,
        gamma: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(changing_maze(map, changed=changed, gamma=gamma), render_mode)
