import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import rlsuite as rl
from rlsuite.cli import output
from rlsuite.planning import methods, watch
from rlsuite.plotting import figure


@pytest.fixture
def two_states(tmp_path):
    """Write a model to a file in the folder of the commands: 1 per step, or once 5 and the game is over."""

    def write(name="two.npz", gamma=0.9):
        mdp = rl.MDP.from_successors(
            [[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=gamma, action_labels=["stay", "take"]
        )
        mdp.write(tmp_path / name)

    return write


@pytest.mark.parametrize("method", ["policy_iteration", "value-iteration"])
def test_values_of_the_grid_goal_problem(rlsuite_json, method):
    printed = rlsuite_json("solve", "rlsuite/GridGoal-v0", "--method", method)
    assert printed["gamma"] == 0.9  # the environment's own
    assert printed["value"] == pytest.approx([81, 90, 100, 90, 100, 0])
    assert printed["value_at_start"] == pytest.approx(81)
    assert printed["converged"] is True
    assert printed["error_bound"] <= 1e-6


def test_the_map_shows_values_and_all_best_actions(rlsuite):
    done = rlsuite("solve", "rlsuite/GridGoal-v0", "--show")
    lines = done.out.splitlines()
    assert lines[0] == "rlsuite/GridGoal-v0 by policy_iteration (chosen by auto), gamma 0.9"
    assert lines[1] == "  value at start  81"
    assert lines[-2:] == ["   .  90→   . 100→   G   0", "  [S  81→↑] .  90→↑  . 100↑"]


def test_what_is_no_grid_is_shown_as_a_table(rlsuite):
    done = rlsuite("solve", "rlsuite/RiverSwim-v0", "--show", "--gamma", "0.5")
    header, first, *_ = done.out.splitlines()[4:]
    assert header.split() == ["state", "value", "best", "action"]
    assert first.split()[0] == "0"


WALK = """
import gymnasium


class Walk(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return action, 4.0 * action, bool(action), False, {}
"""


def test_an_environment_without_a_table(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "walk.py").write_text(WALK)
    done = rlsuite("solve", "walk.py:Walk")
    assert (done.code, done.out) == (2, "")
    assert (
        "Walk has no transition table (env.unwrapped.P). Build one with --tabulate (rl.tabulate in Python)" in done.err
    )
    printed = rlsuite_json("solve", "walk.py:Walk", "--tabulate", "--gamma", "0.5")
    assert (printed["gamma"], printed["value_at_start"]) == (0.5, 4.0)


def test_gamma_of_an_environment_without_a_model_of_ours(rlsuite_json):
    assert rlsuite_json("solve", "FrozenLake-v1")["gamma"] == 0.99


def test_json_has_all_of_a_solution(rlsuite_json):
    printed = rlsuite_json("solve", "rlsuite/GridGoal-v0")
    assert (printed["method"], printed["chosen_by"]) == ("policy_iteration", "auto")
    assert printed["policy"] == [1, 1, 2, 1, 1, -1]
    assert printed["optimal_actions"] == [[1, 2], [1, 2], [2], [1], [1], []]
    assert printed["iterations"] >= 1
    assert printed["seconds"] > 0.0
    trace = printed["trace"]
    assert trace["error_bound"][0] is None  # nothing is certified yet
    assert trace["error_bound"][-1] == printed["error_bound"]
    assert trace["iterations"][-1] == printed["iterations"]
    assert len(trace["seconds"]) == len(trace["iterations"]) == len(trace["error_bound"])
    assert rlsuite_json("solve", "rlsuite/GridGoal-v0", "--method", "value_iteration")["chosen_by"] is None


@pytest.mark.parametrize("gamma", [None, 0.5])
def test_a_model_file(rlsuite, rlsuite_json, two_states, gamma):
    two_states()
    given = [] if gamma is None else ["--gamma", gamma]
    printed = rlsuite_json("solve", "two.npz", *given)
    assert printed["gamma"] == (gamma or 0.9)
    assert printed["value"] == pytest.approx([10.0 if gamma is None else 5.0, 0.0])
    header, stay, end = rlsuite("solve", "two.npz", "--show", *given).out.splitlines()[4:]
    assert header.split() == ["state", "value", "best", "action"]
    assert stay.split() == ["0", "10" if gamma is None else "5", "stay" if gamma is None else "take"]
    assert end.split() == ["1", "0", "-"]


def test_text_files_of_models(rlsuite, rlsuite_json, tmp_path):
    text = """
    discount: 0.9
    values: reward
    states: 2
    actions: stay go
    T: stay identity
    T: go : 0 : 1 1
    T: go : 1 : 0 1
    R: stay : 1 : * 1
    """
    (tmp_path / "two.mdp").write_text(text)
    printed = rlsuite_json("solve", "two.mdp")
    assert printed["value"] == pytest.approx([9.0, 10.0])
    chain = rl.MDP.from_successors([[1], [None]], [[1], [0]], gamma=0.5, start=0)
    chain.write(tmp_path / "chain.drn")
    assert rlsuite_json("solve", "chain.drn", "--gamma", "0.5", "--env", "end=end")["value"] == [1.0, 0.0]


def test_average_reward(rlsuite, rlsuite_json):
    done = rlsuite("solve", "rlsuite/RiverSwim-v0", "--method", "relative_value_iteration", "--show")
    title, gain, *_ = done.out.splitlines()
    assert title == "rlsuite/RiverSwim-v0 by relative_value_iteration, average reward"
    printed = rlsuite_json("solve", "rlsuite/RiverSwim-v0", "--method", "relative_value_iteration")
    assert printed["gamma"] is None
    assert printed["gain_at_start"] == pytest.approx(printed["gain"][0])
    assert gain.split() == ["gain", "at", "start", f"{printed['gain'][0]:.6g}"]
    assert done.out.splitlines()[4].split() == ["state", "bias", "best", "action"]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (["--max-iterations", "3"], "--max-iterations 3 reached"),
        (["--deadline", "1e-9"], "--deadline 1e-09 seconds passed"),
    ],
)
def test_an_answer_that_is_not_certified_is_printed_with_a_warning(rlsuite, limits, reason):
    done = rlsuite("solve", "rlsuite/RiverSwim-v0", "--method", "value_iteration", *limits)
    assert done.code == 1
    assert done.out.splitlines()[3].startswith("  converged       no, ")
    warning, *rest = done.err.splitlines()
    assert warning.startswith("rlsuite: warning: value_iteration stopped after ")
    assert warning.endswith(f", more than --tol 1e-06: {reason}")
    assert rest == ["next: the same command with --show or --plot value.png"]


def test_ctrl_c_gives_the_best_answer_so_far(rlsuite, monkeypatch):
    goes_on = watch.Watch.goes_on

    def interrupt(self, error_bound):
        if self.iterations == 5:
            signal.raise_signal(signal.SIGINT)
        return goes_on(self, error_bound)

    monkeypatch.setattr(watch.Watch, "goes_on", interrupt)
    done = rlsuite("solve", "rlsuite/RiverSwim-v0", "--method", "value_iteration")
    assert done.code == 1
    assert "  converged       no, 5 iterations" in done.out
    assert done.err.splitlines()[0].endswith(": interrupted")


def test_a_bar_on_a_terminal_only_for_methods_that_have_one(rlsuite, monkeypatch):
    assert "error bound" not in rlsuite("solve", "FrozenLake-v1", "--method", "value_iteration").err
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    assert "value_iteration: " in rlsuite("solve", "FrozenLake-v1", "--method", "value_iteration").err
    assert rlsuite("solve", "FrozenLake-v1", "--method", "backward_induction", "--horizon", "3").code == 0


def test_figure(rlsuite, tmp_path):
    done = rlsuite("solve", "FrozenLake-v1", "--plot", "value.png")
    assert done.out.splitlines()[-1] == "  written: value.png"
    with Image.open(tmp_path / "value.png") as picture:
        assert min(picture.size) > 200


@pytest.mark.parametrize(
    ("arguments", "drawn"),
    [
        (["FrozenLake-v1"], "Colour: value of the state"),
        (["rlsuite/RiverSwim-v0"], "Marks: an optimal action."),
        (["two.npz"], "Marks: an optimal action."),
        (["FrozenLake-v1", "--figure", "state-values"], "Marks: an optimal action."),
        (["FrozenLake-v1", "--figure", "convergence", "--tol", "1e-3"], "tolerance"),
        (["FrozenLake-v1", "--figure", "convergence", "--against", "seconds"], "seconds"),
    ],
)
def test_figures_are_chosen_by_what_there_is(
    rlsuite, rlsuite_json, two_states, tmp_path, arguments, drawn, monkeypatch
):
    import matplotlib

    two_states()
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    assert rlsuite_json("solve", *arguments, "--plot", "figure.svg")["plot"] == "figure.svg"
    assert drawn in (tmp_path / "figure.svg").read_text()


def test_limits_of_the_colours(rlsuite, monkeypatch):
    bars = []
    save = figure.save
    monkeypatch.setattr(figure, "save", lambda ax, path: bars.append(ax.child_axes[0].get_ylim()) or save(ax, path))
    assert rlsuite("solve", "FrozenLake-v1", "--plot", "lake.png", "--vmin", "-1", "--vmax", "2").code == 0
    assert bars == [(-1, 2)]


def test_what_is_large_is_cut_short(rlsuite, rlsuite_json):
    rows = ["S" + "." * 119, "." * 120, "." * 119 + "G"]
    grid = ["rlsuite/GridWorld-v0", "--env", f"map={rows}"]
    shown = rlsuite("solve", *grid, "--show")
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[4].split() == ["state", "value", "best", "action"]
    assert lines[-1] == f"  ... and {360 - 20} more: --json has them"
    assert len(rlsuite_json("solve", *grid)["value"]) == 360


def test_json_lines():
    content = {"rows": [{"a": np.array([1.0, np.nan])}], "none": [], "many": np.arange(3), "empty": {}}
    lines = output._json(content, "").splitlines()
    assert lines == [
        "{",
        '  "rows": [',
        "    {",
        '      "a": [1.0, null]',
        "    }",
        "  ],",
        '  "none": [],',
        '  "many": [0, 1, 2],',
        '  "empty": {}',
        "}",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["FrozenLake-v1", "--method", "value_iteraton"],
            f"unknown method 'value_iteraton'; did you mean 'value_iteration'? (choices: {', '.join(methods(rl.MDP))})",
        ),
        (
            ["FrozenLake-v1", "--method", "value-iteraton"],
            "unknown method 'value-iteraton'; did you mean 'value-iteration'? (choices: auto, average-reward-",
        ),
        (["CartPole-v1"], "CartPole-v1 has no transition table (env.unwrapped.P). "),
        (["FrozenLake-v1", "--method", "policy_iteration", "--gamma", "1"], "policy_iteration needs gamma < 1"),
        (["FrozenLake-v1", "--option", "speed=3"], "unknown option of auto 'speed'"),
        (["FrozenLake-v1", "--deadline", "-1"], "--deadline -1"),
        (
            ["FrozenLake-v1", "--method", "backward_induction", "--horizon", "2", "--max-iterations", "1"],
            "backward_induction t",
        ),
        (["nothing.npz"], "there is no file nothing.npz"),
        (["nothing.mdp"], "there is no file nothing.mdp"),
        (["nothing.drn", "--gamma", "0.9"], "there is no file nothing.drn"),
        (["nothing.txt"], "No environment 'nothing.txt'."),
        (["nothing.npz", "--env", "slip=0.2"], "nothing.npz: unknown keyword of MDP.read 'slip' (choices: "),
        (["FrozenLake-v1", "--plot", "a.png", "--figure", "regret"], "unknown figure 'regret' (choices: convergence, "),
        (["FrozenLake-v1", "--plot", "a.png", "--against", "seconds"], "--against does not apply to value_map"),
        (
            ["FrozenLake-v1", "--plot", "a.png", "--figure", "convergence", "--vmin", "0"],
            "--vmin does not apply to convergence",
        ),
        (["FrozenLake-v1", "--vmax", "1"], "--vmax applies only to the figure of --plot"),
        (["FrozenLake-v1", "--figure", "value_map"], "--figure applies only to the figure of --plot"),
        (
            ["rlsuite/RiverSwim-v0", "--plot", "a.png", "--figure", "value_map"],
            "value_map draws states on a grid, and rlsuite/RiverSwim-v0 does not say where its states are: use "
            "--figure state_values",
        ),
        (["FrozenLake-v1", "--gap", "1"], "unknown option of auto 'gap'"),
    ],
)
def test_mistakes(rlsuite, arguments, sentence, tmp_path):
    done = rlsuite("solve", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_an_optimum_as_fractions(rlsuite, rlsuite_json, two_states):
    exact = ("--method", "rational-policy-iteration")
    printed = rlsuite_json("solve", "rlsuite/GridGoal-v0", "--gamma", "0.5", *exact)
    assert (printed["exactly_at_start"], printed["exactly"]) == ("25", ["25", "50", "100", "50", "100", "0"])
    two_states(gamma=0.75)  # 1 + .75 * 5 = 4.75 < 5, so it takes 5 at once
    assert "  exactly         5\n" in rlsuite("solve", "two.npz", *exact).out
    assert "  exactly         a fraction of " in rlsuite("solve", "FrozenLake-v1", "--gamma", "0.9", *exact).out


def test_a_page_with_sliders(rlsuite, tmp_path):
    vary = ("--vary", "gamma=0.5:0.9:0.2", "--vary", "is_slippery=False,True")
    done = rlsuite("solve", "FrozenLake-v1", "--env", "map_name=4x4", "--explore", "lake.html", *vary)
    assert (done.code, done.out) == (0, "")
    page = (tmp_path / "lake.html").read_text()
    solution = rl.solve(rl.MDP.from_env("FrozenLake-v1", gamma=0.7))
    assert page.count("value at the start") == 6
    assert f"value at the start: {solution.value_at_start:.6g}; error" in page
    for wrong, sentence in {
        ("--explore", "a.html"): "--explore FILE.html and --vary KEY=VALUES go together",
        ("--vary", "gamma=0.5,0.6"): "--explore FILE.html and --vary KEY=VALUES go together",
        ("--explore", "a.html", "--vary", "gamma=0.5"): "--vary 'gamma=0.5' is not of the form KEY=0.9,0.99 or",
        ("--explore", "a.html", *vary, "--plot", "a.png"): "--plot does not go with --explore",
        ("--explore", "a.pdf", *vary): "--explore a.pdf: unknown suffix '.pdf'",
    }.items():
        done = rlsuite("solve", "FrozenLake-v1", *wrong)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert [path.name for path in tmp_path.iterdir()] == ["lake.html"]


@pytest.mark.slow
def test_programs_of_prism(rlsuite, rlsuite_json, tmp_path):
    pytest.importorskip("stormpy")
    folder = Path(__file__).parent.parent / "problems"
    robot = str(folder / "prism" / "robot.prism")
    solved = rlsuite_json("solve", robot, "--constants", "SIZE=3", "--env", "reward=charge", "--gamma", "0.5")
    assert max(solved["value"]) == pytest.approx(rl.solve(rl.MDP.read(robot, **ROBOT)).value.max())
    failed = rlsuite("solve", robot, "--constants", "SIZE=3")
    assert (failed.code, "choose with reward='charge'" in failed.err) == (2, True)
    failed = rlsuite("solve", robot)
    assert (failed.code, "leaves the constant SIZE open" in failed.err) == (2, True)
    die = str(folder / "prism" / "knuth_yao.prism")
    failed = rlsuite("solve", die)
    assert (failed.code, "holds a Markov chain" in failed.err) == (2, True)
    assert "done (6)" in rlsuite("show", die).out


ROBOT = {"constants": "SIZE=3", "reward": "charge", "gamma": 0.5}
