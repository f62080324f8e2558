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
