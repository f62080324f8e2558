"""Environments for the cells of an experiment: each is made and checked once, and every run gets a copy."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import gymnasium

from rlsuite.experiments.cells import Cell
from rlsuite.finding import find_env
from rlsuite.training.engines import check_spaces

Env = gymnasium.Env[Any, Any]


class Originals:
    """One environment for each id and keywords among some cells.

    Parameters
    ----------
    cells : sequence of Cell
        The cells.

    Raises
    ------
    EnvironmentNotFound, UnsuitableEnvironment, ParameterError
        If an environment cannot be made, or has spaces that are not Discrete.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._made: dict[str, Env] = {}
        for cell in cells:
            if _key(cell) not in self._made:
                env = find_env(cell.env_id, **cell.keywords)
                check_spaces(env)
                self._made[_key(cell)] = env

    def size(self, cell: Cell) -> tuple[int, int]:
        """Numbers of observations and actions in the environment of a cell."""
        observations, actions = check_spaces(self._made[_key(cell)])
        return int(observations.n), int(actions.n)

    def copy(self, cell: Cell) -> Env:
        """An environment for a run of this cell; copying is cheaper than building a model again."""
        try:
            return copy.deepcopy(self._made[_key(cell)])
        except (TypeError, ValueError, RuntimeError):  # it holds a window, a file, a thread ...
            return find_env(cell.env_id, **cell.keywords)


def _key(cell: Cell) -> str:
    return json.dumps([cell.env_id, cell.keywords], sort_keys=True)
