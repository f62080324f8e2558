import sys

import numpy as np

from rlsuite.experiments import progress
from rlsuite.experiments.progress import Progress
from rlsuite.training.results import Record

RECORD = Record(0, "compiled", "steps", np.array([1.0, 3.0]), np.array([1, 2]))


def test_without_a_terminal_a_line_a_minute(capsys, monkeypatch):
    times = iter([0.0, 10.0, 61.0, 61.0, 61.0, 100.0, 125.0, 125.0, 125.0])
    with Progress("grid", 2, 12, visible=True) as shown:
        shown._began = shown._said = 0.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(times, 130.0))
        next(times)
        shown.finish(RECORD)
        shown.look()
        shown.fail()
        shown.look([0.5, 0.5])
        shown.finish(RECORD)
        shown.look()
        shown.look()
    monkeypatch.undo()
    out, told = capsys.readouterr()
    assert out == ""
    assert told.splitlines() == [
        "grid: 4 of 12 cells, 1 failed, 2.4 min left",
        "grid: 5 of 12 cells, 1 failed, 4.9 min left",
    ]


def test_in_a_terminal_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("grid", 0, 2_000, visible=True) as shown:
        shown.finish(RECORD)
        shown.look([0.5])
        shown.bar.refresh()
    assert "grid:   0%" in (told := capsys.readouterr().err)
    assert "1 of 2,000 cells, mean return 3" in told


def test_nothing_where_nothing_is_asked_for(capsys):
    with Progress("grid", 0, 1, visible=False) as shown:
        shown.finish(RECORD)
        shown.look()
    assert capsys.readouterr() == ("", "")
