"""How uncertain a distribution is, and how much an observation or an action reveals: entropy and information."""

from typing import Final, Literal

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of
from rlsuite.errors import ModelError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray

Unit = Literal["bits", "nats"]

BASE: Final = {"bits": 2.0, "nats": np.e}
"""The base of the logarithm of each unit."""


def entropy(distribution: ArrayLike, unit: Unit = "bits") -> FloatArray:
    r"""Entropy :math:`H(p) = -\sum_i p_i \log p_i` of a belief, or of a policy in each state.

    0 if one outcome is certain, and log n if all n are equally likely.

    Parameters
    ----------
    distribution
        (..., n) probabilities: one belief, the rows of a filter, or a policy (S, A).
    unit
        ``"bits"`` or ``"nats"``.

    Returns
    -------
    numpy.ndarray
        (...) float64, the entropy of each row.

    Raises
    ------
    ModelError
        If a row is no distribution.
    ParameterError
        If the unit is unknown.

    Examples
    --------
    Nine days of tennis and five without (lecture notes, section 2.1.1), and a coin:

    >>> from rlsuite.inference import entropy
    >>> entropy([[9 / 14, 5 / 14], [1 / 2, 1 / 2]]).round(3)
    array([0.94, 1.  ])
    """
    from scipy import stats  # loads half a second of SciPy

    rows = _distributions("distribution", distribution)
    return np.asarray(stats.entropy(rows, base=BASE[one_of("unit", unit, BASE)], axis=-1), dtype=np.float64)


def information(prior: ArrayLike, likelihood: ArrayLike, unit: Unit = "bits") -> float:
    r"""How much an outcome reveals about what it depends on: :math:`I = H(p) - \sum_z \Pr(z)\, H(p(\cdot | z))`.

    It is the entropy that a belief loses on average when it is updated, at least 0 (mutual information; what a decision
    tree calls gain, lecture notes, section 2.1.1).

    Parameters
    ----------
    prior
        (n,) probabilities: of states, a belief.
    likelihood
        (n, m) probabilities of each outcome, a row for each state: ``pomdp.observation[a]`` for what is observed after
        action a, where the belief is that of the next state; or a policy (S, A), for what actions say about states.
    unit
        ``"bits"`` or ``"nats"``.

    Raises
    ------
    ModelError
        If the prior or a row is no distribution, or there is not one row for each state.
    ParameterError
        If the unit is unknown.

    Examples
    --------
    Listening at the tiger's doors once gives .39 bits; listening once more, .21:

    >>> import rlsuite as rl, rlsuite_envs
    >>> from rlsuite.inference import information
    >>> tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
    >>> [round(information(belief, tiger.observation[0]), 2) for belief in ([0.5, 0.5], [0.85, 0.15])]
    [0.39, 0.21]
    """
    before = _distributions("prior", prior)
    rows = _distributions("likelihood", likelihood)
    if before.ndim != 1 or rows.ndim != 2 or len(rows) != len(before):
        raise ModelError(
            f"prior has shape {before.shape} and likelihood {rows.shape}: needed (n,) and (n, m), a row for each state"
        )
    left = before @ entropy(rows, unit)  # H(z | x); I(x; z) is the same from both sides
    return max(0.0, float(entropy(before @ rows / before.sum(), unit) - left))


def _distributions(name: str, given: ArrayLike) -> FloatArray:
    """Return probabilities whose last axis sums to 1, checked."""
    found = validation.floats(name, given)
    if found.ndim == 0 or not found.size:
        raise ModelError(f"{name} has shape {found.shape}: needed (..., n) probabilities")
    for index in np.ndindex(found.shape[:-1]):
        validation.distribution(name + (str(list(index)) if index else ""), found[index])
    return found
