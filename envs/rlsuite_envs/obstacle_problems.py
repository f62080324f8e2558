"""Reaching the right-most side of a grid with obstacles: the deterministic and the stochastic problem of the notes.

Lecture notes, section 9.2, Figs. 9.3 and 9.4. Every point that the text leaves open is a keyword; the defaults are the
plainest reading of the printed words.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite_envs.grid_env import GridProblem
from rlsuite_envs.keywords import choice, number
from rlsuite_envs.moves import FOUR, displacements
from rlsuite_envs.obstacle_field import HEIGHT, WIDTH, Field, field
from rlsuite_envs.ways import Ways

SIDES = ("Left", "Right")


class Payment(NamedTuple):
    """How steps are paid; the fields are keywords of the environments."""

    goal: str
    goal_reward: float
    obstacle_cost: float
    border_cost: float
    rewards: str = "exclusive"
    paid: str = "always"

    def check(self) -> None:
        """Raise `ParameterError` if a keyword lies outside its allowed values."""
        choice("goal", self.goal, ["end", "entry", "every"])
        choice("rewards", self.rewards, ["exclusive", "additive"])
        choice("paid", self.paid, ["always", "moved", "straight"])
        number("goal_reward", self.goal_reward)
        number("obstacle_cost", self.obstacle_cost)
        number("border_cost", self.border_cost)


class Outcome(NamedTuple):
    """One of the ways in which an action may turn out, for all states; each array is (S,)."""

    reached: NDArray[np.int64]
    hit: NDArray[np.bool_]
    """Whether an obstacle stopped the move."""
    out: NDArray[np.bool_]
    """Whether the border stopped the move."""

    def reward(self, land: Field, payment: Payment, for_action: float, slipped: bool) -> NDArray[np.float64]:
        """Return the reward in every state: (S,) float64; `for_action` is what the action itself earns."""
        arrives = land.at_goal[self.reached]
        if payment.goal != "every":
            arrives &= land.column[self.reached] != land.column
        stopped = self.hit | self.out
        earned = np.full(stopped.shape, True) if payment.paid == "always" else ~stopped
        if payment.paid == "straight" and slipped:
            earned[:] = False
        pay = np.where(earned, for_action, 0.0)
        cost = np.where(self.hit, payment.obstacle_cost, np.where(self.out, payment.border_cost, 0.0))
        if payment.rewards == "additive":
            return np.where(arrives, payment.goal_reward, 0.0) - cost + pay
        return np.where(arrives, payment.goal_reward, np.where(cost != 0.0, -cost, pay))


def _move(land: Field, displacement: NDArray[np.int64], corner_cutting: bool = True) -> Outcome:
    """Return the outcome of a move by one displacement, which obstacles and the border stop."""
    found, inside = land.board.look(displacement)
    hit = np.zeros_like(inside)
    row, column = land.board.cells[inside].T
    d_row, d_column = displacement.tolist()
    hit[inside] = land.black[row + d_row, column + d_column]
    if not corner_cutting:
        # A diagonal passes between two squares, which are on the grid if its end is.
        hit[inside] |= land.black[row + d_row, column] | land.black[row, column + d_column]
    return Outcome(np.where(inside & ~hit, found, np.arange(found.size)), hit, ~inside)


def obstacle_grid(
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
) -> GridProblem:
    """Build the deterministic problem of Fig. 9.3; keywords as in `rlsuite_envs.obstacle_grids.ObstacleGridEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.
    ModelError
        If there is no square to start on, or no goal.

    Examples
    --------
    >>> model, layout = obstacle_grid(width=3, height=1, obstacles=[])
    >>> model.state_labels, model.P[1][1], model.P[0][0]
    (('(0,0)', '(1,0)', '(2,0)'), [(1.0, 2, 1000.0, True)], [(1.0, 0, 0.0, False)])
    """
    choice("border", border, ["stay", "mask"])
    payment = Payment(goal, goal_reward, obstacle_cost, border_cost)
    payment.check()
    land = field(
        width=width,
        height=height,
        obstacles=obstacles,
        start=start,
        obstacle_states=obstacle_states,
        origin=origin,
        j_axis=j_axis,
    )
    arrows = displacements(FOUR)
    outcomes = [_move(land, arrow) for arrow in arrows]
    reached = np.stack([one.reached for one in outcomes], axis=1)[:, :, None]
    reward = np.stack([one.reward(land, payment, 0.0, slipped=False) for one in outcomes], axis=1)[:, :, None]
    legal = np.stack([~one.out | (border == "stay") for one in outcomes], axis=1)[:, :, None]
    return _problem(land, Ways(reached, 1.0, reward, legal), FOUR, arrows, goal == "end", gamma)


def slippery_obstacle_grid(
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
) -> GridProblem:
    """Build the stochastic problem of Figs. 9.3 and 9.4, as `rlsuite_envs.obstacle_grids.SlipperyObstacleGridEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values.
    ModelError
        If there is no square to start on, or no goal.

    Examples
    --------
    >>> model, layout = slippery_obstacle_grid(width=3, height=2, obstacles=[])
    >>> [(round(p, 3), s, r) for p, s, r, _ in model.P[0][1]]
    [(0.9, 1, 1.0), (0.05, 0, 1.0), (0.05, 4, 1.0)]
    """
    choice("slip_is", slip_is, ["total", "each"])
    choice("diagonal_out", diagonal_out, ["stay", "slide", "renormalise"])
    number("slip", slip, 0.0, 1.0 if slip_is == "total" else 0.5)
    payment = Payment(goal, goal_reward, obstacle_cost, border_cost, rewards, paid)
    payment.check()
    for_action = (number("left_reward", left_reward), number("right_reward", right_reward))
    land = field(
        width=width,
        height=height,
        obstacles=obstacles,
        start=start,
        obstacle_states=obstacle_states,
        origin=origin,
        j_axis=j_axis,
    )
    each = slip / 2 if slip_is == "total" else slip
    probabilities = np.array([1.0 - 2 * each, each, each])
    n_states = len(land.board.cells)
    shape = (n_states, len(SIDES), len(probabilities))
    reached, reward = np.empty(shape, dtype=np.int64), np.empty(shape)
    probability = np.broadcast_to(probabilities, shape).copy()
    arrows = displacements(SIDES)
    for action, arrow in enumerate(arrows):
        straight = _move(land, arrow)
        ways = [straight]
        for way, d_row in ((1, -1), (2, 1)):
            diagonal = _move(land, arrow + np.array([d_row, 0]), corner_cutting)
            if diagonal_out == "slide":
                diagonal = Outcome(*(np.where(diagonal.out, *both) for both in zip(straight, diagonal, strict=True)))
            elif diagonal_out == "renormalise":
                probability[diagonal.out, action, way] = 0.0
            ways.append(diagonal)
        reached[:, action] = np.stack([one.reached for one in ways], axis=1)
        paid_each = [one.reward(land, payment, for_action[action], slipped=way > 0) for way, one in enumerate(ways)]
        reward[:, action] = np.stack(paid_each, axis=1)
    if diagonal_out == "renormalise":
        probability = _renormalised(probability)
    return _problem(land, Ways(reached, probability, reward), SIDES, arrows, goal == "end", gamma)


def _renormalised(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    total = probability.sum(axis=2, keepdims=True)
    if (total == 0.0).any():
        raise ParameterError(
            "diagonal_out='renormalise' has nothing to renormalise: all moves are slips, and in some square all "
            "slips leave the grid; choose a smaller slip or another diagonal_out"
        )
    return probability / total


def _problem(
    land: Field, ways: Ways, actions: tuple[str, ...], arrows: NDArray[np.int64], ends: bool, gamma: float
) -> GridProblem:
    if ends:
        ways.end(land.at_goal)
    model = ways.to_model(gamma=gamma, start=land.start, state_labels=land.labels, action_labels=actions)
    return GridProblem(model, land.layout(arrows, ends))
