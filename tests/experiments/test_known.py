from importlib.resources import files
from pathlib import Path
from runpy import run_path

import pytest

import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.errors import ParameterError
from rlsuite.experiments import Experiment, known_settings
from rlsuite.experiments.known import TABLE


def test_the_table_has_the_winners_of_the_sweep():
    sweep = Experiment.read(Path(__file__).parents[2] / "runs" / "known_settings.toml")
    tried = {(type(entry.agent).__name__, repr(entry.setting)) for entry in sweep.agents}
    known = known_settings()
    assert len(known) == len(sweep.environments) * len({agent for agent, _ in tried})
    for one in known:
        assert (one.agent, repr(one.setting)) in tried
        assert one.low <= one.value <= one.high <= one.optimum + 1e-6 * abs(one.optimum)
        assert (one.share is None) == (one.optimum < 0.0 or one.value < 0.0)
        assert type(one.make()).__name__ == one.agent
    some = known_settings("FrozenLake-v1")
    assert [one.value for one in some] == sorted((one.value for one in some), reverse=True)
    assert known_settings("FrozenLake-v1", "q-learning") == [one for one in some if one.agent == "QLearning"]


def test_what_is_not_known():
    with pytest.raises(ParameterError, match="unknown environment 'FrozenLak-v1'; did you mean 'FrozenLake-v1'"):
        known_settings("FrozenLak-v1")
    with pytest.raises(ParameterError, match=r"unknown agent 'UCB1' .* rlsuite sweep ucb1 FrozenLake-v1 --learning"):
        known_settings("FrozenLake-v1", "ucb1")


@pytest.mark.slow
def test_a_row_is_found_again_byte_for_byte(tmp_path: Path):
    path = Path(__file__).parents[2] / "benchmarks" / "known_settings.py"
    bench = run_path(str(path))
    measured, write_known = bench["measured"], bench["write_known"]
    (known,) = known_settings("FrozenLake-v1", "q-learning")
    write_known(tmp_path / TABLE, [measured(known.environment, known.agent, known.setting, known.steps)])
    committed = files("rlsuite.experiments").joinpath(TABLE).read_text(encoding="utf-8").splitlines()
    assert (tmp_path / TABLE).read_text(encoding="utf-8").splitlines()[1] in committed
