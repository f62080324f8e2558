"""``rlsuite solve`` where states are hidden: what is said of each form of a plan."""

from pathlib import Path

import matplotlib
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.cli import solutions
from rlsuite.planning import BeliefPlan, methods, solve

OPTIMUM = 4063900 / 209789
"""KLC98's tiger with gamma 0.95, at the uniform belief."""


def table(done):
    """What --show has printed below the summary: the entries of each line."""
    lines = done.out.splitlines()
    last = next(row for row, line in enumerate(lines) if line.startswith("  converged"))
    return [line.split() for line in lines[last + 1 :]]


def test_a_plan_for_a_few_steps(rlsuite, rlsuite_json, tiger_file):
    done = rlsuite("solve", tiger_file, "--horizon", 3, "--show")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "tiger.pomdp by incremental_pruning (chosen by auto), gamma 0.95, 3 steps"
    assert [line.split()[:2] for line in lines[1:3]] == [["lower", "bound"], ["upper", "bound"]]
    assert "  lower bound    2.3098" in lines
    assert "  alpha vectors  9" in lines
    header, *rows = table(done)
    assert header == ["vector", "action", "tiger-left", "tiger-right"]
    assert [row[0] for row in rows] == list(map(str, range(9)))
    assert ["listen", "2.3098", "2.3098"] in [row[1:] for row in rows]
    printed = rlsuite_json("solve", tiger_file, "--horizon", 3)
    assert (printed["method"], printed["chosen_by"], printed["horizon"]) == ("incremental_pruning", "auto", 3)
    assert printed["lower_bound"] == pytest.approx(2.3098)
    assert [len(stage["actions"]) for stage in printed["stages"]] == [1, 3, 5, 9]
    assert printed["stages"][3]["alpha_vectors"] == printed["alpha_vectors"]
    assert printed["action_labels"] == ["listen", "open-left", "open-right"]
    assert printed["first_action"] == printed["actions"][printed["first_vector"]] == 0


def test_a_plan_without_end(rlsuite, rlsuite_json):
    printed = rlsuite_json("solve", "rlsuite/Tiger-v0")
    assert (printed["method"], printed["chosen_by"], printed["gamma"]) == ("sarsop", "auto", 0.95)
    assert printed["lower_bound"] <= OPTIMUM <= printed["upper_bound"]
    assert printed["gap"] == pytest.approx(printed["upper_bound"] - printed["lower_bound"])
    assert printed["gap"] <= 1e-6
    best = (np.array(printed["alpha_vectors"]) @ [0.5, 0.5]).argmax()
    assert (best, printed["actions"][best]) == (printed["first_vector"], 0)
    assert printed["trace"]["upper_bound"][-1] == printed["upper_bound"]
    assert (printed["upper_bounds"], printed["successors"], printed["stages"]) == (False, None, [])
    loose = rlsuite_json("solve", "rlsuite/Tiger-v0", "--method", "sarsop", "--gap", 2)
    assert 1e-3 < loose["gap"] <= 2


def test_the_policy_graph_is_part_of_the_table(rlsuite, rlsuite_json, tiger_file):
    done = rlsuite("solve", tiger_file, "--method", "incremental-pruning", "--show")
    header, *rows = table(done)
    assert header[4:] == ["after", "hear-left", "after", "hear-right"]
    assert len(rows) == 9
    (start,) = [line for line in done.out.splitlines() if "first action" in line]
    first = rows[int(start.split()[-1].rstrip(")"))]
    assert start.split()[2] == first[1] == "listen"
    # One who has heard the tiger once on each side knows as much as before.
    left = rows[int(first[4])]
    assert left[5] == first[0]
    printed = rlsuite_json("solve", tiger_file, "--method", "incremental_pruning")
    assert printed["successors"][int(first[0])] == [int(first[4]), int(first[5])]


def test_upper_bounds_say_so(rlsuite, rlsuite_json, tiger_file):
    done = rlsuite("solve", tiger_file, "--method", "qmdp", "--show")
    assert done.code == 0
    assert "  alpha vectors  3, upper bounds" in done.out
    assert table(done)[1] == ["0", "listen", "189", "189"]
    assert rlsuite_json("solve", tiger_file, "--method", "qmdp")["upper_bounds"] is True


def test_reachable_beliefs(rlsuite, rlsuite_json):
    given = ["rlsuite/Tiger-v0", "--method", "reachable_beliefs", "--horizon", "3"]
    printed = rlsuite_json("solve", *given)
    assert printed["lower_bound"] == pytest.approx(2.3098)
    assert printed["beliefs"][0] == [0.5, 0.5]
    assert printed["policy"][0] == printed["first_action"] == 0
    done = rlsuite("solve", *given, "--show")
    header, *rows = table(done)
    assert " ".join(header) == "tiger left tiger right after steps value best action"
    assert rows[0] == ["0.5", "0.5", "0", "2.3098", "listen"]
    assert ["0.969799", "0.0302013", "2", "6.67785", "open", "right"] in rows
    assert f"  beliefs       {len(rows)}" in done.out


def test_an_answer_that_is_too_wide(rlsuite, tiger_file):
    done = rlsuite("solve", tiger_file, "--method", "pbvi", "--option", "max_beliefs=2")
    assert done.code == 1
    assert done.err.startswith("rlsuite: warning: pbvi ")
    assert "  converged      no, " in done.out


def test_online_planners_say_what_they_found_at_the_start(rlsuite, rlsuite_json, tiger_file):
    given = ["solve", tiger_file, "--method", "pomcp", "--option", "seed=3", "--option", "simulations=3_000"]
    done = rlsuite(*given, "--show")
    assert (done.code, done.err) == (0, "")  # nothing was promised
    assert "  first action     listen" in done.out
    assert "  converged        no, 3000 iterations" in done.out
    header, *rows = table(done)
    assert header == ["action", "value", "at", "the", "start"]
    assert [row[0] for row in rows] == ["listen", "open-left", "open-right"]
    printed = rlsuite_json(*given)
    assert printed["first_action"] == 0
    assert printed["value"] == max(printed["q"]) == pytest.approx(float(rows[0][1]), rel=1e-5)
    assert printed["lower_bound"] <= OPTIMUM <= printed["upper_bound"]


def test_actions_that_are_illegal_or_were_not_looked_into(rlsuite, tmp_path):
    """Of three actions one is illegal, and a single simulation looks into one of the others."""
    tiger = rl.POMDP.from_arrays(np.ones((1, 3, 1)), [[0.0, 1.0, 2.0]], [[1.0]], gamma=0.5, legal=[[True, True, False]])
    tiger.write(tmp_path / "small.npz")
    given = ["--method", "pomcp", "--option", "simulations=1", "--option", "seed=0", "--option", "leaf=random"]
    done = rlsuite("solve", "small.npz", *given, "--show")
    assert sorted(" ".join(row[1:]) for row in table(done)[1:])[-2:] == ["illegal", "not searched"]


def test_files_of_all_kinds(rlsuite, rlsuite_json, umbrella_file, tiger_file, tmp_path):
    rl.POMDP.read(tmp_path / tiger_file).write(tmp_path / "tiger.npz")
    assert rlsuite_json("solve", "tiger.npz", "--horizon", 2)["lower_bound"] == pytest.approx(-1.95)
    assert rlsuite_json("solve", tiger_file, "--horizon", 2, "--gamma", 1)["lower_bound"] == pytest.approx(-2.0)
    done = rlsuite("solve", umbrella_file)
    assert done.err.startswith("rlsuite: error: umbrella.npz holds a hidden Markov model, which has no actions; use ")
    np.save(tmp_path / "alone.npz", np.zeros(3))
    (tmp_path / "alone.npz.npy").rename(tmp_path / "alone.npz")
    done = rlsuite("solve", "alone.npz")
    assert done.err == "rlsuite: error: alone.npz is a single array, not a model written by rlsuite\n"


def test_many_states_and_vectors_are_cut_short(rlsuite, rlsuite_json, tmp_path):
    """A number from 0 to 11 is to be guessed after one look, which tells it: twelve plans, one for each."""
    states = 12
    stay, rewards = np.tile(np.eye(states), (states, 1, 1)), 10.0 * np.eye(states)
    guess = rl.POMDP.from_arrays(stay, rewards, np.eye(states), order="ass", gamma=0.5, start=np.full(12, 1 / 12))
    guess.write(tmp_path / "guess.npz")
    header, first, *_ = table(rlsuite("solve", "guess.npz", "--horizon", 1, "--show"))
    assert " ".join(header) == "vector action at the start states least most"
    assert first[2:] == ["0.833333", "12", "0", "10"]
    done = rlsuite("solve", "guess.npz", "--horizon", 2, "--method", "reachable_beliefs", "--show")
    header, first, *_ = table(done)
    assert " ".join(header) == "most probable states after steps value best action"
    assert first[:7] == ["0", "0.0833333,", "1", "0.0833333,", "2", "0.0833333", "..."]
    many = rl.POMDP.from_arrays(np.ones((1, 250, 1)), [np.arange(250.0)], [[1.0]], gamma=0.5, state_labels=["only"])
    many.write(tmp_path / "many.npz")
    given = ["solve", "many.npz", "--method", "qmdp"]
    assert rlsuite(*given, "--show").out.splitlines()[-1] == "  ... and 230 more: --json has them"
    assert len(rlsuite_json(*given)["alpha_vectors"]) == 250


def test_a_plan_of_a_form_that_nobody_knows(tiger_file, tmp_path):
    class Stubborn(BeliefPlan):
        def _action(self, belief, steps_left):
            return 1

        def value(self, belief, steps_left=None):
            return 0.0

    tiger = rl.POMDP.read(tmp_path / tiger_file)
    seen = solutions.found_for(tiger, Stubborn(0.0, 1.0, False, None, 1, 0.1, "stubbornness", tiger), "auto")
    assert ("first action", "open-left") in seen.rows()
    assert seen.facts()["first_action"] == 1
    assert seen.shown().splitlines()[-1].split() == ["start", "open-left"]


@pytest.mark.parametrize(
    ("arguments", "drawn"),
    [
        (["tiger.pomdp"], "tiger-left"),
        (["tiger.pomdp", "--figure", "gap", "--against", "iterations"], "iterations"),
        (["tiger.pomdp", "--method", "reachable_beliefs", "--horizon", "2"], "upper bound"),
        (["tiger.pomdp", "--method", "incremental_pruning", "--figure", "policy-graph"], "listen"),
    ],
)
def test_figures(rlsuite, rlsuite_json, tiger_file, tmp_path, arguments, drawn, monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    assert rlsuite_json("solve", *arguments, "--plot", "figure.svg")["plot"] == "figure.svg"
    assert drawn in (tmp_path / "figure.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["tiger.pomdp", "--method", "sarsopp"],
            f"unknown method 'sarsopp'; did you mean 'sarsop'? (choices: {', '.join(methods(rl.POMDP))})",
        ),
        (["tiger.pomdp", "--method", "value_iteration"], "'value_iteration' solves a model of type MDP"),
        (["tiger.pomdp", "--method", "qmdp", "--gap", "1"], "qmdp takes no gap; use --tol; these do: aems2, auto, "),
        (["tiger.pomdp", "--gamma", "1"], "--gamma 1, and from state 0 no end can be reached"),
        (["tiger.pomdp", "--gap", "0"], "--gap 0.0 is not a positive number"),
        (["tiger.pomdp", "--env", "slip=1"], "tiger.pomdp: unknown keyword of POMDP.read 'slip'"),
        (["nothing.pomdp"], "there is no file nothing.pomdp"),
        (["broken.pomdp"], "broken.pomdp:1:"),
        (
            ["tiger.pomdp", "--plot", "a.png", "--method", "pomcp", "--figure", "alpha_vectors"],
            "alpha_vectors draws alpha vectors, and pomcp finds none; methods that find them: auto, ",
        ),
        (["tiger.pomdp", "--plot", "a.png", "--figure", "value_map"], "unknown figure 'value_map' (choices: alpha_v"),
        (
            ["tiger.pomdp", "--plot", "a.png", "--figure", "belief-simplex"],
            "tiger.pomdp has 2 hidden states, and belief_simplex draws beliefs over 3",
        ),
        (["tiger.pomdp", "--figure", "gap"], "--figure applies only to the figure of --plot"),
    ],
)
def test_mistakes(rlsuite, tiger_file, tmp_path, arguments, sentence):
    (tmp_path / "broken.pomdp").write_text("discuont: 0.95\n")
    done = rlsuite("solve", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert done.err.count("\n") == 1


def test_what_is_printed_is_what_the_library_found(rlsuite_json, tiger_file):
    printed = rlsuite_json("solve", tiger_file, "--method", "fast_informed_bound")
    plan = solve(rl.POMDP.read(tiger_file), "fast_informed_bound")
    np.testing.assert_array_equal(printed["alpha_vectors"], plan.alpha_vectors)
    assert (printed["lower_bound"], printed["upper_bound"]) == (plan.lower_bound, plan.upper_bound)


def test_costs_are_shown_as_costs(rlsuite, rlsuite_json, tiger_file):
    """The tiger with its rewards written as costs: every number has the other sign and the name of a cost."""
    tiger = rl.POMDP.read(tiger_file)
    costs = tiger.mdp.replace(costs=True)
    rl.POMDP(costs, tiger.observation_rows, tiger.observation_labels).write("costs.pomdp")
    assert "values: cost\n" in Path("costs.pomdp").read_text()
    again = rl.POMDP.read("costs.pomdp")
    assert again.mdp.costs
    assert np.array_equal(again.mdp.reward, costs.reward)

    def both(*arguments):
        return (rlsuite_json("solve", file, *arguments) for file in (tiger_file, "costs.pomdp"))

    for arguments in (
        ["--horizon", 3],
        ["--horizon", 2, "--method", "reachable_beliefs"],
    ):
        reward, cost = both(*arguments)
        assert (cost["cost_lower_bound"], cost["cost_upper_bound"]) == (-reward["upper_bound"], -reward["lower_bound"])
        assert cost["first_action"] == reward["first_action"]
        named = {"alpha_vectors": "alpha_vectors", "value": "cost"}
        (of_reward, of_cost), *_ = [(reward[old], cost[new]) for old, new in named.items() if old in reward]
        assert np.array_equal(-np.array(of_reward), of_cost)
    reward, cost = both("--method", "aems2")
    assert np.allclose(-np.array(reward["q"]), cost["q"])
    assert cost["cost"] == pytest.approx(-reward["value"])

    done = rlsuite("solve", "costs.pomdp", "--horizon", 3, "--show", "--save", "plan.npz")
    assert "  cost lower bound  -2.3098" in done.out
    assert ["listen", "-2.3098", "-2.3098"] in [row[1:] for row in table(done)]
    assert rlsuite_json("act", "plan.npz")["cost"] == pytest.approx(-2.3098, abs=1e-4)
    assert "cost at the start" in rlsuite("solve", "costs.pomdp", "--method", "aems2", "--show").out
