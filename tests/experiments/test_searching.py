"""Searches for the best parameters: seeds that have nothing in common, journals that go on, and mistakes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rlsuite as rl
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.experiments import Experiment
from rlsuite.experiments.searching import Trial, searches

SPACE = {"learning_rate": {"log": [0.01, 1.0]}, "exploration.epsilon": [0.1, 0.3]}
LENGTH = {"steps": 300, "seeds": 2, "fresh_seeds": 3}


def test_the_winner_is_run_with_fresh_seeds_and_the_journal_goes_on(tmp_path, monkeypatch):
    optuna = pytest.importorskip("optuna")
    from rlsuite.experiments import searching

    used = []
    train = searching.train
    monkeypatch.setattr(searching, "train", lambda *a, **k: (used.append(tuple(k["seeds"])), train(*a, **k))[1])
    whole = rl.search(rl.QLearning(), "FrozenLake-v1", SPACE, **LENGTH, trials=6)
    assert set(used) <= {(0,), (1,), tuple(range(2, 10)), (10, 11, 12)}  # trials, choice, report
    assert [record.seed for record in whole.best.records] == [10, 11, 12]
    assert all(0.01 <= trial.setting["learning_rate"] <= 1.0 and trial.seeds in (1, 2) for trial in whole.trials)
    assert whole.optimism == whole.searched - whole.rows[0].mean
    assert repr(whole).startswith("Search(6 trials of learning_rate, exploration.epsilon in FrozenLake-v1; value of")
    assert whole.comparison.agents == [whole.best.agent, "QLearning as given"]

    journal = tmp_path / "search.journal"
    rl.search(rl.QLearning(), "FrozenLake-v1", SPACE, **LENGTH, trials=3, journal=journal)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    optuna.load_study(study_name="search", storage=storage).ask()  # by a process that was killed
    assert rl.search(rl.QLearning(), "FrozenLake-v1", SPACE, **LENGTH, trials=6, journal=journal).trials == whole.trials
    with pytest.raises(ParameterError, match=r"belongs to another search: length.* was \[300, null\]"):
        rl.search(rl.QLearning(), "FrozenLake-v1", SPACE, **LENGTH | {"steps": 400}, trials=6, journal=journal)


def test_mistakes_are_named_before_optuna_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    for space, message in (
        ({}, "search: a space is a table such as"),
        ({"learning_rat": [0.1]}, "search: learning_rat: unknown parameter 'learning_rat'; did you mean"),
        ({"learning_rate": {"log": [0.0, 1.0]}}, "search: log of learning_rate needs two finite ends, both positive"),
        ({"learning_rate": {"log": [1.0, 0.1]}}, "search: log of learning_rate needs a lower and an upper end"),
        ({"learning_rate": {"linear": [0.0, 2.0]}}, r"learning_rate=2.0 .* \[0, 1\]"),
        ({"exploration": [rl.EpsilonGreedy(0.1)]}, "search: exploration has values that are not numbers"),
    ):
        with pytest.raises(ParameterError, match=message):
            rl.search(rl.QLearning(), "FrozenLake-v1", space, steps=100)
    with pytest.raises(MissingPackage, match=r"pip install 'rlsuite\[optuna\]'"):
        rl.search(rl.QLearning(), "FrozenLake-v1", SPACE, steps=100)


def test_a_file_that_searches(tmp_path):
    file = tmp_path / "lake.toml"
    file.write_text(
        'steps = 200\nsearch = { trials = 3, seeds = 2, fresh_seeds = 2 }\nenvironments = [{ id = "FrozenLake-v1" }]\n'
        'agents = [{ name = "Sarsa" }, { name = "NStepSarsa", label = "n", search = { n = { linear = [1, 4] } } }]\n',
        encoding="utf-8",
    )
    experiment = Experiment.read(file)
    assert Experiment.from_plain(experiment.plain()).plain() == experiment.plain()
    with pytest.raises(ParameterError, match="search: unknown key 'trial'; did you mean 'trials'"):
        Experiment.read(file, search={"trial": 3})
    with pytest.raises(ParameterError, match="no agent says where: write search = "):
        searches(Experiment(environments=experiment.environments, agents=experiment.agents[:1], steps=9), tmp_path)
    pytest.importorskip("optuna")
    (found,) = searches(experiment, tmp_path / "lake")
    assert found.best.agent == f"n(n={found.best.setting['n']})"
    assert {type(trial.setting["n"]) for trial in found.trials} == {int}
    assert (tmp_path / "lake" / "FrozenLake-v1-n.journal").is_file()
    with pytest.raises(FileError, match="is not the journal of a search"):
        rl.search(rl.Sarsa(), "FrozenLake-v1", SPACE, **LENGTH, journal=file)


@pytest.mark.slow
def test_killed_and_shared_searches_find_the_same(tmp_path: Path):
    pytest.importorskip("optuna")
    code = (
        "import sys, rlsuite as rl; print(rl.search(rl.Sarsa(), 'FrozenLake-v1', {}, journal=sys.argv[1], **{}).trials)"
    )
    space, length = {"learning_rate": {"log": [0.01, 1.0]}}, {**LENGTH, "trials": 12}

    def start(journal: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code.format(space, length), str(tmp_path / journal)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def trials(journal: str) -> list[Trial]:
        return rl.search(rl.Sarsa(), "FrozenLake-v1", space, **length, journal=tmp_path / journal).trials

    killed, sharing = start("killed"), start("shared")
    while not (tmp_path / "killed").exists() or (tmp_path / "killed").read_text().count('"op_code":6') < 4:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert trials("killed") == trials("whole")
    shared = trials("shared")
    assert sharing.communicate()[0] == f"{shared}\n"
    assert len(shared) == 12
