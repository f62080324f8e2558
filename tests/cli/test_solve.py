import pytest
from PIL import Image

import rlsuite as rl
from rlsuite.planning import methods


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
    assert lines[0] == "rlsuite/GridGoal-v0 by policy_iteration, gamma 0.9"
    assert lines[1] == "  value at start  81"
    assert lines[-2:] == ["   .  90→   . 100→   G   0", "  [S  81→↑] .  90→↑  . 100↑"]


def test_what_is_no_grid_is_shown_as_a_table(rlsuite):
    done = rlsuite("solve", "rlsuite/RiverSwim-v0", "--show", "--gamma", "0.5")
    header, first, *_ = done.out.splitlines()[4:]
    assert header.split() == ["state", "value", "best", "action"]
    assert first.split()[0] == "0"


def test_hidden_states(rlsuite, rlsuite_json):
    # KLC98's tiger, horizon 3, gamma 0.95
    printed = rlsuite_json("solve", "rlsuite/Tiger-v0", "--horizon", "3")
    assert printed["lower_bound"] == pytest.approx(2.3098)
    done = rlsuite("solve", "rlsuite/Tiger-v0", "--horizon", "3", "--show")
    rows = [line.split() for line in done.out.splitlines()[5:]]
    assert rows[0] == ["0.5000,", "0.5000", "0", "2.3098", "listen"]
    assert ["0.9698,", "0.0302", "2", "6.67785", "open", "right"] in rows
    infinite = rlsuite_json("solve", "rlsuite/Tiger-v0")
    assert infinite["lower_bound"] == pytest.approx(4063900 / 209789)


def test_gamma_of_an_environment_without_a_model_of_ours(rlsuite_json):
    assert rlsuite_json("solve", "FrozenLake-v1")["gamma"] == 0.99


def test_figure(rlsuite, tmp_path):
    done = rlsuite("solve", "FrozenLake-v1", "--plot", "value.png")
    assert done.out.splitlines()[-1] == "  written: value.png"
    with Image.open(tmp_path / "value.png") as picture:
        assert min(picture.size) > 200


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["FrozenLake-v1", "--method", "value-iteraton"],
            f"unknown method 'value_iteraton'; did you mean 'value_iteration'? (choices: {', '.join(methods(rl.MDP))})",
        ),
        (["CartPole-v1"], "CartPole-v1 has no transition table (env.unwrapped.P). "),
        (["FrozenLake-v1", "--horizon", "5"], "policy_iteration takes no horizon; these do: backward_induction"),
        (["FrozenLake-v1", "--gamma", "1"], "policy_iteration needs gamma < 1"),
        (["FrozenLake-v1", "--option", "speed=3"], "unknown option of policy_iteration 'speed'"),
        (["rlsuite/RiverSwim-v0", "--plot", "a.png"], "rlsuite/RiverSwim-v0 does not say where its states lie"),
        (["rlsuite/Tiger-v0", "--plot", "a.png"], "--plot draws values of states, and the states of rlsuite/Tiger-v0 "),
    ],
)
def test_mistakes(rlsuite, arguments, sentence, tmp_path):
    done = rlsuite("solve", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert list(tmp_path.iterdir()) == []
