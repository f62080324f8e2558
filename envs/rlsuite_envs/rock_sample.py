"""RockSample(n, k) (Smith & Simmons 2004): a rover that checks rocks from a distance before it takes a sample.

The rover knows where it and the k rocks are, on n x n squares, but not which rocks are good. It can check any rock from
any distance d, and observes correctly whether it is good with probability (1 + 2^(-d / d0)) / 2. A sample of a good
rock is rewarded and leaves a bad rock; leaving the grid to the right ends the episode.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.rendering import GridLayout
from rlsuite_envs.grid_env import GridEnv, HiddenGridProblem
from rlsuite_envs.keywords import choice, number, sequence, square, whole

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
NORTH, EAST, SOUTH, WEST, SAMPLE = range(5)
OBSERVATIONS = ("none", "good", "bad")
MAX_STATES = 1 << 22

KNOWN_ROCKS = {
    (4, 4): ((1, 3), (1, 2), (3, 1), (0, 1)),
    (5, 5): ((4, 2), (4, 0), (3, 3), (2, 2), (1, 4)),
    (5, 7): ((0, 1), (1, 2), (2, 1), (2, 2), (2, 4), (3, 0), (4, 3)),
    (7, 8): ((0, 2), (1, 0), (1, 3), (3, 6), (4, 2), (4, 3), (5, 5), (6, 1)),
    (11, 11): ((3, 0), (7, 0), (8, 1), (4, 2), (3, 3), (8, 3), (3, 4), (8, 5), (1, 6), (3, 9), (9, 9)),
}
"""(row, column) of the rocks in the instances that are measured in the literature, by (n, k)."""


def rock_positions(n: int, k: int, rocks: object = None, layout_seed: int | None = None) -> tuple[tuple[int, int], ...]:
    """Return (row, column) of each rock: those given, those of the literature, or drawn.

    Raises
    ------
    ParameterError
        If the rocks given are not k different squares of the grid, or k rocks do not fit on it.

    Examples
    --------
    >>> rock_positions(4, 4)
    ((1, 3), (1, 2), (3, 1), (0, 1))
    """
    if rocks is None:
        if (n, k) in KNOWN_ROCKS and layout_seed is None:
            return KNOWN_ROCKS[n, k]
        if k > n * n:
            raise ParameterError(f"k={k} rocks do not fit on {n} x {n} squares")
        drawn = np.random.default_rng(layout_seed or 0).permutation(n * n)[:k]
        return tuple((int(position) // n, int(position) % n) for position in drawn)
    listed = tuple(square(f"rocks[{i}]", one) for i, one in enumerate(sequence("rocks", rocks)))
    if len(listed) != k or len(set(listed)) != k:
        raise ParameterError(f"rocks={rocks!r} are not k={k} different squares")
    for i, (row, column) in enumerate(listed):
        if not (0 <= row < n and 0 <= column < n):
            raise ParameterError(f"rocks[{i}]={(row, column)} is not a square of the grid of {n} x {n}")
    return listed


def rock_sample(
    *,
    n: int = 4,
    k: int = 4,
    rocks: Iterable[Sequence[int]] | None = None,
    layout_seed: int | None = None,
    half_efficiency: float = 20.0,
    good_reward: float = 10.0,
    bad_cost: float = 10.0,
    exit_reward: float = 10.0,
    illegal: str = "stay",
    gamma: float = 0.95,
) -> HiddenGridProblem:
    """Build the problem; the keywords are those of `RockSampleEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values, or there would be more than 4 million states.

    Examples
    --------
    >>> model, layout = rock_sample(n=7, k=8)
    >>> model
    POMDP(n_states=12545, n_actions=13, n_observations=3, n_transitions=163072, gamma=0.95)
    """
    n, k = whole("n", n, 1), whole("k", k, 0)
    number("half_efficiency", half_efficiency, 1e-3)
    number("good_reward", good_reward)
    number("bad_cost", bad_cost)
    number("exit_reward", exit_reward)
    choice("illegal", illegal, ["stay", "mask"])
    if k > 22 or n * n << k >= MAX_STATES:
        raise ParameterError(f"n={n} and k={k} give n * n * 2**k states; at most {MAX_STATES} are allowed")
    positions = rock_positions(n, k, rocks, None if layout_seed is None else whole("layout_seed", layout_seed, 0))

    kinds = 1 << k
    n_states, n_actions, over = n * n * kinds + 1, SAMPLE + 1 + k, n * n * kinds
    # One transition for each pair: (S - 1, A) tables, in which a state is (square, which rocks are good).
    state = np.arange(over)
    cell, good = state // kinds, state % kinds
    row, column = cell // n, cell % n
    successor = np.repeat(state[:, np.newaxis], n_actions, axis=1)
    reward = np.zeros(successor.shape)
    legal = np.ones(successor.shape, dtype=np.bool_)
    for action, (down, right) in enumerate(MOVES):
        there_row, there_column = row + down, column + right
        inside = (there_row >= 0) & (there_row < n) & (there_column >= 0) & (there_column < n)
        successor[:, action] = np.where(inside, (there_row * n + there_column) * kinds + good, state)
        legal[:, action] = inside
    leaving = column == n - 1
    successor[leaving, EAST] = over
    reward[leaving, EAST] = exit_reward
    legal[leaving, EAST] = True
    legal[:, SAMPLE] = False
    for rock, (at_row, at_column) in enumerate(positions):
        here = cell == at_row * n + at_column
        is_good = (good >> rock) & 1 == 1
        legal[here, SAMPLE] = True
        reward[here, SAMPLE] = np.where(is_good[here], good_reward, -bad_cost)
        successor[here & is_good, SAMPLE] = state[here & is_good] - (1 << rock)
    if illegal == "stay":
        legal[:] = True

    observation = np.zeros((n_actions, n_states, len(OBSERVATIONS)))
    observation[:, :, 0] = 1.0
    for rock, (at_row, at_column) in enumerate(positions):
        distance = np.hypot(row - at_row, column - at_column)
        right = (1.0 + 2.0 ** (-distance / half_efficiency)) / 2.0
        is_good = (good >> rock) & 1 == 1
        table = observation[SAMPLE + 1 + rock]
        table[:over, 0] = 0.0
        table[:over, 1] = np.where(is_good, right, 1.0 - right)
        table[:over, 2] = np.where(is_good, 1.0 - right, right)

    indptr = np.zeros(n_states * n_actions + 1, dtype=np.int64)
    np.cumsum(legal.reshape(-1), out=indptr[1 : over * n_actions + 1])
    indptr[over * n_actions + 1 :] = indptr[over * n_actions]
    start = np.zeros(n_states)
    start[(n // 2) * n * kinds : ((n // 2) * n + 1) * kinds] = 1.0 / kinds
    hidden = MDP.from_rows(
        indptr,
        successor[legal],
        np.ones(int(indptr[-1])),
        reward[legal],
        n_actions=n_actions,
        gamma=gamma,
        start=start,
        state_labels=[
            f"r{one // n}c{one % n}-" + "".join("bg"[(which >> rock) & 1] for rock in range(k))
            for one in range(n * n)
            for which in range(kinds)
        ]
        + ["left"],
        action_labels=("north", "east", "south", "west", "sample", *(f"check-{rock}" for rock in range(k))),
    )
    cells = np.concatenate([np.stack([row, column], axis=1), [[-1, -1]]])
    marks = {position: format(rock, "x")[-1] for rock, position in enumerate(positions)}
    return HiddenGridProblem(POMDP(hidden, observation, OBSERVATIONS), GridLayout(n, n, cells, marks=marks))


class RockSampleEnv(GridEnv):
    """RockSample(n, k): find out which rocks are worth a sample, take it, and leave (Smith & Simmons 2004).

    Parameters
    ----------
    n : int
        The grid has n x n squares.
    k : int
        Number of rocks.
    rocks : sequence of k pairs, optional
        (row, column) of each rock. By default those of the literature for RockSample(4,4), (5,5), (5,7), (7,8) and
        (11,11), and otherwise drawn.
    layout_seed : int, optional
        Draw the rocks with this seed, even where the literature has some.
    half_efficiency : float
        d0: the advantage of a check over a guess halves with every so many squares of distance.
    good_reward, bad_cost : float
        Reward for the sample of a good rock, cost of the sample of a bad one.
    exit_reward : float
        Reward for leaving.
    illegal : {"stay", "mask"}
        Moves against the edge, and samples where there is no rock, do nothing for a reward of 0; or they are illegal
        (``info["action_mask"]``).
    gamma : float
        Discount of the model.
    render_mode : {"human", "ansi", "rgb_array"}, optional
        As in `rlsuite.TabularEnv`. What is drawn is what the rover knows, never which rocks are good.

    Notes
    -----
    States: (row * n + column) * 2^k + sum of 2^i over the good rocks i, then the end. The rover starts in the middle of
    the left column; every rock is good with probability 1/2. Actions: 0 north, 1 east, 2 south, 3 west, 4 sample,
    5 + i check rock i. Observations: 0 none, 1 good, 2 bad.

    V* at the start of RockSample(4,4) is 19.0100 for gamma 0.95.

    Examples
    --------
    >>> env = RockSampleEnv(render_mode="ansi")
    >>> env.reset(seed=7)[0], env.step(8)[:2]
    (3, (1, 0.0))
    >>> print(env.render(), end="")
     .  3  .  .
     .  .  1  0
    [.] .  .  .
     .  2  .  .
    check-3, reward 0 | observed: good
    """

    def __init__(
        self,
        *,
        n: int = 4,
        k: int = 4,
        rocks: Iterable[Sequence[int]] | None = None,
        layout_seed: int | None = None,
        half_efficiency: float = 20.0,
        good_reward: float = 10.0,
        bad_cost: float = 10.0,
        exit_reward: float = 10.0,
        illegal: str = "stay",
        gamma: float = 0.95,
        render_mode: str | None = None,
    ) -> None:
        problem = rock_sample(
            n=n,
            k=k,
            rocks=rocks,
            layout_seed=layout_seed,
            half_efficiency=half_efficiency,
            good_reward=good_reward,
            bad_cost=bad_cost,
            exit_reward=exit_reward,
            illegal=illegal,
            gamma=gamma,
        )
        super().__init__(problem, render_mode)
