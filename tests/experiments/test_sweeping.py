import csv

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.experiments import Experiment, Sweep, load_results
from rlsuite.experiments.sweeping import settings, text_of, with_setting


def test_all_combinations_the_last_parameter_fastest():
    found = settings({"a": [1, 2], "b": ("x", "y")})
    assert found == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    assert text_of(found[1]) == "a=1, b='y'"


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"log": [0.001, 1], "n": 4}, [0.001, 0.01, 0.1, 1.0]),
        ({"linear": [1, 0], "n": 3}, [1.0, 0.5, 0.0]),
        (np.array([0.1, 0.2]), [0.1, 0.2]),
        (range(3), [0, 1, 2]),
    ],
)
def test_values(given, values):
    found = [setting["a"] for setting in settings({"a": given})]
    assert found == values
    assert {type(value) for value in found} <= {int, float}


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "a sweep is a table"),
        ([1, 2], "a sweep is a table"),
        ({"a": []}, "a has no values"),
        ({"a": [1, 1]}, "a has a value twice"),
        ({"a": 0.5}, "a=0.5 must be a list"),
        ({"a": "0.1,0.5"}, "must be a list"),
        ({"a": {"log": [0.1, 1]}}, "must be a list"),
        ({"a": {"log": [0, 1], "n": 3}}, "log of a needs two finite ends, both positive"),
        ({"a": {"linear": [0], "n": 3}}, "linear of a needs two finite ends"),
        ({"a": {"linear": [0, 1], "n": 0}}, "n of a"),
    ],
)
def test_bad_grids(grid, message):
    with pytest.raises(ParameterError, match=message):
        settings(grid)


def test_parameters_of_parts():
    agent = with_setting(rl.Sarsa(gamma=0.9), {"learning_rate": 0.2, "exploration.epsilon": 0.3})
    assert (agent.gamma, agent.learning_rate, agent.exploration.epsilon) == (0.9, 0.2, 0.3)
    for path in ("learning_rat", "exploration.eps", "gamma.x"):
        with pytest.raises(ParameterError, match=f"sweep: {path}: unknown parameter"):
            with_setting(rl.Sarsa(), {path: 0.1})


def test_too_many_settings_are_refused_before_they_are_made():
    grid = {"learning_rate": {"linear": [0.0, 1.0], "n": 1_000}, "lambda_": {"linear": [0.0, 1.0], "n": 10_000}}
    with pytest.raises(
        ParameterError, match="1000 x 10000 values make 10,000,000 settings, more than 100,000: leave out"
    ):
        settings(grid)
    with pytest.raises(ParameterError, match="10,000,000,000 values of lambda_ are more than 100,000"):
        settings({"lambda_": {"linear": [0.0, 1.0], "n": 10_000_000_000}})


GRID = {"learning_rate": [0.1, 0.5], "exploration.epsilon": [0.1, 0.3]}


@pytest.fixture(scope="module")
def found():
    return rl.sweep(rl.QLearning(gamma=0.9), "FrozenLake-v1", GRID, steps=500, seeds=3)


def test_each_setting_is_learned_as_in_train(found):
    agent = rl.QLearning(gamma=0.9, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    alone = rl.train(agent, "FrozenLake-v1", steps=500, seeds=3, evaluate_every=500)
    run = found.results[2]
    assert run.setting == {"learning_rate": 0.5, "exploration.epsilon": 0.1}
    assert run.agent == "QLearning(learning_rate=0.5, exploration.epsilon=0.1)"
    for one, other in zip(run.records, alone.records, strict=True):
        assert one.evaluation.tobytes() == other.evaluation.tobytes()


def test_the_best_comes_first(found):
    means = [row.mean for row in found.rows]
    assert found.best is found.results[means.index(max(means))]
    lines = repr(found).splitlines()
    assert (
        lines[0]
        == "Sweep(4 settings of learning_rate, exploration.epsilon in FrozenLake-v1; value of the greedy policy)"
    )
    assert f"{max(means):.4g}" in lines[1]


def test_another_measure(found):
    by_reward = Sweep(found.results, "reward")
    assert {row.measure for row in by_reward.rows} == {"reward per step"}
    with pytest.raises(ParameterError, match="unknown measure 'money'"):
        Sweep(found.results, "money")
    with pytest.raises(ParameterError, match="at least one setting"):
        Sweep([])
    prediction = rl.sweep(rl.TD(), "FrozenLake-v1", {"learning_rate": [0.5]}, steps=20, seeds=1, measure="value")
    with pytest.raises(ParameterError, match="has no value of the greedy policy"):
        repr(prediction)


def test_tables(found, tmp_path):
    found.to_csv(tmp_path / "sweep.csv")
    with (tmp_path / "sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["learning_rate"], row["exploration.epsilon"]) for row in rows] == [
        ("0.1", "0.1"),
        ("0.1", "0.3"),
        ("0.5", "0.1"),
        ("0.5", "0.3"),
    ]
    assert [float(row["mean"]) for row in rows] == [row.mean for row in found.rows]


def test_bad_arguments():
    for grid in ({"learning_rate": [0.1, 2.0]}, {"nothing": [1]}, {}):
        with pytest.raises(ParameterError):
            rl.sweep(rl.QLearning(), "FrozenLake-v1", grid, steps=10)
    with pytest.raises(ParameterError, match="'q-learning' is not an agent"):
        rl.sweep("q-learning", "FrozenLake-v1", GRID, steps=10)


FILE = """
steps = 500
seeds = 3
evaluate_every = 500
environments = [{ id = "FrozenLake-v1" }]

[[agents]]
name = "q-learning"
label = "Q"
gamma = 0.9
sweep = { learning_rate = [0.1, 0.5], "exploration.epsilon" = [0.1, 0.3] }
"""


def test_a_file_sweeps_too(found, tmp_path):
    (tmp_path / "sweep.toml").write_text(FILE)
    experiment = Experiment.read(tmp_path / "sweep.toml")
    results = experiment.run(tmp_path / "results")
    loaded = load_results(tmp_path / "results")
    for runs in (results["FrozenLake-v1"], loaded["FrozenLake-v1"]):
        assert [run.setting for run in runs] == [run.setting for run in found.results]
        assert [row.mean for row in Sweep(runs).rows] == [row.mean for row in found.rows]
    assert results["FrozenLake-v1"][0].agent == "Q (learning_rate=0.1, exploration.epsilon=0.1)"
    again = Experiment.from_plain(experiment.plain())
    assert again.plain() == experiment.plain()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"exploration.epsilon"', '"exploration.eps"', r"agents\[0\].sweep: exploration.eps: unknown parameter"),
        ("[0.1, 0.5]", "0.1", r"agents\[0\].sweep: learning_rate=0.1 must be a list"),
        ("[0.1, 0.5]", "[0.1, 5]", r"agents\[0\].learning_rate=5"),
        ("sweep = {", "sweep = 3 #", r"agents\[0\].sweep=3 must be a table"),
    ],
)
def test_mistakes_in_files(tmp_path, old, new, message):
    (tmp_path / "sweep.toml").write_text(FILE.replace(old, new))
    with pytest.raises(ParameterError, match=message):
        Experiment.read(tmp_path / "sweep.toml")
