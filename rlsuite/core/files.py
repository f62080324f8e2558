"""Files that are written atomically: a reader finds the old content or the new one, never a part.

Every writer has a temporary file of its own beside the target, under a name that cannot be predicted, and holds a lock
on it that the operating system releases when the process ends, however it ends. So a file that can be locked was left
behind by a writer that was killed, and the next writer in that folder removes it. Names carry a mark of the machine:
on a disk that several machines share, a lock may not be seen from the others, and each removes only its own files.
"""

import hashlib
import os
import platform
import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlsuite.errors import FileError

PREFIX = f".rlsuite-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"
"""Prefix of the names of all temporary files of this machine."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path beside `path`, and move the finished file into place.

    The temporary file exists from the start, so that a folder that cannot be written to is noticed before any work
    is done; if the body raises, it is removed and an existing `path` is left as it was. Its content is on the disk
    before it takes the place of `path`, so that a power cut leaves one of the two whole. Several threads, processes or
    machines may write to one path at once: the last to finish wins, and readers always see a whole file.

    Parameters
    ----------
    path
        The file to be written; its folder must exist.

    Yields
    ------
    pathlib.Path
        Where to write, with the same suffix as `path`.

    Raises
    ------
    FileError
        If the folder is missing or cannot be written to, the disk is full, or `path` is a folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "table.csv") as unfinished:
    ...         _ = unfinished.write_text("r,l,t")
    ...     (Path(folder) / "table.csv").read_text()
    'r,l,t'
    """
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder, give a file name")
    try:
        _remove_abandoned(target.parent)
        with _temporary(target) as unfinished:
            yield unfinished
            sync(unfinished)
            os.replace(unfinished, target)
            sync(target.parent)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error


def sync(path: Path) -> None:
    """Have the system put a file, or the names in a folder, on the disk now.

    Raises
    ------
    OSError
        If a file could not be written; a system that cannot do so for folders is taken as it is.
    """
    try:
        handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    except PermissionError:
        if path.is_file():
            raise
        return  # folders cannot be opened on Windows
    try:
        os.fsync(handle)
    except OSError:
        if path.is_file():
            raise
    finally:
        os.close(handle)


@contextmanager
def _temporary(target: Path) -> Generator[Path]:
    """A new, empty file in the folder of `target`, which is locked until it has been renamed or is removed."""
    while True:
        unfinished = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{target.suffix}")
        handle = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if _lock(handle, wait=True) is None or _is_at(handle, unfinished):
            break
        os.close(handle)  # before it was locked, another writer removed it as abandoned
    if sys.platform == "win32":
        os.close(handle)  # open files cannot be renamed there
    try:
        yield unfinished
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of this machine whose writers have ended."""
    if sys.platform == "win32":  # without locks, a writer that has ended cannot be told from one at work
        return
    found: list[Path] = []
    with suppress(OSError), os.scandir(folder) as entries:
        found += [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    for file in found:
        with suppress(OSError):
            handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _lock(handle, wait=False):
                    file.unlink()
            finally:
                os.close(handle)


def _lock(handle: int, wait: bool) -> bool | None:
    """Lock an open file; False if another holds the lock, None if files cannot be locked on this disk."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file is still found under its name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
