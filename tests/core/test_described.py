"""Agents as plain data: what is described and built again is described alike, through JSON too."""

import json

import pytest

import rlsuite as rl
from rlsuite.core.described import build, describe
from rlsuite.core.named_estimators import named_class
from rlsuite.errors import ParameterError


def test_plain_data_is_built_into_what_was_described():
    agent = rl.QLearning(gamma=0.5, learning_rate=rl.Linear(1.0, 0.1, over=9), exploration=rl.EpsilonGreedy(0.3))
    plain = json.loads(json.dumps(describe(agent)))
    assert plain["learning_rate"] == {"name": "Linear", "start": 1.0, "end": 0.1, "over": 9, "per": "steps"}
    again = build("agent", {"QLearning": rl.QLearning}, plain)
    assert describe(again) == describe(agent)


def test_mistakes_in_plain_data_are_named():
    with pytest.raises(ParameterError, match="agent has no name; give name = one of Sarsa"):
        build("agent", {"Sarsa": rl.Sarsa}, {"gamma": 0.9})
    with pytest.raises(ParameterError, match="did you mean 'gamma'"):
        build("agent", {"Sarsa": rl.Sarsa}, {"name": "Sarsa", "gama": 0.9})


def test_the_name_of_a_class_is_enough(tmp_path, monkeypatch):
    def agent_with(find=named_class, **plain):
        return build("agent", {"Sarsa": rl.Sarsa}, {"name": "Sarsa", **plain}, find)

    assert repr(agent_with(exploration="softmax").exploration) == repr(rl.Softmax())
    assert repr(agent_with(values="table").values) == "Table(initial=0.0)"
    written = "from rlsuite.agents.values import Table\nclass Own(Table): pass\nclass Other: pass\n"
    (tmp_path / "own_values.py").write_text(written)
    monkeypatch.chdir(tmp_path)
    assert repr(agent_with(values={"name": "own_values.py:Own", "initial": 2}).values) == "Own(initial=2.0)"
    for values, sentence in {
        "tabel": "unknown values 'tabel'; did you mean 'Table'?",
        "own_values.py:Owl": "values: own_values.py has no class 'Owl'; did you mean 'own_values.py:Own'?",
        "own_values.py:Other": "values: own_values.py:Other does not derive from Representation, as Linear, ",
        "own_values.py": r"values: own_values.py names no class: .* \(classes there: Other, Own\)",
    }.items():
        with pytest.raises(ParameterError, match=sentence):
            agent_with(values=values)
