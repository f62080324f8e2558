"""Sequences drawn from a hidden Markov model."""

from __future__ import annotations

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.inference.parameters import HMMParameters
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray

Seed = int | np.random.SeedSequence | np.random.Generator
"""A seed or a generator of random numbers."""


@compiled(in_place=True)
def draw_path(
    start: FloatArray,
    indptr: IndexArray,
    column: IndexArray,
    cumulative: FloatArray,
    rng: np.random.Generator,
    path: IndexArray,
) -> None:
    """Fill a path of the chain, whose rows are given by cumulative probabilities that end in infinity."""
    path[0] = np.searchsorted(start, rng.random(), side="right")
    for t in range(1, path.size):
        low, high = indptr[path[t - 1]], indptr[path[t - 1] + 1] - 1
        place = rng.random()
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > place:
                high = middle
            else:
                low = middle + 1
        path[t] = column[low]


@says_what_to_write
def sample(model: HMMParameters, n: int, *, seed: Seed | None = None) -> tuple[AnyArray, IndexArray]:
    """Draw a sequence.

    Parameters
    ----------
    model : HMM
        The model.
    n : int
        Number of time steps, at least 1.
    seed : int, SeedSequence or Generator, optional
        Where the random numbers come from; by default from the operating system, other ones each time.

    Returns
    -------
    z : ndarray (n,) or (n, D)
        Observations.
    states : ndarray (n,) int64
        The hidden states that emitted them.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> clock = HMM([1, 0, 0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[1, 0], [1, 0], [0, 1]])
    >>> z, states = clock.sample(6, seed=0)
    >>> z.tolist(), states.tolist()
    ([0, 0, 1, 0, 0, 1], [0, 1, 2, 0, 1, 2])
    """
    n = whole_number("n", n)
    rng = np.random.default_rng() if seed is None else generator(seed)
    csr = model.sparse_transition
    indptr = np.asarray(csr.indptr, dtype=np.int64)
    running = np.cumsum(csr.data)
    before = np.concatenate([[0.0], running])[indptr[:-1]]
    cumulative = running - np.repeat(before, np.diff(indptr))
    cumulative[indptr[1:] - 1] = np.inf
    possible = np.flatnonzero(model.start)
    start = np.cumsum(model.start)
    start[possible[-1] :] = np.inf
    path = np.empty(n, dtype=np.int64)
    draw_path(start, indptr, np.asarray(csr.indices, dtype=np.int64), cumulative, rng, path)
    return model.emission.sample(path, rng), path


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a seed.

    Raises
    ------
    ParameterError
        If it is None or no seed: nothing here draws from a global generator.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, np.random.SeedSequence):
        seed = whole_number("seed", seed, at_least=0)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as cause:
        raise ParameterError(f"seed={seed!r} is not a seed: {cause}") from cause
