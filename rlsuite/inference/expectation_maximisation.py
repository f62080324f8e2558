"""Expectation maximisation (Dempster, Laird & Rubin 1977), with a check of every step.

One iteration computes the expected counts of the hidden states, given the observations (E-step), and then the
parameters for which these counts are most probable (M-step). No iteration lowers the likelihood - or, with a
prior, the likelihood times the density of the prior - and here this is checked in each one.
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypedDict, TypeVar

import numpy as np

from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.clock import Clock
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
            raise ParameterError(f"tol={self.tol:g} is negative; it is at least 0")
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
            warnings.warn(f"{reason}; the earlier parameters are kept", ConvergenceWarning, stacklevel=level)
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
        If the best run did not converge, unless ``tol=0`` asks for a fixed number of iterations.
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


# ----------------------------------------------------------------------------------------------- the record


@dataclass(frozen=True, eq=False)
class Learning:
    """The course of expectation maximisation, and its result.

    Attributes
    ----------
    converged : bool
        Whether the last iteration gained no more than the tolerance.
    stopped : str
        Why learning ended before it converged; empty if it did.
    log_likelihoods_ : ndarray (n + 1,) float64
        Log-likelihood of the data after 0..n iterations of the best start, in nats.
    log_posteriors_ : ndarray (n + 1,) float64
        The same plus the logarithm of the prior's density, up to a constant; without a prior it is the same. It never
        falls by more than rounding explains: every iteration is checked.
    reached_ : ndarray (number of starts,) float64
        Where each start ended, on the scale of `log_posteriors_`.
    held_out_ : ndarray (n + 1,) float64
        Log-likelihood of data that were held out, after 0..n iterations, in nats; NaN if there are none. Where it
        begins to fall, learning begins to fit noise.
    n_observations_ : int
        Number of observations that are not missing.
    n_parameters : int
        Number of free parameters that were learned.
    seconds : float
        Wall-clock time taken, without what had to be compiled first.
    """

    converged: bool
    stopped: str
    log_likelihoods_: FloatArray
    log_posteriors_: FloatArray
    reached_: FloatArray
    held_out_: FloatArray
    n_observations_: int
    n_parameters: int
    seconds: float

    @property
    def iterations(self) -> int:
        """Iterations of the best start."""
        return self.log_likelihoods_.size - 1

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the data under the learned model, in nats."""
        return float(self.log_likelihoods_[-1])

    @property
    def aic(self) -> float:
        """Akaike's information criterion, 2 p - 2 ln L: the smaller, the better."""
        return 2.0 * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's information criterion, p ln n - 2 ln L: the smaller, the better."""
        return self.n_parameters * math.log(max(self.n_observations_, 1)) - 2.0 * self.log_likelihood


class LearningFields(TypedDict):
    """The arguments of `Learning`."""

    converged: bool
    stopped: str
    log_likelihoods_: FloatArray
    log_posteriors_: FloatArray
    reached_: FloatArray
    held_out_: FloatArray
    n_observations_: int
    n_parameters: int
    seconds: float


def record_of(
    result: EMResult[Model], reached: FloatArray, *, n_observations: int, n_parameters: int, seconds: float
) -> LearningFields:
    """Return the fields of a `Learning`, by name."""
    for array in (result.log_likelihoods, result.log_posteriors, result.held_out, reached):
        array.setflags(write=False)
    return {
        "converged": result.converged,
        "stopped": result.stopped,
        "log_likelihoods_": result.log_likelihoods,
        "log_posteriors_": result.log_posteriors,
        "reached_": reached,
        "held_out_": result.held_out,
        "n_observations_": n_observations,
        "n_parameters": n_parameters,
        "seconds": seconds,
    }
