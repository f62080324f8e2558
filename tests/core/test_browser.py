"""Python in a browser, as far as another Python can be made like it: without processes, threads and numba."""

import subprocess
import sys

LIKE_A_BROWSER = """
import signal, sys, sysconfig, threading

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("multiprocessing.synchronize", "numba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def start(thread):
    raise RuntimeError("can't start new thread")

sys.meta_path.insert(0, Missing())
threading.Thread.start = start
vars(signal).pop("setitimer", None)
sysconfig.get_config_vars()  # which are in a module that is named after the platform
sys.platform = "emscripten"
"""

LEARN = """
import rlsuite as rl
import gymnasium, numpy as np

print("multiprocessing.synchronize" in sys.modules)
print(np.repeat([1, 2], np.array([2, 1])), np.repeat(a=3, repeats=2), np.repeat([[1, 2]], 2, axis=0).tolist())
results = rl.train(rl.QLearning(gamma=0.9), "FrozenLake-v1", steps=100, seeds=2)
print(rl.MDP.from_env("FrozenLake-v1", gamma=0.9).n_states, len(results.records))
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIKE_A_BROWSER + code], capture_output=True, text=True, check=False)


def test_a_browser_has_no_processes_and_no_threads_and_runs_learn() -> None:
    """With rlsuite Gymnasium can be imported, in every release; other packages find nothing that is not there."""
    done = run(LEARN)
    assert done.stdout.splitlines() == ["False", "[1 1 2] [3 3] [[1, 2], [1, 2]]", "16 2"], done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "Warning: " in line]
    assert "in a browser numba does not exist: everything runs in Python" in warning
