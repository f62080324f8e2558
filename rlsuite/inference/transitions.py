"""The rows of a transition matrix while it is learned, dense or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.inference import dirichlet
from rlsuite.models.aliases import FloatArray
from rlsuite.models.validation import row_sums

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


class TransitionRows:
    """The prior of the transitions, and what follows from counts.

    Parameters
    ----------
    model : HMM
        The model to begin with.
    prior : float, array_like (K, K) or None
        Pseudo-counts. If the matrix is sparse, only a number will do.

    Raises
    ------
    ParameterError
        If they are negative, or of another shape.
    """

    def __init__(self, model: HMM, prior: dirichlet.PseudoCounts) -> None:
        self.is_sparse = not isinstance(model.transition, np.ndarray)
        if not self.is_sparse:
            self.pseudo = dirichlet.pseudo_counts("prior.transition", prior, model.dense_transition)
            return
        if np.ndim(cast("Any", prior)) != 0:
            raise ParameterError("prior.transition has to be one number where the transition matrix is sparse")
        self.pseudo = dirichlet.pseudo_counts("prior.transition", prior, np.ones(1))

    def most_probable(self, model: HMM, counts: Any) -> Any:
        """Return the matrix for expected counts of transitions, of the same kind."""
        if not self.is_sparse:
            return dirichlet.most_probable(counts, self.pseudo, model.dense_transition)
        old = cast("Any", model.transition)
        added = counts.data + self.pseudo[0]
        total = row_sums(added, np.asarray(old.indptr, dtype=np.int64))
        visited = total > dirichlet.NO_VISITS
        row = np.repeat(np.arange(model.n_states), np.diff(old.indptr))
        changed = old.copy()
        changed.data = np.where(visited[row], added / np.where(visited, total, 1.0)[row], old.data)
        return changed

    def log_density(self, model: HMM) -> float:
        """Return the logarithm of the prior's density in nats, up to a constant."""
        if not self.is_sparse:
            return dirichlet.log_density(model.dense_transition, self.pseudo)
        return float(self.pseudo[0] * np.log(cast("Any", model.transition).data).sum())

    def randomized(self, model: HMM, rng: np.random.Generator) -> Any:
        """Return random rows; what is impossible stays impossible."""
        if not self.is_sparse:
            table = model.dense_transition
            drawn = rng.exponential(size=table.shape) * (table > 0.0)
            return drawn / drawn.sum(axis=1, keepdims=True)
        matrix = cast("Any", model.transition).copy()
        weights: FloatArray = rng.exponential(size=int(matrix.nnz))
        total = row_sums(weights, np.asarray(matrix.indptr, dtype=np.int64))
        matrix.data = weights / np.repeat(total, np.diff(matrix.indptr))
        return matrix
