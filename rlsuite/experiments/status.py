"""What a folder of results holds so far, and the results of several folders in one."""

import filecmp
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments.folder import RUN, labels, read_run, seed_folder, slug
from rlsuite.experiments.runs import differences
from rlsuite.experiments.store import failure_file, read_failure
from rlsuite.experiments.writing import writing
from rlsuite.training.failures import Failure


class Status(NamedTuple):
    """How far an experiment is."""

    done: int
    """Number of cells that are learned."""
    failures: tuple[Failure, ...]
    """Of the cells that failed."""
    total: int
    """Number of all cells."""

    def __str__(self) -> str:
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        left = self.total - self.done - len(self.failures)
        return f"{self.done:,} of {self.total:,} cells done{failed}, {left:,} to go"


@says_what_to_write
def status_of(folder: str | os.PathLike[str]) -> Status:
    """Count the cells of an experiment, also while others write to its folder.

    Parameters
    ----------
    folder : str or path
        Folder that `Experiment.run` or ``rlsuite run`` has written.

    Returns
    -------
    Status

    Raises
    ------
    FileError
        If the folder holds no results, or a file in it is damaged.
    """
    top = Path(folder)
    paths = [top / path for path in _cells(read_run(top)["config"])]
    failures = tuple(failure for path in paths if (failure := read_failure(path)) is not None)
    return Status(sum(path.is_dir() for path in paths), failures, len(paths))


@says_what_to_write
def merge_results(into: str | os.PathLike[str], folders: Sequence[str | os.PathLike[str]]) -> Status:
    """Copy the results of the same experiment, which other machines have learned, into one folder.

    Parameters
    ----------
    into : str or path
        A folder of results, or a new one.
    folders : sequence of str or path
        Folders of results of the same experiment, such as one for each shard. They stay as they are.

    Returns
    -------
    Status
        Of the merged folder.

    Raises
    ------
    ParameterError
        If a folder holds another experiment, or the same cell with another result; nothing has been copied then.
    FileError
        If a folder holds no results, or `into` cannot be written to.
    """
    top = Path(into)
    sources = [Path(folder) for folder in folders]
    if not sources:
        raise ParameterError("there is nothing to merge: give at least one folder of results")
    config = read_run(sources[0])["config"]
    known = [top, *sources] if (top / RUN).is_file() else sources
    for source in known:
        different = differences(_numbers(read_run(source)["config"]), _numbers(config))
        if different:
            raise ParameterError(f"{source} holds another experiment than {sources[0]}: {'; '.join(different[:3])}")
    holders: dict[Path, Path] = {}
    for path in _cells(config):
        for source in known:
            if (source / path).is_dir():
                first = holders.setdefault(path, source)
                if first is not source and not _same(first / path, source / path):
                    raise ParameterError(
                        f"{source / path} and {first / path} differ: the same cell was learned twice, with different "
                        "versions or on different processors; delete one of them"
                    )
    with writing(top) as aside:
        aside.mkdir(exist_ok=True)
        for path, source in holders.items():
            if source != top:
                _copy(source / path, top / path, aside)
        for source in sources:
            for path in _cells(config):
                note, target = failure_file(source / path), failure_file(top / path)
                if path in holders:
                    target.unlink(missing_ok=True)
                elif note.is_file() and not target.is_file():
                    _copy(note, target, aside)
        if not (top / RUN).is_file():
            _copy(sources[0] / RUN, top / RUN, aside)
    return status_of(top)


def _numbers(config: dict[str, Any]) -> dict[str, Any]:
    """What the numbers of an experiment depend on."""
    return {name: value for name, value in config.items() if name not in ("figures", "loop")}


def _cells(config: dict[str, Any]) -> Iterator[Path]:
    """The folders of all cells, relative to that of the experiment."""
    for environment in labels(config, "environments"):
        for agent in labels(config, "agents"):
            for seed in config["seeds"]:
                yield Path(slug(environment), slug(agent), seed_folder(seed))


def _same(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


def _copy(source: Path, target: Path, aside: Path) -> None:
    """Copy a file or a folder, which appears only when it is complete."""
    unfinished = aside / "copy"
    try:
        if source.is_dir():
            shutil.copytree(source, unfinished)
        else:
            shutil.copyfile(source, unfinished)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(unfinished, target)
    except OSError as error:
        raise FileError(f"cannot copy {source} to {target}: {error.strerror}") from error
