import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import registry
from gymnasium.wrappers import TimeLimit

import rlsuite as rl
from rlsuite.approximation import Batch
from rlsuite.cli import main
from rlsuite.environments import finding
from rlsuite.environments.finding import find_env, packages
from rlsuite.errors import CloseWarning, EnvironmentNotFound, ParameterError, UnsuitableEnvironment
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment
from rlsuite.models import MDP
from rlsuite.training.episodes import returns_of

LAKE = """
import gymnasium
from gymnasium.envs.toy_text import FrozenLakeEnv

class Lake(FrozenLakeEnv):
    def __init__(self, slippery=True, size=4):
        if size != 4:
            raise ValueError(f"size {size} is too large")
        super().__init__(is_slippery=slippery)

class Pond(Lake):
    pass

class Boat:
    pass

def build():
    return Lake()
"""


@pytest.fixture
def lake(tmp_path):
    file = tmp_path / "lakes.py"
    file.write_text(LAKE)
    return file


@pytest.fixture
def clean_registry():
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


@pytest.fixture
def plugin(tmp_path, monkeypatch, clean_registry):
    """A package outside the tree that registers ``ponds/Pond-v0`` and ``ponds/Pond-v2`` when it is imported."""
    (tmp_path / "pond_envs.py").write_text(
        "import gymnasium\n"
        "for version in (0, 2):\n"
        "    entry_point = 'gymnasium.envs.toy_text:FrozenLakeEnv'\n"
        "    gymnasium.register(f'ponds/Pond-v{version}', entry_point, max_episode_steps=7)\n"
        "class Puddle(gymnasium.Env):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(finding, "packages", lambda: {"ponds": "pond_envs"})
    yield
    sys.modules.pop("pond_envs", None)


def refusal(spec, **kwargs):
    with pytest.raises(EnvironmentNotFound) as caught:
        find_env(spec, **kwargs)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------ what is found


def test_an_id_is_made_with_its_wrappers_and_keywords():
    env = find_env("FrozenLake-v1", is_slippery=False, max_episode_steps=9)
    assert isinstance(env, TimeLimit)
    assert env.spec.max_episode_steps == 9
    assert env.unwrapped.P[0][2] == [(1.0, 1, 0, False)]


def test_an_instance_is_returned_as_it_is():
    env = gymnasium.make("FrozenLake-v1")
    assert find_env(env) is env
    with pytest.raises(
        ParameterError, match="size=3, slip=True cannot be given to an environment that is already made"
    ):
        find_env(env, size=3, slip=True)


def test_a_spec_is_made():
    assert find_env(gymnasium.spec("Taxi-v4")).spec.id == "Taxi-v4"


def test_a_module_is_imported_first(plugin):
    env = find_env("pond_envs:ponds/Pond-v2")
    assert env.spec.id == "ponds/Pond-v2"
    assert env.spec.max_episode_steps == 7


def test_a_class_in_a_file_gets_no_time_limit(lake):
    env = find_env(f"{lake}:Lake", slippery=False)
    assert env is env.unwrapped
    assert env.P[0][2] == [(1.0, 1, 0, False)]


def test_a_class_in_a_file_gets_the_time_limit_that_is_asked_for(lake):
    env = find_env(f"{lake}:Lake", slippery=False, max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(ParameterError, match="max_episode_steps=0 is less than 1"):
        find_env(f"{lake}:Lake", max_episode_steps=0)


def test_a_file_is_run_once_until_it_changes(lake):
    first = type(find_env(f"{lake}:Lake"))
    assert type(find_env(f"{lake}:Lake")) is first
    assert first.__module__ in sys.modules
    lake.write_text(LAKE + "\nLake.changed = True\n")
    assert type(find_env(f"{lake}:Lake")).changed


def test_files_of_one_name_in_two_folders_do_not_mix(lake, tmp_path):
    other = tmp_path / "other" / lake.name
    other.parent.mkdir()
    other.write_text(LAKE + "\nLake.other = True\n")
    assert not hasattr(type(find_env(f"{lake}:Lake")), "other")
    assert type(find_env(f"{other}:Lake")).other


# -------------------------------------------------------------------------------------------------- what is not


def test_the_forgotten_import(plugin):
    assert refusal("ponds/Pond-v2") == (
        "No environment 'ponds/Pond-v2'. It is in package pond_envs: add 'import pond_envs', "
        "or use 'pond_envs:ponds/Pond-v2'."
    )


def test_our_own_package_announces_itself():
    """In a fresh process, where nothing has imported rlsuite_envs yet."""
    assert packages()["rlsuite"] == "rlsuite_envs"
    program = "import rlsuite as rl\ntry: rl.find_env('rlsuite/FourRooms-v0')\nexcept Exception as e: print(e)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "No environment 'rlsuite/FourRooms-v0'. It is in package rlsuite_envs: add 'import rlsuite_envs', "
        "or use 'rlsuite_envs:rlsuite/FourRooms-v0'."
    )


def test_misspelt_ids(plugin):
    assert refusal("FrozenLak-v1") == "No environment 'FrozenLak-v1'. Did you mean 'FrozenLake-v1'?"
    assert refusal("pond_envs:ponds/Pnd-v2") == "No environment 'pond_envs:ponds/Pnd-v2'. Did you mean 'ponds/Pond-v2'?"
    assert refusal("zzz/qqqqqqqqqqqq-v0") == ("No environment 'zzz/qqqqqqqqqqqq-v0'. 'package:Id' imports its package.")


def test_wrong_versions(plugin):
    assert (
        refusal("FrozenLake-v7")
        == "No environment 'FrozenLake-v7'. There is no version 7, but there is 'FrozenLake-v1'."
    )
    assert refusal("pond_envs:ponds/Pond-v1") == (
        "No environment 'pond_envs:ponds/Pond-v1'. "
        "There is no version 1, but there is 'ponds/Pond-v0', 'ponds/Pond-v2'."
    )


def test_warnings_of_gymnasium_reach_the_user(plugin):
    with pytest.warns(DeprecationWarning, match=r"ponds/Pond-v0 is out of date.*`v2`"):
        env = find_env("pond_envs:ponds/Pond-v0")
    assert env.spec.id == "ponds/Pond-v0"
    with pytest.warns(UserWarning, match="Using the latest versioned environment `ponds/Pond-v2`"):
        find_env("ponds/Pond")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        with pytest.raises(DeprecationWarning):
            find_env("ponds/Pond-v0")


def test_malformed_ids():
    for spec in ("Frozen Lake-v1", "", "a/b/c-v0"):
        assert "is not of the form [namespace/]Name[-vN]" in refusal(spec)


def test_wrong_modules(plugin, tmp_path, monkeypatch):
    assert (
        refusal("no_such_package:Lake-v0")
        == "'no_such_package:Lake-v0': there is no module 'no_such_package' to import"
    )
    assert refusal("json.nope:Lake-v0") == "'json.nope:Lake-v0': there is no module 'json.nope' to import"
    assert refusal("a:b:Lake-v0") == "'a:b:Lake-v0': there is no module 'a:b' to import"
    assert refusal(".here:Lake-v0") == "'.here:Lake-v0': '.here' is not the name of a module"
    (tmp_path / "broken_module.py").write_text("1 / 0")
    assert refusal("broken_module:Lake-v0") == (
        "'broken_module:Lake-v0': importing broken_module raised ZeroDivisionError: division by zero"
    )
    (tmp_path / "needy.py").write_text("import no_such_dependency")
    assert refusal("needy:Lake-v0") == "'needy:Lake-v0': importing needy failed: No module named 'no_such_dependency'"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one not in ("", str(tmp_path))])
    assert refusal("aside:Lake").endswith("there is no module 'aside' to import")
    (tmp_path / "aside.py").write_text("")
    assert refusal("aside:Lake").endswith(
        "there is no module 'aside' to import; for the file in the current folder, write 'aside.py:Class'"
    )


def test_a_class_that_is_not_registered(plugin):
    assert refusal("pond_envs:Puddle") == (
        "No environment 'pond_envs:Puddle'. "
        "pond_envs has a class Puddle, but registers no such id; use 'file.py:Puddle'."
    )


def test_wrong_files(lake, tmp_path):
    assert refusal(f"{tmp_path}/none.py:Lake") == f"'{tmp_path}/none.py:Lake': there is no file '{tmp_path}/none.py'"
    assert refusal(str(lake)) == f"'{lake}' names no class: write '{lake}:Class' (environments in the file: Lake, Pond)"
    assert (
        refusal(f"{lake}:Lakke") == f"'{lake}:Lakke': unknown class 'Lakke'; did you mean 'Lake'? (choices: Lake, Pond)"
    )
    for name in ("Boat", "build"):
        assert refusal(f"{lake}:{name}") == (
            f"'{lake}:{name}': {name} is not a class derived from gymnasium.Env (environments in the file: Lake, Pond)"
        )
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert refusal(f"{empty}:Lake") == f"'{empty}:Lake': the file has no environment class"


def test_a_file_that_raises_is_quoted_and_chained(tmp_path):
    file = tmp_path / "ruined.py"
    file.write_text("1 / 0")
    with pytest.raises(
        EnvironmentNotFound, match="running the file raised ZeroDivisionError: division by zero"
    ) as caught:
        find_env(f"{file}:Lake")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not any(name.startswith("ruined_") for name in sys.modules)
    file.write_text("def broken(")  # of another length: Python compares time and length with what it has cached
    assert "running the file raised SyntaxError" in refusal(f"{file}:Lake")


SIZED = """
import gymnasium
class Sized(gymnasium.Env):
    def __init__(self, size):
        self.size = size
"""


def test_wrong_keywords(lake):
    message = r"FrozenLake-v1: unknown keyword 'is_slipery'; did you mean 'is_slippery'\? \(choices: .*map_name"
    with pytest.raises(ParameterError, match=message):
        find_env("FrozenLake-v1", is_slipery=False)
    with pytest.raises(ParameterError, match=r"lakes\.py:Lake: unknown keyword 'sizes'; did you mean 'size'"):
        find_env(f"{lake}:Lake", sizes=5)


def test_wrong_values_of_keywords(lake, tmp_path):
    (tmp_path / "sized.py").write_text(SIZED)
    with pytest.raises(
        ParameterError, match=r"sized.py:Sized needs size: write rl.find_env\(.*, size=...\), on the com"
    ):
        find_env(f"{tmp_path}/sized.py:Sized")
    with pytest.raises(ParameterError, match="FrozenLake-v1 does not accept map_name='9x9': KeyError: '9x9'") as caught:
        find_env("FrozenLake-v1", map_name="9x9")
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ParameterError, match=r"lakes\.py:Lake does not accept size=5: ValueError: size 5 is too large"):
        find_env(f"{lake}:Lake", size=5)


def test_errors_of_the_environment_itself_pass(tmp_path):
    """Without keywords there is nothing of the user's to blame, and our own errors say what is wrong already."""
    file = tmp_path / "failing.py"
    file.write_text(
        "import gymnasium\n"
        "from rlsuite.errors import ParameterError\n"
        "class Broken(gymnasium.Env):\n"
        "    def __init__(self, slip=0.0):\n"
        "        if slip:\n"
        "            raise ParameterError(f'slip={slip} is not in [0, 1]')\n"
        "        raise OSError('no sensor')\n"
    )
    with pytest.raises(OSError, match="no sensor"):
        find_env(f"{file}:Broken")
    with pytest.raises(ParameterError, match=r"^slip=2 is not in \[0, 1\]$"):
        find_env(f"{file}:Broken", slip=2)


def test_a_missing_dependency_of_an_environment(clean_registry):
    def needs_more(**kwargs):
        raise gymnasium.error.DependencyNotInstalled("box2d is not installed, run `pip install swig`")

    gymnasium.register("Heavy-v0", entry_point=needs_more)
    assert (
        refusal("Heavy-v0") == "'Heavy-v0' exists, but cannot be made: box2d is not installed, run `pip install swig`"
    )


@pytest.mark.parametrize(("forgotten", "given"), [("action_space", "actions"), ("observation_space", "observations")])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_forgotten_space_is_named(forgotten, given, wrapped):
    class Forgetful(gymnasium.Env):
        action_space = observation_space = gymnasium.spaces.Discrete(2)

    delattr(Forgetful, forgotten)
    env = gymnasium.wrappers.TimeLimit(Forgetful(), 10) if wrapped else Forgetful()
    with pytest.raises(UnsuitableEnvironment) as caught:
        find_env(env)
    assert str(caught.value) == (
        f"Forgetful has no {forgotten}: write self.{forgotten} = gymnasium.spaces.Discrete(n) in its __init__, for n "
        f"{given}"
    )


def test_things_that_are_no_environment():
    for thing in (None, 3, int, ["FrozenLake-v1"]):
        with pytest.raises(
            ParameterError, match=r"is not an environment: give an id, 'module:Id', 'file\.py:Class' or"
        ):
            find_env(thing)
    model = MDP.from_successors([[0]], [1], gamma=0.9)
    with pytest.raises(ParameterError, match=r"^MDP\(.*is a model, not an environment: write mdp.to_env\(\)"):
        find_env(model)
    with pytest.raises(ParameterError, match=r"^<lambda> is a function, not an environment: call it, and give what"):
        find_env(lambda: gymnasium.make("FrozenLake-v1"))
    old = type("Old", (), {"__module__": "gym.core"})
    with pytest.raises(ParameterError, match=r"Old object .* is an environment of Gym, the .* 'import gymnasium as"):
        find_env(old())


# ---------------------------------------------------------------------------------------------------- what is closed

CLOSER = """
import gymnasium
from gymnasium.envs.toy_text import FrozenLakeEnv

class Polite(FrozenLakeEnv):
    def __init__(self):
        super().__init__(is_slippery=False)

    def step(self, action):
        return super().step(action)

    def close(self):
        pass

class Raises(Polite):
    def close(self):
        self.viewer.close()

class Exits(Polite):
    def close(self):
        raise SystemExit(3)
"""

DOORS = {
    "evaluate": lambda env: rl.evaluate([1] * 16, env, episodes=2, seed=1, max_steps=9).returns,
    "tabulate": lambda env: rl.tabulate(env, gamma=0.9).rows.reward,
    "solve": lambda env: rl.solve(env, gamma=0.9).value,
    "from_env": lambda env: MDP.from_env(env, gamma=0.9).rows.next_state,
    "compare": lambda env: rl.compare([rl.Sarsa(gamma=1.0)], [env], steps=300, seeds=2).rows[0].mean,
    "returns_of": lambda env: returns_of(env, lambda state: 1, 2, seed=1, max_steps=9),
    "collect": lambda env: Batch.collect(env, steps=20, seed=1).reward,
    "run": lambda env: lengths_of_runs(env),
    "train": lambda env: bytes_of_gif("train", "q-learning", env, "--steps", "300"),
    "enjoy": lambda env: bytes_of_gif("evaluate", saved_agent(), env),
}


def lengths_of_runs(env):
    with TemporaryDirectory() as folder:
        experiment = Experiment(
            environments=[EnvironmentEntry(env)], agents=[AgentEntry(rl.QLearning())], steps=300, seeds=2
        )
        ((results,),) = experiment.run(folder).values()
    assert len(results.records) == 2, results.failed
    return np.concatenate([record.episode_length for record in results.records])


def saved_agent():
    rl.QLearning().learn("FrozenLake-v1", steps=300, seed=1).save("agent.npz")
    return "agent.npz"


def bytes_of_gif(*words):
    assert main([*words, "--seed", "1", "--gif", "walk.gif"]) == 0
    return np.frombuffer(Path("walk.gif").read_bytes(), np.uint8)


def test_what_close_raises_is_a_warning_at_every_door(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("closers.py").write_text(CLOSER)
    for name, door in DOORS.items():
        expected = door("closers.py:Polite")
        for env, said in (("Raises", "AttributeError: "), ("Exits", "SystemExit: 3")):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", CloseWarning)
                found = door(f"closers.py:{env}")
            printed = "".join([*(str(one.message) for one in caught), capsys.readouterr().err])
            assert f"{env}: its close() raised {said}" in printed, name
            np.testing.assert_array_equal(found, expected, err_msg=name)
