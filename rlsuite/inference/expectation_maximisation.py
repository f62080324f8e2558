"""Expectation maximisation (Dempster, Laird & Rubin 1977), with a check of every step.

One iteration computes the expected counts of the hidden states, given the observations (E-step), and then the
parameters for which these counts are most probable (M-step). No iteration lowers the likelihood - or, with a
prior, the likelihood times the density of the prior - and here this is checked in each one.
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from rlsuite.checks import finite_number, whole_number
from rlsuite.clock import Clock
from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError, level_of_the_caller
from rlsuite.models.aliases import FloatArray

Model = TypeVar("Model")
Counts = TypeVar("Counts")


class Problem(Protocol[Model, Counts]):
    """The interface of a problem for expectation maximisation; M are the parameters, C the expected counts."""

    @property
    def size(self) -> int:
        """Number of observations, the unit of the tolerance."""
        ...

    def expect(self, model: Model) -> tuple[float, Counts]:
        """E-step: the log-likelihood of the data in nats, and the expected counts."""
        ...

    def maximise(self, model: Model, counts: Counts) -> Model:
        """M-step: the most probable parameters given the counts; those of `model` where there are no counts."""
        ...

    def log_likelihood(self, model: Model) -> float:
        """Log-likelihood of the data in nats, minus infinity if they are impossible."""
        ...

    def log_prior(self, model: Model) -> float:
        """Logarithm of the prior's density in nats, up to a constant; 0 without a prior."""
        ...

    def held_out(self, model: Model) -> float:
        """Log-likelihood in nats of held-out data; NaN if there are none."""
        ...

    def explain_impossible(self, model: Model) -> str:
        """A sentence that says which observation the model cannot explain."""
        ...


@dataclass(frozen=True)
class Limits:
    """When one run of expectation maximisation ends.

    Attributes
    ----------
    tol : float
        It has converged when an iteration gains at most `tol` nats for each observation.
    max_iterations : int
        Most iterations from one start.
    """

    tol: float
    max_iterations: int

    def __post_init__(self) -> None:
        if finite_number("tol", self.tol) < 0.0:
            raise ParameterError(f"tol={self.tol:g} is negative")
        whole_number("max_iterations", self.max_iterations)


@dataclass(frozen=True, eq=False)
class EMResult(Generic[Model]):
    """The result of one run of expectation maximisation.

    Attributes
    ----------
    model
        The best parameters.
    log_likelihoods, log_posteriors : ndarray (n + 1,) float64
        Log-likelihood after 0..n iterations, in nats; and the same plus the logarithm of the prior's density.
    held_out : ndarray (n + 1,) float64
        Log-likelihood of data that were not learned from, in nats; NaN if there are none.
    converged : bool
        Whether the last gain was within the tolerance.
    stopped : str
        Why the run ended before it converged; empty if it did.
    """

    model: Model
    log_likelihoods: FloatArray
    log_posteriors: FloatArray
    held_out: FloatArray
    converged: bool
    stopped: str


def run_em(
    problem: Problem[Model, Counts], model: Model, limits: Limits, clock: Clock, name: str = ""
) -> EMResult[Model]:
    """Run expectation maximisation from one start.

    Raises
    ------
    ModelError
        If the data are impossible under the first model.

    Warns
    -----
    ConvergenceWarning
        If an M-step made things worse by more than rounding explains, which only an emission of the user's own can do;
        the run then ends with the parameters before it.
    """
    score, counts = problem.expect(model)
    if score == -math.inf:
        raise ModelError(problem.explain_impossible(model))
    rounds = [(score, score + problem.log_prior(model), problem.held_out(model))]
    while True:
        before = rounds[-1][1]
        last = len(rounds) == limits.max_iterations
        proposed = problem.maximise(model, counts)
        if last:
            score = problem.log_likelihood(proposed)
        else:
            score, counts = problem.expect(proposed)
        posterior = score + problem.log_prior(proposed)
        gain = posterior - before
        if not gain >= -_rounding(problem.size, posterior):  # not <, so that NaN counts as a fall
            reason = (
                f"the log-likelihood fell from {before:.10g} to {posterior:.10g} nats in iteration "
                f"{len(rounds)}: the M-step does not maximise"
            )
            level = level_of_the_caller()
            warnings.warn(f"{reason}; the parameters before it are kept", ConvergenceWarning, stacklevel=level)
            return _result(model, rounds, False, reason)
        if gain >= 0.0:
            model = proposed
            rounds.append((score, posterior, problem.held_out(model)))
        clock.tick(f"{name}log-likelihood {rounds[-1][0]:.6g}, gain {max(gain, 0.0):.3g}")
        if gain <= limits.tol * problem.size:
            return _result(model, rounds, True, "")
        if last:
            return _result(model, rounds, False, f"max_iterations={limits.max_iterations} reached")
        if clock.hurries:
            return _result(model, rounds, False, clock.reason)


def best_of_starts(
    problem: Problem[Model, Counts], starts: Iterable[Model], limits: Limits, clock: Clock
) -> tuple[EMResult[Model], FloatArray]:
    """Run expectation maximisation from each start, and return the best run and the log-likelihood that each reached.

    Returns
    -------
    EMResult
        The one whose end is most probable; the first of equals.
    ndarray (n,) float64
        Log-likelihood plus logarithm of the prior's density that each start reached, in nats; minus infinity for a
        start under which the data are impossible. Shorter than the number of starts if there was no time for all.

    Raises
    ------
    ModelError
        If the data are impossible under every start.

    Warns
    -----
    ConvergenceWarning
        If the best run did not converge, unless ``tol=0`` asks for so many iterations.
    """
    best: EMResult[Model] | None = None
    reached: list[float] = []
    refused: ModelError | None = None
    for number, start in enumerate(starts):
        if number and clock.hurries:
            break
        try:
            found = run_em(problem, start, limits, clock, f"start {number + 1}, " if number else "")
        except ModelError as cause:
            refused = refused or cause
            reached.append(-math.inf)
            continue
        reached.append(float(found.log_posteriors[-1]))
        if best is None or found.log_posteriors[-1] > best.log_posteriors[-1]:
            best = found
    if best is None:
        assert refused is not None
        raise refused
    if not best.converged and limits.tol > 0.0 and not best.stopped.startswith("the log-likelihood fell"):
        gain = best.log_posteriors[-1] - best.log_posteriors[-2] if len(best.log_posteriors) > 1 else math.inf
        warnings.warn(
            f"learning did not converge: {best.stopped}; the last iteration gained {gain:.3g} nats, and "
            f"tol={limits.tol:g} for each of {problem.size} observations allows at most "
            f"{limits.tol * problem.size:.3g}",
            ConvergenceWarning,
            stacklevel=level_of_the_caller(),
        )
    return best, np.array(reached)


def _result(model: Model, rounds: list[tuple[float, float, float]], converged: bool, stopped: str) -> EMResult[Model]:
    table = np.array(rounds)
    return EMResult(model, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), converged, stopped)


def _rounding(size: int, score: float) -> float:
    """Return a bound on the rounding error of a sum of `size` logarithms whose value is `score`."""
    return 1e-12 * (size + abs(score)) if math.isfinite(score) else 0.0
