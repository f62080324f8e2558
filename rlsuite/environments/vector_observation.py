"""An environment with ids for observations, which are replaced by vectors of features."""

from typing import Any, Self, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import fits_in_memory
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.rendering import GridLayout


class VectorObservation(gymnasium.ObservationWrapper[NDArray[Any], Any, Any], RecordConstructorArgs):
    """Replaces each id by a vector, looked up in a table.

    Nothing else changes: an agent with features learns on the model of the environment at compiled speed, as it would
    without the wrapper.

    Parameters
    ----------
    env : gymnasium.Env
        An environment whose observations are ids (Discrete).
    vectors : array_like (n, d) or (n, ...)
        What is shown for each id, the smallest first. float32 and float64 are kept, other numbers become float64.

    Attributes
    ----------
    vectors : ndarray (n, d)
        What is shown, each flattened to a vector; read-only.
    observation_space : gymnasium.spaces.Box
        Of the shape of one entry of the table, from the smallest to the largest number that stands in each place.

    Raises
    ------
    UnsuitableEnvironment
        If the observations are not ids.
    ParameterError
        If there are not as many vectors as ids, or a number is not finite.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> env = rl.VectorObservation.coordinates(gymnasium.make("CliffWalking-v1"))
    >>> env.reset(seed=7)[0], env.observation_space.high
    (array([3., 0.]), array([ 3., 11.]))
    """

    def __init__(self, env: gymnasium.Env[Any, Any], vectors: ArrayLike) -> None:
        RecordConstructorArgs.__init__(self, vectors=vectors)
        super().__init__(env)
        ids = _ids_of(env)
        try:
            table = np.array(vectors)
            table = table if table.dtype == np.float32 else table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"vectors must be an array (n, d) of numbers ({error})") from error
        if table.ndim < 2 or len(table) != ids.n or table.size == 0:
            raise ParameterError(f"vectors has shape {table.shape}, needed ({ids.n}, d): one vector for each id")
        if not np.isfinite(table).all():
            row = int(np.argwhere(~np.isfinite(table))[0][0])
            raise ParameterError(f"vectors[{row}] holds a number that is not finite")
        self._first = int(ids.start)
        self._shape = table.shape[1:]
        self.vectors = table.reshape(len(table), -1)
        self.vectors.flags.writeable = False
        self.observation_space = spaces.Box(table.min(axis=0), table.max(axis=0), self._shape, table.dtype.type)

    def observation(self, observation: Any) -> NDArray[Any]:
        """Look up the vector of an id."""
        return self.vectors[int(observation) - self._first].reshape(self._shape).copy()

    @classmethod
    def one_hot(cls, env: gymnasium.Env[Any, Any]) -> Self:
        """Replace ids by one-hot vectors: 1 at the id, and 0 everywhere else.

        Raises
        ------
        UnsuitableEnvironment
            If the observations are not ids.
        ParameterError
            If the table of n x n numbers does not fit in memory.
        """
        n = int(_ids_of(env).n)
        fits_in_memory(f"a table of {n:,} vectors of {n:,} numbers", 8 * n * n)
        return cls(env, np.eye(n))

    @classmethod
    def coordinates(cls, env: gymnasium.Env[Any, Any]) -> Self:
        """Replace ids by the row and the column of the state, counted from 0 at the top left, float64 (2,).

        A state that lies nowhere on the grid, such as an end, has -1 for both.

        Raises
        ------
        UnsuitableEnvironment
            If the environment is not a grid (see `rlsuite.GridLayout.from_env`), or does not show its state.
        """
        return cls(env, _layout_of(env).cells.astype(np.float64))

    @classmethod
    def image(cls, env: gymnasium.Env[Any, Any], *, flat: bool = False) -> Self:
        """Replace ids by planes of zeros and ones over the grid, float32 (n_planes, n_rows, n_columns).

        The first plane shows where one is, the second the walls, and one more for each kind of mark, in alphabetical
        order, where these are. A state that lies nowhere on the grid is nowhere in the first plane.

        Parameters
        ----------
        env : gymnasium.Env
            An environment on a grid.
        flat : bool
            Whether the planes are shown as one vector.

        Raises
        ------
        UnsuitableEnvironment
            If the environment is not a grid (see `rlsuite.GridLayout.from_env`), or does not show its state.
        """
        layout = _layout_of(env)
        kinds = sorted(set(layout.marks.values()))
        planes = np.zeros((layout.n_states, 2 + len(kinds), layout.n_rows, layout.n_columns), dtype=np.float32)
        on_grid = np.flatnonzero(layout.cells[:, 0] >= 0)
        planes[on_grid, 0, layout.cells[on_grid, 0], layout.cells[on_grid, 1]] = 1.0
        planes[:, 1] = layout.walls
        for (row, column), mark in layout.marks.items():
            planes[:, 2 + kinds.index(mark), row, column] = 1.0
        return cls(env, planes.reshape(layout.n_states, -1) if flat else planes)


def _ids_of(env: gymnasium.Env[Any, Any]) -> spaces.Discrete:
    if not isinstance(env.observation_space, spaces.Discrete):
        raise UnsuitableEnvironment(
            f"{env} shows {env.observation_space}, and only ids (Discrete) can be looked up in a table of vectors; "
            "Box observations are vectors already"
        )
    return env.observation_space


def _layout_of(env: gymnasium.Env[Any, Any]) -> GridLayout:
    layout = GridLayout.from_env(env)
    if _ids_of(env).n != layout.n_states:
        raise UnsuitableEnvironment(
            f"{env} shows {cast(Any, env.observation_space).n} different observations, and its grid has "
            f"{layout.n_states} states: its states are hidden, and coordinates would reveal them"
        )
    return layout
