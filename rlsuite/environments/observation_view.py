"""What an agent observes of its environment: an id, or a vector of numbers.

A table needs an id: a whole number that is a row of it. A function approximator takes any vector, and an id too, as a
vector of one number. The loops pass ids around; a vector is stored in one of two rows, the present and the next
observation in turn, and the number of its row is passed around instead. The first observation of an episode is
in row 0.
"""

import operator
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from gymnasium import spaces

from rlsuite import errors
from rlsuite.core.aliases import Observation, Space, UntypedSpace
from rlsuite.core.checks import is_dict, is_tuple, row_of_id
from rlsuite.core.compilation import Compiled, Numba, compiled, intrinsic
from rlsuite.models.aliases import BoolArray, FloatArray

Receive = Compiled[..., int]

NONE = -1  # as an action: none is chosen yet, the episode begins; as an observation: none yet, reset comes first
BAD = -2  # the observation is not valid


class ObservationView(NamedTuple):
    """The vectors that an agent observes, and the actions that are legal there."""

    vectors: FloatArray  # (2, d)
    arrived: FloatArray  # (d,), the environment's latest answer, not checked yet
    legal: BoolArray  # (2, n_actions), which actions are legal there


View: TypeAlias = ObservationView | tuple[()]
"""An agent's view of vectors; empty for one that observes ids."""


def _observed(context: Numba, view: Numba, observation: Numba) -> Numba:
    """Write what `observed` does: compiled without arrays of its own, a function may not return a part of one."""
    if len(view) == 0:

        def pass_on(context: Numba, builder: Numba, signature: Numba, arguments: Numba) -> Numba:
            return arguments[1]

        return observation(view, observation), pass_on
    getitem = context.resolve_function_type(operator.getitem, (view[0], observation), {})

    def build(context: Numba, builder: Numba, signature: Numba, arguments: Numba) -> Numba:
        vectors = builder.extract_value(arguments[0], 0)
        return context.get_function(operator.getitem, getitem)(builder, (vectors, arguments[1]))

    return getitem.return_type(view, observation), build


@intrinsic(_observed)
def observed(view: View, observation: int) -> Observation:
    """What a rule observes: the vector of a row, or an id itself."""
    return view.vectors[observation] if isinstance(view, ObservationView) else observation


@compiled(in_place=True)
def next_row(observation: int) -> int:
    """The row for the observation after this one; after none, row 0."""
    return 1 - observation if observation >= 0 else 0


@compiled(in_place=True)
def receive_id(view: View, answer: float, n_ids: int, observation: int) -> int:
    """Take an id from the environment; BAD if it is not a valid one."""
    return int(answer) if 0.0 <= answer < n_ids and answer == np.floor(answer) else BAD


@compiled(in_place=True)
def receive_vector(view: ObservationView, answer: float, n_ids: int, observation: int) -> int:
    """Copy the vector that has arrived from the environment to the next row; BAD if it is not finite."""
    row = next_row(observation)
    for i in range(view.arrived.size):
        if not np.isfinite(view.arrived[i]):
            return BAD
        view.vectors[row, i] = view.arrived[i]
    return row


class Encoding(NamedTuple):
    """How the observations of a space become the vectors that an agent observes."""

    low: FloatArray  # (k,), infinite where there is no bound
    high: FloatArray  # (k,)
    first: int = 0
    """The first id of a Discrete space: ids are counted from 0."""
    transform: Callable[[FloatArray], FloatArray] | None = None
    """The function from vectors (n, k) to those that are observed (n, d), where only Python can compute it."""
    plain: bool = False
    """Whether an observation is itself the vector that is observed, so that nothing has to be done."""
    n_ids: int = 0
    """How many ids a Discrete space has; 0 for the others."""

    def encode(self, observation: Observation) -> FloatArray:
        """Return the vector (d,) for an observation."""
        if self.plain and isinstance(observation, np.ndarray):
            return cast("FloatArray", observation)
        vector = as_vector(observation) - self.first
        return vector if self.transform is None else self.transform(vector[None])[0]

    def numbers_of(self, observation: object) -> FloatArray:
        """Return the vector (k,) of an observation that a user gives, before any `transform`.

        Raises
        ------
        ParameterError
            If it is not an observation of the space: not numbers, too many or too few, or an id out of range.
        """
        if self.n_ids:
            return np.array([float(row_of_id(observation, self.first, self.n_ids))])
        vector = numbers_of(observation)
        if vector.size != self.low.size:
            raise errors.ParameterError(
                f"observation {observation!r} has {vector.size} numbers; those of the environment have {self.low.size}"
            )
        return vector

    def given(self, observation: Observation) -> FloatArray:
        """Return the vector (d,) that is shown for an observation that a user gives; errors as in `numbers_of`."""
        if self.plain and type(observation) is np.ndarray and observation.shape == self.low.shape:
            return observation if observation.dtype.kind in "biuf" else numbers_of(observation)
        vector = self.numbers_of(observation)
        return vector if self.transform is None else self.transform(vector[None])[0]


def as_vector(observation: Observation) -> FloatArray:
    """Return all numbers of an observation as one vector: arrays flattened, the parts of a tuple one after the other.

    >>> as_vector((3, [0.5, 1.5]))
    array([3. , 0.5, 1.5])
    """
    if isinstance(observation, dict):
        parts = cast("dict[str, Observation]", observation)
        return np.concatenate([as_vector(parts[name]) for name in sorted(parts)])
    if isinstance(observation, tuple):
        return np.concatenate([as_vector(part) for part in cast("tuple[Observation, ...]", observation)])
    return np.asarray(observation, dtype=np.float64).ravel()


def numbers_of(observation: object) -> FloatArray:
    """Return all numbers of an observation that a user gives as one vector, as `as_vector` does.

    Raises
    ------
    ParameterError
        If it contains anything else.

    Examples
    --------
    >>> numbers_of("3")
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: observation '3' does not consist of numbers
    """
    try:
        if not _numeric(observation):
            raise TypeError
        return as_vector(observation)
    except (TypeError, ValueError) as error:
        raise errors.ParameterError(f"observation {observation!r} does not consist of numbers") from error


def _numeric(observation: object) -> bool:
    """Whether all parts of an observation are numbers or arrays of numbers."""
    if is_dict(observation):
        return all(map(_numeric, observation.values()))
    if is_tuple(observation):
        return all(map(_numeric, observation))
    return np.asarray(observation).dtype.kind in "biuf"


def encoding(space: Space) -> Encoding:
    """Describe how observations of a space become vectors.

    Raises
    ------
    UnsuitableEnvironment
        If the space does not consist of numbers.

    Examples
    --------
    >>> from gymnasium.spaces import Box, Discrete, Tuple
    >>> encoding(Tuple([Discrete(5), Box(0.0, 2.0, (2,))])).high
    array([4., 2., 2.])
    """
    if isinstance(space, spaces.Discrete):
        return Encoding(np.zeros(1), np.array([space.n - 1.0]), int(space.start), n_ids=int(space.n))
    low, high = _bounds(space)
    return Encoding(low, high, plain=isinstance(space, spaces.Box) and space.shape == low.shape)


def _bounds(space: Space) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest numbers of the vectors of a space."""
    some: UntypedSpace = space
    if isinstance(space, spaces.Box):
        return as_vector(some.low), as_vector(some.high)
    if isinstance(space, spaces.Discrete):
        return as_vector(some.start), as_vector(some.start + some.n - 1)
    if isinstance(space, spaces.MultiDiscrete):
        return as_vector(some.start), as_vector(some.start + some.nvec - 1)
    if isinstance(space, spaces.MultiBinary):
        n = as_vector(np.empty(some.shape)).size
        return np.zeros(n), np.ones(n)
    if isinstance(space, spaces.Tuple | spaces.Dict):
        named = isinstance(space, spaces.Dict)
        parts: list[Space] = [some.spaces[name] for name in sorted(some.spaces)] if named else list(some.spaces)
        bounds = [_bounds(part) for part in parts]
        return as_vector(tuple(low for low, _ in bounds)), as_vector(tuple(high for _, high in bounds))
    raise errors.UnsuitableEnvironment(
        f"the observation space {space} does not consist of numbers; wrap the environment so that it shows "
        "numbers (gymnasium.wrappers.TransformObservation)"
    )
