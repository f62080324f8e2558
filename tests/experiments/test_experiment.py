import dataclasses
import itertools
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import warnings

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.cli import main
from rlsuite.errors import (
    FailedRunsWarning,
    FileError,
    LearningError,
    ParameterError,
    RlsuiteWarning,
    UnsuitableEnvironment,
)
from rlsuite.experiments import Experiment, load_results, status_of
from rlsuite.experiments.segments import Segment
from rlsuite.experiments.store import Store, Writer
from rlsuite.experiments.work import Work
from rlsuite.experiments.writing import versions, writing

LONG = """
steps = 8_000_000
seeds = 6
evaluate_every = 4_000_000

[[environments]]
id = "rlsuite/GridGoal-v0"

[[environments]]
id = "FrozenLake-v1"

[[agents]]
name = "QLearning"
gamma = 0.9
"""

BROKEN = """
import gymnasium

class Broken(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 1 / 0, False, False, {}
"""


def cells_below(folder):
    return sorted((*pair, seed) for pair, (done, _) in Store(folder).known.items() for seed in done)


def lose(folder, *lost):
    """Make a folder what it was before these cells were learned."""
    found = Store(folder)
    left = [found.entry(pair, seed) for pair, (done, _) in found.known.items() for seed in done]
    shutil.rmtree(folder / "cells")
    writer = Writer(folder, folder / ".unfinished", "run")
    for entry in left:
        if not any((*entry.pair, entry.seed)[: len(one)] == one for one in lost):
            writer.add(entry)
    writer.flush()


NOT_KEPT = ("seconds", "compiling_seconds", "loop_reason")


def results_of(record):
    """What a seed decides: all but how long it took."""
    return {name: value for name, value in vars(record).items() if name not in NOT_KEPT}


def assert_same_results(one, other):
    assert list(one) == list(other)
    for label in one:
        assert [runs.agent for runs in one[label]] == [runs.agent for runs in other[label]]
        for runs, twins in zip(one[label], other[label], strict=True):
            for record, twin in zip(runs.records, twins.records, strict=True):
                for name, value in results_of(record).items():
                    same = np.array_equal(value, getattr(twin, name))
                    assert same, name


def test_cells_are_what_learn_gives(toml, tmp_path):
    results = Experiment.read(toml()).run(tmp_path / "out")
    assert [(label, [runs.agent for runs in many]) for label, many in results.items()] == [
        ("dry lake", ["QLearning", "fast learner"]),
        ("rlsuite/GridGoal-v0", ["QLearning", "fast learner"]),
    ]
    record = results["rlsuite/GridGoal-v0"][1].records[2]
    agent = rl.QLearning(gamma=0.9, learning_rate=0.5)
    agent.learn("rlsuite/GridGoal-v0", steps=400, seed=2, evaluate_every=200, record_every=100, regret=True)
    for name, value in results_of(agent.record_).items():
        assert np.array_equal(getattr(record, name), value), name
    assert record.optimal_value == pytest.approx(81.0)


def test_what_is_loaded_is_what_run_returned(toml, tmp_path):
    results = Experiment.read(toml()).run(tmp_path / "out")
    assert_same_results(load_results(tmp_path / "out"), results)
    assert_same_results(Experiment.read(toml()).run(tmp_path / "out"), results)


def test_the_folder_holds_what_the_documentation_says(toml, tmp_path):
    Experiment.read(toml()).run(tmp_path / "out")
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == ["cells", "run.json"]
    assert len(cells_below(out)) == 12
    run = json.loads((out / "run.json").read_text())
    assert run["command"] == "rlsuite run small.toml"
    assert run["versions"]["numpy"] == np.__version__
    again = Experiment.from_plain(run["config"])
    again.run(tmp_path / "again")
    assert cells_below(tmp_path / "again") == cells_below(out)


def test_workers_and_loop_never_change_a_byte(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "one", workers=1)
    Experiment.read(toml()).run(tmp_path / "two", workers=2)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")

    Experiment.read(toml(), loop="stepwise").run(tmp_path / "stepwise", workers=2)
    compiled, stepwise = Store(tmp_path / "one"), Store(tmp_path / "stepwise")
    for *pair, seed in cells_below(tmp_path / "one"):
        cell, twin = (found.entry(tuple(pair), seed) for found in (compiled, stepwise))
        assert (cell.about["loop"], twin.about["loop"]) == ("compiled", "stepwise")
        assert cell == twin._replace(about={**twin.about, "loop": "compiled"})


def test_stepwise_cells_are_taken_as_they_are(toml, tmp_path, tree):
    Experiment.read(toml(), loop="stepwise").run(tmp_path / "out")
    before = tree(tmp_path / "out")
    Experiment.read(toml(), loop="compiled").run(tmp_path / "out")
    after = tree(tmp_path / "out")
    assert {name for name in before if before[name] != after[name]} == {"run.json"}


def start(file, folder, workers):
    """The command itself, in a process of its own."""
    # A process that was started in the background may ignore SIGINT, and its children with it.
    heard = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    often = "from rlsuite.experiments import store; store.EVERY = 0.02; "  # so that cells are kept one by one
    command = [sys.executable, "-c", heard + often + "from rlsuite.cli import main; sys.exit(main())"]
    command += ["run", str(file), "--output", str(folder), "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_cells(process, folder, wanted):
    deadline = time.monotonic() + 60
    while len(cells_below(folder)) < wanted:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_and_resumed_gives_the_bytes_of_an_uninterrupted_run(toml, tmp_path, tree):
    file = toml(LONG, name="long.toml")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    Experiment.read(file).run(whole, workers=2)
    finished = []
    for wanted, workers in ((1, 2), (5, 1)):
        process = start(file, killed, workers)
        wait_for_cells(process, killed, wanted)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert wanted <= len(cells_below(killed)) < 12
        assert set(finished) <= set(finished := cells_below(killed))
    process = start(file, killed, 1)
    _, complaints = process.communicate()
    assert process.returncode == 0, complaints
    assert tree(killed) == tree(whole)


APPROXIMATORS = """
steps = 300
seeds = 2
environments = [{ id = "rlsuite/GridGoal-v0" }]

[[agents]]
name = "FittedQ"
regressor = "sklearn.tree:DecisionTreeRegressor"

[[agents]]
name = "CrossEntropyMethod"
features = "one-hot"

[[agents]]
name = "LSPI"
features = { name = "clusters", n_clusters = 3 }
observe = "cell"

[[agents]]
name = "ClassifierPolicy"
classifier = "sklearn.tree:DecisionTreeClassifier"
"""
"""Their cells begin anew after a kill."""


@pytest.mark.slow
def test_killed_while_batches_searches_and_classifiers_learn(toml, tmp_path, tree):
    file = toml(APPROXIMATORS, name="approximators.toml")
    Experiment.read(file).run(tmp_path / "whole")
    process = start(file, tmp_path / "killed", 1)
    wait_for_cells(process, tmp_path / "killed", 1)
    process.kill()
    process.communicate()
    assert 1 <= len(cells_below(tmp_path / "killed")) < 8
    Experiment.read(file).run(tmp_path / "killed")
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(toml, tmp_path, tree):
    file = toml(LONG, name="long.toml")
    process = start(file, tmp_path / "out", 1)
    wait_for_cells(process, tmp_path / "out", 2)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == 130
    last = complaints.splitlines()[-1]
    done = int(last.split()[1])
    assert last == f"stopped; {done} of 12 cells are done; run it again to continue"
    assert 2 <= done <= len(cells_below(tmp_path / "out")) < 12


def test_remains_of_a_killed_run_are_cleared_away(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "out")
    before = tree(tmp_path / "out")
    remains = tmp_path / "out" / ".unfinished" / "half a cell"
    remains.mkdir(parents=True)
    (remains / "run-00000.cells").write_text("#{")
    lose(tmp_path / "out", ("dry-lake", "QLearning", 1))
    Experiment.read(toml()).run(tmp_path / "out")
    assert tree(tmp_path / "out") == before


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
import rlsuite_envs
from rlsuite.experiments import Experiment

rename = os.replace

def rename_or_die(old, new):
    if Path(new).suffix == ".cells":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(old, new)

os.replace = rename_or_die
Experiment.read(sys.argv[1]).run(sys.argv[2])
"""


@pytest.mark.slow
def test_killed_while_a_cell_is_written(toml, tmp_path, tree):
    """The next run makes the same cell again, at the same place."""
    Experiment.read(toml()).run(tmp_path / "whole")
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(toml()), str(tmp_path / "killed")]
    assert subprocess.run(command, timeout=100).returncode == -signal.SIGKILL
    assert any((tmp_path / "killed" / ".unfinished").iterdir())
    Experiment.read(toml()).run(tmp_path / "killed")
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")


def test_a_file_where_cells_belong_is_found_before_anything_is_learned(toml, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cells").write_text("not a folder")
    with pytest.raises(FileError, match=r"cells must be a folder, for the cells of this experiment; remove the file"):
        Experiment.read(toml()).run(tmp_path / "out")
    assert (tmp_path / "out" / "cells").read_text() == "not a folder"


def test_a_disk_that_cannot_lock(toml, tmp_path, monkeypatch):
    import fcntl

    def refuse(handle, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(FileError, match=r"cannot lock the folder .*out against other writers \(No locks available\)"):
        Experiment.read(toml()).run(tmp_path / "out")


def test_clocks_that_jump_change_nothing(toml, tmp_path, tree, monkeypatch):
    Experiment.read(toml()).run(tmp_path / "whole")
    jumps = itertools.cycle([2e9, 1.0, 9e9, 1e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    for seeds, date in ((1, 9e9), (2, 0.0), (3, 1e9)):
        Experiment.read(toml(), seeds=seeds).run(tmp_path / "out")
        for path in (tmp_path / "out").rglob("*"):
            os.utime(path, (date, date))
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_labels_as_long_as_a_folder_can_be(toml, tmp_path):
    long = "x" * 255
    text = toml().read_text().replace('label = "dry lake"', f'label = "{long}"').replace("fast learner", long)
    Experiment.read(toml(text, seeds="seeds = 1")).run(tmp_path / "out")
    assert [runs.agent for runs in load_results(tmp_path / "out")[long]] == ["QLearning", long]


def test_more_of_anything_only_adds_cells(toml, tmp_path):
    before = Experiment.read(toml()).run(tmp_path / "out")
    before = {label: [[*map(results_of, run.records)] for run in runs] for label, runs in before.items()}
    more = toml(seeds="seeds = 4").read_text()
    more += '\n[[agents]]\nname = "QLearning"\nlabel = "slow learner"\ngamma = 0.9\nlearning_rate = 0.01\n'
    more += '\n[[environments]]\nid = "FrozenLake-v1"\nlabel = "wet lake"\n'
    results = Experiment.read(toml(more)).run(tmp_path / "out")
    assert {label: [len(runs.records) for runs in many] for label, many in results.items()} == {
        "dry lake": [4, 4, 4],
        "rlsuite/GridGoal-v0": [4, 4, 4],
        "wet lake": [4, 4, 4],
    }
    for label, runs in before.items():
        for known, run in zip(runs, results[label], strict=False):
            for one, other in zip(known, map(results_of, run.records), strict=False):
                assert all(np.array_equal(value, other[name]) for name, value in one.items())


def test_fewer_of_anything_leaves_the_rest_on_disk(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "out")
    before = tree(tmp_path / "out")
    results = Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    assert [len(runs.records) for runs in results["dry lake"]] == [1, 1]
    assert [len(runs.records) for runs in load_results(tmp_path / "out")["dry lake"]] == [1, 1]
    after = tree(tmp_path / "out")
    assert {name for name in before if before[name] != after[name]} == {"run.json"}


@pytest.mark.parametrize(
    ("key", "line", "difference"),
    [
        ("steps", "steps = 500", "steps was 400 and is now 500"),
        ("steps", "episodes = 500", "steps was 400 and is not given now; episodes was not given and is now 500"),
        ("evaluate_every", "", "evaluate_every was 200 and is not given now"),
        ("learning_rate", "learning_rate = 0.25", "agent.learning_rate was 0.5 and is now 0.25"),
        (
            "learning_rate",
            'learning_rate = { name = "Inverse", start = 1.0 }',
            "agent.learning_rate was 0.5 and is not given now; agent.learning_rate.name",
        ),
        (
            "parameters",
            "parameters = { is_slippery = true }",
            "environment.parameters.is_slippery was false and is now true",
        ),
        ("seeds", "seeds = 3\nregret = false", "regret was true and is now false"),
    ],
)
def test_cells_made_otherwise_are_not_overwritten(toml, tmp_path, tree, key, line, difference):
    Experiment.read(toml()).run(tmp_path / "out")
    before = tree(tmp_path / "out")
    with pytest.raises(ParameterError) as caught:
        Experiment.read(toml(**{key: line})).run(tmp_path / "out")
    sentence = str(caught.value)
    assert sentence.startswith(f"{tmp_path / 'out'}{os.sep}")
    assert f"was made with other parameters: {difference}" in sentence
    assert "Nothing was changed" in sentence
    assert tree(tmp_path / "out") == before


def test_another_experiment_keeps_out_of_the_folder(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "out")
    before = tree(tmp_path / "out")
    with pytest.raises(FileError) as caught:
        Experiment.read(toml(name="other.toml"), seeds=4).run(tmp_path / "out")
    assert str(caught.value) == (f"{tmp_path / 'out'} holds the experiment 'small', not 'other'; choose another folder")
    assert tree(tmp_path / "out") == before


def test_damaged_cell_stops_the_run_before_it_begins(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "out")
    file = tmp_path / "out" / "cells" / "00000.cells"
    file.write_bytes(file.read_bytes()[:-5])
    before = tree(tmp_path / "out")
    for attempt in (
        lambda: Experiment.read(toml(), seeds=4).run(tmp_path / "out"),
        lambda: load_results(tmp_path / "out"),
    ):
        with pytest.raises(FileError) as caught:
            attempt()
        assert str(caught.value) == (
            f"{file} is not as long as it states, as if only a part had been written; run the experiment "
            "with retry=True, which keeps the cells in it that are whole, and learns the others again"
        )
        assert tree(tmp_path / "out") == before


def test_cells_of_a_damaged_file_that_are_whole_are_kept(toml, tmp_path, tree, monkeypatch):
    experiment = Experiment.read(toml())
    experiment.run(tmp_path / "out")
    whole, file = tree(tmp_path / "out"), tmp_path / "out" / "cells" / "00000.cells"
    content = file.read_bytes()
    cut, changed, none = content[:-3_000], content.replace(content[-90:], content[-90:][::-1]), b"nothing"
    n_cells = len(Segment.at(file).cells)
    for damaged, least, most in ((cut, 1, n_cells - 1), (changed, 0, n_cells - 1), (none, 0, 0)):
        file.write_bytes(damaged)
        learned = []
        monkeypatch.setattr(
            Writer, "add", lambda self, entry, add=Writer.add, to=learned: (to.append(entry), add(self, entry))
        )
        with pytest.warns(RlsuiteWarning, match=r"00000\.cells is damaged: .* kept as 00000\.damaged"):
            experiment.run(tmp_path / "out", retry=True)
        monkeypatch.undo()
        assert least <= n_cells - len(learned) <= most
        assert (tmp_path / "out" / "cells" / "00000.damaged").read_bytes() == damaged
        (tmp_path / "out" / "cells" / "00000.damaged").unlink()
        assert tree(tmp_path / "out") == whole


def test_results_of_half_a_run(tmp_path, toml):
    Experiment.read(toml()).run(tmp_path / "out")
    lose(tmp_path / "out", ("dry-lake", "QLearning"), ("dry-lake", "fast-learner", 1))
    (runs,) = load_results(tmp_path / "out")["dry lake"]
    assert (runs.agent, [record.seed for record in runs.records]) == ("fast learner", [0, 2])


def test_one_writer_at_a_time(toml, tmp_path):
    with writing(tmp_path / "out"), pytest.raises(FileError) as caught:
        Experiment.read(toml()).run(tmp_path / "out")
    assert str(caught.value) == (
        f"another process is writing to {tmp_path / 'out'}; wait for it, or choose another folder"
    )
    Experiment.read(toml(), seeds=1).run(tmp_path / "out")


def test_a_file_is_no_folder(toml, tmp_path):
    with pytest.raises(FileError, match=r"^cannot make the folder .*small\.toml: File exists$"):
        Experiment.read(toml()).run(tmp_path / "small.toml")


@pytest.mark.parametrize("workers", [0, True, 1.5])
def test_impossible_workers(toml, tmp_path, workers):
    with pytest.raises(ParameterError, match=f"^workers={workers!r} "):
        Experiment.read(toml()).run(tmp_path / "out", workers=workers)
    assert not (tmp_path / "out").exists()


def test_unsuitable_environment_is_found_out_before_anything_is_learned(toml, tmp_path):
    text = toml().read_text() + '\n[[environments]]\nid = "CartPole-v1"\n'
    with pytest.raises(UnsuitableEnvironment, match="Discrete observation space"):
        Experiment.read(toml(text)).run(tmp_path / "out")
    assert cells_below(tmp_path / "out") == []


def test_unknown_keyword_of_an_environment(toml, tmp_path):
    with pytest.raises(ParameterError, match=r"FrozenLake-v1: unknown keyword 'is_slipery'"):
        Experiment.read(toml(parameters="parameters = { is_slipery = false }")).run(tmp_path / "out")


def with_broken(toml, tmp_path, error="1 / 0"):
    (tmp_path / "broken.py").write_text(BROKEN.replace("1 / 0", error))
    text = toml().read_text() + '\n[[environments]]\nid = "broken.py:Broken"\n'
    return toml(text, evaluate_every="")


FAILED = r"^6 runs failed:\n  QLearning in broken.py:Broken, seed 0, step 1: ZeroDivisionError: division by zero\n"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_loses_one_cell_and_is_kept(toml, tmp_path, tree, workers):
    file = with_broken(toml, tmp_path)
    with pytest.warns(FailedRunsWarning, match=FAILED) as caught:
        results = Experiment.read(file).run(tmp_path / "out", workers=workers)
    assert caught[0].filename == __file__
    assert list(results) == ["dry lake", "rlsuite/GridGoal-v0"]
    assert len(cells_below(tmp_path / "out")) == 12
    before = tree(tmp_path / "out")
    with pytest.warns(FailedRunsWarning, match=FAILED):
        assert_same_results(Experiment.read(file).run(tmp_path / "out"), results)
    assert tree(tmp_path / "out") == before


def test_what_failed_is_learned_again_if_that_is_asked_for_or_if_it_has_changed(toml, tmp_path):
    file = with_broken(toml, tmp_path)
    with pytest.warns(FailedRunsWarning, match=FAILED):
        Experiment.read(file).run(tmp_path / "out")
    with pytest.warns(FailedRunsWarning, match=FAILED):
        Experiment.read(file).run(tmp_path / "out", retry=True)
    with_broken(toml, tmp_path, "1.0")  # another checksum of the file: another spec
    results = Experiment.read(file).run(tmp_path / "out")
    assert len(results["broken.py:Broken"]) == 2
    assert len(cells_below(tmp_path / "out")) == 18
    assert not status_of(tmp_path / "out").failures


def test_with_fail_fast_the_first_failure_is_an_error(toml, tmp_path):
    with pytest.raises(LearningError) as caught:
        Experiment.read(with_broken(toml, tmp_path)).run(tmp_path / "out", fail_fast=True)
    assert str(caught.value) == (
        "QLearning in broken.py:Broken, seed 0: the environment or the agent raised ZeroDivisionError: division by "
        f"zero ({tmp_path / 'broken.py'}, line 13)"
    )
    done = cells_below(tmp_path / "out")
    assert done
    assert not any("broken" in str(place) for place in done)


def test_the_command_lists_what_failed(toml, tmp_path, capsys):
    file = with_broken(toml, tmp_path)
    for flags in ([], [], ["--retry"]):
        assert main(["run", str(file), "--output", str(tmp_path / "out"), *flags]) == 1
        out, told = capsys.readouterr()
        assert "QLearning in broken.py:Broken, seed 0, step 1: ZeroDivisionError: division by zero" in told
        assert f"{tmp_path / 'broken.py'}, line 13" in told
        assert "again what failed: rlsuite run" in told
        assert "dry lake" in out


def test_our_errors_name_the_cell(toml, tmp_path):
    text = toml().read_text().replace("gamma = 0.9", "gamma = 1.0").replace("FrozenLake-v1", "CliffWalking-v1")
    with pytest.raises(ParameterError, match=r"^QLearning in dry lake, seed 0: evaluate_every with gamma=1 needs"):
        Experiment.read(toml(text)).run(tmp_path / "out")


def test_keywords_of_the_environment_for_one_agent(toml, tmp_path):
    text = """
        steps = 200
        seeds = 1
        [[environments]]
        id = "rlsuite/Tiger-v0"
        [[agents]]
        name = "QLearning"
        gamma = 0.9
        [[agents]]
        name = "QLearning"
        label = "two"
        gamma = 0.9
        environment = { window = 2 }
    """
    Experiment.read(toml(text)).run(tmp_path / "out")
    specs = [Store(tmp_path / "out").made_with(("rlsuite-Tiger-v0", agent), 0)[0] for agent in ("QLearning", "two")]
    assert [spec["environment"]["parameters"] for spec in specs] == [{}, {"window": 2}]


def test_edited_files_are_another_experiment(toml, tmp_path):
    (tmp_path / "maze.txt").write_text("S..\n..G\n")
    text = """
        steps = 200
        seeds = 1
        [[environments]]
        id = "rlsuite/GridWorld-v0"
        parameters = { map = "maze.txt" }
        [[agents]]
        name = "QLearning"
        gamma = 0.9
    """
    Experiment.read(toml(text)).run(tmp_path / "out")  # maze.txt is found although we are elsewhere
    Experiment.read(toml(text)).run(tmp_path / "out")
    (tmp_path / "maze.txt").write_text("S..\n.#G\n")
    with pytest.raises(ParameterError, match=r"other parameters: files\.maze\.txt was "):
        Experiment.read(toml(text)).run(tmp_path / "out")


def test_other_versions_are_mentioned(toml, tmp_path, monkeypatch):
    Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    known = rl.__version__
    monkeypatch.setattr("rlsuite.__version__", "9.9")
    with pytest.warns(RlsuiteWarning, match=rf"kind of machine \(rlsuite was \"{known}\" and is now \"9.9\"\)"):
        Experiment.read(toml(), seeds=2).run(tmp_path / "out")


def test_another_processor_is_mentioned(toml, tmp_path, monkeypatch):
    Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    described = json.loads((tmp_path / "out" / "run.json").read_text())["versions"]
    assert platform.machine() in described["processor"]
    assert "" not in described.values()
    assert not described.keys() & {"OPENBLAS_CORETYPE", "GLIBC_TUNABLES"} - os.environ.keys()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.warns(RlsuiteWarning, match=r"processor was .* and is now \"riscv64") as caught:
        Experiment.read(toml(), seeds=2).run(tmp_path / "out")
    assert 'and is now "Prescott"' in str(caught[0].message)


def test_folders_that_say_nothing_of_the_machine_are_gone_on_with(toml, tmp_path, monkeypatch):
    """As all of earlier versions of rlsuite."""
    few = {name: one for name, one in versions().items() if name not in ("libc", "blas", "processor")}
    with monkeypatch.context() as earlier:
        earlier.setattr("rlsuite.experiments.experiment.versions", lambda: few)
        Experiment.read(toml(), seeds=1).run(tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Experiment.read(toml(), seeds=2).run(tmp_path / "out")


def test_no_warning_otherwise(toml, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Experiment.read(toml(), seeds=1).run(tmp_path / "out", progress=True)


def test_agents_are_kept_if_that_is_asked_for(toml, tmp_path, tree):
    Experiment.read(toml()).run(tmp_path / "out")
    before = load_results(tmp_path / "out")
    experiment = Experiment.read(toml(), keep="agents")
    assert_same_results(experiment.run(tmp_path / "out"), before)
    kept = tmp_path / "out" / "agents"
    assert len(list(kept.rglob("*.npz"))) == 12
    agent = rl.load(kept / "dry-lake" / "fast-learner" / "seed-0002.npz")
    learned = rl.QLearning(gamma=0.9, learning_rate=0.5)
    learned.learn(gymnasium.make("FrozenLake-v1", is_slippery=False), steps=400, seed=2)
    assert agent.q_.tobytes() == learned.q_.tobytes()
    experiment.run(tmp_path / "again", workers=2, backend="threads")
    assert tree(tmp_path / "again" / "agents") == tree(kept)
    with pytest.raises(ParameterError, match=r"unknown keep 'agent'"):
        Experiment.read(toml(), keep="agent")


def test_numbers_that_are_not_finite_are_a_failure(toml, tmp_path, monkeypatch):
    learn = Work._learn

    def spoilt(self, agent, env, seed, stop):
        record = learn(self, agent, env, seed, stop)
        return dataclasses.replace(record, cumulative_reward=record.cumulative_reward * np.nan) if seed == 1 else record

    monkeypatch.setattr(Work, "_learn", spoilt)
    with pytest.warns(FailedRunsWarning, match="seed 1: cumulative_reward has a number that is not finite"):
        results = Experiment.read(toml()).run(tmp_path / "out")
    assert [[record.seed for record in run.records] for run in results["dry lake"]] == [[0, 2]] * 2
