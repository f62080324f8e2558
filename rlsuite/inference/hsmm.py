"""Hidden semi-Markov models: each hidden state lasts as long as a distribution of its own says (Yu 2010).

In a plain hidden Markov model every duration is geometric: the most probable one is a single step. Here a segment of
state k lasts d steps with the probability p_k(d), and another state follows. The first segment begins with the first
observation; of the last one the end need not be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import Seed, generator, whole_number
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ModelError, ParameterError, unknown
from rlsuite.inference import dirichlet
from rlsuite.inference.baum_welch import warn_of_collapse
from rlsuite.inference.durations import (
    Durations,
    NegativeBinomialDurations,
    PoissonDurations,
    TableDurations,
    durations_of,
)
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.expectation_maximisation import Learning, Limits, best_of_starts, record_of
from rlsuite.inference.hmm import HMM, reading_parts, write_model
from rlsuite.inference.parameters import HMMParameters
from rlsuite.inference.segments import Passes, Tables
from rlsuite.inference.sequences import Array, Observations, Sequences, sequences, summed
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray
from rlsuite.models.files import text, text_in

KIND = "HSMM"


class Segments(NamedTuple):
    """The segments of a path: n of them."""

    state: IndexArray
    """(n,) int64"""
    begin: IndexArray
    """(n,) int64: the time of its first observation"""
    length: IndexArray
    """(n,) int64: in steps; the last one may have gone on"""


class SegmentCounts(NamedTuple):
    """Expected counts of hidden things, given the observations."""

    start: FloatArray
    """(K,) of first states"""
    moves: FloatArray
    """(K, K) of moves from segment to segment"""
    lasted: FloatArray
    """(K, D) of durations, also those whose end is not seen"""
    weight: FloatArray
    """(R, K) of the states, for each different observation"""


class HSMM(HMMParameters):
    """A hidden semi-Markov model with K states; immutable.

    Wherever a method takes observations `z`, it takes what `HMM` takes: one sequence; several end to end, with their
    `lengths`; or a list of arrays; with -1 or NaN where an observation is missing.

    Parameters
    ----------
    start : array_like (K,)
        Pr[x_0 = k]; a segment begins there.
    transition : array_like (K, K)
        ``transition[i, j]`` = Pr[the next segment is of j | one of i ends], 0 on the diagonal.
    emission : array_like (K, M) or Emission
        As for `HMM`.
    durations : array_like (K, D), PoissonDurations, NegativeBinomialDurations or TableDurations
        ``durations[k, d - 1]`` = Pr[a segment of k lasts d steps]; or a family.
    state_labels : sequence of str, optional
        K distinct names.

    Raises
    ------
    ModelError
        If the arrays define no model; the message names the offender.

    Examples
    --------
    A traffic light that is red for 4 or 5 and green for 3 seconds, seen through fog:

    >>> from rlsuite.inference import HSMM
    >>> light = HSMM([1, 0], [[0, 1], [1, 0]], [[0.7, 0.3], [0.3, 0.7]], [[0, 0, 0, 0.5, 0.5], [0, 0, 1, 0, 0]])
    >>> z = [0, 1, 0, 0, 1, 1, 0, 0, 0]
    >>> light.decode(z).tolist(), light.segments(z).length.tolist()
    ([0, 0, 0, 0, 1, 1, 1, 0, 0], [4, 3, 2])
    >>> light.durations.mean.tolist(), round(light.score(z), 6)
    ([4.5, 3.0], -5.429195)
    """

    what_to_write: ClassVar[str] = (
        "HSMM([0.5, 0.5], [[0, 1], [1, 0]], [[0.9, 0.1], [0.2, 0.8]], PoissonDurations([3.0, 8.0]))"
    )

    durations: Durations

    def __init__(
        self,
        start: ArrayLike,
        transition: ArrayLike,
        emission: ArrayLike | Emission,
        durations: ArrayLike | Durations,
        state_labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(start, transition, emission, state_labels)
        matrix = self.dense_transition
        if np.diagonal(matrix).any():
            k = int(np.argmax(np.diagonal(matrix) > 0.0))
            raise ModelError(
                f"transition[{k}, {k}] is {matrix[k, k]:g}: a segment of a state is followed by one of another state, "
                "and how long it lasts is what durations= says"
            )
        found = durations_of(durations)
        if found.n_states != self.n_states:
            raise ModelError(f"durations has {found.n_states} states, but start has {self.n_states}")
        object.__setattr__(self, "durations", found)

    @classmethod
    @says_what_to_write
    def from_hmm(cls, hmm: HMM, durations: str | int = "poisson") -> Self:
        """Return a model whose states last as long, on average, as those of a plain one: a start for learning.

        Parameters
        ----------
        hmm : HMM
            The plain model, in which a state lasts 1 / (1 - transition[k, k]) steps on average.
        durations : str or int
            "poisson"; "negative_binomial", with the shape 1, in which case nothing but the form has changed; or the
            number of columns of a table, in which the plain model's durations are cut off.

        Raises
        ------
        ParameterError
            If it is not an `HMM`, or there are no such durations.
        ModelError
            If a state is never left, or lasts so long that no table is long enough.

        Examples
        --------
        >>> from rlsuite.inference import HMM, HSMM
        >>> plain = HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.1, 0.9]])
        >>> HSMM.from_hmm(plain).durations.mean.round(9).tolist()
        [10.0, 5.0]
        """
        stay, moves = np.diagonal(hmm.dense_transition).copy(), hmm.dense_transition.copy()
        np.fill_diagonal(moves, 0.0)
        left = moves.sum(axis=1)
        if not left.all():
            k = int(np.argmin(left))
            more = "a model with durations has two at least" if hmm.n_states == 1 else "learn it with a prior"
            raise ModelError(f"state {k} of hmm is never left, so that nothing says what follows, and when: {more}")
        mean = np.maximum(1.0, 1.0 / left)
        found: Durations
        if durations == "poisson":
            found = PoissonDurations(mean)
        elif durations == "negative_binomial":
            found = NegativeBinomialDurations(mean, np.ones(hmm.n_states))
        elif isinstance(durations, str):
            families = ("negative_binomial", "poisson")
            raise ParameterError(f"{unknown('durations', durations, families)}; or the number of columns of a table")
        else:
            table = stay[:, np.newaxis] ** np.arange(whole_number("durations", durations))
            found = TableDurations(table / table.sum(axis=1, keepdims=True))
        return cls(hmm.start, moves / left[:, np.newaxis], hmm.emission, found, hmm.state_labels)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them; what is 0 is not free."""
        return super().n_parameters + self.durations.n_parameters

    # ------------------------------------------------------------------------------------------------ inference

    def score(self, z: Observations, lengths: ArrayLike | None = None) -> float:
        """Return ln Pr[z], summed over the sequences, in nats; minus infinity if one is impossible."""
        return _score(self, sequences(self.emission, z, lengths))

    def filter(self, z: Observations, lengths: ArrayLike | None = None) -> FloatArray | list[FloatArray]:
        """Return Pr[x_t = k | z_0..z_t]: (T, K) float64, or a list of them.

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(Passes.filtered, z, lengths)

    def smooth(self, z: Observations, lengths: ArrayLike | None = None) -> FloatArray | list[FloatArray]:
        """Return Pr[x_t = k | all observations]: (T, K) float64, or a list of them.

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(lambda passes: passes.smoothed(counting=False).posterior, z, lengths)

    def decode(self, z: Observations, lengths: ArrayLike | None = None) -> IndexArray | list[IndexArray]:
        """Return the most probable path of hidden states: (T,) int64, or a list of them.

        The last segment counts with the probability that it lasts as long as is seen, or longer (Guedon 2003).

        Raises
        ------
        ModelError
            If the observations are impossible.
        """
        return self._each(Passes.best_path, z, lengths)

    predict = decode
    predict_proba = smooth

    def _each(
        self, infer: Callable[[Passes], Array], z: Observations, lengths: ArrayLike | None
    ) -> Array | list[Array]:
        """Return what is inferred about each sequence, with a row for each observation."""
        data, tables = sequences(self.emission, z, lengths), Tables(self, self.durations.table)
        found = [infer(Passes(tables, data, n)) for n in range(len(data))]
        return data.split(cast("Array", np.concatenate(found)))

    def segments(self, z: Observations, lengths: ArrayLike | None = None) -> Segments | list[Segments]:
        """Return the segments of the most probable path, or a list of them if `z` is a list or has lengths."""
        data, tables = sequences(self.emission, z, lengths), Tables(self, self.durations.table)
        found: list[Segments] = []
        for n in range(len(data)):
            path = Passes(tables, data, n).best_path()
            begin = np.flatnonzero(np.append(True, path[1:] != path[:-1]))
            found.append(Segments(path[begin], begin, np.diff(np.append(begin, path.size))))
        return found if data.listed or lengths is not None else found[0]

    @says_what_to_write
    def sample(self, n: int, *, seed: Seed | None = None) -> tuple[AnyArray, IndexArray]:
        """Draw a sequence, the last segment of which is cut off at its end.

        Parameters
        ----------
        n : int
            Number of time steps, at least 1.
        seed : int, SeedSequence or Generator, optional
            Where the random numbers come from; by default from the operating system, other ones each time.

        Returns
        -------
        z : ndarray (n,) or (n, D)
            Observations.
        states : ndarray (n,) int64
            The hidden states that emitted them.

        Examples
        --------
        >>> from rlsuite.inference import HSMM
        >>> clock = HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0, 1], [0, 1, 0]])
        >>> clock.sample(8, seed=0)[1].tolist()
        [0, 0, 0, 1, 1, 0, 0, 0]
        """
        steps = whole_number("n", n)
        rng = np.random.default_rng() if seed is None else generator(seed)
        states = np.empty(steps, dtype=np.int64)
        table, matrix = self.durations.table, self.dense_transition
        number, longest = self.n_states, int(table.shape[1])
        state, t = int(rng.choice(number, p=self.start / self.start.sum())), 0
        while t < steps:
            lasts = 1 + int(rng.choice(longest, p=table[state]))
            states[t : t + lasts] = state
            t += lasts
            if t < steps:
                state = int(rng.choice(number, p=matrix[state] / matrix[state].sum()))
        return self.emission.sample(states, rng), states

    # ------------------------------------------------------------------------------------------------- learning

    @says_what_to_write
    def fit(
        self,
        z: Observations,
        lengths: ArrayLike | None = None,
        *,
        restarts: int = 1,
        prior: float | None = None,
        max_iterations: int = 1000,
        tol: float = 1e-6,
        seed: Seed = 0,
        deadline: float | None = None,
        progress: bool = False,
    ) -> FittedHSMM:
        """Learn a model from observations by expectation maximisation, beginning with this one.

        What is impossible in it stays impossible, durations longer than those of a table among it; states that are not
        visited stay as they are.

        Parameters
        ----------
        z, lengths
            Observations; some may be missing.
        restarts : int
            Number of starts: the first from this model, the others with random chains and emissions. The most probable
            result is returned.
        prior : float, optional
            Added to all counts of what is possible in this model, and a prior of the emission.
        max_iterations, tol, seed, deadline, progress
            As for `HMM.fit`.

        Returns
        -------
        FittedHSMM
            The learned model; its `learning` says how it was learned.

        Raises
        ------
        ModelError
            If the observations are malformed, or impossible from every start.
        ParameterError
            If an argument is out of range.

        Warns
        -----
        ConvergenceWarning
            If a limit came first.

        Examples
        --------
        >>> from rlsuite.inference import HSMM, PoissonDurations
        >>> true = HSMM([1, 0], [[0, 1], [1, 0]], [[0.9, 0.1], [0.1, 0.9]], PoissonDurations([6.0, 12.0]))
        >>> z, _ = true.sample(2_000, seed=0)
        >>> first = HSMM([0.5, 0.5], [[0, 1], [1, 0]], [[0.8, 0.2], [0.2, 0.8]], PoissonDurations([5.0, 5.0]))
        >>> first.fit(z).durations.mean.round(1).tolist()
        [6.3, 12.7]
        """
        starts = whole_number("restarts", restarts)
        limits = Limits(tol, max_iterations)
        rng = generator(seed)
        clock = CompilingClock("expectation maximisation", deadline=deadline, progress=progress)
        problem = _Learning(self, sequences(self.emission, z, lengths), prior)
        with clock:
            best, reached = best_of_starts(problem, problem.starts(self, starts, rng), limits, clock)
        record = record_of(
            best,
            reached,
            n_observations=int(np.count_nonzero(~self.emission.missing(problem.data.z))),
            n_parameters=self.n_parameters,
            seconds=clock.seconds,
        )
        warn_of_collapse(best.model.emission)
        return FittedHSMM(best.model, Learning(**record))

    @says_what_to_write
    def replace(  # pyright: ignore[reportIncompatibleMethodOverride] - durations are one thing more, and "Self" less
        self,
        *,
        start: ArrayLike | None = None,
        transition: ArrayLike | None = None,
        emission: ArrayLike | Emission | None = None,
        durations: ArrayLike | Durations | None = None,
        state_labels: Sequence[str] | None = None,
    ) -> HSMM:
        """Return a plain model with some parts changed, checked again."""
        return HSMM(
            self.start if start is None else start,
            self.dense_transition if transition is None else transition,
            self.emission if emission is None else emission,
            self.durations if durations is None else durations,
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
            family = Durations.families.get(str(text_in(path, "durations", arrays.take("durations"))))
            if family is None:
                raise FileError(f"{path} has durations of a kind that this version of rlsuite does not know")
            given = {name.removeprefix("durations."): arrays.take(name) for name in arrays.below("durations.")}
            return cls(parts.start, cast("FloatArray", parts.transition), parts.emission, family(**given), parts[3])

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.npz`` file, atomically.

        Raises
        ------
        FileError
            If the file cannot be written, or the emission consists of functions.
        """
        own = {f"durations.{name}": value for name, value in self.durations.arrays().items()}
        write_model(self, path, KIND, {"durations": text(type(self.durations).__name__), **own})

    def __reduce__(self) -> tuple[type[HSMM], tuple[object, ...]]:
        return HSMM, (self.start, self.transition, self.emission, self.durations, self.state_labels)

    def __repr__(self) -> str:
        kinds = f"emission={type(self.emission).__name__}, durations={type(self.durations).__name__}"
        return f"{type(self).__name__}(n_states={self.n_states}, {kinds})"


class FittedHSMM(HSMM):
    """A hidden semi-Markov model, and how it was learned.

    Attributes
    ----------
    learning : Learning
        Log-likelihoods, iterations, convergence, criteria.
    """

    learning: Learning

    # what is made from this model is a plain one
    read = HSMM.read  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    from_hmm = HSMM.from_hmm  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self, model: HSMM, learning: Learning) -> None:
        super().__init__(model.start, model.dense_transition, model.emission, model.durations, model.state_labels)
        object.__setattr__(self, "learning", learning)


def _score(model: HSMM, data: Sequences) -> float:
    tables = Tables(model, model.durations.table)
    return float(sum(Passes(tables, data, n).score() for n in range(len(data))))


@dataclass
class _Learning:
    """The problem: observations, the model to begin with, and the prior; its protocol is that of `run_em`."""

    model: HSMM
    data: Sequences
    prior: float | None

    def __post_init__(self) -> None:
        self.values, self.row = self.model.emission.distinct(self.data.z)
        self.pseudo = float(dirichlet.pseudo_counts("prior", self.prior, np.ones(1))[0])
        self.emission_prior = self.model.emission.resolve_prior(self.prior, self.data.z)

    @property
    def size(self) -> int:
        """Number of observations."""
        return len(self.data.z)

    def starts(self, model: HSMM, number: int, rng: np.random.Generator) -> Iterator[HSMM]:
        """Yield the model, and random ones with the same zeros and durations."""
        yield model
        for _ in range(number - 1):
            drawn = [rng.exponential(size=rows.shape) * (rows > 0.0) for rows in (model.start, model.dense_transition)]
            start, transition = (rows / rows.sum(axis=-1, keepdims=True) for rows in drawn)
            emission = model.emission.randomized(self.data.z, rng)
            yield HSMM(start, transition, emission, model.durations, model.state_labels)

    def expect(self, model: HSMM) -> tuple[float, SegmentCounts]:
        """Return the log-likelihood, and expected counts."""
        data = Sequences(model.emission, self.data.z, self.data.pieces)
        states, tables = model.n_states, Tables(model, model.durations.table)
        counts = SegmentCounts(
            np.zeros(states), np.zeros((states, states)), np.zeros(model.durations.table.shape), np.zeros((0, states))
        )
        total, posteriors = 0.0, list[FloatArray]()
        for n in range(len(data)):
            found = Passes(tables, data, n).smoothed()
            total += found.log_likelihood
            counts.start[:] += found.posterior[0]
            counts.moves[:] += found.moves
            counts.lasted[:] += found.lasted
            posteriors.append(found.posterior)
        return total, counts._replace(weight=summed(self.row, np.concatenate(posteriors), len(self.values)))

    def maximise(self, model: HSMM, counts: SegmentCounts) -> HSMM:
        """Return the most probable parameters given the counts; rows that were not visited stay as they are."""
        start, transition = (
            dirichlet.most_probable(given, np.where(rows > 0.0, self.pseudo, 0.0), rows)
            for given, rows in ((counts.start, model.start), (counts.moves, model.dense_transition))
        )
        emission = model.emission.fit_weighted(self.values, counts.weight, self.emission_prior, frozenset())
        durations = model.durations.fit_weighted(counts.lasted, self.pseudo)
        return HSMM(start, transition, emission, durations, model.state_labels)

    def log_likelihood(self, model: HSMM) -> float:
        """Return the log-likelihood of the observations, in nats."""
        return _score(model, Sequences(model.emission, self.data.z, self.data.pieces))

    def log_prior(self, model: HSMM) -> float:
        """Return the logarithm of the density of the parameters, in nats, up to a constant."""
        rows = [model.start, model.dense_transition]
        rows += [model.durations.table] if isinstance(model.durations, TableDurations) else []
        own = sum(dirichlet.log_density(table, np.where(table > 0.0, self.pseudo, 0.0)) for table in rows)
        return own + model.emission.log_prior(self.emission_prior)

    def held_out(self, model: HSMM) -> float:
        """Return NaN: nothing is held out."""
        return math.nan

    def explain_impossible(self, model: HSMM) -> str:
        """Return a sentence; the E-step raises a better one itself."""
        return "the observations are impossible under the model"
