"""Hidden Markov models: a Markov chain whose states are observed only through what they emit (R89 section II)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import isabstract, signature
from os import PathLike
from typing import ClassVar, NamedTuple, Self, Unpack, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import Seed, generator, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.npz import Npz
from rlsuite.errors import FileError, ModelError, ParameterError
from rlsuite.inference import emissions, forward_backward, from_complete_data, paths, smoothing, viterbi
from rlsuite.inference.baum_welch import BaumWelch, Prior, frozen_parts, n_learned, warn_of_collapse
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.expectation_maximisation import Learning, Limits, best_of_starts, record_of
from rlsuite.inference.forward_backward import OnlineFilter, log_likelihoods
from rlsuite.inference.parameters import Changes, HMMParameters, SparseMatrix, csr
from rlsuite.inference.sequences import Observations, known_states, sequences
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray
from rlsuite.models.files import reading_model, text, text_in, write_arrays


@compiled(in_place=True)
def draw_path(
    start: FloatArray,
    indptr: IndexArray,
    column: IndexArray,
    cumulative: FloatArray,
    rng: np.random.Generator,
    path: IndexArray,
) -> None:
    """Fill a path of the chain, whose rows are given by cumulative probabilities that end in infinity."""
    path[0] = np.searchsorted(start, rng.random(), side="right")
    for t in range(1, path.size):
        low, high = indptr[path[t - 1]], indptr[path[t - 1] + 1] - 1
        draw = rng.random()
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > draw:
                high = middle
            else:
                low = middle + 1
        path[t] = column[low]


class HMM(HMMParameters):
    """A hidden Markov model with K states; immutable.

    Time begins with the first observation: z_0 is emitted by x_0 ~ start, then x_1 follows x_0 and emits z_1, and so
    on. Wherever a method takes observations `z`, it takes one sequence; several laid end to end, with their `lengths`;
    or a list of arrays. An observation may be missing: the symbol -1, or a row of NaN where observations are real.

    Parameters
    ----------
    start : array_like (K,)
        Pr[x_0 = k].
    transition : array_like (K, K) or scipy.sparse matrix
        ``transition[i, j]`` = Pr[x_{t+1} = j | x_t = i]. Zeros are legal; where there are many, they are passed over.
    emission : array_like (K, M) or Emission
        ``emission[k, z]`` = Pr[z_t = z | x_t = k] for symbols z = 0..M-1, or an emission of
        `rlsuite.inference.emissions`.
    state_labels : sequence of str, optional
        K distinct names.

    Raises
    ------
    ModelError
        If the arrays define no model; the message names the offender.

    Examples
    --------
    The umbrella world: it rains or not, and the weather is inferred from umbrellas.

    >>> import numpy as np
    >>> from rlsuite.inference import HMM
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], state_labels=["rain", "dry"])
    >>> umbrella, none, missing = 0, 1, -1
    >>> z = [missing, umbrella, umbrella]
    >>> hmm.filter(z).round(6).tolist()
    [[0.5, 0.5], [0.818182, 0.181818], [0.883357, 0.116643]]
    >>> hmm.smooth(z)[1].round(6).tolist(), round(float(np.exp(hmm.score(z))), 6)
    ([0.883357, 0.116643], 0.3515)
    >>> hmm.decode(z).tolist()
    [0, 0, 0]
    """

    not_here: ClassVar[str] = (
        "; the number of states is that of the arrays (random_hmm draws such arrays), and fit(z, max_iterations=..., "
        "tol=..., seed=...) begins to learn with them"
    )

    # Inference: each method is a function of `rlsuite.inference`, whose first argument is the model.

    forward = forward_backward.forward
    backward = forward_backward.backward
    filter = forward_backward.filter
    smooth = smoothing.smooth
    decode = viterbi.decode
    best_paths = paths.best_paths
    sample_paths = paths.sample_paths
    predict_ahead = forward_backward.predict_ahead

    predict = viterbi.decode  # as in scikit-learn
    predict_proba = smoothing.smooth

    def score(self, z: Observations, lengths: ArrayLike | None = None) -> float:
        """Return ln Pr[z], summed over the sequences, in nats; minus infinity if one is impossible."""
        return float(log_likelihoods(self, z, lengths).sum())

    def online(self) -> OnlineFilter:
        """Return a filter that takes one observation at a time; see `rlsuite.inference.OnlineFilter`."""
        return OnlineFilter(self)

    @says_what_to_write
    def sample(self, n: int, *, seed: Seed | None = None) -> tuple[AnyArray, IndexArray]:
        """Draw a sequence.

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
        >>> from rlsuite.inference import HMM
        >>> clock = HMM([1, 0, 0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[1, 0], [1, 0], [0, 1]])
        >>> z, states = clock.sample(6, seed=0)
        >>> z.tolist(), states.tolist()
        ([0, 0, 1, 0, 0, 1], [0, 1, 2, 0, 1, 2])
        """
        n = whole_number("n", n)
        rng = np.random.default_rng() if seed is None else generator(seed)
        csr = self.sparse_transition
        indptr = np.asarray(csr.indptr, dtype=np.int64)
        running = np.cumsum(csr.data)
        before = np.concatenate([[0.0], running])[indptr[:-1]]
        cumulative = running - np.repeat(before, np.diff(indptr))
        cumulative[indptr[1:] - 1] = np.inf
        possible = np.flatnonzero(self.start)
        start = np.cumsum(self.start)
        start[possible[-1] :] = np.inf
        path = np.empty(n, dtype=np.int64)
        draw_path(start, indptr, np.asarray(csr.indices, dtype=np.int64), cumulative, rng, path)
        return self.emission.sample(path, rng), path

    # ------------------------------------------------------------------------------------------------ learning

    @says_what_to_write
    def fit(
        self,
        z: Observations,
        lengths: ArrayLike | None = None,
        *,
        states: Observations | None = None,
        restarts: int = 1,
        prior: float | Prior | None = None,
        frozen: Iterable[str] = (),
        held_out: Observations | None = None,
        max_iterations: int = 1000,
        tol: float = 1e-6,
        seed: Seed = 0,
        deadline: float | None = None,
        progress: bool = False,
    ) -> FittedHMM:
        """Learn a model from observations by expectation maximisation (Baum-Welch), beginning with this one.

        What is impossible in it stays impossible, and states that are not visited stay as they are.

        Parameters
        ----------
        z, lengths
            Observations, as everywhere in `rlsuite.inference`; some may be missing.
        states : array_like (T,) of int, or list of arrays, optional
            Hidden states as far as they are known, -1 where they are not, in the same form as `z`.
        restarts : int
            Number of starts: the first from this model, the others from random parts where `frozen` does not forbid it.
            The most probable result is returned.
        prior : float or Prior, optional
            One number is added to the counts of all that is possible in this model, and a prior for the emission: what
            is maximised is then the likelihood times the density of the prior. By default, the likelihood.
        frozen : iterable of str
            What stays as it is: "start", "transition", "emission", or a part of the emission, such as "mean".
        held_out : array_like or list of arrays, optional
            Observations that are not learned from; their log-likelihood after every iteration is `learning.held_out_`.
        max_iterations : int
            Limit on the iterations from each start.
        tol : float
            The last iteration is the first that gains at most this many nats for each observation. With 0, all
            iterations are done as long as anything is gained.
        seed : int, SeedSequence or Generator
            Where random starts come from.
        deadline : float, optional
            Number of seconds after which the best model so far is returned; so it is after Ctrl-C. The clock is checked
            after each iteration.
        progress : bool
            Whether to show a progress bar on stderr.

        Returns
        -------
        FittedHMM
            The learned model; its `learning` says how it was learned.

        Raises
        ------
        ModelError
            If the observations are malformed, or impossible from every start; the message says at which t.
        ParameterError
            If an argument is out of range.

        Warns
        -----
        ConvergenceWarning
            If a limit came first.

        Examples
        --------
        One iteration by hand:

        >>> from rlsuite.inference import HMM
        >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
        >>> learned = health.fit([0, 1, 2], max_iterations=1, tol=0)
        >>> learned.transition.round(4).tolist(), learned.emission.table.round(4).tolist()
        ([[0.5024, 0.4976], [0.1634, 0.8366]], [[0.5121, 0.364, 0.1239], [0.0958, 0.2927, 0.6115]])
        """
        parts = frozen_parts(self, frozen)
        starts = whole_number("restarts", restarts)
        limits = Limits(tol, max_iterations)
        rng = generator(seed)
        clock = CompilingClock("Baum-Welch", deadline=deadline, progress=progress)
        data = sequences(self.emission, z, lengths)
        problem = BaumWelch(
            self,
            data,
            known=None if states is None else known_states(states, data, self.n_states),
            prior=prior,
            frozen=parts,
            others=None if held_out is None else sequences(self.emission, held_out),
        )
        with clock:
            best, reached = best_of_starts(problem, problem.starts(self, starts, rng), limits, clock)
        record = record_of(
            best,
            reached,
            n_observations=int(np.count_nonzero(~self.emission.missing(data.z))),
            n_parameters=n_learned(self, parts),
            seconds=clock.seconds,
        )
        warn_of_collapse(best.model.emission)
        return FittedHMM(best.model, Learning(**record))

    @classmethod
    @says_what_to_write
    def from_states(
        cls,
        z: Observations,
        states: Observations,
        lengths: ArrayLike | None = None,
        *,
        n_states: int | None = None,
        n_symbols: int | None = None,
        emission: str | Emission | Callable[[int, np.random.Generator], Emission] = "categorical",
        prior: float | Prior = 0.0,
        state_labels: Sequence[str] | None = None,
    ) -> Self:
        """Learn a model from observations and the hidden states that made them, by counting.

        Parameters
        ----------
        z, lengths
            Observations, as everywhere in `rlsuite.inference`; missing ones count for nothing.
        states : array_like (T,) of int, or list of arrays
            The hidden states, all of them; `HMM.fit` takes some. In the same form as `z`.
        n_states, n_symbols : int, optional
            K and M; by default what occurs.
        emission : str, Emission or callable
            As in `random_hmm`; or an emission, whose distribution is kept where a state was not visited.
        prior : float or Prior
            Pseudo-counts c, 0 for none.
        state_labels : sequence of str, optional
            K distinct names.

        Returns
        -------
        HMM
            The model.

        Raises
        ------
        ModelError
            If a state is missing; or if there is no prior, and a state does not occur or is never left.
        ParameterError
            If an argument is out of range.

        Examples
        --------
        >>> from rlsuite.inference import HMM
        >>> weather = HMM.from_states([0, 0, 1, 1, 0], states=[0, 0, 1, 1, 1], prior=1, n_symbols=2)
        >>> weather.transition.round(3).tolist(), weather.emission.table.round(3).tolist()
        ([[0.5, 0.5], [0.25, 0.75]], [[0.75, 0.25], [0.4, 0.6]])
        """
        found = from_complete_data.estimate(z, states, lengths, n_states, n_symbols, emission, prior)
        warn_of_collapse(found[2])
        return cls(*found, state_labels)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `write` wrote.

        Raises
        ------
        FileError
            If the file is missing, truncated, from elsewhere, or holds no valid model.
        """
        with reading_parts(path) as (parts, _):
            return cls(*parts)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.npz`` file, atomically.

        Raises
        ------
        FileError
            If the name does not end in ``.npz``, the file cannot be written, or the emission is a function.
        """
        write_model(self, path)

    def __repr__(self) -> str:
        return f"HMM(n_states={self.n_states}, emission={type(self.emission).__name__})"


class FittedHMM(HMM):
    """A hidden Markov model, and how it was learned.

    It is an `HMM` in every respect. `replace`, `read` and `from_states` return a plain one, which was not learned so.

    Attributes
    ----------
    learning : Learning
        Everything about the run of expectation maximisation; the most common fields are here, too.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> guess = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> learned = guess.fit([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> learned.converged, learned.n_states, learned.score([0, 0, 0, 1, 1, 1, 0, 0, 0]) > -5.0
    (True, 2, True)
    """

    learning: Learning

    def __init__(self, model: HMMParameters, learning: Learning) -> None:
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

    # The record of learning is not kept in files, and does not hold for a changed copy: these three return an HMM.

    read = HMM.read  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - see above
    from_states = HMM.from_states  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - see above

    def replace(self, **changes: Unpack[Changes]) -> HMM:  # pyright: ignore[reportIncompatibleMethodOverride] - see above
        """Return a plain model with some fields changed, checked again."""
        return self._plain().replace(**changes)

    def _plain(self) -> HMM:
        return HMM(self.start, self.transition, self.emission, self.state_labels)

    def __reduce__(self) -> tuple[type[HMM], tuple[object, ...]]:
        return type(self), (self._plain(), self.learning)


# --------------------------------------------------------------------------------------------------- files

# One ``.npz`` of plain arrays, as for the other models. An emission is stored as the name of its class, and what its
# constructor takes under names that begin with its own: ``emission``, ``emission.table``. Where it consists of other
# emissions, these are stored in the same way: ``emission.channels.0``, ``emission.channels.0.table``.

KIND = "HMM"
SPARSE_ARRAYS = "transition.data", "transition.indices", "transition.indptr"


fit = HMM.fit
from_states = HMM.from_states


class Parts(NamedTuple):
    """What all hidden Markov models have, as a file holds it."""

    start: FloatArray
    transition: FloatArray | SparseMatrix
    emission: Emission
    state_labels: tuple[str, ...] | None


def write_model(
    model: HMMParameters, path: str | PathLike[str], kind: str = KIND, more: Mapping[str, AnyArray] | None = None
) -> None:
    """Write a model, with more arrays if its class has them; see `HMM.write`."""
    arrays: dict[str, AnyArray] = {"start": model.start, **(more or {})}
    if isinstance(model.transition, np.ndarray):
        arrays["transition"] = model.transition
    else:
        matrix = model.transition
        arrays |= dict(zip(SPARSE_ARRAYS, (matrix.data, matrix.indices, matrix.indptr), strict=True))
    try:
        arrays |= dict(emission_arrays("emission", model.emission))
    except NotImplementedError as cause:
        raise FileError(f"{path} cannot be written: {cause}") from cause
    if model.state_labels is not None:
        arrays["state_labels"] = text(model.state_labels)
    write_arrays(path, kind, arrays)


@contextmanager
def reading_parts(path: str | PathLike[str], kind: str = KIND) -> Generator[tuple[Parts, Npz]]:
    """Yield what a file holds of a model of that kind, and the arrays that its class has beside; see `HMM.read`."""
    with reading_model(path, kind) as arrays:
        if "start" not in arrays or not ("transition" in arrays or arrays.headers.keys() >= set(SPARSE_ARRAYS)):
            raise FileError(f"{path} is malformed: it has no start or no transition")
        try:
            start = arrays.take("start")
            transition = arrays.take("transition") if "transition" in arrays else _sparse(arrays, start.size)
            labels = arrays.take("state_labels") if "state_labels" in arrays else None
            emission = emission_from(path, "emission", arrays)
            named = None if labels is None else tuple(text_in(path, "state_labels", labels))
            yield Parts(start, transition, emission, named), arrays
        except (KeyError, ModelError, ParameterError, TypeError, ValueError, IndexError) as cause:
            raise FileError(f"{path} holds no valid model: {cause}") from cause


def _sparse(arrays: Npz, n: int) -> SparseMatrix:
    """The transitions (n, n) as a SciPy array, its indices inside its rows and columns."""
    data, indices, indptr = (arrays.take(name, ndim=1) for name in SPARSE_ARRAYS)
    matrix = csr(data, indices, indptr, n)
    matrix.check_format(full_check=True)
    return matrix


def emission_arrays(name: str, emission: Emission) -> Iterator[tuple[str, AnyArray]]:
    """Yield the arrays of an emission for a file, each with its name; those of inner emissions, too."""
    yield name, text(type(emission).__name__)
    for field, value in emission.arrays().items():
        if isinstance(value, Emission):
            yield from emission_arrays(f"{name}.{field}", value)
        elif isinstance(value, tuple):
            yield f"{name}.{field}", text("")
            for number, one in enumerate(cast("tuple[Emission, ...]", value)):
                yield from emission_arrays(f"{name}.{field}.{number}", one)
        else:
            yield f"{name}.{field}", np.asarray(value)


def emission_from(path: str | PathLike[str], name: str, arrays: Npz, given: AnyArray | None = None) -> Emission:
    """Return the emission of that name, and take its arrays; its class, too, unless it is `given`."""
    if given is None and name not in arrays:
        raise FileError(f"{path} is malformed: it has no {name}")
    kind = text_in(path, name, arrays.take(name) if given is None else given)
    found: object = getattr(emissions, kind, None) if isinstance(kind, str) else None
    if not isinstance(found, type) or not issubclass(found, Emission) or isabstract(found):
        raise FileError(f"{path} has an emission of the kind {kind!r}, which this version of rlsuite does not know")
    values: dict[str, object] = {}
    own = f"{name}."
    taken = signature(found).parameters
    for field in arrays.below(own):
        bare = field.removeprefix(own)
        if bare in taken:
            values[bare] = _value(path, field, arrays)
    return cast("Callable[..., Emission]", found)(**values)


def _value(path: str | PathLike[str], field: str, arrays: Npz) -> object:
    if arrays.headers[field].dtype != np.uint8:
        value = arrays.take(field)
        return value.item() if value.ndim == 0 else value
    kind = arrays.take(field)
    if text_in(path, field, kind) != "":
        return emission_from(path, field, arrays, kind)
    number = 0
    inner: list[Emission] = []
    while f"{field}.{number}" in arrays:
        inner.append(emission_from(path, f"{field}.{number}", arrays))
        number += 1
    return tuple(inner)
