"""Predictors in environments: both loops, files, convergence, and the published figures.

Published numbers come with their standard errors, or those of as many runs; 5 of the difference are allowed, which a
right algorithm oversteps less than once in a million comparisons. All runs of one figure see the same walks.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

import rlsuite as rl
import rlsuite_envs

gymnasium.register_envs(rlsuite_envs)

AGENTS = {
    "every visit": lambda: rl.EveryVisitMonteCarlo(gamma=0.9),
    "first visit": lambda: rl.FirstVisitMonteCarlo(gamma=0.9),
    "n steps": lambda: rl.NStepTD(gamma=0.9, n=3),
    "TD(lambda)": lambda: rl.TDLambda(gamma=0.9, traces="dutch", learning_rate=rl.Inverse(1.0, per="visits")),
    "true online": lambda: rl.TrueOnlineTDLambda(gamma=0.9),
    "lambda-return": lambda: rl.OfflineLambdaReturn(gamma=0.9),
    "batch TD": lambda: rl.BatchTD(gamma=0.9, initial_value=1.0),
    "batch Monte Carlo": lambda: rl.BatchMonteCarlo(gamma=0.9, initial_value=1.0),
}


def masked():
    """Four cells and two actions, some of which do not exist; 15 steps at most."""
    successors = [[None, {1: 0.7, 0: 0.3}], [0, 2], [1, {3: 0.8, 2: 0.2}], [None, None]]
    rewards = [[0.0, -1.0], [-1.0, 0.5], [0.0, 2.0], [0.0, 0.0]]
    return TimeLimit(rl.MDP.from_successors(successors, rewards, gamma=0.9, start=0).to_env(), 15)


def arrays(agent):
    learned = agent.memory_.learned
    return [agent.value_, agent.visits_, agent.memory_.clock, *(learned._asdict().values() if learned else ())]


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(arrays(one), arrays(other), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_the_same_bytes_in_both_loops_and_in_two_halves(name):
    compiled, stepwise = (AGENTS[name]().learn(masked(), steps=500, seed=3, loop=s) for s in ("compiled", "stepwise"))
    assert same(compiled, stepwise)
    assert compiled.episodes_.tobytes() == stepwise.episodes_.tobytes()
    assert {15, 3} <= set(compiled.episodes_["length"].tolist())  # some were cut off
    env = masked()
    halves = AGENTS[name]().learn(env, steps=123, seed=3).learn(env, steps=377)
    assert same(compiled, halves)
    assert compiled.visits_.sum() == 500
    assert compiled.value_[3] == 0.0
    assert compiled.value_[:3].all()


@pytest.mark.parametrize("name", AGENTS)
def test_what_is_learned_is_saved(name, tmp_path):
    agent = AGENTS[name]().learn(masked(), steps=200, seed=1)
    agent.save(tmp_path / "agent.npz")
    twin = rl.load(tmp_path / "agent.npz")
    assert same(agent, twin)
    assert same(agent.learn(masked(), steps=200, seed=2), twin.learn(masked(), steps=200, seed=2))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "env"), [("lambda-return", "FrozenLake-v1"), ("true online", "CliffWalking-v1")])
def test_gymnasium_environments(name, env):
    compiled, stepwise = (AGENTS[name]().learn(env, steps=2_000, seed=3, loop=s) for s in ("compiled", "stepwise"))
    assert same(compiled, stepwise)
    assert compiled.value_.any()


# -------------------------------------------------------------------------------------------------------- convergence


WALK = rl.MDP.from_env("rlsuite/RandomWalk-v0", gamma=1.0)
RIGHTWARDS = np.array([[0.4, 0.6]] * 7)


@pytest.mark.slow
def test_monte_carlo_means_are_as_good_as_independent_returns():
    """Returns are 0 or 1, so the variance of the mean of m first visits is V (1 - V) / m."""
    value = rl.evaluate_policy(WALK, RIGHTWARDS)[1:6]
    agent = rl.FirstVisitMonteCarlo(gamma=1.0, policy_to_follow=RIGHTWARDS)
    agent.learn("rlsuite/RandomWalk-v0", episodes=20_000, seed=1)
    error = np.abs(agent.value_[1:6] - value)
    assert (error < 5 * np.sqrt(value * (1 - value) / agent.returns_[1:6])).all()
    assert error.max() < 0.02


CONVERGENT = {
    "every visit": lambda: rl.EveryVisitMonteCarlo(gamma=1.0, policy_to_follow=RIGHTWARDS),
    "n steps": lambda: rl.NStepTD(gamma=1.0, n=3, learning_rate=0.01, policy_to_follow=RIGHTWARDS),
    "TD(lambda)": lambda: rl.TDLambda(gamma=1.0, learning_rate=0.01, policy_to_follow=RIGHTWARDS),
    "true online": lambda: rl.TrueOnlineTDLambda(gamma=1.0, learning_rate=0.01, policy_to_follow=RIGHTWARDS),
    "lambda-return": lambda: rl.OfflineLambdaReturn(gamma=1.0, learning_rate=0.01, policy_to_follow=RIGHTWARDS),
    "batch TD": lambda: rl.BatchTD(gamma=1.0, policy_to_follow=RIGHTWARDS),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVERGENT)
def test_the_mean_over_seeds_is_the_value_of_the_policy(name):
    """After 2,000 episodes a step size of 1/100 has left nothing of the initial value, so the bias is small."""
    value = rl.evaluate_policy(WALK, RIGHTWARDS)[1:6]
    env = WALK.to_env()
    agents = [CONVERGENT[name]().learn(env, episodes=2_000, seed=s, record_every=2_000) for s in range(30)]
    learned = np.array([agent.value_[1:6] for agent in agents])
    error = np.abs(learned.mean(axis=0) - value)
    assert (error < 5 * learned.std(axis=0, ddof=1) / np.sqrt(30)).all()
    assert error.max() < 0.02


# ---------------------------------------------------------------------------------------------------------- figures


def errors(agent_of, walk, truth, times, seeds):
    """Root mean square error over the states after so many episodes, shape (n_seeds, n_times)."""
    table = np.empty((seeds, len(times)))
    for seed in range(seeds):
        agent = agent_of()
        for k, more in enumerate(np.diff(times, prepend=0)):
            # without checkpoints on the way: each is a call of the compiled loop
            agent.learn(walk, episodes=int(more), seed=None if k else seed, record_every=int(more))
            table[seed, k] = np.sqrt(np.mean((agent.value_[1:-1] - truth) ** 2))
    return table


def agree(table, reference, reference_runs=None):
    """Whether means lie within 5 standard errors of a reference; it has those of ``reference_runs`` runs like ours."""
    variance = table.var(axis=0, ddof=1)
    error = np.sqrt(variance / len(table) + (variance / reference_runs if reference_runs else 0.0))
    assert (error < 0.1 * np.asarray(reference)).all(), "too few runs to tell anything"
    assert (np.abs(table.mean(axis=0) - reference) < 5 * error).all(), (table.mean(axis=0), error)


@pytest.fixture(scope="module")
def five():
    return gymnasium.make("rlsuite/RandomWalk-v0")


@pytest.fixture(scope="module")
def nineteen():
    return gymnasium.make("rlsuite/RandomWalk-v0", n=19, left_reward=-1.0)


TRUE_FIVE = np.arange(1, 6) / 6
TRUE_NINETEEN = np.arange(1, 20) / 10 - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent_of", "reference"),
    [
        (lambda: rl.TD(gamma=1.0, learning_rate=0.05, initial_value=0.5), [0.1745, 0.1097, 0.0534, 0.0353]),
        (lambda: rl.TD(gamma=1.0, learning_rate=0.1, initial_value=0.5), [0.1283, 0.0565, 0.0506, 0.0555]),
        (
            lambda: rl.EveryVisitMonteCarlo(gamma=1.0, learning_rate=0.01, initial_value=0.5),
            [0.2124, 0.1826, 0.1445, 0.0970],
        ),
        (
            lambda: rl.EveryVisitMonteCarlo(gamma=1.0, learning_rate=0.03, initial_value=0.5),
            [0.1864, 0.1388, 0.1054, 0.0941],
        ),
    ],
)
def test_example_6_2(agent_of, reference, five):
    """S&B2 Example 6.2, right; the reference is a mean of 100 runs."""
    agree(errors(agent_of, five, TRUE_FIVE, [10, 25, 50, 100], seeds=200), reference, reference_runs=100)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        (rl.BatchTD, [0.4043, 0.1193, 0.0752, 0.0525, 0.0372]),
        (rl.BatchMonteCarlo, [0.4043, 0.1735, 0.1124, 0.0783, 0.0557]),
    ],
)
def test_figure_6_2(kind, reference, five):
    """S&B2 Fig 6.2: batch TD is better than batch Monte Carlo, though the latter fits the returns best."""
    table = errors(lambda: kind(gamma=1.0, initial_value=0.5), five, TRUE_FIVE, [1, 10, 25, 50, 100], seeds=200)
    agree(table, reference, reference_runs=100)


FIRST_TEN = range(1, 11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "step_size", "reference"), [(1, 0.82, 0.3455), (4, 0.38, 0.2649), (16, 0.14, 0.3125), (512, 0.025, 0.4918)]
)
def test_figure_7_2(n, step_size, reference, nineteen):
    """S&B2 Fig 7.2: n steps at their best step size, mean over the first ten episodes."""
    table = errors(
        lambda: rl.NStepTD(gamma=1.0, n=n, learning_rate=step_size), nineteen, TRUE_NINETEEN, FIRST_TEN, seeds=150
    )
    agree(table.mean(axis=1, keepdims=True), [reference])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lambda_", "step_size", "reference"),
    [(0.0, 0.79, 0.367), (0.8, 0.38, 0.2641), (0.95, 0.16, 0.3225), (1.0, 0.025, 0.492)],
)
def test_figure_12_3(lambda_, step_size, reference, nineteen):
    """S&B2 Fig 12.3: the off-line lambda-return at its best step size, mean over the first ten episodes."""
    table = errors(
        lambda: rl.OfflineLambdaReturn(gamma=1.0, lambda_=lambda_, learning_rate=step_size),
        nineteen,
        TRUE_NINETEEN,
        FIRST_TEN,
        seeds=150,
    )
    agree(table.mean(axis=1, keepdims=True), [reference])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lambda_", "step_size", "reference"), [(0.4, 0.69, 0.274), (0.8, 0.32, 0.2634), (0.99, 0.035, 0.4359)]
)
def test_figure_12_6(lambda_, step_size, reference, nineteen):
    """S&B2 Fig 12.6: TD(lambda) with accumulating traces at its best step size, mean over the first ten episodes."""
    table = errors(
        lambda: rl.TDLambda(gamma=1.0, lambda_=lambda_, learning_rate=step_size),
        nineteen,
        TRUE_NINETEEN,
        FIRST_TEN,
        seeds=150,
    )
    agree(table.mean(axis=1, keepdims=True), [reference])
