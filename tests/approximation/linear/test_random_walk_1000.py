"""The random walk of 1000 states (S&B2 Example 9.1): the figures of chapter 9 that are about features."""

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.approximation import FourierBasis, Polynomial, TileCoding
from rlsuite.approximation.linear.linear_agent import GradientMonteCarlo, SemiGradientNStepTD, SemiGradientTD

STATES = slice(1, 1001)


def rms(d, error):
    """Root of the mean squared error, weighted by the visits d."""
    return np.sqrt((d * error**2).sum() / d.sum())


@pytest.fixture(scope="module")
def walk():
    return gymnasium.make("rlsuite/RandomWalk-v0", n=1000, reach=100, mover="chance", left_reward=-1)


@pytest.fixture(scope="module")
def chain(walk):
    """(P, r, d, v): transitions among the states, mean rewards, visits of an episode, true values."""
    P, r = np.zeros((1000, 1000)), np.zeros(1000)
    for state in range(1, 1001):
        for probability, successor, reward, terminated in walk.unwrapped.P[state][0]:
            r[state - 1] += probability * reward
            if not terminated:
                P[state - 1, successor - 1] += probability
    d = np.linalg.solve(np.eye(1000) - P.T, np.eye(1000)[499])
    return P, r, d, np.linalg.solve(np.eye(1000) - P, r)


def grouped(walk):
    """Ten groups of a hundred states; the ends belong to none."""
    table = np.vstack([np.zeros(10), np.repeat(np.eye(10), 100, axis=0), np.zeros(10)])
    return rl.VectorObservation(walk, table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GradientMonteCarlo, SemiGradientTD])
def test_state_aggregation_finds_the_staircases_of_the_book(walk, chain, kind):
    """S&B2 Figures 9.1 and 9.2 (left): Monte Carlo finds the mean of each group by visits, TD its fixed point.

    The two staircases differ by more than 0.1; each rule begins on that of the other. Means of sixteen runs are
    compared; 5 standard errors are exceeded by chance by any of ten weights with a probability of 0.002 (Student's t,
    15 degrees of freedom), and 0.01 is for the bias of a constant step size. The seeds are fixed.
    """
    P, r, d, value = chain
    x = np.repeat(np.eye(10), 100, axis=0)
    means = (x.T @ (d * value)) / (x.T @ d)
    fixed = np.linalg.solve(x.T @ (d[:, None] * (x - P @ x)), x.T @ (d * r))
    assert np.abs(means - fixed).max() > 0.1
    rate, point, other = (4e-4, means, fixed) if kind is GradientMonteCarlo else (2e-3, fixed, means)
    env, runs = grouped(walk), []
    for seed in range(16):
        agent = kind(gamma=1.0, learning_rate=rate, initial_weight=other)
        runs.append(agent.learn(env, episodes=5_000, seed=seed).weights_)
    error = np.std(runs, axis=0, ddof=1) / 4
    assert (error < 0.02).all()
    assert (np.abs(np.mean(runs, axis=0) - point) < 5 * error + 0.01).all()


# (n, alpha): error, mean of the states and of the first ten episodes, and its standard error: 1000 runs of a simulation
# of the box on p. 209 in plain Python. The step sizes are near the best for each n, which a coarser search has found
FIRST_10 = {
    (1, 0.8): (0.3535, 0.0006),
    (2, 0.6): (0.3051, 0.0011),
    (4, 0.4): (0.2869, 0.0014),
    (8, 0.25): (0.2999, 0.0014),
    (16, 0.15): (0.3314, 0.0015),
    (512, 0.02): (0.4869, 0.0014),
}


@pytest.fixture(scope="module")
def first_10(walk, chain):
    """Error of twenty groups of fifty states in the first ten episodes, and its standard error, by (n, alpha)."""
    value, found = chain[3], {}
    table = np.vstack([np.zeros(20), np.repeat(np.eye(20), 50, axis=0), np.zeros(20)])
    env = rl.VectorObservation(walk, table)
    for n, alpha in FIRST_10:
        runs = np.zeros((60, 10))
        for seed, errors in enumerate(runs):
            agent = SemiGradientNStepTD(n=n, gamma=1.0, learning_rate=alpha)
            for i in range(10):
                agent.learn(env, episodes=1, seed=seed if i == 0 else None)
                errors[i] = rms(np.ones(1000), agent.value(table)[STATES] - value)
        means = runs.mean(axis=1)
        found[n, alpha] = means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("setting", FIRST_10)
def test_n_steps_err_as_in_the_book(first_10, setting):
    """S&B2 Figure 9.2 (right): sixty runs, compared with the simulation within 4.5 standard errors.

    By chance, one of these six is exceeded with a probability of at most 0.0002 (Student's t, 59 degrees of freedom).
    They are 0.003 to 0.007, so what differs by a tenth is seen. The seeds are fixed.
    """
    (found, error), (published, its_error) = first_10[setting], FIRST_10[setting]
    assert abs(found - published) < 4.5 * np.hypot(error, its_error)
    assert error < 0.008


@pytest.mark.slow
def test_a_few_steps_are_best(first_10):
    """S&B2 Figure 9.2 (right): the errors fall from n = 1 to n = 4 and rise again; both ends are far off."""
    few, four, many = (first_10[setting] for setting in ((1, 0.8), (4, 0.4), (512, 0.02)))
    for other in (few, many):
        assert other[0] - four[0] > 4.5 * np.hypot(four[1], other[1]) + 0.02
    assert min(first_10, key=lambda setting: first_10[setting][0])[0] in (2, 4, 8)


@pytest.mark.slow
def test_tilings_tell_states_apart_that_one_grid_cannot(walk, chain):
    """S&B2 Figure 9.10: fifty tilings of tiles of 200 states come closer than one.

    After 4000 episodes; means of five runs, whose difference is of the order of ten standard errors.
    """
    _, _, d, value = chain
    runs = {1: [], 50: []}
    for n_tilings, found in runs.items():
        tiles = TileCoding(n_tilings=n_tilings, bins=5, low=1.0, high=1001.0).fit([[1.0]])
        env = rl.VectorObservation(walk, tiles.transform(np.arange(1002)[:, None]).toarray())
        for seed in range(5):
            agent = GradientMonteCarlo(gamma=1.0, learning_rate=1e-4 / n_tilings)
            learned = agent.learn(env, episodes=4_000, seed=seed).value(env.vectors)[STATES]
            found.append(rms(d, learned - value))
    gain = np.subtract(runs[1], runs[50])
    assert gain.mean() - 5 * gain.std(ddof=1) / np.sqrt(5) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("order", [5, 10, 20])
def test_cosines_come_closer_than_powers(walk, chain, order):
    """S&B2 Figure 9.5: after 5000 episodes a Fourier basis is far closer to the truth than a polynomial.

    On average the weights go down the gradient, w <- w + alpha sum_s d(s) x(s) [v(s) - w . x(s)] an episode, up to
    terms of order alpha. There powers are five times as far from the truth as cosines: they are so much alike that
    whole directions of weights are hardly learned, though the best weights are as good as exact. What is left with
    cosines is noise: 0.05 against 0.12. Six runs of both see the same episodes; the standard error of their difference
    is 0.006.
    At ten states the mean of the runs is compared with the gradient's way: within 5 standard errors, exceeded by chance
    by any of ten with a probability of at most 0.04 (Student's t, 5 degrees of freedom), and 0.03 for the terms of
    order alpha. The seeds are fixed.
    """
    _, _, d, value = chain
    ids = np.clip(np.arange(1002.0), 1.0, 1000.0)[:, None]
    powers = Polynomial(order).fit([[0.0]]).transform(ids / 1000.0)
    cosines = FourierBasis(order, low=1.0, high=1000.0).fit([[0.0]]).transform(ids)
    means, errors = [], []
    for table, alpha in ((powers, 1e-4), (cosines, 5e-5)):
        x, w, env = table[STATES], np.zeros(order + 1), rl.VectorObservation(walk, table)
        for _ in range(5_000):
            w = w + alpha * x.T @ (d * (value - x @ w))
        agents = [GradientMonteCarlo(gamma=1.0, learning_rate=alpha) for _ in range(6)]
        runs = [agent.learn(env, episodes=5_000, seed=i).value(table)[STATES] for i, agent in enumerate(agents)]
        spread = np.std(runs, axis=0, ddof=1) / np.sqrt(6)
        assert (np.abs(np.mean(runs, axis=0) - x @ w) < 5 * spread + 0.03)[49::100].all()
        errors.append([rms(d, run - value) for run in runs])
        means.append(rms(d, x @ w - value))
    assert means[0] > 5 * means[1]
    gain = np.subtract(*errors)
    assert gain.mean() - 5 * gain.std(ddof=1) / np.sqrt(6) > 0.01
