"""Validation of observations: one sequence, several concatenated ones with their lengths, or a list of them.

Hidden states may be known at some times: there, the likelihood of all other states is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import Emission, Likelihoods, whole_numbers
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray

Array = TypeVar("Array", bound=AnyArray)

Observations: TypeAlias = ArrayLike | Sequence[ArrayLike]
"""One sequence of observations, several concatenated ones, or a list of arrays; `HMM` has the rules."""

EndToEnd: TypeAlias = AnyArray | Sequence[int] | Sequence[float]
"""Observations for which there is one array of results: one sequence, or several end to end."""

Listed: TypeAlias = Sequence[AnyArray]
"""Observations for which there is a list of arrays of results."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """N sequences of observations, checked by an emission and laid end to end.

    Attributes
    ----------
    emission : Emission
        What checked them.
    z : ndarray (T,) or (T, D)
        All observations.
    pieces : ndarray (N, 2) int64
        Where each sequence begins and ends.
    listed : bool
        Whether they were given as a list, so that results are wanted as one.
    """

    emission: Emission
    z: AnyArray
    pieces: IndexArray
    listed: bool = False

    @cached_property
    def likelihoods(self) -> Likelihoods:
        """b_k(z_t) of all observations."""
        return self.emission.prepare(self.z)

    @property
    def shifts(self) -> FloatArray:
        """(N,) float64, nats: what the likelihoods of each sequence leave out of its log-likelihood."""
        shift = self.likelihoods.shift
        if shift is None:
            return np.zeros(len(self.pieces))
        return np.add.reduceat(shift, self.pieces[:, 0].astype(np.intp))

    def __len__(self) -> int:
        return len(self.pieces)

    def split(self, values: Array) -> Array | list[Array]:
        """Return an array with a row for each observation as the sequences were given: end to end, or as a list."""
        return self.list_of(values) if self.listed else values

    def list_of(self, values: Array) -> list[Array]:
        """Return an array with a row for each observation as a list, one array for each sequence."""
        return [cast("Array", values[begin:end]) for begin, end in self.pieces]


def sequences(emission: Emission, z: Observations | Sequences, lengths: ArrayLike | None = None) -> Sequences:
    """Return checked observations; those that are checked already are returned as they are.

    Parameters
    ----------
    emission : Emission
        What the observations are, and what checks them.
    z : array_like (T,) or (T, D), or list of arrays
        One sequence; several end to end, if there are `lengths`; or a list or tuple of arrays, one for each sequence.
        Where observations are symbols, a list of lists is one of sequences, too.
    lengths : array_like (N,) of int, optional
        Lengths of the sequences, which add up to T.

    Raises
    ------
    ModelError
        If there are no observations, a sequence is empty, an observation does not fit the emission, or the lengths do
        not add up.
    """
    if isinstance(z, Sequences):
        return z
    parts = listed(z, nested=emission.discrete and emission.width == 1)
    if parts is None:
        checked = emission.check(cast("ArrayLike", z))
        sizes = np.array([len(checked)]) if lengths is None else _lengths(lengths, len(checked))
    elif lengths is not None:
        raise ModelError("z is a list of sequences, which says how long they are: leave out lengths")
    else:
        each = [_checked(emission, part, n) for n, part in enumerate(parts)]
        checked = np.concatenate(each) if each else np.zeros(0)
        sizes = np.array([len(part) for part in each], dtype=np.int64)
    if not len(checked):
        raise ModelError("z holds no observations: at least one is needed")
    if (sizes == 0).any():
        raise ModelError(f"sequence {int(np.argmin(sizes))} is empty: leave it out")
    ends = np.cumsum(sizes, dtype=np.int64)
    return Sequences(emission, checked, np.column_stack([ends - sizes, ends]), parts is not None)


def listed(z: object, *, nested: bool) -> list[ArrayLike] | None:
    """Return the sequences of a list of them, or None if `z` is a single array.

    With `nested`, a list of lists is one of sequences; otherwise, it is an array of vectors.
    """
    if not isinstance(z, list | tuple):
        return None
    parts: list[ArrayLike] = list(cast("Sequence[ArrayLike]", z))
    inner = (list, tuple) if nested else ()
    if parts and all(isinstance(part, inner) or (isinstance(part, np.ndarray) and part.ndim > 0) for part in parts):
        return parts
    return None


def _checked(emission: Emission, part: ArrayLike, number: int) -> AnyArray:
    if not len(cast("Sequence[object]", part)):
        raise ModelError(f"sequence {number} is empty: leave it out")
    try:
        return emission.check(part)
    except ModelError as cause:
        raise ModelError(f"sequence {number}: {cause}") from cause


def _lengths(lengths: ArrayLike, observations: int) -> IndexArray:
    try:
        given = np.asarray(lengths)
    except ValueError as error:
        raise ModelError(f"lengths is not an array of whole numbers: {error}") from error
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ModelError(f"lengths has shape {given.shape} and dtype {given.dtype}; a list of whole numbers is needed")
    sizes = given.astype(np.int64)
    if (sizes < 0).any():
        n = int(np.argmax(sizes < 0))
        raise ModelError(f"lengths[{n}] is {sizes[n]}; a sequence has at least one observation")
    if sizes.sum() != observations:
        raise ModelError(f"lengths add up to {sizes.sum()}, but there are {observations} observations")
    return sizes


def end_to_end(z: Observations, discrete: bool) -> ArrayLike:
    """Return sequences as one array; what is one already stays as it is."""
    parts = listed(z, nested=discrete)
    if parts is None:
        return cast("ArrayLike", z)
    try:
        return np.concatenate([np.asarray(part) for part in parts])
    except ValueError as cause:
        raise ModelError(f"the sequences of z do not fit together: {cause}") from cause


# ---------------------------------------------------------------------------------------- known hidden states


class DistinctPairs(NamedTuple):
    """The different pairs of an observation and its state, if that is known."""

    row: IndexArray
    """(T,): the pair at each time"""
    seen: IndexArray
    """(P,): the row of likelihoods of each pair"""
    state: IndexArray
    """(P,): the state of each pair, -1 if it is not known"""

    def masked(self, table: FloatArray, nothing: float = 0.0) -> FloatArray:
        """Return the likelihoods (P, K) of each pair, from those (R, K) of each observation; `nothing` is impossible.

        With ``nothing=-inf``, these may be logarithms.
        """
        likelihoods = table[self.seen]
        known = np.flatnonzero(self.state >= 0)
        state = self.state[known]
        own = likelihoods[known, state]
        likelihoods[known] = nothing
        likelihoods[known, state] = own
        return likelihoods

    def gathered(self, weights: FloatArray, rows: int) -> FloatArray:
        """Return the sums (R, K) over the pairs of each observation."""
        if len(self.seen) == rows and bool((self.seen == np.arange(rows)).all()):
            return weights
        return summed(self.seen, weights, rows)


def summed(row: IndexArray, weights: FloatArray, rows: int) -> FloatArray:
    """Return the sums (R, K) of the weights (T, K) of each row; `numpy.add.at` takes four times as long."""
    found = np.empty((rows, weights.shape[1]))
    for k, column in enumerate(weights.T):
        found[:, k] = np.bincount(row, column, minlength=rows)
    return found


class KnownStates(NamedTuple):
    """The states, where they are known."""

    state: IndexArray
    """(T,), -1 where it is not"""
    n_states: int
    """K"""

    def complete(self, advice: str) -> IndexArray:
        """Return all states: (T,) int64.

        Raises
        ------
        ModelError
            If one is not known; the message ends with the advice.
        """
        unknown = self.state < 0
        if unknown.any():
            raise ModelError(f"states[{int(np.argmax(unknown))}] is missing; {advice}")
        return self.state

    def combined(self, row: IndexArray) -> DistinctPairs:
        """Return the different pairs with the rows (T,) of the observations."""
        pairs, of_pair = np.unique(row * (self.n_states + 1) + self.state + 1, return_inverse=True)
        return DistinctPairs(of_pair, pairs // (self.n_states + 1), pairs % (self.n_states + 1) - 1)


def known_states(states: ArrayLike | Sequence[ArrayLike], data: Sequences, n_states: int) -> KnownStates:
    """Return checked states, one for each observation.

    Raises
    ------
    ModelError
        If a number is not a state, or there is not one for each observation.
    """
    if data.listed:
        parts = list(cast("Sequence[ArrayLike]", states))
        if len(parts) != len(data.pieces):
            raise ModelError(f"states has {len(parts)} sequences, but z has {len(data.pieces)}")
        for number, (part, (begin, end)) in enumerate(zip(parts, data.pieces.tolist(), strict=True)):
            if np.shape(part) != (end - begin,):
                raise ModelError(f"states[{number}] has shape {np.shape(part)}, not ({end - begin},) like the sequence")
        known = _numbers(np.concatenate([np.asarray(part) for part in parts]), n_states)
    else:
        known = _numbers(cast("ArrayLike", states), n_states)
    if known.shape != (len(data.z),):
        raise ModelError(
            f"states has shape {known.shape}, not ({len(data.z)},): one for each observation, -1 if unknown"
        )
    return KnownStates(known, n_states)


def _numbers(states: ArrayLike, n_states: int) -> IndexArray:
    try:
        return whole_numbers(states, "states", n_states)
    except ModelError as cause:
        raise ModelError(str(cause).replace("z[t=", "states[").replace("z has", "states has")) from cause
