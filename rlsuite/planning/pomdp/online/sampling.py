"""A POMDP in the form that online planners draw from: one step of the hidden state at a time, in compiled code.

Random numbers come from a small generator of its own, xoroshiro128+ (Blackman & Vigna 2018): two words of state that
stay in registers, where a call through NumPy's generator would cost as much as the rest of a step. It is seeded from a
``numpy.random.Generator``.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray

RandomState = np.ndarray[tuple[int], np.dtype[np.uint64]]
"""(2,) uint64, not both 0."""


class Simulator(NamedTuple):
    """The tables of a model; the row of the pair (s, a) is s * A + a, that of observations in s' after a is a * S + s'.

    Probabilities are running sums within their rows.
    """

    n_states: int
    """S"""
    n_actions: int
    """A"""
    n_observations: int
    """Z"""
    indptr: IndexArray
    """(S * A + 1,) int64"""
    next_state: StateArray
    """(N,) int32"""
    cumulative: FloatArray
    """(N,) float64"""
    reward: FloatArray
    """(N,) float64, means"""
    terminated: BoolArray
    """(N,) bool"""
    seen: IndexArray
    """(A * S + 1,) int64"""
    symbol: StateArray
    """(M,) int32"""
    symbol_cumulative: FloatArray
    """(M,) float64"""
    choices: IndexArray
    """(S + 1,) int64, where the legal actions of each state begin"""
    legal_action: StateArray
    """(L,) int32"""
    all_legal: bool
    """whether every action is legal wherever one is"""


def simulator(pomdp: POMDP) -> Simulator:
    """Return the tables of a model."""
    mdp, rows = pomdp.mdp, pomdp.observation_rows
    legal = mdp.legal
    choices = np.zeros(mdp.n_states + 1, dtype=np.int64)
    np.cumsum(legal.sum(axis=1), out=choices[1:])
    found = Simulator(
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        n_observations=rows.n_observations,
        indptr=mdp.indptr,
        next_state=mdp.next_state,
        cumulative=_running_sums(mdp.probability, mdp.indptr),
        reward=mdp.rows.reward,
        terminated=mdp.terminated,
        seen=rows.indptr,
        symbol=rows.observation,
        symbol_cumulative=_running_sums(rows.probability, rows.indptr),
        choices=choices,
        legal_action=np.nonzero(legal)[1].astype(np.int32),
        all_legal=bool((legal.all(axis=1) == legal.any(axis=1)).all()),
    )
    # Read-only like the arrays of a model: numba gives writable arrays another type, and would compile twice.
    for array in found:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return found


def random_state(rng: np.random.Generator) -> RandomState:
    """Return the state of a small generator, seeded from a large one."""
    return rng.integers(1, np.iinfo(np.uint64).max, size=2, dtype=np.uint64)


@compiled(in_place=True)
def uniform(state: RandomState) -> float:
    """Return a random number in [0, 1) and advance the generator."""
    one, other = state[0], state[1]
    total = one + other
    other ^= one
    state[0] = ((one << np.uint64(24)) | (one >> np.uint64(40))) ^ other ^ (other << np.uint64(16))
    state[1] = (other << np.uint64(37)) | (other >> np.uint64(27))
    return (total >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled(in_place=True)
def pick(cumulative: FloatArray, begin: int, end: int, state: RandomState) -> int:
    """Return an entry of the row ``begin : end``, drawn by its running sums."""
    if end - begin == 1:
        return begin
    u = uniform(state)
    if end - begin <= 8:
        for entry in range(begin, end - 1):
            if u < cumulative[entry]:
                return entry
        return end - 1
    low, high = begin, end - 1
    while low < high:
        middle = (low + high) >> 1
        if u < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compiled(in_place=True)
def random_action(model: Simulator, s: int, state: RandomState) -> int:
    """Return a legal action of s, each equally likely; -1 at an end."""
    begin, end = model.choices[s], model.choices[s + 1]
    if begin == end:
        return -1
    return int(model.legal_action[begin + int(uniform(state) * (end - begin))])


def _running_sums(probability: FloatArray, indptr: IndexArray) -> FloatArray:
    """Return the running sums within each row, each row's last one at least 1."""
    lengths = np.diff(indptr)
    filled = lengths > 0
    sums = np.cumsum(probability)
    before = np.where(indptr[:-1] > 0, sums[np.maximum(indptr[:-1] - 1, 0)], 0.0)
    sums -= np.repeat(before, lengths)
    sums[indptr[1:][filled] - 1] = 1.0
    return sums
