"""Comparing agents on the command line: the same as in Python, and mistakes."""

import csv
import json

import pytest

import rlsuite as rl

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
    done = rlsuite("compare", *TWO, "--seeds", "enough", "--margin", 0.3, "--most-seeds", 40)
    agents = {"q-learning": rl.QLearning(gamma=0.9), "sarsa": rl.Sarsa(gamma=0.9)}
    expected = rl.compare(agents, "FrozenLake-v1", steps=300, seeds="enough", margin=0.3, most_seeds=40)
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
    said = "two is unfinished, 6 of 8 cells done, 2 to go: this compares what is done"
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
    pytest.importorskip("jinja2")
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
