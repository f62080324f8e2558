"""The dynamics of a model for many states at once: one draw from each of many rows of probabilities.

A uniform number u picks the first entry of its row whose running sum of probabilities exceeds u, and entry 0 if
rounding left the whole sum at or below u. The running sums are added from the left, as ``numpy.cumsum`` adds them, so
that the choice is the same, to the last bit, as one row at a time.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

# Up to this length of a row it is faster to compare with every entry than to search by halving.
SHORT = 12

# The greatest number that numpy's `Generator.random` returns.
GREATEST_UNIFORM = 1.0 - 2.0**-53


class RowSampler:
    """Rows of probabilities, sampled for whole arrays of row numbers.

    Parameters
    ----------
    indptr : ndarray (n_rows + 1,) int64
        Row i is ``indptr[i]:indptr[i + 1]``. Empty rows may not be drawn from.
    probability : ndarray (N,) float64
        The probabilities of all rows, one row after the other.

    Examples
    --------
    >>> sampler = RowSampler(np.array([0, 2, 3]), np.array([0.25, 0.75, 1.0]))
    >>> sampler.draw(np.array([0, 0, 1]), np.array([0.1, 0.9, 0.9])).tolist()
    [0, 1, 2]
    """

    def __init__(self, indptr: IndexArray, probability: FloatArray) -> None:
        self._first = indptr[:-1]
        self._end = indptr[1:]
        lengths = self._end - self._first
        longest = int(lengths.max(initial=0))
        running = _running_sums(self._first, lengths, probability)
        filled = lengths > 0
        total = running[self._end[filled] - 1]
        # A draw can run past the end of a row only if rounding left the sum of the row at or below the greatest u.
        self._exhaustible = bool((total <= GREATEST_UNIFORM).any())
        self._halvings = longest.bit_length()
        self._running: FloatArray | None = None
        self._columns: list[FloatArray] = []
        if longest > SHORT:
            self._running = running
            return
        # The last running sum of a row matters only if rounding left it too small.
        needed = lengths if self._exhaustible else lengths - 1
        for k in range(int(needed.max(initial=0))):
            column = np.full(lengths.size, np.inf)
            column[needed > k] = running[self._first[needed > k] + k]
            self._columns.append(column)

    def draw(self, rows: IndexArray, u: FloatArray) -> IndexArray:
        """Pick an entry from each of some rows.

        Parameters
        ----------
        rows : ndarray (n,) int64
            Row numbers, in any order and as often as wanted.
        u : ndarray (n,) float64
            A uniform number in [0, 1) for each.

        Returns
        -------
        ndarray (n,) int64
            Positions in the array of all probabilities.
        """
        first = self._first[rows]
        if self._running is not None:
            chosen = self._halve(self._running, first, self._end[rows], u)
        else:
            chosen = first.copy()
            for column in self._columns:
                chosen += column[rows] <= u
        if self._exhaustible:
            chosen = np.where(chosen == self._end[rows], first, chosen)
        return chosen

    def _halve(
        self,
        running: FloatArray,
        low: IndexArray,
        high: IndexArray,
        u: FloatArray,
    ) -> IndexArray:
        """Find the first running sum above u by halving all rows at once."""
        last = high - 1
        for _ in range(self._halvings):
            middle = np.minimum((low + high) >> 1, last)
            beyond = (running[middle] <= u) & (low < high)
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, np.minimum(middle, high))
        return low


def _running_sums(first: IndexArray, lengths: IndexArray, probability: FloatArray) -> FloatArray:
    """Sum every row from the left: (N,) float64. One ``cumsum`` over all rows would round differently."""
    running = probability.copy()
    rows = np.argsort(-lengths, kind="stable")
    by_length = lengths[rows]
    for k in range(1, int(by_length[0]) if by_length.size else 0):
        # Rows longer than k come first.
        entries = first[rows[: int(np.searchsorted(-by_length, -k, side="left"))]] + k
        running[entries] += running[entries - 1]
    return running


class Moves(NamedTuple):
    """One transition of every copy; each array is (N,) and may be written to."""

    pairs: IndexArray
    """``state * A + action`` of the row that was looked up."""
    reached: IndexArray
    probability: FloatArray
    reward: FloatArray
    """Means."""
    terminated: BoolArray
    illegal: BoolArray
    """Copies that did not move, because their action is illegal."""


class Dynamics:
    """The tables of a model, in the form in which many copies can be looked up at once.

    Parameters
    ----------
    model : MDP or POMDP

    Attributes
    ----------
    mask : ndarray (S, A) int8 or None
        1 for legal actions; None if all of them are.
    nothing : int or None
        The observation of a `POMDP` that means "nothing observed yet"; None for an `MDP`, whose states are observed.
    """

    def __init__(self, model: MDP | POMDP) -> None:
        mdp = model if isinstance(model, MDP) else model.mdp
        self.mdp = mdp
        self.mask = None if mdp.legal.all() else mdp.legal.astype(np.int8)
        self.nothing = model.n_observations if isinstance(model, POMDP) else None
        self._successors = RowSampler(mdp.indptr, mdp.probability)
        # State 0 is kept even if no episode starts in it, because rounding may lead to entry 0.
        self._start_states = np.union1d([0], np.flatnonzero(mdp.start))
        self._starts = RowSampler(np.array([0, self._start_states.size]), mdp.start[self._start_states])
        # Illegal actions look up this row; the result is discarded.
        self._some_pair = int(np.argmax(mdp.legal))
        self._reward = mdp.rows.reward
        if isinstance(model, POMDP):
            self._emissions, self._emitted = _emission_rows(model.observation)

    def start(self, uniform: FloatArray) -> IndexArray:
        """Return one start state for each uniform number: (n,) int64."""
        return self._start_states[self._starts.draw(np.zeros(uniform.size, dtype=np.int64), uniform)]

    def move(self, states: IndexArray, actions: IndexArray, uniform: FloatArray) -> Moves:
        """Take an action in every copy; all arguments are (N,)."""
        mdp = self.mdp
        pairs = states * mdp.n_actions + actions
        illegal = np.zeros(states.size, dtype=np.bool_)
        if self.mask is not None:
            illegal = ~mdp.legal[states, actions]
            pairs[illegal] = self._some_pair
        entries = self._successors.draw(pairs, uniform)
        moves = Moves(
            pairs,
            mdp.next_state[entries].astype(np.int64),
            mdp.probability[entries],
            self._reward[entries],
            mdp.terminated[entries],
            illegal,
        )
        if self.mask is not None:
            moves.reached[illegal] = states[illegal]
            moves.probability[illegal] = 1.0
            moves.terminated[illegal] = ~mdp.legal[states[illegal]].any(axis=1)
        return moves

    def observe(self, actions: IndexArray, reached: IndexArray, uniform: FloatArray) -> IndexArray:
        """Return an observation of a `POMDP` for each copy: (N,) int64."""
        rows = actions * self.mdp.n_states + reached
        return self._emitted[self._emissions.draw(rows, uniform)]


def _emission_rows(observation: FloatArray) -> tuple[RowSampler, IndexArray]:
    """Rows over (action, state reached) of the possible observations, and which observation each entry is."""
    n_observations = observation.shape[2]
    flat = observation.reshape(-1, n_observations)
    possible = flat > 0.0
    possible[:, 0] = True  # rounding may lead there
    rows, seen = np.nonzero(possible)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(possible, axis=1))])
    return RowSampler(indptr, flat[rows, seen]), seen
