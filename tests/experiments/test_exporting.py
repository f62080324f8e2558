import csv
import sys
from types import ModuleType

import numpy as np
import pytest

from rlsuite.cli import main
from rlsuite.errors import MissingPackage, ParameterError
from rlsuite.experiments import Experiment, export, exporting, load_results


@pytest.fixture
def folder(toml, tmp_path):
    Experiment.read(toml()).run(tmp_path / "out")
    return tmp_path / "out"


def test_a_table_has_every_number(folder, capsys):
    assert main(["report", str(folder), "--export", str(folder / "numbers.csv")]) == 0
    assert capsys.readouterr().out == f"{folder / 'numbers.csv'}\n"
    with (folder / "numbers.csv").open() as file:
        rows = list(csv.DictReader(file))
    run = load_results(folder)["dry lake"][1]
    for record in run.records:
        own = [row for row in rows if (row["agent"], row["seed"]) == ("fast learner", str(record.seed))]
        own = [row for row in own if row["environment"] == "dry lake"]
        found = {
            name: ([int(row["time"]) for row in one], [float(row["number"]) for row in one])
            for name in {row["measure"] for row in own}
            for one in [[row for row in own if row["measure"] == name]]
        }
        assert found["cumulative_reward"] == (record.time.tolist(), record.cumulative_reward.tolist())
        assert found["value"] == (record.evaluation_time.tolist(), record.evaluation.tolist())
        assert found["episode_return"] == (np.cumsum(record.episode_length).tolist(), record.episode_return.tolist())
        assert "value_error" not in found


def test_monitor_files_are_read_by_the_rule_of_stable_baselines3(folder, tmp_path):
    # stable_baselines3.common.monitor.load_results: the first line is "#" and JSON with t_start, the rest is CSV with
    # a header; t is shifted by t_start
    export(folder, f"monitor:{tmp_path / 'files'}")
    record = load_results(folder)["dry lake"][0].records[2]
    with (tmp_path / "files" / "dry-lake" / "QLearning" / "seed-0002.monitor.csv").open() as file:
        assert file.readline() == '#{"t_start": 0.0, "env_id": "FrozenLake-v1", "t_unit": "environment steps"}\n'
        rows = list(csv.DictReader(file))
    assert [float(row["r"]) for row in rows] == record.episode_return.tolist()
    assert [int(row["l"]) for row in rows] == record.episode_length.tolist()
    assert [float(row["t"]) for row in rows] == np.cumsum(record.episode_length).tolist()


def test_a_tracker_gets_three_calls(folder, monkeypatch):
    calls = []
    tracker = ModuleType("tracker")
    tracker.init = lambda **about: calls.append(("init", about))
    tracker.log = lambda numbers, step: calls.append(("log", step, numbers))
    monkeypatch.setitem(sys.modules, "tracker", tracker)
    with pytest.raises(ParameterError, match=r"export to tracker: it has no function finish; a tracker has init"):
        export(folder, "tracker:study")
    tracker.finish = lambda: calls.append(("finish",))
    assert export(folder, "tracker:study") == "study"
    begins = [one[1] for one in calls if one[0] == "init"]
    assert len(begins) == 12 == calls.count(("finish",))
    assert begins[0]["project"] == "study"
    assert begins[0]["name"] == "dry lake/QLearning/seed-0000"
    assert begins[0]["config"]["agent"]["gamma"] == 0.9
    steps = [one[1] for one in calls[1 : calls.index(("finish",))]]
    assert steps == sorted(set(steps))
    at_the_end = calls[calls.index(("finish",)) - 1]
    assert at_the_end[1] == 400
    assert {"cumulative_reward", "regret", "value", "return"} <= at_the_end[2].keys()


def test_what_is_missing_or_unknown_is_named(folder, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(exporting, "import_module", missing)
    for target, words in (
        ("numbers.parquet", r"numbers.parquet needs PyArrow: pip install 'rlsuite\[parquet\]'"),
        ("tensorboard:logs", r"event files need tensorboardX: pip install 'rlsuite\[tensorboard\]'"),
        ("wandb:study", r"export to wandb: pip install wandb"),
    ):
        with pytest.raises(MissingPackage, match=words):
            export(folder, target)
    for target in ("numbers.xlsx", "tensorboard:", "study"):
        with pytest.raises(ParameterError, match=r"give a file that ends with \.csv or \.parquet, monitor:FOLDER"):
            export(folder, target)


@pytest.mark.slow
def test_other_formats_where_their_packages_are_installed(folder, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(folder, tmp_path / "numbers.parquet")
    export(folder, tmp_path / "numbers.csv")
    table = parquet.read_table(tmp_path / "numbers.parquet")
    with (tmp_path / "numbers.csv").open() as file:
        assert table["number"].to_pylist() == [float(row["number"]) for row in csv.DictReader(file)]
    pytest.importorskip("tensorboardX")
    export(folder, f"tensorboard:{tmp_path / 'logs'}")
    assert len(list((tmp_path / "logs").rglob("events.out.tfevents.*"))) == 12
