"""Control methods against the planner, and against the published figures."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.exploration import EpsilonGreedy
from rlsuite_envs.blackjack import END, HANDS, HIT, STICK, blackjack, observation_of

RANDOM = {"gamma": 0.9, "exploration": EpsilonGreedy(1.0)}
FADING = {**RANDOM, "learning_rate": rl.Polynomial(1.0, power=0.8, per="visits")}


def chance():
    """A problem of chance with illegal actions, of five states of which the last is the end; cut after 12 steps."""
    rng = np.random.default_rng(4)
    legal = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]], dtype=bool)
    P = rng.dirichlet(np.ones(5), size=(5, 3)) * legal[:, :, None]
    model = rl.MDP.from_arrays(P, rng.normal(size=(5, 3)), gamma=0.9, legal=legal, start=0)
    return gymnasium.wrappers.TimeLimit(model.to_env(), 12)


PROBLEMS = {
    "chance": chance,
    "grid": lambda: gymnasium.make("rlsuite/NondeterministicGridGoal-v0"),
    "field": lambda: gymnasium.make("rlsuite/GridGoal-v0"),
}

OFF_POLICY = {
    "double q": lambda: rl.DoubleQLearning(**FADING),
    "tree backup": lambda: rl.NStepTreeBackup(n=3, **FADING),
    "q(sigma)": lambda: rl.NStepQSigma(n=3, sigma=rl.Linear(0.5, 0.5, over=1), target_policy="greedy", **FADING),
    "off-policy monte carlo": lambda: rl.OffPolicyMonteCarlo(**RANDOM),
    "speedy q": lambda: rl.SpeedyQLearning(**RANDOM),
}
ON_POLICY = {
    "expected sarsa": lambda: rl.ExpectedSarsa(**FADING),
    "double expected sarsa": lambda: rl.DoubleExpectedSarsa(**FADING),
    "n-step sarsa": lambda: rl.NStepSarsa(n=3, **FADING),
    "n-step expected sarsa": lambda: rl.NStepExpectedSarsa(n=3, **FADING),
    "monte carlo": lambda: rl.MonteCarloControl(**RANDOM),
}


def error(agent, env, wanted):
    """Largest error of a legal pair, relative to the largest value."""
    agent.learn(env, steps=1_000_000, seed=0)
    legal = agent.memory_.legal
    assert agent.visits_[legal].min() > 10_000
    return np.abs(agent.q_ - wanted)[legal].max() / np.abs(wanted).max()


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", OFF_POLICY)
def test_what_is_learned_from_random_actions_is_the_optimum(name, problem):
    """One fixed seed, a million steps: within 2 % of the planner's answer."""
    env = PROBLEMS[problem]()
    assert error(OFF_POLICY[name](), env, rl.solve(rl.MDP.from_env(env, gamma=0.9)).q) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ON_POLICY)
def test_what_is_learned_about_random_actions_is_their_value(name, problem):
    """One fixed seed, a million steps: within 2 % of the exact values of the random policy."""
    env = PROBLEMS[problem]()
    model = rl.MDP.from_env(env, gamma=0.9)
    value = rl.evaluate_policy(model, model.legal / np.maximum(model.legal.sum(axis=1, keepdims=True), 1))
    assert error(ON_POLICY[name](), env, rl.planning.q_from_value(model, value)) < 0.02


@pytest.mark.slow
def test_delayed_q_learning_acts_nearly_optimally():
    """What it promises is behaviour: from some step on, the value of its greedy policy is that of the optimum.

    Every value that it acts on is above the optimum, but by no more than epsilon1 / (1 - gamma) and the noise of m.
    """
    env = PROBLEMS["grid"]()
    model = rl.MDP.from_env(env, gamma=0.9)
    best = rl.solve(model)
    agent = rl.DelayedQLearning(gamma=0.9, m=400, epsilon1=0.1, largest_reward=100.0)
    agent.learn(env, steps=3_000_000, seed=0)
    assert model.start @ rl.evaluate_policy(model, agent.policy()) > 0.99 * model.start @ best.value
    start = model.start.argmax()
    over = agent.q_[start][model.legal[start]].max() - best.value[start]
    assert 0.0 < over < 0.05 * best.value[start]


# ------------------------------------------------------------------------------------------- Sutton & Barto's figures


def mean_and_error(samples):
    return np.mean(samples), np.std(samples, ddof=1) / np.sqrt(len(samples))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "alpha", "published"),
    [
        (rl.Sarsa, 0.5, -26.85),
        (rl.Sarsa, 0.1, -22.70),
        (rl.QLearning, 0.5, -50.10),
        (rl.QLearning, 0.1, -49.47),
        (rl.ExpectedSarsa, 0.5, -20.82),
        (rl.ExpectedSarsa, 0.1, -21.98),
    ],
)
def test_cliff_figure_6_4(kind, alpha, published):
    """Mean return of episodes 401 to 500, a hundred seeds: within five standard errors of another simulation."""
    agent = kind(gamma=1.0, learning_rate=alpha, exploration=EpsilonGreedy(0.1))
    runs = rl.train(agent, "CliffWalking-v1", episodes=500, seeds=100, record_every=500, regret=False)
    mean, standard_error = mean_and_error([run.episode_return[400:].mean() for run in runs.records])
    assert standard_error < 0.03 * abs(published)
    assert abs(mean - published) < 5 * standard_error


@pytest.mark.slow
def test_windy_grid_example_6_5():
    """Sarsa finds the path of 15 steps, and then needs hardly more than the best policy that explores as much.

    That one takes 17.048 steps on average (the planner's). Within five standard errors, and 1 %, of 50,000 episodes.
    """
    agent = rl.Sarsa(
        gamma=1.0, learning_rate=rl.Polynomial(1.0, power=0.6, per="visits"), exploration=EpsilonGreedy(0.1)
    )
    agent.learn("rlsuite/WindyGrid-v0", steps=2_000_000, seed=0)
    mean, standard_error = mean_and_error(agent.episodes_["length"][-50_000:])
    assert 17.048 - 5 * standard_error < mean < 17.048 * 1.01
    model = rl.MDP.from_env("rlsuite/WindyGrid-v0", gamma=0.5)
    assert model.start @ rl.evaluate_policy(model, agent.policy()) == pytest.approx(-(1 - 0.5**15) / 0.5, rel=1e-12)


def test_maximization_bias_is_the_problem_of_the_book():
    model = rl.MDP.from_env("rlsuite/MaximizationBias-v0", gamma=1.0)
    best = rl.solve(model)
    np.testing.assert_allclose(best.value, [0.0, -0.1, 0.0], atol=1e-9)
    np.testing.assert_allclose(best.q[0, :2], [-0.1, 0.0], atol=1e-9)
    assert model.legal.sum(axis=1).tolist() == [2, 10, 0]
    assert model.reward_std.reshape(3, 10)[1].tolist() == [1.0] * 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "peak", "last"), [(rl.QLearning, 94.0, 11.82), (rl.DoubleQLearning, None, 6.74)], ids=["q", "double q"]
)
def test_maximization_bias_figure_6_5(kind, peak, last):
    """How many of 500 runs go left in an episode, in percent: within five standard errors of the published share."""
    agent = kind(gamma=1.0, learning_rate=0.1, exploration=EpsilonGreedy(0.1))
    runs = rl.train(agent, "rlsuite/MaximizationBias-v0", episodes=300, seeds=500, record_every=300, regret=False)
    went_left = np.array([run.episode_length == 2 for run in runs.records]).mean(axis=0) * 100

    def is_near(share, published):
        return abs(share - published) < 5 * np.sqrt(published * (100 - published) / 500)

    assert is_near(went_left[299], last)
    if peak is not None:
        assert is_near(went_left[18], peak)
    else:
        assert went_left[9:].max() < 50  # it never prefers left, but for the coin at the very start


# ------------------------------------------------------------------------------------------------------- blackjack


def sticks_on_20():
    return [STICK if hand.total >= 20 else HIT for hand in HANDS] + [STICK]


def test_blackjack_is_the_game_of_the_book():
    model = blackjack()
    worth = rl.evaluate_policy(model, sticks_on_20())
    assert worth[observation_of(13, 2, usable_ace=True)] == pytest.approx(-0.277204, abs=5.1e-7)
    assert worth[observation_of(21, 10, usable_ace=False)] == pytest.approx(0.8886, abs=5.1e-5)
    assert model.start @ worth == pytest.approx(-0.35355, abs=5.1e-6)
    assert model.start @ rl.solve(model).value == pytest.approx(-0.04656, abs=5.1e-6)


@pytest.mark.slow
def test_blackjack_is_the_game_of_gymnasium():
    """Twenty thousand games of theirs at random: what each hand is worth, within five standard errors of our table."""
    theirs = gymnasium.wrappers.TransformObservation(
        gymnasium.make("Blackjack-v1"),
        lambda hand: HANDS.index(tuple(map(int, hand))) if hand[0] <= 21 else END,
        gymnasium.spaces.Discrete(END + 1),
    )
    agent = rl.FirstVisitMonteCarlo(gamma=1.0).learn(theirs, episodes=20_000, seed=0, loop="stepwise")
    assert agent.record_.loop == "stepwise"
    model = blackjack()
    exact = rl.evaluate_policy(model, np.full((END + 1, 2), 0.5) * model.legal)
    often = agent.returns_ > 100
    assert often.sum() > 80
    rewards_vary_by = np.sqrt(1 - exact**2)  # at most, if they lie in [-1, 1]
    assert (
        np.abs(agent.value_ - exact)[often] < 5 * (rewards_vary_by / np.sqrt(np.maximum(agent.returns_, 1)))[often]
    ).all()
    mean, standard_error = mean_and_error(agent.episodes_["return"])
    assert abs(mean - model.start @ exact) < 5 * standard_error


@pytest.mark.slow
def test_blackjack_figure_5_2_by_exploring_starts():
    """Two million games that start with any action: a policy that loses hardly more than the best one."""
    agent = rl.MonteCarloExploringStarts(gamma=1.0).learn("rlsuite/Blackjack-v0", episodes=2_000_000, seed=0)
    model = blackjack()
    found = model.start @ rl.evaluate_policy(model, agent.policy())
    assert -0.04656 - 0.0005 < found < -0.046555


@pytest.mark.slow
def test_blackjack_by_a_policy_that_explores():
    """On-policy: the best of all policies that explore with probability 0.1, less what learning has cost."""
    agent = rl.MonteCarloControl(gamma=1.0, exploration=EpsilonGreedy(0.1))
    agent.learn("rlsuite/Blackjack-v0", episodes=500_000, seed=0)
    model = blackjack()
    assert model.start @ rl.evaluate_policy(model, agent.policy()) > -0.06
    assert agent.returns_.sum() == agent.visits_.sum()  # no hand comes twice in a game


@pytest.mark.slow
def test_blackjack_from_the_games_of_another_policy():
    """Off-policy: the values of the greedy policy in hands that are often dealt, from games of pure chance."""
    agent = rl.OffPolicyMonteCarlo(gamma=1.0, exploration=rl.RandomActions())
    agent.learn("rlsuite/Blackjack-v0", episodes=1_000_000, seed=0)
    best = rl.solve(blackjack()).q[:END]
    often = agent.weights_[:END].min(axis=1) > 2_000
    assert often.sum() > 100
    assert np.abs(agent.q_[:END] - best)[often].max() < 5 / np.sqrt(2_000)  # rewards differ by at most 2: s.d. <= 1
