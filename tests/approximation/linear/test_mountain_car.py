"""Semi-gradient Sarsa, of one step and of n, on the mountain car with eight tilings (S&B2 Figures 10.1 to 10.4)."""

import gymnasium
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

import rlsuite as rl
from rlsuite.approximation import SemiGradientNStepSarsa, SemiGradientSarsa, TileCoding

pytestmark = pytest.mark.arithmetic

# steps of the tenth and the hundredth episode, mean of episodes 401 to 500 (simulation with the book's tile coding)
PUBLISHED = {0.1: (657, 207, 137.4), 0.2: (473, 168, 127.3), 0.5: (303, 142, 118.1)}
RUNS, BEGINNINGS = 12, 36


@pytest.mark.slow
@pytest.mark.parametrize("alpha", PUBLISHED)
def test_learning_curves_are_those_of_the_book(alpha):
    """Means of twelve runs; the book's begin anew with the same distribution, and end at the goal only.

    Each of the nine means is within 4.5 of its standard errors, and 4 % for another choice of tiles: theirs have hashed
    coordinates without bounds, ours cover the bounds. Early episodes differ most from run to run, so of these 36 runs
    are seen, and the ninth to the eleventh of each: then a standard error is about 2 %, and an error of a tenth or two
    of the tenth episode would be seen.
    """
    lengths = []
    env = gymnasium.make("MountainCar-v0", max_episode_steps=20_000)
    for seed in range(BEGINNINGS):
        tiles = TileCoding(n_tilings=8, bins=8)
        agent = SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=alpha / 8, exploration=rl.EpsilonGreedy(0.0))
        lengths.append(agent.learn(env, episodes=500 if seed < RUNS else 11, seed=seed).episodes_["length"])
    beginnings, lengths = np.array([each[:11] for each in lengths]), np.array(lengths[:RUNS])
    means = beginnings[:, 8:].mean(axis=1), lengths[:, 95:104].mean(axis=1), lengths[:, 400:].mean(axis=1)
    for found, published in zip(means, PUBLISHED[alpha], strict=True):
        error = found.std(ddof=1) / np.sqrt(len(found))
        assert abs(found.mean() - published) < 4.5 * error + 0.04 * published, (found.mean(), error, published)


@pytest.fixture(scope="module")
def best_steps():
    """``best_steps(observations)``: fewest steps to the goal, by value iteration on a grid with interpolation."""
    grid = np.linspace(-1.2, 0.6, 181), np.linspace(-0.07, 0.07, 141)
    x, v = np.meshgrid(*grid, indexing="ij")
    moves = []
    for push in (-0.001, 0.0, 0.001):
        ahead = np.clip(v + push - 0.0025 * np.cos(3 * x), -0.07, 0.07)
        place = np.clip(x + ahead, -1.2, 0.6)
        moves.append((place, np.where((place == -1.2) & (ahead < 0), 0.0, ahead)))
    steps = np.zeros(x.shape)
    for _ in range(300):
        know = RegularGridInterpolator(grid, steps)
        later = [np.where(place >= 0.5, 0.0, know((place, ahead))) for place, ahead in moves]
        steps = np.where(x >= 0.5, 0.0, 1.0 + np.min(later, axis=0))
    return RegularGridInterpolator(grid, steps)


@pytest.mark.slow
def test_what_is_left_to_pay_is_learned(best_steps):
    """S&B2 Figure 10.1: the cost to go, flat in the middle of the first episode, rises to near 120 over the valley.

    Means of six runs. Where episodes begin it is what episodes cost, within 5 %: the values are those of the policy,
    which is no more than a fifth worse than the best.
    """
    seen = np.stack(np.meshgrid(np.linspace(-1.2, 0.49, 60), np.linspace(-0.07, 0.07, 61)), axis=-1).reshape(-1, 2)
    starts = np.column_stack([np.linspace(-0.6, -0.4, 41), np.zeros(41)])
    env = gymnasium.make("MountainCar-v0", max_episode_steps=20_000)
    early, late, promised, paid = [], [], [], []
    for seed in range(6):
        tiles = TileCoding(n_tilings=8, bins=8)
        rule = {"gamma": 1.0, "learning_rate": 0.5 / 8, "exploration": rl.EpsilonGreedy(0.0)}
        agent = SemiGradientSarsa(features=tiles, **rule).learn(env, steps=428, seed=seed)
        early.append(-agent.q(seen).max(axis=1))
        agent.learn(env, episodes=1_000)
        late.append(-agent.q(seen).max(axis=1))
        promised.append(-agent.q(starts).max(axis=1).mean())
        paid.append(agent.episodes_["length"][-200:].mean())
    assert np.max(early) < 20
    surface = np.mean(late, axis=0)
    assert surface.max() == pytest.approx(118, abs=8)
    position, velocity = seen[surface.argmax()]
    assert -0.65 < position < -0.45
    assert abs(velocity) < 0.01
    assert np.mean(promised) == pytest.approx(np.mean(paid), rel=0.05)
    fewest = best_steps(starts).mean()
    assert fewest < np.mean(paid) < 1.2 * fewest


# (n, alpha): steps of an episode, mean of the first 50, and its standard error (simulation as above, 40 runs)
FIRST_50 = {(1, 0.5): (283.5, 0.7), (8, 0.3): (239.5, 2.5), (4, 0.6): (226.9, 1.2)}


def learn_in_steps(n, alpha, seed):
    """The mountain car, learned for fifty episodes."""
    env = gymnasium.make("MountainCar-v0", max_episode_steps=10_000)
    rule = {"learning_rate": alpha / 8, "gamma": 1.0, "exploration": rl.EpsilonGreedy(0.0), "n": n}
    return SemiGradientNStepSarsa(features=TileCoding(n_tilings=8, bins=8), **rule).learn(env, episodes=50, seed=seed)


@pytest.fixture(scope="module")
def first_50():
    """Steps of an episode, mean of the first 50 of each run, and the standard error of their mean, by (n, alpha)."""
    found = {}
    few, many = dict.fromkeys(FIRST_50, 30), dict.fromkeys([(1, 1.4), (4, 0.8), (16, 0.25)], 80)
    for (n, alpha), runs in {**few, **many}.items():
        means = [learn_in_steps(n, alpha, seed).episodes_["length"].mean() for seed in range(runs)]
        found[n, alpha] = np.mean(means), np.std(means, ddof=1) / np.sqrt(runs)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("setting", FIRST_50)
def test_first_episodes_are_those_of_the_book(first_50, setting):
    """Within 4.5 standard errors of the difference, and 4 % for another choice of tiles, as above."""
    (found, error), (published, its_error) = first_50[setting], FIRST_50[setting]
    assert abs(found - published) < 4.5 * np.hypot(error, its_error) + 0.04 * published


@pytest.mark.slow
def test_eight_steps_learn_faster_than_one(first_50):
    """S&B2 Figure 10.3: n = 8 with 0.3/8 needs about 45 steps an episode less than n = 1 with 0.5/8."""
    (one, error), (eight, its_error) = first_50[1, 0.5], first_50[8, 0.3]
    assert one - eight > 20 + 4.5 * np.hypot(error, its_error)


@pytest.mark.slow
def test_four_steps_are_best(first_50):
    """S&B2 Figure 10.4: n = 4 needs near 220 steps, the least; n = 1 and 16 need more, even with their best step sizes.

    A finer search (100 runs each) found 224.7 with n = 1, 223.8 with 2, 218 with 4, 224 with 8 and 237 with 16. The
    standard errors here are about 0.5 with n = 1, 1 with 4 and 3 with 16, so the differences are some 5 of their own.
    """
    best, error = first_50[4, 0.8]
    assert abs(best - 220) < 4.5 * error + 0.01 * 220
    for other in ((1, 1.4), (16, 0.25)):
        mean, its_error = first_50[other]
        assert mean - best > 3 * np.hypot(error, its_error)


@pytest.mark.slow
def test_one_step_is_sarsa():
    env = gymnasium.make("MountainCar-v0", max_episode_steps=20_000)
    rule = {"learning_rate": 0.5 / 8, "gamma": 1.0, "exploration": rl.EpsilonGreedy(0.0)}
    agent = SemiGradientSarsa(features=TileCoding(n_tilings=8, bins=8), **rule).learn(env, episodes=50, seed=3)
    assert agent.weights_.tobytes() == learn_in_steps(1, 0.5, 3).weights_.tobytes()
