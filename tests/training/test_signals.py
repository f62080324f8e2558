"""Signals that end a run, and the checkpoints that it leaves."""

import random
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

import rlsuite as rl
from rlsuite.environments.finding import find_env
from rlsuite.errors import FileError, ParameterError
from rlsuite.training.signals import EndingSignals, Stopped

LAKE = "FrozenLake-v1"
BOTH = ["compiled", "stepwise"]

LONG = """
import signal
import sys
import rlsuite as rl
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
path, loop, every = sys.argv[1:]
rl.SarsaLambda().learn("FrozenLake-v1", steps=10**10, seed=1, loop=loop, save_to=path, save_every=float(every))
"""


def ended(path, loop, every, number):
    """Begin a run of many hours in another process, and end it by a signal; returns the code of its exit."""
    with subprocess.Popen([sys.executable, "-c", LONG, str(path), loop, str(every)], stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 120.0
        while not (path.exists() and (every > 1.0 or rl.load(path).steps_ > 0)) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=120.0)
        finally:
            process.kill()
    return process.returncode, said.decode()


def assert_it_goes_on(path):
    kept = rl.load(path)
    steps = kept.steps_
    assert steps > 0
    whole = rl.SarsaLambda().learn(LAKE, steps=steps + 1_000, seed=1)
    for loop in BOTH:
        rest = rl.load(path).learn(LAKE, steps=1_000, loop=loop)
        assert rest.q_.tobytes() == whole.q_.tobytes()
        assert rest.episodes_.tobytes() == whole.episodes_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("loop", BOTH)
def test_a_run_that_is_killed_loses_little(loop, tmp_path):
    path = tmp_path / "run.npz"
    assert ended(path, loop, 0.2, signal.SIGKILL)[0] == -signal.SIGKILL
    assert_it_goes_on(path)


REST = """
import sys
from pathlib import Path
import rlsuite as rl
path, loop, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
agent = rl.load(path) if path.exists() else rl.SarsaLambda()
seed = None if path.exists() else 1
if left := steps - (agent.steps_ if path.exists() else 0):
    agent.learn("FrozenLake-v1", steps=left, seed=seed, loop=loop, save_to=path, save_every=0.01)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("loop", "steps"), [("compiled", 3_000_000)])
def test_a_run_that_is_killed_again_and_again_ends_the_same(loop, steps, tmp_path):
    """At whatever moment it is killed, also while it writes: the file is that of the last save or of the one before."""
    path, kept, kills, moments = tmp_path / "run.npz", 0, 0, random.Random(3)
    while True:
        command = [sys.executable, "-c", REST, str(path), loop, str(steps)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            began = path.stat().st_mtime_ns if path.exists() else 0
            while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else 0) == began:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, 0.1))
            process.kill()
            _, said = process.communicate(timeout=60.0)
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
        kept, before = rl.load(path).steps_, kept
        assert before <= kept <= steps
        if process.returncode == 0:
            break
        kills += 1
    assert kills > 0
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    whole, ended = rl.SarsaLambda().learn(LAKE, steps=steps, seed=1), rl.load(path)
    assert ended.q_.tobytes() == whole.q_.tobytes()
    assert ended.episodes_.tobytes() == whole.episodes_.tobytes()


@pytest.mark.cases("15-stepwise")
@pytest.mark.parametrize("loop", BOTH)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_loses_nothing(number, loop, tmp_path):
    path = tmp_path / "run.npz"
    code, said = ended(path, loop, 1000.0, number)
    assert code == -number
    assert ("KeyboardInterrupt" in said) == (number == signal.SIGINT)
    assert_it_goes_on(path)


class Raises:
    """An environment during one of whose steps a signal comes."""

    def __init__(self, number, at):
        self.env, self.number, self.at, self.steps = find_env(LAKE), number, at, 0
        step = self.env.unwrapped.step

        def counted(action):
            self.steps += 1
            if self.steps == self.at:
                signal.raise_signal(self.number)
            return step(action)

        self.env.unwrapped.step = counted


@pytest.mark.parametrize("at", [1, 50, 123])
def test_ctrl_c_ends_a_complete_step(at):
    env = Raises(signal.SIGINT, at).env
    agent = rl.SarsaLambda()
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        agent.learn(env, steps=500, seed=1, loop="stepwise")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert agent.steps_ == at
    agent.learn(env, steps=500 - at, loop="stepwise")
    whole = rl.SarsaLambda().learn(LAKE, steps=500, seed=1)
    assert agent.q_.tobytes() == whole.q_.tobytes()
    assert agent.episodes_.tobytes() == whole.episodes_.tobytes()


@pytest.mark.parametrize("ends", [False, True])
def test_a_handler_of_the_program_decides(ends):
    env, agent, came = Raises(signal.SIGTERM, 50), rl.QLearning(), []

    def handler(number, frame):
        came.append((number, agent.steps_))
        if ends:
            raise SystemExit(3)

    former = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(SystemExit) if ends else nullcontext():
            agent.learn(env.env, steps=500, seed=1, loop="stepwise")
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, former)
    assert came == [(signal.SIGTERM, 50)]
    assert agent.steps_ == (50 if ends else 500)


def test_a_second_signal_does_not_wait():
    signals = EndingSignals(also_default=False)
    with signals:
        signals.in_step = True
        signal.raise_signal(signal.SIGINT)
        assert signals.come == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signals.come == []


def test_between_two_steps_it_comes_at_once():
    with EndingSignals(also_default=False), pytest.raises(Stopped) as stopped:
        signal.raise_signal(signal.SIGINT)
    assert isinstance(stopped.value.error, KeyboardInterrupt)


def test_the_last_checkpoint_is_the_end(tmp_path):
    path = tmp_path / "run.npz"
    agent = rl.QLearning().learn(LAKE, steps=5_000, seed=1, save_to=path)
    assert rl.load(path).steps_ == 5_000
    again = rl.load(path).learn(LAKE, steps=300, save_to=path, save_every=1e-9)
    assert agent.learn(LAKE, steps=300).q_.tobytes() == again.q_.tobytes() == rl.load(path).q_.tobytes()
    assert agent.episodes_.tobytes() == rl.load(path).episodes_.tobytes()


def test_checkpoints_of_episodes(tmp_path):
    path = tmp_path / "run.npz"
    plain = rl.QLearning().learn(LAKE, episodes=30, seed=1)
    agent = rl.QLearning().learn(LAKE, episodes=30, seed=1, save_to=path, save_every=1e-3)
    assert agent.q_.tobytes() == plain.q_.tobytes()
    assert agent.record_.time.tobytes() == plain.record_.time.tobytes()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"save_every": 3}, "save_every=3 is the time between two saves: give save_to= as well"),
        ({"save_to": "run.npz", "save_every": 0}, "save_every=0"),
        ({"save_to": "run.npz", "save_every": "soon"}, "save_every='soon'"),
    ],
)
def test_mistakes(options, why):
    with pytest.raises(ParameterError, match=re.escape(why)):
        rl.QLearning().learn(LAKE, steps=10, **options)


def test_a_checkpoint_that_cannot_be_written_is_found_out_at_once(tmp_path):
    agent = rl.QLearning()
    with pytest.raises(FileError, match="cannot write"):
        agent.learn(LAKE, steps=10, save_to=tmp_path / "nowhere" / "run.npz")
    assert agent.steps_ == 0
