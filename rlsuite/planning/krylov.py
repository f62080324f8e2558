"""The value of a policy by a Krylov method that goes on where it stopped.

V_pi solves the linear system (I - gamma C_pi) V = r_pi. An iteration of BiCGSTAB (van der Vorst 1992) takes two
products with the matrix, and two approximate solutions: one sweep of Gauss-Seidel in each direction. SciPy has the
method, but begins anew with each call: a caller that does not know beforehand how many iterations are needed, and asks
for twice as many each time, would pay for most of them twice.

Where groups of states are seldom left, as in a nearly decomposable model, what is wrong by as much in all states of a
group takes many iterations to find. If there are such groups, a third part of each approximate solution is one system
for their means (aggregation: Bertsekas & Castanon 1989, here as a coarse space of the preconditioner).
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.core.threads import one_blas_thread
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.operators import EPS
from rlsuite.planning.policy_rows import PolicySteps, follow_in_place

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

RELATIVE = 1e-13
"""Residual, relative to the rewards, at which the method stops; double precision leaves little below."""

MOST_SWEEPS = 1_000
PATIENCE = 10
"""Sweeps without a new smallest change, after which none is expected."""

LATE = 16
"""Iterations after which groups are looked for: most policies need no more."""

WEAK = 0.1
"""A group is left only by transitions that are this much less likely than the most likely one of their state."""

Operator = Callable[[FloatArray], FloatArray]


def bicgstab(matrix: Operator, preconditioner: Operator, b: FloatArray, x: FloatArray) -> Iterator[FloatArray]:
    """Yield solutions x (n,) of A x = b, each mostly better than the one before, until rounding allows no more.

    Parameters
    ----------
    matrix, preconditioner : callable
        x -> A x, and an approximation of b -> x.
    b, x : ndarray (n,) float64
        The right-hand side, and the first guess.
    """
    enough = RELATIVE * float(np.linalg.norm(b))
    residual = b - matrix(x)
    shadow, direction, along = residual, np.zeros(b.size), np.zeros(b.size)
    rho = alpha = omega = np.float64(1.0)
    while np.linalg.norm(residual) > enough:
        before, rho = rho, shadow @ residual
        direction = residual + (rho / before) * (alpha / omega) * (direction - omega * along)
        forward = preconditioner(direction)
        along = matrix(forward)
        alpha = rho / (shadow @ along)
        half = residual - alpha * along
        aside = preconditioner(half)
        across = matrix(aside)
        square = across @ across
        omega = (across @ half) / square if square > 0.0 else np.float64(0.0)
        step = alpha * forward + omega * aside
        if not np.isfinite(step).all():  # the method broke down: x is as good as it gets
            return
        x = x + step
        residual = half - omega * across
        yield x


def means_of_groups(matrix: "Matrix", most: int) -> Operator | None:
    """Return b -> x (n,), equal within each group, that solves I - `matrix` for the means of b; None without groups.

    Parameters
    ----------
    matrix : csr_array (n, n)
        gamma C_pi.
    most : int
        Most groups.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, lengths = matrix.shape[0], np.diff(matrix.indptr)
    likeliest, filled = np.zeros(n), lengths > 0
    if filled.any():
        likeliest[filled] = np.maximum.reduceat(matrix.data, matrix.indptr[:-1][filled])
    leaving = np.repeat(np.arange(n), lengths)
    strong = np.flatnonzero(matrix.data >= WEAK * likeliest[leaving])
    edges = (leaving[strong], matrix.indices[strong])
    number, group = connected_components(csr_array((np.ones(strong.size), edges), shape=(n, n)), directed=False)
    if not 1 < number <= most:
        return None
    size = np.bincount(group)
    between = np.bincount(group[leaving] * number + group[matrix.indices], matrix.data, number * number)
    inverse = np.linalg.inv(np.eye(number) - between.reshape(number, number) / size[:, None])
    return lambda b: (inverse @ (np.bincount(group, b) / size))[group]


class KrylovValue:
    """The value of one policy, more accurate the longer it goes on.

    Parameters
    ----------
    rows : PolicySteps
        The policy; terminal states have an empty row. Its weights contain gamma, which is below 1. They are read until
        the last call.
    initial : ndarray (S,) float64
        The first iterate: the value of the previous policy, for example.
    """

    def __init__(self, rows: PolicySteps, initial: FloatArray) -> None:
        self._system = _System(rows)
        self._initial, self._value = initial.copy(), initial.copy()
        self._values = self._system.iterates(self._initial)

    def go_on(self, iterations: int, clock: Clock) -> FloatArray:
        """Return the value (S,) after more iterations, and as many sweeps at most.

        No accuracy is guaranteed: the planner certifies the value that it computes from this one.

        Parameters
        ----------
        iterations : int
            Most iterations.
        clock : Clock
            Checked in each iteration: if time is up, the latest value is returned.
        """
        system = self._system
        with one_blas_thread(), np.errstate(all="ignore"):  # where the method breaks down, its value is left out
            ended = False
            for _ in range(iterations):
                following = next(self._values, None)
                ended = following is None
                if following is None or clock.hurries:
                    break
                self._value = following
            if not system.missing(self._value) < system.missing(self._initial):  # it diverged, or is not finite
                self._value = self._initial
            if ended:
                self._values = system.iterates(self._value)
        return system.polished(self._value, clock, min(iterations, MOST_SWEEPS))


class _System:
    """The linear system V - gamma C_pi V = r_pi of a policy."""

    def __init__(self, rows: PolicySteps) -> None:
        self._rows, self._matrix = rows, rows.matrix
        self._empty = rows.indptr[1:] == rows.indptr[:-1]
        self._reward = np.where(self._empty, 0.0, rows.reward)
        self._means: Operator | None = None

    def iterates(self, value: FloatArray) -> Iterator[FloatArray]:
        """Yield iterates that begin from `value`, from some on with the help of groups of states, if there are any."""
        if self._means is None:
            for done, iterate in enumerate(bicgstab(self._times, self._swept, self._reward, value), 1):
                yield iterate
                if done == LATE:
                    # an elimination of so many takes no longer than these iterations, which read all entries ten times
                    most = int((10 * LATE * self._matrix.nnz) ** (1 / 3))
                    self._means = means_of_groups(self._matrix, most)
                    if self._means is not None:
                        value = min(value, iterate, key=self.missing)
                        break
        if self._means is not None:
            yield from bicgstab(self._times, self._swept, self._reward, value)

    def missing(self, value: FloatArray) -> float:
        """Return the largest residual."""
        return float(np.abs(self._times(value) - self._reward).max())

    def polished(self, value: FloatArray, clock: Clock, most: int) -> FloatArray:
        """Sweep a copy in both directions until the changes no longer fall, or are as small as rounding allows."""
        value = np.where(self._empty, 0.0, value)
        smallest, best_sweep = np.inf, 0
        for sweep in range(most):
            if clock.hurries:
                break
            change = self._sweep(self._reward, value, sweep % 2 == 0)
            if change < smallest:
                smallest, best_sweep = change, sweep
            if change <= 2.0 * EPS * float(np.abs(value).max()) or sweep - best_sweep >= PATIENCE:
                break
        return value

    def _times(self, value: FloatArray) -> FloatArray:
        return value - cast("FloatArray", self._matrix @ value)

    def _swept(self, change: FloatArray) -> FloatArray:
        """Approximate the solution for the right-hand side `change`: one sweep forwards from 0, one backwards."""
        value: FloatArray = np.zeros(change.size)
        for forward in (True, False):
            self._sweep(change, value, forward)
        value[self._empty] = change[self._empty]
        return value if self._means is None else value + self._means(change - self._times(value))

    def _sweep(self, reward: FloatArray, value: FloatArray, forward: bool) -> float:
        rows = self._rows
        chain = (rows.indptr, rows.successor, rows.weight)
        least, greatest = follow_in_place(0, value.size, forward, *chain, reward, value, value)
        return max(0.0, -least, greatest)
