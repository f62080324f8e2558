import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from scipy import stats

import rlsuite as rl
from rlsuite.errors import StepwiseWarning
from rlsuite.experiments import compare, table
from rlsuite.training.results import Bounds, Record, Results


def record(seed, returns=(), evaluation=(), optimum=None, rewards=(), steps=()):
    return Record(
        seed=seed,
        loop="compiled",
        unit="steps",
        episode_return=np.array(returns, dtype=np.float64),
        episode_length=np.ones(len(returns), dtype=np.int64),
        time=np.array(steps, dtype=np.int64),
        cumulative_reward=np.array(rewards, dtype=np.float64),
        evaluation_time=np.arange(len(evaluation)),
        evaluation=np.array(evaluation, dtype=np.float64),
        optimal_value=optimum,
        value_bounds=Bounds(high=math.inf if optimum is None else optimum),
    )


def test_the_last_evaluation_counts_first():
    samples = [7.0, 9.0, 8.5]
    records = [record(s, returns=[1.0], evaluation=[0.0, v], optimum=10.0) for s, v in enumerate(samples)]
    (row,) = compare({"lake": [Results("Sarsa", "lake", records)]})
    reach = stats.t.ppf(0.975, 2) * np.std(samples, ddof=1) / math.sqrt(3)
    assert row[:4] == ("lake", "Sarsa", "value of the greedy policy", 3)
    assert row.mean == pytest.approx(np.mean(samples))
    assert (row.low, row.high) == pytest.approx((row.mean - reach, 10.0))  # no policy is better than the best
    assert row.optimum == 10.0
    assert row.share == pytest.approx(np.mean(samples) / 10.0)


def test_otherwise_the_last_tenth_of_the_episodes():
    records = [record(0, returns=np.arange(20), optimum=10.0), record(1, returns=np.arange(11), optimum=10.0)]
    (row,) = compare({"lake": [Results("Sarsa", "lake", records)]})
    assert row.measure == "return per episode"
    assert row.mean == pytest.approx(((18 + 19) / 2 + (9 + 10) / 2) / 2)
    assert row.optimum is row.share is None  # the optimum is discounted, these returns are not


def test_otherwise_the_reward_per_step():
    records = [record(0, rewards=[1.0, 50.0], steps=[10, 100]), record(1, rewards=[1.0, 70.0], steps=[10, 100])]
    (row,) = compare({"river": [Results("Sarsa", "river", records)]})
    assert (row.measure, row.mean) == ("reward per step", 0.6)


def test_one_seed_has_no_interval():
    (row,) = compare({"lake": [Results("Sarsa", "lake", [record(0, evaluation=[3.0], optimum=4.0)])]})
    assert row.low is row.high is None
    assert table([row]) == (
        "lake: discounted value of the greedy policy, one seed, no interval\n  Sarsa  3  optimum 4  75.0% of it"
    )


@pytest.mark.parametrize(("value", "optimum"), [(-20.0, -13.0), (-1.0, 5.0), (3.0, None), (0.0, 0.0)])
def test_no_share_where_it_would_mean_nothing(value, optimum):
    (row,) = compare({"cliff": [Results("Sarsa", "cliff", [record(0, evaluation=[value], optimum=optimum)])]})
    assert row.share is None


def test_the_optimum_of_drawn_problems_is_their_mean():
    records = [record(0, evaluation=[1.0], optimum=1.0), record(1, evaluation=[1.0], optimum=3.0)]
    (row,) = compare({"bandit": [Results("greedy", "bandit", records)]})
    assert (row.optimum, row.share) == (2.0, 0.5)


def test_problems_that_seeds_draw_do_not_bound_the_mean_over_all_problems():
    """Every seed is optimal in its own problem; other seeds would draw other problems."""
    values = np.random.default_rng(3).normal(size=30)
    records = [record(s, evaluation=[v], optimum=v) for s, v in enumerate(values)]
    (row,) = compare({"bandit": [Results("greedy", "bandit", records)]})
    assert row.mean == pytest.approx(row.optimum)
    assert row.low < row.optimum - 0.1 < row.optimum + 0.1 < row.high


def test_the_table_is_aligned_and_has_a_block_per_environment():
    good = [record(s, evaluation=[80.0 + s], optimum=81.0) for s in range(2)]
    poor = [record(s, evaluation=[5.0], optimum=81.0) for s in range(2)]
    rows = compare({"a": [Results("Q", "a", good), Results("a long name", "a", poor)], "b": [Results("Q", "b", good)]})
    assert table(rows).splitlines() == [
        "a: discounted value of the greedy policy, mean over 2 seeds [95 % interval: Student t, cut at known bounds]",
        "  Q            80.5  [74.15, 81]  optimum 81  99.4% of it",
        "  a long name     5       [5, 5]  optimum 81   6.2% of it  -75.5 [-81.85, -69.15] against the best",
        "b: discounted value of the greedy policy, mean over 2 seeds [95 % interval: Student t, cut at known bounds]",
        "  Q  80.5  [74.15, 81]  optimum 81  99.4% of it",
    ]


def test_agents_with_the_same_seeds_are_paired():
    """The seeds differ much more than the agents: alone their intervals overlap, the differences are far from zero."""
    level = np.random.default_rng(2).normal(0.0, 10.0, size=20)
    better = [record(s, evaluation=[v]) for s, v in enumerate(level)]
    worse = [record(s, evaluation=[v - 1.0 - 0.01 * s]) for s, v in enumerate(level)]
    other_seeds = [record(100 + s, evaluation=[v - 1.0]) for s, v in enumerate(level)]
    runs = [Results(name, "a", of) for name, of in (("worse", worse), ("better", better), ("other", other_seeds))]
    first, best, other = compare({"a": runs})
    assert first.low < best.mean < first.high
    assert (first.versus, first.difference) == ("better", pytest.approx(-1.095))
    assert -1.13 < first.difference_low < first.difference < first.difference_high < -1.05
    assert best.versus == other.versus == ""
    assert best.difference is other.difference is None


def test_seeds_that_do_not_arrive_are_counted_beside_the_value():
    records = [replace(record(s, evaluation=[-1.0]), end_probability=float(s != 3)) for s in range(4)]
    (row,) = compare({"a": [Results("Q", "a", records)]})
    assert row.arriving == 3
    assert table([row]).splitlines()[1] == "  Q  -1  [-1, -1]  3 of 4 reach an end"
    arriving = [replace(one, end_probability=1.0) for one in records]
    assert "reach an end" not in table(compare({"a": [Results("Q", "a", arriving)]}))


def test_intervals_stay_between_the_worst_and_the_best_policy():
    """Two seeds on the cliff: one walks along it, one falls down all the time."""
    results = rl.train(rl.QLearning(gamma=0.9), "CliffWalking-v1", steps=300, seeds=2, evaluate_every=300)
    (row,) = compare({"cliff": [results]})
    optimum, worst = -sum(0.9**k for k in range(13)), -100.0 / (1.0 - 0.9)
    np.testing.assert_allclose(results.records[0].value_bounds[:2], (worst, optimum), rtol=1e-9)
    assert worst - 1e-6 <= row.low <= row.mean <= row.high <= optimum + 1e-6
    low, high = results.records[0].return_bounds[:2]  # without a time limit a policy may fall for ever
    assert (low, high) == (-math.inf, -1.0)


def test_the_table_says_why_the_optimum_is_unknown():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), float)
    with pytest.warns(StepwiseWarning):
        results = rl.train(rl.QLearning(gamma=0.9), env, steps=20, seeds=2, evaluate_every=20)
    (row,) = compare({"lake": [results]})
    assert row.optimum is None
    assert table([row]).splitlines()[-1] == (
        "  optimum unknown: FrozenLake-v1 has no transition table that can be trusted"
    )
