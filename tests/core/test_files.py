import fcntl
import os
import signal
import subprocess
import sys
import threading

import pytest

from rlsuite.core import files
from rlsuite.core.files import PREFIX, replacing
from rlsuite.errors import FileError


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with replacing(path) as unfinished:
        unfinished.write_text("new")
        assert path.read_text() == "old"
        assert unfinished.suffix == ".csv"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fail():
        with replacing(path) as unfinished:
            unfinished.write_text("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_of_ours(tmp_path):
    with pytest.raises(FileError, match=r"cannot write .*table\.csv: No space left"), replacing(tmp_path / "table.csv"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("place", "complaint"), [("missing/table.csv", "No such file"), ("", "it is a folder")])
def test_impossible_places_are_found_before_the_work(tmp_path, place, complaint):
    with pytest.raises(FileError, match=complaint), replacing(tmp_path / place):
        pytest.fail("the work began")


def test_two_writers_do_not_share_a_temporary_file(tmp_path):
    path = tmp_path / "table.csv"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"  # the last to finish
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_to_one_path_never_show_half_a_file(tmp_path):
    path = tmp_path / "table.csv"
    texts = {str(number) * 100_000 for number in range(4)}
    path.write_text("0" * 100_000)
    failures = []

    def write(text):
        try:
            for _ in range(15):
                with replacing(path) as unfinished, unfinished.open("w") as file:
                    for start in range(0, 100_000, 20_000):
                        file.write(text[start : start + 20_000])
                        file.flush()
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    n_reads = 0
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in texts
        n_reads += 1
    assert not failures
    assert n_reads > 10
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys, time
from rlsuite.core.files import replacing

with replacing(sys.argv[1]) as unfinished:
    unfinished.write_text("half of")
    print(unfinished.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that has written half a file, and what its temporary file is called."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "table.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, tmp_path / process.stdout.readline().strip()
        process.kill()


def test_what_a_killed_writer_has_left_is_removed_by_the_next(tmp_path, writer):
    path = tmp_path / "table.csv"
    path.write_text("old")
    process, left = writer
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.read_text() == "old"
    assert left.read_text() == "half of"
    with replacing(tmp_path / "another.csv") as unfinished:
        unfinished.write_text("new")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["another.csv", "table.csv"]


def test_what_others_are_still_writing_is_left_alone(tmp_path, writer):
    _, unfinished = writer
    elsewhere = tmp_path / ".rlsuite-00000000-0123456789abcdef.csv"  # of another machine, whose locks cannot be seen
    elsewhere.write_text("half of")
    with replacing(tmp_path / "table.csv") as own:
        own.write_text("new")
    assert unfinished.read_text() == "half of"
    assert elsewhere.read_text() == "half of"


def test_without_locks_nothing_is_taken_for_abandoned(tmp_path, monkeypatch):
    def refuse(handle, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = tmp_path / f"{PREFIX}0123456789abcdef.csv"
    left.write_text("half of")
    with replacing(tmp_path / "table.csv") as own:
        own.write_text("new")
    assert sorted(tmp_path.iterdir()) == sorted([left, tmp_path / "table.csv"])


def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(files, "sync", lambda path: done.append(path))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("renamed"), rename(old, new)))
    with replacing(tmp_path / "table.csv") as unfinished:
        assert done == []
    assert done == [unfinished, "renamed", tmp_path]


def test_files_have_the_permissions_that_new_files_have(tmp_path):
    (tmp_path / "plain.csv").write_text("r,l,t")
    with replacing(tmp_path / "table.csv") as unfinished:
        unfinished.write_text("r,l,t")
    assert (tmp_path / "table.csv").stat().st_mode == (tmp_path / "plain.csv").stat().st_mode
