"""What is read of the folder of an experiment that is damaged, or that somebody has written."""

import csv
import json
import shutil
import sys
from types import SimpleNamespace

import pytest

from rlsuite.errors import FileError
from rlsuite.experiments import Experiment, export, load_results


def test_results_are_a_frame_with_the_columns_and_rows_of_the_export(toml, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    run = Experiment.read(toml()).run(tmp_path / "out")
    frame = load_results(tmp_path / "out").to_frame()
    assert frame == run.to_frame()
    runs = [one for found in load_results(tmp_path / "out").values() for one in found]
    assert [number for one in runs for number in one.to_frame()["number"]] == frame["number"]
    means = [sum(record.episode_return) / record.episode_return.size for record in runs[0].records]
    assert runs[0].mean == pytest.approx(sum(means) / len(means))
    with export(tmp_path / "out", tmp_path / "numbers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(frame)
    for name, column in frame.items():
        assert [row[name] for row in rows] == list(map(str, column))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "rlsuite run 1"}', '{"format": "x"}'])
def test_damaged_run_json(toml, tmp_path, content):
    Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    (tmp_path / "out" / "run.json").write_text(content)
    with pytest.raises(FileError, match=r"out/run\.json"):
        load_results(tmp_path / "out")
    with pytest.raises(FileError, match=r"out/run\.json"):
        Experiment.read(toml(), seeds=2).run(tmp_path / "out")
    assert (tmp_path / "out" / "run.json").read_text() == content


@pytest.mark.parametrize("seeds", ["abc", None, ["x"], [1.5], ["../../x"], 3, {"a": 1}, [-1], [2**70, "1"]])
def test_impossible_seeds_in_run_json(toml, tmp_path, seeds):
    assert_refused(toml, tmp_path, lambda config: config.update(seeds=seeds))


@pytest.mark.parametrize("label", [3, None, "", "...", "run.json", "x" * 256, ["a"]])
@pytest.mark.parametrize("what", ["agents", "environments"])
def test_impossible_labels_in_run_json(toml, tmp_path, label, what):
    assert_refused(toml, tmp_path, lambda config: config[what][0].update(label=label))


def assert_refused(toml, tmp_path, change):
    Experiment.read(toml(), seeds=1, steps=10).run(tmp_path / "out")
    file = tmp_path / "out" / "run.json"
    content = json.loads(file.read_text())
    change(content["config"])
    file.write_text(json.dumps(content))
    with pytest.raises(FileError, match=r"out/run\.json is damaged"):
        load_results(tmp_path / "out")


def test_deep_run_json(toml, tmp_path):
    Experiment.read(toml(), seeds=1, steps=10).run(tmp_path / "out")
    (tmp_path / "out" / "run.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match=r"out/run\.json is damaged"):
        load_results(tmp_path / "out")


def test_folders_without_results(tmp_path, toml):
    for name, lacks in (("nowhere", "there is no such folder"), ("", r"there is no run\.json")):
        with pytest.raises(
            FileError, match=f"holds no results of an experiment: {lacks}; 'rlsuite run FILE.toml' writes"
        ):
            load_results(tmp_path / name)
    Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "cells")
    with pytest.raises(FileError, match="out holds no finished cell yet"):
        load_results(tmp_path / "out")
