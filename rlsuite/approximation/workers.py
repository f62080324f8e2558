"""Processes in which candidates, rollouts and folds are computed: those of joblib, which has no type annotations."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from rlsuite.core.modules import check_content, files_run, run_file
from rlsuite.errors import FileError

T = TypeVar("T")


class Workers(ExitStack):
    """A pool of processes, closed at the end of a ``with``; joblib's ``parallel_config`` chooses others.

    Examples
    --------
    >>> with Workers(1) as workers:
    ...     workers.call(divmod, [(7, 2), (9, 4)])
    [(3, 1), (2, 1)]
    """

    def __init__(self, n: int):
        super().__init__()
        self._parallel: Any = self.enter_context(import_module("joblib").Parallel(n_jobs=n))

    def call(self, function: Callable[..., T], calls: Iterable[tuple[Any, ...]]) -> list[T]:
        """Call a function with each of some tuples of arguments; return its results in this order.

        Classes may come from files that were run, such as ``mine.py:Maze``; these are run in the processes, too.
        """
        return list(self._parallel((_called, (_FilesRun(), function, arguments), {}) for arguments in calls))


class _FilesRun:
    """The files that this process has run: another one that unpickles it runs those that are the same there."""

    def __reduce__(self) -> Any:
        return _run, tuple(files_run().values())


def _run(*files: tuple[str, str]) -> None:
    for path, held in files:
        with suppress(FileError):  # it is missed only if it is needed
            check_content(Path(path), held)
            run_file(Path(path))


def _called(before: Any, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Call a function; what comes before is unpickled first."""
    return function(*arguments)
