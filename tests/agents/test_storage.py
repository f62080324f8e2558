"""Agents survive a file, and bad files are named."""

import json
import zipfile

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.core.described import describe
from rlsuite.errors import FileError, NotLearned, ParameterError
from rlsuite.registry import agent_classes, build_agent

AGENTS = [
    rl.DeterministicQLearning(gamma=0.9),
    rl.QLearning(learning_rate=rl.Inverse(1.0, per="visits"), exploration=rl.Softmax(base=2.0)),
    rl.Sarsa(exploration=rl.EpsilonGreedy(rl.Linear(1.0, 0.1, over=50, per="episodes"))),
    rl.SampleAverage(exploration=rl.Softmax(temperature=rl.Exponential(1.0, decay=0.9, end=0.1))),
]


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_a_loaded_agent_is_the_saved_one(agent, tmp_path):
    agent.learn("FrozenLake-v1", steps=500, seed=3)
    agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    assert type(twin) is type(agent)
    assert repr(twin) == repr(agent)
    assert twin.q_.tobytes() == agent.q_.tobytes()
    assert twin.visits_.tobytes() == agent.visits_.tobytes()
    assert twin.episodes_.tobytes() == agent.episodes_.tobytes()
    assert twin.seed_ == agent.seed_ == 3
    assert [twin.act(s) for s in range(16)] == [agent.act(s) for s in range(16)]
    assert twin.learn("FrozenLake-v1", steps=100, seed=4).visits_.sum() == 600


def test_a_drawn_seed_is_kept_whole(tmp_path):
    agent = rl.QLearning().learn("FrozenLake-v1", steps=300)
    agent.save(tmp_path / "agent.npz")
    again = rl.QLearning().learn("FrozenLake-v1", steps=300, seed=rl.load(tmp_path / "agent.npz").seed_)
    assert again.q_.tobytes() == agent.q_.tobytes()


def test_nothing_learned_is_nothing_to_save(tmp_path):
    with pytest.raises(NotLearned):
        rl.QLearning().save(tmp_path / "agent.npz")
    assert not list(tmp_path.iterdir())


def saved(tmp_path):
    path = tmp_path / "agent.npz"
    rl.QLearning().learn("FrozenLake-v1", steps=50, seed=0).save(path)
    return path


def rewrite(path, **changes):
    with np.load(path) as file:
        arrays = {**file, **changes}
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"there is no file .*nowhere\.npz"):
        rl.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 no zip"])
def test_foreign_file(tmp_path, content):
    path = tmp_path / "agent.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"agent\.npz is damaged or was not written by rlsuite"):
        rl.load(path)


def test_truncated_file(tmp_path):
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="damaged"):
        rl.load(path)


def test_damaged_content(tmp_path):
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("q.npy").header_offset
    content[offset + 60 : offset + 70] = bytes(10)
    path.write_bytes(content)
    with pytest.raises(FileError):
        rl.load(path)


def test_no_pickle_is_ever_loaded(tmp_path):
    path = saved(tmp_path)
    rewrite(path, q=np.array([{"an": "object"}], dtype=object))
    with pytest.raises(FileError, match="damaged"):
        rl.load(path)


def test_missing_and_misshapen_arrays(tmp_path):
    path = saved(tmp_path)
    rewrite(path, visits=None)
    with pytest.raises(FileError, match="visits"):
        rl.load(path)
    path = saved(tmp_path)
    rewrite(path, q=np.zeros((3, 4)))
    with pytest.raises(FileError, match=r"q is float64 \(3, 4\), not float64 \(16, 4\)"):
        rl.load(path)


def test_unknown_agents_are_named(tmp_path):
    path = saved(tmp_path)
    with np.load(path) as file:
        header = json.loads(str(file["header"]))
    header["agent"]["name"] = "Qlearnin"
    rewrite(path, header=np.array(json.dumps(header)))
    with pytest.raises(FileError, match=r"unknown agent 'Qlearnin'; did you mean 'QLearning'\?.*import the module"):
        rl.load(path)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: type(agent).__name__)
def test_plain_data_makes_the_same_agent(agent):
    plain = json.loads(json.dumps(describe(agent)))
    assert repr(build_agent(plain)) == repr(agent)


def test_agents_are_discovered():
    class Mine(rl.TabularAgent):
        step = rl.QLearning.step

    assert agent_classes()["Mine"] is Mine
    assert "TabularAgent" not in agent_classes()
    assert {"DeterministicQLearning", "QLearning", "Sarsa", "SampleAverage"} <= agent_classes().keys()


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"gamma": 0.9}, "agent has no name; give name = one of "),
        ({"name": "Sarse"}, "unknown agent 'Sarse'; did you mean 'Sarsa'?"),
        ({"name": "Sarsa", "gama": 0.9}, "Sarsa: unknown parameter 'gama'; did you mean 'gamma'?"),
        (
            {"name": "Sarsa", "exploration": {"name": "EpsilonGreedy", "eps": 0.1}},
            "EpsilonGreedy: unknown parameter 'eps'; did you mean 'epsilon'?",
        ),
        ({"name": "Sarsa", "learning_rate": {"name": "Linear", "start": 1.0}}, "Linear: parameter 'end' is missing"),
        ({"name": "SampleAverage", "learning_rate": 0.1}, "SampleAverage: unknown parameter 'learning_rate'"),
    ],
)
def test_bad_plain_data_is_named(plain, message):
    with pytest.raises(ParameterError) as caught:
        build_agent(plain)
    assert str(caught.value).startswith(message)
