"""With one-hot features every linear rule is a tabular one, to the last bit, in both loops.

The features are those of `VectorObservation.one_hot` and not of `OneHot`, so that the rules are compiled for the same
types as in all other tests; `test_ids_are_one_hot_vectors` says why that is enough.
"""

import inspect
import re

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation.linear.linear_agent import (
    GradientMonteCarlo,
    GradientMonteCarloControl,
    SemiGradientExpectedSarsa,
    SemiGradientNStepSarsa,
    SemiGradientNStepTD,
    SemiGradientQLambda,
    SemiGradientQLearning,
    SemiGradientSarsaLambda,
    SemiGradientTD,
    SemiGradientTDLambda,
    TrueOnlineLinearSarsaLambda,
    TrueOnlineLinearTDLambda,
)

pytestmark = pytest.mark.arithmetic

CONTROL = {
    SemiGradientQLearning: rl.QLearning,
    SemiGradientExpectedSarsa: rl.ExpectedSarsa,
    SemiGradientSarsaLambda: rl.SarsaLambda,
    SemiGradientQLambda: rl.WatkinsQLambda,
    TrueOnlineLinearSarsaLambda: rl.TrueOnlineSarsaLambda,
    SemiGradientNStepSarsa: rl.NStepSarsa,
    GradientMonteCarloControl: rl.NStepSarsa,
}
PREDICTION = {
    GradientMonteCarlo: rl.EveryVisitMonteCarlo,
    SemiGradientTD: rl.TD,
    SemiGradientNStepTD: rl.NStepTD,
    SemiGradientTDLambda: rl.TDLambda,
    TrueOnlineLinearTDLambda: rl.TrueOnlineTDLambda,
}
COMMON = {"gamma": 0.95, "learning_rate": 0.3}
GREEDY = {"exploration": rl.EpsilonGreedy(0.3)}
STEPS = {  # to look ahead, for those that do and for their twins
    SemiGradientNStepSarsa: ({"n": 3}, {"n": 3}),
    GradientMonteCarloControl: ({}, {"n": 5_000}),  # more than any episode has
}


@pytest.mark.parametrize("kind", [kind for kind in CONTROL | PREDICTION if kind is not GradientMonteCarloControl])
def test_every_parameter_is_described(kind):
    """Also those that it has from the agent whose rule it has."""
    words = inspect.getdoc(kind)
    described = words.partition("Parameters\n")[2].partition("Attributes\n")[0]
    assert re.findall(r"^(\w+) : ", described, re.MULTILINE) == list(inspect.signature(kind).parameters)
    assert "S&B2" in words.splitlines()[0]
    assert "weights_ : " in words


def walk(kind):
    """The random walk; some of its episodes are cut off."""
    return gymnasium.make("rlsuite/RandomWalk-v0", max_episode_steps=6)


def same(linear, table, learned):
    return linear.weights_.tobytes() == learned.tobytes() and linear.episodes_.tobytes() == table.episodes_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONTROL)
def test_control(kind):
    own, of_twin = STEPS.get(kind, ({}, {}))
    table = CONTROL[kind](**COMMON, **GREEDY, **of_twin).learn(walk(kind), steps=1_000, seed=7)
    assert table.q_.any()
    for loop in ("compiled", "stepwise"):
        env = rl.VectorObservation.one_hot(walk(kind))
        agent = kind(**COMMON, **GREEDY, **own).learn(env, steps=700, seed=7, loop=loop)
        assert same(agent.learn(env, steps=300, loop=loop), table, table.q_)


@pytest.mark.cases("SemiGradientTD")
@pytest.mark.parametrize("kind", PREDICTION)
def test_prediction(kind):
    table = PREDICTION[kind](**COMMON).learn(walk(kind), steps=1_000, seed=7)
    assert table.value_.any()
    for loop in ("compiled", "stepwise"):
        env = rl.VectorObservation.one_hot(walk(kind))
        agent = kind(**COMMON).learn(env, steps=700, seed=7, loop=loop)
        assert same(agent.learn(env, steps=300, loop=loop), table, table.value_)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 9])
def test_n_steps_of_prediction(n):
    """Episodes are shorter and longer than n, and some are cut off; the step size is that of the time of learning."""
    options = {"gamma": 0.95, "n": n, "learning_rate": rl.Inverse(0.5, 100, per="steps")}
    table = rl.NStepTD(**options).learn(walk(SemiGradientNStepTD), steps=1_000, seed=7)
    for loop in ("compiled", "stepwise"):
        env = rl.VectorObservation.one_hot(walk(SemiGradientNStepTD))
        agent = SemiGradientNStepTD(**options).learn(env, steps=1_000, seed=7, loop=loop)
        assert same(agent, table, table.value_)


def test_the_ends_of_n_steps():
    """One step is TD(0); as many as an episode has are Monte Carlo."""
    table = rl.EveryVisitMonteCarlo(**COMMON).learn(walk(SemiGradientNStepTD), steps=1_000, seed=7)
    env = rl.VectorObservation.one_hot(walk(SemiGradientNStepTD))
    assert same(SemiGradientNStepTD(**COMMON, n=6).learn(env, steps=1_000, seed=7), table, table.value_)
    table = rl.TD(**COMMON).learn(walk(SemiGradientNStepTD), steps=1_000, seed=7)
    assert same(SemiGradientNStepTD(**COMMON, n=1).learn(env, steps=1_000, seed=7), table, table.value_)


@pytest.mark.slow
@pytest.mark.parametrize("traces", ["replacing", "dutch", "clearing"])
def test_other_traces(traces):
    env = walk(SemiGradientSarsaLambda)
    table = rl.SarsaLambda(**COMMON, **GREEDY, traces=traces).learn(env, steps=1_000, seed=7)
    agent = SemiGradientSarsaLambda(**COMMON, **GREEDY, traces=traces)
    assert same(agent.learn(rl.VectorObservation.one_hot(env), steps=1_000, seed=7), table, table.q_)


def test_ids_are_one_hot_vectors():
    """`OneHot` lists the one feature that is not 0; the others would add zeros to sums, and 0 to weights."""
    policy = np.random.default_rng(3).dirichlet(np.ones(4), size=16)  # each id has its own
    table = rl.TD(**COMMON, policy_to_follow=policy, initial_value=0.5).learn("FrozenLake-v1", steps=1_000, seed=7)
    agent = SemiGradientTD(**COMMON, policy_to_follow=policy, initial_weight=0.5)
    assert same(agent.learn("FrozenLake-v1", steps=1_000, seed=7), table, table.value_)
    assert agent.value().tolist() == table.value_.tolist()


@pytest.mark.slow
def test_hints_about_actions_are_no_law():
    """Taxi's table knows every action everywhere; the masks in its info leave out those that do nothing."""
    learn = {"steps": 1_500, "seed": 7, "evaluate_every": 750}
    table = rl.ExpectedSarsa(**COMMON, **GREEDY).learn("Taxi-v4", **learn, loop="stepwise")
    for loop in ("compiled", "stepwise"):
        env = rl.VectorObservation.one_hot(gymnasium.make("Taxi-v4"))
        agent = SemiGradientExpectedSarsa(**COMMON, **GREEDY)
        assert same(agent.learn(env, **learn, loop=loop), table, table.q_)
