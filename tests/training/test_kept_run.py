"""A run that was saved and loaded gives the bytes of the one that was never interrupted."""

import json
import subprocess
import sys
import threading
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.agents.storage import learned_arrays
from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms import Wish, form_of
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import FileError, LearningError, NewRunWarning
from rlsuite.registry import agent_classes
from rlsuite.training.kept_run import difference

ALL = sorted(name for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite."))
BOTH = ["compiled", "stepwise"]
LAKE = "FrozenLake-v1"


def made(name):
    """An agent with small buffers."""
    kind = agent_classes()[name]
    small = {"longest_episode": 200} if "longest_episode" in kind.__dataclass_fields__ else {}
    return kind(**small)


def content(agent):
    """All that a run leaves behind, as bytes."""
    learned = {name: array.tobytes() for name, array in learned_arrays(agent.memory_).items()}
    record = agent.record_
    noted = (record.cumulative_reward, record.time, record.regret, record.episode_return, record.evaluation)
    return learned, agent.episodes_.tobytes(), agent.steps_, *(one.tobytes() for one in noted)


def twice(agent, env, first, second, loop, **options):
    return agent.learn(env, steps=first, seed=1, loop=loop, **options).learn(env, steps=second, loop=loop, **options)


@pytest.mark.cases("QLearning", "SarsaLambda", "TD", "NStepSarsa", "Reinforce", "UCB1", "SemiGradientSarsa")
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize("name", ALL)
def test_each_agent_goes_on_amid_an_episode(name, tmp_path):
    whole = content(twice(made(name), LAKE, 203, 300, "stepwise"))
    half = made(name).learn(LAKE, steps=203, seed=1, loop="stepwise")
    half.save(tmp_path / "half.npz")
    assert content(rl.load(tmp_path / "half.npz").learn(LAKE, steps=300, loop="stepwise")) == whole


class Corridor(gym.Env):
    """A walk from the middle to one of two ends, without a table."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 2
        return self.x, {}

    def step(self, action):
        if self.np_random.random() < 0.8:
            self.x += 1 if action else -1
        return self.x, float(self.x == 4), self.x in (0, 4), False, {}


class Drifting(gym.Env):
    """A walk that becomes slower with every step ever taken: it has no finite table."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def __init__(self):
        self.steps, self.past = 0, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.past = [2]
        return 2, {"action_mask": np.array([1, 0], dtype=np.int8)}

    def step(self, action):
        self.steps += 1
        x = self.past[-1] + (self.np_random.random() < 1 / np.sqrt(self.steps)) * (1 if action else -1)
        self.past.append(int(x))
        mask = np.array([1, int(self.np_random.integers(2))], dtype=np.int8)
        return int(x), float(x == 4), x in (0, 4), len(self.past) > 30, {"action_mask": mask}


class DriftingKept(Drifting):
    """The same, which can be asked for its state."""

    def get_state(self):
        return {"steps": self.steps, "past": np.array(self.past), "names": ("x", None, True, [1.5])}

    def set_state(self, state):
        assert state["names"] == ("x", None, True, [1.5])
        self.steps, self.past = state["steps"], state["past"].tolist()


class WithVectors(gym.ObservationWrapper):
    """Ids as vectors, with a counter that makes it a wrapper with a state."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-1.0, 5.0, (1,))

    def observation(self, observation):
        return np.array([observation], dtype=np.float32)


def tiles():
    return rl.SarsaLambda(features=rl.approximation.TileCoding(n_tilings=2), learning_rate=0.05)


def short(env, limit):
    return lambda: gym.make(env, max_episode_steps=limit)


POINTS = [1, 7, 20, 21, 204]
"""The first step, amid the first 10, at a time limit, after it, later."""


@pytest.mark.slow
@pytest.mark.parametrize("after", POINTS)
@pytest.mark.parametrize("second", BOTH)
@pytest.mark.parametrize("first", BOTH)
@pytest.mark.parametrize(
    ("agent", "env"),
    [
        (rl.SarsaLambda, short(LAKE, 20)),
        (rl.NStepSarsa, short("CliffWalking-v1", 20)),
        (tiles, short("MountainCar-v0", 20)),
    ],
    ids=["table", "many states", "dynamics"],
)
def test_in_either_loop_and_at_any_step(agent, env, first, second, after, tmp_path):
    whole = agent().learn(env(), steps=after + 400, seed=5, loop="stepwise", record_every=after)
    half = agent().learn(env(), steps=after, seed=5, loop=first)
    half.save(tmp_path / "half.npz")
    for _ in range(2):
        rest = rl.load(tmp_path / "half.npz").learn(env(), steps=400, loop=second)
        assert rest.record_.loop == second
        assert content(rest)[:3] == content(whole)[:3]
        assert rest.record_.cumulative_reward[-1] == whole.record_.cumulative_reward[-1]
        assert rest.seed_ == 5


@pytest.mark.parametrize("after", POINTS)
def test_in_an_environment_that_has_been_tabulated(after, tmp_path):
    whole = rl.QLearning().learn(Corridor(), steps=after + 400, seed=5, loop="stepwise")
    rl.QLearning().learn(Corridor(), steps=after, seed=5, tabulate=True).save(tmp_path / "half.npz")
    rest = rl.load(tmp_path / "half.npz").learn(Corridor(), steps=400, tabulate=True)
    assert rest.record_.loop == "compiled"
    assert content(rest)[:3] == content(whole)[:3]
    with pytest.warns(NewRunWarning, match="Corridor has no table that is trusted; learn with tabulate=True, or give"):
        assert rl.load(tmp_path / "half.npz").learn(Corridor(), steps=10).steps_ == 10


def test_at_the_end_of_an_episode(tmp_path):
    whole = rl.SarsaLambda().learn(LAKE, episodes=50, seed=5)
    rl.SarsaLambda().learn(LAKE, episodes=20, seed=5).save(tmp_path / "half.npz")
    rest = rl.load(tmp_path / "half.npz").learn(LAKE, episodes=30, loop="stepwise")
    assert content(rest)[:3] == content(whole)[:3]


def test_a_loaded_agent_can_be_saved_again(tmp_path):
    rl.QLearning().learn(LAKE, steps=75, seed=5).save(tmp_path / "one.npz")
    rl.load(tmp_path / "one.npz").save(tmp_path / "two.npz")
    assert rl.load(tmp_path / "two.npz").steps_ == 75
    one, two = (rl.load(tmp_path / name).learn(LAKE, steps=99) for name in ("one.npz", "two.npz"))
    assert content(one) == content(two)


@pytest.mark.parametrize("after", [1, 7, 200])
def test_an_environment_that_gives_its_state(after, tmp_path):
    whole = rl.QLearning().learn(DriftingKept(), steps=after, seed=2).learn
    env = DriftingKept()
    whole = rl.QLearning().learn(env, steps=after, seed=2).learn(env, steps=300)
    rl.QLearning().learn(DriftingKept(), steps=after, seed=2).save(tmp_path / "half.npz")
    assert content(rl.load(tmp_path / "half.npz").learn(DriftingKept(), steps=300)) == content(whole)


def test_an_environment_that_does_not(tmp_path):
    agent = rl.QLearning().learn(Drifting(), steps=100, seed=2)
    why = r"the state of its environment cannot be kept\. Drifting has no table.*give it methods get_state\(\) and set_"
    with pytest.warns(NewRunWarning, match="what was learned is saved, but not the run: " + why):
        agent.save(tmp_path / "half.npz")
    with pytest.warns(NewRunWarning, match=why + r".* A new run begins, with what was learned \(give a seed"):
        again = rl.load(tmp_path / "half.npz").learn(Drifting(), steps=50)
    assert again.visits_.sum() == 150
    assert again.steps_ == 50
    rl.load(tmp_path / "half.npz").learn(Drifting(), steps=50, seed=3)


def test_to_save_calls_nothing_of_the_environment(tmp_path, monkeypatch):
    agent = rl.QLearning().learn(Corridor(), steps=100, seed=2)
    calls = []
    for name in ("step", "reset", "render", "close"):
        monkeypatch.setattr(Corridor, name, lambda *args, name=name, **kwargs: calls.append(name))
    with pytest.warns(NewRunWarning, match="Corridor has no table that is trusted"):
        agent.save(tmp_path / "half.npz")
    assert calls == []


@pytest.mark.slow
def test_a_wrapper_that_may_have_a_state(tmp_path):
    agent = tiles().learn(WithVectors(DriftingKept()), steps=100, seed=2)
    with pytest.warns(NewRunWarning, match="wrapped in WithVectors, which may have a state of its own"):
        agent.save(tmp_path / "half.npz")


class HooksThatFail(DriftingKept):
    """Neither of its two methods works."""

    def get_state(self):
        return {"steps": self.missing} if self.steps > 150 else {}


def test_hooks_that_fail(tmp_path):
    agent = rl.QLearning().learn(HooksThatFail(), steps=100, seed=2)
    agent.save(tmp_path / "half.npz")
    with pytest.raises(FileError, match=r"its set_state\(state\) raised KeyError: 'names'"):
        rl.load(tmp_path / "half.npz").learn(HooksThatFail(), steps=10)
    agent.learn(agent._asked_for, steps=100)
    with pytest.warns(NewRunWarning, match=r"get_state\(\) of HooksThatFail raised AttributeError"):
        agent.save(tmp_path / "half.npz")


class StateThatIsNotPlain(DriftingKept):
    """Its state is an object."""

    def get_state(self):
        return {"env": self}


def test_a_state_that_is_not_plain(tmp_path):
    agent = rl.QLearning().learn(StateThatIsNotPlain(), steps=100, seed=2)
    with pytest.warns(NewRunWarning, match="is a StateThatIsNotPlain, and only numbers, text, None, arrays"):
        agent.save(tmp_path / "half.npz")


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: gym.make("FrozenLake8x8-v1", map_name="4x4"), "its id was FrozenLake-v1 and is FrozenLake8x8-v1"),
        (short(LAKE, 33), "its time limit was 100 and is 33"),
        (lambda: gym.make(LAKE, is_slippery=False), "its keywords was .* and is"),
        (lambda: gym.make(LAKE, desc=["SFFF", "FFFF", "FFFF", "FFFG"]).unwrapped, "its time limit was 100 and is none"),
    ],
)
def test_another_environment_begins_a_new_run(other, what, tmp_path):
    rl.QLearning().learn(LAKE, steps=75, seed=5).save(tmp_path / "half.npz")
    with pytest.warns(NewRunWarning, match=f"is one in another environment: {what}.*A new run begins"):
        agent = rl.load(tmp_path / "half.npz").learn(other(), steps=25)
    assert (agent.steps_, agent.visits_.sum()) == (25, 100)


def test_another_table_is_recognised(tmp_path):
    env = gym.make(LAKE)
    rl.QLearning().learn(env, steps=75, seed=5).save(tmp_path / "half.npz")
    env.unwrapped.P[0][0] = [(1.0, 0, -1.0, False)]
    with pytest.warns(NewRunWarning, match="its table, or the constants of its dynamics, are others"):
        rl.load(tmp_path / "half.npz").learn(env, steps=25)


def test_with_a_seed_a_new_run_begins(tmp_path):
    half = rl.QLearning().learn(LAKE, steps=75, seed=5)
    half.save(tmp_path / "half.npz")
    loaded = rl.load(tmp_path / "half.npz").learn(LAKE, steps=100, seed=6)
    assert content(loaded) == content(half.learn(LAKE, steps=100, seed=6))


def test_regret_and_evaluations_go_on(tmp_path):
    options = {"regret": True, "evaluate_every": 50}
    whole = content(twice(rl.QLearning(), LAKE, 75, 200, "auto", **options))
    rl.QLearning().learn(LAKE, steps=75, seed=1, **options).save(tmp_path / "half.npz")
    assert content(rl.load(tmp_path / "half.npz").learn(LAKE, steps=200, **options)) == whole


OTHER_PROCESS = """
import sys
import rlsuite as rl
rl.load(sys.argv[1]).learn("FrozenLake-v1", steps=300, loop=sys.argv[2]).save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("loop", BOTH)
def test_in_another_process(loop, tmp_path):
    path = str(tmp_path / "run.npz")
    whole = twice(rl.QLearning(), LAKE, 75, 300, "compiled")
    rl.QLearning().learn(LAKE, steps=75, seed=1).save(path)
    subprocess.run([sys.executable, "-c", OTHER_PROCESS, path, loop], check=True)
    again = rl.load(path)
    assert again.q_.tobytes() == whole.q_.tobytes()
    assert again.episodes_.tobytes() == whole.episodes_.tobytes()
    assert again.act(0) == whole.act(0)


def test_two_threads_at_once():
    agent, begun, go = rl.QLearning(), threading.Event(), threading.Event()

    class Waits(Corridor):
        def step(self, action):
            begun.set()
            assert go.wait(60.0)
            return super().step(action)

    thread = threading.Thread(target=lambda: agent.learn(Waits(), steps=50, seed=1))
    thread.start()
    assert begun.wait(60.0)
    with pytest.raises(LearningError, match=r"QLearning is learning already.*copy\.deepcopy\(agent\)"):
        agent.learn(LAKE, steps=10)
    go.set()
    thread.join()
    assert agent.learn(Corridor(), steps=10, seed=1).visits_.sum() == 60


# ------------------------------------------------------------------------------------------------------- damaged files


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.npz"
    rl.SarsaLambda().learn(LAKE, steps=203, seed=1).save(path)
    return path


def rewrite(path, run=(), **arrays):
    """Change entries of the run and arrays of a file; None removes one."""
    with np.load(path) as file:
        content = {**file, **arrays}
    header = json.loads(str(content["header"]))
    header["run"] = header["run"] | dict(run)
    content["header"] = np.array(json.dumps(header))
    np.savez(path, **{name: value for name, value in content.items() if value is not None})


def test_files_without_a_run_are_still_read(saved):
    with np.load(saved) as file:
        content = {name: file[name] for name in file if not name.startswith("run.")}
    header = json.loads(str(content["header"]))
    del header["run"]
    np.savez(saved, **content | {"header": np.array(json.dumps(header))})
    assert rl.load(saved).learn(LAKE, steps=10, seed=1).visits_.sum() == 213


PCG64 = dict(np.random.default_rng(0).bit_generator.state)


@pytest.mark.parametrize(
    "run",
    [
        {"lost": "x"},
        {"lost": 1},
        {"more": 1},
        {"position": [0, 1, 2, 3]},
        {"position": [-2, 0, 0, 3, 1]},
        {"position": [0, 0, -1, 3, 1]},
        {"position": [0, 0, 0, 2**53, 1]},
        {"position": [0, 0, 0, 3.0, 1]},
        {"position": "x"},
        {"totals": [0.0, 0.0, 1e400, 0.0]},
        {"totals": [0, 0, 0, 0]},
        {"identity": ["id"]},
        {"identity": {"id": 3}},
        {"agent_generator": None},
        {"agent_generator": PCG64 | {"bit_generator": "MT19937"}},
        {"env_generator": {"state": 3}},
        {"kind": 3},
        {"regret": 1},
        {"state": {"array": "run.state.0"}},
        {"state": {"list": 3}},
        {"state": {"set": []}},
        {"state": {"dict": [[{"list": []}, 1]]}},
        {"state": {"dict": [1]}},
    ],
    ids=lambda run: str(run)[:60],
)
def test_damaged_runs(saved, run):
    rewrite(saved, run)
    with pytest.raises(FileError):
        rl.load(saved)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"state": -1}, "state -1"),
        ({"state": 16}, "state 16"),
        ({"state": 0.0}, r"state 0\.0"),
        ({"state": 5}, "does not belong to state 5"),
        ({"position": [16, 0, 1, 3, 1]}, "observation 16"),
        ({"position": [0, 4, 1, 3, 1]}, "action 4"),
        ({"position": [-1, 3, 1, 3, 1]}, "before anything was observed"),
        ({"env_generator": None}, "generator"),
    ],
    ids=lambda run: str(run)[:60],
)
def test_runs_that_are_not_ones_of_the_environment(saved, run, why):
    with np.load(saved) as file:
        header = json.loads(str(file["header"]))
    rewrite(saved, run)
    assert header["run"]["position"][0] >= 0
    agent = rl.load(saved)
    with pytest.raises(FileError, match=f"the run that was kept cannot continue in FrozenLake-v1: .*{why}"):
        agent.learn(LAKE, steps=10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run.scratch.traces.listed", np.full(3, 64)),
        ("run.scratch.traces.listed", np.zeros(65, dtype=np.int64)),
        ("run.scratch.traces.n_listed", np.array([65])),
        ("run.scratch.traces.n_listed", np.array([0])),
        ("run.scratch.traces.trace", np.ones(64)),
        ("run.scratch.traces.trace", np.full(64, np.nan)),
        ("run.scratch.traces.trace", None),
        ("run.vectors", np.zeros(2)),
        ("run.more", np.zeros(2)),
    ],
)
def test_damaged_arrays_of_a_run(saved, name, value):
    rewrite(saved, **{name: value})
    with pytest.raises(FileError):
        rl.load(saved)


class Last(NamedTuple):
    """Of an agent of one's own, which does not say what its numbers may be."""

    state: np.ndarray


class KeepsLast(rl.TabularAgent):
    step = rl.QLearning.step

    def scratch(self, n_states, n_actions):
        return Last(np.zeros(1, dtype=np.int64))


def test_an_agent_of_ones_own_that_does_not_declare_its_scratch(tmp_path):
    agent = KeepsLast().learn(LAKE, steps=20, seed=1)
    with pytest.warns(NewRunWarning, match=r"scratch\.state is an array of whole numbers without a range: .*rl\.Array"):
        agent.save(tmp_path / "agent.npz")
    assert rl.load(tmp_path / "agent.npz").q_.shape == (16, 4)


@pytest.mark.parametrize("state", [(0.1, np.inf), (np.nan, 0.0), (0.1,), (0.1, 0.0, 0.0), (0, 0.0), [0.1, 0.0], None])
def test_a_state_of_dynamics_that_cannot_be_is_refused(state):
    env = gym.make("MountainCar-v0")
    env.reset(seed=1)
    facts, before = facts_of(env), env.unwrapped.state
    keeper = form_of(facts, Wish(0.9, "auto", encoding(env.observation_space))).keeper()
    assert keeper.kind == "dynamics"
    with pytest.raises(ValueError, match=r"is not finite|does not consist of 2 numbers"):
        keeper.put_back(state)
    assert env.unwrapped.state is before
    keeper.put_back((-0.3, 0.01))
    assert keeper.keep() == (-0.3, 0.01)


def test_keywords_that_appear_or_disappear_are_a_difference():
    assert difference({"keywords": ""}, {"keywords": '{"goal_velocity": 0.1}'})
    assert difference({"keywords": '{"goal_velocity": 0.1}'}, {"keywords": ""})
    assert not difference({"table": ""}, {"table": "0123"})  # of a file without a table nothing can be said
    assert not difference({"keywords": "{}"}, {"keywords": "{}"})
