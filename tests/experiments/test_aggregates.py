import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.experiments.aggregates import aggregate, interquartile_mean, profile


def test_the_interquartile_mean_cuts_a_quarter_at_either_end():
    scores = np.random.default_rng(0).normal(size=(3, 10))
    ordered = np.sort(scores, axis=1)
    assert interquartile_mean(scores) == pytest.approx(ordered[:, 2:8].mean(axis=1))  # 2.5 rounded down


@pytest.mark.parametrize(("statistic", "compute"), [("mean", np.mean), ("median", np.median)])
def test_statistics_are_of_all_runs(statistic, compute):
    scores = [np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3])]
    assert aggregate(scores, statistic).value == pytest.approx(compute(np.concatenate(scores)))


def test_an_unknown_statistic_is_named():
    with pytest.raises(ParameterError, match="unknown statistic 'mode'"):
        aggregate([np.zeros(3)], "mode")


def test_seeds_are_drawn_within_each_environment():
    """Two environments without any variation within them leave no interval, however far they are apart."""
    found = aggregate([np.zeros(5), np.ones(5)], "mean")
    assert found == (0.5, 0.5, 0.5)


def test_the_same_scores_give_the_same_interval():
    scores = [np.random.default_rng(1).normal(size=12)]
    assert aggregate(scores) == aggregate(scores)


def test_the_interval_covers_the_true_mean():
    """Of 300 experiments with 3 x 20 seeds about 94 %; four standard deviations are 5.5 %."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(300):
        found = aggregate([rng.normal(shift, 1.0, 20) for shift in (-1.0, 0.0, 1.0)], "mean")
        covered += found.low <= 0.0 <= found.high
    assert covered / 300 == pytest.approx(0.94, abs=0.055)


def test_a_profile_falls_from_one_and_counts_environments_alike():
    scores = [np.array([0.2, 0.8]), np.array([0.5, 0.5, 0.5, 0.5])]
    share, low, high = profile(scores, np.array([0.0, 0.5, 0.6, 1.0]))
    assert share.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert (low <= share).all()
    assert (share <= high).all()
