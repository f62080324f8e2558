"""The base of fitted Q and fitted value iteration: a regressor is fitted to targets that it computed, in rounds."""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from rlsuite.approximation.batch import regressors
from rlsuite.approximation.batch.divergence import trouble
from rlsuite.approximation.batch.observed_features import ObservedFeatures
from rlsuite.core.checks import finite_number, fraction, whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.errors import DivergenceWarning, LearningError, NotLearned, ParameterError, level_of_the_caller

Fit: TypeAlias = Callable[[NDArray[np.float64]], list[Any]]
"""``targets (n,) -> fitted regressors``"""
Ahead: TypeAlias = Callable[[list[Any]], NDArray[np.float64]]
"""``fitted regressors -> their predictions for the next observations``"""
Targets: TypeAlias = Callable[[NDArray[np.float64] | None], NDArray[np.float64]]
"""``predictions -> targets (n,)``; None before the first round, when every value is 0"""


@dataclass(eq=False)
class FittedIteration(SaysWhatToWrite):
    """Base of the methods that fit a regressor round after round; subclasses define `learn`.

    Parameters and attributes are those of `FittedQ`.
    """

    regressor: Any
    _: KW_ONLY
    gamma: float = 0.99
    iterations: int = 50
    features: Any = None
    tol: float = 0.0

    def __post_init__(self) -> None:
        regressors.check_regressor(self.regressor, type(self).__name__)
        self.gamma = fraction("gamma", self.gamma)
        self.iterations = whole_number("iterations", self.iterations)
        self.tol = finite_number("tol", self.tol)
        if self.tol < 0.0:
            raise ParameterError(f"tol={self.tol:g} is negative")
        self._regressors: list[Any] | None = None
        self._features: ObservedFeatures | None = None
        self._errors: list[float] = []
        self.converged_ = False

    @says_what_to_write
    def iterate(
        self, features: ObservedFeatures, fit: Fit, ahead: Ahead, targets: Targets, limit: float, progress: bool
    ) -> None:
        """Do the rounds, from what has been learned so far.

        The regressors of a round are kept once their predictions have been seen to be within `limit`, also if Ctrl-C
        ends the next.

        Raises
        ------
        LearningError
            If there are none to keep.
        """
        predicted = None if self._regressors is None else ahead(self._regressors)
        target = targets(predicted)
        bar = tqdm(range(self.iterations), desc=type(self).__name__, unit="round", disable=not progress)
        for _ in bar:
            fitted = fit(target)
            predicted = ahead(fitted)
            wrong = trouble(predicted, limit)
            if wrong:
                self._stop(wrong)
                return
            self._regressors, self._features = fitted, features
            next_target = targets(predicted)
            self._errors.append(float(np.abs(next_target - target).max()))
            bar.set_postfix_str(f"largest change {self._errors[-1]:.3g}", refresh=False)
            target = next_target
            self.converged_ = self._errors[-1] <= self.tol
            if self.converged_:
                return

    @property
    def round_name(self) -> str:
        """What the round in progress is called in messages."""
        return f"{type(self).__name__}, round {len(self._errors) + 1}"

    def _stop(self, wrong: str) -> None:
        """Warn that values have diverged; raise an error if there are no earlier ones to keep."""
        self.converged_ = False
        rounds = len(self._errors)
        message = f"{self.round_name}: values diverge ({wrong})"
        if not rounds:
            raise LearningError(f"{message}. Scale the observations, or choose another regressor")
        warnings.warn(
            f"{message}; the values of round {rounds} are kept. Regressors that average targets cannot diverge: trees, "
            "forests, nearest neighbours",
            DivergenceWarning,
            stacklevel=level_of_the_caller(),
        )

    def learned(self) -> tuple[ObservedFeatures, list[Any]]:
        """Return the features and the fitted regressors.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        """
        if self._regressors is None or self._features is None:
            raise NotLearned(f"this {type(self).__name__} has not learned yet; call learn(batch) first")
        return self._features, self._regressors

    @property
    def regressors_(self) -> list[Any]:
        """The fitted regressors."""
        return self.learned()[1]

    @property
    def errors_(self) -> NDArray[np.float64]:
        """Largest change of a target in each round so far, shape (n_rounds,)."""
        return np.array(self._errors)
