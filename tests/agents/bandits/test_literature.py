"""Bandits against published numbers and theorems.

Many bandits are played side by side: `contextual_bandit(..., order="in turn")` has a state for each, and an agent keeps
its statistics for each state on its own. So one run is a sample of independent runs, and its standard error is known.
"""

import itertools
import math

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs
from rlsuite.training.legality import every_action
from rlsuite_envs.bandits import contextual_bandit

gymnasium.register_envs(rlsuite_envs)

MEAN_OF_BEST = 1.538753  # of ten standard normal numbers, exactly
N = 2_000
"""Bandits of the testbed (S&B2 section 2.3), 1,000 pulls each: as many as the reference has simulated."""


def mean(exploration):
    """The sample average that begins with 0, and not with a pull of every arm: the one of the book's figures."""
    return rl.QLearning(gamma=0.0, learning_rate=rl.Inverse(1.0, per="visits"), exploration=exploration)


def play_testbed(agent, shift=0.0):
    """Mean reward and its standard error, and the share of optimal pulls at pull 100 and at pull 1,000.

    The best mean of each bandit, whose expectation is known, is taken out of its reward: most of the spread is there.
    """
    means = np.random.default_rng(7).standard_normal((N, 10)) + shift
    env = contextual_bandit(means, order="in turn").to_env()
    best = means.argmax(axis=1)
    optimal = []
    agent.learn(env, steps=99 * N, seed=7)
    for pause in (1, 899, 1):
        before = agent.visits_.copy()
        agent.learn(env, steps=pause * N)
        optimal.append((agent.visits_ - before)[np.arange(N), best].mean())
    loss = means.max(axis=1) - (agent.visits_ * means).sum(axis=1) / 1_000
    return MEAN_OF_BEST + shift - loss.mean(), loss.std() / math.sqrt(N), optimal[0], optimal[2]


GREEDY, OPTIMISTIC = rl.EpsilonGreedy(0.0), {"learning_rate": 0.1, "initial_value": 5.0}
TESTBED = {
    "greedy": (lambda: mean(GREEDY), 1.0243, 0.354, 0.358),
    "epsilon .01": (lambda: mean(rl.EpsilonGreedy(0.01)), 1.1962, 0.384, 0.597),
    "epsilon .1": (lambda: mean(rl.EpsilonGreedy(0.1)), 1.3055, 0.542, 0.799),
    "optimistic": (lambda: rl.QLearning(gamma=0.0, exploration=GREEDY, **OPTIMISTIC), 1.2918, 0.296, 0.855),
    "UCB c = 2": (lambda: rl.SampleAverage(exploration=rl.UpperConfidence(2.0)), 1.3875, 0.599, 0.855),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTBED)
def test_ten_armed_testbed(name):
    """Figs. 2.2 to 2.4 of S&B2, with the reference values of a simulation as large as ours.

    Five standard errors: ours, and the reference's, which is 0.6 / sqrt(2000) for a reward (the spread of the best of
    ten arms and more) and sqrt(p (1 - p) / 2000) for a share. Errors in all 15 numbers together: below 1e-5.
    """
    make, reward, early, late = TESTBED[name]
    ours, error, *optimal = play_testbed(make())
    assert abs(ours - reward) < 5 * math.hypot(error, 0.6 / math.sqrt(N))
    for share, expected in zip(optimal, (early, late), strict=True):
        assert abs(share - expected) < 5 * math.sqrt(2 * expected * (1 - expected) / N)


@pytest.mark.slow
def test_pulling_each_arm_once_first_is_another_rule():
    """Why the figures are not those of `SampleAverage`: its greedy rule has seen every arm, and does much better."""
    ours, error, *_ = play_testbed(rl.SampleAverage(exploration=GREEDY))
    assert ours - 5 * error > 1.0243 + 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learning_rate", "baseline", "reward"),
    [(0.1, "average", 5.3498), (0.4, "average", 5.3733), (0.1, "none", 5.0736), (0.4, "none", 4.7347)],
)
def test_gradient_bandit(learning_rate, baseline, reward):
    """Fig. 2.5 of S&B2: true rewards around +4; five standard errors, as above."""
    ours, error, *_ = play_testbed(rl.GradientBandit(learning_rate=learning_rate, baseline=baseline), shift=4.0)
    assert abs(ours - reward) < 5 * math.hypot(error, 0.6 / math.sqrt(N))


ARMS = np.arange(1, 10) / 10
GAPS = 0.9 - ARMS


def lai_robbins_constant(arms):
    """Sum of gap / d(mean, best mean) over the arms that are not the best."""
    best = max(arms)
    others = [p for p in arms if p < best]
    divergence = [p * math.log(p / best) + (1 - p) * math.log((1 - p) / (1 - best)) for p in others]
    return sum((best - p) / d for p, d in zip(others, divergence, strict=True))


def test_constants_of_lai_and_robbins():
    arms = {7.5165: ARMS, 2.2521: (0.9, 0.8), 4.9833: (0.55, 0.45), 44.0939: (0.5,) * 9 + (0.6,)}
    for constant, means in arms.items():
        assert lai_robbins_constant(means) == pytest.approx(constant, abs=5e-5)


def regret_at(agent, copies, times):
    """Pseudo-regret of each copy at some times, (n_times, copies)."""
    env = contextual_bandit(np.tile(ARMS, (copies, 1)), kind="bernoulli", order="in turn").to_env()
    agent.learn(env, steps=copies * times[0], seed=3)
    regret = [agent.visits_ @ GAPS]
    for before, after in itertools.pairwise(times):
        agent.learn(env, steps=copies * (after - before))
        regret.append(agent.visits_ @ GAPS)
    return np.array(regret)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "copies"), [(rl.KLUCB, 36), (rl.ThompsonBernoulli, 60)])
def test_regret_grows_as_slowly_as_lai_and_robbins_allow(make, copies):
    """Between 1e4 and 1e5 pulls the regret grows by C ln 10, give or take 40 % of it and five standard errors.

    The bound holds in the limit, and both are on their way to it: at these times the slope of KL-UCB is about 1.3 C,
    that of Thompson sampling 0.8 C. Nobody who keeps within the bound can stop learning about the other arms.
    """
    early, late = regret_at(make(), copies, [10_000, 100_000])
    slope = (late - early) / math.log(10)
    error = slope.std() / math.sqrt(copies)
    constant = lai_robbins_constant(ARMS)
    assert abs(slope.mean() - constant) < 0.4 * constant + 5 * error
    assert 5 * error < 0.6 * constant  # so that the test can fail: slopes of 0 and of 2 C are told apart


@pytest.mark.slow
def test_regret_of_ucb1_grows_faster_but_within_its_theorem():
    """Auer et al. 2002, Theorem 1; and between 1e4 and 1e5 pulls more than five times as fast as C ln t."""
    early, late = regret_at(rl.UCB1(), 20, [10_000, 100_000])
    assert (late - early).mean() / math.log(10) > 5 * lai_robbins_constant(ARMS)
    lost = GAPS[GAPS > 0]
    for regret, t in ((early, 10_000), (late, 100_000)):
        assert regret.mean() < (8 / lost).sum() * math.log(t) + (1 + math.pi**2 / 3) * lost.sum()


@pytest.mark.slow
def test_moss_and_ucbv_lose_less_than_ucb1():
    """What they were made for: a known horizon, and arms of little variance (here .05 and .1, of 0.05 and 0.09)."""
    moss, ucb1 = (regret_at(agent, 20, [20_000])[0] for agent in (rl.MOSS(horizon=20_000), rl.UCB1()))
    assert moss.mean() < 0.4 * ucb1.mean()
    assert moss.mean() < 49 * math.sqrt(20_000 * 9)
    env = contextual_bandit(np.tile([0.05, 0.01, 0.01, 0.01], (20, 1)), kind="bernoulli", order="in turn").to_env()
    ucbv, ucb1 = (agent.learn(env, steps=20 * 50_000, seed=1).visits_[:, 0] for agent in (rl.UCBV(), rl.UCB1()))
    assert ucbv.mean() > ucb1.mean()


@pytest.mark.slow
def test_explore_then_commit_costs_what_its_formula_says():
    """Two normal arms that differ by d: m d + (T - 2 m) d Phi(-d sqrt(m / 2))."""
    m, d, t, copies = 20, 0.4, 500, 4_000
    env = contextual_bandit(np.tile([0.0, d], (copies, 1)), order="in turn").to_env()
    agent = rl.ExploreThenCommit(m=m).learn(env, steps=copies * t, seed=2)
    regret = d * agent.visits_[:, 0]
    phi = 0.5 * math.erfc(d * math.sqrt(m / 2) / math.sqrt(2))
    assert abs(regret.mean() - (m * d + (t - 2 * m) * d * phi)) < 5 * regret.std() / math.sqrt(copies)
    assert set(agent.visits_[:, 0].tolist()) == {m, t - m}


@pytest.mark.slow
def test_successive_elimination_keeps_the_best_arm():
    """The best arm is lost with probability delta at most, and the others are dropped about when the widths say so."""
    copies, delta, arms = 500, 0.2, np.array([0.9, 0.6, 0.1])
    env = contextual_bandit(np.tile(arms, (copies, 1)), kind="bernoulli", order="in turn").to_env()
    agent = rl.SuccessiveElimination(delta=delta).learn(env, steps=copies * 2_000, seed=2)
    assert agent.eliminated_[:, 0].mean() < delta
    assert agent.eliminated_[:, 1:].all()
    for arm in (1, 2):
        d = 0.9 - arms[arm]
        rounds = next(t for t in range(1, 10_000) if d >= 2 * math.sqrt(math.log(4 * 3 * t * t / delta) / (2 * t)))
        assert 0.6 * rounds < agent.visits_[:, arm].mean() < 1.4 * rounds


@pytest.mark.slow
def test_exp3_keeps_within_its_bound_against_rewards_that_follow_no_law():
    """Auer et al. 2002b, Theorem 3.1, where the best arm changes: the loss against the best single arm."""
    t, k = 3_000, 3
    epsilon = math.sqrt(k * math.log(k) / ((math.e - 1) * t))
    lost = []
    for seed in range(4):
        agent = rl.EXP3(epsilon=epsilon)
        memory = agent.init_memory(np.ones((1, k), dtype=bool), every_action)
        rng = np.random.default_rng(seed)
        arm = rl.EXP3.begin(memory, 0, rng)
        gained, own = np.zeros(k), 0.0
        for pull in range(t):
            rewards = np.array([0.5, 0.0, 0.0])
            rewards[1 if pull < t // 3 else 2] = 1.0
            gained += rewards
            own += rewards[arm]
            arm = rl.EXP3.step(memory, rl.Transition(0, arm, rewards[arm], 0, False, False), rng)
        lost.append(gained.max() - own)
    best = 2_000  # what the third arm gave
    uniform = best - t / 2  # what a player who learns nothing loses
    assert np.mean(lost) < (math.e - 1) * epsilon * best + k * math.log(k) / epsilon
    assert np.mean(lost) < 0.7 * uniform


@pytest.mark.slow
def test_who_forgets_follows_arms_that_drift():
    """S&B2 Exercise 2.5, with faster arms: means of all rewards get less than means of recent ones.

    The same seed means the same walk of the arms, so that the difference between two agents is taken seed by seed.
    """
    explore = rl.EpsilonGreedy(0.1)

    def rewards(agent):
        arms = gymnasium.make("rlsuite/Bandit-v0", values=[0.0] * 10, drift=0.1)
        return rl.train(agent, arms, steps=2_000, seeds=40).stacked("cumulative_reward")[:, -1]

    remembers = rewards(mean(explore))
    for agent in (
        rl.QLearning(gamma=0.0, learning_rate=0.1, exploration=explore),
        rl.SlidingWindowUCB(window=100, c=2.0),
        rl.DiscountedUCB(discount=0.98, c=2.0),
    ):
        gain = rewards(agent) - remembers
        assert gain.mean() > 4 * gain.std() / math.sqrt(40)
