"""The hallway of Littman, Cassandra & Kaelbling (1995): a robot with a heading, slipping wheels and poor sensors.

::

    . . . . . . . . . . .
    # # . # . # . # G # #
"""

from itertools import product

import numpy as np

from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, HiddenGridProblem
from rlsuite_envs.keywords import choice, number

ROWS = ("...........", "##.#.#.#G##")
CELLS = tuple((row, column) for row in range(2) for column in range(11) if ROWS[row][column] != "#")
GOAL = len(CELLS) - 1
HEADINGS = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""North, east, south, west: displacements."""
ACTIONS = ("stay", "forward", "turn-right", "turn-around", "turn-left")
SOUTH = 2
# A robot above a niche sees a landmark when it faces south.
LANDMARKS = {column: number for number, column in enumerate((2, 4, 6, 8))}


def _ahead(cell: int, heading: int) -> int | None:
    """Return the square in front, None if there is a wall."""
    there = (CELLS[cell][0] + HEADINGS[heading % 4][0], CELLS[cell][1] + HEADINGS[heading % 4][1])
    return CELLS.index(there) if there in CELLS else None


def _forward(cell: int, heading: int, success: float) -> FloatArray:
    """Return where "forward" leads: the rest of `success` goes to both sides, backwards, and to staying, alike."""
    spread = np.zeros((len(CELLS), 4))
    slip = (1.0 - success) / 4.0
    ways = [(0, 0, success), (1, 1, slip), (3, 3, slip), (2, 0, slip / 2.0), (2, 2, slip / 2.0)]
    for towards, turned, probability in ways:
        there = _ahead(cell, heading + towards)
        if there is None:
            spread[cell, heading] += probability
        else:
            spread[there, (heading + turned) % 4] += probability
    spread[cell, heading] += slip
    return spread.reshape(-1)


TURNS = ((0.1, 0.7, 0.1, 0.1), (0.1, 0.15, 0.6, 0.15), (0.1, 0.1, 0.1, 0.7))
"""How far the three turning actions turn, in quarters to the right: probabilities of 0, 1, 2, 3."""


def _seen(cell: int, heading: int, wall_seen: float, false_wall: float) -> FloatArray:
    """Return the distribution of the observation: a sensor for each of the four sides, a landmark, or the goal."""
    probabilities = np.zeros(16 + len(LANDMARKS) + 1)
    row, column = CELLS[cell]
    if cell == GOAL:
        probabilities[-1] = 1.0
    elif row == 0 and heading == SOUTH and column in LANDMARKS:
        probabilities[16 + LANDMARKS[column]] = 1.0
    else:
        hits = [wall_seen if _ahead(cell, heading + side) is None else false_wall for side in range(4)]
        for reading, bits in enumerate(product((0, 1), repeat=4)):
            probabilities[reading] = np.prod([hit if bit else 1.0 - hit for hit, bit in zip(hits, bits, strict=True)])
    return probabilities


def hallway(
    *,
    success: float = 0.8,
    wall_seen: float = 0.9,
    false_wall: float = 0.05,
    goal_reward: float = 1.0,
    after_goal: str = "continue",
    gamma: float = 0.95,
) -> HiddenGridProblem:
    """Build the hallway; the keywords are those of `HallwayEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.

    Examples
    --------
    >>> model, layout = hallway()
    >>> model.n_states, model.observation_labels[11], model.observation_labels[16]
    (60, 'wall-front-back-left', 'landmark-0')
    """
    number("success", success, 0, 1)
    number("wall_seen", wall_seen, 0, 1)
    number("false_wall", false_wall, 0, 1)
    paid = number("goal_reward", goal_reward)
    choice("after_goal", after_goal, ["continue", "end"])
    n_states, n_actions = 4 * len(CELLS), len(ACTIONS)
    at_goal = np.arange(n_states) // 4 == GOAL
    start = np.where(at_goal, 0.0, 1.0 / (n_states - 4))
    transition = np.zeros((n_states, n_actions, n_states))
    observation = np.zeros((n_states, 16 + len(LANDMARKS) + 1))
    for state in range(n_states):
        cell, heading = divmod(state, 4)
        observation[state] = _seen(cell, heading, wall_seen, false_wall)
        if cell == GOAL:
            transition[state] = start if after_goal == "continue" else 0.0
            continue
        transition[state, 0, state] = 1.0
        transition[state, 1] = _forward(cell, heading, success)
        for action, turns in enumerate(TURNS, start=2):
            transition[state, action, [4 * cell + (heading + quarter) % 4 for quarter in range(4)]] = turns
    hidden = MDP.from_arrays(
        transition,
        np.broadcast_to(paid * at_goal, transition.shape),
        gamma=gamma,
        start=start,
        terminated=at_goal & (after_goal == "end"),
        state_labels=[f"r{row}c{column}-{heading}" for row, column in CELLS for heading in "nesw"],
        action_labels=ACTIONS,
    )
    sides = ("front", "right", "back", "left")
    readings = [
        "-".join(["wall", *(side for side, bit in zip(sides, bits, strict=True) if bit)]) if any(bits) else "open"
        for bits in product((0, 1), repeat=4)
    ]
    labels = (*readings, *(f"landmark-{number}" for number in range(len(LANDMARKS))), "goal")
    model = POMDP(hidden, np.broadcast_to(observation, (n_actions, *observation.shape)), labels)
    walls = np.array([[symbol == "#" for symbol in row] for row in ROWS])
    return HiddenGridProblem(
        model, GridLayout(2, 11, np.repeat(CELLS, 4, axis=0), walls=walls, marks={CELLS[GOAL]: "G"})
    )


class HallwayEnv(GridEnv):
    """A robot finds its way through a hallway with niches that look alike (Littman, Cassandra & Kaelbling 1995).

    Parameters
    ----------
    success : float
        Probability that "forward" leads forward, in [0, 1]; the rest goes to the left (then facing left), to the right
        (then facing right), backwards (facing either way) and to staying, all alike. Where there is a wall, the robot
        stays.
    wall_seen, false_wall : float
        Probability that a sensor - there is one for each side - reports a wall where there is one, and where there is
        none, in [0, 1].
    goal_reward : float
        Reward for entering the goal; every other reward is 0.
    after_goal : {"continue", "end"}
        After the goal the robot is put elsewhere, uniformly, whatever it does, and continues, as in the paper; or the
        episode ends.
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`. What is drawn is where the robot is, which it does not know itself.

    Notes
    -----
    States: 4 * square + heading (0 north, 1 east, 2 south, 3 west), the squares of the upper row first, the goal last;
    the first state is uniform over all but the goal's. Actions: 0 stay, 1 forward, 2 turn right, 3 turn around, 4 turn
    left. Observations: 0 to 15 the sensors, 8 * front + 4 * right + 2 * back + left; 16 to 19 a landmark of its own
    over each niche and the goal, seen when looking south from the upper row; 20 the goal.

    V* at the start lies between 1.005 and 1.169 for gamma 0.95.

    Examples
    --------
    >>> env = HallwayEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(2)[:2]
    (21, (19, 0.0))
    >>> print(env.render(), end="")
     .  .  .  .  .  .  .  . [.] .  .
     #  #  .  #  .  #  .  #  G  #  #
    turn-right, reward 0 | observed: landmark-3
    """

    def __init__(
        self,
        *,
        success: float = 0.8,
        wall_seen: float = 0.9,
        false_wall: float = 0.05,
        goal_reward: float = 1.0,
        after_goal: str = "continue",
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        problem = hallway(
            success=success,
            wall_seen=wall_seen,
            false_wall=false_wall,
            goal_reward=goal_reward,
            after_goal=after_goal,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)
