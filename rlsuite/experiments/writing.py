"""Writing the folder of an experiment: one writer at a time, and the same bytes in every repetition."""

import json
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import rlsuite
from rlsuite.core.files import sync
from rlsuite.errors import FileError, ParameterError, RlsuiteWarning, level_of_the_caller
from rlsuite.experiments.config import Settings
from rlsuite.experiments.folder import FORMAT, RUN, read_run
from rlsuite.experiments.runs import Cell, Shard, differences
from rlsuite.experiments.store import read_cell, read_description, read_failure
from rlsuite.training.failures import Failure
from rlsuite.training.results import Record

UNFINISHED = ".unfinished"


SWITCHES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE", "GLIBC_TUNABLES")
"""Variables that choose other instructions than those of the processor."""


def versions() -> dict[str, str]:
    """What determines the numbers: Python, rlsuite, the packages that it computes with, and what these compute with.

    The same seed gives the same numbers where all of it is the same. The C library computes ``exp`` and ``log``, BLAS
    multiplies matrices, and both have other instructions for other kinds of processors.
    """
    packages = {name: version(name) for name in ("numpy", "scipy", "numba", "gymnasium")}
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    extensions = built.get("SIMD Extensions", {})
    processor = [platform.machine(), *extensions.get("baseline", ()), *extensions.get("found", ())]
    return {
        "python": platform.python_version(),
        "rlsuite": rlsuite.__version__,
        **packages,
        "libc": " ".join(platform.libc_ver()).strip() or platform.platform(terse=True),
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "processor": " ".join(processor),
        **{name: os.environ[name] for name in SWITCHES if os.environ.get(name)},
    }


def write_description(experiment: Settings, folder: Path, aside: Path) -> None:
    """Write ``run.json``: everything that is needed to repeat the experiment; a repetition writes the same bytes.

    Raises
    ------
    FileError
        If the folder holds another experiment, or cannot be written to.
    """
    file = folder / RUN
    if file.exists():
        name = read_run(folder)["config"]["name"]
        if name != experiment.name:
            raise FileError(f"{folder} holds the experiment {name!r}, not {experiment.name!r}; choose another folder")
    command = {} if experiment.file is None else {"command": f"rlsuite run {experiment.file.name}"}
    content = {"format": FORMAT, **command, "config": experiment.plain(), "versions": versions()}
    try:
        aside.mkdir(exist_ok=True)
        (aside / RUN).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n")
        sync(aside / RUN)
        os.replace(aside / RUN, file)
    except OSError as error:
        raise FileError(f"cannot write {file}: {error.strerror}") from error


@contextmanager
def writing(folder: Path, shard: Shard | None = None) -> Generator[Path]:
    """Make the folder, keep other writers out of it, and yield a folder for unfinished cells in it.

    Shards write to the folder at the same time; only a second writer of the same shard, and one of the whole
    experiment, are kept out.

    Raises
    ------
    FileError
        If the folder cannot be made or locked, or another process is writing to it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}") from error
    with _locked(folder, folder, shared=shard is not None), ExitStack() as own:
        aside = folder / (UNFINISHED if shard is None else f"{UNFINISHED}-{shard.number}-of-{shard.of}")
        if shard is not None:
            aside.mkdir(exist_ok=True)
            own.enter_context(_locked(aside, folder, of=f"shard {shard} of "))
        for left in aside.glob("*"):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        try:
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _locked(locked: Path, folder: Path, *, shared: bool = False, of: str = "") -> Generator[None]:
    """Hold a lock that the operating system releases when the process ends, however it ends."""
    if sys.platform == "win32":  # Windows cannot lock a folder
        yield
        return
    import fcntl

    try:
        handle = os.open(locked, os.O_RDONLY)
    except OSError as error:
        raise FileError(f"cannot open the folder {folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FileError(
                f"another process is writing {of or 'to '}{folder}; wait for it, or choose another folder"
            ) from error
        except OSError as error:
            raise FileError(
                f"cannot lock the folder {folder} against other writers ({error.strerror}); choose a folder on a disk "
                "of this machine"
            ) from error
        yield
    finally:
        os.close(handle)


def failed_before(cells: list[Cell], folder: Path) -> dict[Path, Failure]:
    """The cells that are known to have failed, by their paths."""
    found = {cell.path: read_failure(folder / cell.path, cell.spec) for cell in cells}
    return {path: failure for path, failure in found.items() if failure is not None}


def finished(cells: list[Cell], folder: Path) -> dict[Path, Record]:
    """Read the cells that are finished, and make sure that they belong to this experiment.

    Returns
    -------
    dict
        Path of the cell -> its record.

    Raises
    ------
    ParameterError
        If a cell was made with other parameters; the message names the difference.
    FileError
        If a file is damaged, or has the name of a cell's folder.
    """
    paths = dict.fromkeys(part for cell in cells for part in (*reversed(cell.path.parents[:-1]), cell.path))
    for path in paths:
        if not (folder / path).is_dir() and os.path.lexists(folder / path):
            raise FileError(f"{folder / path} must be a folder, for cells of this experiment; remove the file")
    done = [cell for cell in cells if (folder / cell.path).is_dir()]
    now = versions()
    for cell in done:
        description = read_description(folder / cell.path)
        different = differences(description["spec"], cell.spec)
        if different:
            raise ParameterError(
                f"{folder / cell.path} was made with other parameters: {'; '.join(different[:3])}. "
                "Nothing was changed; give the agent or environment another label, choose another folder, or delete "
                "the folder of this cell"
            )
        stored = description["versions"]
        compared = stored.keys() & now.keys() if "processor" not in stored else stored.keys() | now.keys()
        changed = differences(*({name: one[name] for name in one if name in compared} for one in (stored, now)))
        if changed:
            warnings.warn(
                f"{folder} holds cells that were made with other versions, or on another kind of machine "
                f"({'; '.join(changed)}); they are kept, but the same seed may now give other results",
                RlsuiteWarning,
                stacklevel=level_of_the_caller(),
            )
    return {cell.path: read_cell(folder / cell.path) for cell in done}
