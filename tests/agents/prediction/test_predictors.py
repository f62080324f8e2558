"""Predictors against their equations, written down again in plain Python, and against each other."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import LearningError, ParameterError

AGENTS = {
    "every visit": rl.EveryVisitMonteCarlo(learning_rate=0.3),
    "first visit": rl.FirstVisitMonteCarlo(learning_rate=0.3),
    "n steps": rl.NStepTD(n=3),
    "TD(lambda)": rl.TDLambda(),
    "true online": rl.TrueOnlineTDLambda(),
    "lambda-return": rl.OfflineLambdaReturn(),
    "batch Monte Carlo": rl.BatchMonteCarlo(),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_abandoned_episode_leaves_nothing_behind(memory_of, random_episodes, walk, name):
    agent = AGENTS[name]
    first, second = [(0, 1.0, 1, False, False), (1, 2.0, 2, False, False)], random_episodes(3)[0]
    memory = memory_of(agent)
    walk(agent, memory, first)
    fresh = memory_of(agent)
    fresh.q[:] = memory.q
    assert np.array_equal(walk(agent, memory, second), walk(agent, fresh, second))


@pytest.mark.parametrize("kind", [rl.TD, rl.FirstVisitMonteCarlo, rl.BatchTD])
def test_all_have_the_values_of_some_states(kind):
    agent = kind().learn("FrozenLake-v1", steps=300, seed=1)
    assert agent.value().tobytes() == agent.value_.tobytes()
    assert agent.value([3, 14]).tolist() == [agent.value_[3], agent.value_[14]]
    with pytest.raises(ParameterError, match=r"observation 16 is not in 0\.\.15"):
        agent.value(16)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["every visit", "lambda-return", "first visit", "batch Monte Carlo"])
def test_episodes_may_be_too_long_to_remember(name):
    """A way of four steps fits into a buffer of four, and not into one of three."""
    way = rl.MDP.from_successors([[1], [2], [3], [4], [4]], [1.0] * 5, gamma=1.0, start=0, terminated=[0, 0, 0, 0, 1])
    kind = type(AGENTS[name])
    long_enough = kind(gamma=1.0, longest_episode=4).learn(way.to_env(), episodes=2, seed=0)
    if name in ("first visit", "batch Monte Carlo"):
        assert long_enough.value_.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]
    for loop in ("compiled", "stepwise"):
        with pytest.raises(LearningError, match="longer than the agent can store; give the agent a larger longest_ep"):
            kind(gamma=1.0, longest_episode=3).learn(way.to_env(), episodes=2, seed=0, loop=loop)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.NStepTD(n=0), "n=0 is less than 1"),
        (lambda: rl.NStepTD(n=2.0), "n=2.0 is not a whole number"),
        (lambda: rl.NStepTD(n=10**15), "n=1000000000000000 needs 24,000,000 GB"),
        (lambda: rl.TDLambda(lambda_=1.5), "lambda_=1.5 is not in [0, 1]"),
        (lambda: rl.TDLambda(traces="acumulating"), "did you mean 'accumulating'"),
        (lambda: rl.TrueOnlineTDLambda(lambda_=-0.1), "lambda_=-0.1 is not in [0, 1]"),
        (lambda: rl.OfflineLambdaReturn(lambda_="1"), "lambda_='1' is not a finite number"),
        (lambda: rl.OfflineLambdaReturn(longest_episode=0), "longest_episode=0 is less than 1"),
        (lambda: rl.EveryVisitMonteCarlo(longest_episode=1.5), "longest_episode=1.5 is not a whole number"),
        (lambda: rl.FirstVisitMonteCarlo(learning_rate=2.0), "learning_rate=2.0 lies outside [0, 1]"),
        (lambda: rl.BatchMonteCarlo(longest_episode=0), "longest_episode=0 is less than 1"),
        (lambda: rl.BatchTD(gamma=2.0), "gamma=2 is not in [0, 1]"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ParameterError) as info:
        make()
    assert message in str(info.value)
