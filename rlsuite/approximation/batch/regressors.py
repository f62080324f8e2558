"""The interface of regressors for batch methods, and the checks of their results.

Anything with ``fit(X, y)`` and ``predict(X)`` that scikit-learn can clone will do.
"""

import copy
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import sklearn.base
import sklearn.utils.validation
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.features.checks import naming, shown

# scikit-learn has no type annotations
_base: Any = sklearn.base
_validation: Any = sklearn.utils.validation


def check_regressor(regressor: Any, owner: str) -> None:
    """Raise unless this is an estimator that can be cloned, fitted, and asked for predictions.

    Raises
    ------
    ParameterError
        If it is a class, a classifier, or lacks a method.
    """
    if isinstance(regressor, type):
        name = regressor.__name__
        raise errors.ParameterError(f"{owner}: the regressor is the class {name}; give an instance, {name}()")
    missing = [name for name in ("fit", "predict", "get_params") if not callable(getattr(regressor, name, None))]
    if missing:
        raise errors.ParameterError(
            f"{owner}: the regressor {shown(regressor)} has no {' and no '.join(missing)}; give a regressor of "
            "scikit-learn, or one of your own derived from sklearn.base.RegressorMixin and BaseEstimator"
        )
    if hasattr(regressor, "__sklearn_tags__") and _base.is_classifier(regressor):
        name = type(regressor).__name__
        near = name.replace("Classifier", "Regressor")
        hint = f"; did you mean {near}?" if near != name else ""
        raise errors.ParameterError(f"{owner}: {name} is a classifier, and values are numbers, not classes{hint}")


class Copies:
    """Unfitted copies of an estimator, whose randomness, where it has been left open, comes from a generator.

    A copy of the copy costs a fraction of what `sklearn.base.clone` does, which asks for all parameters by their names.
    """

    def __init__(self, estimator: Any):
        self.pattern = _base.clone(estimator)
        parameters = cast("Mapping[str, Any]", self.pattern.get_params(deep=True))
        self.open_seeds = sorted(
            name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None
        )

    def fresh(self, rng: np.random.Generator) -> Any:
        """Return the next copy."""
        copied = copy.deepcopy(self.pattern)
        if self.open_seeds:
            copied.set_params(**{name: int(rng.integers(2**31 - 1)) for name in self.open_seeds})
        return copied


def fresh(estimator: Any, rng: np.random.Generator) -> Any:
    """Return one unfitted copy; see `Copies`."""
    return Copies(estimator).fresh(rng)


def fitted(regressor: Any, owner: str, inputs: Any, targets: NDArray[np.float64], **weights: Any) -> Any:
    """Return a regressor fitted to inputs (n, k) and targets (n,).

    Raises
    ------
    LearningError
        If it refuses them, by an error of whatever class.
    """
    with naming(f"{owner}: {type(regressor).__name__} cannot learn from these {len(targets)} samples"):
        return regressor.fit(inputs, targets, **weights)


def weight_keyword(regressor: Any, owner: str) -> str:
    """Return the keyword under which `fit` takes the weights of samples.

    Raises
    ------
    ParameterError
        If it takes none.
    """
    if _validation.has_fit_parameter(regressor, "sample_weight"):
        return "sample_weight"
    steps = getattr(regressor, "steps", None)
    if steps and _validation.has_fit_parameter(steps[-1][1], "sample_weight"):  # of a pipeline's last step
        return f"{steps[-1][0]}__sample_weight"
    raise errors.ParameterError(
        f"{owner}: {type(regressor).__name__} does not accept sample weights, and the transitions of this batch have "
        "different weights; collect the batch (Batch.collect), or choose a regressor whose fit takes sample_weight"
    )


def predictions(regressor: Any, owner: str, inputs: Any) -> NDArray[np.float64]:
    """Return what a fitted regressor predicts for inputs (n, k), shape (n,) float64.

    Raises
    ------
    LearningError
        If it refuses them, by an error of whatever class, or it is not one number for each sample.
    """
    n = int(inputs.shape[0])
    with naming(f"{owner}: {type(regressor).__name__} cannot predict the values of {n} samples"):
        found = np.asarray(regressor.predict(inputs), dtype=np.float64)
    if found.size != n:
        raise errors.LearningError(
            f"{owner}: {type(regressor).__name__}.predict returned an array of shape {found.shape} for {n} samples; "
            "one number for each sample is needed"
        )
    return found.reshape(n)
