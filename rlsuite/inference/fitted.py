"""A hidden Markov model that was learned."""

from __future__ import annotations

from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from rlsuite.inference.hmm import HMM
from rlsuite.inference.learning import Learning
from rlsuite.inference.sequences import Observations
from rlsuite.models.aliases import FloatArray


class FittedHMM(HMM):
    """A hidden Markov model, and how it was learned.

    It is an `HMM` in every respect. `replace`, `read` and `from_states` return a plain one, which was not learned so.

    Attributes
    ----------
    learning : Learning
        Everything about the run of expectation maximisation; what is asked for most often is here, too.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> guess = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> learned = guess.fit([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> learned.converged, learned.n_states, learned.score([0, 0, 0, 1, 1, 1, 0, 0, 0]) > -5.0
    (True, 2, True)
    """

    learning: Learning

    def __init__(self, model: HMM, learning: Learning) -> None:
        super().__init__(model.start, model.transition, model.emission, model.state_labels)
        object.__setattr__(self, "learning", learning)

    @property
    def converged(self) -> bool:
        """Whether the last iteration gained no more than the tolerance."""
        return self.learning.converged

    @property
    def log_likelihoods_(self) -> FloatArray:
        """(n + 1,) float64: log-likelihood of the data after 0..n iterations, in nats."""
        return self.learning.log_likelihoods_

    @property
    def iterations(self) -> int:
        """Iterations of the best start."""
        return self.learning.iterations

    @property
    def aic(self) -> float:
        """Akaike's information criterion: the smaller, the better."""
        return self.learning.aic

    @property
    def bic(self) -> float:
        """Schwarz's information criterion: the smaller, the better."""
        return self.learning.bic

    # How a model was learned is neither kept in a file nor true of a copy that was changed: these three return an HMM.

    def replace(self, **changes: Any) -> HMM:  # pyright: ignore[reportIncompatibleMethodOverride] - see above
        """Return a plain model with some fields changed, checked anew."""
        return self._plain().replace(**changes)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> HMM:  # pyright: ignore[reportIncompatibleMethodOverride] - see above
        """Read a plain model; see `HMM.read`."""
        return HMM.read(path)

    @classmethod
    def from_states(  # pyright: ignore[reportIncompatibleMethodOverride] - see above
        cls, z: Observations, states: Observations, lengths: ArrayLike | None = None, **options: Any
    ) -> HMM:
        """Learn a plain model by counting; see `HMM.from_states`."""
        return HMM.from_states(z, states, lengths, **options)

    def _plain(self) -> HMM:
        return HMM(self.start, self.transition, self.emission, self.state_labels)

    def __reduce__(self) -> tuple[type[HMM], tuple[object, ...]]:
        return type(self), (self._plain(), self.learning)
