"""Filtering on the command line, against the textbook's numbers and the library's."""

import json
import math
import sys
from pathlib import Path

import numba.core.event as events
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.cli import output
from rlsuite.cli.output import compiling_message
from rlsuite.inference import Gaussian, score_episodes


def rows(done):
    """The entries of each line of a table, split at blanks."""
    return [line.split() for line in done.out.splitlines()]


@pytest.mark.parametrize(
    "given",
    [
        ["?", 0, 0],
        ["-1", "0", "0"],
        ["--observations", "?,0,0"],
        ["--file", "seen.txt"],
        ["--file", "seen.csv"],
    ],
)
def test_the_umbrella_world(rlsuite, umbrella_file, tmp_path, given):
    (tmp_path / "seen.txt").write_text("? 0  # the second day\n\n0\n")
    (tmp_path / "seen.csv").write_text("day,Observation\nmonday,?\ntuesday,0\nwednesday,0\n")
    done = rlsuite("filter", umbrella_file, *given)
    assert (done.code, done.err) == (0, "next: the same command with --smooth, or --decode\n")
    assert rows(done) == [
        ["umbrella.npz,", "filtered"],
        ["t", "observation", "rain", "dry"],
        ["0", "?", "0.5", "0.5"],
        ["1", "0", "0.818182", "0.181818"],
        ["2", "0", "0.883357", "0.116643"],
        ["log-likelihood", f"{math.log(0.3515):.6g}", "nats"],
    ]


def test_smoothing_and_the_most_probable_path(rlsuite, rlsuite_json, umbrella_file):
    done = rlsuite("filter", umbrella_file, "--smooth", 0, 0, 1, 0, 0, "--decode")
    assert (done.code, done.err) == (0, "")
    lines = rows(done)
    assert lines[0] == ["umbrella.npz,", "smoothed"]
    assert lines[1] == ["t", "observation", "rain", "dry", "most", "probable", "path"]
    assert [line[-1] for line in lines[2:7]] == ["rain", "rain", "dry", "rain", "rain"]
    assert lines[2][2] == "0.867339"
    printed = rlsuite_json("filter", umbrella_file, 0, 0, 1, 0, 0, "--smooth", "--decode", "--entropy")
    np.testing.assert_allclose(printed["entropy"], rl.inference.entropy(printed["smoothed"]))
    hmm = rl.HMM.read(umbrella_file)
    z = printed["observations"]
    assert printed["state_labels"] == ["rain", "dry"]
    np.testing.assert_allclose(printed["beliefs"], hmm.filter(z))
    np.testing.assert_allclose(printed["smoothed"], hmm.smooth(z))
    assert printed["path"] == [0, 0, 1, 0, 0]
    assert printed["log_likelihood"] == pytest.approx(hmm.score(z))
    assert printed["path_log_probability"] == pytest.approx(math.log(0.5 * 0.9**4 * 0.8 * 0.7**2 * 0.3**2))
    plain = rlsuite_json("filter", umbrella_file, 0)
    assert set(plain) == {"model", "state_labels", "observations", "beliefs", "log_likelihood"}


@pytest.mark.parametrize(
    "given",
    [
        ["0.5,1", "?", "-1,?"],
        ["--smooth", "0.5,1", "?", "-1,?"],
        ["--observations", "0.5,1; ?; -1,?"],
        ["--file", "seen.txt"],
    ],
)
def test_vectors(rlsuite, rlsuite_json, tmp_path, given):
    (tmp_path / "seen.txt").write_text("0.5 1\n? ?\n-1\t?\n")
    model = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], Gaussian([[0, 0], [1, 1]], [[1, 1], [2, 2]]))
    model.write(tmp_path / "walk.npz")
    printed = rlsuite_json("filter", "walk.npz", *given)
    assert printed["observations"] == [[0.5, 1.0], [None, None], [-1.0, None]]
    np.testing.assert_allclose(printed["beliefs"], model.filter([[0.5, 1.0], [np.nan, np.nan], [-1.0, np.nan]]))
    shown = rows(rlsuite("filter", "walk.npz", *given))
    assert [line[1] for line in shown[2:5]] == ["0.5,", "?", "-1,"]
    done = rlsuite("filter", "walk.npz", "1,2,3")
    assert done.err == "rlsuite: error: the observation at t=0 has 3 numbers, not 2\n"
    (tmp_path / "seen.txt").write_text("0.5 1\n1\n")
    done = rlsuite("filter", "walk.npz", "--file", "seen.txt")
    assert done.err == "rlsuite: error: seen.txt:2: an observation has 2 numbers, and this line has 1\n"


@pytest.mark.parametrize(
    "given",
    [
        ["listen", "hear-left", "listen", "hear-left"],
        ["Listen", "hear left", "0", "HEAR_LEFT"],
        ["--actions", "listen,listen", "--observations", "hear-left, hear-left"],
        ["0", "0", "--actions", "0,0"],
        ["--file", "steps.txt"],
        ["--file", "steps.csv"],
    ],
)
def test_the_tiger(rlsuite, tiger_file, tmp_path, given):
    (tmp_path / "steps.txt").write_text("listen hear-left\n# again\nlisten hear-left\n")
    (tmp_path / "steps.csv").write_text("observation;reward;action\nhear-left;-1;listen\nhear-left;-1;listen\n")
    done = rlsuite("filter", tiger_file, *given)
    assert done.code == 0, done.err
    likelihood = math.log(0.5 * (0.85**2 + 0.15**2))
    assert rows(done)[1:] == [
        ["t", "action", "observation", "tiger-left", "tiger-right"],
        ["0", "0.5", "0.5"],
        ["1", "listen", "hear-left", "0.85", "0.15"],
        ["2", "listen", "hear-left", "0.969799", "0.0302013"],
        ["log-likelihood", f"{likelihood:.6g}", "nats"],
    ]


@pytest.mark.slow
def test_a_missing_observation_of_a_pomdp(rlsuite_json, tiger_file):
    given = ["listen", "hear-left", "listen", "?", "listen", "hear-right"]
    printed = rlsuite_json("filter", tiger_file, *given, "--smooth", "--decode")
    assert (printed["actions"], printed["observations"]) == ([0, 0, 0], [0, -1, 1])
    np.testing.assert_allclose(printed["beliefs"], [[0.5, 0.5], [0.85, 0.15], [0.85, 0.15], [0.5, 0.5]])
    np.testing.assert_allclose(printed["smoothed"], np.full((4, 2), 0.5))
    tiger = rl.POMDP.read(tiger_file)
    assert printed["log_likelihood"] == pytest.approx(score_episodes(tiger, [([0, 0, 0], [0, -1, 1])]))
    assert printed["path"] in ([0, 0, 0, 0], [1, 1, 1, 1])
    assert printed["path_log_probability"] == pytest.approx(math.log(0.5 * 0.85 * 0.15))


def test_an_environment_whose_episodes_end(rlsuite_json):
    """Only beliefs while the episode goes on are asked for: nobody listens after a door was opened."""
    env = ["rlsuite/Tiger-v0", "--env", "opening=end", "--env", "accuracy=0.75"]
    printed = rlsuite_json("filter", env[0], "listen", "hear right", *env[1:])
    assert printed["beliefs"][-1] == [0.25, 0.75]
    assert printed["state_labels"] == ["tiger left", "tiger right"]


def test_figure(rlsuite, rlsuite_json, umbrella_file, tmp_path):
    done = rlsuite("filter", umbrella_file, 0, "?", 1, "--plot", "seen.svg")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "  written: seen.svg"
    assert (tmp_path / "seen.svg").stat().st_size > 1_000
    assert rlsuite_json("filter", umbrella_file, 0, "--plot", "seen.png")["plot"] == "seen.png"


def test_many_states_and_many_steps_are_cut_short(rlsuite, rlsuite_json, tmp_path):
    states = 12
    clock = rl.HMM(np.eye(states)[0], np.roll(np.eye(states), 1, axis=1), np.ones((states, 1)))
    clock.write(tmp_path / "clock.npz")
    (tmp_path / "seen.txt").write_text("0\n" * 300)
    done = rlsuite("filter", "clock.npz", "--file", "seen.txt")
    lines = done.out.splitlines()
    assert lines[1].split() == ["t", "observation", "most", "probable", "states"]
    assert lines[4].split() == ["2", "0", "2", "1"]  # t, the observation, the state and its probability
    assert lines[-2:] == ["  ... and 100 more: --json has them", "  log-likelihood  0 nats"]
    assert len(rlsuite_json("filter", "clock.npz", "--file", "seen.txt")["beliefs"]) == 300


def test_actions_that_are_illegal_in_a_state_that_is_possible(rlsuite, tmp_path):
    stay = np.tile(np.eye(2)[:, np.newaxis], (1, 2, 1))
    legal = [[True, True], [True, False]]
    rl.POMDP.from_arrays(
        stay, np.zeros((2, 2)), np.eye(2), gamma=0.9, order="sas", start=[0.5, 0.5], legal=legal
    ).write(tmp_path / "door.npz")
    assert rlsuite("filter", "door.npz", 0, 0, 1, 0).code == 0
    done = rlsuite("filter", "door.npz", 0, 1, 1, 1)
    assert done.err == "rlsuite: error: step 2: action=1 is illegal in state 1, which has the probability 1\n"


def test_a_terminal_is_told_once_about_compiling(monkeypatch, capsys):
    def compile_something():
        with events.trigger_event("numba:compile"):
            pass

    with compiling_message():
        compile_something()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    with compiling_message():
        compile_something()
        compile_something()
    compile_something()
    assert capsys.readouterr().err == "compiling, once; later runs find it in numba's cache\n"


def test_a_belief_over_many_states():
    belief = np.array([0.25, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25])
    assert output.cells(belief, list("abcdefghi")) == ["c 0.5, a 0.25, i 0.25"]
    assert output.heads(list("abcdefghi")) == ["most probable states"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "the following arguments are required: MODEL"),
        (["umbrella.npz"], "there are no observations: give them after the model, with --observations or with --file"),
        (["umbrella.npz", "--observations", ""], "there are no observations"),
        (["umbrella.npz", "--file", "empty.txt"], "empty.txt holds no observations"),
        (["tiger.pomdp", "--file", "title.csv"], "title.csv holds no observations"),
        (["umbrella.npz", "--file", "nothing.txt"], "there is no file nothing.txt"),
        (["umbrella.npz", "--file", "."], "cannot read .: Is a directory"),
        (["umbrella.npz", "--file", "umbrella.npz"], "umbrella.npz is not a text file: "),
        (["umbrella.npz", "0", "--smoth"], "unknown flag '--smoth'; did you mean '--smooth'?"),
        (["nothing.npz", "0"], "there is no file nothing.npz"),
        (["empty.txt", "0"], "empty.txt: unknown suffix '.txt' (choices: .drn, .jani, .mdp, "),
        (["umbrella.npz", "0", "2"], "z[t=1] is 2; the symbols are 0..1 (n_symbols=2), and -1 or NaN is a missing one"),
        (["umbrella.npz", "0.5"], "z[t=0] is 0.5; the symbols are 0..1"),
        (["umbrella.npz", "0", "rain"], "the observation 'rain' at t=1 is not a number; ? stands for a missing one"),
        (["sure.npz", "0", "1"], "z[t=1] is 1, which is impossible after what was seen before"),
        (
            ["umbrella.npz", "0", "--actions", "0"],
            "--actions applies only to POMDPs, and umbrella.npz is a hidden Markov",
        ),
        (["umbrella.npz", "0", "--observations", "0"], "Z... and --observations both give the observations"),
        (["umbrella.npz", "0", "--file", "steps.txt"], "Z... and --file both give the sequence"),
        (["umbrella.npz", "0", "--env", "slip=0.2"], "umbrella.npz: HMM.read takes no keyword 'slip'"),
        (["tiger.pomdp", "--observations", "0"], "--observations needs --actions"),
        (["tiger.pomdp", "listen"], "actions and observations alternate, and after the last action 'listen' there "),
        (["tiger.pomdp", "--actions", "0,0", "--observations", "0"], "there are 2 actions and 1 observations"),
        (
            ["tiger.pomdp", "lisen", "hear-left"],
            "unknown action 'lisen'; did you mean 'listen'? (listen, open-left, open-right, 0..2)",
        ),
        (["tiger.pomdp", "3", "hear-left"], "unknown action '3' ("),
        (["tiger.pomdp", "listen", "silence"], "unknown observation 'silence' (hear-left, hear-right, 0..1)"),
        (["tiger.pomdp", "--file", "steps.txt"], "steps.txt:2: a line holds an action and an observation, and this "),
        (["tiger.pomdp", "--file", "seen.csv"], "seen.csv: there is no column 'action', and in a POMDP "),
        (["umbrella.npz", "--file", "ragged.csv"], "ragged.csv:3: there are 1 columns, and this line has 2 entries"),
        (
            ["rlsuite/Tiger-v0", "0", "0", "1", "0", "--env", "opening=end"],
            "step 2: observation=0 cannot follow action=1 in this belief while the episode continues",
        ),
        (
            ["rlsuite/Tiger-v0", "1", "?", "--env", "opening=end"],
            "step 1: an observation cannot follow action=1 in this belief while the episode continues",
        ),
        (["tiger.pomdp", "0", "0", "--plot", "a.png"], "--plot draws hidden Markov models, and tiger.pomdp is a POMDP"),
        (["umbrella.npz", "0", "--plot", "a.txt"], "--plot a.txt: unknown suffix '.txt'"),
        (["FrozenLake-v1", "0", "0"], "the states of FrozenLake-v1 are not hidden: there is nothing to filter"),
    ],
)
def test_mistakes(rlsuite, tiger_file, umbrella_file, tmp_path, arguments, sentence):
    (tmp_path / "empty.txt").write_text("\n# nothing\n")
    (tmp_path / "title.csv").write_text("action,observation\n")
    (tmp_path / "steps.txt").write_text("listen hear-left\nlisten hear left\n")
    (tmp_path / "seen.csv").write_text("observation\nhear-left\n")
    (tmp_path / "ragged.csv").write_text("observation\n0\n0,1\n")
    rl.HMM([1, 0], np.eye(2), [[1, 0], [0, 1]]).write(tmp_path / "sure.npz")
    done = rlsuite("filter", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rlsuite: error: {sentence}")
    assert done.err.count("\n") == 1


def test_the_best_action_in_the_last_belief(rlsuite, umbrella_file):
    doors = Path(__file__).parents[1] / "problems" / "two-doors.pomdp"
    seen = ["listen", "growl-left", "listen", "growl-left"]
    done = rlsuite("filter", doors, *seen)
    assert done.err == "next: the same command with --smooth, --decode or --best-action\n"
    once = rlsuite("filter", doors, *seen[:2], "--best-action")
    assert "best action now  listen (of a plan whose value" in once.out
    twice = rlsuite("filter", doors, *seen, "--best-action", "--json")
    found = json.loads(twice.out)
    assert (found["best_action"], found["best_action_label"]) == (2, "open-right")
    assert 0.0 <= found["gap_at_start"] < 1e-4
    refused = rlsuite("filter", umbrella_file, "0", "--best-action")
    assert refused.code == 2
    assert "--best-action applies only to POMDPs" in refused.err


def test_true_states_say_how_many_are_recognised(rlsuite, rlsuite_json, umbrella_file):
    flags = (umbrella_file, 0, 0, 1, 0, "--truth", "rain,rain,dry,1")
    done = rlsuite("filter", *flags)
    assert "recognised      75.0% of the states" in done.out
    assert [line.split() for line in done.out.splitlines()[-2:]] == [
        ["rain", "0.666667", "1", "0.8", "1"],
        ["dry", "1", "0.5", "0.666667", "1"],
    ]
    found = rlsuite_json("filter", *flags[:-1], "0,0,0,0")["scores"]
    assert (found["average_precision"][0], found["recall"]) == (1.0, [0.75, 0.0])
    assert rlsuite_json("filter", *flags, "--decode")["scores"]["confusion"] == [[2, 0], [1, 1]]
    assert "--truth has 1 states, and there are 3 times (the first" in (
        rlsuite("filter", "rlsuite/Tiger-v0", 0, 0, 0, 0, "--truth", "0").err
    )
