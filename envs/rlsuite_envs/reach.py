"""Which squares of a map can be reached; found on the squares themselves, before there is a model."""

import numpy as np
from numpy.typing import NDArray

from rlsuite_envs.legend import Squares


def reached(squares: Squares, starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the squares that moves to the four sides and teleports lead to.

    Parameters
    ----------
    squares : Squares
        Walls stop a move, goals and pits end the episode, teleports move the agent to their landing.
    starts : ndarray (n_rows, n_columns) bool
        The squares on which an episode may begin; no walls or ends among them.

    Returns
    -------
    ndarray (n_rows, n_columns) bool
        The squares on which an agent may be, the starts among them.

    Examples
    --------
    >>> from rlsuite_envs.legend import LEGEND, REWARDS, explain
    >>> from rlsuite_envs.maps import read_map
    >>> squares = explain(read_map(["S..X.#G"]), LEGEND, REWARDS)
    >>> reached(squares, squares.start).astype(int).tolist()
    [[1, 1, 1, 1, 0, 0, 0]]
    """
    from scipy import ndimage

    # Between squares that are neither walls, ends nor teleports, moves lead in both directions (if the floor always
    # slips, then by another action). So if one square of a region is reached, all of it is, and all squares beside it.
    walked = ~(squares.wall | squares.end)
    for teleport in squares.teleports:
        walked &= ~teleport.squares
    region, n_regions = ndimage.label(walked)
    known = starts.copy()
    # Every round but the last reaches one more landing, or nothing new.
    for _ in range(1 + len(squares.teleports)):
        entered = np.zeros(1 + n_regions, dtype=np.bool_)
        entered[region[known]] = True
        entered[0] = False  # 0 is the label of the squares that belong to no region
        known |= ndimage.binary_dilation(entered[region]) & ~squares.wall
        for teleport in squares.teleports:
            known[teleport.landing] |= known[teleport.squares].any()
    return known
