"""Mistakes in a rule of one's own are named where they are made, in Python and in machine code."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.approximation import BoundedMap, FeatureRule
from rlsuite.errors import CompilationError, ConformanceError, LearningError, ParameterError


@rl.compiled
def always(memory, state, rng):
    return 0


@rl.compiled
def first_none(memory, state, rng):
    memory.visits[state, 0] += 1


@rl.compiled
def no_return(memory, t, rng):
    memory.q[t.state, t.action] += 0.1


@rl.compiled
def at_times(memory, t, rng):
    if t.reward > 1.0:
        return 1


@rl.compiled
def half(memory, t, rng):
    return 0.5


@rl.compiled
def left(memory, t, rng):
    return "left"


@rl.compiled
def beyond(memory, t, rng):
    memory.q[t.state + 1, t.action] += t.reward
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return rl.choose(memory, t.next_state, rng)


@rl.compiled
def far_beyond(memory, t, rng):
    memory.q[t.state + 1_000, 0] += 1.0
    return 0


@rl.compiled
def seeking_beyond(memory, t, rng):  # Python and machine code may differ in argmax: it is not run in Python
    return np.argmax(memory.q[t.state + 1_000])


@rl.compiled
def without_a_value(memory, t, rng):
    if t.reward > 5.0:
        action = 1
    return action


@rl.compiled
def short(memory, rng):
    return 0


@rl.compiled(in_place=True)
def too_large(data, observation, indices, values):
    indices[0], values[0] = 5_000, 1.0
    return 1


@rl.compiled(in_place=True)
def listing_nothing(data, observation, indices, values):
    indices[0], values[0] = 0, 1.0


@dataclasses.dataclass(eq=False, repr=False)
class Own(BoundedMap):
    lists: Any = None

    def lay_out(self):
        self.n_features_out_ = self.most_active_ = 3

    @property
    def rule(self):
        return FeatureRule(self.lists, ())


def agent(step, begin=always):
    kind = type("Mine", (rl.TabularAgent,), {"begin": begin, "step": step})
    return kind()


WRONG = [
    (no_return, always, r"no_return\(\), line \d+ of test_rule_answers.py, returns None; step has to return the next"),
    (
        at_times,
        always,
        r"at_times\(\), line .* returns None.*: end every way through it with return, for example return",
    ),
    (half, always, r"half\(\), line .* returns float\d*; .* a whole number: round it with int"),
    (left, always, r"left\(\), line .* returns str; .* a whole number: return the number of the action"),
    (beyond, first_none, r"first_none\(\), line .* returns None; begin has to return the first action of an episode"),
]


def test_answers_that_are_no_actions_are_named_by_their_function():
    for loop in ("auto", "stepwise"):
        for step, begin, message in WRONG:
            with pytest.raises(CompilationError, match=message):
                agent(step, begin).learn("FrozenLake-v1", steps=20, seed=1, loop=loop)
        with pytest.raises(LearningError, match=r"far_beyond\(\), `memory.q.*`: index 1000 is out of bounds"):
            agent(far_beyond).learn("FrozenLake-v1", steps=20, seed=1, loop=loop)
    for loop in ("auto", "compiled"):
        with pytest.raises(LearningError, match=r"in seeking_beyond\(\), `return np.argmax.*: index 1000 is out"):
            agent(seeking_beyond).learn("FrozenLake-v1", steps=20, seed=1, loop=loop)
    with pytest.raises(LearningError, match=r"in without_a_value\(\), `return action`: cannot access local"):
        agent(without_a_value).learn("FrozenLake-v1", steps=20, seed=1)
    with pytest.raises(ParameterError, match=r"Mine.begin has the parameters \(memory, rng\), but should have \(mem"):
        agent(beyond, short).learn("FrozenLake-v1", steps=20, seed=1)
    with pytest.raises(ParameterError, match=r"Stepless.step is missing: write a function outside of the cl"):
        type("Stepless", (rl.TabularAgent,), {})()
    with pytest.raises(ParameterError, match=r"Bare.init_memory is missing: derive Bare from rlsuite.Tab"):
        type("Bare", (rl.Agent,), {"step": beyond, "begin": always})().learn("FrozenLake-v1", steps=20, seed=1)
    with pytest.raises(ParameterError, match=r"Bare.begin is missing: derive from rlsuite.TabularAgent, whi"):
        type("Bare", (rl.Agent,), {"step": beyond})().learn("FrozenLake-v1", steps=20, seed=1)
    with pytest.raises(ParameterError, match=r"Mine.step is not a compiled function: write a function outside of the"):
        agent(no_return.function).learn("FrozenLake-v1", steps=20, seed=1)
    with pytest.raises(ConformanceError, match=r"in beyond\(\), `memory.q\[t.state \+ 1, .*: index . is out of bounds"):
        rl.testing.check_agent(agent(beyond, rl.TabularAgent.begin))


def test_features_of_ones_own_are_answered_as_well():
    wrong = [
        (too_large, LearningError, "index 5000 is out of bounds .* a function of yours has given an index"),
        (listing_nothing, CompilationError, r"listing_nothing\(\), line .* returns None, and its result is needed"),
        (too_large.function, CompilationError, r"too_large\(\), line .* is a plain function: write @rlsuite.compiled"),
    ]
    for lists, error, message in wrong:
        with pytest.raises(error, match=message):
            rl.Sarsa(features=Own(lists)).learn("MountainCar-v0", steps=10, seed=1)


@pytest.mark.slow
def test_machine_code_that_returns_no_action_is_refused_as_well(monkeypatch):
    monkeypatch.setattr("rlsuite.training.engines.look_for_mistakes", lambda kernel, arguments: None)
    monkeypatch.setattr("rlsuite.training.replicas.look_for_mistakes", lambda kernel, arguments: None)
    for step, begin, message in WRONG:
        with pytest.raises(CompilationError, match=message) as told:
            agent(step, begin).learn("FrozenLake-v1", steps=20, seed=1, loop="compiled")
        assert told.value.__suppress_context__
        with pytest.raises(CompilationError, match=message):
            rl.train(agent(step, begin), "FrozenLake-v1", steps=20_000, seeds=2)
