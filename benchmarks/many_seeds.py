"""Thousands of runs in one call, beside JAX: ``python benchmarks/many_seeds.py``.

Q-learning on CliffWalking's table, with many seeds: `rlsuite.train` on all cores, and ``jax.vmap`` of ``jax.lax.scan``,
which records nothing but the sum of rewards, in single precision. Each is a process of its own, and what is measured is
its first call, compiling included; rlsuite's once with the cache that numba keeps on disk, and once with an empty one.
JAX is installed into an environment of its own on first use, see `peers.py`. An idle machine is needed.

Then what a seed costs beside its steps, and what a record costs.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import Line, Target, print_heading, print_line
from peers import python_of

import rlsuite as rl

SIZES = ((1, 200_000), (200, 10_000), (4_096, 1_000))

OURS = """
import os, time
import rlsuite as rl
train, agent = rl.train, rl.QLearning(gamma=0.99, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
for _ in range(2):
    before = time.perf_counter()
    train(agent, "CliffWalking-v1", steps={steps}, seeds={seeds}, workers=os.cpu_count(), regret=False)
    print(time.perf_counter() - before)
"""


def first_and_second(*command: object, **environment: str) -> tuple[float, float]:
    """Run a process that prints the seconds of two calls."""
    run = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    first, second, *_ = map(float, run.stdout.split())
    return first, second


def write_table(file: Path) -> None:
    """Write CliffWalking's table, which is deterministic."""
    mdp = rl.MDP.from_env("CliffWalking-v1", gamma=0.99)
    shape = mdp.n_states, mdp.n_actions
    np.savez(
        file,
        next_state=mdp.next_state.reshape(shape),
        reward=np.asarray(mdp.reward, dtype=np.float32).reshape(shape),
        done=mdp.terminated.reshape(shape),
        start=mdp.start.argmax(),
    )


def seconds_of(seeds: int, steps: int, record_every: int) -> float:
    """Processor seconds of one call, compiled before; the least of five."""
    agent = rl.QLearning(gamma=0.99, learning_rate=0.1)
    found: list[float] = []
    for _ in range(6):
        before = time.process_time()
        rl.train(agent, "CliffWalking-v1", steps=steps, seeds=seeds, regret=False, record_every=record_every)
        found.append(time.process_time() - before)
    return min(found[1:])


def main() -> int:
    """Print the tables; status 1 if a target is missed."""
    missed = 0
    jax = python_of("jax")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.npz")
        write_table(table)
        print_heading("First call, compiling included: JAX's seconds per second of rlsuite")
        for seeds, steps in SIZES:
            code = OURS.format(seeds=seeds, steps=steps)
            first_and_second(sys.executable, "-c", code)  # fills the cache
            ours = first_and_second(sys.executable, "-c", code)
            with tempfile.TemporaryDirectory() as empty:
                cold, _ = first_and_second(sys.executable, "-c", code, NUMBA_CACHE_DIR=empty)
            theirs = first_and_second(jax, Path(__file__).with_name("seeds_in_jax.py"), table, seeds, steps)
            detail = f"ours {ours[0]:.3f}, with an empty cache {cold:.2f}, second call {ours[1]:.3f}; "
            detail += f"JAX {theirs[0]:.2f}, second call {theirs[1]:.3f}"
            line = Line(f"{seeds:,} x {steps:,} steps", theirs[0] / ours[0], "x", Target(">=", 1.0), detail)
            print_line(line)
            missed += theirs[0] < ours[0]
    print_heading("What is not steps, in microseconds of processor time")
    few, many = seconds_of(1_000, 10, 10), seconds_of(5_000, 10, 10)
    print_line(Line("a seed of ten steps", (many - few) / 4_000 * 1e6, "us", Target("<=", 50.0)))
    rare, often = seconds_of(50, 20_000, 20_000), seconds_of(50, 20_000, 10)
    print_line(Line("a record", (often - rare) / (50 * 1_999) * 1e6, "us", Target("<=", 1.0)))
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
