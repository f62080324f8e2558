"""``rlsuite verify``."""

import json

from rlsuite.models import MDP


def test_a_model_is_solved_and_the_proof_verified(rlsuite, tmp_path, tiger_file):
    done = rlsuite("solve", tiger_file, "--save", "tiger.cert")
    assert done.code == 0
    assert done.err == f"next: rlsuite verify {tiger_file} tiger.cert\n"
    done = rlsuite("verify", tiger_file, "tiger.cert", "--text", "plain.pomdp")
    assert done.code == 0
    assert done.out.startswith("right: the value at the start is between 19.37136")
    assert rlsuite("verify", "plain.pomdp", "tiger.cert").code == 0
    done = rlsuite("verify", tiger_file, "tiger.cert", "--gamma", "0.9", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["right"], found["model"]) == (False, str(tiger_file))
    assert found["sentence"]


def test_intervals_of_other_programs(rlsuite, tmp_path):
    MDP.from_successors([[0, 1], [0, 1]], [[0, 0], [0, 1]], gamma=0.5).write(tmp_path / "two.mdp")
    (tmp_path / "by-hand.cert").write_text("state 0 0.9 1.1\nstate 1 1.9 2.1  # QuantEcon says 2\n")
    done = rlsuite("verify", "two.mdp", "by-hand.cert")
    assert (done.code, done.out[:6]) == (0, "right:")
    (tmp_path / "wrong.cert").write_text("state 0 0.9 1.1\nstate 1 1.9 1.95\n")
    done = rlsuite("verify", "two.mdp", "wrong.cert")
    assert (done.code, done.out) == (1, "refused: state 1: HIGH is too low, by 0.025\n")
    done = rlsuite("verify", "two.mdp", "nowhere.cert")
    assert done.code == 2
    assert done.err.startswith("rlsuite: error: nowhere.cert cannot be read")


def test_environments_have_proofs_too(rlsuite):
    assert rlsuite("solve", "FrozenLake-v1", "--gamma", "0.9", "--save", "lake.cert").code == 0
    assert rlsuite("verify", "FrozenLake-v1", "lake.cert", "--gamma", "0.9").code == 0
    assert rlsuite("verify", "FrozenLake-v1", "lake.cert", "--gamma", "0.95").code == 1


def test_bounds_that_do_not_prove_themselves_are_compared_with_a_proof(rlsuite, tmp_path):
    """0.9 and 1.1 around 1, but 1.9999 and 2.6 around 2: one backup of these goes beyond 1.1."""
    MDP.from_successors([[0, 1], [0, 1]], [[0, 0], [0, 1]], gamma=0.5).write(tmp_path / "two.mdp")
    MDP.from_successors([[0, 1], [0, 1]], [[-1, -2], [0, 0]], gamma=1.0).write(tmp_path / "free.mdp")
    for model, intervals, code, sentence in [
        ("two.mdp", "state 0 0.9 1.1\nstate 1 1.9 2.6\n", 0, "every interval contains that of a proof"),
        ("two.mdp", "state 0 0.9 0.95\nstate 1 1.9 2.6\n", 1, "state 0: HIGH is below the value, by at least 0.05"),
        ("two.mdp", "state 0 0.9 1.1\nstate 1 3 3.5\n", 1, "state 1: LOW is above the value, by at least 1"),
        ("two.mdp", "state 0 1 x\nstate 1 1.9 2.6\n", 1, "not a line 'state S LOW HIGH'"),
        ("free.mdp", "state 0 -2.1 -1.9\nstate 1 -0.1 0.1\n", 0, "every interval contains that of a proof"),
    ]:
        (tmp_path / "by-hand.cert").write_text(intervals)
        assert rlsuite("verify", model, "by-hand.cert").code == 1
        done = rlsuite("verify", model, "by-hand.cert", "--solve")
        assert (done.code, sentence in done.out) == (code, True), done.out
