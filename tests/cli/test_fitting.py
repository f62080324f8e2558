"""Learning hidden Markov models on the command line."""

import re
import shlex

import numpy as np
import pytest

from rlsuite.inference import HMM, HSMM, Gaussian, PoissonDurations
from rlsuite.models import MarkovChain

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
    smooth = HMM.from_states(z, 1 - states, prior=1.0)
    long_run = MarkovChain(smooth.transition).stationary()
    titles = ["state", "start", "to dry", "to rain", "long run", "table 0", "table 1"]
    assert re.split(" {2,}", done.out.splitlines()[1].strip()) == titles
    assert done.out.splitlines()[2].split()[1:] == [
        f"{p:.6g}" for p in (smooth.start[0], *smooth.transition[0], long_run[0], *smooth.emission.table[0])
    ]
    assert done.out.splitlines()[-1].split() == ["regular", "chain", "yes"]


def test_hidden_states_are_found_by_expectation_maximisation(rlsuite_json, tmp_path):
    truth = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Gaussian([-2.0, 2.0], [1.0, 1.0]))
    z, _ = write_days(tmp_path, truth)
    found = rlsuite_json("fit", "days.csv", "--states", 2, "--restarts", 3)
    assert found["by"] == "expectation maximisation"
    assert sorted(np.ravel(found["emission"]["mean"])) == pytest.approx([-2.0, 2.0], abs=0.3)
    assert found["log_likelihood"] >= truth.score(z)
    again = rlsuite_json("fit", "days.csv", "--states", 2, "--restarts", 3)
    assert again == found


def test_words_are_symbols_and_the_model_takes_them(rlsuite, rlsuite_json, tmp_path):
    """Of one column, and of several; the model of words is that of their numbers."""
    z, _ = write_days(tmp_path, HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]))
    numbers = rlsuite_json("fit", "days.csv", "--save", "numbers.npz")
    words = (tmp_path / "days.csv").read_text().replace("\n0,", "\ncold,").replace("\n1,", "\nhot,")
    (tmp_path / "words.csv").write_text(words.replace("hot", "?", 1))
    assert rlsuite_json("fit", "words.csv")["emission"]["labels"] == ["cold", "hot"]
    (tmp_path / "words.csv").write_text(words)
    found = rlsuite_json("fit", "words.csv", "--save", "words.npz")
    assert found["emission"] == {**numbers["emission"], "labels": ["cold", "hot"]}
    hidden = rlsuite("fit", "words.csv", "--states", 2, "--save", "hidden.npz")
    assert "table cold" in hidden.out
    proposed = hidden.err.partition("next: rlsuite ")[2]
    first = " ".join("cold" if symbol == 0 else "hot" for symbol in z[:2])
    assert proposed == f"filter hidden.npz {first} --smooth\n"
    assert rlsuite(*shlex.split(proposed)).code == 0
    by_name = rlsuite("filter", "words.npz", "hot", "?", "cold")
    assert (
        by_name.out.replace("cold", "0").replace("hot", "1").split()[1:]
        == (rlsuite("filter", "numbers.npz", 1, "?", 0).out.split()[1:])
    )
    assert "did you mean 'cold'" in rlsuite("filter", "words.npz", "col").err
    model = HMM.read(tmp_path / "words.npz")
    assert model.filter(["hot", "cold"]).tobytes() == model.filter([1, 0]).tobytes()
    assert HMM.read(tmp_path / "hidden.npz").fit(z[:50]).emission.labels == ("cold", "hot")
    (tmp_path / "play.csv").write_text("observation.sky,observation.wind,state\nsun,1.5,no\nrain,2.0,yes\nsun,0.5,no\n")
    rlsuite("fit", "play.csv", "--prior", 1, "--save", "play.npz")
    assert rlsuite("filter", "play.npz", "--file", "play.csv").out.count("sun, 1.5") == 1
    (tmp_path / "play.csv").write_text("observation\nsun\n1.O\n2\n")
    assert "the observation 'sun' is not a number, as others are" in rlsuite("fit", "play.csv", "--states", 2).err
    (tmp_path / "play.csv").write_text("observation\nsun\nrain\n")
    assert "has words, such as 'rain'" in rlsuite("fit", "play.csv", "--states", 2, "--emission", "gaussian").err


def test_episodes_are_sequences_and_a_question_mark_is_missing(rlsuite, rlsuite_json, tmp_path):
    (tmp_path / "days.csv").write_text("episode,observation,state\na,0,0\na,?,1\nb,1,1\nb,0,0\n")
    assert rlsuite_json("fit", "days.csv")["transition"] == [[0.0, 1.0], [1.0, 0.0]]
    assert "in 2 sequences" in rlsuite("fit", "days.csv").out
    (tmp_path / "days.txt").write_text("0 1 1 0 0 1\n")
    assert rlsuite_json("fit", "days.txt", "--states", 1)["transition"] == [[1.0]]


def test_several_things_observed_at_once_are_independent_given_the_state(rlsuite, rlsuite_json, tmp_path):
    """Naive Bayes, where a sequence has one row: four days to play or not."""
    days = "episode,observation.sky,observation.warmth,state\n1,0,20.5,no\n2,0,?,yes\n3,1,24.5,yes\n4,1,25.5,yes\n"
    (tmp_path / "days.csv").write_text(days)
    found = rlsuite_json("fit", "days.csv", "--save", "hmm.npz")
    assert found["start"] == [0.25, 0.75]
    assert found["emission"]["sky"] == {"kind": "Categorical", "table": [[1.0, 0.0], [1 / 3, 2 / 3]]}
    assert found["emission"]["warmth"]["mean"][1] == [25.0]
    beliefs = rlsuite_json("filter", "hmm.npz", "0,?")["beliefs"]
    np.testing.assert_allclose(beliefs, [[0.5, 0.5]])
    assert len(rlsuite_json("filter", "hmm.npz", "--file", "days.csv")["beliefs"]) == 4
    lines = [line.split() for line in rlsuite("fit", "days.csv").out.splitlines()]
    assert lines[1] == ["state", "start"]
    assert lines[4] == ["state", "sky", "table", "0", "sky", "table", "1"]
    assert "--emission a,b,c: days.csv has 2 columns" in rlsuite("fit", "days.csv", "--emission", "a,b,c").err


def test_the_number_of_states_is_chosen(rlsuite, rlsuite_json, tmp_path):
    truth = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Gaussian([-2.0, 2.0], [1.0, 1.0]))
    write_days(tmp_path, truth)
    found = rlsuite_json("fit", "days.csv", "--states", "1,2")
    assert [row["states"] for row in found["tried"]] == [1, 2]
    assert len(found["start"]) == 2
    assert "1 states are best by aic" not in rlsuite("fit", "days.csv", "--states", "1,2", "--criterion", "aic").out
    assert "did you mean 'bic'" in rlsuite("fit", "days.csv", "--states", "1,2", "--criterion", "bicc").err


def test_durations(rlsuite, rlsuite_json, tmp_path):
    moves, levels = [[0, 1], [1, 0]], Gaussian([2.0, 0.0], [1.0, 1.0])
    z, _ = HSMM([1, 0], moves, levels, PoissonDurations([20.0, 8.0])).sample(400, seed=1)
    (tmp_path / "meter.csv").write_text("observation\n" + "".join(f"{x!r}\n" for x in z.tolist()))
    found = rlsuite_json("fit", "meter.csv", "--states", 2, "--durations", "poisson", "--save", "hsmm.npz")
    model = HSMM.read(tmp_path / "hsmm.npz")
    assert found["log_likelihood"] == model.score(z)
    assert found["bic"] == pytest.approx(7 * np.log(400) - 2 * model.score(z))
    assert found["durations"] == {
        "kind": "PoissonDurations",
        "mean_duration": model.durations.mean_duration.tolist(),
    }
    assert sorted(model.durations.mean) == pytest.approx([8.0, 20.0], rel=0.3)
    assert model.score(z) > model.fit(z, max_iterations=1, tol=0).score(z) - 1e-3, "it has been learned"
    assert "  durations  PoissonDurations" in rlsuite("show", "hsmm.npz").out.splitlines()
    line = rlsuite("fit", "meter.csv", "--states", 2, "--durations", 60, "--save", "hsmm.npz")
    assert "mean duration" in line.out.splitlines()[1]
    assert HSMM.read(tmp_path / "hsmm.npz").durations.table.shape == (2, 60)
    smoothed = rlsuite_json(*shlex.split(line.err.partition("next: rlsuite ")[2]), "--decode")
    assert smoothed["path"] == HSMM.read(tmp_path / "hsmm.npz").decode(z[:2].round(4)).tolist()
    (tmp_path / "heat.csv").write_text("observation,state\n0.5,a\n0.1,b\n")
    for words, said in (
        ("fit heat.csv --durations poisson", "--durations learns hidden states: give --states K"),
        (
            "fit heat.csv --durations poison --states 2",
            "did you mean 'poisson'? (choices: negative-binomial",
        ),
        ("fit heat.csv --durations 9 --states 1", "two at least"),
        ("fit heat.csv --durations 9 --states 1,2", "--states 1,2 chooses among plain models; give one number"),
        ("filter hsmm.npz 1 2 --best-action", "--best-action applies only to POMDPs"),
        ("solve hsmm.npz", "has no actions; use 'rlsuite filter'"),
        ("solve hsmm.npz --gamma 0.9", "leave gamma out"),
    ):
        done = rlsuite(*words.split())
        assert (done.code, said in done.err) == (2, True), (words, done.err)


def test_mistakes_are_answered(rlsuite, tmp_path):
    files = {
        "none.csv": ("z,state\n0,1\n", "there is no column 'observation', only z, state"),
        "words.csv": ("observation\nrain\n1\n", "the observation 'rain' is not a number, as others are"),
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


def test_columns_of_any_title(rlsuite, rlsuite_json, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{t},{20 + t % 2 + rng.normal()!r},{rng.normal()!r},{t // 15}" for t in range(60)]
    (tmp_path / "sensor.csv").write_text("\n".join(["time,temperature,vibration 2,run", *rows]))
    words = ("fit", "sensor.csv", "--states", 2, "--columns", "Temperature,vibration 2", "--save", "hmm.npz")
    found = rlsuite_json(*words, "--group", "run")
    assert [*found["emission"]] == ["temperature", "vibration 2"]
    model, table = HMM.read(tmp_path / "hmm.npz"), np.loadtxt(tmp_path / "sensor.csv", delimiter=",", skiprows=1)
    assert found["log_likelihood"] == model.score(table[:, 1:3], [15] * 4)
    done = rlsuite(*words)
    filtered = rlsuite_json(*shlex.split(done.err.partition("next: rlsuite ")[2]))
    np.testing.assert_allclose(filtered["beliefs"], HMM.read(tmp_path / "hmm.npz").filter(table[:, 1:3]))
    titles = "time, temperature, vibration 2, run"
    for command in ("fit sensor.csv --states 2", "filter hmm.npz --file sensor.csv"):
        done = rlsuite(*command.split())
        assert (done.code, f"only {titles}: write --columns" in done.err) == (2, True), done.err
        done = rlsuite(*command.split(), "--columns", "temprature")
        assert (done.code, "did you mean 'temperature'? (choices: run, t" in done.err) == (2, True), done.err
