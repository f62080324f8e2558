"""Environments for the cells of an experiment: each is made and checked once, and every run uses a copy."""

import copy
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import gymnasium

from rlsuite.environments.finding import find_env
from rlsuite.experiments.runs import Cell
from rlsuite.training.engines import action_space_of
from rlsuite.training.observation_view import encoding

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
        If an environment cannot be made, or has spaces that an agent of its cells cannot work with.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._made: dict[str, Env] = {}
        for cell in cells:
            if _key(cell) not in self._made:
                self._made[_key(cell)] = find_env(cell.env_id, **cell.keywords)
            env = self._made[_key(cell)]
            action_space_of(env)
            dataclasses.replace(cell.agent.agent).bind_environment(env)

    def size(self, cell: Cell) -> str:
        """A description of the observations and actions of the environment of a cell."""
        env = self._made[_key(cell)]
        space = env.observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            observations = f"{space.n} observations"
        else:
            observations = f"observations of {encoding(space).low.size} numbers"
        return f"{observations}, {action_space_of(env).n} actions"

    def copy(self, cell: Cell) -> Env:
        """An environment for a run of this cell; copying is cheaper than building a model again."""
        try:
            return copy.deepcopy(self._made[_key(cell)])
        except (
            TypeError,
            ValueError,
            RuntimeError,
        ):  # a window, a file or a thread cannot be copied
            return find_env(cell.env_id, **cell.keywords)


def _key(cell: Cell) -> str:
    return json.dumps([cell.env_id, cell.keywords], sort_keys=True)
