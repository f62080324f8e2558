"""Environments of many packages without a table: which are tabulated, how fast agents learn in them then, and why not.

``python benchmarks/tabulation_packages.py [WORD ...]`` prints a line of the second table of docs/tabulation.md for each
environment whose name has one of the words; ``python benchmarks/tabulation_packages.py --packages`` prints what to
install, by ``pip install --no-deps``. What has no ids to show is wrapped in a function of the observation.
"""

import contextlib
import importlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit, TransformObservation

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.tabulation import tabulation_of

PACKAGES = (
    *("mo-gymnasium", "minigrid", "matrix-mdp-gym", "edugrid", "stokasta", "popgym", "cliffcircular", "mazegym"),
    *("multi-level-maze", "tornadocliff-env", "gymnasium-2048", "envpack", "pygame", "mazelib", "cython", "pandas"),
)


def made(package: str, name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment of a package."""
    importlib.import_module(package)
    return gymnasium.make(name, **options)


def weighted(name: str, *weights: float) -> gymnasium.Env[Any, Any]:
    """Make an environment of MO-Gymnasium with one reward."""
    wrappers: Any = importlib.import_module("mo_gymnasium").wrappers
    return wrappers.LinearReward(gymnasium.make(name, disable_env_checker=True), weight=np.array(weights))


class Pose(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows where the agent of a Minigrid is, and where it looks."""

    def __init__(self, env: gymnasium.Env[Any, Any]):
        super().__init__(env)
        self.grid: Any = env.unwrapped
        self.observation_space = Discrete(self.grid.width * self.grid.height * 4)

    def observation(self, observation: Any) -> int:
        """Number the pose."""
        column, row = self.grid.agent_pos
        return int((row * self.grid.width + column) * 4 + self.grid.agent_dir)


def matrix() -> gymnasium.Env[Any, Any]:
    """Make a random MDP of 12 states and 3 actions."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(12), size=(12, 3)).transpose(2, 0, 1)
    r = rng.normal(size=(12, 12, 3)).round(2)
    return made("matrix_mdp", "matrix_mdp/MatrixMDP-v0", p_0=np.ones(12) / 12, p=p, r=r, max_episode_steps=50)


def highest(env: gymnasium.Env[Any, Any], n: int, part: str = "") -> gymnasium.Env[Any, Any]:
    """Show where the largest number of an observation, or a part of it, stands."""
    return TransformObservation(env, lambda seen: int(np.argmax(seen[part] if part else seen)), Discrete(n))


def tornado() -> gymnasium.Env[Any, Any]:
    """Make the cliff with tornados."""
    return TimeLimit(importlib.import_module("tornado_cliff_env").CliffWalkingWithTornadosEnv(), 100)


CASES: dict[str, Callable[[], gymnasium.Env[Any, Any]]] = {
    "mo-gymnasium: deep-sea-treasure-v0, LinearReward": lambda: weighted("deep-sea-treasure-v0", 0.7, 0.3),
    "mo-gymnasium: fishwood-v0, LinearReward": lambda: weighted("fishwood-v0", 0.7, 0.3),
    "mo-gymnasium: fruit-tree-v0, LinearReward": lambda: weighted("fruit-tree-v0", 0.5, 0.1, 0.1, 0.1, 0.1, 0.1),
    "mo-gymnasium: resource-gathering-v0, LinearReward": lambda: weighted("resource-gathering-v0", 0.5, 0.3, 0.2),
    "minigrid: MiniGrid-Empty-5x5-v0, pose": lambda: Pose(made("minigrid", "MiniGrid-Empty-5x5-v0")),
    "minigrid: MiniGrid-Empty-Random-5x5-v0, pose": lambda: Pose(made("minigrid", "MiniGrid-Empty-Random-5x5-v0")),
    "matrix-mdp-gym: MatrixMDP-v0": matrix,
    "edugrid: EduGrid-v0": lambda: made("edugrid", "philsteg/EduGrid-v0", max_episode_steps=60),
    "stokasta: DynamicInventory-v0": lambda: made("stokasta", "stokasta/DynamicInventory-v0"),
    "popgym: HigherLowerEasy-v0": lambda: made("popgym", "popgym-HigherLowerEasy-v0"),
    "popgym: CountRecallEasy-v0": lambda: made("popgym", "popgym-CountRecallEasy-v0"),
    "popgym: MultiarmedBanditEasy-v0": lambda: made("popgym", "popgym-MultiarmedBanditEasy-v0"),
    "popgym: LabyrinthEscapeEasy-v0": lambda: made("popgym", "popgym-LabyrinthEscapeEasy-v0"),
    "cliffcircular: CliffCircular-v1, place": lambda: highest(
        made("cliffcircular", "CliffCircular-v1", render_mode=None, max_episode_steps=60), 25
    ),
    "mazegym: Maze5x5Fixed-v0, place": lambda: highest(made("mazegym", "Maze5x5Fixed-v0", max_episode_steps=100), 25),
    "multi-level-maze: MultiLevelMaze-v0, highest": lambda: highest(made("multi_level_maze", "MultiLevelMaze-v0"), 36),
    "tornadocliff-env: CliffWalkingWithTornadosEnv": tornado,
    "gymnasium-2048: TwentyFortyEight-v0, highest": lambda: highest(
        made("gymnasium_2048", "gymnasium_2048/TwentyFortyEight-v0"), 256
    ),
    "envpack: Snake-v0, head": lambda: highest(made("envpack", "envpack/Snake-v0"), 100, "observation"),
}


def line(make: Callable[[], gymnasium.Env[Any, Any]]) -> str:
    """The cells of a row: whether it steps, states, seconds to tabulate, steps per second in both loops, ratio."""
    try:
        env = make()
        stepped = rl.QLearning(gamma=0.9).learn(env, steps=4_000, seed=4, loop="stepwise")
        began = time.perf_counter()
        stepped.learn(env, steps=20_000)
        stepwise = 20_000 / (time.perf_counter() - began)
    except Exception as error:  # whatever a package raises
        return f"no: {type(error).__name__}: {str(error)[:160]} | | | | |"
    try:
        env = make()
        env.reset(seed=0)
        began = time.perf_counter()
        states = tabulation_of(facts_of(env), seconds=60.0).n_states
        seconds = time.perf_counter() - began
        env = make()
        found = rl.QLearning(gamma=0.9).learn(env, steps=4_000, seed=4, tabulate=True).learn(env, steps=20_000)
    except rl.errors.RlsuiteError as error:
        return f"{stepwise / 1e3:.0f} | no: {str(error)[:170]} | | | |"
    same = "" if found.q_.tobytes() == stepped.q_.tobytes() else " DIFFERENT"
    began = time.perf_counter()
    found.learn(env, steps=2_000_000)
    compiled = 2_000_000 / (time.perf_counter() - began)
    cells = f"{stepwise / 1e3:.0f}", f"{states:,}{same}", f"{seconds:.1f}", f"{compiled / 1e6:.1f}"
    return " | ".join((*cells, f"{compiled / stepwise:,.0f} |"))


def main() -> None:
    """Measure the environments of the command line, or all."""
    words = sys.argv[1:]
    if "--packages" in words:
        print(*PACKAGES)
        return
    print("| environment | stepwise, thousand steps/s | states | tabulated in s | million steps/s | ratio |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for name, make in CASES.items():
        if not words or any(word in name for word in words):
            noise = io.StringIO()
            with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells = line(make)
            print(f"| {name} | {cells}", flush=True)


if __name__ == "__main__":
    main()
