"""A folder that an earlier version has written: a folder for each cell, and a file for each that failed."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments import Experiment, cell_folders, load_results, merge_results, status_of
from rlsuite.experiments.cell_folders import read_cell
from rlsuite.experiments.store import Store

pytestmark = pytest.mark.filterwarnings("ignore::rlsuite.errors.RlsuiteWarning")  # it was another machine


@pytest.fixture
def former(tmp_path):
    with zipfile.ZipFile(Path(__file__).with_name("cell_folders.zip")) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "old"


@pytest.fixture
def experiment(former):
    return Experiment.read(former.parent / "old.toml")


@pytest.fixture
def cell(former):
    return former / "a-lake" / "fast" / "seed-0001"


def assert_close(one, other):
    for runs, twins in zip(one["a lake"], other["a lake"], strict=True):
        for record, twin in zip(runs.records, twins.records, strict=True):
            for name, value in vars(record).items():
                if isinstance(value, np.ndarray):
                    np.testing.assert_allclose(value, getattr(twin, name), err_msg=name)


def test_its_results_are_those_that_are_learned_now(former, experiment, tmp_path):
    found = load_results(former)
    assert_close(found, experiment.run(tmp_path / "new"))
    assert str(status_of(former)) == "8 of 16 cells done, 8 failed, 0 to go"
    assert status_of(former).failures[0].error == "RuntimeError: bad luck"


def test_a_run_goes_on_in_it_and_leaves_it_as_it_is(former, experiment, tree, tmp_path):
    before = tree(former)
    more = Experiment.read(experiment.file, seeds=6).run(former)
    assert [len(runs.records) for runs in more["a lake"]] == [6, 6]
    after = tree(former)
    assert {name for name in before if after[name] != before[name]} == {"run.json"}
    assert len(Store(former).of(("a-lake", "fast")).done) == 6
    merge_results(tmp_path / "merged", [former])
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == ["cells", "run.json"]
    assert_close(load_results(tmp_path / "merged"), more)
    with pytest.raises(ParameterError, match=r"QLearning in a lake, seed 0 was made with other .*: steps was 60"):
        Experiment.read(experiment.file, steps=70).run(former)


def test_cells_of_still_earlier_versions_are_gone_on_with(former, experiment, tree):
    """They name what `record_every` was called then, and lack a parameter that agents have had since then."""
    for file in former.rglob("cell.json"):
        content = json.loads(file.read_text())
        content["spec"]["checkpoint_every"] = content["spec"].pop("record_every")
        assert content["spec"]["agent"].pop("initial_value") == 0.0
        rewrite(file.parent, spec=content["spec"])
    before = tree(former)
    experiment.run(former)
    assert {name for name in before if name.endswith("cell.json") and tree(former)[name] != before[name]} == set()
    assert not list((former / "cells").glob("*")) if (former / "cells").exists() else True


def test_damaged_notes_of_failures_are_not_believed(former, experiment):
    for number, note in enumerate(sorted(former.rglob("*.failed.json"))):
        content = json.loads(note.read_text())
        changes = [{"seed": "0"}, {"error": None}, {"where": 3}, {"more": 1}, {}, {"step": 1.5}, {}, {}][number]
        content["failure"] |= changes
        note.write_text("{" if number == 4 else json.dumps(content))
    assert len(status_of(former).failures) == 2


def test_a_missing_or_damaged_file_is_named(cell):
    for name in ("cell.json", "curve.csv", "evaluation.csv", "monitor.csv"):
        content = (cell / name).read_bytes()
        digit = content.rindex(b"6") if b"6" in content else content.rindex(b"3")
        for damaged in (
            content[: len(content) // 2],
            b"",
            content[:digit] + b"9" + content[digit + 1 :],
            b"hello\n",
            b"\xff\xfe\x00" * 100,
        ):
            (cell / name).write_bytes(damaged)
            with pytest.raises(FileError) as caught:
                read_cell(cell)
            assert str(caught.value).startswith(f"{cell / name} ")
            assert str(caught.value).endswith(f"; delete the folder {cell} to have this cell learned again")
        (cell / name).unlink()
        with pytest.raises(FileError, match=f"{name} is missing; delete the folder"):
            read_cell(cell)
        (cell / name).write_bytes(content)
    read_cell(cell)


def rewrite(cell, tables=None, **changes):
    """Change a cell, and make all its checksums right again, as an attacker can do."""
    content = json.loads((cell / "cell.json").read_text())
    for name, text in (tables or {}).items():
        (cell / name).write_text(text)
        content["sha256"][name] = cell_folders._sha256(text.encode())
    content.update(changes)
    del content["sha256"]["cell.json"]
    content["sha256"]["cell.json"] = cell_folders._own_checksum(content)
    (cell / "cell.json").write_text(cell_folders._json(content))


def test_right_checksums_over_nonsense(cell, tmp_path):
    for number, changes in enumerate(
        [
            *({"seed": "7"}, {"seed": -1}, {"loop": ["compiled"]}, {"unit": None}, {"optimal_value": "much"}),
            *({"optimal_value": 10**400}, {"spec": []}, {"versions": "new"}, {"end_probability": 2.0}),
            {"tables": {"../outside.csv": "r,l,t\n"}},
            {"tables": {"curve.csv": ""}},
            {"tables": {"curve.csv": "time\n1\n"}},
            {"tables": {"curve.csv": "time,cumulative_reward\n1\n"}},
            {"tables": {"curve.csv": "time,cumulative_reward\nnan,2\n"}},
            {"tables": {"curve.csv": "time,cumulative_reward\n1e300,2\n"}},
            {"tables": {"curve.csv": "time,cumulative_reward\none,2\n"}},
            {"tables": {"monitor.csv": "#{}\nr,l,t\n1.0,-3,3\n"}},
            {"tables": {"monitor.csv": "#{}\nr,l,t\ninf,3,3\n"}},
            {"tables": {"curve.csv": "time,cumulative_reward\n1,1e400\n"}},
            {"tables": {"evaluation.csv": "time,value\n1,nan\n"}},
            {"tables": {"evaluation.csv": "time,value,return\n1,1,-inf\n"}},
            {"tables": {"monitor.csv": "#{}\nr,l,t\n1.0,2.5,3\n"}},
        ]
    ):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(cell, copy)
        rewrite(copy, **changes)
        with pytest.raises(FileError, match="delete the folder"):
            read_cell(copy)
    for content in ("[]", "{}", '{"sha256": {}}', "3", '{"format": "x", "sha256": {"cell.json": "0"}}', "[" * 100_000):
        (cell / "cell.json").write_text(content)
        with pytest.raises(FileError, match=r"cell\.json"):
            read_cell(cell)
