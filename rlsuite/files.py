"""Files that are either the old one or the new one, never half of each."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlsuite.errors import FileError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """Hand out a temporary path beside `path`, and move the finished file into place.

    The temporary file exists from the start, so that a folder that cannot be written to is found out before any work
    is done; if the body raises, it is removed and an existing `path` is left as it was.

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
    unfinished = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder, give a file name")
    try:
        unfinished.touch()
        yield unfinished
        os.replace(unfinished, target)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
