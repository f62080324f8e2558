"""Agents with eligibility traces in whole runs: what they equal, what they tend to, and that they are early."""

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.core.described import parameters as parameters_of

ONE_STEP = {
    rl.SarsaLambda: rl.Sarsa,
    rl.WatkinsQLambda: rl.QLearning,
    rl.NaiveQLambda: rl.QLearning,
    rl.PengQLambda: rl.QLearning,
}
COMMON = {
    "gamma": 0.95,
    "learning_rate": 0.3,
    "exploration": rl.EpsilonGreedy(0.3),
}


def same(one, other):
    """Whether two agents have learned the same, bit for bit."""
    return one.q_.tobytes() == other.q_.tobytes() and one.episodes_.tobytes() == other.episodes_.tobytes()


@pytest.mark.parametrize("kind", ONE_STEP)
def test_without_lambda_it_is_learning_from_one_step(kind):
    env = rl.testing.problems.corridor().to_env()
    traced = kind(**COMMON, lambda_=0.0).learn(env, steps=2_000, seed=3)
    assert traced.record_.loop == "compiled"
    assert same(traced, ONE_STEP[kind](**COMMON).learn(env, steps=2_000, seed=3))
    assert not same(traced, kind(**COMMON, lambda_=0.5).learn(env, steps=2_000, seed=3))


def test_true_online_sarsa_without_lambda_is_sarsa():
    """Up to rounding: the corrections cancel."""
    env = rl.testing.problems.corridor().to_env()
    exploration = rl.EpsilonGreedy(1.0)  # rounding must not change a choice
    agents = [rl.TrueOnlineSarsaLambda(lambda_=0.0, exploration=exploration), rl.Sarsa(exploration=exploration)]
    one, other = (agent.learn(env, steps=500, seed=3) for agent in agents)
    np.testing.assert_allclose(one.q_, other.q_, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "corridor") for kind in (*ONE_STEP, rl.TrueOnlineSarsaLambda)),
        (rl.SarsaLambda, "CliffWalking-v1"),
        (rl.WatkinsQLambda, "CliffWalking-v1"),
    ],
)
def test_both_loops_learn_the_same(kind, name):
    agents = []
    for loop in ("compiled", "stepwise"):  # the same types of parameters everywhere: each is compiled anew
        env = rl.testing.problems.corridor().to_env() if name == "corridor" else name
        agent = kind(**COMMON, lambda_=0.9)
        # learning goes on in the middle of an episode
        agents.append(agent.learn(env, steps=700, seed=7, loop=loop).learn(env, steps=300, loop=loop))
    assert same(*agents)
    assert [agent.record_.loop for agent in agents] == ["compiled", "stepwise"]
    assert agents[0].visits_.sum() == 1_000
    assert np.isfinite(agents[0].q_).all()


@pytest.mark.slow
@pytest.mark.parametrize("agent", [rl.SarsaLambda(traces="replacing"), rl.TrueOnlineSarsaLambda()])
@pytest.mark.parametrize("learning_rate", [0.1, 0.5])
def test_traces_are_early_on_the_windy_grid(agent, learning_rate):
    """The first fifty episodes take less than three quarters of the steps of Sarsa.

    Measured: 0.54 and 0.46 (step size 0.1), 0.59 and 0.62 (0.5), with standard errors of at most 0.014 over 30 seeds:
    the bound, less the five standard errors that the test asks for, is four more away.
    """
    steps = {}
    for other in (agent, rl.Sarsa()):
        common = {"gamma": 1.0, "learning_rate": learning_rate, "exploration": rl.EpsilonGreedy(0.1)}
        parameters = {**parameters_of(other), **common}
        results = rl.train(type(other)(**parameters), "rlsuite/WindyGrid-v0", episodes=50, seeds=30, regret=False)
        steps[type(other)] = np.array([record.episode_length.sum() for record in results.records])
    ratio = steps[type(agent)] / steps[rl.Sarsa].mean()
    standard_error = ratio.std(ddof=1) / np.sqrt(ratio.size)
    assert ratio.mean() + 5 * standard_error < 0.75


def small_world():
    """Three states, two actions, random successors: P (3, 2, 3), R (3, 2), and the model."""
    rng = np.random.default_rng(4)
    P, R = rng.dirichlet([0.5] * 3, size=(3, 2)), rng.normal(size=(3, 2))
    return P, R, rl.MDP.from_arrays(P, R, gamma=0.8, start=[1, 0, 0])


def mean_of_runs(agent, model, seeds=8, steps=400_000):
    """Mean and standard error of what several seeds have learned, shape (3, 2) each."""
    runs = []
    for seed in range(seeds):
        pupil = type(agent)(**parameters_of(agent))
        runs.append(pupil.learn(model.to_env(), steps=steps, seed=seed).q_)
    return np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(seeds)


@pytest.mark.slow
def test_naive_q_lambda_tends_to_the_optimum_while_lambda_is_small():
    """lambda = 0.1 < (1 - 0.8) / (2 * 0.8); all actions at random."""
    _, _, model = small_world()
    agent = rl.NaiveQLambda(
        gamma=0.8,
        lambda_=0.1,
        learning_rate=rl.Polynomial(1.0, power=0.8, per="visits"),
        exploration=rl.RandomActions(),
    )
    mean, standard_error = mean_of_runs(agent, model)
    assert standard_error.max() < 0.006
    assert np.abs(mean - rl.solve(model).q).max() < 5 * standard_error.max()


@pytest.mark.slow
def test_pengs_q_lambda_tends_to_something_between():
    """Of random actions: Q = r + gamma P [(1 - lambda) max Q + lambda mean Q], neither Q* nor that of the policy."""
    P, R, model = small_world()
    agent = rl.PengQLambda(
        gamma=0.8,
        lambda_=0.6,
        learning_rate=rl.Polynomial(1.0, power=0.8, per="visits"),
        exploration=rl.RandomActions(),
    )
    between = np.zeros((3, 2))
    for _ in range(500):
        between = R + 0.8 * P @ (0.4 * between.max(axis=1) + 0.6 * between.mean(axis=1))
    mean, standard_error = mean_of_runs(agent, model)
    assert standard_error.max() < 0.006
    assert np.abs(mean - between).max() < 5 * standard_error.max()
    evaluated = R + 0.8 * P @ rl.evaluate_policy(model, np.full((3, 2), 0.5))
    for other in (rl.solve(model).q, evaluated):
        assert np.abs(mean - other).max() > 50 * standard_error.max()
