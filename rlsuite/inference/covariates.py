"""Parameters of a model with covariates, sequences with their covariates, the passes, and columns of a regression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory
from rlsuite.core.keywords import made_from_arrays
from rlsuite.errors import ModelError
from rlsuite.inference.covariate_passes import (
    backward_pass,
    forward_pass,
    log_backward_pass,
    log_forward_pass,
    viterbi_pass,
)
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.multinomial_logit import log_transitions, transition_odds
from rlsuite.inference.parameters import HMMParameters, logarithms
from rlsuite.inference.sequences import DistinctPairs, Observations, Sequences, listed, sequences
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray

SAMPLE, FEW_ENTRIES = 1000, 1 << 22
"""Covariates that are looked at for equal ones, and entries of matrices that may be computed whether equal or not."""

INDEPENDENT = 1e-6
"""Part of a column, in standard deviations, that has to be left once the columns before it have been subtracted."""


class Coefficients(NamedTuple):
    """Coefficients of the logit, an intercept and a slope for each covariate; or their standard errors."""

    intercept: FloatArray
    """(K, K) float64: where all covariates are 0; 0 for the reference, minus infinity for what is impossible"""
    slope: FloatArray
    """(K, K, D) float64: per unit of each covariate; 0 for the reference"""


@made_from_arrays
class CovariateParameters(HMMParameters):
    """The parameters of a hidden Markov model with covariates; `rlsuite.inference.CovariateHMM` says what they are."""

    what_to_write: ClassVar[str] = (
        "CovariateHMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], slope=[[0, 1.5], [-1.5, 0]])"
    )

    slope: FloatArray
    center: FloatArray

    def __init__(
        self,
        start: ArrayLike,
        transition: ArrayLike,
        emission: ArrayLike | Emission,
        slope: ArrayLike,
        center: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(start, transition, emission, state_labels)
        states = self.n_states
        given = validation.floats("slope", slope)
        slopes = given[:, :, np.newaxis] if given.ndim == 2 else given
        if slopes.ndim != 3 or slopes.shape[:2] != (states, states) or slopes.shape[2] == 0:
            raise ModelError(
                f"slope has shape {given.shape}, not {(states, states)} or ({states}, {states}, D): one number for "
                "each transition and covariate; a model without covariates is an HMM"
            )
        middle = np.zeros(slopes.shape[2]) if center is None else validation.floats("center", center)
        validation.shape("center", middle, (slopes.shape[2],), meaning="one number for each covariate")
        rows = np.arange(states)
        kept = slopes - slopes[rows, self.reference][:, np.newaxis]
        kept[self.dense_transition == 0.0] = 0.0
        object.__setattr__(self, "slope", validation.frozen(kept, slope))
        object.__setattr__(self, "center", validation.frozen(middle, center))

    @property
    def n_covariates(self) -> int:
        """D."""
        return self.slope.shape[2]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them; what is impossible or a reference is not free."""
        return super().n_parameters + self.n_covariates * (self.n_transitions - self.n_states)

    @cached_property
    def reference(self) -> IndexArray:
        """(K,) int64: the next state that the coefficients of each state compare with."""
        possible = self.dense_transition > 0.0
        return np.where(np.diagonal(possible), np.arange(self.n_states), possible.argmax(axis=1)).astype(np.int64)

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of the logit, with intercepts that belong to covariates of 0, in nats."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.dense_transition)
        own = logs[np.arange(self.n_states), self.reference]
        return Coefficients(logs - own[:, np.newaxis] - self.slope @ self.center, self.slope)

    def odds(self, points: FloatArray) -> FloatArray:
        """Return the transition matrices at checked covariates (U, D), but for a factor of each row: (U, K, K)."""
        fits_in_memory(f"{len(points)} transition matrices", 32 * len(points) * self.n_states**2)
        return transition_odds(self.dense_transition, self.slope, points - self.center)

    def log_matrices(self, points: FloatArray) -> FloatArray:
        """Return the logarithms of the transition matrices at checked covariates (U, D): (U, K, K)."""
        fits_in_memory(f"{len(points)} transition matrices", 32 * len(points) * self.n_states**2)
        return log_transitions(self.dense_transition, self.slope, points - self.center)


def centered(model: CovariateParameters, center: FloatArray) -> CovariateParameters:
    """Return the same model with another center."""
    possible = model.dense_transition > 0.0
    rows = np.exp(model.log_matrices(center[np.newaxis])[0])
    rows = np.where(possible, np.maximum(rows, np.finfo(np.float64).tiny), 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    return CovariateParameters(model.start, rows, model.emission, model.slope, center, model.state_labels)


def covariate_rows(name: str, given: ArrayLike, number: int, length: int | None = None) -> FloatArray:
    """Return covariates as float64 (T, D), checked; (T,) will do if D is 1.

    Raises
    ------
    ModelError
        If the shape is another one, or a number is missing.
    """
    found = validation.array(name, given).astype(np.float64)
    if not np.isfinite(found).all():
        index = np.argwhere(~np.isfinite(found))[0].tolist()
        raise ModelError(
            f"{name}{index} is {found[tuple(index)]:g}; covariates are finite numbers, known at all times: fill in "
            "what is missing"
        )
    if found.ndim == 1 and number == 1:
        found = found[:, np.newaxis]
    if found.ndim != 2 or found.shape[1] != number:
        either = "(T,) or (T, 1)" if number == 1 else f"(T, {number})"
        raise ModelError(f"{name} has shape {found.shape}, not {either}: the model has {number} for each time")
    if length is not None and len(found) != length:
        raise ModelError(
            f"{name} has {len(found)} rows, and there are {length} observations: one row for each, also for the last "
            "of a sequence, which leads nowhere"
        )
    return np.ascontiguousarray(found)


class WithCovariates(NamedTuple):
    """N sequences of observations, and their covariates."""

    data: Sequences
    values: AnyArray
    """(R,) or (R, d): the observations that differ"""
    row: IndexArray
    """(T,): which of them each one is"""
    points: FloatArray
    """(U, D): the covariates that differ; or those of all times, where most of them do"""
    which: IndexArray
    """(T,): which of them those of each time are"""

    @property
    def followed(self) -> IndexArray:
        """The times that another one of the same sequence follows, int64."""
        return np.delete(np.arange(len(self.row)), self.data.pieces[:, 1] - 1)


def with_covariates(
    emission: Emission, z: Observations, covariates: Observations, lengths: ArrayLike | None, number: int
) -> WithCovariates:
    """Return checked observations with their covariates.

    Raises
    ------
    ModelError
        If the observations or the covariates are malformed, or do not belong together.
    """
    data = sequences(emission, z, lengths)
    if data.listed:
        parts = listed(covariates, nested=True)
        if parts is None or len(parts) != len(data):
            has = "one array" if parts is None else f"{len(parts)} arrays"
            raise ModelError(
                f"covariates has {has}, and z is a list of {len(data)} sequences: give one array for each of them"
            )
        sizes = np.diff(data.pieces, axis=1)[:, 0].tolist()
        each = enumerate(zip(parts, sizes, strict=True))
        x = np.concatenate([covariate_rows(f"covariates[{n}]", part, number, size) for n, (part, size) in each])
    else:
        x = covariate_rows("covariates", cast("ArrayLike", covariates), number, len(data.z))
    ends = data.pieces[:, 1] - 1
    if len(ends) < len(x):
        x[ends] = x[np.delete(np.arange(len(x)), ends)[0]]  # they lead nowhere: any that do stand for them
    values, row = emission.distinct(data.z)
    return WithCovariates(data, values, row, *_distinct(x, emission.n_states))


def _distinct(x: FloatArray, states: int) -> tuple[FloatArray, IndexArray]:
    """Return the rows (U, D) that differ, and the number of each row (T,); all rows where hardly any are equal.

    Faster than `numpy.unique` of rows; and where matrices of all rows take little memory, sorting would take longer.
    """
    number = index = np.zeros(len(x), dtype=np.int64)
    sample = x[:: max(1, len(x) // SAMPLE)]
    if len(x) * states**2 < FEW_ENTRIES and 2 * len(np.unique(sample, axis=0)) > len(sample):
        return x, np.arange(len(x))
    for column in x.T:
        of_column = np.unique(column, return_inverse=True)[1]
        _, index, number = np.unique(number * len(x) + of_column, return_index=True, return_inverse=True)
    return x[index], number.astype(np.int64)


class Forward(NamedTuple):
    """What a forward pass found about one sequence."""

    alpha: FloatArray
    """(T, K): Pr[x_t = k | z_0..z_t]"""
    log_scale: FloatArray
    """(T,): ln Pr[z_t | z_0..z_(t-1)]; the sum is the log-likelihood"""
    possible: int
    """how many observations are possible"""


class Passes:
    """The passes over sequences under a model; in logarithms where a double has too few exponents."""

    def __init__(self, model: CovariateParameters, seen: WithCovariates, known: DistinctPairs | None = None) -> None:
        self.model, self.seen, self.n_states, self.known = model, seen, model.n_states, known
        self.row = seen.row
        self.likelihood, self.shift = model.emission.likelihoods(seen.values)
        if known is not None:
            self.row, self.likelihood, self.shift = known.row, known.masked(self.likelihood), self.shift[known.seen]

    def forward(self, number: int) -> Forward:
        """Return what is known of each state of a sequence by the observations until then."""
        rows, which = self._piece(number)
        alpha, total = np.empty((rows.size, self.n_states)), np.empty(rows.size)
        done = forward_pass(self.model.start, self._odds, which, self.likelihood, rows, alpha, total)
        if done == rows.size:
            return Forward(alpha, np.log(total) + self.shift[rows], rows.size)
        logs, log_scale, possible = self._log_forward(number)
        return Forward(np.exp(logs), log_scale, possible)

    def score(self, number: int) -> float:
        """Return the log-likelihood of a sequence."""
        found = self.forward(number)
        return float(found.log_scale.sum()) if found.possible == found.log_scale.size else -np.inf

    def total(self) -> float:
        """Return the log-likelihood of all sequences."""
        return float(sum(self.score(number) for number in range(len(self.seen.data))))

    def log_scales(self, number: int) -> FloatArray:
        """Return ln Pr[z_t | z_0..z_(t-1)] of a sequence (T,)."""
        found = self.forward(number)
        self._check_possible(number, found.possible)
        return found.log_scale

    def filtered(self, number: int) -> FloatArray:
        """Return Pr[x_t = k | z_0..z_t] of a sequence (T, K)."""
        found = self.forward(number)
        self._check_possible(number, found.possible)
        return found.alpha

    def smoothed(self, number: int, moves: FloatArray) -> tuple[FloatArray, float]:
        """Return Pr[x_t = k | z] of a sequence (T, K), and its log-likelihood.

        Expected moves are added to `moves`, unless that is empty.
        """
        found = self.forward(number)
        self._check_possible(number, found.possible)
        rows, which = self._piece(number)
        posterior, log_likelihood = np.empty(found.alpha.shape), float(found.log_scale.sum())
        beta, ahead = np.empty(self.n_states), np.empty(posterior.shape)
        if not backward_pass(self._odds, which, self.likelihood, rows, found.alpha, beta, ahead, posterior, moves):
            alpha, log_scale, _ = self._log_forward(number)
            tables = self._log_matrices, which, self._log_likelihood, rows
            log_backward_pass(*tables, self._work, alpha, log_scale, posterior, moves)
            return posterior, float(log_scale.sum())
        return posterior, log_likelihood

    def best_path(self, number: int) -> IndexArray:
        """Return the most probable path of a sequence (T,)."""
        rows, which = self._piece(number)
        path = np.zeros(rows.size, dtype=np.int64)
        came = np.empty((rows.size, self.n_states), dtype=np.int32)
        delta, start = np.empty((2, self.n_states)), logarithms(self.model.start)
        done = viterbi_pass(start, self._log_matrices, which, self._log_likelihood, rows, delta, came, path)
        self._check_possible(number, int(done))
        return path

    def empty_moves(self) -> FloatArray:
        """Return an array for the expected counts of transitions, for each of the covariates: (U, K, K) zeros."""
        return np.zeros((len(self.seen.points), self.n_states, self.n_states))

    def _log_forward(self, number: int) -> Forward:
        """Return what `forward` does, with logarithms of alpha."""
        rows, which = self._piece(number)
        alpha, log_scale = np.empty((rows.size, self.n_states)), np.empty(rows.size)
        tables = logarithms(self.model.start), self._log_matrices, which, self._log_likelihood, rows
        possible = int(log_forward_pass(*tables, self._work, alpha, log_scale))
        alpha[possible:] = log_scale[possible:] = -np.inf
        return Forward(alpha, log_scale, possible)

    def _piece(self, number: int) -> tuple[IndexArray, IndexArray]:
        begin, end = self.seen.data.pieces[number].tolist()
        return np.ascontiguousarray(self.row[begin:end]), np.ascontiguousarray(self.seen.which[begin:end])

    @cached_property
    def _odds(self) -> FloatArray:
        return self.model.odds(self.seen.points)

    @cached_property
    def _log_matrices(self) -> FloatArray:
        return self.model.log_matrices(self.seen.points)

    @cached_property
    def _log_likelihood(self) -> FloatArray:
        found = self.model.emission.log_likelihoods(self.seen.values)
        return np.ascontiguousarray(found if self.known is None else self.known.masked(found, -np.inf))

    @property
    def _work(self) -> FloatArray:
        return np.empty((3, self.n_states))

    def _check_possible(self, number: int, done: int) -> None:
        data = self.seen.data
        begin, end = data.pieces[number].tolist()
        if done < end - begin:
            which = f" of sequence {number}" if len(data) > 1 else ""
            raise ModelError(
                f"z[t={done}]{which} is {data.z[begin + done]}, which is impossible after what was seen before: no "
                "hidden state that can be reached emits it. Mark it as missing, or learn the model with a prior"
            )


# ------------------------------------------------------------------------------------------------ as regressors


class Columns(NamedTuple):
    """Covariates as columns of a regression: less their mean, in units of their standard deviation."""

    mean: FloatArray
    """(D,) float64"""
    scale: FloatArray
    """(D,) float64: standard deviations"""
    rows: FloatArray
    """(1 + D, U) float64: for each covariates that differ; the first row is 1"""


def columns_of(seen: WithCovariates, *, penalised: bool) -> Columns:
    """Return the covariates for learning.

    Parameters
    ----------
    seen : WithCovariates
        The observations with their covariates.
    penalised : bool
        Whether a penalty decides between columns that say the same.

    Raises
    ------
    ModelError
        If there are no transitions, or a column is constant or a combination of the others.
    """
    followed = seen.followed
    if not followed.size:
        raise ModelError("no sequence has two observations: there is no transition to learn from")
    x = seen.points[seen.which[followed]]
    mean, scale = x.mean(axis=0), x.std(axis=0)
    same = ~(scale > 1e-12 * np.abs(x).max(axis=0))
    if same.any():
        d = int(np.argmax(same))
        raise ModelError(
            f"covariates[:, {d}] is {x[0, d]:g} wherever a transition follows: a constant says nothing, since the "
            "transition matrix stands for it. Leave the column out"
        )
    if not penalised:
        own = (x - mean) / scale  # becomes what the columns before do not explain of each (Gram and Schmidt)
        for d in range(1, own.shape[1]):
            for before in range(d):
                other = own[:, before]
                own[:, d] -= other * (other @ own[:, d] / (other @ other))
            if np.abs(own[:, d]).max() < INDEPENDENT:
                raise ModelError(
                    f"covariates[:, {d}] is a sum of multiples of the columns before it: its slopes cannot be told "
                    "from theirs. Leave the column out, or pass ridge=1"
                )
    rows = np.vstack([np.ones(len(seen.points)), ((seen.points - mean) / scale).T])
    return Columns(mean, scale, rows)
