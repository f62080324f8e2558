"""``rlsuite evaluate``."""

import json

import rlsuite as rl
from rlsuite.cli import main


def test_a_saved_agent_is_judged(tmp_path, capsys):
    file = str(tmp_path / "agent.npz")
    assert main(["train", "q-learning", "FrozenLake-v1", "--seed", "1", "--steps", "3000", "--save", file]) == 0
    capsys.readouterr()
    typed = ["evaluate", file, "FrozenLake-v1", "--env", "is_slippery=False", "--episodes", "5", "--seed", "2"]
    assert main(typed) == 0
    wanted = rl.evaluate(rl.load(file), "FrozenLake-v1", episodes=5, seed=2, is_slippery=False)
    assert capsys.readouterr().out == f"{wanted!r}\n"
    assert main([*typed, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["regret"] == wanted.regret
    assert main(["evaluate", "q-learning", "FrozenLake-v1"]) == 2
    assert "rlsuite train AGENT FrozenLake-v1 --save agent.npz" in capsys.readouterr().err
