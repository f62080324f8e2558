"""Agents as plain data: what is described and built again is described alike, through JSON too."""

import json

import pytest

import rlsuite as rl
from rlsuite.core.described import build, describe
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
