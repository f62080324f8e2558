"""Any estimator as features, and what estimators and maps that learn from data are fitted to.

An estimator with `transform` gives its features itself. A tree or a forest gives the leaf of each tree, which is 1 (by
`apply`); a mixture or a classifier gives the probability of each of its components or classes (by `predict_proba`).

Trees and classifiers need something to predict: the return that followed each observation, and whether it was above the
median of all.
"""

import copy
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.features.estimators import Matrix, clone, kind_of, one_thread, scikit_learn

METHODS: Final = ("transform", "apply", "predict_proba")
"""Methods by which an estimator gives features, the first that it has."""

LARGEST_SEED: Final = 2**31 - 1


class Seen(NamedTuple):
    """Observations, and what followed them."""

    observations: NDArray[np.float64]  # (n, d)
    returns: NDArray[np.float64]  # (n,), sum of the rewards from there to the end of the episode


def sums_to_the_end(rewards: NDArray[np.float64], ends: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Sums (n,) of the rewards from each step to the end of its episode.

    >>> sums_to_the_end(np.array([1.0, 2.0, 4.0, 8.0]), np.array([False, True, False, False])).tolist()
    [3.0, 2.0, 12.0, 8.0]
    """
    sums, total = np.zeros(len(rewards)), 0.0
    for i in range(len(rewards) - 1, -1, -1):
        total = rewards[i] + (0.0 if ends[i] else total)
        sums[i] = total
    return sums


def seeds_of_features(seed: int) -> np.random.SeedSequence:
    """Where the features of a run take their seeds from; the run itself takes the first three children of its seed."""
    return np.random.SeedSequence(seed).spawn(4)[3]


def gives_features(estimator: object) -> bool:
    """Whether an estimator has one of the `METHODS`.

    >>> from sklearn.mixture import GaussianMixture
    >>> gives_features(GaussianMixture(2)), gives_features(3)
    (True, False)
    """
    return any(hasattr(estimator, name) for name in METHODS)


class AsFeatures:
    """The features that a fitted estimator gives: a function from vectors (n, k) to features (n, d).

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=2).fit([[0.0], [1.0], [2.0]], [0.0, 0.0, 6.0])
    >>> AsFeatures(tree)(np.array([[0.5], [5.0]])).toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._leaves: list[NDArray[np.int64]] = []

    def __call__(self, vectors: NDArray[np.float64]) -> Matrix:
        """Compute the features.

        Raises
        ------
        ParameterError
            If the estimator names leaves that are not known.
        """
        if hasattr(self.estimator, "transform"):
            return self.estimator.transform(vectors)
        if hasattr(self.estimator, "apply"):
            return self._leaf_of_each_tree(vectors)
        return self.estimator.predict_proba(vectors)

    def _leaf_of_each_tree(self, vectors: NDArray[np.float64]) -> Matrix:
        from scipy.sparse import csr_array

        leaves = np.asarray(self.estimator.apply(vectors)).reshape(len(vectors), -1)
        if not self._leaves:
            trees = np.ravel(np.array(getattr(self.estimator, "estimators_", self.estimator), dtype=object))
            if not all(hasattr(tree, "tree_") for tree in trees):
                raise errors.ParameterError(
                    f"the leaves of {type(self.estimator).__name__} are not known; trees and forests of scikit-learn "
                    "tell them"
                )
            self._leaves = [np.flatnonzero(tree.tree_.children_left < 0) for tree in trees]
        sizes = np.array([known.size for known in self._leaves])
        columns = [np.searchsorted(known, leaves[:, i]) for i, known in enumerate(self._leaves)]
        places = np.column_stack(columns) + (np.cumsum(sizes) - sizes)
        ends = np.arange(len(vectors) + 1) * sizes.size
        return csr_array((np.ones(places.size), places.ravel(), ends), shape=(len(vectors), int(sizes.sum())))


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator says that it is fitted, in the way of scikit-learn."""
    validation = scikit_learn("utils.validation")
    try:
        validation.check_is_fitted(estimator)
    except Exception:  # an estimator of another package need not know the question
        return False
    return True


def fit_estimator(estimator: Any, seen: Seen, rng: np.random.Generator) -> Any:
    """Fit a copy of an estimator; where it leaves its random seed open, the generator draws it.

    Raises
    ------
    ParameterError
        If a classifier would have one class only.
    """
    fitted = clone(estimator) if hasattr(estimator, "get_params") else copy.deepcopy(estimator)
    set_open_seeds(fitted, rng)
    targets: list[NDArray[Any]] = []
    kind = kind_of(fitted)
    if kind == "regressor":
        targets = [seen.returns]
    elif kind == "classifier":
        targets = [seen.returns > np.median(seen.returns)]
        if not targets[0].any():
            raise errors.ParameterError(
                f"{type(estimator).__name__} learns which observations are followed by a return above the median, "
                f"and none of these {len(seen.returns):,} is; give a map that needs no targets"
            )
    with one_thread():
        fitted.fit(seen.observations, *targets)
    return fitted


def set_open_seeds(estimator: Any, rng: np.random.Generator) -> None:
    """Draw the seeds, named ``random_state`` or ``seed``, that an estimator and its parts leave open."""
    if not hasattr(estimator, "get_params"):
        return
    given: dict[str, object] = estimator.get_params(deep=True)
    names = (name for name in sorted(given) if name.split("__")[-1] in ("random_state", "seed") and given[name] is None)
    drawn = {name: int(rng.integers(LARGEST_SEED)) for name in names}
    if drawn:
        estimator.set_params(**drawn)
