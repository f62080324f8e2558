"""Learning of hidden Markov models with covariates: expectation maximisation, and what is known of the coefficients.

The E-step is that of Baum-Welch with a matrix for each step. Its expected moves are the counts of one multinomial
logistic regression for each state, the M-step (Hughes & Guttorp 1994; Bengio & Frasconi 1995; Visser & Speekenbrink
2010).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rlsuite.errors import ConvergenceWarning, ModelError, level_of_the_caller
from rlsuite.inference import dirichlet
from rlsuite.inference.covariates import Coefficients, Columns, CovariateParameters, Passes, WithCovariates, centered
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.multinomial_logit import Regression
from rlsuite.inference.sequences import DistinctPairs, summed
from rlsuite.models.aliases import FloatArray

SEPARATED = 0.01
"""Information about a combination of slopes whose covariates have a variance of 1, below which it counts as none."""

NEAR = 1.0
"""Standard errors by which coefficients may miss the maximum of the log-likelihood."""

STEP = 1e-4
"""Step of the numerical derivative of the gradient, in nats per standard deviation of a covariate."""


class TransitionCounts(NamedTuple):
    """Expected counts of hidden things, given the observations."""

    start: FloatArray
    """(K,) of first states"""
    moves: FloatArray
    """(U, K, K) of transitions, for each covariates that differ"""
    weight: FloatArray
    """(R, K) of the states, for each observation that differs"""


@dataclass
class CovariateEM:
    """The problem: observations, the model to begin with, and what is added; its protocol is that of `run_em`."""

    model: CovariateParameters
    seen: WithCovariates
    columns: Columns
    prior: float | None
    ridge: float
    known: DistinctPairs | None = None
    frozen: AbstractSet[str] = frozenset()
    others: WithCovariates | None = None

    def __post_init__(self) -> None:
        emission = self.model.emission
        self.pseudo = float(dirichlet.pseudo_counts("prior", self.prior, np.ones(1))[0])
        self.emission_prior = emission.resolve_prior(self.prior, self.seen.data.z)
        self.penalty = np.append(0.0, np.full(self.model.n_covariates, self.ridge))
        possible = self.model.dense_transition > 0.0
        self.possible = [np.flatnonzero(row) for row in possible]
        self.reference = [int(np.sum(row[:k])) for row, k in zip(possible, self.model.reference, strict=True)]

    @property
    def size(self) -> int:
        """Number of observations."""
        return len(self.seen.row)

    def starts(
        self, model: CovariateParameters, number: int, rng: np.random.Generator
    ) -> Iterator[CovariateParameters]:
        """Yield the model, and random ones with the same zeros and slopes of 0."""
        first = centered(model, self.columns.mean)
        yield first
        for _ in range(number - 1):
            start, transition, slope, emission = first.start, first.dense_transition, first.slope, first.emission
            if "start" not in self.frozen:
                start = _drawn(start, rng)
            if "transition" not in self.frozen:
                transition, slope = _drawn(transition, rng), np.zeros(slope.shape)
            if not self.frozen & {"emission", *emission.freezable()}:
                emission = emission.randomized(self.seen.data.z, rng)
            yield CovariateParameters(start, transition, emission, slope, first.center, model.state_labels)

    def expect(self, model: CovariateParameters) -> tuple[float, TransitionCounts]:
        """Return the log-likelihood, and expected counts."""
        passes = Passes(model, self.seen, self.known)
        start, moves = np.zeros(model.n_states), passes.empty_moves()
        total, posteriors = 0.0, list[FloatArray]()
        for n in range(len(self.seen.data)):
            posterior, log_likelihood = passes.smoothed(n, moves)
            total += log_likelihood
            start += posterior[0]
            posteriors.append(posterior)
        weight = summed(self.seen.row, np.concatenate(posteriors), len(self.seen.values))
        return total, TransitionCounts(start, moves, weight)

    def maximise(self, model: CovariateParameters, counts: TransitionCounts) -> CovariateParameters:
        """Return the most probable parameters given the counts; rows that were not visited stay as they are."""
        start, emission, weights = model.start, model.emission, self.weights(model)
        if "start" not in self.frozen:
            start = dirichlet.most_probable(counts.start, np.where(start > 0.0, self.pseudo, 0.0), start)
        if "emission" not in self.frozen:
            emission = emission.fit_weighted(self.seen.values, counts.weight, self.emission_prior, self.frozen)
        if "transition" in self.frozen:
            parts = model.dense_transition, emission, model.slope, model.center, model.state_labels
            return CovariateParameters(start, *parts)
        for i, row in enumerate(weights):
            regression = self.regression(counts, i)
            if regression.counts.sum() > dirichlet.NO_VISITS:
                weights[i] = regression.most_probable(row)
        return self.with_weights(model, weights, start, emission)

    def regression(self, counts: TransitionCounts, i: int) -> Regression:
        """Return the regression of the moves from a state; pseudo-counts belong to the mean of the covariates."""
        rows, moves = self.columns.rows, np.ascontiguousarray(counts.moves[:, i, self.possible[i]].T)
        if self.pseudo > 0.0:
            rows = np.column_stack([rows, np.eye(len(rows), 1)])
            moves = np.column_stack([moves, np.full((len(moves), 1), self.pseudo)])
        return Regression(rows, moves, self.penalty, self.reference[i])

    def weights(self, model: CovariateParameters) -> list[FloatArray]:
        """Return the coefficients of each state, for the columns of the regression: (J, 1 + D) each."""
        found: list[FloatArray] = []
        for i, possible in enumerate(self.possible):
            logs = np.log(model.dense_transition[i, possible]) - np.log(model.dense_transition[i, model.reference[i]])
            found.append(np.column_stack([logs, model.slope[i, possible] * self.columns.scale]))
        return found

    def with_weights(
        self,
        model: CovariateParameters,
        weights: list[FloatArray],
        start: FloatArray | None = None,
        emission: Emission | None = None,
    ) -> CovariateParameters:
        """Return the model with these coefficients, and with another start and emission if they are given."""
        transition, slope = np.zeros((model.n_states, model.n_states)), np.zeros(model.slope.shape)
        for i, (possible, row) in enumerate(zip(self.possible, weights, strict=True)):
            share = np.exp(row[:, 0] - row[:, 0].max())
            transition[i, possible] = np.maximum(share / share.sum(), np.finfo(np.float64).tiny)
            slope[i, possible] = row[:, 1:] / self.columns.scale
        return CovariateParameters(
            model.start if start is None else start,
            transition,
            model.emission if emission is None else emission,
            slope,
            model.center,
            model.state_labels,
        )

    def log_likelihood(self, model: CovariateParameters) -> float:
        """Return the log-likelihood of the observations, in nats."""
        return Passes(model, self.seen, self.known).total()

    def log_prior(self, model: CovariateParameters) -> float:
        """Return the logarithm of the density of the parameters, less the penalty, in nats, up to a constant."""
        rows = (model.start, model.dense_transition)
        own = sum(dirichlet.log_density(table, np.where(table > 0.0, self.pseudo, 0.0)) for table in rows)
        penalty = 0.5 * self.ridge * float(((model.slope * self.columns.scale) ** 2).sum())
        return own - penalty + model.emission.log_prior(self.emission_prior)

    def held_out(self, model: CovariateParameters) -> float:
        """Return the log-likelihood of the observations that are held out, in nats; NaN if there are none."""
        return math.nan if self.others is None else Passes(model, self.others).total()

    def explain_impossible(self, model: CovariateParameters) -> str:
        """Return a sentence; the E-step raises a better one itself."""
        return "the observations are impossible under the model"

    # ------------------------------------------------------------------------------ what is known of the slopes

    def warn_of_separation(self, model: CovariateParameters) -> None:
        """Issue a `ConvergenceWarning` if the likelihood rises with the slopes of some transition without an end."""
        if self.ridge > 0.0 or "transition" in self.frozen:
            return
        _, counts = self.expect(model)
        found: list[str] = []
        for i, row in enumerate(self.weights(model)):
            regression = self.regression(counts, i)
            number, total = self.penalty.size, regression.counts.sum(axis=1)
            information = regression.information(regression.log_probabilities(row))
            visits = regression.counts.sum(axis=0)
            spread = (regression.columns * visits) @ regression.columns.T / max(1.0, float(visits.sum()))
            variance, axes = np.linalg.eigh(spread)
            white = axes / np.sqrt(np.maximum(variance, 1e-9))  # columns may go together
            for a, j in enumerate(regression.others.tolist()):
                block = information[a * number : (a + 1) * number, a * number : (a + 1) * number]
                occurs = 0.5 <= total[j] <= total.sum() - 0.5
                if occurs and float(np.linalg.eigvalsh(white.T @ block @ white)[0]) < SEPARATED:
                    found.append(f"{i} to {self.possible[i][j]}")
        if found:
            warnings.warn(
                f"the slopes of the transitions from state {', '.join(found)} have no most probable values: with some "
                "of the covariates they occur for certain, or never, and the larger the slopes, the more probable are "
                "the observations. Where learning ended says nothing about their size: pass ridge=1, or leave "
                "covariates out",
                ConvergenceWarning,
                stacklevel=level_of_the_caller(),
            )

    def standard_errors(self, model: CovariateParameters) -> Coefficients:
        """Return the standard errors of the coefficients of a model with the center of the columns."""
        free = [np.delete(np.arange(row.size), k) for row, k in zip(self.possible, self.reference, strict=True)]
        number = self.penalty.size
        base = self.weights(model)
        size = sum(others.size for others in free) * number

        def gradient(of: int, step: float) -> FloatArray:
            """The gradient of the log-likelihood at the coefficients, one of which is moved by a step."""
            weights, left = [row.copy() for row in base], of
            for row, others in zip(weights, free, strict=True):
                if 0 <= left < others.size * number:
                    row[others[left // number], left % number] += step
                left -= others.size * number
            counts = self.expect(self.with_weights(model, weights))[1]
            found: list[FloatArray] = []
            for i, row in enumerate(weights):
                regression = self.regression(counts, i)
                found.append(regression.gradient(row, regression.log_probabilities(row))[free[i]].reshape(-1))
            return np.concatenate(found)

        information = np.array([(gradient(p, -STEP) - gradient(p, STEP)) / (2.0 * STEP) for p in range(size)])
        information = information.reshape(size, size)
        value, direction = np.linalg.eigh((information + information.T) / 2.0)
        flat = 1e-8 * float(value.max(initial=0.0)) + 1e-6
        known = value > flat
        root = direction[:, known] / np.sqrt(value[known])
        if value.min(initial=0.0) < -10.0 * flat or ((gradient(0, 0.0) @ root) ** 2).sum() > NEAR**2:
            raise ModelError(
                "the log-likelihood has no maximum near this model, so that its coefficients have no standard errors: "
                "take those of the model that fit(z, covariates) returns, without a ridge"
            )
        # An intercept that belongs to covariates of 0, and slopes per unit.
        units = np.diag(np.append(1.0, 1.0 / self.columns.scale))
        units[0, 1:] = -self.columns.mean / self.columns.scale
        errors = Coefficients(np.full(model.dense_transition.shape, np.nan), np.full(model.slope.shape, np.nan))
        at = 0
        for i, others in enumerate(free):
            for j in self.possible[i][others].tolist():
                error = np.sqrt(((units @ root[at : at + number]) ** 2).sum(axis=1))
                error[(np.abs(units @ direction[at : at + number, ~known]) > 1e-3).any(axis=1)] = np.inf
                errors.intercept[i, j], errors.slope[i, j] = error[0], error[1:]
                at += number
        return errors


def _drawn(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return random distributions (..., K); what is impossible stays impossible."""
    weights = rng.exponential(size=rows.shape) * (rows > 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)
