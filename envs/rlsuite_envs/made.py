"""What ``gymnasium.make`` calls: the class of an environment, with the keyword ``observe`` beside its own.

Gymnasium asks for a function per id. They differ in the class only, so one function has the names of all classes:
``rlsuite_envs.made:GridGoalEnv``.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rlsuite.core.aliases import Env
from rlsuite.environments.observing import observing


def __getattr__(name: str) -> Callable[..., Env]:
    package = import_module("rlsuite_envs")
    classes = package.env_classes()
    if name not in classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    env_class = classes[name]

    def make(*, observe: str = "state", **kwargs: Any) -> Env:
        return observing(env_class(**kwargs), observe)

    own, added = inspect.signature(env_class), inspect.signature(make).parameters["observe"]
    described: Any = make
    described.__signature__ = own.replace(parameters=[*own.parameters.values(), added])
    described.__doc__ = env_class.__doc__
    described.metadata = env_class.metadata
    return make
