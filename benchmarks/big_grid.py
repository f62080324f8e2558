"""Build a large open grid and learn on it, in a process of its own; prints seconds and peak memory as JSON.

``python benchmarks/big_grid.py [side] [steps]``; `benchmarks/learning.py` runs it for 1000 x 1000 squares.
"""

import dataclasses
import json
import sys
import time

import gymnasium
from memory import peak

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*


def main(side: int = 1_000, steps: int = 5_000_000) -> dict[str, float]:
    """Build, learn, and report."""
    agent = rl.QLearning(gamma=0.99, learning_rate=0.5)
    dataclasses.replace(agent).learn("rlsuite/GridWorld-v0", steps=1, seed=7, loop="compiled")  # compiles
    before = peak()
    start = time.perf_counter()
    env = gymnasium.make("rlsuite/GridWorld-v0", size=side)
    built = time.perf_counter()
    after_build = peak()
    agent.learn(env, steps=1, seed=7, loop="compiled")
    ready = time.perf_counter()
    agent.learn(env, steps=steps, loop="compiled")
    learned = time.perf_counter()
    return {
        "states": env.unwrapped.model.n_states,
        "transitions": env.unwrapped.model.n_transitions,
        "build_seconds": built - start,
        "first_step_seconds": ready - built,
        "steps_per_second": steps / (learned - ready),
        "gb_before": before,
        "gb_built": after_build,
        "gb_peak": peak(),
    }


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
