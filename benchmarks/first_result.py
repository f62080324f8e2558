"""How soon a process has a result: ``python benchmarks/first_result.py``.

Whole processes, wall-clock time, from the start of Python to its end, in turn with the same number of steps of
Q-learning in fifteen lines of plain Python over the same environment. Each is run with numba's cache as the run before
has left it; the shortest, and what stands below, also *cold*, with an empty cache. An idle machine is needed.
"""

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from measuring import Line, Target, in_turn, print_heading, print_line, seconds

ROUNDS = 5
STEPS = (1_000, 5_000, 20_000, 60_000, 115_000, 300_000, 1_000_000)
BEHIND = 0.3
"""Seconds that the imports may cost beside plain Python, at any length of run."""

PLAIN = """
import random, gymnasium
env, rng = gymnasium.make("CliffWalking-v1"), random.Random(7)
q = [[0.0] * 4 for _ in range(48)]
state, _ = env.reset(seed=7)
for _ in range({steps}):
    row = q[state]
    action = rng.randrange(4) if rng.random() < 0.1 else row.index(max(row))
    next_state, reward, terminated, truncated, _ = env.step(action)
    row[action] += 0.1 * ((reward if terminated else reward + 0.99 * max(q[next_state])) - row[action])
    state = env.reset()[0] if terminated or truncated else next_state
"""

OURS = """
import rlsuite as rl
rl.QLearning(gamma=0.99, learning_rate=0.1).learn("CliffWalking-v1", steps={steps}, seed=7)
"""

WALK = (
    "rl.MDP.from_successors([[max(s - 1, 0), min(s + 1, 4)] for s in range(5)], [[0, s // 4] for s in range(5)], "
    "gamma=0.9)"
)
TIGER = (
    "rl.POMDP.from_arrays([[[1, 0], [0, 1]], *2 * [[[.5, .5], [.5, .5]]]], [[-1, -1], [-100, 10], [10, -100]], "
    "[[[.85, .15], [.15, .85]], *2 * [[[.5, .5], [.5, .5]]]], order='ass', gamma=0.95, start=[.5, .5])"
)
HMM = "rl.HMM([.5, .5], [[.9, .1], [.2, .8]], [[.7, .3], [.1, .9]])"
RESULTS = {
    "solve a model of 5 states and 2 actions": (f"import rlsuite as rl; rl.solve({WALK})", 0.45),
    "solve the tiger by sarsop": (f"import rlsuite as rl; rl.solve({TIGER}, 'sarsop', gap=1e-3)", None),
    "HMM.score of five observations": (f"import rlsuite as rl; {HMM}.score([0, 1, 0, 1, 1])", 0.5),
    "act of a loaded agent": ("import rlsuite as rl; rl.load('agent.npz').act(36)", None),
    "rlsuite report --plot of a finished run": (
        "from rlsuite.cli import main; main(['report', 'results', '--plot'])",
        None,
    ),
}
"""What each process does, and the seconds that it may take."""

EXPERIMENT = """
steps = 1_000
seeds = 2
[[environments]]
id = "CliffWalking-v1"
[[agents]]
name = "QLearning"
"""


def wall(code: str, folder: str, cold: bool = False) -> float:
    """Seconds from the start of a process to its end."""
    with tempfile.TemporaryDirectory() as empty:
        new = {"NUMBA_CACHE_DIR": empty} if cold else {}
        environment = {**os.environ, "MPLBACKEND": "Agg", **new}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        run = partial(subprocess.run, [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
        return seconds(partial(run, env=environment), time.perf_counter)


def imported(code: str, folder: str) -> str:
    """Which of the heavy packages a process has imported at its end."""
    told = f"{code}\nimport sys; print(*[one for one in ('numba', 'scipy.optimize') if one in sys.modules])"
    run = subprocess.run([sys.executable, "-c", told], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout.splitlines()[-1] or "neither numba nor scipy.optimize"


def main() -> int:
    """Print the tables; status 1 if a target is missed."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "results.toml").write_text(EXPERIMENT, encoding="utf-8")
        wall("from rlsuite.cli import main; main(['run', 'results.toml'])", folder)
        wall(
            "import rlsuite as rl; rl.QLearning().learn('CliffWalking-v1', steps=99, seed=1).save('agent.npz')", folder
        )
        print_heading("learn: seconds behind plain Python (and what both take)")
        for steps in STEPS:
            for cold in (False, True) if steps == STEPS[0] else (False,):
                plain, ours = PLAIN.format(steps=steps), OURS.format(steps=steps)
                wall(ours, folder)  # fills the caches
                one, other, _ = in_turn(partial(wall, plain, folder, cold), partial(wall, ours, folder, cold), ROUNDS)
                what = f"{steps:,} steps{', cold' if cold else ''}"
                line = Line(what, other - one, "s", Target("<=", BEHIND), f"{one:.2f} and {other:.2f}")
                print_line(line)
                missed += not Target("<=", BEHIND).met(line.measured)
        print_heading("Other first results: seconds")
        for what, (code, bound) in RESULTS.items():
            wall(code, folder)
            taken = sorted(wall(code, folder) for _ in range(ROUNDS))[ROUNDS // 2]
            target = None if bound is None else Target("<=", bound)
            cold_too = wall(code, folder, cold=True)
            print_line(Line(what, taken, "s", target, f"cold {cold_too:.2f}; imports {imported(code, folder)}"))
            missed += target is not None and not target.met(taken)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
