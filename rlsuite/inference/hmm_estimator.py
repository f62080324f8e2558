"""What hidden Markov models that are scikit-learn's estimators have in common: from data to a learned model.

An estimator makes a first model from the data, learns it with `rlsuite.inference.HMM.fit`, and keeps it as ``hmm_``.
The rows of X follow each other in time, so that what is said about one depends on those around it.
"""

import re
import warnings
from abc import abstractmethod
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, TypeAlias

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, generator, one_of, whole_number
from rlsuite.core.keywords import SaysWhatToWrite, says_what_to_write
from rlsuite.errors import CollapseWarning, ModelError, ParameterError, level_of_the_caller
from rlsuite.features.checks import NotNumbers
from rlsuite.features.estimator_bases import BaseEstimator
from rlsuite.features.estimators import one_thread, scikit_learn
from rlsuite.features.feature_map import NotFitted
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.forward_backward import filtered
from rlsuite.inference.hmm import HMM, FittedHMM
from rlsuite.inference.parameters import Workspace
from rlsuite.inference.sequences import Sequences, sequences
from rlsuite.models.aliases import AnyArray, FloatArray, IndexArray
from rlsuite.synonyms import attribute_error

if TYPE_CHECKING:
    from sklearn.utils import Tags

LARGEST = 1e150
"""Numbers whose squares float64 holds are smaller."""
NUMBERS = "write numbers: of dates the days since the first, of words np.unique(words, return_inverse=True)[1]"

Init = Literal["kmeans", "random"]
INITS: tuple[Init, ...] = ("kmeans", "random")
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


class HMMEstimator(SaysWhatToWrite, BaseEstimator):
    """What the four have in common; each says which emission it begins with."""

    whole: ClassVar[bool] = False
    """Whether observations are whole numbers from 0 on."""

    hmm_: FittedHMM
    n_features_in_: int

    def __init__(
        self,
        n_states: int = 2,
        *,
        n_init: int = 1,
        init: Init = "kmeans",
        max_iter: int = 1000,
        tol: float = 1e-6,
        prior: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_states = n_states
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.prior = prior
        self.random_state = random_state

    # ------------------------------------------------------------------------------------------------- learning

    @says_what_to_write
    def fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> Self:
        """Learn a model from one sequence, or from several laid end to end.

        Parameters
        ----------
        X : array_like (n, d)
            Observations, one row each, in the order of time; NaN where a number is missing.
        y
            Ignored, as scikit-learn wants it; hidden states that are known are `states`.
        lengths : array_like (k,) of int, optional
            Lengths of the sequences, which add up to n; by default one of n.
        states : array_like (n,) of int, optional
            Hidden states as far as they are known; -1 where they are not.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range, X is not an array of numbers that suits the model, or y does
            not have n entries.
        ModelError
            If there are fewer observations than states, or lengths or states do not fit.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` came first.
        CollapseWarning
            If a state collapsed onto observations that are all the same; or if a column is the same in all of them, so
            that it tells no states apart.
        """
        self.check_parameters()
        observations = self._checked(X, reset=True)
        _check_unused(y, len(observations))
        if len(observations) < self.n_states:
            raise ModelError(
                f"{type(self).__name__} has {self.n_states} states, and there are fewer observations: "
                f"n_samples={len(observations)}"
            )
        self._warn_of_constants(observations)
        rng = _generator(self.random_state)
        z = self._handed(observations)
        first = HMM(*self._chain(rng), self._first_emission(observations, rng))
        guess = self._guessed(observations, states, rng)
        if guess is not None:
            first = self._counted(first, sequences(first.emission, z, lengths), guess)
        self.hmm_ = first.fit(
            z,
            lengths,
            states=states,
            restarts=self.n_init,
            prior=self.prior,
            max_iterations=self.max_iter,
            tol=self.tol,
            seed=rng,
        )
        return self

    def _warn_of_constants(self, observations: AnyArray) -> None:
        """Warn of columns (n, d) in which all numbers are equal, those that are missing left out."""
        for k, missing in enumerate(self._gone(observations).T):
            different = np.unique(observations[~missing, k])
            if len(different) < 2:
                only = " and ".join(f"{number:g}" for number in different) or "missing"
                warnings.warn(
                    f"column {k} of the observations is {only} in all rows: it tells no states apart, so leave it out",
                    CollapseWarning,
                    stacklevel=level_of_the_caller(),
                )

    def check_parameters(self) -> None:
        """Raise unless the parameters are valid; called by `fit`.

        Raises
        ------
        ParameterError
            If one is out of range; the message names it.
        """
        for name in ("n_states", "n_init", "max_iter"):
            whole_number(name, getattr(self, name))
        one_of("init", self.init, INITS)
        if finite_number("tol", self.tol) < 0.0:
            raise ParameterError(f"tol={self.tol!r} is negative")

    @abstractmethod
    def _first_emission(self, X: AnyArray, rng: np.random.Generator) -> Emission:
        """Return a random emission that suits the observations (n, d)."""

    def _chain(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        ones = np.ones(self.n_states)
        return rng.dirichlet(ones), rng.dirichlet(ones, size=self.n_states)

    def _guessed(self, X: AnyArray, states: ArrayLike | None, rng: np.random.Generator) -> IndexArray | None:
        """Return hidden states to begin with (n,), -1 for no guess: those that are known, else clusters of rows."""
        if states is not None:
            known = np.asarray(states)
            fits = known.shape == (len(X),) and np.issubdtype(known.dtype, np.integer)
            # `HMM.fit` says what is wrong
            return known.astype(np.int64) if fits and known.max() < self.n_states else None
        gone = self._gone(X)
        if self.init != "kmeans" or gone.all(axis=0).any():
            return None
        filled = np.where(gone, np.nan, X.astype(np.float64))
        filled = np.where(gone, np.nanmean(filled, axis=0), filled)
        spread = filled.std(axis=0)
        scaled = (filled - filled.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        if len(np.unique(scaled, axis=0)) < self.n_states:
            return None
        kmeans = scikit_learn("cluster").KMeans(self.n_states, n_init=1, random_state=int(rng.integers(2**31)))
        with one_thread():
            return np.asarray(kmeans.fit(scaled).labels_, dtype=np.int64)

    def _counted(self, first: HMM, data: Sequences, guess: IndexArray) -> HMM:
        """Return the model in which each guess counts for one, beside one of each start, move, and observation."""
        there = np.flatnonzero(guess >= 0)
        weights = np.zeros((len(guess), self.n_states))
        weights[there, guess[there]] = 1.0
        emission = first.emission.fit_weighted(data.z, weights, first.emission.resolve_prior(1.0, data.z))
        moves = np.ones((self.n_states, self.n_states))
        follows = np.ones(len(guess), dtype=np.bool_)
        follows[data.pieces[:, 0]] = False  # no move leads from one sequence to the next
        both = np.flatnonzero((guess[:-1] >= 0) & (guess[1:] >= 0) & follows[1:])
        np.add.at(moves, (guess[both], guess[both + 1]), 1.0)
        start = weights.sum(axis=0) + 1.0
        return HMM(start / start.sum(), moves / moves.sum(axis=1, keepdims=True), emission)

    # ------------------------------------------------------------------------------------------------ inference

    @says_what_to_write
    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> IndexArray:
        """Return the most probable path of hidden states: (n,) int64."""
        return np.asarray(self.hmm_.decode(self._seen(X), lengths), dtype=np.int64)

    @says_what_to_write
    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> FloatArray:
        """Return the probability of each hidden state at each time, given all observations: (n, K)."""
        return np.asarray(self.hmm_.smooth(self._seen(X), lengths), dtype=np.float64)

    @says_what_to_write
    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> FloatArray:
        """Return ln Pr[z_t | z_0..z_(t-1)] of each observation, given those before it: (n,), in nats.

        Raises
        ------
        ModelError
            If an observation is impossible.
        """
        model = self.hmm_
        data = sequences(model.emission, self._seen(X), lengths)
        running = data.list_of(filtered(Workspace(model, data)).log_scale)
        return np.concatenate([np.diff(part, prepend=0.0) for part in running])

    @says_what_to_write
    def score(self, X: ArrayLike, y: object = None, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood per observation, as scikit-learn's mixtures do: the larger, the better."""
        z = self._seen(X)
        _check_unused(y, len(z))
        return self.hmm_.score(z, lengths) / len(z)

    def bic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return Schwarz's information criterion on observations: the smaller, the better."""
        z = self._seen(X)
        return self.hmm_.learning.n_parameters * float(np.log(len(z))) - 2.0 * self.hmm_.score(z, lengths)

    def aic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return Akaike's information criterion on observations: the smaller, the better."""
        return 2.0 * (self.hmm_.learning.n_parameters - self.hmm_.score(self._seen(X), lengths))

    @says_what_to_write
    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> tuple[AnyArray, IndexArray]:
        """Draw a sequence: observations (n, d) and their hidden states (n,)."""
        z, states = self.hmm_.sample(n_samples, seed=_generator(random_state))
        return z.reshape(len(states), -1), states

    @property
    def start_(self) -> FloatArray:
        """(K,) float64: the distribution of the first hidden state."""
        return self.hmm_.start

    @property
    def transition_(self) -> FloatArray:
        """(K, K) float64: ``transition_[i, j]`` = Pr[x_(t+1) = j | x_t = i]."""
        return np.asarray(self.hmm_.transition)

    @property
    def converged_(self) -> bool:
        """Whether learning ended because nothing more was to be gained."""
        return self.hmm_.learning.converged

    @property
    def n_iter_(self) -> int:
        """Iterations of the best start."""
        return self.hmm_.learning.iterations

    # -------------------------------------------------------------------------------------------------- details

    if not TYPE_CHECKING:  # or every name would have a type

        def __getattr__(self, name: str) -> NoReturn:
            """Say that `fit` comes first; or answer a name that others use, such as transmat_, with ours."""
            if not name.startswith("_") and not self.__sklearn_is_fitted__():
                raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit(X) first")
            raise attribute_error(type(self).__name__, name, dir(type(self)))

    def __sklearn_is_fitted__(self) -> bool:
        return "hmm_" in vars(self)

    def __sklearn_tags__(self) -> "Tags":
        inherited: Any = super()  # its types are not declared
        tags = inherited.__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = tags.input_tags.categorical = self.whole
        # Checks of other estimators exchange rows and look at single ones. Here the order of rows is that of time; the
        # tag that leaves these two checks out is the only one.
        tags.non_deterministic = True
        return tags

    def _seen(self, X: ArrayLike) -> AnyArray:
        """Return observations as the emission takes them."""
        return self._handed(self._checked(X, reset=False))

    def _checked(self, X: ArrayLike, reset: bool) -> AnyArray:
        """Return observations (n, d), float64 with NaN, or int64 with -1 where they are whole."""
        name = type(self).__name__
        if getattr(X, "dtype", np.dtype(float)).kind in "mM":
            raise NotNumbers(f"{name}: X has dates or times; {NUMBERS}")
        validate: Any = scikit_learn("utils.validation").validate_data
        try:
            with np.errstate(invalid="ignore"):  # its sum of infinities
                table: FloatArray = validate(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        except (TypeError, ValueError) as error:
            kind = NotNumbers if isinstance(error, TypeError) else ParameterError
            advice = f"; {NUMBERS}" if re.search("convert|promote", str(error)) else ""
            raise kind(f"{name}: {error}{advice}") from error
        large = np.abs(table) > LARGEST
        if large.any():
            raise ParameterError(
                f"{name}: X has {table[large][0]:g}, whose square float64 cannot hold: use other units"
            )
        return self._whole(table) if self.whole else table

    def _whole(self, found: FloatArray) -> IndexArray:
        """Return whole numbers, -1 where one is missing."""
        gone = np.isnan(found)
        for wrong, what in ((found < 0.0, "Negative values in data"), (found != np.floor(found), "Fractions in data")):
            if (wrong & ~gone).any():
                row, column = (int(i) for i in np.argwhere(wrong & ~gone)[0])
                raise ParameterError(
                    f"{what} passed to {type(self).__name__}: X[{row}, {column}] is {found[row, column]:g}; "
                    "whole numbers from 0 on are needed, NaN where one is missing"
                )
        return np.where(gone, -1.0, found).astype(np.int64)

    def _gone(self, X: AnyArray) -> AnyArray:
        """Return which numbers (n, d) are missing."""
        return X < 0 if self.whole else np.isnan(X)

    def _handed(self, X: AnyArray) -> AnyArray:
        """Return observations as the emission takes them."""
        return X


def _check_unused(y: object, rows: int) -> None:
    """Raise if y is something else, such as lengths in its place: fit(X, lengths) is how others write it."""
    if isinstance(y, Sized) and len(y) != rows:
        raise ParameterError(
            f"y has {len(y)} entries, and X has {rows} rows; y is not used: write lengths=... for the lengths of "
            "sequences, and states=... for hidden states that are known"
        )


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator; scikit-learn's own random states draw its seed."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    return np.random.default_rng() if random_state is None else generator(random_state)
