"""What a folder of results holds so far, and the results of several folders in one."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments.folder import RUN, labels, read_run, slug
from rlsuite.experiments.progress import duration
from rlsuite.experiments.runs import differences
from rlsuite.experiments.segments import Pair
from rlsuite.experiments.store import Store, Writer
from rlsuite.experiments.writing import writers, writing
from rlsuite.training.failures import Failure


class Status(NamedTuple):
    """How far an experiment is."""

    done: int
    """Number of cells that are learned."""
    failures: tuple[Failure, ...]
    """Of the cells that failed."""
    total: int
    """Number of all cells."""
    writers: int = 0
    """Number of processes that learn at present, as far as locks show."""
    seconds_left: float | None = None
    """How long they will take; None if that is not known."""

    def __str__(self) -> str:
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        left = self.total - self.done - len(self.failures)
        writers = f"; {self.writers} process{'es' if self.writers > 1 else ''} learning" if self.writers else ""
        time = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        return f"{self.done:,} of {self.total:,} cells done{failed}, {left:,} to go{writers}{time}"


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
    config = read_run(top)["config"]
    at_work = writers(top)
    known = [seconds for seconds in at_work if seconds is not None]
    status = _status(Store(top), config)
    return status._replace(writers=len(at_work), seconds_left=max(known) if known else None)


def _status(store: Store, config: dict[str, Any]) -> Status:
    failures: list[Failure] = []
    done = total = 0
    for pair in _pairs(config):
        failures += store.failures(pair, config["seeds"])
        done += len(store.records(pair, config["seeds"]))
        total += len(config["seeds"])
    return Status(done, tuple(failures), total)


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
    stores = [Store(source) for source in known]
    holders: dict[tuple[Pair, int], Store] = {}
    for pair in _pairs(config):
        for seed in config["seeds"]:
            for store in stores:
                if seed in store.of(pair).done:
                    first = holders.setdefault((pair, seed), store)
                    if first is not store and first.entry(pair, seed).content != store.entry(pair, seed).content:
                        raise ParameterError(
                            f"{store.file_of(pair, seed)} and {first.file_of(pair, seed)} differ in seed {seed} of "
                            f"{pair[1]} in {pair[0]}: the same cell was learned twice, with different versions or on "
                            "different processors; delete one of them"
                        )
            failed = (store for store in stores if seed in store.of(pair).failed)
            if (pair, seed) not in holders and (store := next(failed, None)) is not None:
                holders[pair, seed] = store
    with writing(top) as aside:
        writer = Writer(top, aside, "merged")
        for store in stores:
            own = [cell for cell, holder in holders.items() if holder is store]
            for entry in store.entries(own if store.top != top else []):
                writer.add(entry)
        writer.flush()
        if not (top / RUN).is_file():
            _copy(sources[0] / RUN, top / RUN, aside)
        merged = Store(top)
        merged.pack(aside)
    return _status(merged, config)


def _numbers(config: dict[str, Any]) -> dict[str, Any]:
    """What the numbers of an experiment depend on."""
    return {name: value for name, value in config.items() if name not in ("figures", "loop", "keep", "limits")}


def _pairs(config: dict[str, Any]) -> Iterator[Pair]:
    """The names of the folders of all pairs of an environment and an agent."""
    for environment in labels(config, "environments"):
        for agent in labels(config, "agents"):
            yield slug(environment), slug(agent)


def _copy(source: Path, target: Path, aside: Path) -> None:
    """Copy a file, which appears only when it is complete."""
    try:
        aside.mkdir(exist_ok=True)
        shutil.copyfile(source, aside / source.name)
        os.replace(aside / source.name, target)
    except OSError as error:
        raise FileError(f"cannot copy {source} to {target}: {error.strerror}") from error
