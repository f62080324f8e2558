"""Asking an environment for its table harms nothing, comes to an end, and says why there is none.

Each kind below does something that would be seen outside of the process in which it is asked, or never ends.
"""

import ctypes
import gc
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments import child_process
from rlsuite.environments.child_process import CannotBeFollowed, in_child
from rlsuite.environments.facts import facts_of
from rlsuite.environments.forms.table import trusted_model
from rlsuite.environments.tabulation import NotTabulated, tabulation_of
from rlsuite.errors import UnsuitableEnvironment, UntrustedTable

SECONDS = 0.4
LOG = logging.getLogger("asked")
LOG.setLevel(logging.INFO)
COUNT = [0]
SEEN = []
FILE = os.memfd_create("open for as long as the tests run")


class Walk(gym.Env):
    """Up and down the numbers 0 to 4; each step does something besides."""

    total = 0
    does = staticmethod(lambda self: None)

    def __init__(self):
        self.observation_space, self.action_space = Discrete(5), Discrete(2)
        self.on_step = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0
        return 0, {}

    def step(self, action):
        self.do()
        self.x = min(4, max(0, self.x + (1 if action else -1)))
        return self.x, float(self.x == 4), self.x == 4, False, {}

    def do(self):
        pass


def walk(do, on_step=None):
    """An instance of a class of its own."""
    env = type("Walks", (Walk,), {"do": do, "__module__": __name__})()
    env.on_step = on_step
    env.reset(seed=1)
    return env


def sets_the_global(env):
    COUNT[0] += 1


def sets_the_class(env):
    type(env).total += 1


def counts_in_a_closure():
    hidden = [0]

    def do(env):
        hidden[0] += 1

    return do


def swallows(env):
    try:
        env.n = getattr(env, "n", 0) + 1
        open("swallowed", "w")  # noqa: SIM115 - it is never opened
    except:  # noqa: E722 - as some write it
        pass


def draws_until_it_fits(env):
    while True:
        try:
            if env.np_random.integers(9) == 8:
                break
        except:  # noqa: E722 - as some write it
            pass


def loops(env):
    while True:
        sum(range(99))


def loops_and_catches_all(env):
    while True:
        with suppress(BaseException):
            loops(env)


def recurses(env):
    recurses(env)


def allocates(env):
    kept = []
    while True:
        kept.append(np.ones(3_000_000))


def writes(env):
    with open("w", "a") as file:
        file.write("w")


def reads(env):
    with open("/etc/hostname") as file:
        file.read()


def writes_never(env):
    if env.x > 4:
        writes(env)


def draws_in_a_module(env):
    env.x = int(random.random() * 5)


def draws_from_its_own(env):
    env.x = int(env.on_step.random() * 5)


OUTSIDE = {
    "writes a file": (writes, r"opens a file \(open 'w'\)"),
    "reads a file": (reads, r"opens a file \(open '/etc/hostname'\)"),
    "writes by pathlib": (lambda env: Path("w").write_text("w"), r"opens a file \(open '.*w'\)"),
    "writes by numpy": (lambda env: np.save("w.npy", np.zeros(2)), r"opens a file \(open '.*w.npy'\)"),
    "writes to an open file": (
        lambda env: os.write(FILE, b"w"),
        "writes to a file or a terminal that was opened before",
    ),
    "makes a folder": (lambda env: os.makedirs("w/w"), r"uses the operating system \(os.mkdir"),
    "changes the folder": (lambda env: os.chdir("/"), r"uses the operating system \(os.chdir"),
    "sets os.environ": (lambda env: os.environ.update(W="w"), r"uses the operating system \(os.putenv"),
    "runs a command": (lambda env: os.system("touch w"), r"uses the operating system \(os.system"),
    "forks": (lambda env: os.fork(), r"uses the operating system \(os.fork\)"),
    "starts a process": (lambda env: subprocess.run(["touch", "w"]), r"starts a process \(subprocess.Popen 'touch'\)"),
    "starts a thread": (lambda env: threading.Thread(target=loops, args=(env,)).start(), "starts a thread"),
    "opens a socket": (lambda env: socket.socket(), r"uses the network \(socket"),
    "prints": (lambda env: print("w"), "its step or its reset prints 'w'"),
    "writes to stderr": (lambda env: sys.stderr.write("w"), "its step or its reset prints 'w'"),
    "writes to the terminal": (lambda env: os.write(1, b"w"), "writes to a file or a terminal"),
    "warns": (lambda env: warnings.warn("w", UserWarning, stacklevel=1), "warns|raised UserWarning: w"),
    "writes a log": (lambda env: LOG.info("w"), "writes a log 'w'"),
    "asks": (lambda env: input(), r"asks the user \(builtins.input\)"),
    "runs text": (lambda env: exec("COUNT[0] += 1"), "runs text as code"),
    "reads a clock": (lambda env: time.time(), "reads a clock"),
    "draws fresh entropy": (lambda env: np.random.default_rng().random(), "draws from the operating system"),
    "draws an id": (lambda env: uuid.uuid4(), "draws from the operating system"),
    "draws from random": (draws_in_a_module, "draws from the global generator of random"),
    "draws from numpy.random": (lambda env: np.random.random(), "the global generator of numpy.random"),  # noqa: NPY002
    "catches everything": (swallows, r"opens a file \(open 'swallowed'\)"),
    "exits": (lambda env: sys.exit(3), r"ends the program \(SystemExit\)"),
    "ends its process": (lambda env: os._exit(3), "ends the process that probes it, with exit code 3"),
    "kills itself": (lambda env: os.kill(os.getpid(), 9), r"uses the operating system \(os.kill\)"),
    "crashes": (lambda env: ctypes.string_at(0), "ends the process that probes it, by SIGSEGV"),
    "is interrupted": (lambda env: exec_interrupt(), "put into one of its states, it raised KeyboardInterrupt$"),
    "recurses": (recurses, "put into one of its states, it raised RecursionError"),
    "loops": (loops, r"not enough time: after 0.4 s it was in loops\(\), .*test_asking.py"),
    "loops and catches all": (loops_and_catches_all, "not enough time: its process was killed after 1.4 s"),
    "draws until it fits": (draws_until_it_fits, "may draw|there was not enough time"),
    "allocates": (allocates, "more than 0.5 GiB of memory"),
}


def exec_interrupt():
    raise KeyboardInterrupt


def resources():
    """What may only become less, as when what another test has left is collected meanwhile."""
    gc.collect()
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    threads = [one.ident for one in threading.enumerate()]
    return {*os.listdir("/proc/self/fd")}, {*children}, {*threads}


def world():
    """What may not change: files, the process and its children, globals and generators."""
    return {
        "files": sorted(map(str, Path().rglob("*"))),
        "open file": os.lseek(FILE, 0, os.SEEK_CUR),
        "folder": Path.cwd(),
        "environ": dict(os.environ),
        "globals": (
            COUNT[0],
            SEEN[:],
            Walk.total,
            sys.stdout,
            sys.stderr,
            time.time,
            os.urandom,
            sys.getrecursionlimit(),
        ),
        "signals": [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM)],
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "random": random.getstate(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "log": LOG.handlers,
    }


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    """Other tests write beside the sources meanwhile: what they compile."""
    monkeypatch.chdir(tmp_path)


@contextmanager
def nothing_harmed():
    before, had = world(), resources()
    yield
    assert world() == before
    for now, then in zip(resources(), had, strict=True):
        assert now <= then


@pytest.mark.cases("writes a file", "ends its process", "loops", "draws from random")
@pytest.mark.parametrize("what", OUTSIDE)
def test_asking_harms_nothing_and_names_the_cause(what, monkeypatch, capfd):
    monkeypatch.setattr(child_process, "MOST_MEMORY", 1 << 29)
    do, why = OUTSIDE[what]
    env = walk(do)
    attributes = {name: id(value) for name, value in vars(env).items()}
    drawn = env.np_random.bit_generator.state
    began = time.monotonic()
    with nothing_harmed(), pytest.raises(NotTabulated, match=why):
        tabulation_of(facts_of(env), seconds=SECONDS if what != "allocates" else 5.0)
    assert time.monotonic() - began < 60.0  # it ends; how soon depends on the machine
    assert {name: id(value) for name, value in vars(env).items()} == attributes
    assert (env.x, env.np_random.bit_generator.state) == (0, drawn)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "do",
    [
        lambda env: None,
        lambda env: LOG.debug("not written"),
        lambda env: os.environ.get("HOME"),
        lambda env: time.sleep(1e-6),
        lambda env: os.path.join("a", "b"),
        writes_never,
        sets_the_global,
        sets_the_class,
        counts_in_a_closure(),
        lambda env: SEEN.append(env.on_step),
    ],
)
def test_what_does_nothing_outside_is_no_reason(do):
    table = tabulation_of(facts_of(walk(do)), seconds=5.0)
    assert table.n_states == 5


@pytest.mark.slow
def test_a_model_is_asked_for_without_harm():
    env = walk(lambda env: env.on_step(1), SEEN.append)
    with nothing_harmed():
        assert rl.tabulate(env).n_states == 5
    assert SEEN == []


@pytest.mark.slow
def test_agents_ask_without_harm():
    env = walk(writes)
    with nothing_harmed(), pytest.raises(UnsuitableEnvironment, match="opens a file"):
        rl.QLearning().learn(env, steps=300, seed=1, tabulate=True)
    assert list(Path().iterdir()) == []


class Declares(Walk):
    """Has a table, and counts its steps."""

    def __init__(self):
        super().__init__()
        moves = {s: [max(0, s - 1), min(4, s + 1)] for s in range(5)}
        self.P = {s: {a: [(1.0, t, float(t == 4), t == 4)] for a, t in enumerate(moves[s])} for s in range(5)}
        self.initial_state_distrib = np.eye(5)[0]

    def reset(self, *, seed=None, options=None):
        gym.Env.reset(self, seed=seed)
        self.np_random.random()
        self.s = 0
        return 0, {}

    def step(self, action):
        self.np_random.random()
        COUNT[0] += 1
        ((_, self.s, reward, over),) = self.P[self.s][action]
        return self.s, reward, over, False, {}


@pytest.mark.slow
def test_a_replay_beside_a_table_is_a_child_of_its_own():
    with nothing_harmed():
        mdp = rl.tabulate(Declares(), gamma=0.9)
    assert mdp.origin.startswith("Declares was put into each of the 5 states that were found")
    loop = Declares()
    loop.step = lambda action: loops(loop)
    with nothing_harmed(), pytest.raises(UnsuitableEnvironment, match="its step has been replaced"):
        rl.tabulate(loop)


def test_a_replay_that_ends_its_process_is_a_doubt():
    class Ends(Declares):
        def step(self, action):
            os._exit(7)

    facts = facts_of(Ends())
    with pytest.raises(UntrustedTable, match="it cannot be replayed: its step or its reset ends the process"):
        trusted_model(facts, 0.9)


# ---------------------------------------------------------------------------------- words


def lock():
    return threading.Lock()


class Unpicklable:
    """Can be copied, and not pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return Unpicklable()


@pytest.mark.parametrize(
    ("do", "on_step", "why"),
    [
        (lambda env: f"{env.np_random.random():.3f}", None, "a number that its generator drew is written as text"),
        (draws_from_its_own, random.Random(1), "its attribute `on_step` has had"),
        (draws_from_its_own, np.random.RandomState(1), "its attribute `on_step` has had"),
        (lambda env: None, threading.Lock(), "it cannot be copied"),
        (lambda env: None, Unpicklable(), "its attribute `on_step` cannot be compared with itself later"),
    ],
)
def test_the_cause_is_named(do, on_step, why):
    with pytest.raises(NotTabulated, match=why) as caught:
        tabulation_of(facts_of(walk(do, on_step)), seconds=2.0)
    assert "UniformNumber" not in str(caught.value)


def test_a_method_of_a_generator_in_an_attribute_is_named():
    env = walk(lambda env: setattr(env, "x", int(env.on_step() * 5)))
    env.on_step = env.np_random.random
    with pytest.raises(NotTabulated, match="does not do the same each time"):
        tabulation_of(facts_of(env), seconds=2.0)


# ---------------------------------------------------------------------------------- what comes back


def left(x):
    return max(0, x - 1)


class Modes(Walk):
    """Functions are a part of its state: one with a name, and one without."""

    def __init__(self):
        super().__init__()
        self.ways = (left, lambda x: min(4, x + 1))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.way = {"now": self.ways[1]}
        return 0, {}

    def step(self, action):
        self.x = self.way["now"](self.x)
        self.way["now"] = self.ways[action]
        return self.x, float(self.x), self.x == 4, False, {}


class MakesFunctions(Modes):
    def step(self, action):
        answer = super().step(action)
        self.way["now"] = lambda x: x + 1
        return answer


def test_functions_in_a_state_are_those_of_the_user():
    env, other = Modes(), Modes()
    env.reset(seed=1)
    other.reset(seed=1)
    table = tabulation_of(facts_of(env), seconds=5.0)
    for state in range(table.n_states):
        table.put(state, env)
        assert env.way["now"] in env.ways
        assert table.state_of(env) == state
    assert table.probe.knows(env)  # its spaces, too, are what they were
    assert not table.probe.knows(other)  # another lambda


def test_functions_that_a_step_makes_are_refused():
    env = MakesFunctions()
    env.reset(seed=1)
    with pytest.raises(NotTabulated, match=r"its state refers to .*lambda|another state|behaves differently"):
        tabulation_of(facts_of(env), seconds=5.0)


# ---------------------------------------------------------------------------------- the process


def test_answers_of_any_size_come_back():
    assert len(in_child(lambda: bytes(30_000_000), 20.0)) == 30_000_000
    with pytest.raises(CannotBeFollowed, match="raised ZeroDivisionError"):
        in_child(lambda: 1 // 0, 5.0)
    with pytest.raises(CannotBeFollowed, match=r"raised (PicklingError|AttributeError)"):
        in_child(lambda: lambda: None, 5.0)


@pytest.mark.slow
def test_ctrl_c_ends_the_child():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with nothing_harmed():
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            in_child(lambda: loops_and_catches_all(None), 600.0)
        timer.join()


def test_a_lock_that_another_thread_holds_is_no_deadlock():
    """The child has no other threads, so nobody will release it."""
    held = threading.Lock()
    with held, pytest.raises(CannotBeFollowed, match="there was not enough time"):
        in_child(held.acquire, 0.2)
    found = []
    thread = threading.Thread(target=lambda: found.append(in_child(threading.active_count, 5.0)))
    thread.start()
    thread.join()
    assert found == [1]


def test_who_waits_for_no_children_gets_an_answer(monkeypatch):
    handler = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert in_child(os.getppid, 5.0) == os.getpid()
    finally:
        signal.signal(signal.SIGCHLD, handler)


def test_without_a_fork_the_environment_is_sent(monkeypatch):
    monkeypatch.setattr(child_process, "FORKS", False)
    env = gym.make("FrozenLake-v1")
    env.reset(seed=1)
    table = tabulation_of(facts_of(env), seconds=10.0)
    assert table.n_states == 16
    table.put(3, env.unwrapped)
    assert table.state_of(env.unwrapped) == 3
    with pytest.raises(NotTabulated, match="cannot be sent to another process"):
        tabulation_of(facts_of(walk(lambda env: None, Unpicklable())), seconds=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["writes a file", "prints", "ends its process", "crashes", "loops and catches all"])
def test_what_is_sent_harms_nothing(what, monkeypatch, capfd):
    monkeypatch.setattr(child_process, "FORKS", False)
    do, why = OUTSIDE[what]
    with pytest.raises(NotTabulated, match=why.partition(", ")[0].replace("1.4 s", "2 s")):
        tabulation_of(facts_of(walk(do)), seconds=1.0)
    assert capfd.readouterr() == ("", "")
