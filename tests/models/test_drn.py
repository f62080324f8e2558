"""Storm's explicit files: what is read, what is written, and what is wrong with a file."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, ParameterError
from rlsuite.models import MDP, POMDP, MarkovChain

DRN = """@type: MDP
@value_type: double
@parameters

@reward_models
cost gain
@nr_states
2
@nr_choices
3
@model
state 0 [1, 0] init
\taction go [0.5, 2] // comment
\t\t0 : 1/3
\t\t1 : 0.6666666666666667
\taction __NOLABEL__
\t\t1 : 1
state 1 "goal"
\taction go [0, 0]
\t\t1 : 1
"""


def test_files_and_faults(tmp_path):
    def read(text, model=MDP, **keywords):
        (tmp_path / "m.drn").write_text(text)
        return model.read(tmp_path / "m.drn", **keywords)

    mdp = read(DRN, reward="cost")
    assert mdp.action_labels == ("go", "unnamed")
    assert mdp.expected_reward().tolist() == [[1.5, 1], [0, 0]]
    assert mdp.labels["goal"].tolist() == [False, True]
    assert mdp.probability.tolist() == [1 / 3, 0.6666666666666667, 1, 1]
    faults = {
        "holds a model of the type mdp, not dtmc": ({"model": MarkovChain}, ("", "")),
        "2 reward structures": ({"reward": None}, ("", "")),
        ":13: '1/0' is not a number": ({}, ("0.5, 2", "1/0, 2")),
        ":13: there are 1 rewards, and 2 reward structures": ({}, ("0.5, 2", "0.5")),
        ":15: 7 is not a state; the states are 0..1": ({}, ("\t\t1 : 0.6", "\t\t7 : 0.6")),
        ":14: '1e999' is not a finite number": ({}, ("1/3", "1e999")),
        ":14: 'x' is not a number": ({}, ("1/3", "x")),
        ":18: state 2 is not expected; states are 0..1": ({}, ("state 1", "state 2")),
        "announces 3 states, but holds 2": ({}, ("@nr_states\n2", "@nr_states\n3")),
        ":16: 'acton __NOLABEL__' is none of": ({}, ("action __", "acton __")),
        ":12: 'state 0 {a} [1, 0] init' is none of": ({}, ("state 0", "state 0 {a}")),
        ":18: either all states or none have an observation": ({}, ("state 0", "state 0 {3}")),
        ":12: 'state 0 [1, 0] init' is not expected before @model": ({}, ("@model", "")),
        "has no @model": ({}, (DRN[DRN.index("@model") :], "")),
        "has parameters or other numbers than double": ({}, ("@parameters\n", "@parameters\np q")),
        "its head needs @type, @nr_states": ({}, ("@nr_states", "@states")),
        "sums to 0.8999999967, not 1": ({}, ("1/3", "0.23333333")),
        "has more than 1 states": ({"max_states": 1}, ("", "")),
    }
    for message, (keywords, change) in faults.items():
        with pytest.raises((FileError, ParameterError)) as caught:
            read(DRN.replace(*change), **{"reward": "cost"} | keywords)
        assert message in str(caught.value), str(caught.value)
    with pytest.raises(FileError, match="holds a POMDP without observations"):
        read(DRN.replace("MDP", "POMDP"), POMDP, reward="gain")


def test_models_come_back(tmp_path):
    lake = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    lake.write(tmp_path / "lake.drn")
    again = MDP.read(tmp_path / "lake.drn", gamma=0.9, end="end")
    assert rl.solve(again, tol=1e-9).value[:16] == pytest.approx(rl.solve(lake, tol=1e-9).value, abs=1e-8)
    # Names that tell the choices of every state apart are the actions; numbers are themselves.
    paid = DRN.replace("cost gain", "cost").replace("[1, 0]", "").replace("[0.5, 2]", "[-1]").replace("[0, 0]", "[0]")
    for names, labels, legal in (
        (("go", "stay", "stay"), ("go", "stay"), [[True, True], [False, True]]),
        (("1", "0", "0"), None, [[True, True], [True, False]]),
        (("go", "go", "go"), None, [[True, True], [True, False]]),
    ):
        text = paid
        for old, new in zip(("action go [-1]", "action __NOLABEL__", "action go [0]"), names, strict=True):
            text = text.replace(old, f"action {new}", 1)
        (tmp_path / "m.drn").write_text(text)
        mdp = MDP.read(tmp_path / "m.drn")
        assert (mdp.action_labels, mdp.legal.tolist()) == (labels, legal), names
        text = (
            DRN.replace("cost gain", "cost").replace("[1, 0]", "").replace("[0.5, 2]", "[-1]").replace("[0, 0]", "[0]")
        )
    # The values of variables, which Storm writes as a comment, are the name of a state.
    (tmp_path / "m.drn").write_text(
        DRN.replace("init\n", "init\n//[x=0\t& !far]\n").replace('"goal"', '"goal"\n//[x=0\t& ]')
    )
    assert MDP.read(tmp_path / "m.drn", reward=[]).state_labels == ("x=0 !far", "x=0 far")
    with pytest.raises(FileError, match="not uniform"):
        lake.replace(start=np.append([0.9, 0.1], np.zeros(14))).write(tmp_path / "m.drn")
    with pytest.raises(FileError, match="the label 'end' holds in other states than the ends of episodes"):
        lake.replace(labels={"end": [0]}).write(tmp_path / "m.drn")
