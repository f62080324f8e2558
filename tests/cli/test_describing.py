"""``rlsuite show``: what is in a file."""

import json

import rlsuite as rl


def test_agents_solutions_and_models(rlsuite, tmp_path):
    mdp = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    rl.QLearning().learn("FrozenLake-v1", steps=300, seed=1).save(tmp_path / "agent.npz")
    rl.solve(mdp).save(tmp_path / "solution.npz")
    mdp.write(tmp_path / "model.npz")
    for file, title, fact in (
        ("agent.npz", "QLearning", "  learned        300 steps"),
        ("solution.npz", "Solution", "  value at the start  0.0688909"),
        ("model.npz", "MDP", "  states       16"),
    ):
        done = rlsuite("show", file)
        lines = done.out.splitlines()
        assert (done.code, done.err) == (0, "")
        assert lines[0].startswith(f"{file}: {title}")
        assert fact in lines
        assert len(lines) <= 20
    assert json.loads(rlsuite("show", "solution.npz", "--json").out)["converged"] is True
    assert json.loads(rlsuite("show", "agent.npz", "--json").out)["exploration"] == "EpsilonGreedy(epsilon=0.1)"


def test_what_is_no_file_of_ours(rlsuite, tmp_path):
    (tmp_path / "bad.npz").write_text("junk")
    (tmp_path / "note.txt").write_text("junk")
    (tmp_path / "folder").mkdir()
    for file, said in (
        ("nope.npz", "nope.npz does not exist"),
        ("bad.npz", "bad.npz is damaged"),
        ("folder", "folder is a folder: 'rlsuite runs folder' counts its results"),
        ("note.txt", "note.txt: unknown"),
    ):
        done = rlsuite("show", file)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
