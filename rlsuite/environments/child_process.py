"""Probe an environment in a child process, which cannot change anything outside itself.

On Linux that process is a fork: it sees all that its parent has, and shares none of it. Its open files lead nowhere,
`sys.stdout` and clocks raise, and an audit hook (PEP 578) ends each attempt to open a file, to use the network, or to
start something. It is killed when its time is over. Elsewhere the environment is sent to a new process by cloudpickle,
under the same hook.

Shared memory of several processes (``multiprocessing.Array``, a writable `numpy.memmap`) is the exception: it is shared
with a fork, too.
"""

import _thread
import gc
import logging
import os
import pickle
import random
import signal
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from os import sep
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE, Popen, TimeoutExpired
from time import monotonic
from types import FrameType
from typing import Any, NoReturn, TypeVar, cast

from rlsuite.errors import UnsuitableEnvironment

Result = TypeVar("Result")


class CannotBeFollowed(UnsuitableEnvironment):
    """A step does something with a random number that cannot be followed."""


class Signal(BaseException):
    """Carries an error through the code of an environment, past what catches exceptions there.

    What is found out while its code runs must not be lost in an ``except Exception:`` of it. One that was caught all
    the same is remembered until `called` returns.
    """

    def __init__(self, error: CannotBeFollowed):
        super().__init__(str(error))
        self.error = error
        _signals.met = self


class _Signals(threading.local):
    met: Signal | None = None

    def latest(self) -> Signal | None:
        """What was met since it was set to None."""
        return self.met


_signals = _Signals()


def called(function: Callable[[], Result]) -> Result:
    """Call what runs code of an environment; raise the error of a signal, also if the environment has swallowed it.

    Raises
    ------
    CannotBeFollowed
        What the signal carried.
    """
    _signals.met = None
    try:
        result = function()
    except Signal as signal:
        raise signal.error from None
    if (met := _signals.latest()) is not None:
        raise met.error
    return result


LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Folders of code that is not the user's."""
_OURS = str(Path(__file__).parent.parent) + sep

FORKS = hasattr(os, "memfd_create")
"""Whether this is Linux: elsewhere a fork may crash, or there is none."""
GRACE = 0.25
"""Seconds beyond the deadline after which a call is interrupted."""
PATIENCE = 1.0
"""Seconds after which it is killed."""
STARTING = 60.0
"""Seconds that a new process may take to start, where it is no fork."""
LONGEST_QUOTE = 200
"""Characters that are quoted of what an environment prints, warns of, or logs."""
RECURSION = 20_000
"""Calls within calls while an answer is pickled."""
LATE = 75
"""Exit code of a new process whose time is over."""
OTHER_HASHES = "2718"
"""Seed for hashes of a new process."""
MOST_MEMORY = 4 << 30
"""Bytes that a fork may use besides what it inherits."""

_ENDS = {
    "open": "opens a file",
    "os": "uses the operating system",
    "shutil": "touches files",
    "tempfile": "touches files",
    "glob": "touches files",
    "mmap": "touches files",
    "fcntl": "touches files",
    "sqlite3": "opens a database",
    "socket": "uses the network",
    "urllib": "uses the network",
    "http": "uses the network",
    "ftplib": "uses the network",
    "smtplib": "uses the network",
    "subprocess": "starts a process",
    "pty": "starts a process",
    "webbrowser": "starts a process",
    "ctypes": "calls a C library",
    "syslog": "writes a log",
    "winreg": "uses the operating system",
    "msvcrt": "uses the operating system",
    "resource": "uses the operating system",
    "exec": "runs text as code",
    "compile": "runs text as code",
    "builtins.input": "asks the user",
    "builtins.breakpoint": "asks the user",
}
"""What may not be done, by the audit event or the module in its name."""
_TOO_LONG = "there was not enough time: its process was killed after {:g} s, when its step or its reset had not ended"
_LIBRARY_MAY = {"exec", "compile", "ctypes"}
_READS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_CLOCKS = [name for name in vars(time) if name.removesuffix("_ns").endswith(("time", "counter", "monotonic"))]
_hooked = False


def in_child(work: Callable[[], Result], seconds: float) -> Result:
    """Call a function in a process of its own.

    Parameters
    ----------
    work : callable
        Returns something that can be pickled.
    seconds : float
        It is interrupted, and soon killed, if it takes longer.

    Raises
    ------
    CannotBeFollowed
        If it raises anything, does something that would be seen outside of its process, takes too long, or ends the
        process.
    """
    return _result((_forked if FORKS else _sent)(work, seconds))


def in_new_process(work: Callable[[], Result], seconds: float) -> Result:
    """Call a function in a process that is no fork: it starts later, and has another number and seed for hashes.

    Raises
    ------
    CannotBeFollowed
        As `in_child`; also if it cannot be sent there.
    """
    return _result(_sent(work, seconds))


def _result(answered: bytes) -> Any:
    done, result = pickle.loads(answered)  # made by the process that has been started here
    if not done:
        raise CannotBeFollowed(result)
    return result


def _forked(work: Callable[[], object], seconds: float) -> bytes:
    """Call a function in a fork."""
    reading, writing = os.pipe()
    child = 0
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the fork's number is known
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: there are threads; a fork may hang
            child = os.fork()
        if not child:
            _serve(work, seconds, writing)
        os.close(writing)
        writing = -1
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        answer = _read(reading, monotonic() + seconds + PATIENCE)
    except OSError as error:
        raise CannotBeFollowed(f"no child process can be started for it ({error})") from error
    finally:
        ended = _end(child)
        for end in (reading, writing):
            if end >= 0:
                os.close(end)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    if answer is None:
        raise CannotBeFollowed(_TOO_LONG.format(seconds + PATIENCE))
    if ended or not answer:
        how = f"by {signal.Signals(-ended).name}" if ended < 0 else f"with exit code {ended}"
        raise CannotBeFollowed(f"its step or its reset ends the process that probes it, {how}")
    return answer


def _read(pipe: int, deadline: float) -> bytes | None:
    """Read all that a fork writes; None if it does not end."""
    parts: list[bytes] = []
    with DefaultSelector() as selector:
        selector.register(pipe, EVENT_READ)
        while selector.select(max(0.0, deadline - monotonic())):
            part = os.read(pipe, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None


def _end(child: int) -> int:
    """End a fork, if it has not ended; return its exit code."""
    if not child:
        return 0
    try:
        os.kill(child, signal.SIGKILL)  # what has ended is not affected
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except (ChildProcessError, ProcessLookupError):  # who ignores SIGCHLD has no children to wait for
        return 0


def _serve(work: Callable[[], object], seconds: float, pipe: int) -> NoReturn:
    """What a fork does; it runs no code of its parent's when it ends."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is its parent's affair
        nowhere = _take_away(pipe)
        answer = memoryview(_answer(work, seconds, lambda: os.fstat(nowhere).st_size > 0))
        while answer:
            answer = answer[os.write(pipe, answer) :]
        code = 0
    finally:
        os._exit(code)


def _take_away(pipe: int) -> int:
    """Make a fork independent of all that it has inherited; return the file to which all open ones now lead."""
    import resource

    sys.settrace(None)
    sys.setprofile(None)
    gc.freeze()  # what is tracked from now on is new
    _end_with_parent()
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = used + MOST_MEMORY if most == resource.RLIM_INFINITY else min(used + MOST_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    nowhere = os.memfd_create("rlsuite")
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (pipe, nowhere):
            with suppress(OSError):  # the one with which they were listed
                os.fstat(int(name))
                os.dup2(nowhere, int(name))
    return nowhere


def _end_with_parent() -> None:
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def _sent(work: Callable[[], object], seconds: float) -> bytes:
    """Call a function in a new process, with another seed for hashes."""
    import cloudpickle

    sender: Any = cloudpickle  # without types
    unknown = [module for module in [*sys.modules.values()] if _is_found_only_here(module)]
    kept: list[Any] = []
    try:
        for module in unknown:
            if module.__name__ not in sender.list_registry_pickle_by_value():
                sender.register_pickle_by_value(module)
                kept.append(module)
        payload: bytes = sender.dumps(work)
    except Exception as error:  # whatever the parts of an environment raise
        raise CannotBeFollowed(f"it cannot be sent to another process ({type(error).__name__}: {error})") from error
    finally:
        for module in kept:
            sender.unregister_pickle_by_value(module)
    variables = {**os.environ, "PYTHONHASHSEED": OTHER_HASHES}
    asked = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve(float('{seconds}'))"
    with Popen([sys.executable, "-c", asked], stdin=PIPE, stdout=PIPE, env=variables) as process:
        try:
            answer, _ = process.communicate(payload, STARTING + seconds + PATIENCE)
        except TimeoutExpired:
            raise CannotBeFollowed("no process could be started for it") from None
        finally:
            process.kill()
    if process.returncode == LATE:
        raise CannotBeFollowed(_TOO_LONG.format(seconds + PATIENCE))
    if not answer:
        raise CannotBeFollowed("its step or its reset ends the process that probes it")
    return answer


def _is_found_only_here(module: Any) -> bool:
    """Whether a module, which has been imported, cannot be imported by its name in another process."""
    name, file = getattr(module, "__name__", None), getattr(module, "__file__", None)
    if not isinstance(name, str) or not isinstance(file, str) or file.startswith(LIBRARIES) or name == "__main__":
        return False
    found = PathFinder.find_spec(name.partition(".")[0], sys.path)
    return found is None and sys.modules.get(name) is module


def serve(seconds: float) -> NoReturn:
    """Answer what the parent of this process sends."""
    _end_with_parent()
    payload = sys.stdin.buffer.read()
    pipe = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    try:
        work = pickle.loads(payload)  # made by its parent
    except Exception as error:  # whatever the parts of an environment raise
        reason = f"it cannot be read in another process ({type(error).__name__}: {error})"
        answer = memoryview(pickle.dumps((False, reason)))
    else:
        threading.Timer(seconds + PATIENCE, os._exit, (LATE,)).start()
        answer = memoryview(_answer(work, seconds, lambda: False))
    while answer:
        answer = answer[os.write(pipe, answer) :]
    os._exit(0)


def _answer(work: Callable[[], object], seconds: float, written: Callable[[], bool]) -> bytes:
    """Call a function under watch; return what has become of it, pickled."""

    def late(where: str) -> Signal:
        return Signal(CannotBeFollowed(f"there was not enough time: after {seconds:g} s it was {where}"))

    try:
        with alarm(seconds + GRACE, late), _watched():
            result = work()
        if written():
            raise CannotBeFollowed("its step or its reset writes to a file or a terminal that was opened before")
        gc.disable()  # it would only look at all that is pickled, again and again
        sys.setrecursionlimit(RECURSION)  # a tree may be as deep as there are draws in a step
        return pickle.dumps((True, result), pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # whatever the environment raises, SystemExit too
        return pickle.dumps((False, in_words(error)))


def in_words(error: BaseException) -> str:
    """Why an environment cannot be tabulated, from what its code, or the following of its draws, has raised."""
    if isinstance(error, Signal):
        error = error.error
    if isinstance(error, CannotBeFollowed):
        return str(error)
    if isinstance(error, MemoryError):
        return f"to ask it takes more than {MOST_MEMORY / 2**30:g} GiB of memory"
    if isinstance(error, SystemExit):
        return "its step or its reset ends the program (SystemExit)"
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    if "UniformNumber" in said:
        return (
            f"what it does with a random number cannot be followed ({said.replace('UniformNumber', 'random number')})"
        )
    return f"put into one of its states, it raised {said}"


@contextmanager
def _watched() -> Generator[None]:
    """Have everything that would be seen outside of this process raise a `Signal`."""
    global _hooked
    sys.dont_write_bytecode = True
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = cast("Any", _Screen())
    quiet: list[tuple[Any, Iterable[str], str]] = [
        (time, _CLOCKS, "reads a clock"),
        (os, ("urandom", "getrandom"), "draws from the operating system"),
        (logging.Logger, ("_log",), "writes a log"),
        (warnings, ("_showwarnmsg",), "warns"),
        (_thread, ("start_new_thread", "start_joinable_thread"), "starts a thread"),
        (threading, ("_start_new_thread", "_start_joinable_thread"), "starts a thread"),
    ]
    for owner, names, what in quiet:
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, _refused(what))
    setattr(random, "_urandom", _entropy)  # noqa: B010 - private: what `secrets` and unseeded generators draw from
    sys.addaudithook(_hook)
    _hooked = True
    try:
        yield
    finally:
        _hooked = False


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(*said: object, **__: object) -> NoReturn:
        raise Signal(CannotBeFollowed(f"its step or its reset {what}{_quoted(said)}"))

    return refuse


def _quoted(said: tuple[object, ...]) -> str:
    """What was to be printed or logged, or the warning, which nobody else would see; empty if there is nothing."""
    texts = [str(one.message) if isinstance(one, warnings.WarningMessage) else one for one in said]
    text = next((one.strip() for one in texts if isinstance(one, str) and one.strip()), "")
    return f" {text!r:.{LONGEST_QUOTE}}" if text else ""


def _caller(depth: int) -> str:
    """The file whose code has called, this many calls above."""
    python: Any = sys
    return python._getframe(depth).f_code.co_filename


def _entropy(size: int) -> bytes:
    """Refuse to draw, but for NumPy's copying of a generator, which makes an unseeded one first."""
    if _caller(3).endswith("_pickle.py"):
        return bytes(size)
    return _refused("draws from the operating system")()


class _Screen:
    """Stands for the terminal."""

    encoding, errors = "utf-8", "strict"
    write = writelines = read = readline = _refused("prints")

    def flush(self) -> None:
        """Nothing has been written."""

    def isatty(self) -> bool:
        """It is none."""
        return False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """Raise a `Signal` if an audit event is one of what an environment may not do."""
    group = event if event in _ENDS else event.partition(".")[0]
    if not _hooked or group not in _ENDS:
        return
    caller = _caller(2)
    if caller.startswith(("<frozen importlib", "<frozen zipimport")):  # Python imports something
        return
    if group in _LIBRARY_MAY and caller.startswith(LIBRARIES):
        return
    if event == "open" and str(args[0]).startswith(LIBRARIES) and not args[2] & ~_READS:
        return
    named = f" {args[0]!r:.100}" if args and isinstance(args[0], str | bytes) else ""
    raise Signal(CannotBeFollowed(f"its step or its reset {_ENDS[group]} ({event}{named})"))


@contextmanager
def alarm(seconds: float, late: Callable[[str], BaseException]) -> Generator[None]:
    """Raise an error in the block if it takes too long; it does nothing outside of the main thread, or on Windows.

    Parameters
    ----------
    seconds : float
        How long it may take.
    late : callable
        Makes the error from a description of the function, file and line that the program had reached.

    Examples
    --------
    >>> import time
    >>> with alarm(0.01, TimeoutError):
    ...     time.sleep(100.0)
    Traceback (most recent call last):
    TimeoutError: in <module>(), <doctest rlsuite.environments.child_process.alarm[1]>:2
    """

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise late(_where(frame))

    try:
        set_timer = signal.setitimer
        former = signal.signal(signal.SIGALRM, ring)
    except (AttributeError, ValueError):  # there is no such timer
        yield
        return
    set_timer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        set_timer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)


def _where(frame: FrameType | None) -> str:
    """In which line of the environment, or of what it calls, the program is."""
    called: list[FrameType] = []
    while frame is not None and not (called and frame.f_code.co_filename.startswith(_OURS)):
        if not frame.f_code.co_filename.startswith(_OURS):
            called.append(frame)
        frame = frame.f_back
    if not called:
        return "in rlsuite itself"
    at = next((one for one in called if not one.f_code.co_filename.startswith(LIBRARIES)), called[-1])
    return f"in {at.f_code.co_qualname}(), {at.f_code.co_filename}:{at.f_lineno}"
