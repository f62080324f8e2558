import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rlsuite.cli import experiments as demo
from rlsuite.environments.finding import find_env
from rlsuite.experiments import Experiment, compare, load_results, table
from rlsuite.plotting import figure
from rlsuite.plotting.figure_list import figures_of
from rlsuite.training.statistics import mean_interval

ROOT = Path(__file__).parents[2]

SMALL = """
steps = 300
seeds = 3
evaluate_every = 100
record_every = 50

[[environments]]
id = "rlsuite/GridGoal-v0"
label = "grid"

[[agents]]
name = "QLearning"
gamma = 0.9
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def test_the_examples_are_in_order(rlsuite_json):
    for name in sorted(file.stem for file in (ROOT / "runs").glob("*.toml")):
        planned = rlsuite_json("run", ROOT / "runs" / f"{name}.toml", "--seeds", 2, "--dry-run", "--output", "out")
        assert planned["done"] == 0
        config = planned["config"]
        assert planned["cells"] == len(config["seeds"]) * len(config["agents"]) * len(config["environments"])
        assert config["name"] == name


def test_results_go_beside_the_file(rlsuite, small, tmp_path):
    done = rlsuite("run", "small.toml")
    assert done.code == 0
    results = load_results(tmp_path / "small")
    assert [record.seed for record in results["grid"][0].records] == [0, 1, 2]
    assert done.out == table(compare(results)) + "\n"
    assert done.err.splitlines()[-2:] == ["results: small", "next: rlsuite report small"]


def test_flags_change_what_the_file_says(rlsuite_json, small, tmp_path):
    arguments = ("run", "small.toml", "--seeds", "2", "--loop", "stepwise", "--workers", "1", "--output", "elsewhere")
    printed = rlsuite_json(*arguments)
    assert printed["folder"] == "elsewhere"
    assert printed["rows"][0]["seeds"] == 2
    records = load_results(tmp_path / "elsewhere")["grid"][0].records
    assert [record.loop for record in records] == ["stepwise", "stepwise"]


def test_ten_million_cells_are_refused_before_they_are_made(rlsuite, small, tmp_path):
    for more in ((), ("--dry-run",)):
        done = rlsuite("run", "small.toml", "--seeds", 10_000_000, *more)
        assert done.code == 2
        assert "10,000,000 environments, agents and seeds are " in done.err
        assert "say --most-cells " in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
    assert rlsuite("run", "small.toml", "--dry-run", "--most-cells", 1).code == 2


def test_a_dry_run_checks_everything_and_writes_nothing(rlsuite, small, tmp_path):
    done = rlsuite("run", "small.toml", "--dry-run")
    assert done.out.splitlines() == [
        "small: 3 cells of 300 steps, 0 of them done, in small",
        "  grid: 6 observations, 4 actions",
        f"  QLearning: {Experiment.read(small).agents[0].agent!r}",
    ]
    assert list(tmp_path.iterdir()) == [small]
    small.write_text(SMALL.replace("GridGoal-v0", "GridGaol-v0"))
    done = rlsuite("run", "small.toml", "--dry-run")
    assert done.code == 2
    assert done.err == "rlsuite: error: No environment 'rlsuite/GridGaol-v0'. Did you mean 'rlsuite/GridGoal-v0'?\n"


def test_unknown_figures_are_found_out_before_learning(rlsuite, small, tmp_path):
    small.write_text('figures = ["regrets"]\n' + SMALL)
    done = rlsuite("run", "small.toml")
    assert done.code == 2
    assert done.err.startswith("rlsuite: error: unknown figure 'regrets'; did you mean 'regret'? (choices: ")
    assert list(tmp_path.iterdir()) == [small]


@pytest.mark.slow
def test_all_figures(rlsuite, small, tmp_path):
    rlsuite("run", "small.toml")
    done = rlsuite("report", "small", "--plot")
    assert done.code == 0
    assert done.out.splitlines() == [f"small/grid-{name}.png" for name in figures_of(load_results("small")["grid"])]
    for path in done.out.splitlines():
        with Image.open(tmp_path / path) as picture:
            assert min(picture.size) > 400


@pytest.mark.slow
def test_figures_that_the_experiment_asks_for(rlsuite_json, small):
    small.write_text('figures = ["regret"]\n' + SMALL)
    rlsuite_json("run", "small.toml")
    assert rlsuite_json("report", "small", "--plot")["figures"] == ["small/grid-regret.png"]
    arguments = ("report", "small", "--plot", "--figures", "cumulative_reward,evaluation", "--format", "svg")
    assert rlsuite_json(*arguments)["figures"] == ["small/grid-cumulative_reward.svg", "small/grid-evaluation.svg"]


@pytest.mark.slow
def test_figures_that_cannot_be_drawn(rlsuite, small):
    small.write_text("regret = false\n" + SMALL)
    rlsuite("run", "small.toml")
    done = rlsuite("report", "small", "--plot")
    assert done.code == 0
    assert "left out: regret of grid: " in done.err
    assert "regret.png" not in done.out
    done = rlsuite("report", "small", "--plot", "--figures", "regret")
    assert done.code == 2
    assert done.err.startswith("rlsuite: error: regret of grid: ")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--figures", "regrets"], "unknown figure 'regrets'; did you mean 'regret'? (choices: "),
        (["--format", "jpeg"], "unknown figure format '.jpeg'; did you mean '.png'? (choices: "),
        (["--output", "nowhere"], "there is no folder nowhere"),
        (["--ylim", "high", "0"], "argument --ylim: 'high' is not a number: give two"),
    ],
)
def test_mistakes_in_plot(rlsuite, small, flags, sentence):
    rlsuite("run", "small.toml")
    done = rlsuite("report", "small", "--plot", *flags)
    assert done.code == 2
    assert done.err.startswith(f"rlsuite: error: {sentence}")


def test_a_damaged_file_is_named_and_nothing_is_lost(rlsuite, small, tmp_path):
    rlsuite("run", "small.toml")
    file = tmp_path / "small" / "cells" / "00000.cells"
    file.write_text("r,l,t\n")
    for command in (("run", "small.toml"), ("report", "small", "--plot")):
        done = rlsuite(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"rlsuite: error: {file.relative_to(tmp_path)} is not a file of cells; run the experiment with "
            f"{'--retry' if command[0] == 'run' else 'retry=True'}, which keeps the cells in it that are whole, and "
            "learns the others again\n"
        )
    assert file.read_text() == "r,l,t\n"


def test_bad_files_end_with_exit_code_2(rlsuite, small, tmp_path):
    small.write_text(SMALL.replace("gamma", "gama"))
    done = rlsuite("run", "small.toml")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "rlsuite: error: small.toml: agents[0].gama: unknown key of QLearning 'gama'; did you mean 'gamma'? "
        "(choices: exploration, features, gamma, initial_value, learning_rate, values)\n"
    )
    assert list(tmp_path.iterdir()) == [small]


BROKEN = """
import gymnasium


class Broken(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bad = seed is not None and seed % MODULUS == 0
        return 0, {}

    def step(self, action):
        if self.bad:
            raise KeyError("door")
        return 0, 0.0, True, False, {}
"""


@pytest.mark.slow
@pytest.mark.parametrize("modulus", [1, 2])
def test_failures_are_named_where_figures_are_asked_for(rlsuite, small, tmp_path, modulus):
    (tmp_path / "broken.py").write_text(BROKEN.replace("MODULUS", str(modulus)))
    small.write_text(SMALL.replace("rlsuite/GridGoal-v0", "broken.py:Broken").replace("seeds = 3", "seeds = 4"))
    ran = rlsuite("run", "small.toml")
    assert ran.code == 1
    done = rlsuite("report", "small", "--plot")
    failed = ("QLearning in grid, seed ", ", step 1: KeyError: 'door'", f"{tmp_path / 'broken.py'}, line 15")
    assert all(part in done.err for part in failed)
    if modulus == 1:  # all have failed
        assert "next: " not in ran.err
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("rlsuite: error: small holds no finished cell: 4 runs failed: ")
        assert done.err.endswith(" Fix this, and run the experiment again with retry=True (--retry)\n")
    else:
        assert "next: rlsuite report small" in ran.err
        assert done.code == 0
        assert done.out.endswith(".png\n")


def limits_of(monkeypatch):
    """The limits of the y axis, and the title, of all figures that are written from now on."""
    seen = {}
    before = figure.save

    def save(ax, path):
        seen[path.name] = (ax.get_ylim(), ax.get_title(loc="left"))
        return before(ax, path)

    monkeypatch.setattr(figure, "save", save)
    return seen


def test_limits_and_titles_in_a_file_and_on_the_command_line(rlsuite, small, monkeypatch):
    entry = 'figures = ["regret", { name = "episode_return", ylim = [-100, 200], smooth = 2, title = "mine" }]\n'
    small.write_text(entry + SMALL)
    rlsuite("run", "small.toml")
    seen = limits_of(monkeypatch)
    assert rlsuite("report", "small", "--plot").code == 0
    assert seen["grid-episode_return.png"] == ((-100, 200), "mine")
    assert seen["grid-regret.png"][1] == "grid"
    assert rlsuite("report", "small", "--plot", "--ylim", "-7", "none", "--title", "other").code == 0
    assert {name: (low, title) for name, ((low, _), title) in seen.items()} == dict.fromkeys(seen, (-7, "other"))


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ('{ name = "regret", ylims = [0, 1] }', "figures, regret: unknown keyword 'ylims'; did you mean 'ylim'?"),
        ('"regret", { name = "regret", ylim = [0, 1] }', "figures has regret twice"),
        ("{ ylim = [0, 1] }", "or of tables with a name"),
    ],
)
def test_mistakes_in_tables_of_figures(rlsuite, small, entry, sentence):
    small.write_text(f"figures = [{entry}]\n" + SMALL)
    done = rlsuite("run", "small.toml")
    assert done.code == 2
    assert sentence in done.err


def test_a_report_is_written_beside_the_results(rlsuite, tmp_path):
    (tmp_path / "one.toml").write_text(
        "steps = 50\nseeds = 2\nfigures = ['regret']\nenvironments = [{id = 'FrozenLake-v1'}]\n"
        "agents = [{name = 'sarsa'}]\n"
    )
    assert rlsuite("run", "one.toml").code == 0
    done = rlsuite("report", "one")
    assert (done.code, done.out) == (0, "one/report.html\n")
    assert "<title>one</title>" in (tmp_path / "one" / "report.html").read_text()
    assert "must end with .html" in rlsuite("report", "one", "-o", "one.pdf").err


def test_shards_are_counted_and_merged(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "one.toml").write_text(
        "steps = 50\nseeds = 3\nenvironments = [{id = 'FrozenLake-v1'}]\nagents = [{name = 'sarsa'}]\n"
    )
    first = rlsuite("run", "one.toml", "--shard", "1/2", "--output", "a")
    assert (first.code, first.out) == (0, "shard 1/2: 2 of 3 cells done, 1 to go\n")
    assert rlsuite("run", "one.toml", "--shard", "2/2", "--output", "b").code == 0
    assert rlsuite("report", "a", "--status").out == "2 of 3 cells done, 1 to go\n"
    merged = rlsuite_json("report", "whole", "--merge", "a", "b")
    assert merged == {"done": 3, "failures": [], "total": 3, "writers": 0, "seconds_left": None}
    assert rlsuite("run", "one.toml", "--output", "whole").out.startswith("FrozenLake-v1")
    assert "--shard 3/2 must be like '3/16'" in rlsuite("run", "one.toml", "--shard", "3/2").err
    assert "holds no results" in rlsuite("report", "nothing", "--status").err


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
