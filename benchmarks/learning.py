"""How fast rlsuite learns, beside what it is measured against: ``python benchmarks/learning.py``.

Prints a table of ratios with their targets; ends with status 1 if one is missed. Takes about eight minutes, and wants
a machine with two idle cores for the comparisons of two threads. Every figure is the median of several rounds in which
the sides are run in turn (see measuring.py); times are processor time of one thread unless said otherwise. On first use
MushroomRL and rlberry are installed (see peers.py), which is some gigabytes. ``--only WORD`` runs the parts whose
headings contain the word.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import by_hand
import gymnasium
import in_python
import learning_peers
import numpy as np
from gymnasium.utils import seeding
from measuring import ROUNDS, Line, Target, in_turn, print_heading, print_line, rate, seconds, speed_up_of_the_machine

import rlsuite as rl

CASES = ("CliffWalking-v1", "Taxi-v4", "FrozenLake8x8-v1")
GAMMA, LEARNING_RATE, EPSILON = 0.99, 0.5, 0.1
SEED = 7

STEPS_IN_PYTHON = 50_000
STEPS_COMPILED = 3_000_000
STEPS_ON_THREADS = 40_000_000
COPIES = 4_096


def new_agent() -> rl.QLearning:
    """The learner of all comparisons."""
    return rl.QLearning(gamma=GAMMA, learning_rate=LEARNING_RATE, exploration=rl.EpsilonGreedy(EPSILON))


def learning(env_id: str, loop: str, steps: int) -> float:
    """Seconds per step of rlsuite; making the environment and checking its table are not counted."""
    agent = new_agent().learn(env_id, steps=1, seed=SEED, loop=loop)
    return seconds(lambda: agent.learn(env_id, steps=steps, record_every=steps, loop=loop)) / steps


def against_python(env_id: str) -> Iterator[Line]:
    """(a) The compiled loop, and a plain Python loop over the same environment."""
    env = gymnasium.make(env_id)
    loops = {"NumPy rows": in_python.q_learning_on_rows, "lists": in_python.q_learning_on_lists}
    for name, loop in loops.items():
        work = partial(loop, env, STEPS_IN_PYTHON, GAMMA, LEARNING_RATE, EPSILON)
        ours, theirs, ratio = in_turn(
            partial(learning, env_id, "compiled", STEPS_COMPILED),
            lambda work=work: seconds(work) / STEPS_IN_PYTHON,
        )
        detail = f"{rate(ours)} against {rate(theirs)}"
        yield Line(f"{env_id}: times as fast as plain Python, {name}", ratio, "x", Target(">=", 100), detail)


def against_hand(env_id: str) -> Iterator[Line]:
    """(b) The compiled loop, and a numba loop written for the one case, on the same trajectory."""
    mdp = rl.MDP.from_env(env_id, gamma=GAMMA)
    limit = gymnasium.spec(env_id).max_episode_steps or np.iinfo(np.int64).max
    loop = by_hand.q_learning(mdp, LEARNING_RATE, EPSILON, limit)
    q = np.zeros((mdp.n_states, mdp.n_actions))

    def cost() -> float:
        q[:] = 0.0
        # the generators that `learn(seed=SEED)` gives to the agent and to the environment
        agent_seed, env_seed, _ = np.random.SeedSequence(SEED).spawn(3)
        rng = np.random.default_rng(agent_seed)
        env_rng, _ = seeding.np_random(int(env_seed.generate_state(1)[0]))
        return seconds(lambda: loop(q, rng, env_rng, STEPS_COMPILED)) / STEPS_COMPILED

    cost()  # compiles
    if not np.array_equal(q, new_agent().learn(env_id, steps=STEPS_COMPILED, seed=SEED, loop="compiled").q_):
        raise SystemExit(f"{env_id}: the hand-written loop took another path, so there is nothing to compare")
    theirs, ours, ratio = in_turn(cost, partial(learning, env_id, "compiled", STEPS_COMPILED), rounds=9)
    detail = f"{ours * 1e9:.1f} ns a step against {theirs * 1e9:.1f} ns, same trajectory"
    yield Line(f"{env_id}: time, in times of a hand-written loop", ratio, "x", Target("<=", 1.5), detail)


def two_threads(env_id: str) -> Iterator[Line]:
    """(c) Two seeds on two threads, and one after the other. Wall-clock time.

    Only rounds count before and after which the machine did have two cores to give.
    """

    def wall(workers: int) -> float:
        train = partial(rl.train, new_agent(), env_id, steps=STEPS_ON_THREADS, seeds=2, loop="compiled", regret=False)
        return seconds(lambda: train(workers=workers), time.perf_counter)

    wall(2)  # compiles
    rounds: list[float] = []
    for _ in range(100):
        if len(rounds) < ROUNDS and speed_up_of_the_machine() > 1.9:
            taken = {workers: wall(workers) for workers in ((1, 2), (2, 1))[len(rounds) % 2]}
            if speed_up_of_the_machine() > 1.9:
                rounds.append(taken[1] / taken[2])
    what = f"{env_id}: two seeds, speed-up by a second thread"
    if not rounds:
        yield Line(what, float("nan"), "x", None, "not measured: this machine never had two free cores")
        return
    detail = f"{len(rounds)} rounds, {STEPS_ON_THREADS:,} steps each"
    yield Line(what, statistics.median(rounds), "x", Target(">=", 1.8), detail)


def stepwise(env_id: str) -> Iterator[Line]:
    """(d) The stepwise loop, which learns, and bare steps with random actions, which do not.

    Random steps draw their actions from the action space, and the target is for that; the second line is against
    actions that were drawn before the clock started.
    """
    env = gymnasium.make(env_id)
    n_actions = int(env.action_space.n)
    drawn = np.random.default_rng(SEED).integers(n_actions, size=STEPS_IN_PYTHON).tolist()

    def bare(ready: bool) -> float:
        action = iter(drawn).__next__ if ready else env.action_space.sample
        return seconds(lambda: in_python.step_at_random(env, STEPS_IN_PYTHON, action)) / STEPS_IN_PYTHON

    for ready, name in ((False, "sampled"), (True, "ready-made")):
        ours, theirs, ratio = in_turn(partial(learning, env_id, "stepwise", STEPS_IN_PYTHON), partial(bare, ready))
        detail = f"{rate(ours)} against {rate(theirs)}"
        target = None if ready else Target(">=", 0.8)
        yield Line(f"{env_id}: speed, in speeds of bare steps, {name} actions", ratio, "x", target, detail)


def many_copies() -> Iterator[Line]:
    """(e) Thousands of copies at once, in NumPy and by Gymnasium's SyncVectorEnv."""
    ours = rl.TabularVectorEnv.from_env("FrozenLake-v1", num_envs=COPIES)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")] * COPIES)
    actions = np.random.default_rng(SEED).integers(4, size=(20, COPIES))

    def cost(envs: gymnasium.vector.VectorEnv[Any, Any, Any], repeat: int) -> float:
        envs.reset(seed=SEED)
        return seconds(lambda: [envs.step(chosen) for _ in range(repeat) for chosen in actions]) / repeat / actions.size

    fast, slow, ratio = in_turn(partial(cost, ours, 50), partial(cost, theirs, 1))
    detail = f"{rate(fast)} against {rate(slow)}"
    yield Line(f"{COPIES} FrozenLakes: times as fast as SyncVectorEnv", ratio, "x", Target(">=", 100), detail)


def big_grid() -> Iterator[Line]:
    """(f) A grid of a million squares, in a process of its own. Wall-clock time."""
    script = Path(__file__).with_name("big_grid.py")
    found = json.loads(subprocess.run([sys.executable, script], check=True, stdout=subprocess.PIPE).stdout)
    detail = f"{found['states']:,} states, {found['transitions']:,} transitions"
    yield Line("1000 x 1000 grid: built in", found["build_seconds"], "s", Target("<=", 20), detail)
    detail = f"{found['gb_before']:.2f} GB before it is built, {found['gb_built']:.2f} GB after"
    yield Line("1000 x 1000 grid: peak memory, learning included", found["gb_peak"], "GB", Target("<=", 1.5), detail)
    detail = f"{found['first_step_seconds']:.2f} s from the environment to the first step"
    yield Line("1000 x 1000 grid: millions of steps per second", found["steps_per_second"] / 1e6, "", None, detail)


def for_all_cases(part: Callable[[str], Iterator[Line]]) -> Iterator[Line]:
    """Lines of a part for each of the three environments."""
    for env_id in CASES:
        yield from part(env_id)


PARTS = {
    "Compiled Q-learning against plain Python": partial(for_all_cases, against_python),
    "Compiled Q-learning against a numba loop written for the one case": partial(for_all_cases, against_hand),
    "Two threads": partial(for_all_cases, two_threads),
    "Stepwise Q-learning against bare steps": partial(for_all_cases, stepwise),
    "Vector environment": many_copies,
    "Large grid": big_grid,
    "Sarsa(lambda) against numba loops written for the one case": partial(
        for_all_cases, learning_peers.traces_against_hand
    ),
    "Sarsa(lambda) against MushroomRL and plain Python": partial(for_all_cases, learning_peers.traces_against_others),
    "Q-learning from many seeds on two cores": learning_peers.many_seeds,
}


def main() -> int:
    """Run all parts; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="How fast rlsuite learns, beside what it is measured against.")
    parser.add_argument("--only", metavar="WORD", default="", help="run the parts whose headings contain it")
    word = parser.parse_args().only.lower()
    chosen = {heading: part for heading, part in PARTS.items() if word in heading.lower()}
    if not chosen:
        parser.error(f"no part is about {word!r}; there are: {', '.join(PARTS)}")
    missed = 0
    for heading, part in chosen.items():
        print_heading(heading)
        for line in part():
            print_line(line)
            missed += line.target is not None and not line.target.met(line.measured)
    print(f"\n{missed or 'no'} target{'' if missed == 1 else 's'} missed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
