import pytest

import rlsuite as rl
from rlsuite.cli.options import keywords, literal, named, schedule
from rlsuite.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("7", 7),
        ("True", True),
        ("false", False),
        ("None", None),
        ("stay", "stay"),
        ("[1, 2]", [1, 2]),
        ("'7'", "7"),
        ("maps/x.txt", "maps/x.txt"),
        ("", ""),
    ],
)
def test_values_are_read_as_python_would(text, value):
    read = literal(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0.1", 0.1),
        ("linear:1.0:0.1:5000", {"name": "Linear", "start": 1.0, "end": 0.1, "over": 5000}),
        ("linear:1:0:50:episodes", {"name": "Linear", "start": 1, "end": 0, "over": 50, "per": "episodes"}),
        ("exponential:1.0:0.99", {"name": "Exponential", "start": 1.0, "decay": 0.99}),
        ("Inverse:1.0:visits", {"name": "Inverse", "start": 1.0, "per": "visits"}),
        ("inverse:1.0:10", {"name": "Inverse", "start": 1.0, "scale": 10}),
    ],
)
def test_schedules(text, plain):
    assert schedule("--epsilon", text) == plain


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("linaer:1:0:5", "--epsilon 'linaer:1:0:5': unknown schedule 'linaer'; did you mean 'linear'? (choices: "),
        ("inverse:1:2:3:4:visits", "--epsilon 'inverse:1:2:3:4:visits' has too many parts; its form is "
         "inverse:START:SCALE:END:PER"),
    ],
)  # fmt: skip
def test_mistakes_in_schedules(text, sentence):
    with pytest.raises(ParameterError) as caught:
        schedule("--epsilon", text)
    assert str(caught.value).startswith(sentence)


HINT = ": an environment itself is written without --env"


def test_mistakes_in_keywords():
    for pair in ("slip", "=3", "a b=3"):
        with pytest.raises(ParameterError) as caught:
            keywords("--env", [pair])
        assert str(caught.value) == f"--env {pair!r} is not of the form key=value" + (pair == "slip") * HINT


@pytest.mark.parametrize(
    ("flags", "agent"),
    [
        ([], rl.QLearning()),
        (["--gamma", "0.9", "--learning-rate", "0.5"], rl.QLearning(gamma=0.9, learning_rate=0.5)),
        (["--epsilon", "0.3"], rl.QLearning(exploration=rl.EpsilonGreedy(0.3))),
        (["--temperature", "2"], rl.QLearning(exploration=rl.Softmax(temperature=2))),
        (["--epsilon", "0.3", "--temperature", "2"], rl.QLearning(exploration=rl.MaxBoltzmann(0.3, temperature=2))),
        (["--c", "1.5"], rl.QLearning(exploration=rl.UpperConfidence(1.5))),
        (["--beta", "4"], rl.QLearning(exploration=rl.CountBonus(4))),
        (["--base", "linear:1:9:50"], rl.QLearning(exploration=rl.Softmax(base=rl.Linear(1, 9, over=50)))),
        (["--agent", "gamma=0.25"], rl.QLearning(gamma=0.25)),
    ],
)
def test_flags_are_keywords_of_agents(flags, agent):
    import argparse

    from rlsuite.cli import training
    from rlsuite.cli.options import agent_of

    parser = argparse.ArgumentParser()
    training.add(parser.add_subparsers())
    built = agent_of(parser.parse_args(["train", "q-learning", "FrozenLake-v1", *flags]))
    assert repr(built) == repr(agent)


def test_a_parameter_of_the_agent_goes_before_one_of_an_exploration():
    import argparse

    from rlsuite.cli import training
    from rlsuite.cli.options import agent_of

    parser = argparse.ArgumentParser()
    training.add(parser.add_subparsers())
    chosen = parser.parse_args(["train", "exp3", "rlsuite/Bandit-v0", "--epsilon", "0.25"])
    assert repr(agent_of(chosen)) == repr(rl.EXP3(epsilon=0.25))


def test_parameters_of_estimators_follow_them(rlsuite_json):
    features = ["--features", "scaling", "--features", "tile-coding", "--features.n-tilings", "4", "--features.bins=3"]
    learned = rlsuite_json("train", "sarsa", "MountainCar-v0", *features, "--steps", 20, "--seed", 1)
    assert learned["agent"]["features"] == {
        "name": "Chain",
        "features": [{"name": "Scaling"}, {"name": "TileCoding", "bins": 3, "n_tilings": 4, "seed": 0}],
    }


def test_parameters_of_values_follow_them(rlsuite_json):
    values = ["--values", "linear", "--values.initial", "1", "--values.features", "one-hot"]
    learned = rlsuite_json("train", "sarsa", "FrozenLake-v1", *values, "--steps", 20, "--seed", 1)
    expected = {"name": "Linear", "features": {"name": "OneHot"}, "initial": 1, "fit_on": 1_000}
    assert learned["agent"]["values"] == expected
    for hidden, layers in (("8", [8]), ("8,4", [8, 4]), ("[8,4]", [8, 4])):
        values = ["--values", "network", "--values.hidden", hidden]
        learned = rlsuite_json("train", "sarsa", "FrozenLake-v1", *values, "--steps", 20, "--seed", 1)
        assert learned["agent"]["values"] == {"name": "Network", "hidden": layers, "initial": 0.0, "fit_on": 1_000}


def test_estimators_inside_of_estimators():
    texts = ["sklearn.ensemble:AdaBoostRegressor", ".estimator=sklearn.tree:DecisionTreeRegressor"]
    assert named("--regressor", [*texts, ".estimator.max_depth=3"]) == {
        "name": "sklearn.ensemble:AdaBoostRegressor",
        "estimator": {"name": "sklearn.tree:DecisionTreeRegressor", "max_depth": 3},
    }


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--features.bins", "3"], "--features.bins is a parameter of --features, which comes before it"),
        (["--features", "tile-coding", "--features.bins"], "--features.bins has no value: write --features.bins VALUE"),
        (["--features", "tile-codin"], "unknown features 'tile-codin'; did you mean 'TileCoding'?"),
        (["--features", "no_module:Map"], "features: there is no module 'no_module' to import"),
        (["--values", "tabel"], "unknown values 'tabel'; did you mean 'Table'? (choices: Linear, "),
        (["--values", "table", "--features", "one-hot"], "--values has its own features: write --values linear "),
        (["--values", "table", "--values", "linear"], "--values is given 2 times, but an agent learns its values in"),
        (["--regressor", "sklearn.linear_model:Ridge"], "Sarsa: unknown parameter 'regressor'"),
        (["--epsilon", "0.1", "--base", "2"], "--epsilon, --base: no exploration has all of these"),
        (["--epsilon", "1.5"], "--epsilon 1.5 lies outside [0, 1]"),
        (["--gamma", "high"], "--gamma high "),
        (["--agent", "gama=0.9"], "Sarsa: unknown parameter 'gama'; did you mean 'gamma'? (choices: "),
        (["--learning-rate", "linear:1.0:0.1"], "Linear: parameter 'over' is missing"),
        (["--steps", "0"], "--steps 0 "),
        (["--loop", "fast"], "unknown loop 'fast' (choices: auto, compiled, stepwise)"),
        (["--env", "is_slipery=True"], "FrozenLake-v1: unknown keyword 'is_slipery'; did you mean 'is_slippery'? "),
    ],
)
def test_mistakes_in_flags(rlsuite, flags, sentence):
    done = rlsuite("train", "sarsa", "FrozenLake-v1", *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
