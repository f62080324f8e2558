"""Processes in which candidates, rollouts and folds are computed: those of joblib, which has no type annotations."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Workers:
    """A pool of processes, open inside a ``with``; joblib's ``parallel_config`` chooses others.

    Without joblib, which comes with scikit-learn, all is done in this process.

    Examples
    --------
    >>> with Workers(1) as workers:
    ...     workers.call(divmod, [(7, 2), (9, 4)])
    [(3, 1), (2, 1)]
    """

    def __init__(self, n: int):
        self._parallel: Any = None
        with suppress(ImportError):
            self._parallel = import_module("joblib").Parallel(n_jobs=n)

    def __enter__(self) -> Self:
        if self._parallel is not None:
            self._parallel.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._parallel is not None:
            self._parallel.__exit__(kind, error, trace)

    def call(self, function: Callable[..., T], calls: Iterable[tuple[object, ...]]) -> list[T]:
        """Call a function with each of some tuples of arguments; return its results in this order."""
        if self._parallel is None:
            return [function(*arguments) for arguments in calls]
        return list(self._parallel((function, arguments, {}) for arguments in calls))
