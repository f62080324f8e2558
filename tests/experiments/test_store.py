import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlsuite.errors import FileError
from rlsuite.experiments import store
from rlsuite.experiments.store import read_cell, write_cell
from rlsuite.training.results import Record

SPEC = {"environment": {"id": "FrozenLake-v1", "parameters": {}}, "seed": 7}
RECORD = Record(
    seed=7,
    loop="compiled",
    unit="steps",
    episode_return=np.array([0.1 + 0.2, -1e-300, 1e22]),
    episode_length=np.array([3, 1, 2]),
    episode_regret=np.array([0.0, 0.5, 1 / 3]),
    time=np.array([3, 6]),
    cumulative_reward=np.array([0.1, 1e22]),
    regret=np.array([0.0, 5 / 6]),
    evaluation_time=np.array([6]),
    evaluation=np.array([np.pi]),
    optimal_value=2 / 3,
)
BARE = Record(
    seed=7,
    loop="stepwise",
    unit="episodes",
    episode_return=np.zeros(0),
    episode_length=np.zeros(0, dtype=np.int64),
    optimum_unknown="it hides its states",
)


def write(folder, record):
    cell = folder / "lake" / "QLearning" / "seed-0007"
    write_cell(cell, SPEC, {"rlsuite": "0"}, record, folder / ".unfinished")
    return cell


def assert_same(one, other):
    for name, value in vars(one).items():
        twin = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == twin.dtype
            assert value.tobytes() == twin.tobytes(), name
        else:
            assert value == twin, name


@pytest.mark.parametrize("record", [RECORD, BARE], ids=["full", "bare"])
def test_what_is_read_is_what_was_written_bit_for_bit(tmp_path, record):
    assert_same(read_cell(write(tmp_path, record)), record)


@given(
    returns=hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False, allow_infinity=False)),
    optimum=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_every_float_survives(tmp_path_factory, returns, optimum):
    lengths = np.arange(1, returns.size + 1)
    record = replace(BARE, episode_return=returns, episode_length=lengths, optimal_value=optimum)
    assert_same(read_cell(write(tmp_path_factory.mktemp("cell"), record)), record)


def test_the_return_of_a_policy_that_goes_on_for_ever_is_unknown(tmp_path):
    record = replace(RECORD, evaluation_return=np.array([np.nan]))
    assert_same(read_cell(write(tmp_path, record)), record)


def test_the_monitor_file_is_read_by_the_rule_of_stable_baselines3(tmp_path):
    # stable_baselines3.common.monitor.load_results: the first line is "#" and JSON with t_start, the rest is CSV with
    # a header; t is shifted by t_start
    with (write(tmp_path, RECORD) / "monitor.csv").open() as file:
        first = file.readline()
        assert first[0] == "#"
        header = json.loads(first[1:])
        rows = list(csv.DictReader(file))
    assert header == {"t_start": 0.0, "env_id": "FrozenLake-v1", "t_unit": "environment steps"}
    assert list(rows[0])[:3] == ["r", "l", "t"]
    assert [float(row["r"]) for row in rows] == RECORD.episode_return.tolist()
    assert [int(row["l"]) for row in rows] == [3, 1, 2]
    assert [float(row["t"]) + header["t_start"] for row in rows] == [3.0, 4.0, 6.0]


def test_nothing_but_the_cell_is_left(tmp_path, tree):
    write(tmp_path, RECORD)
    assert [name for name, content in tree(tmp_path / "lake").items() if content] == [
        f"QLearning/seed-0007/{name}" for name in ("cell.json", "curve.csv", "evaluation.csv", "monitor.csv")
    ]
    assert tree(tmp_path / ".unfinished") == {}


@pytest.mark.parametrize("name", ["cell.json", "curve.csv", "evaluation.csv", "monitor.csv"])
def test_missing_file_is_named(tmp_path, name):
    cell = write(tmp_path, RECORD)
    (cell / name).unlink()
    with pytest.raises(FileError) as caught:
        read_cell(cell)
    assert str(caught.value) == (f"{cell / name} is missing; delete the folder {cell} to have this cell learned again")


@pytest.mark.parametrize("name", ["cell.json", "curve.csv", "evaluation.csv", "monitor.csv"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "a digit changed", "overwritten", "binary"])
def test_damaged_file_is_named(tmp_path, name, damage):
    cell = write(tmp_path, RECORD)
    content = (cell / name).read_bytes()
    digit = content.rindex(b"6") if b"6" in content else content.rindex(b"3")
    damaged = {
        "truncated": content[: len(content) // 2],
        "emptied": b"",
        "a digit changed": content[:digit] + b"9" + content[digit + 1 :],
        "overwritten": b"hello\n",
        "binary": b"\xff\xfe\x00" * 100,
    }[damage]
    (cell / name).write_bytes(damaged)
    with pytest.raises(FileError) as caught:
        read_cell(cell)
    assert str(caught.value).startswith(f"{cell / name} ")
    assert str(caught.value).endswith(f"; delete the folder {cell} to have this cell learned again")
    assert (cell / name).read_bytes() == damaged


def test_json_of_something_else(tmp_path):
    cell = write(tmp_path, RECORD)
    for content in ("[]", "{}", '{"sha256": {}}', "3", '{"format": "x", "sha256": {"cell.json": "0"}}'):
        (cell / "cell.json").write_text(content)
        with pytest.raises(FileError, match=r"cell\.json"):
            read_cell(cell)


def test_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "lake").write_text("a file where a folder should be")
    with pytest.raises(FileError, match=r"^cannot write .*seed-0007: Not a directory$"):
        write(tmp_path, RECORD)


def rewrite(cell, tables=None, **changes):
    """Change a cell, and make all its checksums right again, as an attacker can do."""
    content = json.loads((cell / "cell.json").read_text())
    for name, text in (tables or {}).items():
        (cell / name).write_text(text)
        content["sha256"][name] = store._sha256(text.encode())
    content.update(changes)
    del content["sha256"]["cell.json"]
    content["sha256"]["cell.json"] = store._own_checksum(content)
    (cell / "cell.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": "7"},
        {"seed": -1},
        {"loop": ["compiled"]},
        {"unit": None},
        {"optimal_value": "much"},
        {"optimal_value": 10**400},
        {"spec": []},
        {"versions": "new"},
        {"tables": {"../outside.csv": "r,l,t\n"}},
        {"tables": {"curve.csv": ""}},
        {"tables": {"curve.csv": "time\n1\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\n1\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\nnan,2\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\n1e300,2\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\none,2\n"}},
        {"tables": {"monitor.csv": "#{}\nr,l,t\n1.0,-3,3\n"}},
        {"tables": {"monitor.csv": "#{}\nr,l,t\ninf,3,3\n"}},
        {"tables": {"monitor.csv": "#{}\nr,l,t,regret\n1.0,3,3,nan\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\n1,nan\n"}},
        {"tables": {"curve.csv": "time,cumulative_reward\n1,1e400\n"}},
        {"tables": {"evaluation.csv": "time,value\n1,nan\n"}},
        {"tables": {"evaluation.csv": "time,value,return\n1,1,-inf\n"}},
        {"end_probability": 2.0},
        {"end_probability": "1"},
        {"tables": {"monitor.csv": "#{}\nr,l,t\n1.0,2.5,3\n"}},
    ],
    ids=str,
)
def test_right_checksums_over_nonsense(tmp_path, changes):
    cell = write(tmp_path, RECORD)
    rewrite(cell, **changes)
    with pytest.raises(FileError, match="delete the folder"):
        read_cell(cell)


def test_deep_json(tmp_path):
    cell = write(tmp_path, RECORD)
    (cell / "cell.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match=r"cell\.json is not the JSON of a cell"):
        read_cell(cell)


def test_cells_are_on_the_disk_before_their_folder_appears(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(store, "sync", lambda path: done.append(path.name))
    rename = store.os.replace
    monkeypatch.setattr(store.os, "replace", lambda old, new: (done.append("renamed"), rename(old, new)))
    write(tmp_path, RECORD)
    assert done[-1] == "renamed"
    assert sorted(done[:-1]) == ["cell.json", "curve.csv", "evaluation.csv", "monitor.csv"]
