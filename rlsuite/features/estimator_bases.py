"""The base classes of our estimators: scikit-learn's, or where it is not installed, as much of them as we need."""

import inspect
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import RegressorMixin as RegressorMixin
    from sklearn.base import TransformerMixin as TransformerMixin
    from sklearn.exceptions import NotFittedError as NotFittedError
else:
    try:
        from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
        from sklearn.exceptions import NotFittedError
    except ImportError:  # scikit-learn is not installed: our own estimators need these only

        class BaseEstimator:
            """An estimator, whose parameters are those of its constructor."""

            def get_params(self, deep: bool = True) -> dict[str, object]:
                """Return the parameters by name."""
                return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

            def set_params(self, **given: object) -> Self:
                """Change parameters."""
                for name, value in given.items():
                    setattr(self, name, value)
                return self

            def __repr__(self) -> str:
                defaults = inspect.signature(type(self)).parameters
                said = [
                    f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default
                ]
                return f"{type(self).__name__}({', '.join(said)})"

        class TransformerMixin:
            """An estimator that transforms."""

            def fit_transform(self, X: object, y: object = None) -> object:
                """Fit, and transform the same."""
                return self.fit(X, y).transform(X)

        class RegressorMixin:
            """An estimator that predicts numbers."""

        class NotFittedError(ValueError, AttributeError):
            """An estimator is used before `fit`."""
