"""The base of all feature maps: a scikit-learn transformer that also has a compiled form.

A feature map turns an observation into a vector of which a *linear* function can represent values that are not linear
in the observation. Most entries of that vector are 0 with tile coding and similar maps, so the compiled form lists
those that are not:
``active(data, observation, indices, values)`` writes their places and values and returns how many there are.
`transform` is computed by the same function, so there is one definition of a feature.

`active` runs millions of times, in loops that check nothing. So it has to be safe for every input: for an observation
beyond the bounds, or NaN, it may list arbitrary features, but no place outside the vector.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import written
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import LARGEST_COUNT, Array, check_array
from rlsuite.core.described import Described
from rlsuite.core.modules import is_installed
from rlsuite.features.checks import check_observations
from rlsuite.features.estimator_bases import BaseEstimator, NotFittedError, TransformerMixin
from rlsuite.features.estimators import Features, Fitted, one_thread, scikit_learn
from rlsuite.features.learned import set_open_seeds

if TYPE_CHECKING:
    from sklearn.utils import Tags

Active = Compiled[[Any, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]], int]

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]

MOST_DENSE, MOST_SPARSE = 10**6, 10**8
"""More features are a mistake: each observation costs time for each, or their weights 800 MB for each action."""

SIZES: Final = {"d": "n_features_in_", "n": "n_features_out_", "m": "most_active_"}
"""What the sizes of a map are called in its declarations."""


class NotFitted(errors.NotLearned, NotFittedError):
    """A feature map was used before `fit`: `NotLearned`, which is also scikit-learn's ``NotFittedError``."""


class FeatureRule(NamedTuple):
    """A fitted feature map in compiled form."""

    active: Active
    """``(data, observation, indices, values) -> n``: the places and values of the features that are not 0."""
    data: object
    """Tuple or NamedTuple of arrays and numbers: the data that `active` reads."""


@compiled(in_place=True)
def list_rows(
    rule: FeatureRule,
    observations: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    columns: NDArray[np.integer],
    entries: NDArray[np.float64],
    ends: NDArray[np.integer],
) -> None:
    """List the features of observations (n, d) as the arrays of a CSR matrix; one list (most_active,) is reused."""
    end = 0
    for i in range(observations.shape[0]):
        for k in range(rule.active(rule.data, observations[i], indices, values)):
            columns[end] = indices[k]
            entries[end] = values[k]
            end += 1
        ends[i + 1] = end


@compiled(in_place=True)
def fill_rows(
    rule: FeatureRule,
    observations: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the features of observations (n, d) into zeros (n, n_features); one list (most_active,) is reused."""
    for i in range(observations.shape[0]):
        for k in range(rule.active(rule.data, observations[i], indices, values)):
            out[i, indices[k]] += values[k]


class FeatureMap(Described, TransformerMixin, BaseEstimator):
    """Base of the feature maps: dataclasses whose fields are the parameters, as for every scikit-learn estimator.

    A map of your own sets `n_features_in_`, `n_features_out_` and `most_active_` in `fit`, and returns its compiled
    form from `rule`; each learned attribute has a name that ends in _, and is an array or a number. Where bounds are
    all it needs, `BoundedMap` is a shorter way.

    As scikit-learn wants it, a constructor only keeps the parameters. `fit` checks them, and so does an agent that is
    given the map.

    Attributes
    ----------
    n_features_in_ : int
        Length of an observation.
    n_features_out_ : int
        Length of a feature vector.
    most_active_ : int
        Length of the lists that `active` fills: as many as can differ from 0 at once, or more, where a map needs room
        for its computations.
    feature_names_in_ : ndarray of object, shape (d,)
        Names of the columns, if `fit` was given a data frame; `transform` wants the same.
    """

    described_as = "features"

    sparse: ClassVar[bool] = False
    """Whether `transform` returns a SciPy CSR matrix: for maps with few active features."""

    expected_failed_checks: ClassVar[dict[str, str]] = {}
    """Those of scikit-learn's ``check_estimator`` that the class does not pass with its default parameters, and why."""

    learns: ClassVar[Mapping[str, Array] | None] = None
    """What `fit` learns beside the three sizes, as a file may hold it; without it, the map cannot be loaded."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    n_features_in_: int
    n_features_out_: int
    most_active_: int

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the map has a compiled form; the base of several maps has none."""
        return cls.rule is not FeatureMap.rule

    def check_parameters(self) -> None:
        """Raise unless the parameters are valid by themselves; called by `fit`, and by agents with this map.

        Raises
        ------
        ParameterError
            If a parameter is outside its allowed values.
        """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the map to observations (n, d); `y` is ignored."""
        raise NotImplementedError

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Fit the map to the bounds (d,) of a space alone; only maps that can do so override this.

        Raises
        ------
        NotLearned
            If bounds are not enough: the map has to see observations.
        """
        raise errors.NotLearned(
            f"{type(self).__name__} learns its features from observations; call its fit(observations) first, with an "
            "array (n, d) of observations from a few random episodes"
        )

    def fit_seen(
        self,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        seen: Callable[[], NDArray[np.float64]],
        rng: np.random.Generator,
    ) -> Self:
        """Fit the map to the bounds (d,) of a space if they are enough, and else to observations (n, d).

        Parameters
        ----------
        low, high : ndarray (d,)
            The bounds.
        seen : callable
            Returns the observations; called only if they are needed.
        rng : Generator
            Draws the seed of a map that leaves it open.
        """
        set_open_seeds(self, rng)
        try:
            return self.fit_bounds(low, high)
        except errors.NotLearned:
            observations = seen()
        with one_thread():
            return self.fit(observations)

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Bounds (n_features_out_,) of the features of observations between `low` and `high`: infinite if unknown.

        It is what the next map in a `Chain` is fitted to where there are no observations.
        """
        return np.full(self.n_features_out_, -np.inf), np.full(self.n_features_out_, np.inf)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        raise NotImplementedError

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` or `fit_bounds` has been called."""
        return "n_features_out_" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> "Tags":
        inherited: Any = super()  # its types are not declared
        tags = inherited.__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features are float64, whatever the dtype of observations
        tags.non_deterministic = getattr(self, "seed", 0) is None
        return tags

    def check_fitted(self) -> None:
        """Raise unless the map is fitted.

        Raises
        ------
        NotLearned
            If it is not; scikit-learn knows the error as its own ``NotFittedError``.
        """
        if not self.is_fitted:
            raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit(observations) first")

    def name_columns(self, X: ArrayLike) -> Self:
        """Keep the names of the columns that `fit` has seen, if they have any, and return self; the last step of `fit`.

        Raises
        ------
        ParameterError
            If some columns have names that are not text.
        """
        return self._columns(X, reset=True)

    def _columns(self, X: ArrayLike, reset: bool) -> Self:
        if not is_installed("sklearn"):
            return self
        try:
            scikit_learn("utils.validation").validate_data(self, X, reset=reset, skip_check_array=True)
        except (TypeError, ValueError) as error:
            raise errors.ParameterError(f"{type(self).__name__}: {error}") from error
        return self

    def transform(self, X: ArrayLike) -> Features:
        """Compute the features of observations (n, d): an array (n, n_features_out_), CSR if the map is sparse.

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If the observations are not finite, of another width, or have other names than those of `fit`.
        """
        self.check_fitted()
        observations = self.check(X)
        if type(X) is not np.ndarray or "feature_names_in_" in vars(self):  # an array has no names to compare
            self._columns(X, reset=False)
        rule, n = self.rule, len(observations)
        if not self.sparse:
            dense = np.zeros((n, self.n_features_out_))
            fill_rows(rule, observations, np.zeros(self.most_active_, np.int64), np.zeros(self.most_active_), dense)
            return dense
        from scipy.sparse import csr_array

        n_listed = n * self.most_active_
        # some of scikit-learn's estimators accept 32-bit indices only
        places = np.int32 if max(n_listed, self.n_features_out_) < 2**31 else np.int64
        columns, entries, ends = np.empty(n_listed, places), np.empty(n_listed), np.zeros(n + 1, places)
        indices, values = np.zeros(self.most_active_, np.int64), np.zeros(self.most_active_)
        list_rows(rule, observations, indices, values, columns, entries, ends)
        return csr_array(
            (entries[: ends[-1]], columns[: ends[-1]], ends), shape=(n, self.n_features_out_), dtype=np.float64
        )

    def check(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return observations as float64 (n, n_features_in_), or raise what `transform` raises for them."""
        return check_observations(X, self.n_features_in_, type(self).__name__)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the features, as scikit-learn's pipelines ask for them: the class and a number.

        Raises
        ------
        NotLearned
            Before `fit`.
        ParameterError
            If `input_features`, which change nothing, are not one name for each number of an observation.
        """
        self.check_fitted()
        if input_features is not None and np.shape(input_features) != (self.n_features_in_,):
            raise errors.ParameterError(
                f"{type(self).__name__}: input_features should have length equal to the numbers of an observation, "
                f"{self.n_features_in_}; their shape is {np.shape(input_features)}"
            )
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self.n_features_out_)], dtype=object)

    @property
    def fitted_(self) -> Fitted:
        """The fitted attributes, as arrays by name, for `restore`; part of saving an agent.

        The names of the columns of a data frame are left out: an agent sees vectors.
        """
        left_out = {"feature_names_in_", *(field.name for field in fields(self))}
        return {
            name: np.asarray(value)
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_") and name not in left_out
        }

    def restore(self, fitted: Fitted) -> Self:
        """Restore the arrays that `fitted_` returned, if they are what the class declares in `learns`.

        Raises
        ------
        KeyError, ValueError
            If an array is missing, unknown, or is not what is declared: compiled code would read beyond its end.
        """
        if self.learns is None:
            raise ValueError(
                f"the class {type(self).__name__} does not declare what it learns; give it learns = {{name: "
                "rl.Array(shape=...)}, with the names that end in _"
            )
        sizes = {letter: _size(name, fitted) for letter, name in SIZES.items()}
        if fitted.keys() != self.learns.keys() | set(SIZES.values()):
            raise ValueError(f"{type(self).__name__} learns {sorted(self.learns)}, and the file has {sorted(fitted)}")
        for name, declared in self.learns.items():
            array = fitted[name]
            if array.dtype not in [np.dtype(kind) for kind in (np.float64, np.int64, np.bool_)]:
                raise ValueError(f"{name} is {array.dtype}, not float64, int64 or bool")
            check_array(name, array, declared, sizes)
        for name, value in fitted.items():
            setattr(self, name, value.item() if value.ndim == 0 else np.ascontiguousarray(value))
        if not self.sparse and self.most_active_ < self.n_features_out_:
            raise ValueError(
                f"most_active_ is {self.most_active_}, less than the {self.n_features_out_} features of a dense map"
            )
        self.check_parameters()
        self.check_restored()
        _ = self.rule  # refuses arrays that do not fit together
        return self

    def check_restored(self) -> None:
        """Raise ValueError unless the restored arrays are consistent, beyond what `learns` declares."""


def _size(name: str, fitted: Fitted) -> int:
    array = fitted[name]
    if array.dtype != np.int64 or array.shape != () or not 1 <= int(array) <= LARGEST_COUNT:
        raise ValueError(f"{name} must be a whole number of at least 1")
    return int(array)


def check_size(asker: FeatureMap, n_features: int, made_of: str, advice: str) -> None:
    """Raise if a map would have far too many features.

    Raises
    ------
    ParameterError
        If there are more than a hundred million, or a million if all are computed for each observation.
    """
    most = MOST_SPARSE if asker.sparse else MOST_DENSE
    if n_features > most:
        raise errors.ParameterError(
            f"{type(asker).__name__}: {made_of} makes {written(n_features)} features, more than {most:,}; {advice}"
        )


UNSEEDED: Final = {"check_fit_idempotent": "without a seed=, two fits draw different numbers"}
GRID: Final = {
    "check_dtype_object": "its data have 10 columns, and a grid in 10 dimensions does not fit into memory",
    "check_fit2d_1sample": "its data have 10 columns, and a grid in 10 dimensions does not fit into memory",
}
"""The checks of scikit-learn that maps which draw random numbers, or cover a box with a grid, do not pass."""
