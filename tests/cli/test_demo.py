import tomllib

import numpy as np
import pytest

from rlsuite.cli import demo
from rlsuite.environments.finding import find_env
from rlsuite.experiments import Experiment, load_results
from rlsuite.training.statistics import mean_interval

TINY = """
steps = 60
seeds = 2
evaluate_every = 30
record_every = 30
figures = ["cumulative_reward"]

[[environments]]
id = "rlsuite/GridGoal-v0"
label = "grid"

[[environments]]
id = "rlsuite/Bandit-v0"
label = "bandit"

[[agents]]
name = "QLearning"
gamma = 0.9
"""


@pytest.fixture
def tiny_demo(tmp_path, monkeypatch):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    monkeypatch.setattr(demo, "demo_files", lambda: [file])


def test_the_shipped_experiments_are_in_order():
    files = demo.demo_files()
    names = [Experiment.read(file).name for file in files]
    assert len(set(names)) == len(names) >= 3
    asked = [tomllib.loads(file.read_text())["seeds"] for file in files]
    assert asked == [30] * len(files)


def test_they_show_grids_a_bandit_and_a_learner_with_a_memory():
    experiments = [Experiment.read(file) for file in demo.demo_files()]
    cells = [cell for experiment in experiments for cell in experiment.cells() if cell.seed == 0]
    windows = {cell.keywords["window"] for cell in cells if "window" in cell.keywords}
    assert windows == {1, 2, 3}
    bases = [find_env(cell.env_id, **cell.keywords).unwrapped for cell in cells]
    assert sum(hasattr(base, "layout") for base in bases) >= 2
    assert any(base.observation_space.n == 1 for base in bases)


def test_everything_is_run_drawn_and_told(rlsuite, tiny_demo, tmp_path):
    done = rlsuite("demo")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("grid: discounted value of the greedy policy, mean over 2 seeds [95 % interval: Student")
    listed = [line.strip() for line in lines[lines.index("figures:") + 1 :]]
    assert listed == [
        "runs/demo/tiny/grid-cumulative_reward.png",
        "runs/demo/tiny/bandit-cumulative_reward.png",
        "runs/demo/tiny/grid-optimum.png",
    ]
    assert all((tmp_path / path).stat().st_size > 1_000 for path in listed)
    assert len(load_results(tmp_path / "runs" / "demo" / "tiny")) == 2
    assert "was there" not in done.err


@pytest.mark.slow
def test_results_that_are_there_are_drawn_again_and_that_is_said(rlsuite, tiny_demo, tmp_path):
    rlsuite("demo", "--output", "shown")
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "shown").rglob("*.csv")}
    figure = tmp_path / "shown" / "tiny" / "grid-optimum.png"
    figure.unlink()
    done = rlsuite("demo", "--output", "shown")
    assert done.code == 0
    assert "shown/tiny exists already: its finished cells were not learned again, only drawn\n" in done.err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "shown").rglob("*.csv")} == cells
    assert figure.exists()


@pytest.mark.slow
def test_for_machines(rlsuite_json, tiny_demo):
    printed = rlsuite_json("demo")
    assert [(row["environment"], row["seeds"]) for row in printed["rows"]] == [("grid", 2), ("bandit", 2)]
    assert len(printed["figures"]) == 3


def test_no_experiments_at_all(rlsuite, monkeypatch):
    monkeypatch.setattr(demo, "demo_files", list)
    done = rlsuite("demo")
    assert done.code == 2
    assert done.err == (
        "rlsuite: error: no installed package announces experiments in the entry-point group 'rlsuite.demos'\n"
    )


@pytest.mark.slow
def test_the_first_figure_shows_a_difference_between_agents(tmp_path):
    """In each grid, there are times at which the intervals of two agents are apart."""
    experiment = Experiment.read(demo.demo_files()[0])
    assert experiment.figures[0] == "regret"
    for results in experiment.run(tmp_path / "out").values():
        curves = [mean_interval([record.regret for record in one.records]) for one in results]
        highest, lowest = np.max([one.low for one in curves], axis=0), np.min([one.high for one in curves], axis=0)
        assert (highest > lowest).any()
