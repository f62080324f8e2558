import math

import gymnasium
import numpy as np
import pytest
from scipy import stats

import rlsuite as rl
from rlsuite.errors import StepwiseWarning
from rlsuite.experiments import compare, table
from rlsuite.training.results import Record, Results


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
    )


def test_the_last_evaluation_counts_first():
    samples = [7.0, 9.0, 8.5]
    records = [record(s, returns=[1.0], evaluation=[0.0, v], optimum=10.0) for s, v in enumerate(samples)]
    (row,) = compare({"lake": [Results("Sarsa", "lake", records)]})
    reach = stats.t.ppf(0.975, 2) * np.std(samples, ddof=1) / math.sqrt(3)
    assert row[:4] == ("lake", "Sarsa", "value of the greedy policy", 3)
    assert row.mean == pytest.approx(np.mean(samples))
    assert (row.low, row.high) == pytest.approx((row.mean - reach, row.mean + reach))
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


def test_the_table_is_aligned_and_has_a_block_per_environment():
    good = [record(s, evaluation=[80.0 + s], optimum=81.0) for s in range(2)]
    poor = [record(s, evaluation=[5.0], optimum=81.0) for s in range(2)]
    rows = compare({"a": [Results("Q", "a", good), Results("a long name", "a", poor)], "b": [Results("Q", "b", good)]})
    assert table(rows).splitlines() == [
        "a: discounted value of the greedy policy, mean over 2 seeds [95 % interval]",
        "  Q            80.5  [74.15, 86.85]  optimum 81  99.4% of it",
        "  a long name     5          [5, 5]  optimum 81   6.2% of it",
        "b: discounted value of the greedy policy, mean over 2 seeds [95 % interval]",
        "  Q  80.5  [74.15, 86.85]  optimum 81  99.4% of it",
    ]


def test_the_table_says_why_the_optimum_is_unknown():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), float)
    with pytest.warns(StepwiseWarning):
        results = rl.train(rl.QLearning(gamma=0.9), env, steps=20, seeds=2, evaluate_every=20)
    (row,) = compare({"lake": [results]})
    assert row.optimum is None
    assert table([row]).splitlines()[-1] == (
        "  optimum unknown: FrozenLake-v1 has no transition table that can be trusted"
    )
