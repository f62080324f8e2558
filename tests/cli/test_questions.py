"""``rlsuite solve --property`` and ``--constraint``: what is printed, what is kept, and the exit codes."""

import json

import numpy as np
import pytest

from rlsuite.cli import main


def test_a_property_on_the_command_line(tmp_path, capsys):
    solve = ["solve", "FrozenLake-v1", "--property"]
    assert main([*solve, 'Pmax=? [F "15"]', "--show"]) == 0
    out = capsys.readouterr().out
    assert "at the start  0.823529" in out
    assert out.count("\n") == 4 + 17
    assert main([*solve, 'P>=0.1 [F "15"]']) == 1
    assert "holds         no" in capsys.readouterr().out
    file = tmp_path / "plan.npz"
    assert main([*solve, 'Pmax=? [F<=20 "15"]', "--json", "--save", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["value_at_start"] == pytest.approx(0.19913270083486317, abs=1e-12)
    assert len(facts["value"]) == 16
    assert main(["act", str(file), "--state", "14"]) == 0
    assert main([*solve, 'Pmax=? [F "15"]', "--method", "auto"]) == 2
    assert "--method does not go with --property" in capsys.readouterr().err
    assert main([*solve, 'Pmax=? [F "goal"]']) == 2
    assert "unknown label 'goal'" in capsys.readouterr().err


def test_limits_on_the_command_line(tmp_path, capsys):
    solve = ["solve", "FrozenLake-v1", "--gamma", "0.95"]
    assert main([*solve, "--constraint", "steps<=10", "--show"]) == 0
    out = capsys.readouterr().out
    assert "steps (limit 10)  10; the value rises by" in out
    cost = tmp_path / "left.npy"
    np.save(cost, np.tile([1.0, 0.0, 0.0, 0.0], (16, 1)))
    assert main([*solve, "--constraint", f"{cost}<=2", "--constraint", "steps<=10", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["limits"] == [2.0, 10.0]
    assert facts["costs"][0] <= 2.0 + 1e-9
    assert facts["value_at_start"] <= facts["upper_bound"] + 1e-12
    for given, words in (
        ("steps<=0", "the least cost at the start is"),
        ("steps", "write steps<=20"),
        ("x.npy<=1", "x.npy is not"),
    ):
        assert main([*solve, "--constraint", given]) == 2
        assert words in capsys.readouterr().err
