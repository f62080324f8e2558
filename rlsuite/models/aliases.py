"""Names of the array types that the models share."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from rlsuite.core.array_like import ArrayLike

AnyArray: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IndexArray: TypeAlias = NDArray[np.int64]
StateArray: TypeAlias = NDArray[np.int32]
PointerArray: TypeAlias = NDArray[np.uint64]
SuccessorArray: TypeAlias = NDArray[np.uint32]
BoolArray: TypeAlias = NDArray[np.bool_]

BeliefLike = TypeAliasType("BeliefLike", ArrayLike | Mapping[str, float])
"""A distribution over the states: an array (S,), or the probabilities of some states by name."""


class SparseLike(Protocol):
    """The attributes of a ``scipy.sparse`` matrix that rlsuite uses; every format has them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""
        ...

    def tocsr(self) -> Any:
        """Return the matrix in compressed row form."""
        ...


class CsrMatrix(Protocol):
    """A ``scipy.sparse.csr_array`` of float64: the attributes that rlsuite uses.

    SciPy ships no types, and its separate stubs leave the arrays inside a sparse matrix open.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        ...

    @property
    def indptr(self) -> IndexArray:
        """Where each row begins and ends."""
        ...

    @property
    def indices(self) -> IndexArray:
        """Column of each stored entry."""
        ...

    @property
    def data(self) -> FloatArray:
        """Value of each stored entry."""
        ...

    def toarray(self) -> FloatArray:
        """Return the dense array."""
        ...

    def copy(self) -> Self:
        """Return a copy."""
        ...

    def sum_duplicates(self) -> None:
        """Sort the columns of each row, and add up the entries of one column."""
        ...

    def eliminate_zeros(self) -> None:
        """Remove the entries that are 0."""
        ...

    def __matmul__(self, vector: FloatArray, /) -> FloatArray:
        """Return the product with a vector."""
        ...


class Rows(NamedTuple):
    """Transitions as rows over (state, action): the form that every constructor of a model produces.

    The row of the pair (s, a) is ``indptr[s * A + a] : indptr[s * A + a + 1]``; an empty row is an illegal action.
    """

    indptr: IndexArray
    """(S * A + 1,) int64"""
    next_state: AnyArray
    """(N,) integers"""
    probability: FloatArray
    """(N,) float64"""
    reward: FloatArray
    """(N,) float64, the mean reward of the transition; or (S, A), if it depends on the pair alone"""
    terminated: BoolArray
    """(N,) bool, whether this transition ends the episode"""
