r"""Diagnostics: errors of learned values on transitions held out from learning, and the growth of weights.

A transition (s, a, r, s') gives the temporal-difference error :math:`\delta = r + \gamma v(s') - v(s)`. If the next
state is certain, it is the Bellman error. If not, the *mean* of :math:`\delta` is, but the mean is not observed: one
transition gives a sample of the square, and

.. math:: E[\delta^2] = (E[\delta])^2 + \mathrm{Var}[\delta],

so the squared error of single transitions contains noise that no learner can remove - and that it can hide, by values
that are smooth instead of right. There are three solutions: `double_sampled_error`, where a state and action occurred
more than once (Baird, Residual algorithms, 1995; S&B2 section 11.5); `return_errors`, for the values of the policy that
collected the batch: what followed does not depend on the learner, so its noise is the same for all; or to play episodes
(`returns_of`), whose return is the objective.

Whether weights converge at all is seen from a record with one row per round (`growth`). Near its end, every linear rule
changes weights by :math:`w_{k+1} = A w_k + b`. Then the *changes* :math:`w_{k+1} - w_k` are multiplied by A in each
round: they shrink if the spectral radius of A is below 1, and grow if it is above. The changes show this long before
the weights are large, and whatever they converge to.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rlsuite.approximation.batch.batch import Batch, check_batch
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError

Values = Callable[[NDArray[np.float64]], ArrayLike]
"""From observations (n, d) to values: (n,), or (n, n_actions) if they are action values."""

FEWEST = 8
"""Least number of rows from which a slope is estimated."""

SURE = 1e-3
"""Probability of mistaking noise for divergence."""


@says_what_to_write
def control_errors(q: Values, batch: Batch, gamma: float) -> NDArray[np.float64]:
    r"""TD errors of action values as estimates of the optimal ones, :math:`r + \gamma \max_b q(s', b) - q(s, a)`.

    Parameters
    ----------
    q : callable
        From observations (n, d) float64 to action values (n, n_actions): the `q` of an agent.
    batch : Batch
        Transitions.
    gamma : float
        Discount per step, in [0, 1].

    Returns
    -------
    numpy.ndarray
        (n,) float64, one error for each transition.

    Raises
    ------
    ParameterError
        If gamma is outside [0, 1], or `q` does not give finite values of all legal actions for each observation.

    Examples
    --------
    >>> batch = Batch.from_arrays([0, 1], [0, 1], [-1.0, 5.0], [1, 2], [False, True])
    >>> control_errors(lambda x: np.tile([1.0, 3.0], (len(x), 1)), batch, gamma=0.5)
    array([-0.5,  2. ])
    """
    check_batch(batch, "control_errors")
    now = _action_values(q(batch.observation), batch, batch.action_mask)[np.arange(len(batch)), batch.action]
    later = _action_values(q(batch.next_observation), batch, batch.next_action_mask).max(axis=1)
    return batch.reward + fraction("gamma", gamma) * np.where(batch.terminated, 0.0, later) - now


@says_what_to_write
def evaluation_errors(value: Values, batch: Batch, gamma: float) -> NDArray[np.float64]:
    r"""TD errors of the values of the policy that collected the batch, :math:`r + \gamma v(s') - v(s)`.

    Parameters
    ----------
    value : callable
        From observations (n, d) float64 to values (n,).
    batch : Batch
        Transitions, with the actions of the policy in question.
    gamma : float
        Discount per step, in [0, 1].

    Returns
    -------
    numpy.ndarray
        (n,) float64, one error for each transition.

    Raises
    ------
    ParameterError
        If gamma is outside [0, 1], or `value` does not give one finite value for each observation.

    Examples
    --------
    >>> batch = Batch.from_arrays([0, 1], [0, 1], [-1.0, 5.0], [1, 2], [False, True])
    >>> evaluation_errors(lambda x: 2.0 * x[:, 0], batch, gamma=0.5)
    array([0., 3.])
    """
    check_batch(batch, "evaluation_errors")
    now = _checked("value", value(batch.observation), (len(batch),))
    later = _checked("value", value(batch.next_observation), (len(batch),))
    return batch.reward + fraction("gamma", gamma) * np.where(batch.terminated, 0.0, later) - now


@says_what_to_write
def return_errors(value: Values, batch: Batch, gamma: float) -> NDArray[np.float64]:
    r"""Differences :math:`G_t - v(s_t)` between the returns and the learned values.

    Their squares are the squared errors of the values, plus the variance of returns, which is the same for every
    learner: so they rank learners rightly, also where transitions are random.

    Parameters
    ----------
    value : callable
        From observations (n, d) float64 to values (n,).
    batch : Batch
        Episodes of the policy in question. The return of a truncated one is unknown: its
        transitions are left out.
    gamma : float
        Discount per step, in [0, 1].

    Returns
    -------
    numpy.ndarray
        (m,) float64, one error for each transition of the episodes that reached an end.

    Raises
    ------
    ParameterError
        If gamma is outside [0, 1], `value` does not give one finite value for each observation, or no episode
        reached an end.

    Examples
    --------
    >>> batch = Batch.from_arrays([0, 1, 5], [0, 0, 0], [1.0, 4.0, 7.0], [1, 2, 6], [False, True, False])
    >>> return_errors(lambda x: x[:, 0], batch, gamma=0.5)
    array([3., 3.])
    """
    check_batch(batch, "return_errors")
    discount = fraction("gamma", gamma)
    last = np.append(batch.first[1:], True)
    ended = np.zeros(len(batch), dtype=np.bool_)
    returns = np.zeros(len(batch))
    for t in reversed(range(len(batch))):
        goes_on = not last[t]
        ended[t] = ended[t + 1] if goes_on else batch.terminated[t]
        returns[t] = batch.reward[t] + (discount * returns[t + 1] if goes_on else 0.0)
    if not ended.any():
        raise ParameterError(
            f"none of the {int(last.sum())} episodes of this batch terminated, so their returns are unknown; "
            "collect whole episodes (Batch.collect(env, episodes=...)), or use evaluation_errors"
        )
    return (returns - _checked("value", value(batch.observation), (len(batch),)))[ended]


class DoubleSampled(NamedTuple):
    """An estimate of the Bellman error from pairs of transitions with the same state and action."""

    error: float
    """Mean squared Bellman error; an estimate without bias, which can be negative."""
    noise: float
    """The variance of the TD error, which mean squares of single errors contain as well."""
    share: float
    """Part of the transitions that another one had the same observation and action as; only they were used."""


@says_what_to_write
def double_sampled_error(errors: ArrayLike, batch: Batch) -> DoubleSampled:
    r"""Mean squared Bellman error from TD errors, where states and actions occurred more than once.

    Two transitions from the same state and action are independent, so the product of their errors has the mean
    :math:`(E[\delta])^2`. All pairs of all m transitions from there are used, and each place counts m times.

    Parameters
    ----------
    errors : array_like
        (n,) what `control_errors` or `evaluation_errors` gave for the batch.
    batch : Batch
        The transitions; join two batches with the same start states to have pairs of transitions.

    Raises
    ------
    ParameterError
        If there are not n errors, no pair of observation and action occurs twice, or the transitions have
        weights: those of a model are not a sample, and its Bellman error can be computed (`rlsuite.planning.bellman`).

    Examples
    --------
    A fair coin pays 0 or 2, so its value is 1; single errors of 1 suggest otherwise:

    >>> batch = Batch.from_arrays([0, 0, 0, 0], [0, 0, 0, 0], [0.0, 2.0, 2.0, 0.0], [1, 1, 1, 1], [True] * 4)
    >>> errors = evaluation_errors(lambda x: np.ones(len(x)), batch, gamma=1.0)
    >>> double_sampled_error(errors, batch)
    DoubleSampled(error=-0.3333333333333333, noise=1.3333333333333333, share=1.0)
    """
    check_batch(batch, "double_sampled_error")
    delta = _checked("errors", errors, (len(batch),))
    if batch.weighted:
        raise ParameterError("a weighted batch is not a sample; compute the Bellman error from the model it comes from")
    pairs = np.column_stack([batch.observation, batch.action])
    _, index, times = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    index = index.ravel()
    again = times >= 2
    if not again.any():
        raise ParameterError(
            f"no pair of observation and action occurs twice in these {len(batch)} transitions, so noise and error "
            "cannot be told apart; collect more transitions, or join two batches with the same start states"
        )
    total = np.bincount(index, delta)[again]
    squares = np.bincount(index, delta**2)[again]
    m = times[again]
    products = (total**2 - squares) / (m * (m - 1))
    error, single = np.average(products, weights=m), np.average(squares / m, weights=m)
    return DoubleSampled(float(error), float(single - error), float(m.sum() / len(batch)))


def _action_values(q: ArrayLike, batch: Batch, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Action values of a batch, perhaps of more actions than occur in it; minus infinity for illegal ones."""
    found = np.asarray(q, dtype=np.float64)
    n_actions = max(found.shape[1], batch.n_actions) if found.ndim == 2 else batch.n_actions
    if mask is None or found.shape != (len(batch), n_actions):
        return _checked("q", found, (len(batch), n_actions))
    illegal = np.pad(~mask, ((0, 0), (0, n_actions - mask.shape[1])))
    return np.where(illegal, -np.inf, _checked("q", np.where(illegal, 0.0, found), found.shape))


def _checked(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape:
        raise ParameterError(f"{name} has shape {found.shape} for this batch; it must have {shape}")
    if not np.isfinite(found).all():
        index = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ParameterError(f"{name}{list(index)} is {found[index]}, not a finite number")
    return found


class Growth(NamedTuple):
    """How the changes from round to round grow."""

    rate: float
    """Factor from one change to the next; the spectral radius of a linear rule. 0 if nothing changes any more."""
    doubling: float
    """Rounds in which changes double; infinite if they do not grow."""
    diverges: bool
    """Whether changes at least double from the first row to the last, and not by chance."""


@says_what_to_write
def growth(history: ArrayLike) -> Growth:
    """Decide from a record of weights whether they diverge.

    The rate is the slope of a straight line through the logarithms of the sizes of the changes (least squares).

    Parameters
    ----------
    history : array_like
        (n_rounds, ...) float: weights, values or both after each round, at least 8 of them. Leave out the first rounds,
        which are about where learning began.

    Returns
    -------
    Growth

    Raises
    ------
    ParameterError
        If there are fewer than 8 rounds, or the first of them are not finite.

    Examples
    --------
    Two states, one weight, and features 1 and 2 (S&B2 Example 11.1, least squares in each round): the weight is
    multiplied by 6 gamma / 5, which is above 1 for gamma above 5/6.

    >>> found = growth(np.cumprod(np.full(20, 6 * 0.9 / 5)))
    >>> round(found.rate, 6), round(found.doubling), found.diverges
    (1.08, 9, True)
    >>> growth(np.cumprod(np.full(20, 6 * 0.8 / 5))).diverges
    False
    """
    rows = np.asarray(history, dtype=np.float64)
    if rows.ndim == 0 or len(rows) < FEWEST:
        raise ParameterError(
            f"history has shape {rows.shape}; it must be (n_rounds, ...) with at least {FEWEST} rounds"
        )
    rows = rows.reshape(len(rows), -1)
    finite = np.isfinite(rows).all(axis=1)
    known = len(rows) if finite.all() else int(np.argmin(finite))
    if known < FEWEST:
        raise ParameterError(
            f"history is not finite in round {known}; at least the first {FEWEST} rounds must be finite"
        )
    changes = np.diff(rows[:known], axis=0)
    scale = np.abs(changes).max()
    if scale == 0.0:
        return Growth(0.0, np.inf, diverges=not finite.all())
    # Without the division the squares of very large weights would overflow.
    sizes = np.linalg.norm(changes / scale, axis=1)
    moving = np.flatnonzero(sizes)
    if moving.size < FEWEST - 1:
        return Growth(0.0, np.inf, diverges=not finite.all())
    line = stats.linregress(moving, np.log(sizes[moving]), alternative="greater")
    slope = float(line.slope)
    grows = slope * np.ptp(moving) >= np.log(2.0) and line.pvalue < SURE
    doubling = float(np.log(2.0) / slope) if slope > 0.0 else np.inf
    return Growth(float(np.exp(slope)), doubling, bool(grows) or not finite.all())
