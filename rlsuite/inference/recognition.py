"""How well hidden states are recognised: decoded states against the true ones."""

import importlib
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import positive_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, IndexArray


class StateScores(NamedTuple):
    """How well K hidden states were recognised."""

    confusion: IndexArray
    """(K, K): how often a true state (row) was taken for another (column)."""
    accuracy: float
    """The share of states that were recognised."""
    precision: FloatArray
    """(K,): the share of a state's detections that are right; 0 where there are none."""
    recall: FloatArray
    """(K,): the share of a state's times that were detected; 0 where there are none."""
    f_score: FloatArray
    """(K,): their weighted harmonic mean, (1 + beta^2) P R / (beta^2 P + R); 0 where both are."""
    named: IndexArray
    """(K,): the true state that each decoded one was taken to be."""


@says_what_to_write
def state_scores(true: ArrayLike, decoded: ArrayLike, *, beta: float = 1.0, match: bool = False) -> StateScores:
    """Compare decoded states with the true ones: confusion matrix, accuracy, precision, recall and F score.

    Parameters
    ----------
    true
        (T,) numbers of the true states, from 0 on.
    decoded
        (T,) numbers of the decoded ones: `HMM.decode`, or the largest entry of each belief.
    beta
        How many times as important recall is as precision, above 0.
    match
        Whether the decoded states have numbers of their own, as those of a model that was learned without names. Then
        they are named so that as many as possible are recognised (`scipy.optimize.linear_sum_assignment`).

    Returns
    -------
    StateScores

    Raises
    ------
    ModelError
        If the sequences are empty, differ in length, or hold other things than numbers of states.
    ParameterError
        If `beta` is not above 0.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.inference import state_scores
    >>> umbrella = rl.HMM(start=[0.5, 0.5], transition=[[0.7, 0.3], [0.3, 0.7]], emission=[[0.9, 0.1], [0.2, 0.8]])
    >>> days, weather = umbrella.sample(1_000, seed=7)
    >>> scores = state_scores(weather, umbrella.decode(days))
    >>> round(scores.accuracy, 2), scores.confusion.shape
    (0.84, (2, 2))
    >>> state_scores(weather, 1 - umbrella.decode(days), match=True).accuracy == scores.accuracy
    True
    """
    from scipy.optimize import linear_sum_assignment

    metrics: Any = importlib.import_module("sklearn.metrics")  # has no type annotations
    positive_number("beta", beta)
    states, found = _states("true", true), _states("decoded", decoded)
    if len(states) != len(found) or not len(states):
        raise ModelError(f"true has {len(states)} states and decoded {len(found)}: needed as many, at least one")
    k = 1 + max(int(states.max()), int(found.max()))
    named = np.arange(k)
    if match:
        rows, columns = linear_sum_assignment(_confusion(states, found, k), maximize=True)
        named[columns] = rows
        found = named[found]
    every = np.arange(k)
    precision, recall, f_score, _ = metrics.precision_recall_fscore_support(
        states, found, beta=beta, labels=every, zero_division=0.0
    )
    confusion = _confusion(states, found, k)
    return StateScores(confusion, float(confusion.trace() / len(states)), precision, recall, f_score, named)


def _confusion(true: IndexArray, decoded: IndexArray, k: int) -> IndexArray:
    """Return how often a true state (row) was taken for another (column): (k, k)."""
    table = np.zeros((k, k), dtype=np.int64)
    np.add.at(table, (true, decoded), 1)
    return table


def _states(name: str, given: ArrayLike) -> IndexArray:
    """Return numbers of states, checked."""
    numbers = validation.integers(name, given)
    if numbers.ndim != 1 or (numbers < 0).any():
        raise ModelError(f"{name} must be a sequence (T,) of numbers of states, from 0 on")
    return numbers.astype(np.int64)
