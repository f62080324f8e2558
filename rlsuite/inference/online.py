"""Filtering as the observations come in, one at a time.

It is done in logarithms, so that no state is lost, however improbable it is for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import whole_number
from rlsuite.errors import ModelError
from rlsuite.inference.log_space import log_sums
from rlsuite.inference.parameters import Prepared, logarithms
from rlsuite.inference.prediction import ahead
from rlsuite.inference.sparse import Sparse
from rlsuite.keywords import says_what_to_write
from rlsuite.models.aliases import FloatArray

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


class OnlineFilter:
    """The distribution of the hidden state, updated with each observation.

    Parameters
    ----------
    model : HMM
        The model.

    Attributes
    ----------
    belief : ndarray (K,) float64
        Pr[x_t = k | z_0..z_t] after t + 1 observations; the start distribution before the first.
    log_likelihood : float
        ln Pr[z_0..z_t], in nats.
    n_observations : int
        t + 1.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> weather = hmm.online()
    >>> weather.update(0).round(3).tolist()
    [0.818, 0.182]
    >>> weather.predict_ahead(1).round(3).tolist()
    [0.627, 0.373]
    >>> weather.update(0).round(3).tolist()
    [0.883, 0.117]
    """

    def __init__(self, model: HMM) -> None:
        self.model = model
        self.belief: FloatArray
        self.log_likelihood: float
        self.n_observations: int
        self._logs: FloatArray
        self._matrix = cast("Sparse", Prepared(model, is_sparse=True).log_matrices.forwards)
        self.reset()

    def reset(self) -> None:
        """Reset to the start of a new sequence."""
        self.belief = self.model.start
        self._logs = logarithms(self.belief)
        self.log_likelihood = 0.0
        self.n_observations = 0

    def update(self, z: ArrayLike) -> FloatArray:
        """Update by one observation and return the new belief: (K,) float64.

        Parameters
        ----------
        z : int, float or array_like (D,)
            The observation, -1 or NaN if it is missing.

        Raises
        ------
        ModelError
            If it is none, or impossible after what came before; the belief stays as it was.
        """
        emission = self.model.emission
        checked = emission.check(np.asarray(z)[None])
        logs = emission.log_likelihoods(checked)[0]
        joint = self._logs.copy()
        if self.n_observations > 0:
            log_sums(self._matrix, self._logs, joint)
        joint += logs
        high = float(joint.max())
        if high == -np.inf:
            raise ModelError(
                f"z[t={self.n_observations}] is {checked[0]}, which is impossible after what was seen before: "
                "no hidden state that can be reached emits it"
            )
        weight = np.exp(joint - high)
        total = float(weight.sum())
        self.belief = weight / total
        self.belief.setflags(write=False)
        self._logs = joint - (high + np.log(total))
        self.log_likelihood += float(high + np.log(total))
        self.n_observations += 1
        return self.belief

    @says_what_to_write
    def predict_ahead(self, steps: int) -> FloatArray:
        """Return Pr[x_{t+steps} = k | z_0..z_t]: (K,) float64; before the first observation, from the start on."""
        return ahead(self.model, self.belief[None], whole_number("steps", steps, at_least=0))[0]

    def __repr__(self) -> str:
        known = np.array2string(self.belief, precision=3, threshold=6)
        return f"OnlineFilter(n_observations={self.n_observations}, belief={known})"
