"""Function approximation: feature maps, regressors and classifiers in place of tables.

The feature maps are those of `rlsuite.features`.

========== ==========================================================================================
linear     agents whose values are linear in features, in both loops
batch      learning from recorded transitions: fitted Q iteration, LSTD, LSPI
policies   search for a policy itself: policy gradients, perturbation, cross-entropy, classifiers
selection  which approximator: cross-validation, paired tests, diagnostics
deep       neural networks (``pip install 'rlsuite[torch]'``)
========== ==========================================================================================

Any estimator with scikit-learn's `fit` and `predict`, or `transform`, plugs in by constructor.

>>> from rlsuite.approximation import SemiGradientSarsa, TileCoding
>>> agent = SemiGradientSarsa(features=TileCoding(n_tilings=8, bins=8), gamma=1.0, learning_rate=0.5 / 8)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_MODULES = {
    "features": "rlsuite.features",
    **{name: f"{__name__}.{name}" for name in ("agents", "batch", "policies", "selection", "deep")},
}
"""Modules whose names this package has, in the order in which they are searched; the last one needs torch."""

if TYPE_CHECKING:
    from rlsuite.approximation.agents import *  # noqa: F403 - each says in its __all__ what that is
    from rlsuite.approximation.batch import *  # noqa: F403 - each says in its __all__ what that is
    from rlsuite.approximation.deep import *  # noqa: F403 - each says in its __all__ what that is
    from rlsuite.approximation.policies import *  # noqa: F403 - each says in its __all__ what that is
    from rlsuite.approximation.selection import *  # noqa: F403 - each says in its __all__ what that is
    from rlsuite.features import *  # noqa: F403 - each says in its __all__ what that is
else:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(_MODULES[name])
        if name == "__all__":
            return _names()
        if not name.startswith("_"):
            for path in _MODULES.values():
                module = import_module(path)
                if name in module.__all__:
                    globals()[name] = getattr(module, name)
                    return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES, *_names()})

    def _names() -> list[str]:
        return [name for path in _MODULES.values() for name in import_module(path).__all__]
