"""Models of every kind as diagrams."""

import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError
from rlsuite.plotting import diagram


def texts(model) -> list[str]:
    *shown, _ = [text.get_text() for text in diagram(model).texts]  # the last is the caption
    return shown


def test_every_kind_of_model_is_drawn():
    repair = [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]]
    named = {
        "order": "sas",
        "gamma": 0.9,
        "start": 1,
        "state_labels": ["ok", "broken"],
        "action_labels": ["run", "fix"],
    }
    machine = rl.MDP.from_arrays(repair, [[1, 0], [-9, -4]], **named)
    assert texts(machine) == ["broken", "ok", "run, -9", "fix, -4", "run 0.1, 1", "run 0.9, 1\nfix"]
    of_costs = rl.MDP.from_arrays(repair, costs=[[0, 4], [9, 4]], **named)
    assert texts(of_costs)[2:] == ["run, cost 9", "fix, cost 4", "run 0.1", "run 0.9\nfix, cost 4"]
    hidden = rl.POMDP.from_arrays(repair, [[1, 0], [-9, -4]], [[0.9, 0.1], [0.4, 0.6]], **named)
    assert texts(hidden) == texts(machine)
    assert texts(rl.solve(machine)) == ["broken", "ok", "fix, -4", "run 0.1, 1", "run 0.9, 1"]
    rain = rl.HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], state_labels=["rain", "dry"])
    assert texts(rain) == ["rain\n0: 0.9\n1: 0.1", "dry\n1: 0.8\n0: 0.2", "0.7", "0.3", "0.3", "0.7"]
    chain = rl.MarkovChain([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]], state_labels=["sun", "clouds", "snow"])
    assert texts(chain) == ["sun", "clouds", "snow", "0.5", "0.5", "1", "1"]  # also what cannot be reached
    lake = diagram(rl.MDP.from_env("FrozenLake-v1", gamma=0.9, desc=["SF", "HG"], is_slippery=False))
    patches = {patch.get_label(): patch for patch in lake.patches if patch.get_label().startswith("_state")}
    assert patches["_state 0"].get_linewidth() > patches["_state 1"].get_linewidth()
    ordinary, end, other_end = (patches[f"_state {state}"].get_facecolor() for state in (1, 2, 3))
    assert end == other_end != ordinary
    for model, words in [
        (rl.MDP.from_env("CliffWalking-v1", gamma=0.9), "a diagram of 48 states is too large to be read"),
        (3, "diagram draws an MDP, a POMDP, an HMM or a MarkovChain, not a int"),
    ]:
        with pytest.raises(ParameterError, match=words):
            diagram(model)
