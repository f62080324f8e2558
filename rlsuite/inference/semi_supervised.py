"""Hidden states that are known at some times: there, the likelihood of all other states is 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ModelError
from rlsuite.inference.emissions.observation_checks import whole_numbers
from rlsuite.inference.sequences import Sequences
from rlsuite.models.aliases import FloatArray, IndexArray


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
        total = np.zeros((rows, weights.shape[1]))
        np.add.at(total, self.seen, weights)
        return total


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
