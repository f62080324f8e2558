"""Which figures there are: found from the code, never typed twice."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

Drawer = TypeVar("Drawer", bound=Callable[..., Any])

_MARK = "__figure_of_results__"


def figure_of_results(function: Drawer) -> Drawer:
    """Mark a public function that draws `Results`, so that `figures` finds it.

    Such a function takes one `Results` or a sequence of them, and ``ax=`` and ``palette=`` by keyword, and returns the
    Axes.
    """
    setattr(function, _MARK, True)
    return function


def figures() -> dict[str, Callable[..., Any]]:
    """Functions of this package that draw learning results, by name.

    Returns
    -------
    dict
        Name to function, in alphabetical order. Modules added to the package are searched too.

    Examples
    --------
    >>> sorted(figures())
    ['cumulative_reward', 'episode_return', 'evaluation', 'regret']
    """
    package = importlib.import_module("rlsuite.plotting")
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(package.__path__, prefix="rlsuite.plotting."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if callable(value) and getattr(value, _MARK, False):
                found[name] = value
    return dict(sorted(found.items()))
