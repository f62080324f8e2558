"""Learning hidden Markov models on the command line."""

import numpy as np
import pytest

from rlsuite.inference import HMM, Gaussian

HEAD = "observation,state\n"


def write_days(folder, hmm, n=200, seed=3):
    z, states = hmm.sample(n, seed=seed)
    names = hmm.state_labels or ["0", "1"]
    rows = "".join(f"{z_t},{names[x]}\n" for z_t, x in zip(z.tolist(), states.tolist(), strict=True))
    (folder / "days.csv").write_text(HEAD + rows)
    return z, states


def test_known_states_are_counted_and_the_model_filters(rlsuite, rlsuite_json, tmp_path, umbrella_file):
    umbrella = HMM.read(tmp_path / umbrella_file)
    z, states = write_days(tmp_path, umbrella)
    found = rlsuite_json("fit", "days.csv", "--save", "hmm.npz")
    counted = HMM.from_states(z, 1 - states, state_labels=["dry", "rain"])
    assert found["by"] == "counting"
    assert found["state_labels"] == ["dry", "rain"]
    assert found["transition"] == counted.transition.tolist()
    assert found["emission"] == {"kind": "Categorical", "table": counted.emission.table.tolist()}
    assert found["log_likelihood"] == pytest.approx(counted.score(z))
    assert rlsuite("filter", "hmm.npz", 0, 0, "--smooth").code == 0
    done = rlsuite("fit", "days.csv", "--prior", "1")
    assert done.out.splitlines()[0] == "days.csv: 200 observations in 1 sequence, counting"
    assert done.out.splitlines()[1].split() == ["state", "start", "to", "dry", "to", "rain", "table", "0", "table", "1"]
    smooth = HMM.from_states(z, 1 - states, prior=1.0)
    assert done.out.splitlines()[2].split()[1:] == [
        f"{p:.6g}" for p in (smooth.start[0], *smooth.transition[0], *smooth.emission.table[0])
    ]


def test_hidden_states_are_found_by_expectation_maximisation(rlsuite_json, tmp_path):
    truth = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Gaussian([-2.0, 2.0], [1.0, 1.0]))
    z, _ = write_days(tmp_path, truth)
    found = rlsuite_json("fit", "days.csv", "--states", 2, "--restarts", 3)
    assert found["by"] == "expectation maximisation"
    assert sorted(np.ravel(found["emission"]["mean"])) == pytest.approx([-2.0, 2.0], abs=0.3)
    assert found["log_likelihood"] >= truth.score(z)
    again = rlsuite_json("fit", "days.csv", "--states", 2, "--restarts", 3)
    assert again == found


def test_episodes_are_sequences_and_a_question_mark_is_missing(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "days.csv").write_text("episode,observation,state\na,0,0\na,?,1\nb,1,1\nb,0,0\n")
    assert rlsuite_json("fit", "days.csv")["transition"] == [[0.0, 1.0], [1.0, 0.0]]
    assert "in 2 sequences" in rlsuite("fit", "days.csv").out
    (tmp_path / "days.txt").write_text("0 1 1 0 0 1\n")
    assert rlsuite_json("fit", "days.txt", "--states", 1)["transition"] == [[1.0]]


def test_mistakes_are_answered(rlsuite, tmp_path):
    files = {
        "none.csv": ("z,state\n0,1\n", "there is no column 'observation', only z, state"),
        "words.csv": ("observation\nrain\n", "an observation is not a number"),
        "short.csv": ("observation,state\n0\n", "there are 2 columns, and this line has 1 entries"),
        "alone.csv": ("observation\n0\n1\n", "has no column 'state': give --states K"),
        "empty.csv": ("", "holds no observations"),
    }
    for name, (text, words) in files.items():
        (tmp_path / name).write_text(text)
        done = rlsuite("fit", name)
        assert (done.code, words in done.err) == (2, True), done.err
    (tmp_path / "days.csv").write_text("observation\n0\n1\n")
    assert "unknown" in rlsuite("fit", "days.csv", "--states", 2, "--emission", "gauss").err
    assert "there is no file" in rlsuite("fit", "missing.csv").err
    assert ".npz" in rlsuite("fit", "days.csv", "--states", 2, "--save", "hmm.txt").err
