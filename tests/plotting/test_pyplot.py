"""Figures are pyplot's, as those of pandas and seaborn are."""

import base64
import inspect
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from PIL import Image

import rlsuite as rl
from rlsuite import plotting
from rlsuite.cli import main
from rlsuite.errors import CallError, ParameterError
from rlsuite.planning import pareto, simulate_beliefs, solve
from rlsuite.plotting.figure import write
from rlsuite.training.results import Bounds
from rlsuite_envs.bandits import bandit

UNIT = Bounds(50.0, 81.0, 50.0)

NO_FIGURES = {
    "style_axes",
    "explore",
    "learning_movie",
    "planning_movie",
    "belief_movie",
    "walk_movie",
    "write_report",
    "value_maps",
    "save",
    "figures",
    "plan_figures",
    "solution_figures",
    "Palette",
    "AxesKeywords",
    "ColourKeywords",
    "CurveKeywords",
}


@pytest.fixture
def drawings(results_of, tiger, doors, casino):
    """Every public figure, drawn with any keywords."""
    lake = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.9))
    plan, plan_of_doors = (solve(model, "incremental_pruning", horizon=3) for model in (tiger(), doors))
    thompson = rl.ThompsonNormal().learn(bandit([0.0, 1.0]).to_env(), steps=100, seed=7)
    episodes = simulate_beliefs(tiger(), lambda belief: 0, steps=5, seed=1, keep_beliefs=True)
    drawn = {name: (draw, results_of()) for name, draw in plotting.figures().items()}
    scored = results_of(value_bounds=UNIT, value_error=np.zeros(0))
    drawn["parameter_study"] = (plotting.parameter_study, [replace(scored, setting={"learning_rate": 0.1})])
    pair = {"learning_rate": 0.1, "exploration.epsilon": 0.1}
    drawn["parameter_map"] = (plotting.parameter_map, [replace(scored, setting=pair)])
    light = rl.HSMM([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], [[0, 0.5, 0.5], [1, 0, 0]])
    drawn |= {
        "mean_curves": (plotting.mean_curves, {"a": [[1.0, 2.0], [2.0, 4.0]]}),
        "final_values": (plotting.final_values, rl.compare({"lake": [results_of()]})),
        "performance_profile": (plotting.performance_profile, rl.compare({"lake": [scored]})),
        "value_map": (plotting.value_map, "FrozenLake-v1", lake),
        "q_map": (plotting.q_map, "FrozenLake-v1", lake),
        "state_values": (plotting.state_values, lake),
        "convergence": (plotting.convergence, lake),
        "gap": (plotting.gap, plan),
        "alpha_vectors": (plotting.alpha_vectors, plan),
        "policy_graph": (plotting.policy_graph, plan),
        "diagram": (plotting.diagram, tiger()),
        "belief_simplex": (plotting.belief_simplex, plan_of_doors),
        "belief_trace": (plotting.belief_trace, tiger(), episodes),
        "pareto_front": (plotting.pareto_front, pareto(tiger().mdp, ("reward", "steps"))),
        "arm_posteriors": (plotting.arm_posteriors, thompson),
        "state_posteriors": (plotting.state_posteriors, casino, [0, 5, 5, 5, 1]),
        "state_durations": (plotting.state_durations, light, [0, 0, 1, 0, 0, 1, 0]),
        "value_surface": (plotting.value_surface, "MountainCar-v0", lambda x: x[:, 0]),
        "policy_map": (plotting.policy_map, "MountainCar-v0", lambda x: x[:, 1] > 0),
    }
    return {name: lambda given=given, **look: given[0](*given[1:], **look) for name, given in drawn.items()}


def test_every_figure_is_pyplots_and_takes_its_keywords(drawings, tmp_path):
    assert set(drawings) == set(plotting.__all__) - NO_FIGURES
    for name, draw in drawings.items():
        ax = draw()
        assert isinstance(ax, Axes), name
        assert (plt.gcf(), plt.gca()) == (ax.figure, ax), name
        plt.title("mine")
        assert (ax.get_title(), ax.get_title(loc="left")) == ("mine", ""), name
        plt.savefig(tmp_path / "figure.png", dpi=40)
        with Image.open(tmp_path / "figure.png") as picture:
            assert len(picture.getcolors(picture.width * picture.height)) > 50, name
        look = {"title": "ours", "xlabel": "x", "ylabel": "y", "xlim": (1, 2), "ylim": (0.5, 3)}
        ax = draw(**look, figsize=(4, 2))
        assert ax.get_title(loc="left") == "ours", name
        assert [ax.get_xlabel(), ax.get_ylabel(), *ax.get_xlim(), *ax.get_ylim()] == ["x", "y", 1, 2, 0.5, 3], name
        before = plt.get_fignums()
        given = plt.figure().add_subplot()
        assert draw(ax=given) is given
        assert len(plt.get_fignums()) == len(before) + 1
        plt.close("all")
        with pytest.raises(CallError, match=r"has no parameter 'titel'; did you mean title="):
            draw(titel="mine")


def test_signatures_show_the_keywords():
    taken = inspect.signature(plotting.regret).parameters
    assert list(taken) == [
        "results",
        "ax",
        "figsize",
        "title",
        "xlabel",
        "ylabel",
        "xlim",
        "ylim",
        "xscale",
        "yscale",
        "context",
        "band",
        "palette",
    ]
    assert taken["ax"].annotation == "Axes | None"
    assert {"vmin", "vmax", "cmap"} <= inspect.signature(plotting.value_map).parameters.keys()


def test_letters_are_larger_beside_the_axes_of_papers_and_slides(results_of, tmp_path):
    widths, dots = [], []
    for context in (None, "slides", "paper"):
        ax = plotting.regret(results_of(), context=context)
        whole = ax.get_figure(root=True)
        widths.append(ax.get_window_extent().width / whole.dpi)
        dots.append(whole.dpi)
    assert widths == pytest.approx([6.4, 0.65 * 6.4, 0.55 * 6.4])
    assert dots[1:] == [240, 300]
    with Image.open(write(tmp_path / "a.png", plotting.regret, results_of(), context="slides")) as picture:
        width = picture.width
    assert 1_000 < width < 1_400
    assert plotting.regret(results_of(), context="paper", figsize=(5, 2)).get_window_extent().width == 1_500
    with pytest.raises(ParameterError, match="unknown context 'slide'; did you mean 'slides'"):
        plotting.regret(results_of(), context="slide")


def test_what_is_not_axes_is_refused(results_of):
    with pytest.raises(ParameterError, match=r"ndarray, not matplotlib's Axes: give one of them, as ax=axes\[0\]"):
        plotting.regret(results_of(), ax=plt.subplots(1, 2)[1])
    with pytest.raises(ParameterError, match=r"ax is of type Figure.*add_subplot"):
        plotting.regret(results_of(), ax=plt.figure())


def test_a_later_title_stands_above_the_legend(results_of):
    plotting.regret([results_of("QLearning"), results_of("Sarsa")])
    plotting.regret([results_of("QLearning"), results_of("Sarsa")], ax=plt.gca())  # twice on the same axes
    title = plt.title("mine", fontsize=20)
    plt.gcf().draw_without_rendering()
    assert not title.get_window_extent().overlaps(plt.gca().get_legend().get_window_extent())
    assert title.get_fontsize() == 20
    plt.gca().set_title("left", loc="left")
    assert plt.gca().get_title(loc="left") == "left"


def test_two_maps_on_one_scale():
    colours = []
    for values in (np.arange(16.0), np.arange(16.0) / 2):
        ax = plotting.value_map("FrozenLake-v1", values, vmin=0, vmax=20, cmap="Blues")
        colours.append(tuple(ax.images[0].get_array()[1, 2]))  # state 6
        (bar,) = ax.child_axes
        assert bar.get_ylim() == (0, 20)
    assert colours[0] == tuple(plt.get_cmap("Blues")(6 / 20, bytes=True)[:3])
    assert colours[1] == tuple(plt.get_cmap("Blues")(3 / 20, bytes=True)[:3])
    surface = plotting.value_surface("MountainCar-v0", lambda x: x[:, 0], vmin=-3, vmax=3, cmap="Blues")
    assert surface.images[0].get_clim() == (-3, 3)
    with pytest.raises(ParameterError, match=r"vmin=3 is not below vmax=3"):
        plotting.value_map("FrozenLake-v1", values, vmin=3, vmax=3)
    with pytest.raises(ParameterError, match=r"cmap='blue' is not one of matplotlib's"):
        plotting.value_map("FrozenLake-v1", values, cmap="blue")


def test_files_of_the_command_line_leave_no_figure_open(tmp_path, results_of):
    write(tmp_path / "regret.png", plotting.regret, results_of())
    assert main(["solve", "FrozenLake-v1", "--gamma", "0.9", "--plot", str(tmp_path / "lake.png")]) == 0
    assert plt.get_fignums() == []


@pytest.mark.slow
def test_a_script_saves_what_it_has_drawn(tmp_path):
    script = """
import rlsuite as rl, matplotlib.pyplot as plt
rl.plotting.value_map("FrozenLake-v1", range(16))
plt.title("mine")
plt.savefig("lake.png")
plt.show()
print(plt.get_fignums(), plt.gca().get_title())
"""
    command = [sys.executable, "-W", "error", "-c", script]
    printed = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ | {"MPLBACKEND": "Agg"}
    ).stdout
    assert printed == "[1] mine\n"
    with Image.open(tmp_path / "lake.png") as picture:
        assert len(picture.getcolors(picture.width * picture.height)) > 50


NOTEBOOK = [
    "%matplotlib inline\nimport rlsuite as rl, matplotlib.pyplot as plt",
    "results = rl.train(rl.Sarsa(gamma=0.9), 'FrozenLake-v1', steps=500, seeds=3, record_every=50)",
    "rl.plotting.value_map('FrozenLake-v1', range(16))",
    "ax = rl.plotting.regret(results)\nplt.show()",
]


@pytest.mark.notebook
def test_a_notebook_shows_figures(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in NOTEBOOK])
    nbclient.NotebookClient(book, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for number, cell in enumerate(book.cells[2:]):
        (picture,) = [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
        path = tmp_path / f"{number}.png"
        path.write_bytes(base64.b64decode(picture))
        with Image.open(path) as image:
            assert len(image.convert("RGB").getcolors(image.width * image.height)) > 50


def test_axes_of_ones_own_get_the_style(caption_of):
    left, right = plt.subplots(1, 2, layout="constrained")[1]
    left.plot([1, 2], label="a")
    right.plot([2, 1], label="b")
    left.set_ylabel("mine")
    assert plotting.style_axes(["One run."], ax=left, title="A", xlabel="days", xlim=(0, 1)) is left
    assert plotting.style_axes() is right  # the current axes
    assert (caption_of(left), left.get_title(loc="left"), left.get_ylabel()) == ("One run.", "A", "mine")
    assert left.get_legend().get_window_extent().y0 >= left.get_window_extent().y1
