"""Rules of version 0.1, which read state values as ``memory.value[state]``."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.agents.state_values import reads_state_values
from rlsuite.errors import FormerSignatureWarning


@rl.compiled
def former_td(memory, t, rng):
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.value[t.next_state]
    alpha = rl.value_step_size(memory, t.state)
    memory.value[t.state] += alpha * (target - memory.value[t.state])
    over = t.terminated or t.truncated
    rl.count_state(memory, t.state, over)
    return -1 if over else rl.follow(memory, t.next_state, rng)


@rl.compiled
def td(memory, t, rng):
    """The same as it is written now."""
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.q[t.next_state, 0]
    alpha = rl.step_size(memory, t.state, 0)
    memory.q[t.state, 0] += alpha * (target - memory.q[t.state, 0])
    over = t.terminated or t.truncated
    rl.count(memory, t.state, 0, over)
    return -1 if over else rl.follow(memory, t.next_state, rng)


def agents():
    """Agents with the former rule, with the present one, and the built-in one."""

    class FormerTD(rl.Predictor):
        step = former_td

    class OwnTD(rl.Predictor):
        step = td

    return [kind(learning_rate=rl.Inverse(1.0, per="visits")) for kind in (FormerTD, OwnTD, rl.TD)]


@pytest.mark.slow
def test_former_rules_learn_the_same_from_a_view():
    former, own, built_in = agents()
    for loop in ("stepwise", "compiled"):
        with pytest.warns(FormerSignatureWarning, match=r"FormerTD reads state values .* write memory\.q\[s, 0]"):
            former.learn("FrozenLake-v1", steps=2_000, seed=1, loop=loop)
        for agent in (own, built_in):
            agent.learn("FrozenLake-v1", steps=2_000, seed=1, loop=loop)
            assert agent.value_.tobytes() == former.value_.tobytes()
            assert agent.visits_.tobytes() == former.visits_.tobytes()
    assert former.visits_.shape == former.value_.shape == (16,)
    assert former.visits_.sum() == 4_000


def test_former_rules_go_on_with_what_they_have_learned():
    whole = agents()[0]
    halves = type(whole)(learning_rate=whole.learning_rate)
    with pytest.warns(FormerSignatureWarning):
        whole.learn("FrozenLake-v1", steps=300, seed=1, loop="stepwise")
    with pytest.warns(FormerSignatureWarning):
        halves.learn("FrozenLake-v1", steps=100, seed=1, loop="stepwise").learn("FrozenLake-v1", steps=200)
    assert whole.value_.tobytes() == halves.value_.tobytes()
    assert whole.episodes_["length"].sum() == halves.episodes_["length"].sum()


def test_only_former_rules_read_the_field():
    former, own, built_in = agents()
    assert reads_state_values(former.step)
    for agent in (own, built_in, rl.TDLambda(), rl.EveryVisitMonteCarlo(), rl.BatchTD(), rl.OfflineLambdaReturn()):
        assert not reads_state_values(agent.step), agent
    assert not reads_state_values(np.sum)
