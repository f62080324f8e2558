"""``rlsuite evaluate``."""

import json
import sys

import pytest
from PIL import Image

import rlsuite as rl
from rlsuite.cli import main
from rlsuite.errors import NewRunWarning


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


FILE = """
steps = 2000
seeds = 2
keep = "agents"
environments = [{ id = "FrozenLake-v1", parameters = { is_slippery = false } }, { id = "rlsuite/GridGoal-v0" }]
agents = [{ name = "q-learning", gamma = 0.9 }, { name = "sarsa", gamma = 0.9, label = "on policy" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake.toml").write_text(FILE)
    assert main(["run", "lake.toml"]) == 0
    capsys.readouterr()
    return tmp_path / "lake"


def test_a_kept_agent_is_seen_step_by_step_and_judged(folder, capsys):
    assert main(["evaluate", "lake", "--enjoy", "--agent", "QLearning", "--seed", "1", "--episodes", "2"]) == 0
    shown, said = capsys.readouterr()
    assert said == "QLearning in FrozenLake-v1, seed 1\n"
    agent = rl.load(folder / "agents" / "FrozenLake-v1" / "QLearning" / "seed-0001.npz")
    wanted = rl.evaluate(agent, "FrozenLake-v1", episodes=2, seed=1, is_slippery=False)
    assert shown.endswith(f"{wanted!r}\n")
    assert shown.count("begin: observation 0\n\n[S]FFF\nFHFH\nFFFH\nHFFG\n") == 2
    assert shown.count("\nstep ") == wanted.lengths.sum()
    assert shown.count("reward 1, return 1, observation 15; the end\n  (Right)\nSFFF\nFHFH\nFFFH\nHFF[G]\n") == 2

    assert main(["evaluate", "lake", "rlsuite/GridGoal-v0", "--gif", "walk.gif", "--json"]) == 0
    shown, said = capsys.readouterr()
    assert json.loads(shown)["gif"] == "walk.gif"
    assert (folder.parent / "walk.gif").read_bytes().startswith(b"GIF89a")

    assert main(["evaluate", "lake", "--seed", "0", "--movie", "walk.html"]) == 0
    shown, said = capsys.readouterr()
    assert said.endswith("written: walk.html\n")
    length = int(shown.partition("length: ")[2].split()[0])
    page = (folder.parent / "walk.html").read_text(encoding="utf-8")
    assert f'"step {length}: ' in page
    assert f'"step {length + 1}: ' not in page


def test_what_a_beginner_gets_wrong(folder, tmp_path, capsys):
    (tmp_path / "plain.toml").write_text(FILE.replace('keep = "agents"', ""))
    main(["run", "plain.toml", "--seeds", "1"])
    file = str(next((folder / "agents").rglob("*.npz")))
    for typed, said in (
        (["lake", "--agent", "QLerning"], "did you mean 'QLearning'?"),
        (["lake", "FrozenLake"], "did you mean 'FrozenLake-v1'?"),
        (["lake", "--seed", "7"], "in FrozenLake-v1 with the seeds 0, 1"),
        (["plain"], 'plain keeps no agents: write keep = "agents" in'),
        (["q-learning", "FrozenLake-v1"], "rlsuite train AGENT FrozenLake-v1 --save agent.npz"),
        (["nothing.npz"], "nothing.npz does not exist"),
        ([file], f"rlsuite evaluate {file} ENV"),
        ([file, "FrozenLake-v1", "--agent", "Sarsa"], "leave it out"),
        ([file, "FrozenLake-v1", "--gif", "walk.png"], "walk.png"),
        ([file, "FrozenLake-v1", "--movie", "walk.png"], "walk.png"),
    ):
        capsys.readouterr()
        assert main(["evaluate", *typed]) == 2, typed
        assert said in capsys.readouterr().err, typed


def test_an_environment_without_pictures_is_told_in_lines(tmp_path, capsys):
    file = str(tmp_path / "agent.npz")
    with pytest.warns(NewRunWarning):
        rl.QLearning().learn("Blackjack-v1", steps=2_000, seed=1).save(file)
    assert main(["evaluate", file, "Blackjack-v1", "--enjoy", "--seed", "4"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("begin: observation (")
    assert shown[1].startswith("step 1: action ")


@pytest.mark.slow
def test_gymnasiums_grids_are_drawn_without_pygame(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pygame", None)  # not to be imported
    monkeypatch.chdir(tmp_path)
    short = ["--max-episode-steps", "9", "--seed", "2"]
    for env_id in ("CliffWalking-v1", "FrozenLake-v1", "Taxi-v4"):
        train = ["train", "sarsa", env_id, "--steps", "500", "--gif", "a.gif", "--save", "a.npz", *short]
        assert main(train) == main(["evaluate", "a.npz", env_id, "--gif", "b.gif", *short]) == 0
        assert "exact value" in capsys.readouterr().out  # also while it is drawn
        for name in ("a.gif", "b.gif"):
            with Image.open(tmp_path / name) as gif:
                assert gif.n_frames > 1, (env_id, name)
    assert main(["check", "Taxi-v4"]) == 0
    assert "gifs, which rlsuite draws" in capsys.readouterr().out
