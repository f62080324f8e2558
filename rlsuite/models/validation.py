"""The validation of every model: each check names the offender, what is allowed, and the fix.

All of them work on whole arrays; the offender is searched for only after a check has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.narrowing import is_mapping, is_sequence
from rlsuite.errors import ModelError, ParameterError, nearest
from rlsuite.models.aliases import AnyArray, BeliefLike, BoolArray, CsrMatrix, FloatArray, IndexArray, SparseLike

if TYPE_CHECKING:
    from typing_extensions import TypeIs

ROW_SUM_TOLERANCE = 1e-8

MOST_NAMED = 40
"""Names that a message lists at most, where numbers were given."""

_Scalar = TypeVar("_Scalar", bound=np.generic)


def is_matrix(value: object) -> TypeIs[SparseLike]:
    """Whether `value` is a sparse matrix."""
    return hasattr(value, "tocsr")


def array(name: str, values: object) -> AnyArray:
    """Return `values` as an array of numbers or booleans, whatever their type."""
    try:
        converted: AnyArray = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ModelError(_ragged(name, values) or f"{name} is not an array of numbers: {error}") from error
    if converted.dtype.kind not in "biuf":
        raise ModelError(f"{name} has dtype {converted.dtype}; numbers are needed")
    return converted


def _ragged(name: str, values: object) -> str:
    """Which part of nested sequences differs in shape from the first; empty if none does."""
    if not is_sequence(values) or isinstance(values, str):
        return ""
    shapes: list[tuple[int, ...]] = []
    for index, part in enumerate(values):
        try:
            shapes.append(np.asarray(part).shape)
        except ValueError:
            return _ragged(f"{name}[{index}]", part)
        if shapes[index] != shapes[0]:
            different = f"{name}[{index}] has shape {shapes[index]}, but {name}[0] has {shapes[0]}"
            return f"{different}; all must have the same shape"
    return ""


def floats(name: str, values: object) -> FloatArray:
    """Return `values` as a float64 array; finite, or the first offender is named."""
    converted = array(name, values).astype(np.float64, copy=False)
    # Minimum and maximum are NaN if any entry is, and unlike a mask of a large model's entries they take no memory.
    if converted.size and not (np.isfinite(converted.min()) and np.isfinite(converted.max())):
        where = np.unravel_index(int(np.argmin(np.isfinite(converted))), converted.shape)
        index = ", ".join(str(int(i)) for i in where)
        raise ModelError(f"{name}[{index}] is {converted[where]}; every entry must be finite")
    return converted


def integers(name: str, values: object) -> AnyArray:
    """Return `values` as an array of some integer type."""
    converted = array(name, values)
    if converted.size == 0:
        return converted.astype(np.int64)
    if converted.dtype.kind not in "iu":
        raise ModelError(f"{name} has dtype {converted.dtype}; integers are needed")
    return converted


def booleans(name: str, values: object) -> BoolArray:
    """Return `values` as a bool array; the integers 0 and 1 are accepted as booleans."""
    converted = array(name, values)
    if converted.dtype.kind != "b" and not np.isin(converted, (0, 1)).all():
        raise ModelError(f"{name} has dtype {converted.dtype} and values other than 0 and 1; booleans are needed")
    return converted.astype(np.bool_, copy=False)


def shape(name: str, values: AnyArray | CsrMatrix, *allowed: tuple[int, ...], meaning: str = "") -> None:
    """Raise `ModelError` unless the shape of `values` is one of `allowed`."""
    if values.shape not in allowed:
        listed = " or ".join(str(one) for one in allowed)
        raise ModelError(f"{name} has shape {values.shape}, not {listed}{meaning and f' ({meaning})'}")


def frozen(values: NDArray[_Scalar], given: object) -> NDArray[_Scalar]:
    """Return `values` C-contiguous and read-only, in memory that the owner of `given` cannot write to."""
    if values.flags.owndata and values.flags.c_contiguous and not values.flags.writeable:
        return values
    if values is given or not values.flags.owndata or not values.flags.c_contiguous:
        values = values.copy(order="C")
    values.setflags(write=False)
    return values


def labels(name: str, values: Sequence[str] | None, number_of: int) -> tuple[str, ...] | None:
    """Return `values` as a tuple of `number_of` distinct strings, or None."""
    if values is None:
        return None
    if isinstance(values, str):
        raise ModelError(f"{name}={values!r} is one string; a sequence of {number_of} strings is needed")
    try:
        listed = tuple[object, ...](values)
    except TypeError as cause:
        raise ModelError(f"{name}={values!r} is not a sequence of {number_of} strings") from cause
    if len(listed) != number_of:
        raise ModelError(f"{name} has {len(listed)} entries, not {number_of}")
    seen: dict[str, int] = {}
    for index, label in enumerate(listed):
        if not isinstance(label, str):
            raise ModelError(f"{name}[{index}] is {label!r}, not a string")
        if label in seen:
            raise ModelError(f"{name}[{seen[label]}] and {name}[{index}] are both {label!r}; labels must be distinct")
        seen[label] = index
    return tuple(seen)


def state_sets(values: object, states: int) -> Mapping[str, BoolArray]:
    """Return labels of states as masks: label -> (S,) bool, read-only.

    Parameters
    ----------
    values : mapping or None
        Label -> states: a mask (S,) bool, the numbers of the states, or one number.
    states : int
        S.
    """
    if values is None:
        return MappingProxyType({})
    if not is_mapping(values):
        raise ModelError(
            f"labels is a {type(values).__name__}; a mapping is needed, from each label to its states, as "
            "labels={'goal': [3]}. Names of single states are state_labels=[...]"
        )
    masks: dict[str, BoolArray] = {}
    for label, given in values.items():
        if not isinstance(label, str) or not label:
            raise ModelError(f"{label!r} in labels is not a name")
        masks[label] = frozen(_mask(label, given, states), given)
    return MappingProxyType(masks)


def _mask(label: str, given: object, states: int) -> BoolArray:
    name = f"labels[{label!r}]"
    found = array(name, given)
    if found.dtype == np.bool_:
        shape(name, found, (states,), meaning="one entry per state, or the numbers of the states")
        return found
    listed = integers(name, found).reshape(-1)
    wrong = (listed < 0) | (listed >= states)
    if found.ndim > 1 or wrong.any():
        what = f"has shape {found.shape}" if found.ndim > 1 else f"has {listed[int(np.argmax(wrong))]}"
        raise ModelError(
            f"{name} {what}; a mask of booleans is needed, or numbers of states, which are 0..{states - 1}"
        )
    number, times = np.unique(listed, return_counts=True)
    if (times > 1).any():
        raise ModelError(f"{name} lists state {number[int(np.argmax(times))]} twice; a mask is an array of booleans")
    mask = np.zeros(states, dtype=np.bool_)
    mask[listed] = True
    return mask


def excess(total: float) -> str:
    """Return a phrase that says by how much `total` differs from 1."""
    return f"missing {1.0 - total:.10g}" if total < 1.0 else f"{total - 1.0:.10g} too much"


def distribution(name: str, values: FloatArray) -> None:
    """Raise unless the vector `values` is a probability distribution."""
    if (values < 0.0).any():
        index = int(np.argmax(values < 0.0))
        raise ModelError(f"{name}[{index}] is {values[index]:g}; probabilities are at least 0")
    total = float(values.sum())
    if abs(total - 1.0) > ROW_SUM_TOLERANCE:
        raise ModelError(f"{name} sums to {total:.10g}, not 1")


def number_of(what: str, given: object, count: int, labels: Sequence[str] | None) -> int:
    """Return the number of one of `count` actions, states or observations, given by its number or its name.

    Parameters
    ----------
    what : str
        "action", "state" or "observation".
    given : int or str
        The number, or the name; capitals do not matter, and -, _ and a blank are the same.
    count : int
        How many there are.
    labels : sequence of str or None
        The names.

    Raises
    ------
    ParameterError
        If there is none of this number or name.

    Examples
    --------
    >>> number_of("action", "open-left", 2, ("listen", "open left")), number_of("action", 1, 2, None)
    (1, 1)
    >>> number_of("action", "open-rihgt", 2, ("open left", "open right"))
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: unknown action 'open-rihgt'; did you mean 'open right'? (open left, open right, 0..1)
    """
    if isinstance(given, str):
        names = () if labels is None else tuple(labels)
        if given in names:
            return names.index(given)
        alike = {_plain(name): name for name in names}
        if _plain(given) in alike:
            return names.index(alike[_plain(given)])
        near = nearest(_plain(given), alike)
        hint = f"; did you mean {alike[near[0]]!r}?" if near else ""
        listed = "".join(f"{name}, " for name in names) if len(names) <= MOST_NAMED else ""
        raise ParameterError(f"unknown {what} {given!r}{hint} ({listed}0..{count - 1})")
    number = whole_number(what, given, at_least=0)
    if number >= count:
        article = "a" if what == "state" else "an"
        raise ParameterError(f"{what}={given} is not {article} {what}; the {what}s are 0..{count - 1}")
    return number


def _plain(name: str) -> str:
    return name.casefold().replace("-", " ").replace("_", " ")


def belief(values: BeliefLike, states: int, labels: Sequence[str] | None = None) -> FloatArray:
    """Return `values` as a distribution over the states, (S,) float64, or raise `ParameterError`.

    States that are left out of the probabilities by name have the probability 0.
    """
    try:
        if is_mapping(values):
            given = values
            values = np.zeros(states)
            for state, probability in given.items():
                values[number_of("state", state, states, labels)] = finite_number(f"belief[{state!r}]", probability)
        b = floats("belief", values)
        shape("belief", b, (states,), meaning="one entry per state")
        distribution("belief", b)
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    return b


def start_distribution(start: ArrayLike | None, can_start: BoolArray) -> FloatArray:
    """Return the start distribution over S states.

    Parameters
    ----------
    start : int, array_like (S,) or None
        One state, a distribution, or None for the uniform distribution over `can_start`.
    can_start : ndarray (S,) bool
        The states among which None chooses.
    """
    states = can_start.size
    if start is None:
        if not can_start.any():
            raise ModelError("no episode can start: give every state that is not terminal a legal action")
        return can_start / np.count_nonzero(can_start)
    if not hasattr(start, "__len__"):
        state = whole_number("start", start, at_least=0)
        if state >= states:
            raise ModelError(f"start={state} is not a state; the states are 0..{states - 1}")
        one = np.zeros(states)
        one[state] = 1.0
        return one
    return floats("start", start)


def leads_on(indptr: AnyArray, n_actions: int) -> BoolArray:
    """Return the mask of the states that have a legal action: (S,) bool."""
    return np.any((indptr[1:] > indptr[:-1]).reshape(-1, n_actions), axis=1)


def pointers(lengths: ArrayLike) -> IndexArray:
    """Return where rows of these lengths begin, and where the last one ends: (n + 1,) int64.

    >>> pointers([[2, 0], [1, 3]]).tolist()
    [0, 2, 2, 3, 6]
    """
    found = np.zeros(np.size(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def row_sums(values: FloatArray, indptr: IndexArray) -> FloatArray:
    """Return the sum of each row, 0 for an empty one: (S * A,) float64."""
    sums = np.zeros(indptr.size - 1)
    filled = indptr[1:] > indptr[:-1]
    # reduceat would return an element instead of 0 for an empty row, so only filled rows are summed.
    if values.size:
        sums[filled] = np.add.reduceat(values, indptr[:-1][filled].astype(np.intp))
    return sums
