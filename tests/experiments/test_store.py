import os
from dataclasses import replace

import numpy as np
import pytest

from rlsuite.errors import FileError
from rlsuite.experiments import segments, store
from rlsuite.experiments.segments import entry_of
from rlsuite.experiments.store import Store, StoredRecords, Writer
from rlsuite.training.failures import Failure
from rlsuite.training.results import Record

SPEC = {"environment": {"id": "FrozenLake-v1", "parameters": {}}}
RECORD = Record(
    seed=0,
    loop="compiled",
    unit="steps",
    episode_return=np.array([0.1 + 0.2, -1e-300]),
    episode_length=np.array([3, 1]),
    time=np.array([3, 6]),
    cumulative_reward=np.array([0.1, 1e22]),
)
PAIRS = [("lake", "QLearning"), ("lake", "Sarsa"), ("cliff", "Sarsa")]


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(segments, "MOST_CELLS", 4)


def entry(pair, seed):
    if seed % 5 == 4:
        return entry_of(pair, SPEC, {}, Failure(pair[1], pair[0], seed, 3, "KeyError: 3", ""))
    return entry_of(pair, SPEC, {}, replace(RECORD, seed=seed, episode_return=np.array([seed / 3, 1.0])))


def write(folder, cells, name="run"):
    folder.mkdir(exist_ok=True)
    writer = Writer(folder, folder / ".unfinished", name)
    for pair, seed in cells:
        writer.add(entry(pair, seed))
    writer.flush()


CELLS = [(pair, seed) for seed in range(7) for pair in PAIRS]


def test_cells_are_found_whoever_has_written_them(tmp_path):
    write(tmp_path, CELLS[::2], "shard-1-of-2")
    write(tmp_path, CELLS[1::2], "shard-2-of-2")
    found = Store(tmp_path)
    assert [len(known.done) for known in map(found.of, PAIRS)] == [6, 6, 6]
    assert found.failures(PAIRS[1], range(9)) == [Failure("Sarsa", "lake", 4, 3, "KeyError: 3", "")]
    records = found.records(PAIRS[0], [6, 3, 4, 99, 0])
    assert isinstance(records, StoredRecords)
    assert [record.seed for record in records] == [6, 3, 0]
    assert [record.seed for record in records[1:]] == [3, 0]
    assert records[1].episode_return.tolist() == [1.0, 1.0]
    assert found.of(("lake", "nobody")).done == {}


def test_packed_folders_do_not_tell_who_has_learned_what(tmp_path, tree, monkeypatch):
    monkeypatch.setattr(store, "MOST_IN_MEMORY", 3_000)
    monkeypatch.setattr(store, "MOST_OPEN", 1)
    write(tmp_path / "whole", CELLS)
    for number in (1, 2):
        write(tmp_path / "shards", CELLS[: 12 - 3 * number] if number == 1 else CELLS[::-1], f"shard-{number}-of-2")
    for number in range(0, len(CELLS), 2):  # by a process that is killed again and again
        write(tmp_path / "killed", CELLS[number : number + 2])
    for folder in ("whole", "shards", "killed"):
        Store(tmp_path / folder).pack(tmp_path / folder / ".unfinished")
        os.rmdir(tmp_path / folder / ".unfinished")
    packed = tree(tmp_path / "whole")
    assert sorted(packed) == ["cells", *(f"cells/{number:05d}.cells" for number in range(6))]
    assert tree(tmp_path / "shards") == packed == tree(tmp_path / "killed")


def test_a_writer_goes_on_in_the_file_that_has_room(tmp_path):
    for number in range(9):
        write(tmp_path, [(PAIRS[0], number)])
    assert len(os.listdir(tmp_path / "cells")) == 3


def test_packing_again_leaves_what_is_right(tmp_path, monkeypatch):
    write(tmp_path, CELLS[:9])
    Store(tmp_path).pack(tmp_path / ".unfinished")
    written = []
    before = store.write_segment
    monkeypatch.setattr(
        store, "write_segment", lambda path, entries: (written.append(path.name), before(path, entries))
    )
    Store(tmp_path).pack(tmp_path / ".unfinished")
    assert written == []
    write(tmp_path, [(("zoo", "Sarsa"), 1)])
    written.clear()
    Store(tmp_path).pack(tmp_path / ".unfinished")
    assert written == ["00002.cells"]


def test_no_cell_is_missing_wherever_packing_is_killed(tmp_path, monkeypatch, tree):
    class Killed(BaseException):
        pass

    write(tmp_path / "whole", CELLS)
    Store(tmp_path / "whole").pack(tmp_path / "whole" / ".unfinished")
    replacing, removing = os.replace, type(tmp_path).unlink
    steps = 0
    for last in range(100):
        folder = tmp_path / f"killed{last}"
        write(folder, CELLS[:11])
        Store(folder).pack(folder / ".unfinished")
        write(folder, CELLS[11:])
        left = iter(range(last))

        def step(call, *args, left=left):
            if next(left, None) is None:
                raise Killed
            call(*args)

        with monkeypatch.context() as killing:
            killing.setattr(os, "replace", lambda *args, step=step: step(replacing, *args))
            killing.setattr(type(tmp_path), "unlink", lambda path, step=step: step(removing, path))
            try:
                Store(folder).pack(folder / ".unfinished")
            except Killed:
                steps += 1
            else:
                break
        found = Store(folder)
        assert {(pair, seed) for pair, (done, failed) in found.known.items() for seed in (*done, *failed)} == {*CELLS}
        found.pack(folder / ".unfinished")
        assert tree(folder / "cells") == tree(tmp_path / "whole" / "cells")
    assert steps > 10


def test_a_reader_goes_on_while_the_folder_is_packed(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_OPEN", 1)
    write(tmp_path, CELLS)
    records = Store(tmp_path).records(PAIRS[2], range(7))
    assert records[0].seed == 0
    Store(tmp_path).pack(tmp_path / ".unfinished")
    assert [record.seed for record in records] == [0, 1, 2, 3, 5, 6]


def test_a_cell_that_is_done_counts_before_one_that_failed(tmp_path):
    write(tmp_path, [(PAIRS[0], 4)])
    writer = Writer(tmp_path, tmp_path / ".unfinished", "run")
    writer.add(entry_of(PAIRS[0], SPEC, {}, replace(RECORD, seed=4)))
    writer.flush()
    found = Store(tmp_path)
    assert found.of(PAIRS[0]) == ({4: 1}, {})
    found.pack(tmp_path / ".unfinished")
    assert Store(tmp_path).of(PAIRS[0]) == ({4: 0}, {})


def test_what_is_written_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(segments, "sync", lambda path: done.append(path.name))
    monkeypatch.setattr(os, "replace", lambda old, new: done.append("renamed"))
    write(tmp_path, CELLS[:1])
    assert done == ["run-00000.cells", "renamed"]


def test_what_cannot_be_written_or_read_is_named(tmp_path):
    (tmp_path / "cells").write_text("a file where a folder should be")
    for attempt in (lambda: write(tmp_path, CELLS[:1]), lambda: Store(tmp_path)):
        with pytest.raises(
            FileError, match=r"cells must be a folder, for the cells of this experiment; remove the file"
        ):
            attempt()
    (tmp_path / "cells").unlink()
    (tmp_path / ".unfinished").write_text("")
    with pytest.raises(FileError, match=r"^cannot write .*run-00000\.cells: "):
        write(tmp_path, CELLS[:1])
