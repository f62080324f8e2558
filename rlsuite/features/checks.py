"""Checks of the inputs of feature maps and agents, with messages in the words that scikit-learn's checks expect."""

import math
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number


class NotNumbers(errors.ParameterError, TypeError):
    """Observations that are not numbers: `ParameterError`, and the ``TypeError`` that NumPy raises for them."""


def check_observations(X: ArrayLike, width: int | None, asker: str) -> NDArray[np.float64]:
    """Return observations as float64 (n, d), one row each.

    Raises
    ------
    ParameterError
        If they are not a finite two-dimensional array of numbers, or not `width` wide; None, for `fit`, takes any
        width, but wants at least one observation.
    """
    if scipy.sparse.issparse(X):
        raise NotNumbers(f"{asker}: observations are a sparse matrix, which is not supported; give X.toarray()")
    try:
        given = np.asarray(X)
        if np.iscomplexobj(given):
            raise TypeError("Complex data not supported")  # NumPy would drop the imaginary parts
        found = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NotNumbers(f"{asker}: observations must be an array (n, d) of numbers ({error})") from error
    if not found.flags.writeable:  # read-only arrays are another type for numba, which would compile everything again
        found = found.copy()
    if given.ndim != 2:
        raise errors.ParameterError(
            f"{asker}: observations have shape {given.shape}; give (n, d), one row per observation. Reshape your data: "
            "X[None] makes a row of one observation, X[:, None] a column of numbers"
        )
    if width is None and found.size == 0:
        what = "sample" if not len(found) else "feature"
        raise errors.ParameterError(
            f"{asker} cannot be fitted to observations of shape {found.shape}: 0 {what}(s) (shape={found.shape}) while "
            "a minimum of 1 is required. Let a few random episodes collect them"
        )
    if width is not None and found.shape[1] != width:
        raise errors.ParameterError(
            f"{asker} was fitted to observations of {width} numbers, and these have {found.shape[1]} (X has "
            f"{found.shape[1]} features, but {asker} is expecting {width} features as input)"
        )
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise errors.ParameterError(
            f"{asker}: observation[{row}, {column}]={found[row, column]} is not a finite number: neither NaN nor "
            "infinity can be learned from"
        )
    return found


def grid_size(sizes: NDArray[np.integer]) -> int:
    """Multiply sizes (d,): the number of cells of a grid. Beyond 10^18 only the power of ten is right, to save time.

    >>> grid_size(np.array([3, 4])), grid_size(np.full(100_000, 10)) == 10**100_000
    (12, True)
    """
    digits = float(np.log10(sizes).sum())
    return math.prod(sizes.tolist()) if digits < 18.0 else 10 ** round(digits)


def grid(sizes: NDArray[np.integer]) -> str:
    """Write the size of a grid in each dimension; of many dimensions, only the first.

    >>> grid(np.array([3, 4])), grid(np.full(28_224, 8))
    ('3 x 4', '8 x 8 x 8 x ... (in 28,224 dimensions)')
    """
    if len(sizes) <= 10:
        return " x ".join(map(str, sizes))
    return f"{' x '.join(map(str, sizes[:3]))} x ... (in {len(sizes):,} dimensions)"


def deviations(observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations (d,) of observations (n, d); 1 where these are all the same but for rounding.

    >>> deviations(np.array([[0.1, 1.0], [0.1, 3.0], [0.1, 2.0]])).round(3)
    array([1.   , 0.816])
    """
    found = observations.std(axis=0)
    rounding = len(observations) * np.finfo(np.float64).eps * np.abs(observations.mean(axis=0))
    return np.where(found > rounding, found, 1.0)


@contextmanager
def naming(what: str, kind: type[errors.RlsuiteError] = errors.LearningError) -> Generator[None]:
    """Raise any exception of a third-party estimator as one of ours that names it, with the original as the cause.

    >>> with naming("FittedQ, round 1: Ridge cannot learn from these 3 samples"):
    ...     raise KeyError("alpha")
    Traceback (most recent call last):
    rlsuite.errors.LearningError: FittedQ, round 1: Ridge cannot learn from these 3 samples: KeyError: 'alpha'
    """
    try:
        yield
    except errors.RlsuiteError:
        raise
    except Exception as error:  # other libraries raise errors of any class
        text = str(error)
        raised = text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"
        raise kind(f"{what}: {raised}") from error


def shown(given: object) -> str:
    """Show a wrong argument in a message; an object with many parameters is shown by its class.

    >>> shown(3), shown(int), shown(naming)
    ('3', 'the class int', 'function')
    """
    if isinstance(given, type):
        return f"the class {given.__name__}"
    plain = type(given) in (str, int, float, bool, list, tuple, dict, type(None))
    return repr(given) if plain else type(given).__name__


def check_seed(seed: object) -> None:
    """Raise unless a seed is None or a whole number from 0 to 2**32 - 1, as scikit-learn wants it.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if seed is not None and whole_number("seed", seed, 0) >= 2**32:
        raise errors.ParameterError(f"seed={seed} is above 2**32 - 1, the largest seed of scikit-learn")


def at_least(asker: str, name: str, number: int, observations: NDArray[np.float64]) -> None:
    """Raise unless there are as many observations (n, d) as a parameter says.

    Raises
    ------
    ParameterError
        If there are fewer.
    """
    if len(observations) < number:
        raise errors.ParameterError(
            f"{asker}: {name}={number} cannot be found in {len(observations)} observations "
            f"(n_samples={len(observations)}); give more, or lower {name}="
        )
