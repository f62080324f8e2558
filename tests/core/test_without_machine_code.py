"""Where numba must not compile, or is not installed, everything runs in Python: slowly, and with the same bytes."""

import os
import subprocess
import sys

import pytest

HIDDEN = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

HIDDEN = sys.argv[1].split()
sys.meta_path.insert(0, Hidden())
"""
"""Hides the packages that are named on the command line: an import of one fails."""

PRINTED = """
import hashlib
import numpy as np

def printed(*arrays):
    for array in arrays:
        print(hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest())
"""

SHORT = """
import rlsuite as rl
import rlsuite_envs

hmm = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]])
z = hmm.sample(20, seed=1)[1]
printed(
    rl.QLearning().learn("FrozenLake-v1", steps=200, seed=1, loop="compiled").q_,
    rl.Sarsa(exploration=rl.Softmax(temperature=0.5)).learn("CliffWalking-v1", steps=200, seed=1).q_,
    rl.solve(rl.MDP.from_env("Taxi-v4", gamma=0.9), method="policy_iteration").value,
    rl.solve(rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95), "incremental_pruning", horizon=3).alpha_vectors,
    hmm.filter(z),
    hmm.smooth(z),
    hmm.decode(z)[0],
)
"""

LEARN = """
import gymnasium
import rlsuite as rl
import rlsuite_envs
from gymnasium.spaces import Discrete
from rlsuite.approximation import SemiGradientSarsa, TileCoding

class Walk(gymnasium.Env):
    observation_space, action_space = Discrete(6), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = int(self.np_random.integers(3))
        return self.x, {}

    def step(self, action):
        self.x = min(5, max(0, self.x + (1 if action and self.np_random.random() < 0.8 else -1)))
        return self.x, float(self.x == 5), self.x == 5, False, {}

tiger = rl.POMDP.from_env("rlsuite/Tiger-v0", gamma=0.95)
hmm = rl.HMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]])
z = hmm.sample(100, seed=1)[1]
printed(
    rl.QLearning().learn("FrozenLake-v1", steps=2_000, seed=1, loop="compiled").q_,
    rl.SarsaLambda().learn("CliffWalking-v1", steps=1_000, seed=1, loop="stepwise").q_,
    rl.Sarsa(exploration=rl.Softmax(temperature=0.5)).learn("CliffWalking-v1", steps=1_000, seed=1).q_,
    rl.QLearning().learn(Walk(), steps=1_000, seed=1, tabulate=True).q_,
    SemiGradientSarsa(features=TileCoding(n_tilings=2, bins=3)).learn("MountainCar-v0", steps=500, seed=1).weights_,
    rl.train(rl.QLearning(), "FrozenLake-v1", steps=500, seeds=3).stacked("cumulative_reward"),
    rl.solve(rl.MDP.from_env("Taxi-v4", gamma=0.9)).value,
    rl.solve(tiger, gap=0.1).value(np.array([0.5, 0.5])),
    hmm.smooth(z),
    hmm.decode(z)[0],
)
"""


def run(code, hidden="", *options, **variables):
    command = [sys.executable, *options, "-c", HIDDEN + PRINTED + code, hidden]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_numba_and_scikit_learn_may_be_missing():
    usual, without = run(SHORT, "", "-W", "error"), run(SHORT, "numba llvmlite sklearn joblib threadpoolctl")
    assert without.stdout == usual.stdout
    assert without.stderr.count("Warning") == 1
    assert "SlowWarning: numba is not installed (pip install numba): everything runs in Python" in without.stderr


@pytest.fixture(scope="module")
def usual():
    return run(LEARN, "", "-W", "error").stdout


@pytest.mark.slow
def test_numba_may_be_switched_off(usual):
    assert run(LEARN, "", "-W", "error", NUMBA_DISABLE_JIT="1").stdout == usual


@pytest.mark.slow
def test_numba_may_be_missing(usual):
    assert run(LEARN, "numba").stdout == usual


@pytest.mark.cases("ImportError.*")
@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        ("ImportError('Numba needs NumPy 2.4 or less. Got NumPy 9.0')", "Numba needs NumPy 2.4 or less. Got NumPy 9.0"),
        ("AssertionError", "AssertionError"),
    ],
)
def test_numba_may_be_broken(tmp_path, raised, reason):
    (tmp_path / "numba.py").write_text(f"raise {raised}")
    code = "import rlsuite as rl\nprinted(rl.QLearning().learn('FrozenLake-v1', steps=200, seed=1, loop='compiled').q_)"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    broken = run(code, PYTHONPATH=path)
    assert broken.stdout == run(code).stdout
    assert f"SlowWarning: numba cannot be imported ({reason}): " in broken.stderr


DIVIDED = """
import rlsuite as rl

@rl.compiled
def divided(x):
    return 1.0 / x

divided(0.0)
"""


def test_what_needs_machine_code_says_so(tmp_path):
    (tmp_path / "divided.py").write_text(DIVIDED)
    variables = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, str(tmp_path / "divided.py")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=100)
    assert "CompilationError: divided() needs machine code, and NUMBA_DISABLE_JIT is set (ZeroDivision" in done.stderr
