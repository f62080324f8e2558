"""A file of an agent, however damaged or made up, is read or refused: nothing in it reaches compiled code unchecked."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.agents.storage import declared_arrays, learned_arrays
from rlsuite.environments.finding import find_env
from rlsuite.errors import FileError
from rlsuite.registry import agent_classes
from rlsuite.training.legality import every_action

N_STATES, N_ACTIONS = 16, 4
ALL = sorted(name for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite."))


def ready(name):
    """An agent that has met an environment and learned nothing."""
    agent = agent_classes()[name]()
    agent.bind_environment(find_env("FrozenLake-v1"))
    n_rows = 2 if agent.__class__.__module__.startswith("rlsuite.approximation") else N_STATES
    agent._memory = agent.init_memory(np.ones((n_rows, N_ACTIONS), dtype=np.bool_), every_action)
    agent.seed_, agent.first_action_, agent.generator_ = 0, 0, np.random.default_rng(0)
    return agent


def content_of(path):
    with np.load(path) as file:
        return dict(file)


def damages(array):
    """The array with another type, with another shape, and with one number that is not what it can be."""
    yield "of another type", array.astype(np.float32 if array.dtype != np.float32 else np.int8)
    yield "of another shape", array[..., None]
    if array.size:
        yield "longer", np.concatenate([array, array]) if array.ndim else np.array([array, array])
    if array.dtype.kind == "b":
        yield "neither true nor false", np.full(array.shape, 255, dtype=np.uint8).view(np.bool_)
    numbers = {"i": [-(2**31), 2**31 - 1], "f": [np.nan]}.get(array.dtype.kind, [])
    if array.dtype == np.int64:
        numbers += [2**62, -(2**63)]
    for number in numbers if array.size else []:
        changed = array.copy()
        changed.flat[-1] = number
        yield f"with {number}", changed


@pytest.mark.cases("[A-E].*", "QLearning", "SarsaLambda", "TD")
@pytest.mark.parametrize("name", ALL)
def test_each_array_is_checked(name, tmp_path):
    path = tmp_path / "agent.npz"
    agent = ready(name)
    agent.save(path)
    rl.load(path)
    content = content_of(path)
    tried = 0
    for array in sorted(content.keys() - {"header", "episodes"}):
        for what, changed in damages(content[array]):
            if what.startswith("with 2147483647") and _may_count(agent, array):
                continue
            if array == "legal_ids" and what == "longer":
                continue  # it is asked of the environment again before anything is learned
            if array == "features.first_" and "2147483648" in what:
                continue  # the first id of an environment may be any; each observation is compared with it
            np.savez(path, **content | {array: changed})
            with pytest.raises(FileError):
                pytest.fail(f"{array} {what} was read as {rl.load(path)}")
            tried += 1
        if array == "features.n_ids_":
            continue  # files from before there were several ids have none
        if array == "visits" and "q" not in content:
            continue  # nor have those of state values with features
        np.savez(path, **{key: value for key, value in content.items() if key != array})
        with pytest.raises(FileError):
            rl.load(path)
    assert tried > 10


def _may_count(agent, name):
    """Whether so large a number is a number of steps, and no index."""
    declared = declared_arrays(agent.memory_).get(name)
    if declared is None:
        return name in ("features.first_",)
    return declared.below is None and declared.at_most is None


@pytest.mark.parametrize("name", ALL)
def test_whole_numbers_say_what_they_may_be(name):
    memory = ready(name).memory_
    declared = declared_arrays(memory)
    whole = {key for key, array in learned_arrays(memory).items() if array.dtype.kind in "iu"}
    assert whole <= {key for key, one in declared.items() if one.at_least is not None} | {"visits"}
    assert "visits" not in whole or declared["visits"].at_least == 0 or name.startswith("Linear")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "agent.npz"
    ready("DynaQ").save(path)
    return path


def with_header(path, **changes):
    content = content_of(path)
    header = json.loads(str(content["header"]))
    header.update(changes)
    np.savez(path, **content | {"header": np.array(json.dumps(header))})


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": value}
        for value in (
            [1],
            None,
            "x",
            3,
            {},
            {"name": ["DynaQ"]},
            {"name": "DynaQ", "n": -1},
            {"name": "DynaQ", "n": 1e400},
        )
    ]
    + [{name: value} for name in ("first_observation", "first_action") for value in (1e30, 2**70, 1.0, "1", None, True)]
    + [
        {"generator": value}
        for value in (
            None,
            {},
            [],
            {"bit_generator": "PCG64", "state": {"state": 2**200, "inc": 1}},
            {"bit_generator": 3},
        )
    ]
    + [{"seed": value} for value in (None, "x", [], "9" * 5000)]
    + [{"unknown": value} for value in (None, 1)]
    + [{"format": value} for value in (None, 3, "rlsuite agent 2", [])],
    ids=lambda changes: str(changes)[:60],
)
def test_headers(saved, changes):
    with_header(saved, **changes)
    with pytest.raises(FileError) as caught:
        rl.load(saved)
    assert "import the module" not in str(caught.value)
    assert "has no attribute" not in str(caught.value)


def test_advice_to_import_a_module_is_given_where_it_helps(saved):
    with_header(saved, agent={"name": "Mine"})
    with pytest.raises(FileError, match=r"unknown agent 'Mine'.*; import the module that defines it first"):
        rl.load(saved)


@pytest.mark.parametrize("order", "<>")
def test_text_that_is_not_unicode(saved, order):
    codes = np.array([ord("{"), 0x110000], dtype=f"{order}u4")
    np.savez(saved, **content_of(saved) | {"header": np.frombuffer(codes.tobytes(), dtype=f"{order}U2").reshape(())})
    with pytest.raises(FileError, match="header holds numbers that are not characters"):
        rl.load(saved)


def test_deep_json(saved):
    np.savez(saved, **content_of(saved) | {"header": np.array("[" * 100_000)})
    with pytest.raises(FileError):
        rl.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["learned.n_pairs"].fill(3),
        lambda one: one["learned.n_pairs"].fill(64),
    ],
)
def test_arrays_that_contradict_each_other(saved, change):
    content = content_of(saved)
    change(content)
    np.savez(saved, **content)
    with pytest.raises(FileError, match="but only 0 pairs were taken"):
        rl.load(saved)


@pytest.mark.parametrize(
    ("array", "index", "number"),
    [
        ("last_next", 3, 2),
        ("first_before", 3, 2),
        ("later", 3, 2),
        ("earlier", 3, 2),
        ("position", 3, 0),
        ("n_waiting", 0, 1),
        ("n_waiting", 0, 64),
    ],
)
def test_links_and_queues_that_contradict_each_other(tmp_path, array, index, number):
    path = tmp_path / "agent.npz"
    ready("PrioritizedSweeping").save(path)
    content = content_of(path)
    content[f"learned.{array}"][index] = number
    np.savez(path, **content)
    with pytest.raises(FileError):
        rl.load(path)


@pytest.mark.parametrize("name", ["RMax", "UCRL2", "PosteriorSampling"])
@pytest.mark.parametrize("array", ["outcomes", "n_successors"])
def test_counts_that_contradict_each_other(tmp_path, name, array):
    path = tmp_path / "agent.npz"
    ready(name).save(path)
    content = content_of(path)
    content[f"learned.{array}"].flat[5] = 1
    np.savez(path, **content)
    with pytest.raises(FileError, match="contradict each other"):
        rl.load(path)


def test_arrays_that_nobody_asks_for_are_refused_without_being_unpacked(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("more.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (2**27,)})
        for _ in range(2**7):
            member.write(bytes(2**20))
    with pytest.raises(FileError, match="unknown array 'more'"):
        rl.load(saved)


@pytest.mark.parametrize("shape", [(2**43,), (2**31, 2**31), (-1,), (2**70,)])
def test_sizes_that_cannot_be(saved, shape):
    content = content_of(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, array in content.items():
            with archive.open(f"{name}.npy", "w") as member:
                if name == "q":
                    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(member, header)
                else:
                    np.lib.format.write_array(member, array)
    with pytest.raises(FileError, match="damaged"):
        rl.load(saved)


OWN = """
from typing import Annotated, NamedTuple
import numpy as np
import rlsuite as rl

class Best(NamedTuple):
    best: {declared}

class Mine(rl.TabularAgent):
    step = rl.QLearning.step

    def tables(self, n_states, n_actions):
        return Best(np.zeros(n_states, dtype=np.int64))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("np.ndarray", r"learned\.best is an array of whole numbers without a range.*rl\.Array"),
        ("Annotated[np.ndarray, rl.Array(at_least=0, below='n_actions')]", r"learned\.best holds 4, not below 4"),
    ],
)
def test_an_agent_of_ones_own(tmp_path, declared, message):
    module = {"__name__": __name__}
    exec(OWN.replace("{declared}", declared).replace("class Mine", "class OwnAgentInAFile"), module)
    agent = module["OwnAgentInAFile"]()
    agent.bind_environment(find_env("FrozenLake-v1"))
    agent._memory = agent.init_memory(np.ones((N_STATES, N_ACTIONS), dtype=np.bool_), every_action)
    agent.seed_, agent.first_action_, agent.generator_ = 0, 0, np.random.default_rng(0)
    path = tmp_path / "agent.npz"
    if declared != "np.ndarray":
        agent.save(path)
        rl.load(path)
    agent.memory_.learned.best[3] = 4
    agent.save(path)
    with pytest.raises(FileError, match=message):
        rl.load(path)


CHECKED = """
import json, sys
import numpy as np, rlsuite as rl
from rlsuite.approximation import TileCoding
path, name = sys.argv[1:]
tiles = TileCoding(n_tilings=2)
agent, env = {
    "DynaQ": (rl.DynaQ(n=3), "FrozenLake-v1"),
    "SarsaLambda": (rl.SarsaLambda(), "FrozenLake-v1"),
    "NStepSarsa with features": (rl.NStepSarsa(n=3, features=tiles, learning_rate=0.01), "MountainCar-v0"),
    "MonteCarloControl": (rl.MonteCarloControl(longest_episode=100), "FrozenLake-v1"),
}[name]
agent.learn(env, steps=203, seed=1, loop="compiled").save(path)
with np.load(path) as file:
    good = dict(file)
rng = np.random.default_rng(0)
read = 0
for _ in range(100):
    content = dict(good)
    name = rng.choice([key for key in good if good[key].dtype.kind in "if" and good[key].size or key == "header"])
    if name == "header":
        header = json.loads(str(content["header"]))
        header["run"]["position"][rng.integers(5)] = int(rng.integers(-3, 70))
        if rng.random() < 0.5:
            header["run"]["state"] = int(rng.integers(-3, 20))
        changed = np.array(json.dumps(header))
    else:
        changed = content[name].copy()
        changed.flat[rng.integers(changed.size)] = rng.integers(-3, 70)
    np.savez(path, **content | {name: changed})
    try:
        rl.load(path).learn(env, steps=50)  # the run goes on
        read += 1
    except (rl.errors.FileError, rl.errors.LearningError):
        pass
print(read)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DynaQ", "SarsaLambda", "NStepSarsa with features", "MonteCarloControl"])
def test_what_is_read_stays_inside_its_arrays(name, tmp_path):
    """With numba's own checks of all indices: a file that was accepted never leads outside."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", CHECKED, str(tmp_path / "agent.npz"), name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert 10 < int(done.stdout) < 100
