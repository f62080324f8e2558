import csv
import sys
from types import SimpleNamespace

from rlsuite.experiments import Experiment, export, load_results


def test_results_are_a_frame_with_the_columns_and_rows_of_the_export(toml, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    run = Experiment.read(toml()).run(tmp_path / "out")
    frame = load_results(tmp_path / "out").to_frame()
    assert frame == run.to_frame()
    with export(tmp_path / "out", tmp_path / "numbers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(frame)
    for name, column in frame.items():
        assert [row[name] for row in rows] == list(map(str, column))
