import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import rlsuite as rl
from rlsuite.cli import main, output
from rlsuite.models import MDP
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
        ("--explore", "a.html", *vary, "--plot", "a.png"): "--plot cannot be combined with --explore",
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


def test_a_saved_solution_answers(rlsuite, rlsuite_json, tiger_file, tmp_path):
    done = rlsuite("solve", tiger_file, "--gap", 1, "--save", "t.npz")
    assert done.err == "next: rlsuite act t.npz 0.5,0.5\n"
    assert done.out.endswith("  written: t.npz\n")
    done = rlsuite("act", "t.npz", "tiger-left=0.99,tiger-right=0.01")
    first, action, value = done.out.splitlines()
    assert first == "t.npz by sarsop, in the belief tiger-left=0.99,tiger-right=0.01"
    assert (action, value.split()[0]) == ("  action  open-right", "value")
    answers = [rlsuite_json("act", "t.npz", belief)["action"] for belief in ("0.01,.99", "0.5,0.5")]
    assert answers == [1, 0]
    for suffix in (".alpha", ".policy", ".pg"):
        rlsuite("solve", tiger_file, "--gap", 1, "--save", f"t{suffix}")
        assert rlsuite_json("act", f"t{suffix}", "--model", tiger_file)["action_label"] == "listen"
    rlsuite("solve", tiger_file, "--horizon", 2, "--save", "two.npz")
    assert rlsuite_json("act", "two.npz", "--steps-left", 1)["value"] == -1.0
    assert rlsuite_json("solve", "rlsuite/GridGoal-v0", "--criterion", "total")["gamma"] == 1.0
    done = rlsuite("solve", "rlsuite/GridGoal-v0", "--save", "g.npz")
    assert done.err == "next: rlsuite act g.npz S0\n"
    assert rlsuite("act", "g.npz", "s3").out == "g.npz by policy_iteration, in state S3\n" + (
        "  action  R\n  value   90\n"
    )
    rlsuite("solve", "rlsuite/GridGoal-v0", "--horizon", 3, "--save", "h.npz")
    assert rlsuite_json("act", "h.npz", 0, "--steps-left", 1)["value"] == 0.0
    rlsuite("solve", "rlsuite/GridGoal-v0", "--save", "g.csv")
    assert (tmp_path / "g.csv").read_text().startswith("state,value,action,q L,q R,q U,q D\nS0,81")
    sarsa = rl.Sarsa().learn("FrozenLake-v1", steps=10, seed=1)
    sarsa.save(tmp_path / "agent.npz")
    assert rlsuite_json("act", "agent.npz", 3)["action"] == sarsa.act(3)
    for words, message in [
        (["act", "t.npz", "0.9"], "has 1 probabilities, and the model 2 hidden states: tiger-left, tiger-right"),
        (["act", "t.npz", "ok=1"], "unknown state 'ok' (tiger-left, tiger-right, 0..1)"),
        (["act", "t.npz", "0.9,x"], "'x' is not a probability: write 0.5,0.5 or name=0.5,name=0.5"),
        (["act", "t.npz", "0.9,0.2"], "sums to 1.1, not 1"),
        (["act", "t.npz", "--state", "1"], "write what follows it alone: rlsuite act PLAN STATE"),
        (["act", "t.npz", "--model", tiger_file], "t.npz holds its model: leave --model out"),
        (["act", "t.pg"], "t.pg does not hold its model: add --model FILE.pomdp, or an environment"),
        (["act", "t.pg", "--model", "FrozenLake-v1"], "--model FrozenLake-v1 is a MDP, and the plan is for a POMDP"),
        (["act", "g.npz", "S9"], "unknown state 'S9' (S0, S1, S2, S3, S4, G, 0..5)"),
        (["act", "g.npz", "99"], "the states are 0..5"),
        (["act", "agent.npz", "0", "--steps-left", "1"], "rlsuite act agent.npz OBSERVATION"),
        (["act", "g.npz", "--steps-left", "1"], "this solution has no horizon: leave --steps-left out"),
        (
            ["act", "agent.npz"],
            "agent.npz holds an agent, which acts after an observation: rlsuite act agent.npz OBSERVATION",
        ),
        (["act", "none.npz"], "there is no file none.npz"),
        (["solve", tiger_file, "--save", "t.txt"], "unknown suffix '.txt' (choices: .alpha, .cert, .csv,"),
        (["solve", "rlsuite/GridGoal-v0", "--save", "g.pg"], "is a plan for hidden states; use .npz or .csv"),
    ]:
        done = rlsuite(*words)
        assert (done.code, message in done.err) == (2, True), done.err


def test_a_model_is_solved_and_the_proof_verified(rlsuite, tmp_path, tiger_file):
    done = rlsuite("solve", tiger_file, "--save", "tiger.cert")
    assert done.code == 0
    assert done.err == f"next: rlsuite verify {tiger_file} tiger.cert\n"
    done = rlsuite("verify", tiger_file, "tiger.cert", "--text", "plain.pomdp")
    assert done.code == 0
    assert done.out.startswith("right: the value at the start is between 19.37136")
    assert rlsuite("verify", "plain.pomdp", "tiger.cert").code == 0
    done = rlsuite("verify", tiger_file, "tiger.cert", "--gamma", "0.9", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["right"], found["model"]) == (False, str(tiger_file))
    assert found["sentence"]


def test_intervals_of_other_programs(rlsuite, tmp_path):
    MDP.from_successors([[0, 1], [0, 1]], [[0, 0], [0, 1]], gamma=0.5).write(tmp_path / "two.mdp")
    (tmp_path / "by-hand.cert").write_text("state 0 0.9 1.1\nstate 1 1.9 2.1  # QuantEcon says 2\n")
    done = rlsuite("verify", "two.mdp", "by-hand.cert")
    assert (done.code, done.out[:6]) == (0, "right:")
    (tmp_path / "wrong.cert").write_text("state 0 0.9 1.1\nstate 1 1.9 1.95\n")
    done = rlsuite("verify", "two.mdp", "wrong.cert")
    assert (done.code, done.out) == (1, "refused: state 1: HIGH is too low, by 0.025\n")
    done = rlsuite("verify", "two.mdp", "nowhere.cert")
    assert done.code == 2
    assert done.err.startswith("rlsuite: error: nowhere.cert cannot be read")


def test_environments_have_proofs_too(rlsuite):
    assert rlsuite("solve", "FrozenLake-v1", "--gamma", "0.9", "--save", "lake.cert").code == 0
    assert rlsuite("verify", "FrozenLake-v1", "lake.cert", "--gamma", "0.9").code == 0
    assert rlsuite("verify", "FrozenLake-v1", "lake.cert", "--gamma", "0.95").code == 1


def test_bounds_that_do_not_prove_themselves_are_compared_with_a_proof(rlsuite, tmp_path):
    """0.9 and 1.1 around 1, but 1.9999 and 2.6 around 2: one backup of these goes beyond 1.1."""
    MDP.from_successors([[0, 1], [0, 1]], [[0, 0], [0, 1]], gamma=0.5).write(tmp_path / "two.mdp")
    MDP.from_successors([[0, 1], [0, 1]], [[-1, -2], [0, 0]], gamma=1.0).write(tmp_path / "free.mdp")
    for model, intervals, code, sentence in [
        ("two.mdp", "state 0 0.9 1.1\nstate 1 1.9 2.6\n", 0, "every interval contains that of a proof"),
        ("two.mdp", "state 0 0.9 0.95\nstate 1 1.9 2.6\n", 1, "state 0: HIGH is below the value, by at least 0.05"),
        ("two.mdp", "state 0 0.9 1.1\nstate 1 3 3.5\n", 1, "state 1: LOW is above the value, by at least 1"),
        ("two.mdp", "state 0 1 x\nstate 1 1.9 2.6\n", 1, "not a line 'state S LOW HIGH'"),
        ("free.mdp", "state 0 -2.1 -1.9\nstate 1 -0.1 0.1\n", 0, "every interval contains that of a proof"),
    ]:
        (tmp_path / "by-hand.cert").write_text(intervals)
        assert rlsuite("verify", model, "by-hand.cert").code == 1
        done = rlsuite("verify", model, "by-hand.cert", "--solve")
        assert (done.code, sentence in done.out) == (code, True), done.out


def test_a_property_on_the_command_line(tmp_path, capsys):
    solve = ["solve", "FrozenLake-v1", "--property"]
    assert main([*solve, 'Pmax=? [F "15"]', "--show"]) == 0
    out = capsys.readouterr().out
    assert "at the start  0.823529" in out
    assert out.count("\n") == 4 + 17
    assert main([*solve, 'P>=0.1 [F "15"]']) == 1
    assert "holds         no" in capsys.readouterr().out
    file = tmp_path / "plan.npz"
    assert main([*solve, 'Pmax=? [F<=20 "15"]', "--json", "--save", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["value_at_start"] == pytest.approx(0.19913270083486317, abs=1e-12)
    assert len(facts["value"]) == 16
    assert main(["act", str(file), "14"]) == 0
    assert main([*solve, 'Pmax=? [F "15"]', "--method", "auto"]) == 2
    assert "--method cannot be combined with --property" in capsys.readouterr().err
    assert main([*solve, 'Pmax=? [F "goal"]']) == 2
    assert "unknown label 'goal'" in capsys.readouterr().err


def test_limits_on_the_command_line(tmp_path, capsys):
    solve = ["solve", "FrozenLake-v1", "--gamma", "0.95"]
    assert main([*solve, "--constraint", "steps<=10", "--show"]) == 0
    out = capsys.readouterr().out
    assert "steps (limit 10)  10; the value rises by" in out
    cost = tmp_path / "left.npy"
    np.save(cost, np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)))
    assert main([*solve, "--constraint", f"{cost}<=2", "--constraint", "steps<=10", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["limits"] == [2.0, 10.0]
    assert facts["costs"][0] <= 2.0 + 1e-9
    assert facts["value_at_start"] <= facts["upper_bound"] + 1e-12
    for given, words in (
        ("steps<=0", "the least cost at the start is"),
        ("steps", "write steps<=20"),
        ("x.npy<=1", "x.npy is not"),
    ):
        assert main([*solve, "--constraint", given]) == 2
        assert words in capsys.readouterr().err
