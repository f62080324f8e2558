"""Hidden Markov models whose transitions depend on covariates (Hughes & Guttorp 1994; Bengio & Frasconi 1995).

With covariates u_t, numbers that are known,

    Pr[x_{t+1} = j | x_t = i, u_t] = A_ij exp(b_ij . (u_t - c)) / sum_k A_ik exp(b_ik . (u_t - c)):

a multinomial logit, whose intercepts are given as the transition matrix A that holds where the covariates are c. Adding
the same vector to all b_ij of a state i changes nothing, so one of them, the reference, is 0 (Visser & Speekenbrink
2010): that of staying, or of the first possible state where staying is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import Seed, finite_number, generator, whole_number
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.features.estimators import one_thread
from rlsuite.inference.baum_welch import frozen_parts, n_learned, warn_of_collapse
from rlsuite.inference.covariate_learning import CovariateEM
from rlsuite.inference.covariates import (
    Coefficients,
    CovariateParameters,
    Passes,
    WithCovariates,
    centered,
    columns_of,
    covariate_rows,
    with_covariates,
)
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.expectation_maximisation import Learning, Limits, best_of_starts, record_of
from rlsuite.inference.hmm import HMM, reading_parts, write_model
from rlsuite.inference.sequences import Array, Observations, known_states
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray

KIND = "CovariateHMM"


class CovariateHMM(CovariateParameters):
    """A hidden Markov model with K states whose transitions depend on D covariates; immutable.

    Wherever a method takes observations `z` and `covariates`, ``covariates[t]`` are those of the move from t to t + 1.
    There is a row for each observation, also for the last one, whose covariates lead nowhere. `z` is what `HMM` takes:
    one sequence; several end to end, with their `lengths`; or a list of arrays, and then so are the covariates.
    Observations may be missing (-1 or NaN), covariates may not.

    Parameters
    ----------
    start : array_like (K,)
        Pr[x_0 = k].
    transition : array_like (K, K)
        ``transition[i, j]`` = Pr[x_{t+1} = j | x_t = i] where the covariates are `center`. What is 0 is impossible with
        all covariates.
    emission : array_like (K, M) or Emission
        As for `HMM`.
    slope : array_like (K, K, D), or (K, K) for a single covariate
        ``slope[i, j, d]``: how much the log-odds of moving from i to j rise, in nats, when covariate d rises by 1. They
        are kept as differences from those of the reference.
    center : array_like (D,), optional
        The covariates that `transition` belongs to; 0 by default.
    state_labels : sequence of str, optional
        K distinct names.

    Raises
    ------
    ModelError
        If the arrays define no model; the message names the offender.

    Examples
    --------
    A machine that fails more often when it is hot, and is repaired; what is seen is whether its output is good:

    >>> from rlsuite.inference import CovariateHMM
    >>> machine = CovariateHMM([1, 0], [[0.99, 0.01], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0, 2.0], [0, 0]])
    >>> machine.transitions([0.0, 1.0, 2.0])[:, 0].round(3).tolist()  # how far above the usual temperature
    [[0.99, 0.01], [0.931, 0.069], [0.645, 0.355]]
    >>> z, heat = [0, 0, 1, 0, 0, 0], [0, 2, 0, 0, 0, 0]
    >>> machine.smooth(z, heat)[2].round(3).tolist(), machine.smooth(z, [0] * 6)[2].round(3).tolist()
    ([0.285, 0.715], [0.951, 0.049])
    """

    @classmethod
    @says_what_to_write
    def from_hmm(cls, hmm: HMM, n_covariates: int) -> Self:
        """Return the plain model as one whose slopes are all 0: a start for learning.

        Raises
        ------
        ParameterError
            If it is not an `HMM`, or the number of covariates is not positive.
        """
        states = hmm.n_states
        slope = np.zeros((states, states, whole_number("n_covariates", n_covariates)))
        return cls(hmm.start, hmm.dense_transition, hmm.emission, slope, None, hmm.state_labels)

    # ------------------------------------------------------------------------------------------------ inference

    def transitions(self, covariates: ArrayLike) -> FloatArray:
        """Return the transition matrices at covariates (T, D): (T, K, K) float64.

        Raises
        ------
        ModelError
            If the covariates are malformed.
        """
        return np.exp(self.log_matrices(covariate_rows("covariates", covariates, self.n_covariates)))

    def at(self, covariates: ArrayLike) -> HMM:
        """Return the plain model in which the covariates stay as given, (D,); a number will do for one covariate.

        Raises
        ------
        ModelError
            If the covariates are malformed.
        """
        point = cast("ArrayLike", [covariates])
        return HMM(self.start, self.transitions(point)[0], self.emission, self.state_labels)

    @says_what_to_write
    def score(self, z: Observations, covariates: Observations, lengths: ArrayLike | None = None) -> float:
        """Return ln Pr[z | covariates], summed over the sequences, in nats; minus infinity if one is impossible."""
        return Passes(self, self._seen(z, covariates, lengths)).total()

    @says_what_to_write
    def filter(
        self, z: Observations, covariates: Observations, lengths: ArrayLike | None = None
    ) -> FloatArray | list[FloatArray]:
        """Return Pr[x_t = k | z_0..z_t]: (T, K) float64, or a list of them.

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(Passes.filtered, z, covariates, lengths)

    @says_what_to_write
    def smooth(
        self, z: Observations, covariates: Observations, lengths: ArrayLike | None = None
    ) -> FloatArray | list[FloatArray]:
        """Return Pr[x_t = k | all observations]: (T, K) float64, or a list of them.

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(lambda passes, n: passes.smoothed(n, np.empty((0, 0, 0)))[0], z, covariates, lengths)

    @says_what_to_write
    def decode(
        self, z: Observations, covariates: Observations, lengths: ArrayLike | None = None
    ) -> IndexArray | list[IndexArray]:
        """Return the most probable path of hidden states, the first of equals: (T,) int64, or a list of them.

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(Passes.best_path, z, covariates, lengths)

    predict = decode
    predict_proba = smooth

    def _each(
        self,
        infer: Callable[[Passes, int], Array],
        z: Observations,
        covariates: Observations,
        lengths: ArrayLike | None,
    ) -> Array | list[Array]:
        """Return what is inferred about each sequence, with a row for each observation."""
        passes = Passes(self, self._seen(z, covariates, lengths))
        data = passes.seen.data
        return data.split(cast("Array", np.concatenate([infer(passes, n) for n in range(len(data))])))

    def _seen(self, z: Observations, covariates: Observations, lengths: ArrayLike | None) -> WithCovariates:
        return with_covariates(self.emission, z, covariates, lengths, self.n_covariates)

    @says_what_to_write
    def sample(self, covariates: ArrayLike, *, seed: Seed | None = None) -> tuple[AnyArray, IndexArray]:
        """Draw a sequence as long as the covariates.

        Parameters
        ----------
        covariates : array_like (n, D)
            The last row leads nowhere.
        seed : int, SeedSequence or Generator, optional
            Where the random numbers come from; by default from the operating system, other ones each time.

        Returns
        -------
        z : ndarray (n,) or (n, d)
            Observations.
        states : ndarray (n,) int64
            The hidden states that emitted them.

        Raises
        ------
        ModelError
            If the covariates are malformed, or there are none.
        """
        points = covariate_rows("covariates", covariates, self.n_covariates)
        if not len(points):
            raise ModelError("covariates has no rows: there are as many observations as rows")
        rng = np.random.default_rng() if seed is None else generator(seed)
        cumulative = _cumulative(np.exp(self.log_matrices(points)))
        draw = rng.random(len(points))
        states = np.empty(len(points), dtype=np.int64)
        row = _cumulative(self.start)
        for t in range(len(points)):
            states[t] = np.count_nonzero(row <= draw[t])
            row = cumulative[t, states[t]]
        return self.emission.sample(states, rng), states

    # ------------------------------------------------------------------------------------------------- learning

    @says_what_to_write
    def fit(
        self,
        z: Observations,
        covariates: Observations,
        lengths: ArrayLike | None = None,
        *,
        states: Observations | None = None,
        restarts: int = 1,
        prior: float | None = None,
        ridge: float = 0.0,
        frozen: Iterable[str] = (),
        held_out: tuple[Observations, Observations] | None = None,
        max_iterations: int = 1000,
        tol: float = 1e-6,
        seed: Seed = 0,
        deadline: float | None = None,
        progress: bool = False,
    ) -> FittedCovariateHMM:
        """Learn a model from observations and covariates by expectation maximisation, beginning with this one.

        The M-step for the transitions from each state is a multinomial logistic regression on the expected moves. What
        is impossible stays impossible, and states that are not visited stay as they are. The `center` of the result is
        the mean of the covariates, so that its `transition` is the matrix at their mean.

        Parameters
        ----------
        z, covariates, lengths
            Observations and covariates; some of the observations may be missing.
        states : array_like (T,) of int, or list of arrays, optional
            Hidden states as far as they are known, -1 where they are not, in the same form as `z`.
        restarts : int
            Number of starts: the first from this model, the others with random chains and emissions, and slopes of 0.
            The most probable result is returned.
        prior : float, optional
            Added to the counts of first states, and to those of all possible transitions at the mean of the covariates;
            and a prior of the emission.
        ridge : float
            What is maximised has ridge / 2 times the sum of the squared slopes less, each per standard deviation of its
            covariate. It makes slopes finite where the covariates tell for certain which transitions occur.
        frozen : iterable of str
            What stays as it is: "start", "transition" with its slopes, "emission", or a part of it, such as "mean".
        held_out : tuple (z, covariates), optional
            Observations that are not learned from, with their covariates; their log-likelihood after every iteration is
            `learning.held_out_`.
        max_iterations, tol, seed, deadline, progress
            As for `HMM.fit`.

        Returns
        -------
        FittedCovariateHMM
            The learned model; its `learning` says how it was learned.

        Raises
        ------
        ModelError
            If observations or covariates are malformed, impossible from every start, or a covariate is constant or a
            combination of others.
        ParameterError
            If an argument is out of range.

        Warns
        -----
        ConvergenceWarning
            If a limit came first, or no finite slopes are the most probable.

        Examples
        --------
        >>> import numpy as np
        >>> from rlsuite.inference import CovariateHMM, Gaussian
        >>> levels = Gaussian([0.0, 3.0], [1.0, 1.0])
        >>> truth = CovariateHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], levels, slope=[[0, 1.5], [0, 0]])
        >>> x = np.random.default_rng(0).normal(size=5_000)
        >>> z, _ = truth.sample(x, seed=1)
        >>> found = CovariateHMM.from_hmm(truth.at(0.0), n_covariates=1).fit(z, covariates=x)
        >>> found.slope[0, 1].round(1).tolist(), found.standard_errors(z, x).slope[0, 1].round(2).tolist()
        ([1.5], [0.09])
        """
        parts = frozen_parts(self, frozen)
        starts = whole_number("restarts", restarts)
        limits = Limits(tol, max_iterations)
        if finite_number("ridge", ridge) < 0.0:
            raise ParameterError(f"ridge={ridge:g} is negative; it is at least 0")
        rng = generator(seed)
        clock = CompilingClock("expectation maximisation", deadline=deadline, progress=progress)
        seen = self._seen(z, covariates, lengths)
        problem = CovariateEM(
            self,
            seen,
            columns_of(seen, penalised=ridge > 0.0),
            prior,
            float(ridge),
            None if states is None else known_states(states, seen.data, self.n_states).combined(seen.row),
            parts,
            None if held_out is None else self._seen(*_pair(held_out), None),
        )
        with clock, one_thread():
            best, reached = best_of_starts(problem, problem.starts(self, starts, rng), limits, clock)
        record = record_of(
            best,
            reached,
            n_observations=int(np.count_nonzero(~self.emission.missing(seen.data.z))),
            n_parameters=self._n_learned(parts),
            seconds=clock.seconds,
        )
        warn_of_collapse(best.model.emission)
        problem.warn_of_separation(best.model)
        return FittedCovariateHMM(best.model, Learning(**record))

    def _n_learned(self, frozen: frozenset[str]) -> int:
        slopes = 0 if "transition" in frozen else self.n_covariates * (self.n_transitions - self.n_states)
        return n_learned(self, frozen) + slopes

    @says_what_to_write
    def standard_errors(
        self, z: Observations, covariates: Observations, lengths: ArrayLike | None = None
    ) -> Coefficients:
        """Return the standard errors of the coefficients of a model that was learned from these observations.

        They come from the observed information about all coefficients together: minus the second derivative of the
        log-likelihood, whose gradient is that of the expected one (Fisher's identity; Louis 1982). Start and emission
        count as known, so that the errors are too small where the states are hard to tell apart. NaN stands for what is
        not free, infinity for what the observations leave open.

        Raises
        ------
        ModelError
            If the arguments are malformed, or the log-likelihood has no maximum near this model; a ridge moves it away.
        """
        seen = self._seen(z, covariates, lengths)
        problem = CovariateEM(self, seen, columns_of(seen, penalised=False), None, 0.0)
        return problem.standard_errors(centered(self, problem.columns.mean))

    @says_what_to_write
    def replace(  # pyright: ignore[reportIncompatibleMethodOverride] - slopes are one thing more, and "Self" less
        self,
        *,
        start: ArrayLike | None = None,
        transition: ArrayLike | None = None,
        emission: ArrayLike | Emission | None = None,
        slope: ArrayLike | None = None,
        center: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
    ) -> CovariateHMM:
        """Return a plain model with some parts changed, checked again."""
        return CovariateHMM(
            self.start if start is None else start,
            self.dense_transition if transition is None else transition,
            self.emission if emission is None else emission,
            self.slope if slope is None else slope,
            self.center if center is None else center,
            self.state_labels if state_labels is None else state_labels,
        )

    # ---------------------------------------------------------------------------------------------------- files

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `write` wrote.

        Raises
        ------
        FileError
            If the file is missing, damaged, or holds something else.
        """
        with reading_parts(path, KIND) as (parts, arrays):
            start, transition, emission, labels = parts
            slope, center = arrays.take("slope"), arrays.take("center")
            return cls(start, cast("FloatArray", transition), emission, slope, center, labels)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.npz`` file, atomically.

        Raises
        ------
        FileError
            If the file cannot be written, or the emission consists of functions.
        """
        write_model(self, path, KIND, {"slope": self.slope, "center": self.center})

    def __reduce__(self) -> tuple[type[CovariateHMM], tuple[object, ...]]:
        parts = (self.start, self.dense_transition, self.emission, self.slope, self.center, self.state_labels)
        return CovariateHMM, parts

    def __repr__(self) -> str:
        sizes = f"n_states={self.n_states}, n_covariates={self.n_covariates}"
        return f"{type(self).__name__}({sizes}, emission={type(self.emission).__name__})"


class FittedCovariateHMM(CovariateHMM):
    """A hidden Markov model with covariates, and how it was learned.

    Attributes
    ----------
    learning : Learning
        Log-likelihoods, iterations, convergence, criteria.
    """

    learning: Learning

    # what is made from this model is a plain one
    read = CovariateHMM.read  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    from_hmm = CovariateHMM.from_hmm  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self, model: CovariateParameters, learning: Learning) -> None:
        super().__init__(
            model.start, model.dense_transition, model.emission, model.slope, model.center, model.state_labels
        )
        object.__setattr__(self, "learning", learning)


def _pair(held_out: tuple[Observations, Observations]) -> tuple[Observations, Observations]:
    """Return observations and their covariates."""
    if not isinstance(cast("object", held_out), tuple) or len(held_out) != 2:
        raise ParameterError("held_out is no pair: give observations with their covariates, held_out=(z, covariates)")
    return held_out


def _cumulative(rows: FloatArray) -> FloatArray:
    """Return cumulative probabilities that end in infinity, from the last possible outcome on."""
    total = np.cumsum(rows, axis=-1)
    later = np.cumsum(rows[..., ::-1], axis=-1)[..., ::-1]
    return np.where(np.append(later[..., 1:], np.zeros((*rows.shape[:-1], 1)), axis=-1) == 0.0, np.inf, total)
