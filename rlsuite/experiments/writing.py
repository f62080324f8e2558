"""Writing the folder of an experiment: one writer at a time, and the same bytes in every repetition."""

import json
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import rlsuite
from rlsuite.core.files import sync
from rlsuite.errors import FileError, ParameterError, RlsuiteWarning, level_of_the_caller
from rlsuite.experiments.config import Settings
from rlsuite.experiments.folder import FORMAT, RUN, read_run
from rlsuite.experiments.runs import Case, Cell, Shard, differences, seeds_of
from rlsuite.experiments.store import Store

UNFINISHED = ".unfinished"
PROGRESS = "progress.json"


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


def write_progress(aside: Path, seconds_left: float | None) -> None:
    """Note the time left; on a disk that is full, nothing is noted."""
    with suppress(OSError):
        aside.mkdir(exist_ok=True)
        (aside / f"{PROGRESS}.new").write_text(json.dumps(seconds_left), encoding="utf-8")
        os.replace(aside / f"{PROGRESS}.new", aside / PROGRESS)


def writers(folder: Path) -> list[float | None]:
    """The time left of each process that writes to a folder now, in seconds; None if it is not known yet."""
    found: list[float | None] = []
    for aside in folder.glob(f"{UNFINISHED}*"):
        try:
            with _lock(folder if aside.name == UNFINISHED else aside, folder) as unused:
                left: object = None if unused else json.loads((aside / PROGRESS).read_text(encoding="utf-8"))
        except (OSError, ValueError, FileError):
            continue
        if not unused:
            found.append(float(left) if isinstance(left, int | float) else None)
    return found


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
    with _lock(locked, folder, shared=shared) as held:
        if not held:
            raise FileError(f"another process is writing {of or 'to '}{folder}; wait for it, or choose another folder")
        yield


@contextmanager
def _lock(locked: Path, folder: Path, *, shared: bool = False) -> Generator[bool]:
    """Hold a lock, or tell that another process holds it."""
    if sys.platform == "win32":  # Windows cannot lock a folder
        yield True
        return
    import fcntl

    try:
        handle = os.open(locked, os.O_RDONLY)
    except OSError as error:
        raise FileError(f"cannot open the folder {folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            held = False
        except OSError as error:
            raise FileError(
                f"cannot lock the folder {folder} against other writers ({error.strerror}); choose a folder on a disk "
                "of this machine, and one for each shard; rlsuite report --merge puts them together"
            ) from error
        yield held
    finally:
        os.close(handle)


def pack_if_all_are_known(folder: Path, cells: Iterable[Cell]) -> Store:
    """Pack the cells of an experiment when none is missing, unless another process is writing still.

    Returns
    -------
    Store
        What is known of the cells now.
    """
    with _lock(folder, folder) as held:
        store = Store(folder)
        if held and all(_known(store, case).issuperset(seeds) for case, seeds in seeds_of(cells).items()):
            aside = folder / UNFINISHED
            store.pack(aside)
            shutil.rmtree(aside, ignore_errors=True)
    return store


def _known(store: Store, case: Case) -> set[int]:
    return {*store.of(case.pair).done, *store.of(case.pair).failed}


def check_known(store: Store, cells: Iterable[Cell], folder: Path) -> None:
    """Make sure that the cells that are known belong to this experiment; forget failures of another one.

    Raises
    ------
    ParameterError
        If a cell was made with other parameters; the message names the difference.
    FileError
        If a file is damaged.
    """
    versions_known = list(store.versions)
    for case, seeds in seeds_of(cells).items():
        done, failed = store.of(case.pair)
        others = [spec for spec in store.specs.get(case.pair, ()) if spec != case.spec]
        if not others:
            continue
        for seed in seeds:
            if seed not in done and seed not in failed:
                continue
            spec, its_versions = store.made_with(case.pair, seed)
            different = differences(spec, case.spec)
            if different and seed in failed:
                del failed[seed]
            elif different:
                raise ParameterError(
                    f"{store.file_of(case.pair, seed)}: {case.name(seed)} was made with other parameters: "
                    f"{'; '.join(different[:3])}. Nothing was changed; give the agent or environment another label, or "
                    "choose another folder"
                )
            elif its_versions and its_versions not in versions_known:
                versions_known.append(its_versions)
    now = versions()
    for stored in versions_known:
        compared = stored.keys() & now.keys() if "processor" not in stored else stored.keys() | now.keys()
        changed = differences(*({name: one[name] for name in one if name in compared} for one in (stored, now)))
        if changed:
            warnings.warn(
                f"{folder} holds cells that were made with other versions, or on another kind of machine "
                f"({'; '.join(changed)}); they are kept, but the same seed may now give other results",
                RlsuiteWarning,
                stacklevel=level_of_the_caller(),
            )
