"""Hidden Markov models: a Markov chain whose states are observed only through what they emit (R89 section II)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.sequences import Observations
from rlsuite.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray, SparseLike
from rlsuite.models.row_checks import chain_rows

if TYPE_CHECKING:
    from os import PathLike

    from scipy.sparse import csr_array

    from rlsuite.inference.fitted import FittedHMM
    from rlsuite.inference.online import OnlineFilter
    from rlsuite.inference.parameters import Prepared
    from rlsuite.inference.sampling import Seed


@dataclass(frozen=True, eq=False, repr=False)
class HMM(SaysWhatToWrite):
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
        "; a model has as many states as its arrays say (random_hmm draws such arrays), and fit(z, max_iterations=..., "
        "tol=..., seed=...) learns from them on"
    )

    start: FloatArray
    transition: FloatArray | csr_array[np.float64]
    emission: Emission
    state_labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        start = validation.floats("start", self.start)
        if start.ndim != 1 or start.size < 1:
            raise ModelError(f"start has shape {start.shape}, not (K,): one probability for each state")
        validation.distribution("start", start)
        states = start.size
        object.__setattr__(self, "start", validation.frozen(start, self.start))
        object.__setattr__(self, "transition", _checked_transition(self.transition, states))
        emission = cast("object", self.emission)
        if not isinstance(emission, Emission):
            emission = Categorical(cast("FloatArray", emission))
        if emission.n_states != states:
            raise ModelError(f"the emission has {emission.n_states} states, but start has {states}")
        object.__setattr__(self, "emission", emission)
        object.__setattr__(self, "state_labels", validation.labels("state_labels", self.state_labels, states))

    # ------------------------------------------------------------------------------------------- properties

    @property
    def n_states(self) -> int:
        """K."""
        return self.start.size

    @property
    def n_transitions(self) -> int:
        """Number of transitions that are possible."""
        if isinstance(self.transition, np.ndarray):
            return int(np.count_nonzero(self.transition))
        return int(cast("Any", self.transition).nnz)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them; what is 0 is not free."""
        free = int(np.count_nonzero(self.start)) - 1 + self.n_transitions - self.n_states
        return free + self.emission.n_parameters

    @property
    def dense_transition(self) -> FloatArray:
        """(K, K) float64: the transition matrix as an array."""
        if isinstance(self.transition, np.ndarray):
            return self.transition
        return cast("FloatArray", cast("Any", self.transition).toarray())

    @cached_property
    def sparse_transition(self) -> csr_array[np.float64]:
        """(K, K): the transition matrix without its zeros."""
        from scipy.sparse import csr_array

        return csr_array(self.transition)

    @cached_property
    def prepared(self) -> Prepared:
        """The model in the form that the compiled passes read."""
        from rlsuite.inference.parameters import Prepared

        return Prepared(self)

    # ---------------------------------------------------------------------------------------- the notes' words

    def forward(self, z: Observations, lengths: ArrayLike | None = None) -> Any:
        """Return alpha_t(k) = Pr[x_t = k, z_0..z_t], scaled; see `rlsuite.inference.forward`."""
        from rlsuite.inference.forward_backward import forward

        return forward(self, z, lengths)

    def backward(self, z: Observations, lengths: ArrayLike | None = None) -> Any:
        """Return beta_t(k) = Pr[z_{t+1}..z_T | x_t = k], scaled; see `rlsuite.inference.backward`."""
        from rlsuite.inference.forward_backward import backward

        return backward(self, z, lengths)

    def filter(self, z: Observations, lengths: ArrayLike | None = None) -> Any:
        """Return Pr[x_t = k | z_0..z_t]: (T, K) float64; see `rlsuite.inference.filter`."""
        from rlsuite.inference.forward_backward import filter as filtering

        return filtering(self, z, lengths)

    def smooth(self, z: Observations, lengths: ArrayLike | None = None, *, lag: int | None = None) -> Any:
        """Return Pr[x_t = k | z_0..z_T], or given z_0..z_{t+lag}: (T, K) float64; see `rlsuite.inference.smooth`."""
        from rlsuite.inference.prediction import smooth_with_lag
        from rlsuite.inference.smoothing import smooth

        return smooth(self, z, lengths) if lag is None else smooth_with_lag(self, z, lag, lengths)

    def decode(self, z: Observations, lengths: ArrayLike | None = None, *, checkpointed: bool = False) -> Any:
        """Return the most probable path of hidden states: (T,) int32; see `rlsuite.inference.decode`."""
        from rlsuite.inference.viterbi import decode

        return decode(self, z, lengths, checkpointed=checkpointed)

    @says_what_to_write
    def predict_ahead(self, z: Observations, steps: int, lengths: ArrayLike | None = None) -> Any:
        """Return Pr[x_{t+steps} = k | z_0..z_t]: (T, K) float64; see `rlsuite.inference.predict_ahead`."""
        from rlsuite.inference.prediction import predict_ahead

        return predict_ahead(self, z, steps, lengths)

    def online(self) -> OnlineFilter:
        """Return a filter that takes one observation at a time; see `rlsuite.inference.OnlineFilter`."""
        from rlsuite.inference.online import OnlineFilter

        return OnlineFilter(self)

    # -------------------------------------------------------------------------------------- scikit-learn's words

    def score(self, z: Observations, lengths: ArrayLike | None = None) -> float:
        """Return ln Pr[z], summed over the sequences, in nats; minus infinity if one is impossible."""
        from rlsuite.inference.forward_backward import log_likelihoods

        return float(log_likelihoods(self, z, lengths).sum())

    def predict(self, z: Observations, lengths: ArrayLike | None = None) -> Any:
        """Return the most probable path, as `decode` does."""
        return self.decode(z, lengths)

    def predict_proba(self, z: Observations, lengths: ArrayLike | None = None) -> Any:
        """Return Pr[x_t = k | z_0..z_T], as `smooth` does."""
        return self.smooth(z, lengths)

    def fit(self, z: Observations, lengths: ArrayLike | None = None, **options: Any) -> FittedHMM:
        """Learn a model from observations, beginning with this one; see `rlsuite.inference.fit` for the options.

        They are `states` (as far as they are known), `restarts`, `prior`, `frozen`, `held_out`, `max_iterations`,
        `tol`, `seed`, `deadline` and `progress`.
        """
        from rlsuite.inference.baum_welch import fit

        return fit(self, z, lengths, **options)

    @classmethod
    def from_states(
        cls, z: Observations, states: Observations, lengths: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Learn a model by counting, where the states are known; see `rlsuite.inference.from_states`."""
        from rlsuite.inference.from_complete_data import from_states

        found = from_states(z, states, lengths, **options)
        return cls(found.start, found.transition, found.emission, found.state_labels)

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
        from rlsuite.inference.sampling import sample

        return sample(self, n, seed)

    # --------------------------------------------------------------------------------------------------- files

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `write` wrote.

        Raises
        ------
        FileError
            If the file is missing, truncated, from elsewhere, or holds no valid model.
        """
        from rlsuite.inference.hmm_files import read

        return read(cls, path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.npz`` file, atomically.

        Raises
        ------
        FileError
            If the name does not end in ``.npz``, the file cannot be written, or the emission is a function.
        """
        from rlsuite.inference.hmm_files import write

        write(self, path)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, checked anew."""
        for name in changes:
            if name not in {"start", "transition", "emission", "state_labels"}:
                raise ParameterError(unknown("field", name, ("start", "transition", "emission", "state_labels")))
        return replace(self, **changes)

    def __repr__(self) -> str:
        return f"HMM(n_states={self.n_states}, emission={type(self.emission).__name__})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[HMM], tuple[object, ...]]:
        return type(self), (self.start, self.transition, self.emission, self.state_labels)


def _checked_transition(given: ArrayLike | SparseLike, states: int) -> FloatArray | csr_array[np.float64]:
    if hasattr(given, "tocsr"):
        from scipy.sparse import csr_array

        matrix = cast("Any", csr_array)(given, dtype=np.float64, copy=True)
        if matrix.shape != (states, states):
            raise ModelError(f"transition has shape {matrix.shape}, not {(states, states)}")
        validation.floats("transition.data", matrix.data)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        chain_rows(matrix.data, matrix.indptr)
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.setflags(write=False)
        return matrix
    table = validation.floats("transition", cast("ArrayLike", given))
    validation.shape("transition", table, (states, states), meaning="transition[i, j]")
    chain_rows(table.reshape(-1), np.arange(states + 1) * states)
    return validation.frozen(table, given)
