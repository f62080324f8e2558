import sys

import pytest

import rlsuite as rl
from rlsuite.core.described import describe
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments.lookup import agent_from_table, find_agent_class

AGENT = "import rlsuite as rl\n\nclass Patient(rl.QLearning):\n    pass\n"


@pytest.mark.parametrize("word", ["QLearning", "q-learning", "q_learning", "qlearning"])
def test_ways_to_write_a_name(word):
    assert find_agent_class(word) is rl.QLearning


def test_class_in_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(AGENT)
    kind = find_agent_class("mine.py:Patient", tmp_path)
    assert kind.__name__ == "Patient"
    assert find_agent_class("mine.py:Patient", tmp_path) is kind  # run once
    assert find_agent_class("patient") is kind  # known from now on


def test_edited_file_is_run_again(tmp_path):
    import os

    file = tmp_path / "mine.py"
    file.write_text(AGENT)
    before = find_agent_class("mine.py:Patient", tmp_path)
    file.write_text(AGENT + "    gamma: float = 0.5\n")
    os.utime(file, ns=(1, 1))
    assert find_agent_class("mine.py:Patient", tmp_path) is not before


def test_class_in_a_module(tmp_path, monkeypatch):
    (tmp_path / "lookup_agents_for_tests.py").write_text(AGENT.replace("Patient", "Hasty"))
    monkeypatch.syspath_prepend(tmp_path)
    assert find_agent_class("lookup_agents_for_tests:Hasty").__name__ == "Hasty"
    del sys.modules["lookup_agents_for_tests"]


def test_features_stand_beside_the_name_whichever_part_of_the_agent_has_them():
    given = {"features": {"name": "clusters", "n_clusters": 3}, "fit_on": 50}
    for name, part, owner in (("q-learning", "values", "Linear"), ("perturbation-search", "policy", "LinearPolicy")):
        plain = describe(agent_from_table({"name": name, **given}, "agents[0]"))
        assert plain[part]["name"] == owner
        assert plain[part]["features"] == {"name": "Clusters", "n_clusters": 3}
        assert plain[part]["fit_on"] == 50
        with pytest.raises(ParameterError, match=r"fit_on: its values, or its policy, have a table"):
            agent_from_table({"name": name, part: {"name": owner}, "fit_on": 50}, "agents[0]")
    plain = describe(agent_from_table({"name": "q-learning", "features": "one-hot"}, "agents[0]"))
    assert plain["features"] == {"name": "OneHot"}
    with pytest.raises(ParameterError, match=r"agents\[0\]\.fit_on: FittedQ has no features that learn from the first"):
        agent_from_table({"name": "FittedQ", "features": "one-hot", "fit_on": 50}, "agents[0]")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "kind", "sentence"),
    [
        ("nowhere.py:A", FileError, "'nowhere.py:A': there is no file '{folder}/nowhere.py'"),
        ("no_such_module:A", FileError, "'no_such_module:A': there is no module 'no_such_module' to import"),
        ("..:A", FileError, "'..:A': '..' is not the name of a module"),
        ("mine.py", ParameterError, "'mine.py' names no class: write 'mine.py:Class' (agents there: Quiet)"),
        (
            "mine.py:Quit",
            ParameterError,
            "'mine.py:Quit': unknown agent 'Quit'; did you mean 'Quiet'? (choices: Quiet)",
        ),
        ("empty.py:A", ParameterError, "'empty.py:A': empty.py defines no agent (a class derived from rlsuite"),
        ("broken.py:A", FileError, "'broken.py:A': running the file raised ZeroDivisionError: division by zero"),
        ("thief.py:Sarsa", ParameterError, "'thief.py:Sarsa': another agent has the name Sarsa already; rename"),
    ],
)
def test_mistakes_are_named(tmp_path, spec, kind, sentence):
    (tmp_path / "mine.py").write_text(AGENT.replace("Patient", "Quiet"))
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "thief.py").write_text(AGENT.replace("Patient", "Sarsa"))
    with pytest.raises(kind) as caught:
        find_agent_class(spec, tmp_path)
    assert str(caught.value).startswith(sentence.format(folder=tmp_path))
