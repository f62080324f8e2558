"""Weights of features: a value is a sum of those of the features that an observation has.

The feature maps and scikit-learn are imported when features are given.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.memory import ABSENT, Memory
from rlsuite.agents.values.feature_values import FeatureValues
from rlsuite.agents.values.features import (
    CURRENT_FEATURES,
    FEATURES,
    FEATURES_ON_DEMAND,
    by_fresh_values,
    evaluate_rows,
    new_active_features,
)
from rlsuite.agents.values.representation import NO_LAYERS
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.described import Plain
from rlsuite.models.aliases import AnyArray

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


@dataclass(eq=False)
class Linear(FeatureValues):
    """Values that are linear in features (S&B2 eq. 9.8); not to be confused with the schedule `rlsuite.Linear`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        One of rlsuite's feature maps, such as `TileCoding`, or whatever has scikit-learn's `fit` and `transform`,
        `apply` (trees: the leaf) or `predict_proba` (classifiers, mixtures). It is copied. By default `OneHot` for ids,
        and `Identity` for all other observations.
    initial : float or array_like (n_features,)
        What every weight, or those of each feature, are before anything is learned.
    fit_on : int
        Observations on which features that learn from data, such as `Clusters`, fit themselves before the first step of
        a new agent: those of as many random actions, which no record counts. What is fitted already stays as it is.

    Attributes
    ----------
    fitted_on : int
        Observations that the features were fitted to; 0 if they needed none.

    Raises
    ------
    ParameterError
        If the features are a class, or have none of these methods, `initial` is not finite, or `fit_on` not a whole
        number above 0.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite.agents.values import Linear
    >>> from rlsuite.approximation import OneHot
    >>> agent = rl.Sarsa(values=Linear(OneHot())).learn("FrozenLake-v1", steps=20, seed=1)
    >>> agent.weights_.shape
    (16, 4)
    """

    lacks: ClassVar[Mapping[str, str]] = {
        "visits_": "it has features, and only a table counts visits",
        "layers_": NO_LAYERS,
    }
    features: "FeatureMap | Transformer | None" = None
    initial: "float | ArrayLike" = 0.0
    fit_on: int = 1_000

    def __post_init__(self) -> None:
        super().__post_init__()
        given = np.asarray(self.initial)
        if given.dtype.kind not in "iuf" or given.ndim > 1 or not np.isfinite(given).all():
            raise errors.ParameterError(
                f"initial={self.initial!r} must be a finite number, or an array (n_features,) of them"
            )

    # ---------------------------------------------------------------------------------------------- before learning

    def of_actions(self, memory: Memory) -> Memory:
        """Add weights of the features to which `bind` has fitted, and the values in two rows."""
        n_actions = memory.legal.shape[1]
        memory = memory._replace(
            **self._initial(n_actions), q=np.zeros((2, n_actions)), stale=np.zeros(2, dtype=np.int64)
        )
        if memory.exploration is ABSENT:
            return memory._replace(operations=FEATURES_ON_DEMAND)
        return memory._replace(exploration=by_fresh_values(memory.exploration), operations=FEATURES)

    def kept_current(self, memory: Memory) -> Memory:
        """Let each update compute the values of both rows again."""
        return memory._replace(operations=CURRENT_FEATURES)

    def of_states(self, memory: Memory, followed: "ArrayLike | None", evaluated: NDArray[np.float64] | None) -> Memory:
        """Add weights of state values, and the tables of the policies.

        Raises
        ------
        ParameterError
            If a policy or the initial weights do not fit the environment.
        """
        policies = self.of_policies(followed, evaluated, memory.legal.shape[1])
        return memory._replace(**self._initial(n_columns=1), **policies, operations=FEATURES_ON_DEMAND)

    def _initial(self, n_columns: int) -> Plain:
        """The fields of a memory that are the same for values of actions and of states."""
        n_features, given = self.fitted.n_features_out_, np.asarray(self.initial)
        if given.ndim == 1 and given.size != n_features:
            raise errors.ParameterError(f"initial_weight has {given.size} numbers, but there are {n_features} features")
        weights = np.empty((n_features, n_columns))
        weights.T[:] = given
        return {
            "weights": weights,
            "features": self.rule(),
            "active": new_active_features(self.most_active),
            "visits": np.zeros((2, n_columns), dtype=np.int64),
        }

    def refit(self, memory: Memory, observations: "ArrayLike", seed: int) -> tuple[Self, Callable[[Memory], Memory]]:
        """Fit the features again; the new weights are those that change the values at the observations least.

        Raises
        ------
        ParameterError
            If the features do not learn from data, were given fitted, or cannot be fitted to the observations.
        """
        from rlsuite.agents.fit_features import fit_again
        from rlsuite.features.checks import check_observations
        from rlsuite.features.learned import Seen

        rows = check_observations(observations, self.encoding.low.size, self.owner)
        best = self.values_at(memory, rows).max(axis=1)
        renewed = copy.copy(self)
        bound = fit_again(self.features, self.encoding, Seen(rows, best), seed)
        fitted, renewed.encoding, renewed.fitted_on, renewed.known = bound
        renewed.use(fitted, self.legal_ids)

        def carry_over(new: Memory) -> Memory:
            features = renewed.values_at(new._replace(weights=np.eye(len(new.weights))), rows)

            def carried(known: Any, fresh: AnyArray) -> Any:
                if not hasattr(known, "dtype") or len(known) != len(memory.weights):  # a rate, or of no feature
                    return known
                if fresh.dtype != np.float64:
                    return fresh
                values = self.values_at(memory._replace(weights=known.reshape(len(known), -1)), rows)
                return np.asarray(np.linalg.lstsq(features, values)[0]).reshape(fresh.shape)

            names = getattr(memory.learned, "_fields", ())
            kept = {name: carried(getattr(memory.learned, name), getattr(new.learned, name)) for name in names}
            learned = new.learned._replace(**kept) if kept else new.learned
            return new._replace(weights=carried(memory.weights, new.weights), learned=learned, clock=memory.clock)

        return renewed, carry_over

    # --------------------------------------------------------------------------------------------- what was learned

    def valuation(self, memory: Memory) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """The function from vectors (n, d) to their values (n, n_columns): sums of weights."""
        weights, capacity = memory.weights, self.most_active
        indices, values = np.zeros(capacity, dtype=np.int64), np.zeros(capacity)

        def value(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
            q = np.zeros((len(vectors), weights.shape[1]))
            evaluate_rows(memory.features, weights, vectors, indices, values, q)
            return q

        return value
