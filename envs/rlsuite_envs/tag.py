"""Tag (Pineau, Gordon & Thrun 2003): catch an opponent that sees the robot, but is seen only on the same square.

::

    # # # # # . . . # #
    # # # # # . . . # #
    # # # # # . . . # #
    . . . . . . . . . .
    . . . . . . . . . .
"""

from itertools import product

import numpy as np

from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, HiddenGridProblem
from rlsuite_envs.keywords import number

ROWS = ("#####...##", "#####...##", "#####...##", "..........", "..........")
# From the lower left, row by row upwards: the numbering of the paper.
CELLS = tuple((row, column) for row in reversed(range(5)) for column in range(10) if ROWS[row][column] == ".")
ACTIONS = ("north", "south", "east", "west", "catch")
MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))
CATCH = 4


def _ahead(cell: int, move: tuple[int, int]) -> int:
    """Return the square that a move leads to; walls stop."""
    there = (CELLS[cell][0] + move[0], CELLS[cell][1] + move[1])
    return CELLS.index(there) if there in CELLS else cell


def _flight(robot: int, opponent: int, flee: float) -> FloatArray:
    """Return where the opponent goes: half of `flee` along each axis, away from the robot if that is possible."""
    spread = np.zeros(len(CELLS))
    for axis in (0, 1):
        distance = CELLS[opponent][axis] - CELLS[robot][axis]
        for sign in (-1, 1) if distance == 0 else (np.sign(distance),):
            move = (int(sign), 0) if axis == 0 else (0, int(sign))
            spread[_ahead(opponent, move)] += flee / (4.0 if distance == 0 else 2.0)
    spread[opponent] += 1.0 - flee
    return spread


def tag(
    *,
    flee: float = 0.8,
    move_cost: float = 1.0,
    catch_reward: float = 10.0,
    miss_cost: float = 10.0,
    gamma: float = 0.95,
) -> HiddenGridProblem:
    """Build the problem; the keywords are those of `TagEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = tag()
    >>> model
    POMDP(n_states=842, n_actions=5, n_observations=30, n_transitions=9193, gamma=0.95)
    """
    number("flee", flee, 0, 1)
    number("move_cost", move_cost)
    number("catch_reward", catch_reward)
    number("miss_cost", miss_cost)
    n_cells = len(CELLS)
    n_states, n_actions, over = n_cells**2 + 1, len(ACTIONS), n_cells**2
    indptr, successors, probabilities, rewards = [0], list[int](), list[float](), list[float]()
    for robot, opponent in product(range(n_cells), repeat=2):
        spread = _flight(robot, opponent, flee)
        reached = np.flatnonzero(spread)
        for move in MOVES:
            successors += (_ahead(robot, move) * n_cells + reached).tolist()
            probabilities += spread[reached].tolist()
            rewards += [-move_cost] * reached.size
            indptr.append(len(successors))
        caught = robot == opponent
        successors.append(over if caught else robot * n_cells + opponent)
        probabilities.append(1.0)
        rewards.append(catch_reward if caught else -miss_cost)
        indptr.append(len(successors))
    # The terminal state has no actions.
    indptr += [len(successors)] * n_actions
    start = np.full(n_states, 1.0 / over)
    start[over] = 0.0
    positions = np.arange(over)
    seen = np.where(positions // n_cells == positions % n_cells, n_cells, positions // n_cells)
    observation = np.zeros((n_states, n_cells + 1))
    observation[positions, seen] = 1.0
    observation[over, n_cells] = 1.0
    names = [f"r{row}c{column}" for row, column in CELLS]
    hidden = MDP.from_rows(
        indptr,
        successors,
        probabilities,
        rewards,
        n_actions=n_actions,
        gamma=gamma,
        start=start,
        state_labels=[f"{one}-{other}" for one, other in product(names, repeat=2)] + ["caught"],
        action_labels=ACTIONS,
    )
    model = POMDP(hidden, np.broadcast_to(observation, (n_actions, *observation.shape)), (*names, "here"))
    walls = np.array([[square == "#" for square in row] for row in ROWS])
    cells = [CELLS[position // n_cells] for position in positions] + [(-1, -1)]
    return HiddenGridProblem(model, GridLayout(5, 10, cells, walls=walls))


class TagEnv(GridEnv):
    """Catch an opponent that runs away and is seen only on the same square (Pineau, Gordon & Thrun 2003).

    Parameters
    ----------
    flee : float
        Probability that the opponent moves, in [0, 1]: half of it along each axis, away from the robot; if both have
        the same coordinate on an axis, in either direction with equal probability.
    move_cost : float
        Cost of a move.
    catch_reward, miss_cost : float
        Reward for catching on the opponent's square, which ends the episode, and cost of catching anywhere else, when
        neither moves.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`. What is drawn is the robot, never the opponent.

    Notes
    -----
    States: 29 x 29 squares of robot and opponent, then the end. Both start anywhere, possibly on the same
    square. Actions: 0 north, 1 south, 2 east, 3 west, 4 catch. Observations: 0 to 28 the robot's square, 29 the
    opponent is here.

    V* at the start lies between -6.19 and -3.01 for gamma 0.95.

    Examples
    --------
    >>> env = TagEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(0)[:2]
    (30, (18, -1.0))
    >>> print(env.render(), end="")
     #  #  #  #  #  .  .  .  #  #
     #  #  #  #  #  .  .  .  #  #
     #  #  #  #  #  .  .  .  #  #
     .  .  .  .  .  .  .  . [.] .
     .  .  .  .  .  .  .  .  .  .
    north, reward -1 | observed: r3c8
    """

    def __init__(
        self,
        *,
        flee: float = 0.8,
        move_cost: float = 1.0,
        catch_reward: float = 10.0,
        miss_cost: float = 10.0,
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        problem = tag(flee=flee, move_cost=move_cost, catch_reward=catch_reward, miss_cost=miss_cost, gamma=gamma)
        super().__init__(problem, render_mode)
