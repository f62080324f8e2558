"""The cross-entropy method: a distribution of policies is fitted again and again to those with the largest returns.

Parameters are drawn from independent normal distributions; the share of them with the highest scores, the elite, gives
the mean and standard deviation of the next ones. The method is named after the cross-entropy to the distribution of the
elite, which this choice minimises (Rubinstein 1999; de Boer et al. 2005).

The variance often shrinks before the best parameters are found. Noise added to the variance prevents that (Szita &
Lorincz 2006, who learned Tetris in this way): a constant, or one that falls to 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.schedules import Schedule, as_schedule
from rlsuite.approximation.policies.search import PolicySearch
from rlsuite.core.checks import fraction, positive_number


@dataclass(eq=False, kw_only=True)
class CrossEntropyMethod(PolicySearch):
    """Policy search by the cross-entropy method with noise (Szita & Lorincz 2006).

    The policy found is the mean of the cloud.

    Parameters
    ----------
    policy : ParametricPolicy
        What is searched for: a `LinearPolicy`, or anything of your own with its four methods.
    candidates : int
        Policies that are drawn in each iteration.
    episodes : int
        Episodes that each of them plays.
    gamma : float
        Discount per step of the returns, in [0, 1].
    max_steps : int
        Steps after which an episode is cut off.
    elite : float
        Share of the candidates that the next are drawn around, in (0, 1]; at least one candidate.
    spread : float
        Standard deviation that the first candidates are drawn with, around the policy's own parameters; above 0.
    noise : float or Schedule
        Added to the variances after each iteration, at least 0; a schedule counts iterations, whatever its unit.

    Attributes
    ----------
    policy_ : ParametricPolicy
        The policy found so far.
    parameters_ : ndarray of float64, shape (n_parameters,)
        Its parameters: the mean of the cloud.
    std_ : ndarray of float64, shape (n_parameters,)
        Standard deviation of the cloud.
    scores_ : ndarray of float64, shape (n_iterations, candidates)
        Mean return of each candidate of each iteration.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> search = CrossEntropyMethod().learn("CartPole-v1", iterations=3, seed=7)
    >>> bool(search.scores_[-1].mean() > 2 * search.scores_[0].mean())
    True
    """

    elite: float = 0.2
    spread: float = 1.0
    noise: float | Schedule = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if fraction("elite", self.elite) == 0.0:
            raise errors.ParameterError("elite=0 is not in (0, 1]")
        if positive_number("spread", self.spread) == np.inf:
            raise errors.ParameterError("spread=inf is not a finite number")
        self._noise = as_schedule("noise", self.noise, 0.0, np.inf)

    @property
    def n_elite(self) -> int:
        """Number of candidates in the elite."""
        return max(1, round(self.elite * self.candidates))

    def begin(self, n_parameters: int) -> None:
        """Set the initial distribution."""
        self.std_ = np.full(n_parameters, float(self.spread))

    def propose(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw from the distribution: (candidates, n_parameters)."""
        return rng.normal(self.parameters_, self.std_, size=(self.candidates, self.parameters_.size))

    def improve(self, tried: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Fit the distribution to the elite; of equal scores the first count."""
        best = tried[np.argsort(-scores, kind="stable")[: self.n_elite]]
        self.parameters_ = best.mean(axis=0)
        self.std_ = np.sqrt(best.var(axis=0) + self._noise.at(len(self._scores)))
