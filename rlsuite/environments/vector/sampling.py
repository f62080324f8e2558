"""One draw from each of many rows at once, by the rule of Gymnasium's toy_text environments.

A uniform number u picks the first entry of its row whose running sum of probabilities exceeds u, and entry 0 if
rounding left the whole sum at or below u. The running sums are added from the left, as ``numpy.cumsum`` adds them, so
that the choice is the same, to the last bit, as one row at a time.
"""

import numpy as np
from numpy.typing import NDArray

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

    def __init__(self, indptr: NDArray[np.int64], probability: NDArray[np.float64]) -> None:
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
        self._running: NDArray[np.float64] | None = None
        self._columns: list[NDArray[np.float64]] = []
        if longest > SHORT:
            self._running = running
            return
        # The last running sum of a row matters only if rounding left it too small.
        needed = lengths if self._exhaustible else lengths - 1
        for k in range(int(needed.max(initial=0))):
            column = np.full(lengths.size, np.inf)
            column[needed > k] = running[self._first[needed > k] + k]
            self._columns.append(column)

    def draw(self, rows: NDArray[np.int64], u: NDArray[np.float64]) -> NDArray[np.int64]:
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
        running: NDArray[np.float64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        u: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Find the first running sum above u by halving all rows at once."""
        last = high - 1
        for _ in range(self._halvings):
            middle = np.minimum((low + high) >> 1, last)
            beyond = (running[middle] <= u) & (low < high)
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, np.minimum(middle, high))
        return low


def _running_sums(
    first: NDArray[np.int64], lengths: NDArray[np.int64], probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum every row from the left: (N,) float64. One ``cumsum`` over all rows would round differently."""
    running = probability.copy()
    rows = np.argsort(-lengths, kind="stable")
    by_length = lengths[rows]
    for k in range(1, int(by_length[0]) if by_length.size else 0):
        # Rows longer than k come first.
        entries = first[rows[: int(np.searchsorted(-by_length, -k, side="left"))]] + k
        running[entries] += running[entries - 1]
    return running
