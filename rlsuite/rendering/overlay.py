"""Values and the actions of a policy, drawn over a picture of a grid."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import ParameterError
from rlsuite.rendering.layout import GridLayout

TIE_TOLERANCE = 1e-9
"""Actions whose values differ by less than this fraction of the best one are drawn as equally good."""


FAINTEST_ARROW = 0.02
"""Actions whose probability is a smaller fraction of the most probable one get no arrow."""


@dataclass(frozen=True, eq=False, init=False)
class Overlay:
    """One value and one distribution over actions per state of a grid, checked and ready to draw.

    Parameters
    ----------
    layout
        The grid, of S states.
    value
        (S,) float, or None. NaN and infinite entries are allowed and drawn as "no number".
    policy
        (S,) int, the action of each state (-1: none); or (S, A) float, the probability of each action (a row of
        zeros: none); or None.

    Raises
    ------
    ParameterError
        If a shape does not fit, an action does not exist, a probability is negative or not a number, two states
        share a square, or ``layout.arrows`` does not say where the actions of a policy lead.

    Examples
    --------
    >>> layout = GridLayout.row_major(1, 3, actions=["left", "right"])
    >>> overlay = Overlay(layout, value=[81.0, 90.0, np.nan], policy=[1, 0, -1])
    >>> overlay.texts, overlay.weights.tolist()
    (('81', '90', ''), [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    """

    layout: GridLayout
    value: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None
    """(S, A) probability of each action; a row of zeros where no action is taken."""

    def __init__(self, layout: GridLayout, value: ArrayLike | None = None, policy: ArrayLike | None = None) -> None:
        n_states = layout.n_states
        checked = None if value is None else np.array(value, dtype=np.float64)
        if checked is not None and checked.shape != (n_states,):
            raise ParameterError(f"value has shape {checked.shape}, needed ({n_states},): one number per state")
        weights = None
        if policy is not None:
            if layout.arrows is None:
                raise ParameterError(
                    "a policy can be drawn only on a layout that says where each action leads: GridLayout(..., arrows=)"
                )
            weights = _weights(np.asarray(policy), n_states, len(layout.arrows))
        if checked is not None or weights is not None:
            _ = layout.states  # raises where two states share a square
        for name, array in (("value", checked), ("weights", weights)):
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "layout", layout)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return self.value is None and self.weights is None

    @property
    def arrow_lengths(self) -> NDArray[np.float64]:
        """(S, A) float64: probability of each action relative to the most probable one; 0 where no arrow is drawn."""
        if self.weights is None:
            return np.zeros((self.layout.n_states, 0))
        largest = self.weights.max(axis=1, keepdims=True, initial=0.0)
        acting = (largest > 0) & ~self.layout.idle[:, None]
        relative = np.divide(self.weights, largest, where=acting, out=np.zeros_like(self.weights))
        return np.where(relative >= FAINTEST_ARROW, relative, 0.0)

    @property
    def texts(self) -> tuple[str, ...]:
        """The value of each state as text, all with the same number of decimals; empty where there is none."""
        return () if self.value is None else texts_of(self.value)

    @property
    def fractions(self) -> NDArray[np.float64]:
        """(S,) float64: where each value lies between the smallest (0) and the largest (1); NaN where there is none."""
        if self.value is None:
            return np.empty(0)
        known = np.where(np.isfinite(self.value), self.value, np.nan)
        if np.isnan(known).all():
            return known
        low, high = np.nanmin(known), np.nanmax(known)
        return (known - low) / (high - low) if high > low else np.where(np.isnan(known), np.nan, 0.5)


def greedy_weights(q: ArrayLike) -> NDArray[np.float64]:
    """The policy that takes every best action equally often, ties included.

    Parameters
    ----------
    q
        (S, A) float action values; ``-inf`` marks an illegal action. Values within `TIE_TOLERANCE` of the best,
        relatively, count as tied.

    Returns
    -------
    numpy.ndarray
        (S, A) float64; a row of zeros where no action is legal.

    Raises
    ------
    ParameterError
        If `q` is not a matrix, or holds NaN.

    Examples
    --------
    >>> greedy_weights([[81.0, 81.0, 0.0], [-np.inf, -np.inf, -np.inf]]).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    values = np.asarray(q, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ParameterError(f"q has shape {values.shape}, needed (n_states, n_actions)")
    if np.isnan(values).any():
        state, action = np.argwhere(np.isnan(values))[0].tolist()
        raise ParameterError(f"q[{state}, {action}] is NaN; for an illegal action write -inf")
    best = values.max(axis=1, keepdims=True)
    legal = np.isfinite(best)
    slack = TIE_TOLERANCE * np.abs(np.where(legal, best, 0.0))
    tied = legal & (values >= best - slack)
    return tied / np.maximum(tied.sum(axis=1, keepdims=True), 1)


def texts_of(values: NDArray[np.float64]) -> tuple[str, ...]:
    """Numbers as short texts that are easy to compare: all with the same number of decimals.

    Whole numbers keep none; otherwise two decimals below 10, one below 1000, none above. If two decimals would leave
    nothing to see (all below 0.01), two significant digits are given instead. Not finite: an empty text.

    >>> texts_of(np.array([22.0, 24.42, -1.3])), texts_of(np.array([0.0, 0.5421])), texts_of(np.array([81.0, 100.0]))
    (('22.0', '24.4', '-1.3'), ('0.00', '0.54'), ('81', '100'))
    """
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0.0))
    if np.array_equal(finite, np.rint(finite)) or largest >= 1000:
        pattern = ".0f"
    elif largest >= 10:
        pattern = ".1f"
    else:
        pattern = ".2f" if largest >= 0.01 else ".2g"
    known = zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    shown = (format(value, pattern) if is_finite else "" for value, is_finite in known)
    return tuple(text if text.strip("-0.") else text.removeprefix("-") for text in shown)  # no "-0.0"


def _weights(policy: NDArray[np.generic], n_states: int, n_actions: int) -> NDArray[np.float64]:
    if policy.shape == (n_states,) and np.issubdtype(policy.dtype, np.integer):
        actions = policy.astype(np.int64)
        wrong = (actions < -1) | (actions >= n_actions)
        if wrong.any():
            state = int(wrong.argmax())
            raise ParameterError(
                f"policy[{state}] = {actions[state]} must be 0 to {n_actions - 1}, or -1 for no action"
            )
        weights = np.zeros((n_states, n_actions))
        acting = np.flatnonzero(actions >= 0)
        weights[acting, actions[acting]] = 1.0
        return weights
    if policy.shape != (n_states, n_actions):
        raise ParameterError(
            f"policy has shape {policy.shape} and type {policy.dtype}, needed ({n_states},) whole numbers "
            f"(the action of each state) or ({n_states}, {n_actions}) probabilities"
        )
    weights = policy.astype(np.float64)
    wrong = ~((weights >= 0.0) & (weights <= 1.0 + 1e-9))
    if wrong.any():
        state, action = np.argwhere(wrong)[0].tolist()
        raise ParameterError(f"policy[{state}, {action}] = {weights[state, action]} is not a probability, in [0, 1]")
    return weights
