"""An agent of a user's own: two functions, and it has both loops, seeds, curves and files."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

import rlsuite as rl

SCRIPT = """
from typing import NamedTuple
import numpy as np
import rlsuite as rl

class Memory(NamedTuple):
    preference: np.ndarray
    legal: np.ndarray

@rl.compiled
def begin(memory, state, rng):
    return int(memory.preference[state].argmax())

@rl.compiled
def step(memory, t, rng):
    memory.preference[t.state, t.action] += t.reward - 0.01
    return begin(memory, t.next_state, rng)

class WinStay(rl.Agent):
    begin = begin
    step = step

    def init_memory(self, legal, legality):
        return Memory(np.zeros(legal.shape), legal)

for loop in ("compiled", "stepwise"):
    agent = WinStay().learn("FrozenLake-v1", steps=1_000, seed=1, loop=loop)
    print(agent.preference_.sum(), agent.record_.loop)
"""


@pytest.mark.slow
def test_a_memory_of_ones_own_in_a_script_leaves_no_files_behind(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    outputs, files = [], []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout.split())
        files.append(sorted(str(path) for path in (tmp_path / "cache").rglob("*.nb?")))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == outputs[0][2]
    assert outputs[0][1::2] == ["compiled", "stepwise"]
    assert files[0] == files[1]


OWN_FILE = """
from typing import NamedTuple
import numpy as np
import rlsuite as rl

CHANCES = ({first}, 0.1)

class Memory(NamedTuple):
    q: np.ndarray
    legal: np.ndarray

@rl.compiled(in_place=True)
def expected(memory, state):
    return CHANCES[0] * rl.max_value(memory, state) + CHANCES[1] * memory.q[state].mean()

@rl.compiled
def expected_sarsa(memory, t, rng):
    target = t.reward if t.terminated else t.reward + memory.gamma * expected(memory, t.next_state)
    memory.q[t.state, t.action] += rl.step_size(memory, t.state, t.action) * (target - memory.q[t.state, t.action])
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return rl.choose(memory, t.next_state, rng)

class CautiousSarsa(rl.TabularAgent):
    step = expected_sarsa

@rl.compiled
def begin(memory: Memory, state, rng):
    return int(memory.q[state].argmax())

@rl.compiled
def step(memory: Memory, t, rng):
    memory.q[t.state, t.action] += CHANCES[0] * t.reward - 0.01
    return begin(memory, t.next_state, rng)

class WinStay(rl.Agent):
    begin = begin
    step = step

    def init_memory(self, legal, legality):
        return Memory(np.zeros(legal.shape), legal)
"""
LEARN = """
import sys
from pathlib import Path
import rlsuite as rl
from rlsuite.experiments.lookup import find_agent_class
from rlsuite.training import kernels

{get}
for kind in (CautiousSarsa, WinStay):
    agent = kind().learn("CliffWalking-v1", steps=300, seed=0)
    print(agent.q_.sum(), agent.record_.loop)
print(sum(kernels.run_compiled.dispatcher.stats.cache_misses.values()))
"""
WAYS = {
    "imported": "sys.path.insert(0, 'package')\nfrom lab import CautiousSarsa, WinStay",
    "imported from a package": "from package.lab import CautiousSarsa, WinStay",
    "named": "CautiousSarsa, WinStay = [find_agent_class('package/lab.py:' + a) for a in ('CautiousSarsa', 'WinStay')]",
    "run": "exec(compile(open('package/lab.py').read(), 'package/lab.py', 'exec'))",
}


def learn_in(folder, way, cache):
    """What the agents of a file learn, and how many loops were compiled for that."""
    program = LEARN.replace("{get}", WAYS[way])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *learned, misses = done.stdout.splitlines()
    return learned, int(misses)


def write_lab(folder, first):
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "lab.py").write_text(OWN_FILE.format(first=first))


@pytest.mark.parametrize(
    "ways",
    [("imported", "named", "imported"), ("named", "imported from a package", "run", "named")],
    ids=" then ".join,
)
@pytest.mark.slow
def test_a_file_may_be_known_under_several_names(tmp_path, ways):
    write_lab(tmp_path, 0.9)
    first, _ = learn_in(tmp_path, ways[0], tmp_path / "cache")
    assert [line.split()[1] for line in first] == ["compiled", "compiled"]
    for way in ways[1:]:
        again, misses = learn_in(tmp_path, way, tmp_path / "cache")
        assert again == first
        # only a memory of the file's own has a name of its own under each name of the file
        assert misses <= 1
    assert misses == 0  # the last way had been gone before


@pytest.mark.slow
def test_files_of_one_name_in_different_folders_do_not_meet(tmp_path):
    learned = []
    for folder, first in (("one", 0.9), ("other", 0.5)):
        write_lab(tmp_path / folder, first)
        learned.append(learn_in(tmp_path / folder, "imported", tmp_path / "cache")[0])
    for mine, others in zip(*learned, strict=True):
        assert mine != others


@rl.compiled
def evaluate_random(memory, t, rng):
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.q[t.next_state].mean()
    memory.q[t.state, t.action] += rl.step_size(memory, t.state, t.action) * (target - memory.q[t.state, t.action])
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return rl.choose(memory, t.next_state, rng)


class RandomWalker(rl.TabularAgent):
    step = evaluate_random


@pytest.fixture
def walker():
    return RandomWalker(
        gamma=0.9, learning_rate=rl.Inverse(1.0, scale=20.0, per="visits"), exploration=rl.EpsilonGreedy(1.0)
    )


@pytest.mark.slow
def test_it_learns_what_it_should(walker):
    """The value of the uniform policy, against a linear system: 2 % of the largest value after 10,000 visits."""
    walker.learn("FrozenLake-v1", steps=5_000_000, seed=0)
    mdp = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    value = rl.evaluate_policy(mdp, np.full((16, 4), 0.25))
    visited = walker.visits_.sum(axis=1) > 10_000
    assert visited.sum() > 8
    assert np.abs(walker.q_.mean(axis=1) - value)[visited].max() < 0.02 * value.max()


@pytest.mark.slow
def test_it_has_both_loops_files_and_results(walker, tmp_path):
    compiled = walker.learn("Taxi-v4", steps=2_000, seed=4, loop="compiled").q_.copy()
    stepwise = dataclasses.replace(walker).learn("Taxi-v4", steps=2_000, seed=4, loop="stepwise").q_
    assert stepwise.tobytes() == compiled.tobytes()
    walker.save(tmp_path / "walker.npz")
    assert rl.load(tmp_path / "walker.npz").q_.tobytes() == compiled.tobytes()
    results = rl.train(walker, "Taxi-v4", steps=500, seeds=3, evaluate_every=250)
    assert results.agent == "RandomWalker"
    assert results.stacked("evaluation").shape == (3, 2)


class TooShort(rl.TabularAgent):
    step = rl.compiled(lambda memory, rng: 0)


def test_a_rule_with_other_parameters_is_refused_with_the_form_that_is_expected():
    with pytest.raises(
        rl.errors.ParameterError, match=r"TooShort\.step has the parameters \(memory, rng\), but should"
    ):
        TooShort().learn("CliffWalking-v1", steps=10)
