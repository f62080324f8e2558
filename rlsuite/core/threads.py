"""Work on all cores: compiled kernels release Python's lock, so plain threads are enough.

Callers cut the work into tasks independently of the number of cores, and each task writes to its own arrays; so
neither the number of threads nor their order can change a result.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

Result = TypeVar("Result")

_pool: ThreadPoolExecutor | None = None

_limiting, _limited = threading.Lock(), False
"""Whether some thread has set the number of BLAS threads, and what is held to ask for it."""


def n_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_cores() -> int:
    """Return how many processes are worth while: as `n_threads`, and no more than a container may use."""
    try:
        from joblib import cpu_count
    except ImportError:  # it comes with scikit-learn
        return n_threads()
    return cpu_count()


def at_the_same_time(tasks: Sequence[Callable[[], Result]], worth_it: bool = True) -> list[Result]:
    """Run the tasks, each of which writes to arrays of its own, and return their results in order.

    Parameters
    ----------
    tasks : sequence of callables
        What is to be done. An error in one of them is raised here.
    worth_it : bool
        Whether there is so much to do that other threads are called for help.

    Examples
    --------
    >>> at_the_same_time([lambda: 1, lambda: 2])
    [1, 2]
    """
    if not worth_it or len(tasks) < 2:
        return [task() for task in tasks]
    results: dict[int, Result] = {}
    waiting = deque(enumerate(tasks))

    def work() -> None:
        while waiting:
            try:
                number, task = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            results[number] = task()

    # This thread works too; a thread that is done takes the next task.
    helpers = [_threads().submit(work) for _ in range(min(n_threads(), len(tasks)) - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # a helper that has not begun by now has nothing left to do
            helper.result()
    return [results[number] for number in range(len(tasks))]


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Compute on one thread in BLAS, with the same last bits on any number of cores.

    For sparse eliminations and Krylov methods, which call it for a few thousand numbers at a time: its threads wait for
    each other busily, so that on a loaded machine these take several times as long with them, and on an idle one they
    gain nothing. The number of its threads belongs to the process: where several threads of a program solve models at
    the same time, the first one in here sets it and sets it back, and last bits of the others may differ.
    """
    global _limited
    with _limiting:
        first, _limited = not _limited, True
    controller = _blas("scipy.linalg" in sys.modules)
    if not first:
        yield
        return
    try:
        with nullcontext() if controller is None else controller.limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited = False


@cache
def _blas(of_scipy: bool) -> Any:
    """The BLAS of NumPy, and that of SciPy, if it is loaded: to find them takes some milliseconds, to set them less."""
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ImportError:  # it comes with scikit-learn
        return None


def _threads() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, n_threads() - 1), thread_name_prefix="rlsuite")
    return _pool


def _forget() -> None:
    """Threads do not survive a fork: the child makes its own."""
    global _pool, _limiting, _limited
    _pool, _limiting, _limited = None, threading.Lock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
