import argparse
import re

import pytest

import rlsuite as rl
from rlsuite import cli
from rlsuite.cli.flags import AgentFlags, add_parameters, named, schedule
from rlsuite.errors import ParameterError
from rlsuite.registry import learner_classes
from rlsuite.synonyms import in_dashes


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
    assert repr(agent_in(["train", "q-learning", "FrozenLake-v1", *flags])) == repr(agent)


def agent_in(words):
    chosen = cli.parse(*cli.parsers(), words)
    return AgentFlags(agent=chosen.agent).made(chosen.agent_name)


@pytest.mark.parametrize("command", ["train", "sweep"])
@pytest.mark.parametrize(
    ("words", "agent"),
    [
        (["sarsa-lambda", "--lambda", "0.5"], rl.SarsaLambda(lambda_=0.5)),
        (["n-step-sarsa", "--n", "1e1", "--agent", "n=3"], rl.NStepSarsa(n=3)),
        (["exp3", "--epsilon", "0.25"], rl.EXP3(epsilon=0.25)),  # its own goes before one of an exploration
        (["sarsa", "--exploration", "softmax", "--exploration.base", "3"], rl.Sarsa(exploration=rl.Softmax(base=3))),
        (["sarsa", "--exploration", "max-boltzmann", "--epsilon", "0.3", "--temperature", "exponential:2:0.9:0.1"],
         rl.Sarsa(exploration=rl.MaxBoltzmann(0.3, temperature=rl.Exponential(2, 0.9, 0.1)))),
        (["fitted-q", "--no-one-per-action", "--iterations", "7"],
         rl.approximation.FittedQ(one_per_action=False, iterations=7)),
    ],
)  # fmt: skip
def test_every_parameter_of_an_agent_is_a_flag_of_every_command(command, words, agent):
    assert repr(agent_in([command, words[0], "FrozenLake-v1", *words[1:]])) == repr(agent)


def test_the_flags_of_every_agent_are_its_parameters():
    for name, agent in learner_classes().items():
        parser = argparse.ArgumentParser()
        add_parameters(parser, [agent])
        known = {option for action in parser._actions for option in action.option_strings}
        assert {f"--{in_dashes(key).rstrip('-')}" for key in agent.defaults()} - {"--name"} <= known, name


def test_help_behind_an_agent_lists_its_parameters(rlsuite):
    shown = rlsuite("sweep", "sarsa-lambda", "--help").out
    assert "parameters of sarsa-lambda:" in shown
    assert re.search(r"--lambda VALUE\s+How slowly", shown), shown


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
        (["--lambda", "0.9"], "unknown flag '--lambda'; sarsa has no such parameter, and a keyword of the environment"),
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
