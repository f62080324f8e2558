"""Comparing agents on the command line: the same as in Python, and mistakes."""

import csv
import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
from rlsuite.approximation import FittedQ, choose_approximator

TWO = ("q-learning", "sarsa", "--env", "FrozenLake-v1", "--steps", 300, "--gamma", 0.9, "--workers", 1)


def test_it_is_what_python_says(rlsuite, rlsuite_json):
    agents = {"q-learning": rl.QLearning(gamma=0.9), "sarsa": rl.Sarsa(gamma=0.9)}
    expected = rl.compare(agents, "FrozenLake-v1", steps=300, seeds=4)
    assert rlsuite("compare", *TWO, "--seeds", 4).out == f"{expected}\n"
    found = rlsuite_json("compare", *TWO, "--seeds", 4)
    assert [row["mean"] for row in found["rows"]] == [row.mean for row in expected]
    assert found["pairs"][0]["p_value"] == expected.pairs[0].p_value
    assert found["sentences"] == expected.sentences()


def test_enough_seeds(rlsuite):
    done = rlsuite("compare", *TWO, "--seeds", "enough", "--margin", "30%", "--most-seeds", 40)
    agents = {"q-learning": rl.QLearning(gamma=0.9), "sarsa": rl.Sarsa(gamma=0.9)}
    expected = rl.compare(agents, "FrozenLake-v1", steps=300, seeds="enough", margin="30%", most_seeds=40)
    assert done.out == f"{expected}\n"


def test_agents_and_environments_have_parameters_of_their_own(rlsuite_json):
    slow, fast = "q-learning:learning_rate=0.1,epsilon=0.2", "q-learning:learning_rate=0.5"
    flags = ("--steps", 50, "--seeds", 2, "--epsilon", 0.3)
    found = rlsuite_json("compare", slow, fast, "FrozenLake-v1", "--env", "is_slippery=False", *flags)
    other = rlsuite_json("compare", slow, fast, "--env", "FrozenLake-v1", "--env", "is_slippery=False", *flags)
    assert found == other
    two = rlsuite_json("compare", slow, "FrozenLake-v1", "Taxi-v4", *flags)
    assert [row["environment"] for row in two["rows"]] == ["FrozenLake-v1", "Taxi-v4"]
    assert {row["environment"] for row in found["rows"]} == {"FrozenLake-v1(is_slippery=False)"}
    agents = {
        slow: rl.QLearning(learning_rate=0.1, exploration=rl.EpsilonGreedy(0.2)),
        fast: rl.QLearning(learning_rate=0.5, exploration=rl.EpsilonGreedy(0.3)),
    }
    env = rl.find_env("FrozenLake-v1", is_slippery=False)
    expected = rl.compare(agents, {"lake": env}, steps=50, seeds=2)
    assert [row["regret"] for row in found["rows"]] == [row.regret for row in expected]


def test_results_of_an_experiment(rlsuite, tmp_path):
    (tmp_path / "two.toml").write_text(
        "steps = 50\nseeds = 3\nenvironments = [{id = 'FrozenLake-v1'}]\nagents = [{name = 'sarsa'}, {name = 'td'}]\n"
    )
    assert rlsuite("run", "two.toml").code == 0
    done = rlsuite("compare", "two")
    assert done.out == f"{rl.compare(rl.experiments.load_results('two'))}\n"
    assert not done.err
    kept = tmp_path / "two" / "run.json"
    run = json.loads(kept.read_text())
    run["config"]["seeds"].append(9)
    kept.write_text(json.dumps(run))
    said = "two is unfinished, 6 of 8 cells done, 2 to go: only finished runs are compared"
    assert said in rlsuite("compare", "two").err
    assert "--seeds: two holds results already; leave it out" in rlsuite("compare", "two", "--seeds", 3).err


def test_files(rlsuite, tmp_path):
    for suffix in ("csv", "md", "tex"):
        assert rlsuite("compare", *TWO, "--seeds", 2, "--save", f"table.{suffix}").code == 0
    with (tmp_path / "table.csv").open(newline="") as file:
        assert [row["agent"] for row in csv.DictReader(file)] == ["q-learning", "sarsa"]
    assert (tmp_path / "table.md").read_text().startswith("| environment | agent |")
    assert (tmp_path / "table.tex").read_text().startswith(r"\begin{tabular}")
    assert "environment & agent & seeds & value of the greedy policy & 95" in (tmp_path / "table.tex").read_text()
    assert rlsuite("compare", *TWO, "--seeds", 2, "--plot", "values.svg").code == 0
    assert "sarsa" in (tmp_path / "values.svg").read_text()
    assert rlsuite("compare", *TWO, "--seeds", 2, "--report", "pages.html").code == 0
    assert "<h1>pages</h1>" in (tmp_path / "pages.html").read_text()


MISTAKES = [
    (("FrozenLake-v1",), "no agent is given: rlsuite compare q-learning sarsa FrozenLake-v1"),
    (("FrozenLake-v1", "td", "Taxi-v4"), "the agents come first: rlsuite compare td FrozenLake-v1 Taxi-v4"),
    (
        ("sarsa",),
        "no environment is given: write it behind the agents, as in rlsuite compare sarsa CliffWalking-v1",
    ),
    (
        ("td", "Taxi-v4", "Taxi-v4", "--env", "size=3"),
        "--env size=3 is a keyword of one environment, and 2 are given: rl",
    ),
    (("sarsa", "sarsa", "--env", "FrozenLake-v1"), "sarsa is given twice"),
    (("sarsa", "td", "--env", "size=3"), "--env size=3 is a keyword of an environment, and none is given: write"),
    (("sarsa", "td", "--env", "FrozenLake-v1", "--env", "FrozenLake-v1"), "--env FrozenLake-v1 is given twice"),
    ((*TWO, "--seeds", "many"), "--seeds 'many' must be a number of seeds, or 'enough'"),
    ((*TWO, "--margin", "0.1"), "--margin applies only to --seeds enough"),
    (("sarsa", "sarze", "--env", "FrozenLake-v1"), "unknown agent 'sarze'"),
    ((*TWO, "--save", "table.doc"), "--save table.doc"),
    (("runs/lake.toml",), "'rlsuite run runs/lake.toml', and then 'rlsuite compare runs/lake'"),
]


def test_mistakes_are_answered(rlsuite):
    for words, message in MISTAKES:
        done = rlsuite("compare", *words)
        assert done.code == 2, message
        assert message in done.err


def test_it_is_what_python_says_sweeping(rlsuite, rlsuite_json):
    words = ("q-learning", "FrozenLake-v1", "--gamma", 0.9, "--steps", 200, "--seeds", 2, "--workers", 1)
    flags = ("--learning-rate", "0.1,0.5", "--epsilon", "0.1:0.3:0.1")
    grid = {"learning_rate": [0.1, 0.5], "exploration.epsilon": [0.1, 0.2, 0.3]}
    expected = rl.sweep(rl.QLearning(gamma=0.9), "FrozenLake-v1", grid, steps=200, seeds=2)
    assert rlsuite("sweep", *words, *flags).out == f"{expected}\n"
    found = rlsuite_json("sweep", *words, *flags)
    assert found["parameters"] == expected.parameters
    assert [row["mean"] for row in found["rows"]] == [row.mean for row in expected.rows]
    assert found["best"] == expected.best.setting


def test_other_parameters_and_files(rlsuite, tmp_path):
    words = ("n-step-sarsa", "FrozenLake-v1", "--steps", 50, "--seeds", 2, "--agent", "n=1,2")
    assert rlsuite("sweep", *words, "--save", "n.csv", "--plot", "n.svg").code == 0
    with (tmp_path / "n.csv").open(newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == ["1", "2"]
    assert "n.svg" in [path.name for path in tmp_path.iterdir()]
    three = ("--learning-rate", "0.1,0.5", "--epsilon", "0.1,0.2,0.3", "--plot", "three.svg")
    assert "written: three-learning_rate-0.5.svg" in rlsuite("sweep", *words, *three).err
    assert {"three-learning_rate-0.1.svg", "three-learning_rate-0.5.svg"} <= {path.name for path in tmp_path.iterdir()}
    done = rlsuite("sweep", "sarsa-lambda", "FrozenLake-v1", "--steps", 50, "--seeds", 2, "--lambda", "0:1:0.5")
    assert done.out.startswith("Sweep(3 settings of lambda_ in FrozenLake-v1;")
    reward = ("--c", "1,2", "--measure", "reward", "--steps", 50, "--seeds", 2)
    assert "of c in rlsuite/Bandit-v0; reward per step" in rlsuite("sweep", "ucb1", "rlsuite/Bandit-v0", *reward).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing is swept: give a flag of the agent several values"),
        (("--learning-rate", "0.1,2"), "lies outside [0, 1]"),
        (("--learning-rate", "1:0:0.1"), "'1:0:0.1' is not a range FIRST:LAST:STEP"),
        (("--agent", "lambdax=1,2"), "unknown parameter 'lambdax'"),
        (("--learning-rate", "0.1,0.2", "--measure", "money"), "unknown measure 'money'"),
        (("--learning-rate", "0.1,0.2", "--save", "x.tex"), "--save x.tex"),
    ],
)
def test_mistakes_are_answered_sweeping(rlsuite, words, message):
    done = rlsuite("sweep", "q-learning", "FrozenLake-v1", "--steps", 20, *words)
    assert done.code == 2
    assert message in done.err


def test_it_is_what_python_says_searching(rlsuite, rlsuite_json):
    pytest.importorskip("optuna")
    words = ("q-learning", "FrozenLake-v1", "--steps", 200, "--trials", 3, "--seeds", 2, "--fresh-seeds", 2)
    space = {"learning_rate": {"log": [0.01, 1.0]}, "exploration.epsilon": [0.1, 0.3]}
    found = rl.search(rl.QLearning(), "FrozenLake-v1", space, steps=200, trials=3, seeds=2, fresh_seeds=2)
    done = rlsuite("sweep", *words, "--learning-rate", "0.01:1", "--epsilon", "0.1,0.3", "--search")
    assert done.out.startswith(repr(found))
    assert done.err.splitlines()[-1].startswith("next: rlsuite train q-learning FrozenLake-v1 --learning-rate 0.")
    (listed,) = rlsuite_json("sweep", *words, "--learning-rate", "0.01:1", "--epsilon", "0.1,0.3", "--search")
    assert listed["setting"] == found.best.setting
    assert len(listed["trials"]) == 3


def test_mistakes_are_answered_searching(rlsuite, tmp_path):
    (tmp_path / "lake.toml").write_text("", encoding="utf-8")
    for words, message in (
        (("q-learning", "FrozenLake-v1"), "nothing is searched: give a flag of the agent several values"),
        (("q-learning", "--learning-rate", "0.1:1"), "no environment is given: rlsuite sweep q-learning ENV"),
        (("q-learning", "FrozenLake-v1", "--learning-rate", "1:.1"), "'1:.1' is not a range LOW:HIGH"),
        (("q-learning", "FrozenLake-v1", "--learning-rate", ".1:2"), "lies outside [0, 1]"),
        (("lake.toml", "FrozenLake-v1"), "give the file alone"),
    ):
        done = rlsuite("sweep", *words, "--search")
        assert done.code == 2
        assert message in done.err


FILE = """
steps = 200
seeds = 2
environments = [{ id = "rlsuite/GridGoal-v0" }]
[[agents]]
name = "fitted-q"
label = "line"
gamma = 0.9
iterations = 5
regressor = "sklearn.linear_model:LinearRegression"
[[agents]]
name = "fitted-q"
label = "tree"
gamma = 0.9
iterations = 5
regressor = "sklearn.tree:DecisionTreeRegressor"
"""


def test_it_is_what_python_chooses(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "two.toml").write_text(FILE)
    flags = ("--folds", 2, "--report-episodes", 1, "--workers", 1)
    (found,) = rlsuite_json("choose", "two.toml", *flags)["environments"]
    regressors = {"line": LinearRegression(), "tree": DecisionTreeRegressor()}
    candidates = {name: FittedQ(each, gamma=0.9, iterations=5) for name, each in regressors.items()}
    choice = choose_approximator(
        candidates,
        "rlsuite/GridGoal-v0",
        steps=200,
        training_seeds=[0, 1],
        report_seeds=[2, 3],
        cv=2,
        report_episodes=1,
    )
    assert found["best"] == choice.best == "tree"
    assert np.array_equal(found["errors"], choice.errors)
    assert found["returns"] == choice.returns.tolist()
    done = rlsuite("choose", "two.toml", *flags)
    assert done.out == f"rlsuite/GridGoal-v0: {choice}\n"


def test_mistakes_are_answered_choosing(rlsuite, tmp_path):
    (tmp_path / "two.toml").write_text(FILE + '[[agents]]\nname = "Sarsa"\n')
    assert "Sarsa does not learn action values from a batch" in rlsuite("choose", "two.toml").err
    (tmp_path / "two.toml").write_text(FILE + "environment = { slip = 0.1 }\n")
    assert "tree sets keywords of the environment" in rlsuite("choose", "two.toml").err
    (tmp_path / "one.toml").write_text(FILE.rpartition("[[agents]]")[0])
    assert "at least two" in rlsuite("choose", "one.toml").err
