import pytest

from rlsuite.errors import FileError
from rlsuite.files import replacing


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
